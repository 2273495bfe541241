"""The writing of custom metadata. Rules: [QLK-CM-4]."""

from __future__ import annotations

import datetime
import io
import uuid
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from xskip.errors import PredicateError, StorageError
from xskip.quixlake.arguments import check_key
from xskip.quixlake.custom_metadata import DOCUMENT
from xskip.quixlake.names import METADATA, folder
from xskip.quixlake.store import LakeStore

__all__ = ["delete_names", "write_values"]


def write_values(store: LakeStore, topic: str, key: str | None, values: Mapping[str, str]) -> None:
    """Write a file that sets custom metadata of a stream key."""
    for name, value in values.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise PredicateError("custom metadata is not text", found=f"{name!r}: {value!r}")
    _write(store, topic, key, values)


def delete_names(store: LakeStore, topic: str, key: str | None, names: Iterable[str]) -> None:
    """Write a file that deletes names of custom metadata of a stream key."""
    _write(store, topic, key, dict.fromkeys(names))


def _write(store: LakeStore, topic: str, key: str | None, values: Mapping[str, str | None]) -> None:
    """Write a file of custom metadata; the value None deletes a name."""
    check_key(key)
    folders = store.folders_of(topic)
    now = max(datetime.datetime.now(datetime.timezone.utc), _latest(store, folders, key))
    rows = [(topic, key, name, value, str(value is None), now) for name, value in values.items()]
    table = pa.Table.from_pylist([dict(zip(DOCUMENT.names, row, strict=True)) for row in rows], DOCUMENT)
    data = io.BytesIO()
    pq.write_table(table, data)
    path = f"{store.uri}/{METADATA}/{folders[0]}/{folder('Key', key)}/metadata_{uuid.uuid4().hex}.parquet"
    if rows and not store.storage.put_if_absent(path, data.getvalue()):
        raise StorageError("a file of custom metadata exists already", where=path, hint="call again")


def _latest(store: LakeStore, folders: list[str], key: str | None) -> datetime.datetime:
    """Return a time after that of every row of a stream key."""
    rows = store.custom_rows(folders)
    own = rows.filter(pc.equal(rows["Key"], key) if key is not None else pc.is_null(rows["Key"]))
    greatest = pc.max(own["UpdatedUtc"]).as_py()
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return epoch if greatest is None else greatest + datetime.timedelta(microseconds=1)
