"""Without Spark, an index keeps every file with a matching row, and the files that a query in Spark reads."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from pyarrow.fs import LocalFileSystem
from pyspark.sql import SparkSession

import xskip
from tests.effort import cases
from tests.helpers import index, write_once
from tests.standalone.random_data import FILES, NAMES, START, made
from xskip import BloomFilter, MinMax, SkippingIndex
from xskip.errors import DatasetError, MetadataNotFoundError, PredicateError, SettingError, StorageError
from xskip.indexing.directory_changes import local_files
from xskip.standalone.store import Store, list_data

ROOT = Path(__file__).parents[2]
ZONES = ("UTC", "Europe/Oslo", "America/St_Johns", "Pacific/Kiritimati", "Pacific/Pago_Pago")


def literal(draw: random.Random, name: str) -> str:
    number = draw.randint(-10, FILES * 10 + 10)
    moment = START + timedelta(hours=number * 5)
    match name:
        case "i" | "p":
            return draw.choice([str(number % 5 if name == "p" else number), f"{number}.5", "5000000000"])
        case "l":
            return str(number * 1_000_000_007)
        case "d" | "f" | "c":
            return draw.choice([str(number), f"{number}.25", f"{number}.125", "0.1", "0"])
        case "s":
            return f"'{chr(97 + number % 26)}{number:03d}'"
        case "q":
            return draw.choice(["'x'", "'y'", "'w'"])
        case "day":
            return draw.choice(["", "DATE "]) + f"'{START.date() + timedelta(days=number)}'"
        case "n":
            return draw.choice([f"TIMESTAMP '{moment}'", f"DATE '{moment.date()}'"])
        case "t":
            return draw.choice([f"TIMESTAMP '{moment}'", f"'{moment}'", f"'{moment}+02:00'", f"DATE '{moment.date()}'"])
        case _:
            return draw.choice(["TRUE", "FALSE"])


def condition(draw: random.Random, names: list[str]) -> str:
    name = draw.choice(names)
    op = draw.choice(["=", "!=", "<", "<=", ">", ">=", "IN", "BETWEEN", "NULL", "LIKE"])
    negated = draw.choice(["", "", "NOT "])
    match op:
        case "NULL":
            return f"{name} IS {negated}NULL"
        case "IN":
            return f"{name} {negated}IN ({', '.join(literal(draw, name) for _ in range(draw.randint(1, 4)))})"
        case "BETWEEN":
            return f"{name} {negated}BETWEEN {literal(draw, name)} AND {literal(draw, name)}"
        case "LIKE" if name == "s":
            pattern = draw.choice(["a%", f"{literal(draw, 's')[1:3]}%", "b0%1", "%1", f"{literal(draw, 's')[1:-1]}"])
            return f"s {negated}LIKE '{pattern}'"
        case "LIKE":
            return f"abs({name}) = 1" if name in ("i", "d") else f"{name} IS NOT NULL"
        case _:
            return f"{negated}{name} {op} {literal(draw, name)}"


def predicate(draw: random.Random, names: list[str], depth: int = 2) -> str:
    if depth == 0 or draw.random() < 0.3:
        return condition(draw, names)
    parts = [predicate(draw, names, depth - 1) for _ in range(2)]
    text = f"({parts[0]} {draw.choice(['AND', 'OR'])} {parts[1]})"
    return f"NOT {text}" if draw.random() < 0.2 else text


@pytest.fixture
def draw() -> random.Random:
    seed = random.randrange(1 << 30)
    sys.stdout.write(f"seed {seed}\n")
    return random.Random(seed)


@pytest.fixture
def dataset(spark: SparkSession, tmp_path: Path, draw: random.Random) -> SkippingIndex:
    return made(spark, tmp_path, draw)


@pytest.fixture
def connection(dataset: SkippingIndex) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connected:
        connected.execute(
            f"CREATE TABLE x AS FROM read_parquet('{dataset.name}/p=*/*/*.parquet', hive_partitioning = true, "
            "hive_types = {'p': INT, 'q': VARCHAR}, filename = true)"
        )
        yield connected


def test_random_predicates_skip_no_file_with_a_matching_row(
    dataset: SkippingIndex, connection: duckdb.DuckDBPyConnection, draw: random.Random
) -> None:
    """[STA-SK-1] [STA-SK-2] [STA-PR-3] [STA-PR-5]"""
    opened = {zone: xskip.open_index(dataset.name, time_zone=zone) for zone in (None, *ZONES)}
    skipped = tested = 0
    for _ in range(cases(300)):
        text, zone = predicate(draw, [*NAMES, "p", "q"]), draw.choice(ZONES)
        connection.execute(f"SET TimeZone = '{zone}'")
        try:
            matching = connection.execute(f"SELECT DISTINCT filename FROM x WHERE {text}").fetchall()
        except (duckdb.ConversionException, duckdb.BinderException):
            continue
        tested += 1
        for known in (None, zone):
            kept = opened[known].files(text)
            assert {name for (name,) in matching} <= set(kept), (text, zone, known)
            assert kept.problem == ""
            skipped += kept.total - len(kept)
    assert tested > cases(200)
    assert skipped > 2 * tested


def test_simple_predicates_keep_the_files_that_a_query_in_spark_reads(
    dataset: SkippingIndex, draw: random.Random
) -> None:
    """[STA-SK-3]"""
    opened = xskip.open_index(dataset.name)
    skipped = 0
    for _ in range(cases(30)):
        text = predicate(draw, ["i", "l", "s", "c", "day", "p", "q"], depth=1)
        if "abs" in text or "'b0%1'" in text or "'%1'" in text:
            continue
        kept = opened.files(text)
        read = dataset.files(text).names
        assert set(kept.names) >= set(read), text
        # Spark compares other types than those of the columns, and finds contradictions such as c = 0 AND c != 0
        if not re.search(r"\d[.]\d|5000000000", text) and (read or " AND " not in text):
            assert kept.names == read, text
        assert kept.unused == ()
        skipped += kept.total - len(kept)
    assert skipped > cases(60)


def test_random_expressions_of_pyarrow_skip_no_file_with_a_matching_row(
    dataset: SkippingIndex, draw: random.Random
) -> None:
    """[STA-SK-1] [STA-AR-1]"""
    opened = xskip.open_index(dataset.name)
    schema = opened.files("i = 0").to_pyarrow().schema
    partitioning = ds.partitioning(pa.schema([("p", pa.int32()), ("q", pa.string())]), flavor="hive")
    every = ds.dataset(dataset.name, format="parquet", partitioning=partitioning)
    skipped = 0
    for _ in range(cases(150)):
        expression = drawn(draw, schema)
        matching = set(every.to_table(["__filename"], filter=expression)["__filename"].to_pylist())
        kept = opened.files(expression)
        assert matching <= set(kept), str(expression)
        skipped += kept.total - len(kept)
    assert skipped > cases(150)
    other = opened.files(ds.field("flag") & (ds.field("i") > 5))
    assert other.unused == ()
    assert other.names == opened.files("flag AND i > 5").names


def drawn(draw: random.Random, schema: pa.Schema, depth: int = 2) -> Any:
    if depth and draw.random() < 0.6:
        left, right = (drawn(draw, schema, depth - 1) for _ in range(2))
        found = left & right if draw.random() < 0.5 else left | right
        return ~found if draw.random() < 0.3 else found
    name = draw.choice(["i", "l", "d", "f", "s", "day", "p", "q"])
    field, number = ds.field(name), draw.randint(-10, FILES * 10 + 10)
    value: Any = {
        "l": number * 1_000_000_007, "d": number / 4, "f": number / 8, "s": f"{chr(97 + number % 26)}{number:03d}",
        "day": START.date() + timedelta(days=number), "p": number % 5, "q": "x",
    }.get(name, number)  # fmt: skip
    return draw.choice(
        [
            lambda: field == value, lambda: field != value, lambda: field < value, lambda: field <= value,
            lambda: field > value, lambda: field >= value, lambda: ~(field > value), lambda: ~(field <= value),
            lambda: field.isin([value]), field.is_null, field.is_valid, lambda: ~(field == value),
        ]
    )()  # fmt: skip


def test_the_check_sees_a_wrong_skip(
    dataset: SkippingIndex, connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison of this module fails if an index skips too much."""
    monkeypatch.setattr("xskip.standalone.resolve._FLOATING", ())
    opened, text = xskip.open_index(dataset.name), "NOT d <= 1000 AND NOT i > 1000"
    (expected,) = connection.execute(f"SELECT count(DISTINCT filename) FROM x WHERE {text}").fetchone() or (0,)
    assert expected > 0  # NaN
    monkeypatch.setattr("xskip.pruning.prune.is_false", lambda verdicts: np.full(len(verdicts), True))
    assert len(opened.files(text)) < expected


