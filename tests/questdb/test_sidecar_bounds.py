"""Row groups that the bounds in a file ``_pm`` rule out [QDB-PM-4].

The values of the other row groups are overwritten, so that a query fails if it reads one of them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.fuzz.copies import under
from tests.questdb.copies import copy_table
from tests.questdb.parquet_files import rewrite, spoil
from tests.questdb.server import Server
from tests.questdb.sidecars import Pair, SidecarFile, describe_partitions
from tests.questdb.spark_values import load
from xskip.questdb.table import open_table

GROUPS, ROWS = 4, 10
#: A literal of a number, and the form of bounds, by the name of the column.
LITERALS = {
    "i": ("{}", "<i"), "l": ("{}L", "<q"), "d": ("timestamp_millis({})", "<q"), "t": ("timestamp_micros({})", "<q"),
    "n": ("{}L", "<q"), "f": ("CAST({} AS FLOAT)", "<f"), "g": ("{}D", "<d"), "ts": ("timestamp_micros({})", "<q"),
}  # fmt: skip
COLUMNS = "i int, l long, d date, t timestamp, n timestamp_ns, f float, g double, ts timestamp"


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


@dataclass(frozen=True)
class Grouped:
    """A table with a Parquet partition of four row groups: the values of a group are from -5 to 4 and hundreds."""

    spark: SparkSession
    folder: Path

    @property
    def file(self) -> Path:
        (path,) = self.folder.glob("*/data.parquet")
        return path

    def describe(self, changed: dict[str, Any] | None = None, codes: dict[str, int] | None = None) -> None:
        """Write a sidecar with the bounds of all columns, of which some can be changed in all groups."""
        columns = open_table(self.folder).snapshot().metadata.columns
        named = [(c.name, c.writer_index, (codes or {}).get(c.name, c.type_code)) for c in columns]
        sidecar = SidecarFile(named, [c.name for c in columns].index("ts"))
        groups: list[tuple[int, list[Pair]]] = [
            (ROWS, [(changed or {}).get(c.name, self.bounds(c.name, group)) for c in columns])
            for group in range(GROUPS)
        ]
        sidecar.version(self.file.stat().st_size, groups)
        self.file.with_name("_pm").write_bytes(sidecar.data)

    @staticmethod
    def bounds(name: str, group: int) -> Pair:
        first = 100 * group - (0 if name == "ts" else 5)
        return struct.pack(LITERALS[name][1], first), struct.pack(LITERALS[name][1], first + ROWS - 1)

    def found(self, condition: str) -> list[int]:
        """Return the numbers of the rows of the first day that a condition selects."""
        rows = load(self.spark, self.folder).where(f"({condition}) AND ts < timestamp_micros(1000)")
        return sorted(row.l for row in rows.select("l").collect())


@pytest.fixture
def grouped(spark: SparkSession, server: Server, tmp_path: Path) -> Grouped:
    name = server.name("grouped")
    value = "(x - 1) / 10 * 100 + (x - 1) % 10"
    values = f"v::int, v, v::date, v::timestamp, (v::long)::timestamp_ns, v::float, v::double, ({value})::timestamp"
    server.exec(f"create table {name} ({COLUMNS}) timestamp(ts) partition by day wal")
    server.run(
        name,
        f"insert into {name} select {values} from (select x, {value} - 5 v from long_sequence({GROUPS * ROWS}))",
        f"insert into {name} (ts) values ('1970-01-02')",
        f"alter table {name} convert partition to parquet where ts < '1970-01-02'",
    )
    table = Grouped(spark, copy_table(server.folder(name), tmp_path / name))
    rewrite(table.file, pq.read_table(table.file), row_group_size=ROWS)
    return table


@pytest.mark.parametrize("name", LITERALS)
def test_a_filter_reads_the_row_groups_that_it_can_match(grouped: Grouped, name: str) -> None:
    grouped.describe()
    literal = LITERALS[name][0].format
    shift = 5 if name == "ts" else 0
    conditions = [
        f"{name} = {literal(101 + shift)}",
        f"{name} > {literal(94 + shift)} AND {name} < {literal(195 + shift)}",
        f"{name} >= {literal(95 + shift)} AND {name} <= {literal(194 + shift)}",
        f"{name} IN ({literal(101 + shift)}, {literal(103 + shift)}, {literal(150 + shift)}, NULL)",
        f"{name} = {literal(101 + shift)} OR {name} = {literal(102 + shift)}",
        f"{name} BETWEEN {literal(50 + shift)} AND {literal(150 + shift)}",
    ]
    expected = [grouped.found(condition) for condition in conditions]
    assert [len(rows) for rows in expected] == [1, 10, 10, 2, 2, 10]
    for group in (0, 2, 3):
        spoil(grouped.file, group)
    assert [grouped.found(condition) for condition in conditions] == expected
    for condition in (
        f"{name} < {literal(101 + shift)}",
        f"{name} > {literal(101 + shift)}",
        f"{name} <> {literal(0)}",
    ):
        with pytest.raises(Exception, match=r"cannot read .*data\.parquet"):
            grouped.found(condition)


def test_filters_that_say_nothing_about_bounds(grouped: Grouped) -> None:
    """Nulls, negations, other columns' values and not-a-number are in no bounds."""
    conditions = [
        "i IS NULL", "i IS NOT NULL", "NOT (i = 5)", "i <> l + 1", "NOT (g >= 300D)", "g < CAST('NaN' AS DOUBLE)",
        "g > CAST('-Infinity' AS DOUBLE)", "i = 101 OR l % 100 = 3", "i <=> 101", "i IN (NULL)", "t = NULL",
        "f < 101.5D", "i < 101.5D", "l = 101.0D", "CAST(i AS STRING) = '101'", "i = 101 OR i IS NULL",
    ]  # fmt: skip
    expected = {condition: grouped.found(condition) for condition in conditions}
    assert sum(map(bool, expected.values())) > len(conditions) / 2
    grouped.describe()
    assert {condition: grouped.found(condition) for condition in conditions} == expected


