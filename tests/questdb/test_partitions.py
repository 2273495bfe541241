"""Partitions of all units, split pieces, and ranges of time [QDB-PN], [QDB-RD]."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.questdb.server import Server
from tests.questdb.values import check, compare
from xskip.errors import PredicateError
from xskip.questdb.table import open_table
from xskip.questdb_files.files import TableFile
from xskip.questdb_files.partition_names import Clock, PartitionUnit
from xskip.questdb_files.transaction_file import Transaction, read_transaction

MICRO, NANO = 1_000_000, 1_000_000_000
UTC = timezone.utc
#: By unit, the step between rows of a test table in seconds, so that rows have several partitions.
STEPS = {"HOUR": 1000, "DAY": 20_000, "WEEK": 100_000, "MONTH": 600_000, "YEAR": 6_000_000, "NONE": 1000}


def ticks(text: str, per_second: int = MICRO) -> int:
    return int(np.datetime64(text, "s").astype(int)) * per_second


NAMES = [
    ("HOUR", MICRO, "2024-02-29T23", "2024-02-29T23:00:00", 0),
    ("DAY", MICRO, "1970-01-01", "1970-01-01", 0),
    ("DAY", NANO, "2024-12-31", "2024-12-31", 0),
    ("WEEK", MICRO, "2020-W53", "2020-12-28", 0),
    ("WEEK", MICRO, "2026-W01", "2025-12-29", 0),
    ("MONTH", MICRO, "2024-12", "2024-12-01", 0),
    ("YEAR", MICRO, "1999", "1999-01-01", 0),
    ("DAY", MICRO, "2024-03-01T12", "2024-03-01T12:00:00", 0),
    ("DAY", MICRO, "2024-03-01T120000-000001", "2024-03-01T12:00:00", 1),
    ("DAY", MICRO, "2024-03-01T000007", "2024-03-01T00:00:07", 0),
    ("DAY", NANO, "2024-03-01T120000-000000001", "2024-03-01T12:00:00", 1),
    ("HOUR", MICRO, "2024-03-01T125959-999999", "2024-03-01T12:59:59", 999_999),
    ("WEEK", MICRO, "2020-W53-7T235959-000010", "2021-01-03T23:59:59", 10),
    ("WEEK", MICRO, "2020-W53-2", "2020-12-29", 0),
    ("MONTH", MICRO, "2024-12-24", "2024-12-24", 0),
    ("YEAR", NANO, "1999-12-31T010203-000000009", "1999-12-31T01:02:03", 9),
]


@pytest.mark.parametrize(("unit", "per_second", "name", "time", "fraction"), NAMES)
def test_a_folder_has_the_name_of_its_time(unit: str, per_second: int, name: str, time: str, fraction: int) -> None:
    """[QDB-PN-1], [QDB-PN-2]."""
    clock = Clock(PartitionUnit[unit], per_second)
    start = ticks(time, per_second) + fraction
    assert clock.folder(start, -1) == name
    assert clock.folder(start, 0) == f"{name}.0"
    assert clock.folder(start, 12) == f"{name}.12"


@pytest.mark.parametrize(
    ("unit", "time", "start", "end"),
    [
        ("HOUR", "2024-02-29T23:59:59", "2024-02-29T23:00:00", "2024-03-01"),
        ("DAY", "2024-02-29T23:59:59", "2024-02-29", "2024-03-01"),
        ("WEEK", "2021-01-01T00:00:00", "2020-12-28", "2021-01-04"),
        ("MONTH", "2024-12-31T23:59:59", "2024-12-01", "2025-01-01"),
        ("MONTH", "2024-02-29T23:59:59", "2024-02-01", "2024-03-01"),
        ("YEAR", "2024-02-29T23:59:59", "2024-01-01", "2025-01-01"),
        ("DAY", "1969-12-31T23:59:59", "1969-12-31", "1970-01-01"),
        ("YEAR", "9999-12-31T23:59:59", "9999-01-01", "10000-01-01"),
    ],
)
def test_a_partition_spans_its_unit(unit: str, time: str, start: str, end: str) -> None:
    """[QDB-PN-3]."""
    for per_second in (MICRO, NANO) if end < "3" and end >= "19" else (MICRO,):
        clock = Clock(PartitionUnit[unit], per_second)
        assert clock.floor(ticks(time, per_second)) == ticks(start, per_second)
        assert clock.ends(np.array([ticks(time, per_second)])).tolist() == [ticks(end, per_second)]


def create_with_unit(server: Server, unit: str, kind: str = "timestamp") -> str:
    name = server.name(unit.lower())
    wal = "wal" if unit != "NONE" else ""
    server.exec(f"create table {name} (x long, ts {kind}) timestamp(ts) partition by {unit} {wal}")
    per_second = MICRO if kind == "timestamp" else NANO
    first = ticks("2023-12-27T03:00:00", per_second)
    step = STEPS[unit] * per_second
    server.run(name, f"insert into {name} select x, ({first} + x * {step})::{kind} from long_sequence(40)")
    return name


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ns"])
@pytest.mark.parametrize("unit", list(STEPS))
def test_tables_of_all_units(server: Server, unit: str, kind: str) -> None:
    """[QDB-PN-1], [QDB-PN-3], [QDB-RD-1]."""
    name = create_with_unit(server, unit, kind)
    table = check(server, name)
    pieces = open_table(server.database / name).pieces
    assert (len(pieces) == 1) == (unit == "NONE")
    times = table["ts"].cast(pa.int64()).to_pylist()
    position = 0
    for piece in pieces:
        of_piece = times[position : position + piece.rows]
        assert piece.end is not None
        assert all((piece.start is None or piece.start <= time) and time < piece.end for time in of_piece)
        position += piece.rows
    assert position == len(times)
    bounds = [(p.start, p.end) for p in pieces]
    assert all(end <= start for (_, end), (start, _) in pairwise(bounds))  # type: ignore[operator]


@pytest.mark.parametrize("unit", list(STEPS))
def test_ranges_of_time_are_half_open(server: Server, unit: str) -> None:
    """[QDB-RD-2]: bounds at rows, one before and after them, outside of the table, and empty ranges."""
    name = create_with_unit(server, unit)
    table = open_table(server.database / name)
    times = table.to_arrow(["ts"])["ts"].cast(pa.int64()).to_pylist()
    bounds = [None, 0, times[0], times[7] - 1, times[7], times[7] + 1, times[-1], times[-1] + 1, 1 << 60]
    for start in bounds:
        for end in bounds:
            expected = [t for t in times if (start is None or start <= t) and (end is None or t < end)]
            found = table.to_arrow(["ts"], start, end)["ts"].cast(pa.int64()).to_pylist()
            assert found == expected, (start, end)
            assert table.count(start, end) == len(expected)


def test_ranges_take_datetimes(server: Server) -> None:
    """[QDB-RD-2]."""
    name = create_with_unit(server, "DAY")
    table = open_table(server.database / name)
    start = datetime(2023, 12, 29, 1, 2, 3, 4)
    rows = table.to_arrow(start=start, end=datetime(2023, 12, 31, tzinfo=timezone(timedelta(hours=2))))
    compare(
        server, rows,
        f"select * from {name} where ts >= '2023-12-29T01:02:03.000004Z' and ts < '2023-12-30T22:00:00Z'",
    )  # fmt: skip
    assert 0 < rows.num_rows < 40


def test_a_range_reads_few_bytes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-RD-3]: the search reads single timestamps, and columns only the rows of the range."""
    name = server.name("bytes")
    server.exec(f"create table {name} (x long, y double, ts timestamp) timestamp(ts) partition by year wal")
    server.run(name, f"insert into {name} select x, x, (x * 1000)::timestamp from long_sequence(100000)")
    read: dict[Path, int] = {}
    plain = TableFile.read

    def counted(self: TableFile, start: int, length: int) -> pa.Buffer:
        read[self.path] = read.get(self.path, 0) + length
        return plain(self, start, length)

    monkeypatch.setattr(TableFile, "read", counted)
    rows = open_table(server.database / name).to_arrow(["x"], 50_000_000, 50_010_000)
    assert rows["x"].to_pylist() == list(range(50_000, 50_010))
    assert {path.name: size for path, size in read.items()} == {"ts.d": pytest.approx(8 * 34, abs=32), "x.d": 80}