def test_new_changed_and_deleted_files(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-SK-2]"""
    path = write_once(spark, tmp_path / "data", "a int", {f"p={i}/f{i}": [(i,)] for i in range(4)})
    index(spark, path, [MinMax("a")])
    opened = xskip.open_index(path)
    assert [Path(name).stem for name in opened.files("a = 1")] == ["f1"]
    (tmp_path / "data" / "p=9").mkdir()
    (tmp_path / "data" / "p=0" / "f0.parquet").rename(tmp_path / "data" / "p=9" / "f0.parquet")
    os.utime(tmp_path / "data" / "p=2" / "f2.parquet", (1, 1))
    for hidden in ("_a.parquet", ".b.parquet", "empty.parquet"):
        (tmp_path / "data" / "p=3" / hidden).write_bytes(b"" if hidden == "empty.parquet" else b"x")
    kept = opened.files("a = 1")
    assert [Path(name).stem for name in kept] == ["f1", "f2", "f0"]
    assert kept.total == 4
    read = kept.to_pyarrow().to_table().to_pylist()
    assert sorted((line["a"], line["p"]) for line in read) == [(0, 9), (1, 1), (2, 2)]
    SkippingIndex.for_path(spark, path).refresh()
    assert [Path(name).stem for name in opened.files("a = 1")] == ["f1"]
    SkippingIndex.for_path(spark, path).drop()
    with pytest.raises(MetadataNotFoundError):
        opened.files("a = 1")


def test_hidden_names(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-SK-2] [PRU-TL-6] The listings without Spark have the files that Spark reads, in directories of all names."""
    names = ["a", "_a", ".a", "_a=1", ".a=1", "a_", "a._COPYING_", "_a=1._COPYING_", "_COPYING_", "._COPYING_"]
    names += [f"_metadata{more}" for more in ("", "s", "=1", "._COPYING_", "=1._COPYING_")]
    names += ["_common_metadata", "_common_metadata=1", "_Metadata"]
    for name in names:
        for file in (f"{name}.f", f"d/{name}", *(f"{name}/{other}" for other in names)):
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(file)
    lines = spark.read.text(str(tmp_path), recursiveFileLookup=True).collect()
    expected = sorted(f"{tmp_path}/{line[0]}" for line in lines)
    assert {f"{tmp_path}/_metadata/a", f"{tmp_path}/_a=1.f"} <= {*expected}
    for filesystem in (None, LocalFileSystem()):
        assert sorted(list_data(Store.of(tmp_path, filesystem)).names.to_pylist()) == expected
    found = local_files(f"file:{tmp_path}")
    assert found is not None
    assert sorted(found.files.names.to_pylist()) == expected


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_formats_and_scans(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[STA-SK-4]"""
    path = write_once(spark, tmp_path / "data", "a int, s string", {f"p={i}/f{i}": [(i, "x")] for i in range(3)}, fmt)
    index(spark, path, [MinMax("a")], fmt)
    opened = xskip.open_index(path)
    for text, expected in {"a > 0": [(1, "x", 1), (2, "x", 2)], "p = 0": [(0, "x", 0)], "a = 9": []}.items():
        kept = opened.files(text)
        assert (kept.problem, kept.unused) == ("", ())
        frame = kept.to_polars()
        assert frame.collect_schema().names() == ["a", "s", "p"]
        assert sorted(frame.collect().rows()) == expected
        if fmt != "avro":
            assert sorted(opened.files(text).to_duckdb().fetchall()) == expected


def test_an_index_that_spark_reads_in_another_way_keeps_all_files(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-SK-4]"""
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(3)})
    spark.read.parquet(path).write.csv(f"{path}-csv")
    index(spark, f"{path}-csv", [MinMax("_c0")], "csv")
    index(spark, write_once(spark, tmp_path / "orc", "a int", {"f": [(1,)]}, "orc"), [MinMax("a")], "orc")
    assert "format orc" in xskip.open_index(str(tmp_path / "orc")).files("a = 5").problem
    assert "format csv" in xskip.open_index(f"{path}-csv").files("_c0 = '1'").problem
    made = SkippingIndex.for_path(spark, path, options={"datetimeRebaseMode": "LEGACY"})
    made.create([MinMax("a")])
    kept = xskip.open_index(path).files("a = 1")
    assert (len(kept), kept.total) == (3, 3)
    assert "datetimerebasemode" in kept.problem.lower()


