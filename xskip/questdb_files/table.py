"""A table of QuestDB as Arrow data, the main class of the package."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import pyarrow as pa

from xskip.errors import PredicateError
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.reading import Selection, count_rows, read_table, schema_of
from xskip.questdb_files.snapshot import Snapshot, TablePlace, read_snapshot

__all__ = ["Table"]

#: A time of the designated timestamp, or ticks since the Unix epoch in the unit of the table.
Time = datetime | int
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Table:
    """A table on disk.

    Each method reads the last transaction at the time of its call.

    Parameters
    ----------
    place : TablePlace
        The folders of the table.
    frozen : bool, default False
        Whether no server writes to the table. Buffers of Arrow arrays are then mapped files instead of copies.

    Examples
    --------
    >>> import xskip.questdb
    >>> table = xskip.questdb.open("/root/.questdb/db/trades")  # doctest: +SKIP
    >>> table.to_arrow(columns=["ts", "price"])  # doctest: +SKIP
    """

    def __init__(self, place: TablePlace, *, frozen: bool = False) -> None:
        self.place = place
        self._frozen = frozen

    def snapshot(self) -> Snapshot:
        """Return the last transaction of the table.

        Returns
        -------
        Snapshot
            Its columns, its pieces and their files.

        Raises
        ------
        TableChangedError, TableDamagedError, TableVersionError
        """
        return read_snapshot(self.place)

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the table."""
        snapshot = self.snapshot()
        return schema_of(snapshot, snapshot.metadata.columns)

    @property
    def pieces(self) -> Sequence[Piece]:
        """Return the partitions and the pieces of split partitions, in the order of time."""
        return self.snapshot().pieces

    def count(self, start: Time | None = None, end: Time | None = None) -> int:
        """Return the number of rows in a range of time.

        Parameters
        ----------
        start, end : datetime or int, optional
            See :meth:`to_arrow`.

        Returns
        -------
        int
            The number of rows.

        Raises
        ------
        PredicateError
            If the table has no designated timestamp and the range has a bound.
        TableChangedError, TableDamagedError, TableVersionError
        """
        return count_rows(self.place, self._selection(None, start, end))

    def to_arrow(
        self, columns: Sequence[str] | None = None, start: Time | None = None, end: Time | None = None
    ) -> pa.Table:
        """Return rows of one transaction, in the order of the table.

        Parameters
        ----------
        columns : sequence of str, optional
            None returns all columns.
        start, end : datetime or int, optional
            The half-open range of the designated timestamp: rows from ``start`` on and before ``end``. A datetime
            without a time zone is in UTC. An integer is in ticks since the Unix epoch, in the unit of the table.

        Returns
        -------
        pa.Table
            The selected rows and columns.

        Raises
        ------
        PredicateError
            If the table has no such column, or a range has a bound and the table no designated timestamp.
        TableChangedError
            If a server changed the table during every attempt to read it.
        TableDamagedError
            If files are missing, short or contradict each other.
        TableVersionError, UnsupportedTypeError
            If the table has a format or a column type that this release does not know.
        """
        names = None if columns is None else tuple(columns)
        return read_table(self.place, self._selection(names, start, end), frozen=self._frozen)[1]

    def _selection(self, columns: tuple[str, ...] | None, start: Time | None, end: Time | None) -> Selection:
        if start is None and end is None:
            return Selection(columns)
        metadata = self.snapshot().metadata
        if metadata.timestamp is None:
            raise PredicateError(
                "a range of time needs a designated timestamp, and the table has none", where=str(self.place.data)
            )  # fmt: skip
        ticks = metadata.clock.ticks
        return Selection(columns, _ticks_of(start, ticks), _ticks_of(end, ticks))


def _ticks_of(time: Time | None, ticks: int) -> int | None:
    if time is None or isinstance(time, int):
        return time
    aware = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    since = aware - _EPOCH
    return (since.days * 86_400 + since.seconds) * ticks + since.microseconds * (ticks // 1_000_000)
