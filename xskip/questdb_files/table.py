"""A table of QuestDB as Arrow data, the main class of the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from xskip.errors import ArgumentError, shown
from xskip.questdb_files.batches import read_batches
from xskip.questdb_files.new_rows import RowTokens
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.reading import count_rows, read_table
from xskip.questdb_files.selection import Selection, Time, schema_of
from xskip.questdb_files.snapshot import Snapshot, TablePlace, read_snapshot
from xskip.questdb_files.state_reading import read_state

if TYPE_CHECKING:
    import pyarrow.dataset

__all__ = ["Table"]


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
        self._tokens: RowTokens | None = None

    def __repr__(self) -> str:
        """Return the class and the folder, without a look at the files."""
        return f"{type(self).__name__}({str(self.place.data)!r})"

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
        start, end : datetime, str or int, optional
            See :meth:`to_arrow`.

        Returns
        -------
        int
            The number of rows.

        Raises
        ------
        PredicateError
            If a bound is not a time, or a range has a bound and the table no designated timestamp.
        TableChangedError, TableDamagedError, TableVersionError
        """
        return count_rows(self.place, self._selection(None, start, end), frozen=self._frozen)

    def to_arrow(
        self,
        columns: str | Sequence[str] | None = None,
        start: Time | None = None,
        end: Time | None = None,
        *,
        filter: pyarrow.dataset.Expression | None = None,  # noqa: A002 - the name that pyarrow has for it
    ) -> pa.Table:
        """Return rows of one transaction, in the order of the table.

        Parameters
        ----------
        columns : str or sequence of str, optional
            A name or names. None returns all columns.
        start, end : datetime, str or int, optional
            The half-open range of the designated timestamp: rows from ``start`` on and before ``end``. A text is a time
            in ISO 8601, such as ``2024-03-01`` or ``2024-03-01T12:00+01:00``. A time without a time zone is in UTC. An
            integer is in ticks since the Unix epoch, in the unit of the table.
        filter : pyarrow.dataset.Expression, optional
            A filter on columns of the table, such as ``pc.field("price") > 5``. The columns need not be selected. Rows
            for which the filter is FALSE or null are left out. Partitions whose bounds of time tell that they have no
            such row are not opened.

        Returns
        -------
        pa.Table
            The selected rows and columns.

        Raises
        ------
        PredicateError
            If the table has no such column, if a bound is not a time, if a range has a bound and the table no
            designated timestamp, or if the filter does not fit the columns.
        TableChangedError
            If a server changed the table during every attempt to read it.
        TableDamagedError
            If files are missing, short or contradict each other.
        TableVersionError, UnsupportedTypeError
            If the table has a format or a column type that this release does not know.
        """
        return read_table(self.place, self._selection(columns, start, end, filter), frozen=self._frozen)

    def to_batches(
        self,
        columns: str | Sequence[str] | None = None,
        start: Time | None = None,
        end: Time | None = None,
        *,
        batch_rows: int = 131_072,
        filter: pyarrow.dataset.Expression | None = None,  # noqa: A002 - the name that pyarrow has for it
    ) -> pa.RecordBatchReader:
        """Return a reader of the rows of one transaction in batches, for tables larger than the memory.

        The transaction is the last one at the time of the call. The reader reads one batch at a time of a native piece,
        and one row group at a time of a Parquet piece. A batch has rows of one piece.

        Parameters
        ----------
        columns : str or sequence of str, optional
            See :meth:`to_arrow`.
        start, end : datetime, str or int, optional
            See :meth:`to_arrow`.
        batch_rows : int, default 131072
            The greatest number of rows of a batch.
        filter : pyarrow.dataset.Expression, optional
            See :meth:`to_arrow`.

        Returns
        -------
        pa.RecordBatchReader
            The rows of :meth:`to_arrow` in the same order. The batches of a SYMBOL column can have different
            dictionaries. An iteration can raise TableChangedError, if a server changed a piece before all its rows
            were read, and TableDamagedError.

        Raises
        ------
        ArgumentError
            If ``batch_rows`` is not a number greater than 0.
        PredicateError, TableChangedError, TableDamagedError, TableVersionError, UnsupportedTypeError
            See :meth:`to_arrow`.

        Examples
        --------
        >>> import xskip.questdb
        >>> table = xskip.questdb.open("/root/.questdb/db/trades")  # doctest: +SKIP
        >>> sum(batch.num_rows for batch in table.to_batches("price", start="2026-01-31"))  # doctest: +SKIP
        """
        if not isinstance(batch_rows, int) or batch_rows < 1:
            raise ArgumentError(
                "batch_rows has an invalid value", found=shown(batch_rows), expected="a number greater than 0"
            )
        selection = self._selection(columns, start, end, filter)
        return read_batches(self.place, selection, batch_rows, frozen=self._frozen)

    def token(self) -> str:
        """Return a token of what the table has now, from which a later read goes on.

        Returns
        -------
        str
            Letters, digits, ``-`` and ``_``. The length grows with the number of partitions, by about 10 characters
            each.

        Raises
        ------
        TableChangedError, TableDamagedError, TableVersionError
        """
        return read_state(self.place, frozen=self._frozen).text()

    def new_rows(self, since: str | None = None, until: str | None = None) -> Table:
        """Return the table with only the rows that were added after one token and up to another.

        Conversions of partitions, splits, changes of columns and removals of partitions add no rows. A row is not new
        if it replaced another one, or if an update changed it.

        Parameters
        ----------
        since, until : str, optional
            Tokens, which :meth:`token` has returned. None leaves an end open.

        Returns
        -------
        Table
            A table whose methods ``to_arrow``, ``to_batches`` and ``count`` have only these rows. They raise
            DatasetError for a partition whose new rows cannot be told from others, because rows were merged between
            those of the token, or were replaced or updated. The error has the range of time in which the partition can
            be read whole; ``start`` and ``end`` select the other partitions. They raise DatasetError if the table was
            truncated after a token, and PredicateError if a token is of another table.

        Raises
        ------
        PredicateError
            If a token is damaged, or if ``since`` is later than ``until``.

        Examples
        --------
        >>> import xskip.questdb
        >>> table = xskip.questdb.open("/root/.questdb/db/trades")  # doctest: +SKIP
        >>> until = table.token()  # doctest: +SKIP
        >>> new = table.new_rows(since=saved, until=until).to_arrow()  # doctest: +SKIP
        """
        found = Table(self.place, frozen=self._frozen)
        found._tokens = RowTokens.parse(since, until, str(self.place.data))
        return found

    def _selection(
        self,
        columns: str | Sequence[str] | None,
        start: Time | None,
        end: Time | None,
        row_filter: pyarrow.dataset.Expression | None = None,
    ) -> Selection:
        return Selection(_names(columns), start, end, row_filter, self._tokens)


def _names(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