@pytest.mark.parametrize(("least", "greatest"), [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (-0.0, -0.0)])
def test_both_zeros_are_one_value(grouped: Grouped, least: float, greatest: float) -> None:
    grouped.describe({"g": (struct.pack("<d", least), struct.pack("<d", greatest))})
    for condition in ("g = 0D", "g >= 0D", "g <= 0D", "g = -0D", "g >= -0D", "g <= -0D", "g IN (-0D)"):
        assert 0 in grouped.found(condition), condition


@pytest.mark.parametrize(("column", "pair"), [
    ("g", (struct.pack("<d", float("nan")), struct.pack("<d", 1.0))),
    ("g", (struct.pack("<d", 1.0), struct.pack("<d", float("nan")))),
    ("f", (struct.pack("<f", float("nan")), struct.pack("<f", float("nan")))),
    ("l", (struct.pack("<q", 7), struct.pack("<q", 6))),
    ("l", (struct.pack("<i", 7), struct.pack("<i", 7))),
    ("i", (struct.pack("<q", 7), struct.pack("<q", 7))),
    ("d", (struct.pack("<q", 1 << 62), struct.pack("<q", 1 << 62))),
    ("t", None),
], ids=["least NaN", "greatest NaN", "both NaN", "reversed", "narrow", "wide", "overflow", "absent"])  # fmt: skip
def test_bounds_that_are_none(grouped: Grouped, column: str, pair: Pair) -> None:
    """Bounds that are out of order, have another width than the values, or have no form in Spark do not count."""
    grouped.describe({column: pair})
    literal = LITERALS[column][0].format
    assert grouped.found(f"{column} = {literal(101)}") == [101]
    assert len(grouped.found(f"{column} <= {literal(300)}")) == 36
    assert len(grouped.found(f"{column} > {literal(0)}")) == 34


@pytest.mark.parametrize(("column", "code"), [("l", 7), ("l", 10), ("i", 2), ("d", 8), ("t", 8 | 1 << 18), ("n", 8)])
def test_bounds_of_another_type(grouped: Grouped, column: str, code: int) -> None:
    """Bounds count if the type in the sidecar is that of the column."""
    grouped.describe({column: (bytes(8), bytes(8))}, {column: code})
    assert grouped.found(f"{column} = {LITERALS[column][0].format(101)}") == [101]


def test_a_sidecar_with_other_rows_is_an_error(grouped: Grouped) -> None:
    """[QDB-PQ-7]."""
    sidecar = SidecarFile([("ts", 7, 8)], 0).version(grouped.file.stat().st_size, [(ROWS, [None])] * 3 + [(9, [None])])
    grouped.file.with_name("_pm").write_bytes(sidecar.data)
    with pytest.raises(Exception, match="_pm has other rows"):
        grouped.found("true")


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_times_before_the_present_calendar(spark: SparkSession, server: Server, tmp_path: Path, zone: str) -> None:
    """[QDB-PM-4]: Spark gives literals to data sources in the calendar and the time zones of java.sql.Timestamp."""
    name = server.name("former")
    server.exec(f"create table {name} (l long, d date, t timestamp, ts timestamp) timestamp(ts) partition by day wal")
    server.run(
        name,
        f"insert into {name} values (1, '1500-03-01', '1500-03-01', 0), (2, '1880-01-01', '1880-01-01', '1970-01-02'),"
        " (3, '2000-01-01', '2000-01-01', '1970-01-03')",
        f"alter table {name} convert partition to parquet where ts < '1970-01-03'",
    )
    folder = copy_table(server.folder(name), tmp_path / name)
    describe_partitions(folder)
    with under(spark, {}, zone):
        for column in ("d", "t"):
            for operator, time, expected in [
                ("<=", "1500-03-01", [1]), ("=", "1500-03-01", [1]), ("=", "1880-01-01", [2]),
                (">=", "1880-01-01", [2, 3]), ("<", "1880-01-01", [1]), ("<", "1960-01-01", [1, 2]),
            ]:  # fmt: skip
                literal = f"timestamp_seconds(unix_date(DATE'{time}') * 86400L)"
                rows = load(spark, folder).where(f"{column} {operator} {literal}").select("l").collect()
                assert sorted(row.l for row in rows) == expected, (column, operator, time)
