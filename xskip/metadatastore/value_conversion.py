"""The conversion of index values from their form in a metadata file to their form in memory."""

from __future__ import annotations

import pyarrow as pa

from xskip.errors import MetadataCorruptError
from xskip.metadatastore.legacy import java_bloom
from xskip.types.datatypes import Bloom, Storage, arrow_type

__all__ = ["from_file", "same_values"]


def from_file(storage: Storage, values: pa.Array) -> pa.Array:
    """Convert a column of index values, as Arrow reads it from a file, to the Arrow type of ``storage``.

    A Bloom filter that cannot be parsed becomes null. Values of another type raise ArrowInvalid.
    """
    if isinstance(storage, Bloom):
        streams = values.cast(pa.binary()).to_pylist()
        filters = {stream: _unwrapped(stream) for stream in dict.fromkeys(streams)}  # parse equal streams once
        return pa.array([filters[stream] for stream in streams], pa.binary())
    target = arrow_type(storage)
    if not same_values(values.type, target):
        raise pa.ArrowInvalid(f"the values have the type {values.type} instead of {target}")
    return values.cast(target)


def same_values(kind: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a cast between two Arrow types preserves all values."""
    # Arrow also casts between other types. It then guesses values, and fills missing struct fields with null.
    if pa.types.is_struct(target):
        fields = [target.field(i) for i in range(target.num_fields)]
        return bool(pa.types.is_struct(kind)) and [(f.name, True) for f in fields] == [
            (f.name, same_values(f.type, wanted.type))
            for f, wanted in zip([kind.field(i) for i in range(kind.num_fields)], fields, strict=False)
        ]
    if pa.types.is_list(target):
        return bool(pa.types.is_list(kind)) and same_values(kind.value_type, target.value_type)
    if pa.types.is_timestamp(target):
        return bool(pa.types.is_timestamp(kind) and kind.unit == target.unit)
    return bool(kind == target)


def _unwrapped(stream: bytes | None) -> bytes | None:
    """Return the filter in a stream; None if the stream cannot be parsed, so that the data file is read."""
    if stream is None:
        return None
    try:
        return java_bloom.unwrap(stream)
    except MetadataCorruptError:
        return None
