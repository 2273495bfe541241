"""A lake that is open for reading without Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from xskip.arrow_filters import check_filter
from xskip.errors import ArgumentError, PredicateError, did_you_mean, or_none, shown
from xskip.paths import check_path
from xskip.quixlake.arrow_read import ArrowRead
from xskip.quixlake.arrow_rows import COLUMNS
from xskip.quixlake.discovery import LakeDiscovery
from xskip.quixlake.location import arrow_location
from xskip.quixlake.selection import Filters, Selection
from xskip.quixlake.topic_segments import TopicSegments

if TYPE_CHECKING:
    import pyarrow.dataset
    from pyarrow.fs import FileSystem
    from typing_extensions import Unpack

__all__ = ["OpenedLake", "open_lake"]


class OpenedLake(LakeDiscovery):
    """A lake that is open for reading without Spark and Java, see :func:`open`."""

    def to_arrow(
        self,
        topic: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        filter: pyarrow.dataset.Expression | None = None,  # noqa: A002 - the name that pyarrow has for it
        **filters: Unpack[Filters],
    ) -> pa.Table:
        """Return the messages of a selection as an Arrow table.

        Only the segments that can hold a selected message are opened, by the claims of descriptors and names that
        count.

        Parameters
        ----------
        topic : str or sequence of str
            The topic, or several topics, whose messages the column ``topic`` tells apart.
        columns : sequence of str, optional
            The columns of the table; None means all.
        filter : pyarrow.dataset.Expression, optional
            A filter on all columns of a read, such as ``pc.field("offset") > 5``. None keeps all messages.
        **filters
            The messages to select, see :class:`~xskip.quixlake.Filters`. ``end`` and the second of the ``offsets`` are
            exclusive. Segments of writers other than xskip are skipped by time only with ``trust="names"``, which loses
            messages unless their timestamps never decrease within a partition.

        Returns
        -------
        pyarrow.Table
            The columns of :meth:`QuixLake.read`, in the order of the segments' paths and, within a segment, of its
            messages: ``timestamp``, ``partition`` and ``offset`` are int64, ``key`` and ``value`` binary, ``headers`` a
            list of structs of ``key`` and ``value``, of which the latter is a struct of ``string`` and ``bytes``,
            ``time`` is a timestamp in microseconds and UTC, ``topic`` and ``stream_key`` are string, and ``date`` is
            date32.

        Raises
        ------
        DatasetError
            If the lake has no such topic, if a segment cannot be read, if the new messages of a merged segment cannot
            be told from others, or if fastavro is not installed.
        PredicateError
            If a filter or a token is invalid, or if a column does not exist.
        """
        return self.to_batches(topic, columns=columns, filter=filter, **filters).read_all()

    def to_batches(
        self,
        topic: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        filter: pyarrow.dataset.Expression | None = None,  # noqa: A002 - the name that pyarrow has for it
        **filters: Unpack[Filters],
    ) -> pa.RecordBatchReader:
        """Return the messages of a selection segment by segment, for results that do not fit into memory.

        Parameters
        ----------
        topic : str or sequence of str
        columns : sequence of str, optional
            See :meth:`to_arrow`.
        filter : pyarrow.dataset.Expression, optional
            See :meth:`to_arrow`.
        **filters
            See :class:`~xskip.quixlake.Filters`.

        Returns
        -------
        pyarrow.RecordBatchReader
            The batches of the table that :meth:`to_arrow` returns. A segment is read when its batch is.

        Raises
        ------
        DatasetError, PredicateError
            As :meth:`to_arrow`.
        """
        selections, names = Selection.of_topics(topic, filters), _known(columns)
        if filter is not None:
            check_filter(filter, COLUMNS)
        reads = [ArrowRead(TopicSegments(self._store, each.topic), each, names, filter) for each in selections]
        return pa.RecordBatchReader.from_batches(reads[0].schema, chain.from_iterable(each.batches() for each in reads))


def open_lake(path: str | os.PathLike[str], *, filesystem: FileSystem | None = None) -> OpenedLake:
    """Open a lake for reading without Spark and Java.

    Parameters
    ----------
    path : str or os.PathLike
        The folder of the workspace, which contains ``Raw`` and ``Metadata``: a local path, or a URI such as
        ``s3://bucket/workspace``.
    filesystem : pyarrow.fs.FileSystem, optional
        The file system of the lake; None finds the file system by the path.

    Returns
    -------
    OpenedLake
        The lake, whose method ``to_arrow`` reads messages.

    Raises
    ------
    ArgumentError
        If an argument has another type than documented.
    StorageError
        If pyarrow cannot open the file system.
    """
    if filesystem is not None and not hasattr(filesystem, "get_file_info"):
        raise ArgumentError(
            "filesystem has an invalid value", found=shown(filesystem), expected=or_none("a pyarrow.fs.FileSystem")
        )
    base = check_path(path, "folder of the lake")
    return OpenedLake(base, arrow_location(base, filesystem))


def _known(columns: Iterable[str] | None) -> list[str]:
    """Return the names of columns that exist."""
    if columns is None:
        return list(COLUMNS.names)
    names = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else []
    if not names or not all(isinstance(each, str) for each in names):
        raise PredicateError("columns is not a list of names", found=repr(columns), expected="such as ['offset']")
    for each in names:
        if each not in COLUMNS.names:
            raise PredicateError(
                "the messages of a lake have no such column", found=each, expected=", ".join(COLUMNS.names),
                hint=did_you_mean(each, COLUMNS.names),
            )  # fmt: skip
    return names
