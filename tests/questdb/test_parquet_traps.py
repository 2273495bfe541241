"""Statistics of Parquet partitions that a reader must not trust: rows are those from before the conversion [QDB-PQ-3].

The partitions are the server's own, or copies of them with footers as other servers write them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.copies import copy_table
from tests.questdb.parquet_files import rewrite
from tests.questdb.server import Server
from tests.questdb.sidecars import SidecarFile
from tests.questdb.spark_values import load, spark_rows
from xskip.questdb.table import open_table

#: Columns that are younger than the first rows of the partition.
ADDED = ("by byte", "sh short", "c char", "b boolean", "f float", "d double", "ip ipv4", "u uuid", "h long256", "g int")
LEAST = 1_000_000_000_007


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


@dataclass(frozen=True)
class Tables:
    """Copies of a table: with native partitions, and with the first partition as a Parquet file."""

    spark: SparkSession
    native: Path
    parquet: Path

    @property
    def file(self) -> Path:
        (path,) = self.parquet.glob("*/data.parquet")
        return path

    def rewrite(self, **options: Any) -> None:
        """Write the Parquet file with another writer, and let the transaction name its size."""
        rewrite(self.file, pq.read_table(self.file), **options)

    def lie(self, old: bytes, new: bytes) -> None:
        """Replace a bound in the footer of the Parquet file."""
        data = self.file.read_bytes()
        footer = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
        assert old in data[footer:]
        self.file.write_bytes(data[:footer] + data[footer:].replace(old, new))

    def check(self, conditions: Iterable[str], indexes: Iterable[xskip.Index] = ()) -> None:
        """Compare rows of the Parquet partition with those of the native one, without and with an index."""
        native, parquet = load(self.spark, self.native), load(self.spark, self.parquet)
        assert spark_rows(parquet.sort("x")) == spark_rows(native.sort("x"))
        asked = [*conditions]
        expected = selected(native, asked)
        assert any(expected.values())
        for known in ([], [*indexes]):
            if known:
                index = xskip.SkippingIndex.for_path(self.spark, str(self.parquet), format="questdb")
                index.create(known)
            assert selected(parquet, asked) == expected


def selected(df: DataFrame, conditions: Sequence[str]) -> dict[str, list[int]]:
    """Return the numbers of the rows that each condition selects, by one query."""
    branches = [df.where(condition).select("x", F.lit(i).alias("i")) for i, condition in enumerate(conditions)]
    rows = reduce(DataFrame.unionAll, branches).collect()
    return {condition: sorted(row.x for row in rows if row.i == i) for i, condition in enumerate(conditions)}


@pytest.fixture(scope="module")
def written(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two tables of which 20 of 40 rows of the first day are older than most columns."""
    name = server.name("traps")
    names = ", ".join(column.split()[0] for column in ADDED)
    values = (
        "(x + 5)::byte, (x + 5)::short, case when x = 7 then 0::char else 'k' end, x % 2 = 0, "
        "case when x = 3 then cast('-Infinity' as float) else x::float end, "
        "case when x = 3 then cast('Infinity' as double) else x::double end, "
        "(case when x < 10 then '1.1.1.' || x else '200.1.1.' || x end)::ipv4, "
        "rnd_uuid4(), rnd_long256(), x::int"
    )
    server.exec(f"create table {name} (x long, ts timestamp) timestamp(ts) partition by day wal")
    server.run(
        name,
        f"insert into {name} select {LEAST - 1} + x, x::timestamp from long_sequence(20)",
        *(f"alter table {name} add column {column}" for column in ADDED),
        f"insert into {name} (x, ts, {names}) select {LEAST + 99} + x, (1000 + x)::timestamp, {values} "
        "from long_sequence(20)",
        f"insert into {name} (x, ts, g) select {LEAST + 999} + x, (86400000000 + x)::timestamp, 1 "
        "from long_sequence(5)",
    )
    base = tmp_path_factory.mktemp("traps")
    copy_table(server.folder(name), base / "native")
    server.run(name, f"alter table {name} convert partition to parquet where ts < '1970-01-02'")
    assert [piece.is_parquet for piece in open_table(server.folder(name)).pieces] == [True, False]
    copy_table(server.folder(name), base / "parquet")
    return base


@pytest.fixture
def tables(spark: SparkSession, written: Path, tmp_path: Path) -> Tables:
    """Return copies of both tables, of which a test can change the one with a Parquet file."""
    return Tables(spark, written / "native", copy_table(written / "parquet", tmp_path / "parquet"))