def test_the_case_of_names_counts_as_in_the_build(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-SK-4]"""
    path = write_once(spark, tmp_path / "data", "Ab int", {f"f{i}": [(i,)] for i in range(3)})
    index(spark, path, [MinMax("Ab")])
    assert len(xskip.open_index(path).files("aB = 1")) == 1
    assert len(xskip.open_index(path).files(ds.field("Ab") == 1)) == 1
    spark.conf.set("spark.sql.caseSensitive", "true")
    path = write_once(spark, tmp_path / "other", "Ab int", {f"f{i}": [(i,)] for i in range(3)})
    index(spark, path, [MinMax("Ab")])
    assert len(xskip.open_index(path).files("Ab = 1")) == 1
    with pytest.raises(PredicateError, match=r"no such column .*found: ab; expected: one of Ab\); did you mean Ab\?"):
        xskip.open_index(path).files("ab = 1")


def test_old_times_are_read_in_an_unknown_zone(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-SK-4]"""
    files = {"old": [(datetime(1850, 1, 1),)], "new": [(datetime(2000, 1, 1),)]}
    path = write_once(spark, tmp_path / "data", "t timestamp", files)
    index(spark, path, [MinMax("t")])
    opened = xskip.open_index(path)
    assert [Path(name).stem for name in opened.files("t < '1700-01-01'")] == ["old"]
    assert [Path(name).stem for name in opened.files("t > '1990-01-01'")] == ["new", "old"]


