"""Directories of a dataset that may hold files unknown to its index. Rules: specs/pruning.rst, [PRU-TL].

:func:`changed_partitions` compares only the names of directories. :func:`diff_files` compares all files on a local
disk, where this is faster than a listing by Spark.

.. code-block:: text

    Topic=a/Key=k/Start=2026-11-22    Start is a date, so Start is the column by which the data grows
    every Topic, every Key            only the names of their subdirectories are read
    last Start of every Key           listed with all contents, as is every directory that the index does not know
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.fs import FileInfo, FileSelector, FileType, LocalFileSystem

from xskip.clauses.partition import column_of
from xskip.errors import DatasetError
from xskip.hints import Call, Words
from xskip.metadata.data_files import DataFiles, compare_files, is_hidden, table_identifier
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.filesystem import Storage, local_path, modified_of

__all__ = ["DirectoryChanges", "LocalFiles", "changed_partitions", "diff_files", "local_files"]

_THREADS = 32


@dataclass(frozen=True, slots=True)
class DirectoryChanges:
    """The directories of a dataset that must be listed, and the known files that the listing replaces."""

    #: Directories below the root, none of them inside another.
    listed: tuple[str, ...]
    #: For each known file, whether it lies in a listed directory or in a directory that no longer exists.
    replaced: npt.NDArray[np.bool_]
    #: Whether all other directories are known to be unchanged.
    is_complete: bool = False


def changed_partitions(table: MetadataTable, root: str, storage: Storage, recheck: Iterable[str]) -> DirectoryChanges:
    """Find the directories that may hold new files, by the names of directories only: the result is never complete.

    ``table`` has all partition columns, ``root`` has its scheme, and ``recheck`` are further directories below the root
    to list.
    """
    _demand_distinct(table.files.names, root)
    known = _Known(table, root)
    listed: set[str] = set()
    gone: set[str] = set()
    parents = [""] if table.partitions else []
    # Names are read at the level of the column by which the data grows, and at all levels above.
    for level in range(known.depth + 1):
        before = known.directories(level)
        inner: list[str] = []
        for parent, there in _directories(storage, root, parents).items():
            own = before[parent]
            listed |= there - own.keys()
            gone |= own.keys() - there
            if level == known.depth:
                listed |= set(_last(own)) & there
            else:
                inner += own.keys() & there
        parents = inner
    again = {each.strip("/") for each in recheck}
    present = _directories(storage, root, {_parent(each) for each in again})
    listed |= {each for each in again if each in present[_parent(each)]}
    outer = tuple(_outermost(listed))
    return DirectoryChanges(outer, known.inside({*outer, *gone, *again}))


class LocalFiles(NamedTuple):
    """All data files below a directory on a local disk, and the directories that contain them."""

    files: DataFiles
    directories: set[str]


def diff_files(table: MetadataTable, root: str, found: LocalFiles | None) -> DirectoryChanges | None:
    """Find the directories with new, deleted or changed files, by a comparison of all files on a local disk.

    None says that Spark should list the whole dataset: if most files lie in changed directories, if the partition
    columns have changed, if a dataset without partitions has changed, or if ``found`` is None.
    """
    if found is None:
        return None
    fresh, alive = compare_files(found.files, table.files)
    if alive.all() and not len(fresh):
        return DirectoryChanges((), ~alive, is_complete=True)
    if not alive.all():  # if all are alive, each has the name of another listed file
        _demand_distinct(table.files.names, root)
    known = _Known(table, root)
    new = _parents(known.below(found.files.names.take(pa.array(fresh))))
    outer = set(_outermost(new | _parents(known.below(table.files.names.filter(pa.array(~alive))))))
    partitions = list(table.partitions)
    if any([name for part in each.split("/") if (name := column_of(part))] != partitions for each in new):
        return None
    replaced = known.inside(outer)
    if not partitions or "" in outer or 2 * max(replaced.sum(), len(fresh)) > len(table):
        return None
    there = {above for each in found.directories for above in _and_above(each)}
    return DirectoryChanges(tuple(sorted(outer & there)), replaced, is_complete=True)


def _demand_distinct(names: pa.Array, root: str) -> None:
    if pc.count_distinct(names).as_py() < len(names):
        raise DatasetError("the index lists a file twice", where=root, hint=Words("{} first", Call("refresh")))


class _Known:
    """The directories of the known files, by level below the root."""

    def __init__(self, table: MetadataTable, root: str) -> None:
        self._start = len(table_identifier(root).rstrip("/") + "/")
        self._paths = self.below(table.files.names)
        columns = list(table.partitions.values())
        self._growing = next((c for c in columns if pa.types.is_temporal(c.values.type)), next(iter(columns), None))
        first = self._paths[0].as_py().split("/")[:-1] if len(table) else []
        names = [column_of(part) for part in first]
        wanted = self._growing.name if self._growing else None
        #: The level of the column by which the data grows; level 0 is directly below the root.
        self.depth = names.index(wanted) if wanted in names else 0

    def below(self, names: pa.Array) -> pa.Array:
        """Return the names of files as paths below the root."""
        return pc.utf8_slice_codeunits(names, self._start)

    def directories(self, level: int) -> defaultdict[str, dict[str, pa.Scalar]]:
        """Return the directories of a level by parent, each with a value of the column by which the data grows."""
        found: defaultdict[str, dict[str, pa.Scalar]] = defaultdict(dict)
        if self._growing is None:
            return found
        codes = self._at(level).dictionary_encode()
        rows, of = np.full(len(codes.dictionary), 0), codes.indices.fill_null(-1).to_numpy()
        # Of several assignments to one position, the last counts: in reverse order, that is the first file of a
        # directory.
        rows[of[of >= 0][::-1]] = np.flatnonzero(of >= 0)[::-1]
        values = self._growing.values.take(pa.array(rows))
        for path, value in zip(codes.dictionary.to_pylist(), values, strict=True):
            found[_parent(path)][path] = value
        return found

    def inside(self, directories: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Return for each known file whether it lies in one of the directories, at any depth."""
        levels: defaultdict[int, list[str]] = defaultdict(list)
        for each in directories:
            levels[each.count("/")].append(each)
        found = np.full(len(self._paths), False)
        for level, paths in levels.items():
            found |= pc.is_in(self._at(level), pa.array(paths, pa.string())).to_numpy(zero_copy_only=False)
        return found

    def _at(self, level: int) -> pa.Array:
        """Return the directory of each known file at a level, or null for a file above this level."""
        parts = pc.split_pattern(self._paths, "/", max_splits=level + 1)
        joined = pc.binary_join(pc.list_slice(parts, 0, level + 1), "/")
        return pc.if_else(pc.greater(pc.list_value_length(parts), level + 1), joined, pa.scalar(None, pa.string()))


