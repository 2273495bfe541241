"""With random data, indexes and predicates, a skipped file never holds a matching row.

One Spark job with skipping off evaluates all predicates of a dataset as Boolean columns, grouped by file. Spark's
listing for each predicate, with skipping on in strict mode, gives the files that the query reads.
``XSKIP_FUZZ_EXAMPLES`` sets the number of datasets.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.e2e.random_files import INTS, POOLS, Data, write
from tests.effort import cases
from tests.helpers import AVRO_V2, index
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList

EXAMPLES = int(os.environ.get("XSKIP_FUZZ_EXAMPLES", cases(8)))
PREDICATES = 40
BLOOMABLE = (*INTS, "STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
PARTITION = "p"
OPS = ["=", "<", "<=", ">", ">=", "!=", "<=>"]
tally: Counter[str] = Counter()


@st.composite
def datasets(draw: st.DrawFn) -> Data:
    fmt = draw(st.sampled_from(["parquet", "avro"]))
    kinds = draw(st.lists(st.sampled_from(sorted(POOLS)), min_size=3, max_size=5))
    files = []
    for _ in range(draw(st.integers(4, 8))):
        # each file draws from a slice of each pool, so that files differ
        slices = [draw(st.lists(st.sampled_from([*POOLS[k], "NULL"]), min_size=1, max_size=3)) for k in kinds]
        rows = draw(st.integers(1, 4))
        files.append([[draw(st.sampled_from(s)) for s in slices] for _ in range(rows)])
    parted = draw(st.booleans())
    partitions = [draw(st.sampled_from(["1", "2", "3", "NULL"])) for _ in files] if parted else []
    indexes = []
    for i, kind in enumerate(kinds):
        choices = ["minmax", "valuelist", *(["bloomfilter"] if kind in BLOOMABLE else [])]
        indexes += [(name, i) for name in draw(st.sets(st.sampled_from(choices), max_size=2))]
    if not indexes:
        indexes = [("valuelist", 0)]
    predicates = [draw(predicate(kinds, parted, depth=draw(st.sampled_from([0, 0, 1, 2])))) for _ in range(PREDICATES)]
    apis = ["v1", "v2"] if fmt == "parquet" or AVRO_V2 else ["v1"]
    return {"fmt": fmt, "kinds": kinds, "files": files, "partitions": partitions, "indexes": indexes,
            "predicates": predicates, "api": draw(st.sampled_from(apis))}  # fmt: skip


@st.composite
def predicate(draw: st.DrawFn, kinds: list[str], parted: bool, depth: int) -> str:
    if depth:
        left, right = (draw(predicate(kinds, parted, depth - 1)) for _ in range(2))
        joined = f"({left} {draw(st.sampled_from(['AND', 'OR']))} {right})"
        return f"NOT {joined}" if draw(st.booleans()) else joined
    if parted and draw(st.integers(0, 3)) == 0:
        column, pool, kind = PARTITION, ["1", "2", "3", "4"], "INT"
    else:
        i = draw(st.integers(0, len(kinds) - 1))
        column, pool, kind = f"c{i}", POOLS[kinds[i]], kinds[i]
    return draw(leaf(column, pool, kind))


@st.composite
def leaf(draw: st.DrawFn, column: str, pool: list[str], kind: str) -> str:
    value = st.sampled_from(pool)
    forms = ["compare", "compare", "flip", "in", "not in", "between", "null", "not"]
    form = draw(st.sampled_from([*forms, "like"] if kind == "STRING" else forms))
    if form == "compare":
        return f"{column} {draw(st.sampled_from(OPS))} {draw(value)}"
    if form == "flip":
        return f"{draw(value)} {draw(st.sampled_from(OPS))} {column}"
    if form in ("in", "not in"):
        wanted = [*draw(st.lists(value, min_size=1, max_size=12)), *(["NULL"] if draw(st.integers(0, 5)) == 0 else [])]
        return f"{column} {form.upper()} ({', '.join(wanted)})"
    if form == "between":
        return f"{column} BETWEEN {draw(value)} AND {draw(value)}"
    if form == "null":
        return f"{column} IS {draw(st.sampled_from(['NULL', 'NOT NULL']))}"
    if form == "like":
        pattern = draw(st.sampled_from(["a%", "ab%", "😀%", "%", "a\\\\_b", "a\\\\%%", "é%", "_b%", "x%y", "", "abc"]))
        return f"{column} {draw(st.sampled_from(['LIKE', 'NOT LIKE']))} '{pattern}'"
    return f"NOT ({column} {draw(st.sampled_from(OPS))} {draw(value)})"


def read(spark: SparkSession, path: str, data: Data) -> DataFrame:
    return spark.read.format(data["fmt"]).load(path)


def stem(name: str) -> str:
    return unquote(name).rpartition("/")[2].rpartition(".")[0]


def truth(df: DataFrame, predicates: list[str]) -> list[set[str]]:
    """Return, for each predicate, the files with a row for which it is TRUE, with one job for all predicates."""
    columns = [F.max(F.coalesce(F.expr(p), F.lit(False))).alias(f"t{i}") for i, p in enumerate(predicates)]
    rows = df.groupBy(F.input_file_name().alias("file")).agg(*columns).collect()
    return [{stem(row.file) for row in rows if row[f"t{i}"]} for i in range(len(predicates))]


def is_exact(text: str, data: Data) -> bool:
    """Return whether a predicate is a single leaf that a ValueList answers exactly."""
    exact = {f"c{i}" for name, i in data["indexes"] if name == "valuelist"}
    simple = not any(word in text for word in (" AND ", " OR ", "NULL", "<=>", "NOT", "LIKE", "BETWEEN"))
    return simple and any(text.startswith(c + " ") or text.endswith(" " + c) for c in exact)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    tally.clear()
    return iter(tmp_path_factory.mktemp(f"fuzz{i}") for i in range(10**9))


# without shrinking: each attempt would cost Spark jobs, and the failing predicate is named
@settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=datasets())
def test_skipped_files_hold_no_matching_row(spark: SparkSession, folders: Iterator[Path], data: Data) -> None:
    spark.conf.set("spark.xskip.strict", "true")
    spark.conf.set("spark.sql.sources.useV1SourceList", "parquet,avro" if data["api"] == "v1" else "")
    path = write(spark, next(folders), data)
    makers = {"minmax": MinMax, "valuelist": ValueList, "bloomfilter": BloomFilter}
    made = SkippingIndex.for_path(spark, path, format=data["fmt"])
    made.create([makers[name](f"c{i}") for name, i in data["indexes"]])
    xskip.disable(spark)
    matching = truth(read(spark, path, data), data["predicates"])
    xskip.enable(spark)
    everything = {f"f{i}" for i in range(len(data["files"]))}
    for text, holding in zip(data["predicates"], matching, strict=True):
        kept = {stem(name) for name in made.files(text)}
        assert holding <= kept <= everything, (text, sorted(holding - kept))
        tally["predicates"] += 1
        tally["pruned"] += kept < everything
        tally["prunable"] += holding < everything
        if is_exact(text, data):
            tally["exact"] += 1
            assert kept == holding, (text, sorted(kept - holding))


def test_the_run_was_not_vacuous() -> None:
    """At least a fifth of the predicates that could skip a file have skipped one."""
    assert tally["predicates"] >= PREDICATES * min(EXAMPLES, 5)
    assert tally["exact"] >= EXAMPLES
    assert tally["pruned"] >= tally["prunable"] / 5 > 0


def test_the_check_sees_a_wrong_skip(
    spark: SparkSession, folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison of this module fails if an index skips too much."""
    data = {"fmt": "parquet", "kinds": ["INT"], "files": [[["1"]], [["2"]]], "partitions": []}
    path = write(spark, next(folders), data)
    made = index(spark, path, [MinMax("c0")])
    monkeypatch.setattr("xskip.pruning.prune.is_false", lambda verdicts: np.ones(len(verdicts), np.bool_))
    xskip.disable(spark)
    (holding,) = truth(read(spark, path, data), ["c0 <= 2"])
    xskip.enable(spark)
    kept = {stem(name) for name in made.files("c0 <= 2")}
    assert holding == {"f0", "f1"}
    assert not holding <= kept
