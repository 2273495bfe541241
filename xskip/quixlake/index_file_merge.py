"""The merging of index files: those of a stream key become few, without descriptors of no use. Rules: [QLK-CP-4]."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import StorageError
from xskip.quixlake.descriptors import DOCUMENT, describe
from xskip.quixlake.names import METADATA, topic_folder
from xskip.quixlake.store import LakeStore

__all__ = ["merge_index_files"]

_MOST_ROWS = 1_000
_ATTEMPTS = 10
#: The columns of descriptors in memory, in the order of the columns of the document.
_COLUMNS = (
    "path", "topic", "stream_key", "partition", "start", "end", "first", "last", "rows", "size", "created", "deleted",
)  # fmt: skip


def merge_index_files(store: LakeStore, topic: str, limit: int, gone: Sequence[str] = ()) -> tuple[int, int]:
    """Merge the old index files of each stream key.

    New index files are complete before old ones are removed: a reader in between finds descriptors twice, which agree.

    Parameters
    ----------
    store : LakeStore
    topic : str
    limit : int
        The time in milliseconds before which an index file must have changed last to be merged.
    gone : sequence of str
        Paths of segments that were removed, relative to the base. Their descriptors are left out.

    Returns
    -------
    tuple of (int, int)
        The number of index files that were merged, and the number that hold their descriptors now.
    """
    folder = topic_folder(METADATA, topic)
    replaced = store.compacted([folder.partition("/")[2]]).paths
    merged = written = 0
    for place, files in store.old_index_files(folder.partition("/")[2], limit).items():
        table = files.descriptors
        is_gone = pc.is_in(table["below"], pa.array(gone, pa.string()))
        is_replaced = pc.and_(pc.is_in(table["below"], replaced), pc.is_null(table["deleted"]))
        has_news = pc.any(is_gone).as_py() or pc.any(is_replaced).as_py()
        if len(files.paths) < 2 and not has_news:
            continue
        if -(-len(table) // _MOST_ROWS) >= len(files.paths) and not has_news:
            continue
        now = pa.scalar(datetime.now(timezone.utc), DOCUMENT.field("DeletedAt").type)
        position = table.schema.get_field_index("deleted")
        table = table.set_column(position, "deleted", pc.if_else(is_replaced, now, table["deleted"]))
        written += _write(store, f"{store.uri}/{place}", table.filter(pc.invert(is_gone)))
        merged += len(files.paths)
        present = store.old_index_files(folder.partition("/")[2], limit).get(place)
        # a file that another writer has changed meanwhile stays, with its descriptors twice
        same = set(files.paths) & set(present.paths if present else ())
        store.storage.remove(f"{store.uri}/{path}" for path in sorted(same))
    return merged, written


def _write(store: LakeStore, place: str, table: pa.Table) -> int:
    """Write descriptors into index files, and return the number of files."""
    count = 0
    ordered = table.sort_by([("partition", "ascending"), ("first", "ascending")])
    for exact in (True, False):
        own = ordered.filter(pc.equal(ordered["exact"], exact))
        for start in range(0, len(own), _MOST_ROWS):
            part = own.slice(start, _MOST_ROWS)
            columns = [part[name].cast(field.type) for name, field in zip(_COLUMNS, DOCUMENT, strict=True)]
            _put(store, place, part, describe(pa.table(columns, DOCUMENT), exact=exact))
            count += 1
    return count


def _put(store: LakeStore, place: str, part: pa.Table, data: bytes) -> None:
    partition, first = (part[name][0].as_py() or 0 for name in ("partition", "first"))
    for number in (first, *(uuid.uuid4().int >> 72 for _ in range(_ATTEMPTS))):
        if store.storage.put_if_absent(f"{place}/index_raw_{partition}_{number}.parquet", data):
            return
    raise StorageError("cannot write merged descriptors", where=place, found="no free name")
