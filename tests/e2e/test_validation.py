"""Validation names the files whose metadata leave out a row, and no others; repairs make exactly these anew."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.indexing.builder
from tests.e2e.parts import PART, indexed, read, read_bytes, rows, write
from tests.falsified import falsify, falsify_tables
from tests.filters import made as filter_of
from tests.helpers import given_away, index, kept, metadata, rows_of, write_once
from xskip import (
    BloomFilter,
    Formatted,
    GapList,
    GeoBox,
    Hybrid,
    Index,
    MinMax,
    NullCount,
    PathBounds,
    Prefix,
    SkippingIndex,
    TokenBloom,
    ValueList,
)
from xskip.errors import IndexDefinitionError
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.file_parts import FileParts
from xskip.metadata.table import IndexKey, MetadataTable
from xskip.metadatastore.commit import publish
from xskip.spark.collect.parquet_footers import FooterStatistics

SCHEMA = "x int, s string, u double, p double, q double"
NAN = math.nan
FILES: dict[str, list[tuple[Any, ...]]] = {
    "a": [(1, "ab", 1.0, 0.0, 0.0), (2, "cd", 2.0, 1.0, 1.0)],
    "b": [
        (10, "oslo fjord", 0.0, 0.0, 0.0),
        (20, "lima sea", 1.0, 5.0, 5.0),
        (30, "oslo sea", NAN, 10.0, 0.0),
        (None, None, None, None, None),
    ],
    "c": [(None, None, None, None, None)],
}
FEW, MANY = [10, 20], [10, 20, 30, 40]
#: An index without another lie or truth; None is a lie or a truth.
NOTHING = object()
WORDS = [b"oslo", b"fjord", b"lima", b"sea"]


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    return write_once(spark, tmp_path / "data", SCHEMA, FILES)


#: An index, and the statistics of file b: those that leave out a row, and those that are true but differ.
Case: TypeAlias = tuple[Index, list[Any], list[Any]]
CASES: list[Case] = [
    (
        MinMax("x"),
        [{"min": 11, "max": 30}, {"min": 10, "max": 29}, {"min": None, "max": None}],
        [{"min": -5, "max": 30}, {"min": 10, "max": 99}, None],
    ),
    (MinMax("s"), [{"min": "m", "max": "z"}], [{"min": "", "max": "z"}]),
    (MinMax("u"), [{"min": 0.0, "max": math.inf}], [{"min": -0.0, "max": NAN}]),
    (MinMax("x + 1", expression=True), [{"min": 11, "max": 30}], [{"min": 11, "max": 31}]),
    (ValueList("x"), [FEW, []], [MANY, None]),
    (ValueList("x", max_values=2), [FEW], [None]),
    (ValueList("u"), [[0.0, 1.0]], [[-0.0, 1.0, NAN, 7.0]]),
    (NullCount("x"), [{"nulls": 0, "rows": 4}, {"nulls": 1, "rows": 5}], [None]),
    (Prefix("s", length=2), [[b"os"]], [[b"os", b"li", b"ab"]]),
    (Formatted("s", r"^(\w+) "), [["oslo"]], [["oslo", "lima", "cairo", ""]]),
    (
        BloomFilter("x"),
        [filter_of(FEW, ndv=3), filter_of(FEW, ndv=1000), filter_of([], ndv=1)],
        [filter_of(MANY, ndv=3), filter_of(MANY, ndv=1000), None],
    ),
    (BloomFilter("s", ndv=50), [filter_of([b"oslo sea"], ndv=50)], [None]),
    (TokenBloom("s", ndv=50), [filter_of(WORDS[:3], ndv=50)], [filter_of([*WORDS, b"x"], ndv=50)]),
    (Hybrid("x"), [{"values": FEW, "filter": None}], [{"values": MANY, "filter": None}, None]),
    (
        Hybrid("x", max_values=2),
        [{"values": None, "filter": filter_of(FEW, ndv=3)}, {"values": FEW, "filter": None}],
        [{"values": None, "filter": filter_of(MANY, ndv=3)}],
    ),
    (Hybrid("x", max_values=3), [{"values": None, "filter": filter_of(FEW, ndv=9)}], []),
    (
        GapList("x", gaps=1),
        [[10, 10, 30, 30], [11, 30], [10, 20], []],
        [[10, 20, 30, 30], [10, 10, 20, 30], [0, 99], [10, 10, 20, 20, 30, 30]],
    ),
    (
        GeoBox("p", "q", boxes=1),
        [[0.0, 9.0, 0.0, 5.0], [0.0, 0.0, 0.0, 0.0, 10.0, 10.0, 0.0, 0.0], []],
        [[-1.0, 99.0, -1.0, 99.0], [0.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0, 10.0, 10.0, 0.0, 0.0]],
    ),
]


def keys_of(kinds: Sequence[Index]) -> list[IndexKey]:
    """Return the keys of index types in the metadata."""
    return [(kind.name, tuple(kind.columns)) for kind in kinds]


def groups_of(cases: Sequence[Case]) -> list[list[Case]]:
    """Return groups of cases, each of which one dataset can have, because their indexes have different keys."""
    groups: list[list[Case]] = []
    for case in cases:
        (key,) = keys_of([case[0]])
        fitting = (group for group in groups if key not in keys_of([kind for kind, *_ in group]))
        group = next(fitting, None)
        groups.append([case]) if group is None else group.append(case)
    return groups


@pytest.mark.parametrize("cases", groups_of(CASES), ids=lambda cases: str(len(cases)))
def test_statistics_that_leave_out_a_row_are_named(spark: SparkSession, path: str, cases: list[Case]) -> None:
    """[PRU-VA-1] [PRU-VA-2] [PRU-VA-3] Each round replaces the statistics of one file in all indexes with a lie."""
    keys = keys_of([kind for kind, *_ in cases])
    made = index(spark, path, [*(kind for kind, *_ in cases), MinMax("q")])
    before = rows_of(made)
    clean = made.validate()
    assert (clean.files, clean.wrong) == (3, ())
    for lies in zip_longest(*(each for _, each, _ in cases), fillvalue=NOTHING):
        replaced = {key: lie for key, lie in zip(keys, lies, strict=True) if lie is not NOTHING}
        for key, lie in replaced.items():
            falsify(spark, made, key, {"b": lie})
        found = made.validate()
        assert sorted((Path(w.path).stem, w.index, w.is_certain) for w in found.wrong) == sorted(
            ("b", f"{name}({', '.join(columns)})", True) for name, columns in replaced
        ), replaced
        assert found.files_with_errors == (f"{path}/b.parquet",)
        assert all(w.claimed != w.actual for w in found.wrong)
        repaired = made.repair()
        assert (repaired.files, repaired.repaired, repaired.left) == (3, (f"{path}/b.parquet",), ())
        assert rows_of(made) == before
    for truths in zip_longest(*(each for *_, each in cases), fillvalue=NOTHING):
        for key, truth in zip(keys, truths, strict=True):
            if truth is not NOTHING:
                falsify(spark, made, key, {"b": truth})
        assert made.validate().wrong == (), truths


def test_what_cannot_be_decided_is_not_certain(spark: SparkSession, path: str) -> None:
    """[PRU-VA-2]"""
    made = index(spark, path, [TokenBloom("s")])
    falsify(spark, made, ("tokenbloom", ("s",)), {"b": filter_of(WORDS, ndv=1000)})
    found = made.validate()
    assert [(Path(w.path).stem, w.is_certain) for w in found.wrong] == [("b", False)]
    assert "wrong, perhaps" in str(found)


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_new_metadata_of_every_type_are_true(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[PRU-VA-1] Footers, whose bounds a build takes, are not asked again."""
    rows = [(n, f"s {n}", n / 4, None, -0.0 if n % 2 else NAN) for n in range(40)]
    path = write_once(spark, tmp_path / "data", SCHEMA, {"f": rows[:20], "g": rows[20:], "h": []}, fmt)
    indexes: list[Index] = [
        *(kind(column) for kind in (MinMax, ValueList, NullCount) for column in "xsupq"),
        *(kind(column) for kind in (BloomFilter, Hybrid) for column in "xs"),
        *(GapList(column) for column in "xupq"),
        GeoBox("u", "q", boxes=2), Prefix("s"), TokenBloom("s"), Formatted("s", r"(\d+)"),
    ]  # fmt: skip
    found = index(spark, path, indexes, fmt).validate()
    assert (found.files, found.wrong, found.unchecked) == (3, (), ())


