"""Word what is known so that a reader that knows nothing of xskip takes it for no more. Rules: [MDS-F].

Another program takes a null list for one without values and skips the object. A list that holds NULL is unknown to it:
in SQL nothing is certain of such a list. It takes null bounds in the same way, and has no word for unknown ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.evaluate import from_mask
from xskip.metadata.table import IndexColumn, IndexDefinition
from xskip.metadatastore.schema import FileSchema, IndexField
from xskip.metadatastore.versions import VersionRules, WriteOptions
from xskip.types.datatypes import Array, Storage

__all__ = ["field_of", "is_list", "is_worded", "list_from_file", "list_to_file", "wording_of"]

#: The footer entry of a file that no other program can misread.
_KEY, _VALUE = b"io.xskip.wording", b"2"


def field_of(column: IndexColumn, form: WriteOptions, rules: VersionRules) -> IndexField:
    """Return the column of a file that holds an index, named so that others do not misread it [MDS-F-8]."""
    definition = column.definition
    name = rules.column_name(form.written(definition))
    return IndexField(name, definition, column.storage, form.has_own_name(definition))


def is_worded(schema: FileSchema, footer: Mapping[bytes, bytes] | None, form: WriteOptions | None = None) -> bool:
    """Return whether no other program can misread a file, and a form names its indexes as the file does [MDS-F-9]."""
    same = None if form is None else replace(form, version=schema.version)
    named = same is None or all(index.is_own == same.has_own_name(index.definition) for index in schema.indexes)
    return named and (footer or {}).get(_KEY) == _VALUE


def wording_of(columns: Iterable[IndexColumn], form: WriteOptions) -> dict[bytes, bytes]:
    """Return the footer entry of a file, or nothing where bounds under the format's name are not known [MDS-F-9]."""
    unknown = (
        column.definition.name == "minmax" and column.values.null_count and not form.has_own_name(column.definition)
        for column in columns
    )
    return {} if form.version > 0 and any(unknown) else {_KEY: _VALUE}


def is_list(definition: IndexDefinition, storage: Storage) -> bool:
    """Return whether an index is a value list as the format has it."""
    return definition.name == "valuelist" and isinstance(storage, Array)


def list_to_file(lists: pa.Array) -> pa.Array:
    """Return lists as files hold them: an unknown one is ``[NULL]``, one with a zero has both.

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
    """Return lists as they are in memory: null where a list holds NULL.

    >>> list_from_file(pa.array([[1], [None], [], [2, None], None])).to_pylist()
    [[1], None, [], None, None]
    """
    flat = lists.flatten()
    if not flat.null_count:
        return lists
    ends = np.concatenate(([0], np.cumsum(flat.is_null().to_numpy(zero_copy_only=False))))
    starts, stops = _spans(lists)
    return pc.if_else(from_mask(ends[stops] > ends[starts]), pa.scalar(None, lists.type), lists)


def _spans(lists: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where each list starts and ends among the values of all; a null list is empty."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    stops = np.cumsum(lengths)
    return stops - lengths, stops


def _with_both_zeros(lists: pa.Array) -> pa.Array:
    """Return lists in which 0.0 never stands without -0.0: programs compare list members bit by bit."""
    kind = lists.type.value_type
    if not pa.types.is_floating(kind):
        return lists
    flat = lists.flatten()
    values = flat.fill_null(1).to_numpy(zero_copy_only=False)
    zero = values == 0
    if not zero.any():
        return lists
    starts, stops = _spans(lists)
    counts = np.concatenate(([0], np.cumsum(zero)))
    has_zero = counts[stops] > counts[starts]
    # each list keeps its other values in their order, and ends with both zeros where it had one
    own = np.repeat(np.arange(len(lists)), stops - starts)[~zero]
    added = np.repeat(np.flatnonzero(has_zero), 2)
    rest = pa.array(np.flatnonzero(~zero), pa.int64())
    zeros = pa.array(np.tile(np.array([0.0, -0.0]), int(has_zero.sum())), kind)
    order = np.argsort(np.concatenate((own, added)), kind="stable")
    merged = pa.concat_arrays([flat.take(rest), zeros]).take(pa.array(order, pa.int64()))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(np.concatenate((own, added)), minlength=len(lists)))))
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), merged, mask=mask).cast(lists.type)
