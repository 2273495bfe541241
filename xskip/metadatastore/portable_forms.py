"""Storage forms that a reader without knowledge of xskip does not misread. Rules: [MDS-F].

Another program takes a null list for a list without values and skips the data file. It treats a list that contains NULL
as unknown, because no SQL comparison with this list is certain. It takes null bounds for bounds without values, and the
format has no form for unknown bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.table import IndexColumn, IndexDefinition
from xskip.metadatastore.schema import FileSchema, IndexField
from xskip.metadatastore.versions import VersionRules, WriteOptions
from xskip.types.datatypes import Array, Storage
from xskip.types.masks import from_mask

__all__ = ["field_of", "is_list", "is_portable", "list_from_file", "list_to_file", "portability_of"]

#: The footer entry that marks a file as safe for other programs.
_KEY, _VALUE = b"io.xskip.wording", b"2"


def field_of(column: IndexColumn, write_options: WriteOptions, rules: VersionRules) -> IndexField:
    """Return the column of a metadata file that holds an index, under a name that others do not misread [MDS-F-8]."""
    definition = column.definition
    name = rules.column_name(write_options.written(definition))
    return IndexField(name, definition, column.storage, write_options.has_own_name(definition))


def is_portable(
    schema: FileSchema, footer: Mapping[bytes, bytes] | None, write_options: WriteOptions | None = None
) -> bool:
    """Return whether no other program can misread a file, by the key-value metadata of its footer [MDS-F-9].

    With ``write_options``, the file must also name its indexes as these options do.
    """
    same = None if write_options is None else replace(write_options, version=schema.version)
    named = same is None or all(index.is_own == same.has_own_name(index.definition) for index in schema.indexes)
    return named and (footer or {}).get(_KEY) == _VALUE


def portability_of(columns: Iterable[IndexColumn], write_options: WriteOptions) -> dict[bytes, bytes]:
    """Return the footer entry that marks a file as safe for other programs [MDS-F-9].

    The entry is empty if an index under the format's name has unknown bounds.
    """
    unknown = (
        column.definition.name == "minmax"
        and column.values.null_count
        and not write_options.has_own_name(column.definition)
        for column in columns
    )
    # No other program reads version 0.
    return {} if write_options.version > 0 and any(unknown) else {_KEY: _VALUE}


def is_list(definition: IndexDefinition, storage: Storage) -> bool:
    """Return whether an index is a value list in the form that the format defines."""
    return definition.name == "valuelist" and isinstance(storage, Array)


def list_to_file(lists: pa.Array) -> pa.Array:
    """Convert value lists to their form in a file: an unknown list becomes ``[NULL]``.

    >>> list_to_file(pa.array([[1], None, []])).to_pylist()
    [[1], [None], []]
    """
    lists = _with_both_zeros(lists)
    if not lists.null_count:
        return lists
    unknown = pa.array([[None]], lists.type)
    source = pa.concat_arrays([lists, unknown])
    places = np.where(lists.is_null().to_numpy(zero_copy_only=False), len(lists), np.arange(len(lists)))
    return source.take(pa.array(places, pa.int64()))


def list_from_file(lists: pa.Array) -> pa.Array:
    """Convert value lists to their form in memory: a list that contains NULL becomes null.

    >>> list_from_file(pa.array([[1], [None], [], [2, None], None])).to_pylist()
    [[1], None, [], None, None]
    """
    flat = lists.flatten()
    if not flat.null_count:
        return lists
    ends = np.concatenate(([0], np.cumsum(flat.is_null().to_numpy(zero_copy_only=False))))
    starts, stops = _spans(lists)
    # The number of nulls up to the end of a list exceeds that up to its start if a null is inside.
    return pc.if_else(from_mask(ends[stops] > ends[starts]), pa.scalar(None, lists.type), lists)


def _spans(lists: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the start and the end of each list among the flattened values; a null list is empty."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    stops = np.cumsum(lengths)
    return stops - lengths, stops


def _with_both_zeros(lists: pa.Array) -> pa.Array:
    """Return lists in which a zero of either sign comes with the other."""
    kind = lists.type.value_type
    if not pa.types.is_floating(kind):
        return lists
    # Programs compare the members of lists bit by bit, but in SQL the zeros are equal.
    flat = lists.flatten()
    values = flat.fill_null(1).to_numpy(zero_copy_only=False)
    zero = values == 0
    if not zero.any():
        return lists
    starts, stops = _spans(lists)
    counts = np.concatenate(([0], np.cumsum(zero)))
    has_zero = counts[stops] > counts[starts]
    # each list keeps the order of its other values; a list that contained a zero ends with both zeros
    own = np.repeat(np.arange(len(lists)), stops - starts)[~zero]
    added = np.repeat(np.flatnonzero(has_zero), 2)
    rest = pa.array(np.flatnonzero(~zero), pa.int64())
    zeros = pa.array(np.tile(np.array([0.0, -0.0]), int(has_zero.sum())), kind)
    order = np.argsort(np.concatenate((own, added)), kind="stable")
    merged = pa.concat_arrays([flat.take(rest), zeros]).take(pa.array(order, pa.int64()))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(np.concatenate((own, added)), minlength=len(lists)))))
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), merged, mask=mask).cast(lists.type)
