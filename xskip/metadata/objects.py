"""Objects (files) of a dataset, and the names by which metadata knows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import MetadataCorruptError

__all__ = ["ObjectStatus", "Objects", "compare_objects", "count_outside", "join_ids", "split_ids", "table_identifier"]


_DIGITS = 13
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


def compare_objects(
    listed: Objects, known: Objects | None, in_question: npt.NDArray[np.bool_] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The positions of listed objects without metadata, and for each known object whether it is still there.

    Parameters
    ----------
    listed : Objects
    known : Objects or None
    in_question : ndarray of bool, optional
        The known objects that are looked for in the list; all others are taken to be there.
    """
    if known is None:
        return np.arange(len(listed)), np.zeros(0, np.bool_)
    if in_question is not None:
        fresh, there = compare_objects(listed, known.take(pa.array(np.flatnonzero(in_question))))
        alive = ~in_question
        alive[in_question] = there
        return fresh, alive
    old, there = np.full(len(listed), False), np.full(len(known), False)
    found = pc.index_in(listed.names, known.names).fill_null(-1).to_numpy()
    asked = np.flatnonzero(found >= 0)
    found = found[asked]
    same = _are_same(listed, asked, known, found)
    old[asked[same]], there[found[same]] = True, True
    asked, left = asked[~same], np.delete(np.arange(len(known)), found)
    if len(asked) and len(left):  # a name can be known more than once
        for i, j in _pairs(listed, asked, known, left):
            old[i], there[j] = True, True
    return np.flatnonzero(~old), there


def _pairs(
    listed: Objects, asked: npt.NDArray[np.int64], known: Objects, left: npt.NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Yield listed objects with the first known one of the same name, time and size, each at most once."""
    left = left[pc.is_in(known.names.take(pa.array(left)), listed.names.take(pa.array(asked))).to_numpy(False)]
    some = known.take(pa.array(left))
    first: dict[tuple[str, int, int | None], int] = {}
    for j, *key in zip(left, some.names.to_pylist(), some.modified.to_pylist(), some.sizes.to_pylist(), strict=True):
        first.setdefault((key[0], key[1], key[2]), int(j))
    some = listed.take(pa.array(asked))
    for i, name, time, size in zip(
        asked, some.names.to_pylist(), some.modified.to_pylist(), some.sizes.to_pylist(), strict=True
    ):
        found = [j for each in (size, None) if (j := first.get((name, time, each))) is not None]
        if found:
            yield int(i), min(found)


def _are_same(
    listed: Objects, at: npt.NDArray[np.int64], known: Objects, there: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """For objects of one name, pair by pair, whether time and size are one; of another program sizes are not known."""
    now, before = listed.take(pa.array(at)), known.take(pa.array(there))
    sizes = pc.equal(now.sizes.fill_null(-1), before.sizes).fill_null(True)
    same = pc.and_(pc.equal(now.modified, before.modified), sizes)
    return np.asarray(same, np.bool_)


def table_identifier(uri: str) -> str:
    """The identifier of a dataset at ``uri``: the path alone, without a trailing slash.

    >>> table_identifier("s3a://bucket/lake/events/"), table_identifier("file:/tmp/x")
    ('/lake/events', '/tmp/x')
    """
    remote = _AUTHORITY.match(uri)
    path = uri[remote.end() :] if remote else uri
    return path.rstrip("/") or "/"


def count_outside(names: pa.Array, root: str) -> int:
    """Return how many names are no plain paths below a directory: elsewhere, or with an empty part, ``.`` or ``..``.

    >>> names = ["/t/a", "/t/p=%2e%2e/.a", "/t/../u/a", "/t/./a", "/t//a", "/t/", "/ta", "", None]
    >>> count_outside(pa.array(names), "/t/")
    7
    """
    below = pc.starts_with(names, root.rstrip("/") + "/").fill_null(False)
    data = names.buffers()[2]
    letters = b"" if data is None else data.to_pybytes()
    # what is not in the bytes of all names together is in none of them
    if b"//" in letters or b"/." in letters or pc.any(pc.ends_with(names, "/")).as_py():
        below = pc.and_not(below, pc.match_substring_regex(names, r"/\.{0,2}(?:/|$)").fill_null(True))
    return len(names) - int(below.true_count)


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
    pyarrow.ArrowInvalid
        An identity is no text.
    """
    letters = np.frombuffer(ids.buffers()[2] or b"", np.uint8)
    if letters.min(initial=1) == 0 and pc.any(pc.match_substring(ids, "\0")).as_py():
        raise MetadataCorruptError("object identities that hold NUL", expected="name#milliseconds")
    times = _usual_times(ids)
    if times is not None:
        return pc.binary_slice(ids.cast(pa.binary()), 0, -1 - _DIGITS).cast(pa.string()), times
    ids.validate(full=True)
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


def _usual_times(ids: pa.Array) -> pa.Array | None:
    """The times of identities that all end in # and as many digits as times of the years 2001 to 2286 have, else None.

    >>> _usual_times(pa.array(["/a#1700000000000", "/b#1#1700000000001"])).to_pylist()
    [1700000000000, 1700000000001]
    >>> _usual_times(pa.array(["/a#17"])) is None
    True
    """
    if not len(ids) or ids.null_count or pc.min(pc.binary_length(ids)).as_py() <= _DIGITS:
        return None
    _, offsets, data = ids.buffers()
    ends = np.frombuffer(offsets, np.int32)[ids.offset + 1 : ids.offset + len(ids) + 1]
    if (np.frombuffer(data, np.uint8)[ends - 1 - _DIGITS] != ord("#")).any():
        return None
    with suppress(pa.ArrowInvalid):  # another # would be no digit
        return pc.binary_slice(ids.cast(pa.binary()), -_DIGITS).cast(pa.string()).cast(pa.int64())
    return None
