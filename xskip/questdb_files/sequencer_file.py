"""The file ``txn_seq/_txnlog``: the time at which a table with a write-ahead log was created. Rules: [QDB-FI]."""

from __future__ import annotations

import struct

from xskip.questdb_files.snapshot import TablePlace

__all__ = ["read_creation"]

_HEADER = struct.Struct("<iqq")
_VERSIONS = (0, 1)


def read_creation(place: TablePlace) -> int | None:
    """Return the time at which a table was created, in microseconds, or None if its files do not have it [QDB-FI-6]."""
    # tables without a write-ahead log do not have the file, and those of old servers do not have the time
    try:
        with (place.data / "txn_seq" / "_txnlog").open("rb") as file:
            data = file.read(_HEADER.size)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(data) < _HEADER.size:
        return None
    version, _, created = _HEADER.unpack(data)
    return int(created) if version in _VERSIONS and created > 0 else None
