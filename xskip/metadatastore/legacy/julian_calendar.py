"""The removal of old dates and times that writers with the Julian calendar have stored. Rules: [MDS-T-9]."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa

from xskip.metadatastore.legacy.java_values import AGREED_MS, as_numbers
from xskip.types.datatypes import Array, Storage, Struct

__all__ = ["SPARK_VERSION", "mask_legacy_dates"]

#: The footer entry with the Spark version that wrote a file.
SPARK_VERSION = b"org.apache.spark.version"
_LEGACY, _LEGACY_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
_GREGORIAN_DAYS = -141_427  # 1582-10-15


def mask_legacy_dates(values: pa.Array, storage: Storage, footer: Mapping[bytes, bytes]) -> pa.Array:
    """Return bounds or value lists without the rows that contain an old date or time of a Julian writer [MDS-T-9].

    Such rows become null. ``footer`` has the key-value metadata of the file's footer.
    """
    kinds = {kind for _, kind in storage.fields} if isinstance(storage, Struct) else set()
    kind = storage.element if isinstance(storage, Array) else next(iter(kinds), "")
    first = {"date": _GREGORIAN_DAYS, "timestamp": AGREED_MS * 1000}.get(kind)
    if first is None or not _is_old(footer, kind):
        return values
    rows = as_numbers(values, kind).to_pylist()
    members = [row.values() if isinstance(row, dict) else row or () for row in rows]
    held = [all(member is None or member >= first for member in row) for row in members]
    return values.take(pa.array([i if known else None for i, known in enumerate(held)], pa.int64()))


def _is_old(entries: Mapping[bytes, bytes], kind: str) -> bool:
    """Return whether a writer used the Julian calendar, by the writer's version and its mark, as Spark decides."""
    version = tuple(int(part) for part in re.findall(rb"\d+", entries.get(SPARK_VERSION, b""))[:2])
    if kind == "timestamp" and (version < (3, 1) or _LEGACY_INT96 in entries):
        return True
    return version < (3, 0) or _LEGACY in entries
