"""A database that servers of several versions wrote, read without a server and compared with what a server selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.questdb.server import Server
from tests.questdb.values import compare
from xskip.errors import TableDamagedError
from xskip.questdb.table import open_table
from xskip.questdb_files import Database

#: A table from which partitions are missing.
MISSING = "t_col_top_день_missing_parts"


def test_every_value_is_that_of_the_server(files: Path, server: Server) -> None:
    """[QDB-TY-2], [QDB-RD-1]: tables of all units but WEEK, with column tops, rows that came late, and all types."""
    tables = [table for table in Database(files).tables() if table.name != MISSING]
    rows = 0
    for table in tables:
        for frozen in (False, True):
            found = open_table(table.folder, frozen=frozen).to_arrow()
            found.validate(full=True)
            server.wait(table.name)
            compare(server, found, f'select * from "{table.name}"')
            rows += found.num_rows
    assert len(tables) >= 14
    assert rows > 1500


def test_missing_partitions_are_an_error(files: Path) -> None:
    """[QDB-SN-8]."""
    table = open_table(files / MISSING)
    with pytest.raises(TableDamagedError, match="does not exist") as caught:
        table.to_arrow()
    assert caught.value.hint is not None
    assert "CHECKPOINT CREATE" in caught.value.hint
    present = [piece for piece in table.pieces if piece.folder.exists()]
    assert [piece.rows for piece in present] == [4, 19]
    assert table.to_arrow(start=present[0].start, end=present[1].end).num_rows == 23
