"""The files of a dataset, which the metadata format calls objects, and their identifiers in metadata."""

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

__all__ = [
    "DataFiles",
    "FileStatus",
    "compare_files",
    "count_changed",
    "count_outside",
    "is_hidden",
    "join_ids",
    "split_ids",
    "table_identifier",
]


# Times in milliseconds have 13 digits in the years 2001 to 2286.
_DIGITS = 13
# urlsplit does not fit: Hadoop's paths are decoded, and # and ? are ordinary characters in them
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?")


@dataclass(frozen=True, slots=True)
class FileStatus:
    """The name, size and modification time of one file."""

    #: The path without scheme and authority, decoded.
    name: str
    #: In bytes; -1 if unknown.
    size: int
    #: In milliseconds since the epoch.
    modified: int


def is_hidden(name: str, *, directory: bool = False) -> bool:
    """Return whether Spark ignores a file with this name, or the files in a directory with this name.

    >>> is_hidden("_SUCCESS"), is_hidden("_day=1"), is_hidden(".x=1"), is_hidden("a._COPYING_")
    (True, False, True, True)
    >>> is_hidden("_metadata"), is_hidden("_metadata", directory=True)
    (True, False)
    """
    is_special = name.startswith(".") or (name.startswith("_") and "=" not in name)
    if is_special and not directory:
        return True
    # Spark looks for summaries of Parquet under these names, and does not read them as data. It lists directories too.
    is_summary = name.startswith(("_metadata", "_common_metadata"))
    return not is_summary and (is_special or name.endswith("._COPYING_"))


@dataclass(frozen=True, slots=True)
class DataFiles:
    """The names, sizes and modification times of many files, as columns with one row per file."""

    #: string; paths without scheme and authority, decoded.
    names: pa.Array
    #: int64; in bytes, null where unknown.
    sizes: pa.Array
    #: int64; in milliseconds since the epoch.
    modified: pa.Array

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, row: int) -> FileStatus:
        size = self.sizes[row].as_py()
        return FileStatus(self.names[row].as_py(), -1 if size is None else size, self.modified[row].as_py())

    def take(self, rows: pa.Array) -> DataFiles:
        """Return the files at the given positions, in the order of the positions."""
        return DataFiles(self.names.take(rows), self.sizes.take(rows), self.modified.take(rows))

    def slice(self, first: int, count: int) -> DataFiles:
        """Return a range of the files without a copy of their values."""
        return DataFiles(*(column.slice(first, count) for column in (self.names, self.sizes, self.modified)))

    @property
    def total_bytes(self) -> int:
        """Return the sum of all known sizes, in bytes."""
        return int(pc.sum(self.sizes, min_count=0).as_py())

    @staticmethod
    def of(files: list[FileStatus]) -> DataFiles:
        """Return the columns for a list of files."""
        sizes = pa.array([f.size if f.size >= 0 else None for f in files], pa.int64())
        return DataFiles(
            pa.array([f.name for f in files], pa.string()), sizes, pa.array([f.modified for f in files], pa.int64())
        )


