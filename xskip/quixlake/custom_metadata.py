"""Custom metadata of stream keys: names with values, of which the latest count. Rules: [QLK-CM]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["CURRENT", "current_values", "keys_of_topic", "keys_with", "rows_of"]

_TIME = pa.timestamp("us", "UTC")
#: The columns of a file of custom metadata as the document defines them.
DOCUMENT = pa.schema(
    [
        ("Topic", pa.string()),
        ("Key", pa.string()),
        ("MetadataKey", pa.string()),
        ("MetadataValue", pa.string()),
        ("DeleteFlag", pa.string()),
        ("UpdatedUtc", _TIME),
    ]
)
_NAMES = {name.lower(): name for name in DOCUMENT.names}
#: The columns of current values.
CURRENT = pa.schema(
    [("topic", pa.string()), ("stream_key", pa.string()), ("name", pa.string()), ("value", pa.string()),
     ("updated", _TIME)]
)  # fmt: skip


def rows_of(table: pa.Table) -> pa.Table | None:
    """Return the rows of a file of custom metadata in the columns of the document, or None if it has no names."""
    # Column names are matched without regard to case and to underscores.
    named = [_NAMES.get(name.replace("_", "").lower(), "") for name in table.column_names]
    found = {name: at for at, name in reversed([*enumerate(named)])}  # the first column of a name counts
    if "MetadataKey" not in found:
        return None
    columns = []
    for field in DOCUMENT:
        values = table.column(found[field.name]) if field.name in found else pa.nulls(len(table), field.type)
        columns.append(_text(values) if field.type == pa.string() else _times(values))
    return pa.table(columns, DOCUMENT)


def _text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        # A flag can be boolean, and a value a number.
        return values.cast(pa.string())
    except pa.ArrowException:
        return pa.nulls(len(values), pa.string())


def _times(values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        # Integers are milliseconds since the Unix epoch.
        return (values.cast(pa.timestamp("ms")) if pa.types.is_integer(values.type) else values).cast(_TIME, safe=False)
    except pa.ArrowException:
        return pa.nulls(len(values), _TIME)


def current_values(rows: pa.Table) -> pa.Table:
    """Return the value of each name that is not deleted, in the order of topic, stream key and name [QLK-CM-3]."""
    rows = rows.filter(pc.is_valid(rows["MetadataKey"]))
    flags = pc.fill_null(pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(rows["DeleteFlag"])), "true"), False)
    # A null time is less than all others [QLK-CM-1].
    times = pc.fill_null(rows["UpdatedUtc"].cast(pa.int64()), np.iinfo(np.int64).min)
    rows = rows.append_column("is_deleted", flags.cast(pa.int8())).append_column("time", times)
    places = [("Topic", "ascending"), ("Key", "ascending"), ("MetadataKey", "ascending")]
    # the last row of a name counts; in Arrow's order null is the greatest value, so that texts need a rank of their own
    rows = rows.append_column("has_value", pc.is_valid(rows["MetadataValue"]).cast(pa.int8()))
    # At the same time, a row that deletes wins, and then the greatest value [QLK-CM-2].
    ranks = [(column, "ascending") for column in ("time", "is_deleted", "has_value", "MetadataValue")]
    rows = rows.take(pc.sort_indices(rows, sort_keys=[*places, *ranks])).combine_chunks()
    last = _ends(rows.select(["Topic", "Key", "MetadataKey"]))
    rows = rows.filter(pa.array(last & ~rows["is_deleted"].to_numpy().astype(bool)))
    return pa.table([rows[n] for n in ("Topic", "Key", "MetadataKey", "MetadataValue", "UpdatedUtc")], CURRENT)


def _ends(places: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for each row of a sorted table whether the next row differs."""
    differs = np.zeros(max(len(places) - 1, 0), np.bool_)
    for column in places.columns:
        codes = pc.dictionary_encode(column, null_encoding="encode").combine_chunks().indices.to_numpy()
        differs |= codes[1:] != codes[:-1]
    return np.append(differs, np.ones(min(len(places), 1), np.bool_))


def keys_with(current: pa.Table, condition: Mapping[str, str | Iterable[str]]) -> set[tuple[str | None, str | None]]:
    """Return the topics and stream keys whose metadata satisfy a condition [QLK-CM-5].

    A condition has the value of each name, or the values of which the name has one. All names must fit.
    """
    fitting: set[tuple[str | None, str | None]] | None = None
    for name, wanted in condition.items():
        values = [wanted] if isinstance(wanted, str) else list(wanted)
        hit = pc.and_(pc.equal(current["name"], name), pc.is_in(current["value"], pa.array(values, pa.string())))
        rows = current.filter(hit)
        keys = set(zip(rows["topic"].to_pylist(), rows["stream_key"].to_pylist(), strict=True))
        fitting = keys if fitting is None else fitting & keys
    return fitting or set()


def keys_of_topic(
    current: pa.Table,
    topic: str | None,
    condition: Mapping[str, str | Iterable[str]],
    keys: frozenset[str | None] | None = None,
) -> frozenset[str | None]:
    """Return the stream keys of a topic, or those among ``keys``, whose metadata satisfy a condition [QLK-CM-5]."""
    found = frozenset(key for place, key in keys_with(current, condition) if place == topic)
    return found if keys is None else found & keys