def test_footers_are_not_trusted(spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-VA-1] [PRU-VA-4] Wrong bounds of a footer are found, and the repair reads the rows."""
    from xskip.spark.collect import footer_results

    monkeypatch.setattr(footer_results, "footer_statistics", lambda *_: FooterStatistics([(5, 6)], 1, [0]))
    made = index(spark, path, [MinMax("x")])
    # the bounds are true of a file without values, but not the number of NULLs
    assert {Path(name).stem for name in made.validate().files_with_errors} == {"a", "b", "c"}
    assert {Path(name).stem for name in made.repair().repaired} == {"a", "b", "c"}
    monkeypatch.undo()
    assert made.validate().wrong == ()
    assert kept(spark, path, "x = 30") == {"b"}


def test_a_sample(spark: SparkSession, path: str) -> None:
    """[PRU-VA-1]"""
    made = index(spark, path, [MinMax("x")])
    falsify(spark, made, ("minmax", ("x",)), {"a": {"min": 9, "max": 9}, "b": {"min": 9, "max": 9}})
    found = [made.validate(sample=1, seed=seed) for seed in range(8, 14)]
    assert {each.files for each in found} == {1}
    assert {len(each.wrong) for each in found} == {0, 1}
    assert made.validate(sample=1, seed=11).wrong == found[3].wrong
    assert len(made.validate(sample=99).wrong) == 2


def test_a_repair_follows_the_dataset(spark: SparkSession, path: str) -> None:
    """[PRU-VA-4] New, changed and deleted files are repaired in the same commit, other files keep their metadata."""
    made = index(spark, path, [MinMax("x")])
    write_once(spark, Path(path), SCHEMA, {"d": [(7, "d", 1.0, 1.0, 1.0)]})
    made.refresh()
    commit = made.describe().commit
    falsify(spark, made, ("minmax", ("x",)), {"a": {"min": 2, "max": 2}})
    (Path(path) / "b.parquet").unlink()
    os.utime(Path(path) / "c.parquet", (1_600_000_000, 1_600_000_000))
    write_once(spark, Path(path), SCHEMA, {"e": [(8, "e", 1.0, 1.0, 1.0)]})
    found = made.validate()
    assert (found.files, found.missing, found.stale) == (2, 2, 2)
    repaired = made.repair()
    assert [Path(name).stem for name in repaired.repaired] == ["a"]
    assert (made.describe().commit, repaired.left) == (commit + 2, ())
    assert made.status().up_to_date
    assert made.validate().wrong == ()
    again = made.repair()
    assert (again.repaired, again.removed, made.describe().commit) == ((), 0, commit + 2)


def test_bounds_in_paths_stay_wrong(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-VA-4] [PRU-PB-7]"""
    path = write_once(spark, tmp_path / "data", "ts bigint", {"ts_1_5": [(9,)], "ts_6_9": [(7,)]})
    made = index(spark, path, [PathBounds("ts", "ts_{ts:min}_{ts:max}"), MinMax("ts")])
    repaired = made.repair()
    assert [Path(name).stem for name in repaired.repaired] == ["ts_1_5"]
    assert [(w.index, w.claimed, w.actual) for w in repaired.left] == [("pathbounds(ts)", "1 to 5", "9 to 9")]
    assert "still wrong" in str(repaired)


