"""The merging of index files: those of a stream key become few, without descriptors of no use. Rules: [QLK-CP-4]."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import StorageError
from xskip.quixlake.descriptors import DESCRIPTOR, DOCUMENT, IndexFiles, describe
from xskip.quixlake.names import METADATA, RAW, topic_folder
from xskip.quixlake.store import LakeStore

__all__ = ["merge_index_files"]

_MAX_ROWS = 1_000
_ATTEMPTS = 10
_THREADS = 8
#: The columns of descriptors in memory, in the order of the columns of the document.
_COLUMNS = DESCRIPTOR.names[: len(DOCUMENT)]


@dataclass(frozen=True, slots=True, eq=False)
class _Merge:
    """The index files of a stream key, relative to the base, and the descriptors that replace their content."""

    place: str
    paths: tuple[str, ...]
    #: The columns of the document in memory, and ``exact``.
    descriptors: pa.Table
    #: Whether the files hold descriptors that differ from these, or more of them.
    is_changed: bool

    @property
    def is_useful(self) -> bool:
        """Return whether the merge changes descriptors or leaves fewer files."""
        exact = pc.sum(self.descriptors["exact"], min_count=0).as_py()
        count = sum(-(-rows // _MAX_ROWS) for rows in (exact, len(self.descriptors) - exact))
        return self.is_changed or count < len(self.paths) > 1


def merge_index_files(store: LakeStore, topic: str, limit: int, gone: pa.ChunkedArray | None = None) -> tuple[int, int]:
    """Merge the old index files of each stream key, and return the numbers of merged and of new index files.

    Index files are old if they changed before ``limit``, in milliseconds since the Unix epoch. ``gone`` are paths of
    removed segments, relative to the base, whose descriptors are left out.
    """
    folder = topic_folder(METADATA, topic).partition("/")[2]
    replaced = store.compacted([folder]).replaced
    places = store.old_index_files(folder, limit)
    whole = pa.concat_tables([DESCRIPTOR.empty_table(), *(files.descriptors for files in places.values())])
    is_gone = _are_stale(store, folder, whole, limit)
    if gone is not None:
        is_gone = pc.or_(is_gone, pc.is_in(whole["below"], gone))
    # Readers that do not know manifests see the mark of deletion [QLK-CP-4].
    is_replaced = pc.and_(pc.is_in(whole["below"], replaced), pc.is_null(whole["deleted"]))
    merges = _merges(places, is_replaced, is_gone)
    useful = [merge for merge in merges if merge.is_useful]
    with ThreadPoolExecutor(_THREADS) as pool:
        written = sum(pool.map(lambda merge: _run(store, merge, limit), useful))
    return sum(len(merge.paths) for merge in useful), written


def _are_stale(store: LakeStore, folder: str, descriptors: pa.Table, limit: int) -> pa.ChunkedArray:
    """Return which of the sink's descriptors have been marked as deleted for long and have no segment any more."""
    below = descriptors["below"]
    before = pa.scalar(limit, pa.timestamp("ms", "UTC"))
    # ``clean`` leaves such descriptors in index files that have changed shortly before.
    is_old = pc.and_(descriptors["exact"], pc.less(descriptors["deleted"], before).fill_null(False))
    is_stale = pc.and_(is_old, pc.starts_with(below, f"{RAW}/{folder}/").fill_null(False))
    if pc.any(is_stale, min_count=0).as_py():
        is_stale = pc.and_(is_stale, pc.invert(store.compacted([folder]).excludes(below)))
    if pc.any(is_stale, min_count=0).as_py():
        is_stale = pc.and_(is_stale, pc.invert(pc.is_in(below, store.raw_files([folder]).names)))
    return is_stale


def _merges(places: dict[str, IndexFiles], is_replaced: pa.ChunkedArray, is_gone: pa.ChunkedArray) -> Iterator[_Merge]:
    """Yield the merge of each stream key; the masks are those of all descriptors in the order of places."""
    now = pa.scalar(datetime.now(timezone.utc), DESCRIPTOR.field("deleted").type)
    start = 0
    for place, files in places.items():
        table = files.descriptors
        own_gone, own_replaced = (mask.slice(start, len(table)) for mask in (is_gone, is_replaced))
        start += len(table)
        position = table.schema.get_field_index("deleted")
        marked = table.set_column(position, "deleted", pc.if_else(own_replaced, now, table["deleted"]))
        rest = _distinct(marked.filter(pc.invert(own_gone)))
        yield _Merge(place, files.paths, rest, len(rest) < len(table) or bool(pc.any(own_replaced).as_py()))


def _distinct(descriptors: pa.Table) -> pa.Table:
    """Return descriptors without repetitions: of those that differ at most in the time of deletion, the first one."""
    if pc.count_distinct(descriptors["path"], mode="all").as_py() == len(descriptors):
        return descriptors
    keys = [name for name in (*_COLUMNS, "exact") if name != "deleted"]
    marked = descriptors.append_column("is_deleted", pc.is_valid(descriptors["deleted"]))
    found = marked.group_by([*keys, "is_deleted"], use_threads=False).aggregate([("deleted", "min")])
    return found.append_column("deleted", found["deleted_min"]).select([*_COLUMNS, "exact"])


def _run(store: LakeStore, merge: _Merge, limit: int) -> int:
    """Write the new index files, remove the old ones, and return the number of new files."""
    place = f"{store.uri}/{merge.place}"
    # Old files go once the new ones are complete: a reader in between finds descriptors twice, which agree [QLK-CP-4].
    written = _write(store, place, merge.descriptors)
    present = {f"{merge.place}/{entry.name}" for entry in store.storage.list(place) if entry.modified < limit}
    # a file that another writer has changed meanwhile stays, with its descriptors twice
    store.storage.remove(f"{store.uri}/{path}" for path in merge.paths if path in present)
    return written


def _write(store: LakeStore, place: str, table: pa.Table) -> int:
    """Write descriptors into index files, and return the number of files."""
    count = 0
    ordered = table.sort_by([("partition", "ascending"), ("first", "ascending")])
    for exact in (True, False):
        own = ordered.filter(pc.equal(ordered["exact"], exact))
        for start in range(0, len(own), _MAX_ROWS):
            part = own.slice(start, _MAX_ROWS)
            columns = [part[name].cast(field.type) for name, field in zip(_COLUMNS, DOCUMENT, strict=True)]
            _put(store, place, part, describe(pa.table(columns, DOCUMENT), exact=exact))
            count += 1
    return count


def _put(store: LakeStore, place: str, part: pa.Table, data: bytes) -> None:
    """Write an index file under a name that no writer gives to a file of its own, which it would rewrite in place."""
    partition = part["partition"][0].as_py() or 0
    for _ in range(_ATTEMPTS):
        # Other writers number their files by offsets: 56 random bits avoid their numbers [QLK-CP-4].
        number = uuid.uuid4().int >> 72
        if store.storage.put_if_absent(f"{place}/index_raw_{partition}_{number}.parquet", data):
            return
    raise StorageError("cannot write merged descriptors", where=place, found="no free name")
