"""Builds collect every type from files of all kinds, and leave nothing behind when they fail."""

from __future__ import annotations

import datetime as dt
import errno
import logging
import re
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.e2e.datasets import SCHEMA, by_name, rows
from tests.helpers import SPARK_4, assert_same_rows, index, kept, metadata, opened_files, write_files, write_once
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList
from xskip.errors import CollectError, UnsupportedTypeError
from xskip.indexing import progress
from xskip.results.operations import Progress
from xskip.spark.collect.collector import Collector

FORMATS = ["parquet", "avro"]


def everything(directory: str) -> list[tuple[str, int]]:
    return sorted((str(p), p.stat().st_size) for p in Path(directory).rglob("*"))


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("bad", ["f2", "not good#2%20"])
def test_a_refresh_fails_on_a_corrupt_file_or_skips_it(spark: SparkSession, tmp_path: Path, fmt: str, bad: str) -> None:
    path = write_once(spark, tmp_path / "data", SCHEMA, {**rows(0, 1), bad: [(2, "s2")]}, fmt)
    broken = Path(path) / f"{bad}.{fmt}"
    made = SkippingIndex.for_path(spark, path, format=fmt, schema=SCHEMA)
    whole = broken.read_bytes()
    broken.unlink()
    made.create([MinMax("a"), ValueList("s")])
    location, before = made.describe().location, by_name(made)
    files = everything(location)
    broken.write_bytes(whole[: len(whole) // 2] + b"\x00" * 9)
    with pytest.raises(CollectError, match="on_error='skip'") as caught:
        made.refresh()
    assert (caught.value.where or "").endswith(f"/{bad}.{fmt}")
    assert "An error occurred while calling" not in str(caught.value)  # that is py4j's, and says nothing
    assert everything(location) == files
    assert by_name(made) == before
    result = made.refresh(on_error="skip")
    assert (result.added, result.unchanged) == (0, 2)
    assert [Path(name).name for name in result.failed] == [f"{bad}.{fmt}"]
    assert by_name(made) == before
    assert made.status().missing == 1
    read = spark.read.format(fmt).schema(SCHEMA).load(path)
    assert opened_files(read.filter("a = 1")) == {
        "f1",
        bad,
    }  # what has no metadata is read, and Spark says what is wrong
    broken.write_bytes(whole)
    assert made.refresh().added == 1
    again = spark.read.format(fmt).schema(SCHEMA).load(path)  # the one before keeps its listing, as in plain Spark
    assert opened_files(again.filter("a = 1")) == {"f1"}


@pytest.mark.parametrize("fmt", FORMATS)
def test_create_fails_on_a_corrupt_file_or_skips_it(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    path = write_once(spark, tmp_path / "data", SCHEMA, rows(0, 1, 2, 3), fmt)
    for name in ("f1", "f3"):
        (Path(path) / f"{name}.{fmt}").write_bytes(b"no data at all" * 20)
    made = SkippingIndex.for_path(spark, path, format=fmt, schema=SCHEMA)
    with pytest.raises(CollectError) as caught:
        made.create([ValueList("a")])
    assert Path(caught.value.where or "").stem in ("f1", "f3")
    assert not made.exists()
    assert [p for p in Path(path).rglob("*.parquet") if p.parent != Path(path)] == []
    result = made.create([ValueList("a")], on_error="skip")
    assert result.added == 2
    assert sorted(Path(name).stem for name in result.failed) == ["f1", "f3"]
    assert sorted(by_name(made)) == ["f0", "f2"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "no space left"), MemoryError()])
def test_a_build_that_dies_leaves_the_index_as_it_was(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    spark.conf.set("spark.xskip.build.chunkFiles", "2")
    path = write_once(spark, tmp_path / "data", SCHEMA, rows(*range(6)))
    made = SkippingIndex.for_path(spark, path)
    collect = Collector.collect
    calls: list[int] = []

    def dying(self: Collector, chosen: Any) -> Any:
        calls.append(len(chosen))
        if len(calls) == 2:
            raise error
        return collect(self, chosen)

    with monkeypatch.context() as patched:
        patched.setattr(Collector, "collect", dying)
        with pytest.raises(type(error)):
            made.create([MinMax("a"), ValueList("s")])
    assert calls == [2, 2]
    assert not made.exists()
    assert list(Path(path).rglob("part-*")) == []
    made.create([MinMax("a"), ValueList("s")])
    location, before = made.describe().location, by_name(made)
    files = everything(location)
    write_once(spark, tmp_path / "data", SCHEMA, rows(*range(10, 16)))
    calls.clear()
    with monkeypatch.context() as patched:
        patched.setattr(Collector, "collect", dying)
        with pytest.raises(type(error)):
            made.refresh()
    assert everything(location) == files
    assert by_name(made) == before
    assert kept(spark, path, "a = 1") == {"f1", *(f"f{i}" for i in range(10, 16))}
    assert made.refresh().added == 6
    assert kept(spark, path, "a = 1") == {"f1"}


@pytest.mark.parametrize("fmt", FORMATS)
def test_chunks_give_the_same_metadata_as_one(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    path = write_once(spark, tmp_path / "data", SCHEMA, rows(*range(5)), fmt)
    indexes = [MinMax("a"), ValueList("s"), BloomFilter("a")]
    seen: list[Progress] = []
    made = SkippingIndex.for_path(spark, path, format=fmt)
    made.create(indexes, progress=seen.append)
    whole = by_name(made)
    assert [(p.chunk, p.chunks, p.files, p.total) for p in seen] == [(1, 1, 5, 5)]
    for key, value in (("spark.xskip.build.chunkFiles", "2"), ("spark.xskip.build.chunkBytes", "1")):
        spark.conf.set(key, value)
        made.drop()
        seen.clear()
        made.create(indexes, progress=seen.append)
        assert by_name(made) == whole
        total = 3 if key.endswith("Files") else 5
        assert [(p.chunk, p.chunks) for p in seen] == [(i + 1, total) for i in range(total)]
        assert seen[-1].files == seen[-1].total == 5
        assert [p.seconds for p in seen] == sorted(p.seconds for p in seen)


def test_progress_is_shown_on_stderr_on_request(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_once(spark, tmp_path / "data", SCHEMA, rows(0, 1))
    made = SkippingIndex.for_path(spark, path)
    capsys.readouterr()
    shown_where = {False: (False, False), None: (False, True), True: (True, True)}  # no terminal, a terminal
    for (option, shown), terminal in product(shown_where.items(), (False, True)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        made.create([ValueList("s")], progress=option)
        said = capsys.readouterr()
        assert said.out == ""
        assert (re.search(r"xskip: 100%.* 2/2 .*\n$", said.err) is not None) is shown[terminal]
        assert bool(said.err) is shown[terminal]
        made.drop()


def test_notebooks_show_the_progress_although_they_are_no_terminals(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel's stderr is an object of the package ipykernel."""
    path = write_once(spark, tmp_path / "data", SCHEMA, rows(0, 1))
    output = type("OutStream", (StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stderr", output)
    SkippingIndex.for_path(spark, path).create([ValueList("s")])
    assert "2/2" in output.getvalue()


def test_where_nobody_watches_the_log_shows_the_progress(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Lines come while a job runs, too."""
    path = write_once(spark, tmp_path / "data", SCHEMA, rows(0, 1, 2))
    made = SkippingIndex.for_path(spark, path)
    monkeypatch.setattr(progress, "_SECONDS_PER_LINE", 0.01)
    collected = Collector.collect

    def slow(self: Collector, chosen: Any) -> Any:
        time.sleep(0.2)
        return collected(self, chosen)

    monkeypatch.setattr(Collector, "collect", slow)
    spark.conf.set("spark.xskip.build.chunkFiles", "2")
    with caplog.at_level(logging.INFO, "xskip.builds"):
        made.create([ValueList("s")])
    lines = [line for line in caplog.messages if line.startswith("collect")]
    assert lines[0] == "collecting the statistics of 3 files"
    done = [int(re.fullmatch(r"collected the statistics of (\d) of 3 files in \d+ s", line)[1]) for line in lines[1:]]  # type: ignore[index]
    assert done == sorted(done)
    assert {0, 2} <= set(done) <= {0, 2, 3}  # the last line can come after the last job
    assert not [thread for thread in threading.enumerate() if thread.name == "xskip-progress"]
    made.drop()
    caplog.clear()
    with caplog.at_level(logging.INFO, "xskip.builds"):
        made.create([ValueList("s")], progress=False)
    assert [line for line in caplog.messages if line.startswith("collect")] == []


def test_the_duration_is_that_of_the_call(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time before the build counts, such as that of compiling the hook."""
    path = write_once(spark, tmp_path / "data", SCHEMA, rows(0, 1))
    made = SkippingIndex.for_path(spark, path)
    check = SkippingIndex._check_settings

    def slow(self: SkippingIndex) -> Any:
        time.sleep(0.3)
        return check(self)

    monkeypatch.setattr(SkippingIndex, "_check_settings", slow)
    assert made.create([ValueList("s")]).seconds >= 0.3
    assert made.refresh().seconds >= 0.3
    assert made.add([MinMax("a")]).seconds >= 0.3
    assert made.repair().seconds >= 0.3


def test_no_progress_without_files_to_collect(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_once(spark, tmp_path / "data", SCHEMA, rows(0, 1))
    made = SkippingIndex.for_path(spark, path)
    made.create([ValueList("s")])
    (Path(path) / "f0.parquet").unlink()
    capsys.readouterr()
    assert made.refresh(progress=True).removed == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("fmt", FORMATS)
def test_files_without_values_have_empty_statistics(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    files: dict[str, list[Any]] = {"some": [(1, "x"), (None, None)], "nulls": [(None, None)] * 2, "none": []}
    path = write_files(spark, tmp_path / "data", SCHEMA, files, fmt)
    (Path(path) / f"zero.{fmt}").write_bytes(b"")  # Spark does not list it
    made = SkippingIndex.for_path(spark, path, format=fmt, schema=SCHEMA)
    assert made.create([MinMax("a"), ValueList("s"), MinMax("s"), BloomFilter("a")]).added == 3
    found = by_name(made)
    nothing = {"min": None, "max": None}
    assert found["some"][:3] == [{"min": 1, "max": 1}, ["x"], {"min": "x", "max": "x"}]
    assert set(found) == {"some", "nulls", "none"}
    for name in ("nulls", "none"):
        assert found[name][:3] == [nothing, [], nothing]

    def names(predicate: str) -> set[str]:
        return {Path(name).stem for name in made.files(predicate).names}

    for predicate in ("a = 1", "a != 2", "a IS NOT NULL", "s > ''", "s LIKE 'x%'", "a NOT IN (5)", "a < 3 AND s = 'x'"):
        assert names(predicate) == {"some"}
    assert names("a = 2") == set()
    assert {"some", "nulls"} <= names("a IS NULL")
    read = spark.read.format(fmt).schema(SCHEMA).load(path)
    assert "zero" not in opened_files(read)
    assert assert_same_rows(lambda: read.filter("a IS NULL"), spark) == 3
    assert assert_same_rows(lambda: read.filter("s <=> NULL OR a = 1"), spark) == 4
    footers = [MinMax("a"), MinMax("s")]
    made.drop()
    made.create(footers)
    assert {name: values[0] for name, values in by_name(made).items()} == {n: v[0] for n, v in found.items()}


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_file_with_too_many_values_has_a_null_list(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    files = {f"f{n}": [(i, "x") for i in range(10 * n, 10 * n + n)] + [(None, "x")] for n in (2, 3, 4)}
    path = write_once(spark, tmp_path / "data", SCHEMA, files, fmt)
    made = index(spark, path, [ValueList("a", max_values=3)], fmt)
    found = by_name(made)
    assert [sorted(found["f2"][0]), sorted(found["f3"][0]), found["f4"][0]] == [[20, 21], [30, 31, 32], None]
    assert kept(spark, path, "a = 31", fmt) == {"f3", "f4"}
    assert kept(spark, path, "a = 99", fmt) == {"f4"}


UTC = dt.timezone.utc
#: Spark type -> two literals, the second greater, and their values
TYPES: dict[str, tuple[str, str, Any, Any]] = {
    "BOOLEAN": ("false", "true", False, True),
    "TINYINT": ("-128Y", "127Y", -128, 127),
    "SMALLINT": ("-32768S", "32767S", -32768, 32767),
    "INT": ("-5", "2147483647", -5, 2**31 - 1),
    "BIGINT": ("-9223372036854775808", "7L", -(2**63), 7),
    "FLOAT": ("-1.5F", "CAST('NaN' AS FLOAT)", -1.5, float("nan")),
    "DOUBLE": ("-1.5D", "1e300D", -1.5, 1e300),
    "STRING": ("''", "'😀'", "", "😀"),
    "BINARY": ("X'00'", "X'FF'", b"\x00", b"\xff"),
    "DATE": ("DATE'0001-01-01'", "DATE'9999-12-31'", dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    "TIMESTAMP": (
        "TIMESTAMP'1850-06-01 12:00:00.000001Z'",
        "TIMESTAMP'2024-12-31 23:59:59.999999Z'",
        dt.datetime(1850, 6, 1, 12, 0, 0, 1, UTC),
        dt.datetime(2024, 12, 31, 23, 59, 59, 999999, UTC),
    ),
    "TIMESTAMP_NTZ": (
        "TIMESTAMP_NTZ'1850-06-01 12:00:00'",
        "TIMESTAMP_NTZ'2024-12-31 23:59:59.999999'",
        dt.datetime(1850, 6, 1, 12),
        dt.datetime(2024, 12, 31, 23, 59, 59, 999999),
    ),
    "DECIMAL(9,2)": ("-9999999.99BD", "0.01BD", Decimal("-9999999.99"), Decimal("0.01")),
    "DECIMAL(18,4)": ("-1.5BD", "99999999999999.9999BD", Decimal("-1.5000"), Decimal("99999999999999.9999")),
    "DECIMAL(38,0)": ("-1BD", "9" * 38 + "BD", Decimal(-1), Decimal("9" * 38)),
    "INTERVAL YEAR TO MONTH": ("INTERVAL '-1-1' YEAR TO MONTH", "INTERVAL '5-3' YEAR TO MONTH", -13, 63),
    "INTERVAL DAY TO SECOND": (
        "INTERVAL '-1' DAY",
        "INTERVAL '0 00:00:01.5' DAY TO SECOND",
        -86_400_000_000,
        1_500_000,
    ),
}


def every_type(spark: SparkSession, root: Path, fmt: str) -> str:
    """Write the files ``low`` and ``high`` with one value of each column, and ``null`` without values.

    Return their path.
    """
    for name, position in (("low", 0), ("high", 1), ("null", None)):
        exprs = [
            f"CAST({'NULL' if position is None else texts[position]} AS {kind}) AS c{i}"
            for i, (kind, texts) in enumerate(TYPES.items())
        ]
        spark.range(2).selectExpr(*exprs).coalesce(1).write.format(fmt).save(str(root / f"{name}-staging"))
        (part,) = (root / f"{name}-staging").glob("part-*")
        (root / "data").mkdir(exist_ok=True)
        part.rename(root / "data" / f"{name}.{fmt}")
    return str(root / "data")


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_type_is_collected(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    path = every_type(spark, tmp_path, fmt)
    columns = {f"c{i}": kind for i, kind in enumerate(TYPES)}
    unbloomed = ("BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", "INTERVAL")
    bloomed = [c for c, kind in columns.items() if not kind.startswith(unbloomed)]
    made = SkippingIndex.for_path(spark, path, format=fmt)
    both = [kind(c) for c in columns for kind in (MinMax, ValueList)]
    made.create([*both, *map(BloomFilter, bloomed)])
    found = by_name(made)
    for i, (kind, (_, _, low, high)) in enumerate(TYPES.items()):
        for name, value in (("low", low), ("high", high)):
            bounds, values = found[name][2 * i], found[name][2 * i + 1]
            np.testing.assert_equal([bounds["min"], bounds["max"], values], [value, value, [value]], err_msg=kind)
        assert found["null"][2 * i] == {"min": None, "max": None}
        assert found["null"][2 * i + 1] == []
    df = spark.read.format(fmt).load(path)
    for column, (low, high, _, _) in zip(columns, TYPES.values(), strict=True):
        assert opened_files(df.filter(f"{column} = {low}")) == {"low"}
        assert opened_files(df.filter(f"{column} IN ({high})")) == {"high"}
        assert opened_files(df.filter(f"{column} > {low}")) == {"high"}
        assert opened_files(df.filter(f"{low} >= {column}")) == {"low"}
    made.drop()
    for column in set(columns) - set(bloomed):
        with pytest.raises(UnsupportedTypeError, match=r"BloomFilter cannot index this type.*expected: one of string"):
            made.create([BloomFilter(column)])


def test_unsupported_types_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    exprs = {"array": "array(array(1))", "map": "map(1, 2)", "struct": "named_struct('x', 1)"}
    if SPARK_4:
        exprs |= {"variant": "parse_json('1')", "collated": "'x' COLLATE UTF8_LCASE"}
    spark.range(1).selectExpr(*(f"{e} AS {n}" for n, e in exprs.items())).coalesce(1).write.parquet(
        str(tmp_path / "data")
    )
    made = SkippingIndex.for_path(spark, str(tmp_path / "data"))
    for column in exprs if SPARK_4 else exprs.keys() - {"struct"}:  # Spark 3.5 has another reason
        for kind in (MinMax, ValueList, BloomFilter):
            with pytest.raises(UnsupportedTypeError, match=rf"column {column}.*expected: one of .*bigint"):
                made.create([kind(column)])
    assert made.create([MinMax("struct.x")]).added == 1


def from_data(monkeypatch: pytest.MonkeyPatch, action: Callable[[], Any]) -> list[int]:
    """Run a build, and return the number of files of each job that reads data."""
    taken: list[int] = []
    original = Collector._from_data

    def counted(self: Collector, chosen: Any, planned: Any) -> Any:
        taken.append(len(chosen))
        return original(self, chosen, planned)

    with monkeypatch.context() as patched:
        patched.setattr(Collector, "_from_data", counted)
        action()
    return taken


def test_footers_give_the_same_as_data(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = every_type(spark, tmp_path, "parquet")
    # floating point leaves no trace of NaN, and dates and timestamps this old are left to the data
    left = ("FLOAT", "DOUBLE", "BINARY", "INTERVAL", "DATE")
    served = [f"c{i}" for i, kind in enumerate(TYPES) if kind != "TIMESTAMP" and not kind.startswith(left)]
    made = SkippingIndex.for_path(spark, path)
    assert from_data(monkeypatch, lambda: made.create([MinMax(c) for c in served])) == []
    footers = metadata(made)
    made.drop()
    with monkeypatch.context() as patched:
        patched.setattr(Collector, "_footers_may_do", lambda *_: False)
        assert from_data(monkeypatch, lambda: made.create([MinMax(c) for c in served])) == [3]
    data = metadata(made)
    assert footers.files.names.equals(data.files.names)
    assert {k: c.values for k, c in footers.indexes.items()} == {k: c.values for k, c in data.indexes.items()}


def test_footers_for_some_files_and_data_for_others(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "data"
    root.mkdir()
    stamps = pa.array([dt.datetime(2020, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC"))
    table = pa.table({"a": pa.array([5, 3], pa.int32()), "t": stamps, "s": ["b", "a"]})
    pq.write_table(table, root / "plain.parquet")
    pq.write_table(table, root / "unknown.parquet", write_statistics=False)
    pq.write_table(table, root / "int96.parquet", use_deprecated_int96_timestamps=True)
    pq.write_table(table.slice(0, 0), root / "empty.parquet")
    pq.write_table(pa.concat_tables([table] * 3), root / "groups.parquet", row_group_size=2)
    old = pa.array([dt.datetime(1700, 1, 1, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC"))
    pq.write_table(table.set_column(1, "t", old), root / "old.parquet")
    nulls = pa.table({"a": pa.nulls(2, pa.int32()), "t": pa.nulls(2, stamps.type), "s": pa.nulls(2, pa.string())})
    pq.write_table(nulls, root / "nulls.parquet")
    pq.write_table(table, root / "v2.parquet", version="2.6", data_page_version="2.0", use_dictionary=False)
    made = SkippingIndex.for_path(spark, str(root))
    indexes = [MinMax("t"), MinMax("a"), MinMax("s")]
    assert from_data(monkeypatch, lambda: made.create(indexes)) == [3]  # unknown, int96 and old
    mixed = by_name(made)
    made.drop()
    with monkeypatch.context() as patched:
        patched.setattr(Collector, "_footers_may_do", lambda *_: False)
        made.create(indexes)
    assert mixed == by_name(made)
    assert mixed["groups"] == mixed["plain"] == mixed["unknown"] == mixed["int96"]
    assert mixed["plain"][1] == {"min": 3, "max": 5}
    assert mixed["old"][0]["min"] == dt.datetime(1700, 1, 1, tzinfo=UTC)
    assert mixed["empty"] == mixed["nulls"] == [{"min": None, "max": None}] * 3
