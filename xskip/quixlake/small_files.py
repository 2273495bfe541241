"""Parquet files below ``Metadata``, which fit into memory: many of them are read as a whole at the same time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.filesystem import Storage
from xskip.quixlake.parallel_map import parallel_map
from xskip.spark.bridge.hadoop_filesystem import HadoopStorage

__all__ = ["State", "UnreadableFile", "read_small_files"]

_THREADS = 16
#: The numbers of files and of bytes that are in memory at the same time.
_MAX_FILES, _MAX_BYTES = 1_024, 64 << 20
#: The name, size and modification time of a file in a listing.
State: TypeAlias = tuple[str, "int | None", "int | None"]


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A Parquet file of the lake that describes nothing, and why it cannot be read."""

    path: str
    reason: str


def read_small_files(
    storage: Storage, uri: str, files: DataFiles, known: Mapping[State, pa.Table | UnreadableFile]
) -> dict[State, pa.Table | UnreadableFile]:
    """Read Parquet files that fit into memory, each as a whole and in several threads.

    ``uri`` is the scheme and authority of the files, such as ``s3a://bucket``; ``file:`` on a local disk. Files with
    ``known`` states are not read again [QLK-DE-9].
    """
    columns = (files.names.to_pylist(), files.sizes.to_pylist(), files.modified.to_pylist())
    states: list[State] = list(zip(*columns, strict=True))
    fresh = [state for state in states if state not in known]

    found: dict[State, pa.Table | UnreadableFile] = {}
    for some in _few(fresh):
        paths = [f"{uri}{path}" for path, *_ in some]
        # A failure of the storage raises: without descriptors, deleted messages would come back [QLK-DE-5].
        contents = _contents(storage, paths, [size for _, size, _ in some])
        tables = parallel_map(os.cpu_count() or 1, lambda content: _parsed(*content), contents)
        for state, path, table in zip(some, paths, tables, strict=True):
            # the file can have changed since the listing
            is_odd = isinstance(table, UnreadableFile)
            found[state] = _parsed(path, storage.read(path)) if is_odd else table
    return {state: found[state] if state in found else known[state] for state in states}


def _few(states: Sequence[State]) -> Iterator[list[State]]:
    """Yield groups of files, of which each fits into memory."""
    group, size = list[State](), 0
    for state in states:
        if group and (len(group) == _MAX_FILES or size > _MAX_BYTES):
            yield group
            group, size = [], 0
        group.append(state)
        size += state[1] or 0
    if group:
        yield group


def _contents(storage: Storage, paths: Sequence[str], sizes: Sequence[int | None]) -> list[tuple[str, bytes]]:
    """Return the paths and the bytes of files, which can lack what was added to a file since its listing."""
    known = [size for size in sizes if size is not None]
    if isinstance(storage, HadoopStorage) and len(known) == len(paths):
        return list(zip(paths, storage.read_listed(paths, known), strict=True))
    return list(parallel_map(_THREADS, lambda path: (path, storage.read(path)), paths))


def _parsed(path: str, data: bytes) -> pa.Table | UnreadableFile:
    try:
        with pq.ParquetFile(pa.BufferReader(data)) as reader:
            return reader.read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        # Odd content is a result, because the lake must stay readable.
        return UnreadableFile(path, str(error).partition("\n")[0])