def test_a_repair_against_another_writer(spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-VA-4] [MDS-C-19]"""
    made = index(spark, path, [MinMax("x")])
    falsify(spark, made, ("minmax", ("x",)), {"b": {"min": 11, "max": 12}})
    other = SkippingIndex.for_path(spark, path)
    waiting = [True]

    def slow(*args: Any) -> Any:
        if waiting:
            waiting.clear()
            write_once(spark, Path(path), SCHEMA, {"d": [(7, "d", 1.0, 1.0, 1.0)]})
            other.refresh()
        return publish(*args)

    monkeypatch.setattr(xskip.indexing.builder, "publish", slow)
    assert [Path(name).stem for name in made.repair().repaired] == ["b"]
    found = made.validate()
    assert (found.files, found.wrong) == (4, ())


def test_metadata_of_another_program(spark: SparkSession, path: str) -> None:
    """[PRU-VA-1] Nothing is known of how another program has read the files."""
    made = index(spark, path, [MinMax("x")])
    given_away(spark, made, [metadata(made)])
    with pytest.raises(IndexDefinitionError, match=r"another program has collected.*refresh\(\)"):
        made.validate()


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
@pytest.mark.parametrize("wrong", ["", "values", "rows"])
@pytest.mark.usefixtures("small_parts")
def test_parts(spark: SparkSession, tmp_path: Path, fmt: str, wrong: str) -> None:
    """[PRU-VA-5] Parts that are not those of their rows are found, and repaired."""
    place = write(rows(spark), str(tmp_path / "t"), fmt)
    made = indexed(spark, place, fmt)

    def changed(table: MetadataTable) -> MetadataTable:
        parts = table.parts
        assert parts is not None
        if wrong == "rows":
            return replace(table, parts=FileParts(_moved(parts.ranges), parts.values))
        return replace(table, parts=FileParts(parts.ranges, {k: _turned(each) for k, each in parts.values.items()}))

    if wrong:
        falsify_tables(spark, made, changed)
    found = made.validate()
    assert len(found.files_with_errors) == (2 if wrong else 0)
    texts = {each.index for each in found.wrong}
    assert any("part at byte" in text for text in texts) is bool(wrong)
    assert any(text.startswith("minmax(ts), part at byte") for text in texts) is (wrong == "values"), texts
    assert not made.repair().left
    assert made.validate().wrong == ()
    assert read_bytes(read(spark, place, fmt).filter("ts = 5")) < 2 * PART


def _turned(lists: pa.Array) -> pa.Array:
    """Return lists with their values in the opposite order."""
    return pa.array([None if each is None else each[::-1] for each in lists.to_pylist()], lists.type)


def _moved(ranges: pa.Array) -> pa.Array:
    """Return ranges of which the first has a row of the last."""
    lists = ranges.to_pylist()
    for each in lists:
        each[0]["rows"] += 1
        each[-1]["rows"] -= 1
    return pa.array(lists, ranges.type)


def test_counts(spark: SparkSession, path: str) -> None:
    """[PRU-VA-5] Wrong numbers of rows and NULLs."""
    made = index(spark, path, [ValueList("x")])

    def changed(table: MetadataTable) -> MetadataTable:
        counts = table.counts
        assert counts is not None
        more = {name: pc.add(each, 1) for name, each in counts.nulls.items()}
        return replace(table, counts=FileCounts(pc.add(counts.rows, 2), more))

    falsify_tables(spark, made, changed)
    assert {each.index for each in made.validate().wrong} == {"number of rows", "number of NULLs of x"}
    assert not made.repair().left
    assert made.validate().wrong == ()
