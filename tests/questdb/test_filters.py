"""Filters of reads of a table without Spark [QDB-FE]."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import xskip.questdb
from tests.questdb.server import Server
from tests.questdb.tables import create_numbers, create_with_all_types
from xskip.errors import PredicateError

DAY = datetime(1970, 1, 2, tzinfo=timezone.utc)
field = pc.field
FILTERS: dict[str, Any] = {
    "nothing": pc.scalar(False),
    "everything": pc.scalar(True),
    "null": field("i") == pa.scalar(None, pa.int32()),
    "number": field("i") > 3,
    "null or number": field("i").is_null() | (field("i") > 3),
    "symbol": field("sy") == "a",
    "symbols": field("sy").isin(["a", "", "none"]),
    "two columns": (field("dbl") < 0.5) & (field("l") >= 2),
    "time": field("ts") < DAY,
    "time from": field("ts") >= DAY,
    "time or number": (field("ts") < DAY) | (field("l") > 2),
    "not time": ~(field("ts") >= DAY),
    "time and computed": (field("ts") >= DAY) & (pc.add(field("l"), 1) > 2),
}


@pytest.fixture(scope="module")
def table(server: Server) -> xskip.questdb.Table:
    """Return a table with all types in two pieces, of which one is a Parquet file."""
    name = server.name("filters")
    create_with_all_types(server, name)
    server.run(name, f"alter table {name} convert partition to parquet where ts < '1970-01-02'")
    assert len(xskip.questdb.open(server.folder(name)).pieces) > 1
    return xskip.questdb.open(server.folder(name))


@pytest.mark.parametrize("name", FILTERS)
def test_the_rows_of_a_filter(table: xskip.questdb.Table, name: str) -> None:
    """[QDB-FE-1], [QDB-FE-3]: the rows are those that pyarrow keeps of the whole table."""
    kept = FILTERS[name]
    whole = table.to_arrow().filter(kept)
    assert (whole.num_rows == 0) == (name in ("nothing", "null"))
    assert (whole.num_rows == table.count()) == (name == "everything")
    assert table.to_arrow(filter=kept).to_pylist() == whole.to_pylist()
    assert table.to_arrow("v", filter=kept).to_pydict() == whole.select(["v"]).to_pydict()
    for size in (3, 10_000):
        reader = table.to_batches(["ts", "v", "ts"], batch_rows=size, filter=kept)
        assert reader.schema.names == ["ts", "v", "ts"]
        batches = list(reader)
        assert all(0 < batch.num_rows <= size for batch in batches)
        for column in (0, 1):
            found = [value for batch in batches for value in batch.column(column).to_pylist()]
            assert found == whole.column(("ts", "v")[column]).to_pylist()


def test_a_filter_and_a_range_of_time(table: xskip.questdb.Table) -> None:
    """[QDB-FE-1]: both select rows, and the whole table has rows outside of each."""
    kept, rows = field("l") > 1, table.to_arrow()
    start, end = rows["ts"][100], rows["ts"][-100]
    expected = rows.filter((field("ts") >= start) & (field("ts") < end) & kept)
    assert 0 < expected.num_rows < min(rows.filter(kept).num_rows, table.count(start.as_py(), end.as_py()))
    assert table.to_arrow(None, start.as_py(), end.as_py(), filter=kept).to_pylist() == expected.to_pylist()


READS: tuple[Callable[..., pa.Table], ...] = (
    lambda table, **options: table.to_arrow("n", **options),
    lambda table, **options: table.to_batches("n", **options).read_all(),
)


@pytest.mark.parametrize("read", READS, ids=["table", "batches"])
@pytest.mark.parametrize("frozen", [False, True])
def test_pieces_that_are_not_opened(server: Server, read: Callable[..., pa.Table], *, frozen: bool) -> None:
    """[QDB-FE-2]: a read needs only the files of pieces that can match, also for times in the unit of nanoseconds."""
    for kind in ("timestamp", "timestamp_ns"):
        name = server.name("pruned")
        ticks = 1000 if kind == "timestamp_ns" else 1
        server.run(name, f"create table {name} (n long, ts {kind}) timestamp(ts) partition by day bypass wal")
        server.run(
            name,
            f"insert into {name} select x, ((x - 1) * {3_600_000_000 * ticks}L)::{kind} from long_sequence(96)",
        )
        table = xskip.questdb.open(server.folder(name), frozen=frozen)
        for day in (0, 1, 3):
            for file in Path(table.pieces[day].path).iterdir():
                file.unlink()
        start, end = DAY + timedelta(days=1), DAY + timedelta(days=2)
        kept = (field("ts") >= start) & (field("ts") < end) & (field("n") != 50)
        assert read(table, filter=kept)["n"].to_pylist() == [n for n in range(49, 73) if n != 50]
        with pytest.raises(xskip.errors.XskipError):
            read(table, filter=kept | (field("n") == 1))


@pytest.mark.parametrize(
    ("wrong", "found"),
    [(field("prise") > 1, "prise"), (field("i") > "x", "i"), (pc.add(field("i"), 1), "add"), ("i > 1", "i > 1")],
)
def test_a_filter_that_does_not_fit(table: xskip.questdb.Table, wrong: Any, found: str) -> None:
    """[QDB-FE-1]: the error comes with the call, and names the table, the filter and the columns."""
    for read in (table.to_arrow, table.to_batches):
        with pytest.raises(PredicateError, match="does not fit the columns") as raised:
            read("ts", filter=wrong)
        text = str(raised.value)
        assert found in text
        assert str(table.place.data) in text
        assert "v" in text


def test_a_filter_that_fails_for_a_row(table: xskip.questdb.Table) -> None:
    """[QDB-FE-1]: the error comes where the row is read."""
    divided = pc.divide(pc.scalar(1), pc.coalesce(field("i"), pc.scalar(0))) > 0
    with pytest.raises(PredicateError, match=r"the filter fails for a row .*divide by zero"):
        table.to_arrow("ts", filter=divided)
    with pytest.raises(PredicateError, match=r"the filter fails for a row .*divide by zero"):
        table.to_batches("ts", filter=divided).read_all()


def test_rows_that_come_while_batches_are_read(server: Server) -> None:
    """[QDB-FE-3]: the filter goes on with the columns and rows of the call."""
    name = create_numbers(server, "filtered", rows=300)
    table = xskip.questdb.open(server.folder(name))
    kept = field("x") > 5
    expected = table.to_arrow("ts", filter=kept)["ts"].to_pylist()
    assert len(expected) == 295
    reader = table.to_batches("ts", batch_rows=50, filter=kept)
    first = reader.read_next_batch()
    server.run(
        name,
        f"alter table {name} add column y long",
        f"insert into {name} select x, (300 * 864000000L + x)::timestamp, x from long_sequence(300)",
    )
    assert first["ts"].to_pylist() + reader.read_all()["ts"].to_pylist() == expected


def test_a_filter_of_new_rows(server: Server) -> None:
    """[QDB-FE-1], [QDB-TK-2]: a filter selects from the rows that came after a token."""
    name = create_numbers(server, "fresh", rows=150)
    table = xskip.questdb.open(server.folder(name))
    token = table.token()
    server.run(name, f"insert into {name} select 150 + x, ((150 + x) * 864000000L)::timestamp from long_sequence(150)")
    new = table.new_rows(since=token)
    assert new.to_arrow("x")["x"].to_pylist() == list(range(151, 301))
    for read in (new.to_arrow, lambda *a, **k: new.to_batches(*a, batch_rows=7, **k).read_all()):
        assert read("x", filter=(field("x") > 145) & (field("x") < 155))["x"].to_pylist() == [151, 152, 153, 154]
