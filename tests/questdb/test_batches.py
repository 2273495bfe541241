"""Reads of a table in batches [QDB-BA]."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import xskip.questdb
from tests.questdb.server import Server
from tests.questdb.tables import create_numbers, create_with_all_types
from xskip.errors import ArgumentError, PredicateError, TableChangedError

#: After this time, a time of modification shows each later change of a file [QDB-SN-3].
_SETTLED_SECONDS = 0.1
#: A program that prints by how many bytes its memory grows after the first batch, without the pages of mapped files.
_GROWTH = """
import sys
import xskip.questdb

def used():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

reader = xskip.questdb.open(sys.argv[1]).to_batches(batch_rows=int(sys.argv[2]))
before = used()
rows = most = 0
for batch in reader:
    rows += batch.num_rows
    most = max(most, used() - before)
print(rows, most)
"""


def mixed_table(server: Server) -> str:
    """Create a table with all types, a Parquet partition, rows out of order and a column that was added later."""
    name = server.name("batches")
    create_with_all_types(server, name)
    server.run(
        name,
        f"alter table {name} convert partition to parquet where ts < '1970-01-02'",
        f"alter table {name} add column later symbol",
        f"insert into {name} (later, sy, l, ts) select 'z' || x, 'new' || x, x, (86400000000 + x * 3)::timestamp"
        " from long_sequence(50)",
        f"insert into {name} (later, ts) values ('q', '1970-01-05')",
    )
    return name


@pytest.mark.parametrize("batch_rows", [1, 7, 64, 131_072])
@pytest.mark.parametrize(("start", "end"), [(None, None), ("1970-01-01T00:01:00", 86_400_000_100), (None, 0)])
def test_the_rows_of_a_table(each_server: Server, batch_rows: int, start: Any, end: Any) -> None:
    """[QDB-BA-1], [QDB-BA-2]: with all types, Parquet, rows out of order and later columns."""
    table = xskip.questdb.open(each_server.folder(mixed_table(each_server)))
    whole = table.to_arrow(None, start, end)
    reader = table.to_batches(None, start, end, batch_rows=batch_rows)
    assert reader.schema == whole.schema
    batches = list(reader)
    assert all(0 < batch.num_rows <= batch_rows for batch in batches)
    assert pa.Table.from_batches(batches, whole.schema).to_pylist() == whole.to_pylist()
    assert (end == 0) == (batches == [])


def test_columns_and_a_frozen_table(server: Server) -> None:
    """[QDB-BA-1]: columns are selected as by other reads."""
    name = mixed_table(server)
    folder = server.folder(name)
    for frozen in (False, True):
        table = xskip.questdb.open(folder, frozen=frozen)
        assert table.to_batches(["SY", "l"]).read_all().to_pylist() == table.to_arrow(["SY", "l"]).to_pylist()
        assert table.to_batches("l", batch_rows=9).read_all().equals(table.to_arrow("l"))


def growth_of(folder: str, batch_rows: int) -> tuple[int, int]:
    """Return the rows that a process reads in batches, and the bytes by which its memory grows."""
    command = [sys.executable, "-c", _GROWTH, folder, str(batch_rows)]
    rows, growth = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    sys.stdout.write(f"{rows} rows in batches of {batch_rows}: {growth} bytes\n")
    return rows, growth


@pytest.mark.parametrize(("parquet", "large", "bound"), [(False, 1_200_000, 25 << 20), (True, 3_000_000, 64 << 20)])
def test_the_memory_is_bounded(server: Server, *, parquet: bool, large: int, bound: int) -> None:
    """[QDB-BA-2]: one partition is larger than what a read may add. A reader of Parquet takes memory for any file."""
    name = server.name("large")
    server.exec(f"create table {name} (x long, d double, v varchar, ts timestamp) timestamp(ts) partition by day wal")
    values = "x, rnd_double(), 'the text of row ' || x, (x * 1000)::timestamp"
    server.run(
        name,
        f"insert into {name} select {values} from long_sequence({large})",
        f"insert into {name} (ts) values ('1970-01-02')",
    )
    if parquet:
        server.run(name, f"alter table {name} convert partition to parquet where ts < '1970-01-02'")
    folder = str(server.folder(name))
    rows, growth = growth_of(folder, 10_000)
    assert rows == large + 1
    assert growth < bound
    # batches of all rows of a native piece show that the measurement sees them
    assert parquet or growth_of(folder, large)[1] > 1.5 * bound
    assert xskip.questdb.open(folder).to_arrow().nbytes > 2 * bound


def started(server: Server, prefix: str) -> tuple[str, pa.RecordBatchReader, list[int]]:
    """Return a table of five days of which the first batch is read, and its numbers in their order."""
    name = create_numbers(server, prefix)
    time.sleep(_SETTLED_SECONDS)
    table = xskip.questdb.open(server.folder(name))
    numbers = table.to_arrow("x")["x"].to_pylist()
    reader = table.to_batches("x", batch_rows=30)
    assert reader.read_next_batch()["x"].to_pylist() == numbers[:30]
    return name, reader, numbers[30:]


@pytest.mark.parametrize(
    "change",
    [
        "insert into {} select -x, (500 * 864000000L + x)::timestamp from long_sequence(300)",
        "alter table {} add column y long",
    ],
    ids=["later rows", "a new column"],
)
def test_changes_that_leave_the_rows(each_server: Server, change: str) -> None:
    """[QDB-BA-1]: later rows do not come, and the transaction of the call is read to its end."""
    name, reader, rest = started(each_server, "kept")
    each_server.run(name, change.format(name))
    assert reader.read_all()["x"].to_pylist() == rest


@pytest.mark.parametrize(
    ("change", "piece"),
    [
        ("alter table {} drop partition list '1970-01-03'", "1970-01-03"),
        ("alter table {} convert partition to parquet where ts in '1970-01-04'", "1970-01-04"),
        ("update {} set x = -1 where ts in '1970-01-03'", "1970-01-03"),
        ("insert into {} values (-1, '1970-01-03T00:00:01')", "1970-01-03"),
        ("alter table {} rename column x to z", "1970-01-"),
        # the server cuts the spare space at the end of the files of the last partition
        ("insert into {} values (-1, '1970-02-01')", "1970-01-06"),
        ("truncate table {}", "1970-01-"),
    ],
    ids=[
        "a drop",
        "a conversion",
        "an update",
        "a row out of order",
        "another name",
        "a new partition",
        "a truncation",
    ],
)
def test_changes_of_pieces_that_are_not_read(each_server: Server, change: str, piece: str) -> None:
    """[QDB-BA-3]: the read returns the rows of its transaction, or an error that names the piece."""
    name, reader, rest = started(each_server, "changed")
    each_server.run(name, change.format(name))
    found: list[int] = []
    failure: TableChangedError | None = None
    try:
        found.extend(number for batch in reader for number in batch["x"].to_pylist())
    except TableChangedError as error:
        failure = error
    assert found == rest[: len(found)]
    # the former files can also still be there
    assert failure is not None or found == rest
    if failure is not None:
        assert piece in str(failure.where)
        assert "read again" in str(failure)


def test_changes_of_a_piece_that_is_read(each_server: Server) -> None:
    """[QDB-BA-3]: the drop of a partition whose rows were returned leaves the other pieces."""
    name, reader, rest = started(each_server, "read")
    found: list[int] = []
    while 99 not in found:  # the last number of the first day
        found += reader.read_next_batch()["x"].to_pylist()
    each_server.run(name, f"alter table {name} drop partition list '1970-01-01'")
    assert found + reader.read_all()["x"].to_pylist() == rest


def test_a_piece_whose_files_are_gone(server: Server) -> None:
    """[QDB-BA-3]: a truncation removes the rows for certain."""
    name, reader, _ = started(server, "gone")
    server.run(name, f"truncate table {name}")
    with pytest.raises(TableChangedError, match=r"changed a piece of the table .*1970-01-.*read again"):
        reader.read_all()


@pytest.mark.parametrize("batch_rows", [0, -1, None, "9"])
def test_wrong_numbers_of_rows(files: Path, batch_rows: Any) -> None:
    table = xskip.questdb.open(xskip.questdb.Database(files).tables()[0].folder)
    with pytest.raises(ArgumentError, match=r"batch_rows has an invalid value .*expected: a number greater than 0"):
        table.to_batches(batch_rows=batch_rows)


def test_an_unknown_column(server: Server) -> None:
    """[QDB-BA-1]: an error comes with the call, not with the first batch."""
    table = xskip.questdb.open(server.folder(create_numbers(server, "names")))
    with pytest.raises(PredicateError, match="no column with this name"):
        table.to_batches("none")
