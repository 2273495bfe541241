"""Objects (files) of a dataset, and the names by which metadata knows them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import MetadataCorruptError

__all__ = ["ObjectStatus", "Objects", "join_ids", "split_ids", "table_identifier"]


# not urlsplit: Hadoop's paths are decoded, and # or ? in them are letters like any other
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?")


@dataclass(frozen=True, slots=True)
class ObjectStatus:
    """One object: its name, size in bytes (-1 where unknown) and modification time in ms since the epoch."""

    name: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Objects:
    """Objects as columns, one row each.

    Attributes
    ----------
    names : pyarrow.Array of string
        Paths without scheme and authority, decoded.
    sizes : pyarrow.Array of int64
        Bytes; null where nobody recorded them.
    modified : pyarrow.Array of int64
        Milliseconds since the epoch.
    """

    names: pa.Array
    sizes: pa.Array
    modified: pa.Array

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, row: int) -> ObjectStatus:
        size = self.sizes[row].as_py()
        return ObjectStatus(self.names[row].as_py(), -1 if size is None else size, self.modified[row].as_py())

    def take(self, rows: pa.Array) -> Objects:
        """The objects of these rows, in this order."""
        return Objects(self.names.take(rows), self.sizes.take(rows), self.modified.take(rows))

    @property
    def total_bytes(self) -> int:
        """The sum of the known sizes."""
        return int(pc.sum(self.sizes, min_count=0).as_py())

    @staticmethod
    def of(objects: list[ObjectStatus]) -> Objects:
        """Columns made of single objects."""
        sizes = pa.array([o.size if o.size >= 0 else None for o in objects], pa.int64())
        return Objects(
            pa.array([o.name for o in objects], pa.string()), sizes, pa.array([o.modified for o in objects], pa.int64())
        )


def table_identifier(uri: str) -> str:
    """The identifier of a dataset at ``uri``: the path alone, without a trailing slash.

    >>> table_identifier("s3a://bucket/lake/events/"), table_identifier("file:/tmp/x")
    ('/lake/events', '/tmp/x')
    """
    remote = _AUTHORITY.match(uri)
    path = uri[remote.end() :] if remote else uri
    return path.rstrip("/") or "/"


def join_ids(names: pa.Array, modified: pa.Array) -> pa.Array:
    """Identities ``name#modified``, one for each object.

    >>> join_ids(pa.array(["/a/x#1"]), pa.array([7])).to_pylist()
    ['/a/x#1#7']
    """
    return pc.binary_join_element_wise(names, modified.cast(pa.string()), "#")


def split_ids(ids: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Names and modification times of identities: the last ``#`` parts them.

    Raises
    ------
    MetadataCorruptError
        An identity is null, has no ``#``, or no number after it.
    """
    if pc.any(pc.match_substring(ids, "\0")).as_py():
        raise MetadataCorruptError("object identities that hold NUL", expected="name#milliseconds")
    parts = pc.split_pattern(ids, "#", max_splits=1, reverse=True)
    lengths = pc.list_value_length(parts)
    if ids.null_count or pc.any(pc.not_equal(lengths, 2)).as_py():
        raise MetadataCorruptError("object identities that are not name#time", expected="name#milliseconds")
    try:
        times = pc.list_element(parts, 1).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise MetadataCorruptError(
            "object identities without a time", expected="name#milliseconds", found=str(error)
        ) from error
    return pc.list_element(parts, 0), times