def _directories(storage: Storage, root: str, parents: Iterable[str]) -> dict[str, set[str]]:
    """Return the subdirectories of each parent as paths below the root, without hidden subdirectories."""

    def look(parent: str) -> tuple[str, set[str]]:
        names = map(_last_part, storage.directories(f"{root}/{parent}".rstrip("/")))
        return parent, {f"{parent}/{name}".lstrip("/") for name in names if not is_hidden(name, directory=True)}

    wanted = list(parents)
    if len(wanted) == 1:
        return dict(map(look, wanted))
    with ThreadPoolExecutor(_THREADS) as pool:
        return dict(pool.map(look, wanted))


def local_files(root: str) -> LocalFiles | None:
    """Return all files below a directory of a local disk that are neither hidden nor empty.

    None says that the name of a file is not valid UTF-8.
    """
    try:
        return _files_below(str(local_path(root)))
    except UnicodeDecodeError:
        return None


def _files_below(directory: str) -> LocalFiles:
    found: list[FileInfo] = []
    holding = set()
    disk, level = LocalFileSystem(), [directory]
    # Arrow reads a directory without Python's global lock, so that the threads use all cores.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while level:
            deeper = []
            for path, entries in zip(level, pool.map(disk.get_file_info, map(FileSelector, level)), strict=True):
                files = [entry for entry in entries if entry.size and not is_hidden(entry.base_name)]
                if files:
                    found += files
                    holding.add(path[len(directory) + 1 :])
                if len(files) < len(entries):
                    deeper += [entry.path for entry in entries if _is_visible_directory(entry)]
            level = deeper
    names = pa.array([file.path for file in found], pa.string())
    sizes = pa.array([file.size for file in found], pa.int64())
    return LocalFiles(
        DataFiles(names, sizes, pa.array([modified_of(file.mtime_ns) for file in found], pa.int64())), holding
    )


def _is_visible_directory(entry: FileInfo) -> bool:
    return entry.type is FileType.Directory and not is_hidden(entry.base_name, directory=True)


def _last(directories: dict[str, pa.Scalar]) -> Iterator[str]:
    """Yield the directories with the greatest value."""
    values = [value for value in directories.values() if value.is_valid]
    if values:
        greatest = pc.max(pa.array([v.as_py() for v in values], values[0].type))
        yield from (path for path, value in directories.items() if value.is_valid and value.equals(greatest))


def _outermost(directories: Iterable[str]) -> Iterator[str]:
    """Yield the directories that do not lie inside another directory of the input."""
    last = None
    for each in sorted(directories, key=lambda path: path.split("/")):  # subdirectories follow their parent
        if last is None or not each.startswith(last + "/"):
            last = each
            yield each


def _parents(paths: pa.Array) -> set[str]:
    return set(pc.unique(pc.replace_substring_regex(paths, "/?[^/]*$", "")).to_pylist())


def _and_above(directory: str) -> Iterator[str]:
    """Yield a directory and all its parent directories below the root."""
    while directory:
        yield directory
        directory = _parent(directory)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _last_part(path: str) -> str:
    return path.rpartition("/")[2]