def compare_files(
    listed: DataFiles, known: DataFiles | None, in_question: npt.NDArray[np.bool_] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the positions of listed files without metadata, and for each known file whether it is still present.

    A listed file is a known file if name, modification time and size agree. ``known`` is None if there is no metadata.
    ``in_question`` marks the known files that the listing covers, and None means all; all other known files count as
    present.
    """
    if known is None:
        return np.arange(len(listed)), np.zeros(0, np.bool_)
    if in_question is not None:
        fresh, there = compare_files(listed, known.take(pa.array(np.flatnonzero(in_question))))
        alive = ~in_question
        alive[in_question] = there
        return fresh, alive
    old, there = np.full(len(listed), False), np.full(len(known), False)
    found = pc.index_in(listed.names, known.names).fill_null(-1).to_numpy()
    matched = np.flatnonzero(found >= 0)
    found = found[matched]
    same = _are_same(listed, matched, known, found)
    old[matched[same]], there[found[same]] = True, True
    # index_in finds the first known file of a name. Listed files that differ from it are compared with the other known
    # files.
    matched, left = matched[~same], np.delete(np.arange(len(known)), found)
    if len(matched) and len(left):  # the metadata can hold a name more than once
        for i, j in _pairs(listed, matched, known, left):
            old[i], there[j] = True, True
    return np.flatnonzero(~old), there


def count_changed(missing: DataFiles, stale: DataFiles) -> int:
    """Return how many files without metadata have metadata of an earlier state, by their names.

    ``stale`` are the files in the metadata that are not in the listing.
    """
    return int(pc.is_in(missing.names, value_set=stale.names.unique()).sum().as_py() or 0)


def _pairs(
    listed: DataFiles, matched: npt.NDArray[np.int64], known: DataFiles, left: npt.NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Yield the position of a listed file with that of the first known file of the same name, time and size."""
    left = left[pc.is_in(known.names.take(pa.array(left)), listed.names.take(pa.array(matched))).to_numpy(False)]
    some = known.take(pa.array(left))
    first: dict[tuple[str, int, int | None], int] = {}
    for j, *key in zip(left, some.names.to_pylist(), some.modified.to_pylist(), some.sizes.to_pylist(), strict=True):
        first.setdefault((key[0], key[1], key[2]), int(j))
    some = listed.take(pa.array(matched))
    for i, name, time, size in zip(
        matched, some.names.to_pylist(), some.modified.to_pylist(), some.sizes.to_pylist(), strict=True
    ):
        # A known file without a size agrees with every size, see _are_same.
        found = [j for each in (size, None) if (j := first.get((name, time, each))) is not None]
        if found:
            yield int(i), min(found)


def _are_same(
    listed: DataFiles, at: npt.NDArray[np.int64], known: DataFiles, there: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return for pairs of files of one name whether time and size agree."""
    now, before = listed.take(pa.array(at)), known.take(pa.array(there))
    # A size that the metadata does not know agrees with every size: other programs do not record sizes.
    sizes = pc.equal(now.sizes.fill_null(-1), before.sizes).fill_null(True)
    same = pc.and_(pc.equal(now.modified, before.modified), sizes)
    return np.asarray(same, np.bool_)


def table_identifier(uri: str) -> str:
    """Return the identifier of the dataset at ``uri``: the path without scheme, authority and trailing slashes.

    >>> table_identifier("s3a://bucket/lake/events/"), table_identifier("file:/tmp/x")
    ('/lake/events', '/tmp/x')
    """
    remote = _AUTHORITY.match(uri)
    path = uri[remote.end() :] if remote else uri
    return path.rstrip("/") or "/"


def count_outside(names: pa.Array, root: str) -> int:
    """Return how many names are not plain paths below a directory.

    A plain path has no empty component and no component ``.`` or ``..``. A null name counts as outside.

    >>> names = ["/t/a", "/t/p=%2e%2e/.a", "/t/../u/a", "/t/./a", "/t//a", "/t/", "/ta", "", None]
    >>> count_outside(pa.array(names), "/t/")
    7
    """
    below = pc.starts_with(names, root.rstrip("/") + "/").fill_null(False)
    letters = np.frombuffer(names.buffers()[2] or b"", np.uint8)
    # a pair of letters that the joined names do not contain is in no name
    pairs = (letters[:-1] == ord("/")) & ((letters[1:] == ord("/")) | (letters[1:] == ord(".")))
    if pairs.any() or pc.any(pc.ends_with(names, "/")).as_py():
        below = pc.and_not(below, pc.match_substring_regex(names, r"/\.{0,2}(?:/|$)").fill_null(True))
    return len(names) - int(below.true_count)


def join_ids(names: pa.Array, modified: pa.Array) -> pa.Array:
    """Return the identifier ``name#modified`` of each file, with the modification time in milliseconds.

    >>> join_ids(pa.array(["/a/x#1"]), pa.array([7])).to_pylist()
    ['/a/x#1#7']
    """
    return pc.binary_join_element_wise(names, modified.cast(pa.string()), "#")


def split_ids(ids: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the names and the modification times in milliseconds since the epoch, split at the last ``#``.

    MetadataCorruptError means that an identifier is null, holds NUL, has no ``#``, or has no number after the last
    ``#``. ArrowInvalid means that an identifier is not valid UTF-8.
    """
    letters = np.frombuffer(ids.buffers()[2] or b"", np.uint8)
    if letters.min(initial=1) == 0 and pc.any(pc.match_substring(ids, "\0")).as_py():
        raise MetadataCorruptError("file identifiers contain NUL", expected="name#milliseconds")
    times = _usual_times(ids)
    if times is not None:
        return pc.binary_slice(ids.cast(pa.binary()), 0, -1 - _DIGITS).cast(pa.string()), times
    ids.validate(full=True)
    parts = pc.split_pattern(ids, "#", max_splits=1, reverse=True)
    lengths = pc.list_value_length(parts)
    if ids.null_count or pc.any(pc.not_equal(lengths, 2)).as_py():
        raise MetadataCorruptError("file identifiers do not have the form name#time", expected="name#milliseconds")
    try:
        times = pc.list_element(parts, 1).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise MetadataCorruptError(
            "file identifiers do not contain a valid time", expected="name#milliseconds", found=str(error)
        ) from error
    return pc.list_element(parts, 0), times


def _usual_times(ids: pa.Array) -> pa.Array | None:
    """Return the times of identifiers that all end in ``#`` and 13 digits, else None.

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
    with suppress(pa.ArrowInvalid):  # another # among the digits fails the cast
        return pc.binary_slice(ids.cast(pa.binary()), -_DIGITS).cast(pa.string()).cast(pa.int64())
    return None