def test_zeros_before_a_column_are_in_no_bounds(tables: Tables) -> None:
    """Trap a: BOOLEAN, BYTE, SHORT and CHAR have zeros that bounds lack and that count as null."""
    statistics = pq.ParquetFile(tables.file).metadata.row_group(0).column(2).statistics
    assert statistics is None or not statistics.has_min_max or statistics.min > 0
    conditions = ["by = 0", "by IS NULL", "by < 6", "sh = 0", "sh IS NOT NULL", "c IS NULL", "b = false", "b IS NULL"]
    indexes = [index(column) for column in ("by", "sh", "c") for index in (xskip.MinMax, xskip.NullCount)]
    tables.check(conditions, [*indexes, xskip.NullCount("b"), xskip.ValueList("by")])


def test_nulls_that_are_values_in_the_file(tables: Tables) -> None:
    """Trap b: infinite numbers and the character 0 are null on the server only."""
    conditions = ["d IS NULL", "d > 100", "f IS NULL", "f < -100", "c IS NULL", "c IS NOT NULL", "d IS NOT NULL"]
    tables.check(conditions, [i(c) for c in ("d", "f", "c") for i in (xskip.MinMax, xskip.NullCount)])


def test_bounds_of_addresses_and_of_bytes(tables: Tables) -> None:
    """Trap c: bounds of addresses are those of signed numbers, and others those of bytes."""
    row = load(tables.spark, tables.native).where(f"x = {LEAST + 105}").first()
    assert row is not None
    conditions = ["ip = '200.1.1.12'", "ip = '1.1.1.3'", "ip IS NULL", "ip >= '2'", f"u = '{row.u}'", f"u < '{row.u}'"]
    kinds = (xskip.MinMax, xskip.ValueList)
    tables.check([*conditions, f"h = '{row.h}'", f"h > '{row.h}'"], [i(c) for c in ("ip", "u", "h") for i in kinds])


@pytest.mark.parametrize("lie", [
    lambda tables: tables.lie(struct.pack("<q", LEAST), struct.pack("<q", LEAST + 115)),
    lambda tables: tables.lie(struct.pack("<q", LEAST + 119), struct.pack("<q", LEAST + 3)),
    lambda tables: tables.lie(struct.pack("<q", 1020), struct.pack("<q", 5)),
], ids=["least", "greatest", "time"])  # fmt: skip
def test_bounds_from_before_a_change(tables: Tables, lie: Callable[[Tables], None]) -> None:
    """Trap d: a server copies row groups with the bounds that they had."""
    lie(tables)
    conditions = [f"x = {LEAST}", f"x = {LEAST + 119}", f"x < {LEAST + 4}", "ts >= timestamp_micros(1015)"]
    tables.check(conditions, [xskip.MinMax("x"), xskip.MinMax("ts")])


def test_wrong_bounds_in_a_sidecar(tables: Tables) -> None:
    """Trap e [QDB-PM-4]: servers wrote bounds of some types in another width, and rows before a column are in none."""
    metadata = open_table(tables.parquet).snapshot().metadata
    codes = {column.writer_index: column for column in metadata.columns}
    stored = [int(f.metadata[b"PARQUET:field_id"]) for f in pq.read_schema(tables.file)]
    sidecar = SidecarFile([(codes[i].name, i, codes[i].type_code) for i in stored], 1)
    wrong = {"by": b"\x63", "sh": b"\x63\x63", "c": b"zz", "b": b"\x01", "ip": bytes(4), "u": bytes(16), "h": bytes(32)}
    times = (struct.pack("<q", 1), struct.pack("<q", 1020))
    bounds = [times if i == 1 else (value, value) if (value := wrong.get(codes[i].name)) else None for i in stored]
    sidecar.version(tables.file.stat().st_size, [(40, bounds)])
    tables.file.with_name("_pm").write_bytes(sidecar.data)
    row = load(tables.spark, tables.native).where(f"x = {LEAST + 105}").first()
    assert row is not None
    conditions = ["by = 7", "by < 9", "sh = 7", "sh = 0", "c = 'k'", "b = false", "ip = '1.1.1.3'", f"u = '{row.u}'"]
    tables.check([*conditions, f"h = '{row.h}'", "ts < timestamp_micros(9)"], [xskip.MinMax("x")])


@pytest.mark.parametrize("statistics", [True, False])
def test_a_file_without_statistics(tables: Tables, *, statistics: bool) -> None:
    """Trap f: statistics can be turned off, here by a writer with small row groups, too."""
    tables.rewrite(write_statistics=statistics, row_group_size=7)
    group = pq.ParquetFile(tables.file).metadata.row_group(1).column(0)
    assert group.is_stats_set == statistics
    conditions = ["by = 0", "d IS NULL", f"x = {LEAST + 3}", "ts >= timestamp_micros(1015)", "g > 18"]
    tables.check(conditions, [i(c) for c in ("x", "by", "d", "g") for i in (xskip.MinMax, xskip.NullCount)])