def test_a_range_reads_one_transaction(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-RD-2], [QDB-SN-1]: the control files are read once."""
    table = open_table(server.database / create_with_unit(server, "DAY"))
    read: list[Path] = []

    def counted(path: Path) -> Transaction | None:
        read.append(path)
        return read_transaction(path)

    monkeypatch.setattr("xskip.questdb_files.snapshot.read_transaction", counted)
    start = datetime(2023, 12, 29)
    assert table.count(start) == table.to_arrow(["x"], start).num_rows
    assert len(read) == 2


def test_bounds_of_other_types_are_errors(server: Server) -> None:
    """[QDB-RD-2]: integers of NumPy and times as texts are bounds, other texts and dates are not."""
    table = open_table(server.database / create_with_unit(server, "DAY"))
    bound: Any = np.int64(ticks("2023-12-29"))
    assert 0 < table.count(bound) == table.count(int(bound)) < 40
    for text in ("2023-12-29", "2023-12-29T00:00", "2023-12-29 00:00:00Z", "2023-12-29T01:30:00+01:30"):
        assert table.count(text) == table.count(bound)
        assert table.to_arrow(end=text).num_rows == 40 - table.count(bound)
    for other in ("", "yesterday", "2023-13-01", date(2023, 12, 29), 1.5):
        bound = other
        with pytest.raises(PredicateError, match=r"not a time.*expected: a datetime, a text such as"):
            table.to_arrow(end=bound)
    assert repr(table) == f"Table('{table.place.data}')"


def test_a_range_needs_a_designated_timestamp(server: Server) -> None:
    """[QDB-RD-2]."""
    name = server.name("timeless")
    server.exec(f"create table {name} (x long)", f"insert into {name} select x from long_sequence(5)")
    table = open_table(server.database / name)
    assert table.to_arrow()["x"].to_pylist() == [1, 2, 3, 4, 5]
    assert table.count() == 5
    with pytest.raises(PredicateError, match="designated timestamp"):
        table.to_arrow(start=0)


def test_pieces_of_split_partitions(server: Server) -> None:
    """[QDB-PN-2], [QDB-PN-4]: rows of an earlier time split a partition; a squash joins the pieces in place."""
    name = server.name("split")
    server.exec(
        f"create table {name} (x long, v varchar, s string, sy symbol, ts timestamp) timestamp(ts) partition by day wal"
    )
    values = "'varchar ' || x, 'string ' || x, rnd_symbol('a', 'b', 'c')"
    server.run(
        name,
        f"insert into {name} select x, {values}, (x * 10000000)::timestamp from long_sequence(8000)",
        f"insert into {name} select -x, {values}, (x * 10 + 60000000000)::timestamp from long_sequence(10)",
    )
    check(server, name)
    table = open_table(server.database / name)
    assert [piece.folder.name for piece in table.pieces] == ["1970-01-01", "1970-01-01T164000-000001.1"]
    first, second = table.pieces
    assert (first.rows, first.end, second.start) == (6000, 60_000_000_001, 60_000_000_001)
    server.run(name, f"alter table {name} squash partitions")
    check(server, name)
    assert [piece.rows for piece in table.pieces] == [8010]