def test_places_of_the_index(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "data", "a int", {f"p={i}/f{i}": [(i,)] for i in range(3)})
    with pytest.raises(MetadataNotFoundError, match="there is no index"):
        xskip.open_index(path)
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "base"))
    index(spark, path, [MinMax("a")])
    for filesystem in (None, LocalFileSystem()):
        opened = xskip.open_index(f"file://{path}/", location=str(tmp_path / "base"), filesystem=filesystem)
        kept = opened.files("a = 2")
        assert [Path(name).stem for name in kept] == ["f2"]
        assert kept.to_pyarrow().to_table().to_pylist() == [{"a": 2, "p": 2}]
    with pytest.raises(SettingError, match="time zone"):
        xskip.open_index(path, time_zone="Europe/Nowhere")
    opened = xskip.open_index(path, location=str(tmp_path / "base"))
    Path(path).rename(f"{path}-moved")
    with pytest.raises(DatasetError, match="no directory"):
        opened.files("a = 1")


def test_spark_is_not_imported(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-SK-5]"""
    path = write_once(spark, tmp_path / "data", "a int, day date", {f"f{i}": [(i, date(2024, 1, 1))] for i in range(3)})
    index(spark, path, [MinMax("a"), BloomFilter("a"), MinMax("day")])
    code = (
        "import json, sys, xskip\n"
        f"kept = xskip.open_index({path!r}).files(\"a = 1 AND day = '2024-01-01'\")\n"
        "rows = kept.to_pyarrow().to_table().num_rows\n"
        "print(json.dumps([kept.names, rows, [m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')]]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert json.loads(ran.stdout) == [[f"{path}/f1.parquet"], 1, []]


@pytest.mark.parametrize("predicate", [None, 5, pc.equal])
def test_what_is_no_predicate(spark: SparkSession, tmp_path: Path, predicate: Any) -> None:
    path = write_once(spark, tmp_path / "data", "a int", {"f": [(1,)]})
    index(spark, path, [MinMax("a")])
    with pytest.raises(PredicateError, match=r"neither SQL nor an expression .*expected: such as 'temp > 30'"):
        xskip.open_index(path).files(predicate)


@pytest.mark.parametrize("scheme", ["nosuch", "hdfs"])
def test_file_systems_that_pyarrow_cannot_open(scheme: str) -> None:
    with pytest.raises(StorageError, match=f"cannot open the file system .where: {scheme}://.*or pass filesystem="):
        xskip.open_index(f"{scheme}://nohost/data")
