"""A table of QuestDB, with what needs Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from xskip.indexes import Index
from xskip.questdb_files import Table as ArrowTable
from xskip.questdb_files.database import place_of

if TYPE_CHECKING:
    from xskip.questdb.export import ExportOptions, ExportResult

__all__ = ["Table", "open_table"]


class Table(ArrowTable):
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

    def export(
        self,
        older_than: str | timedelta | datetime,
        to: str,
        *,
        format: str = "parquet",  # noqa: A002 - Spark's own word
        indexes: Sequence[Index] = (),
        options: ExportOptions | None = None,
    ) -> ExportResult:
        """Copy partitions to files in a folder, the cold tier of the table, in one commit.

        The table stays as it is. After the export, its partitions can be dropped: the result has the statement. Run it
        before later rows of these partitions come, which it would drop.
        :func:`union` reads the table and its cold tier as one. A partition that is exported already is copied again
        only if rows were merged into it.

        Parameters
        ----------
        older_than : str, timedelta or datetime
            The least age of the end of a partition, such as ``"30d"`` with one of the units ``s``, ``m``, ``h``, ``d``
            and ``w``; or the time at which a partition must have ended.
        to : str
            The folder of the cold tier, on any file system that Spark can write to.
        format : {"parquet", "avro"}
            The format of the files.
        indexes : sequence of Index, optional
            The indexes of the files, such as ``[MinMax("price")]``, which the first export creates. Later exports add
            their files to the index.
        options : ExportOptions, optional
            More options.

        Returns
        -------
        ExportResult
            The partitions, rows and files that were copied.

        Raises
        ------
        DatasetError
            If the table has no partitions, or if the folder has exports of another table or in another format.
        UnsupportedTypeError
            If the table has a column of a type that this release does not know.
        TableChangedError
            If a server changed the table during every attempt to read it.
        CommitConflictError
            If another export has committed meanwhile; nothing has changed.

        Examples
        --------
        >>> import xskip.questdb
        >>> table = xskip.questdb.open("/root/.questdb/db/trades")  # doctest: +SKIP
        >>> table.export("30d", "s3a://archive/trades", indexes=[xskip.MinMax("price")])  # doctest: +SKIP
        """
        from xskip.questdb.export import Export, ExportOptions
        from xskip.questdb.export_plan import border

        return Export(self.place, to, format, options or ExportOptions()).run(border(older_than), indexes)


def open_table(path: str | Path, *, frozen: bool = False) -> Table:
    """Return a table on disk.

    Parameters
    ----------
    path : str or Path
        The folder of a table, below ``db`` of a server or ``.checkpoint/db`` of a checkpoint; or the folder ``db``
        followed by the name of a table.
    frozen : bool, default False
        Whether no server writes to the table: the server has stopped, or the files are a copy. Buffers of Arrow arrays
        are then mapped files instead of copies.

    Returns
    -------
    Table
        The table, whose files are not read yet.

    Raises
    ------
    ArgumentError
        If the path is no path.
    DatasetError
        If there is no such table.

    Examples
    --------
    >>> import xskip.questdb
    >>> xskip.questdb.open("/root/.questdb/db/trades").count()  # doctest: +SKIP
    """
    return Table(place_of(path), frozen=frozen)
