"""The limits of metadata that another program has written. Rules: [MDS-F].

Another program does not record how it read the data files. So xskip uses its metadata only if data files contain their
types and a query reads the files with Spark's defaults. Statistics with known errors of that program are removed first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from xskip.hints import Call, Words, joined
from xskip.metadata.read_profile import ReadProfile, differences
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.types.datatypes import INTEGRAL, Storage, Struct

__all__ = ["drop_unproven", "may_be_of_footers", "reason_unusable"]

#: The formats whose files contain the types of their columns.
_TYPED = ("parquet", "avro")
_OF_FOOTERS = (*INTEGRAL, "float", "double")
# the orders of UTF-16 units and of code points differ here: surrogates sort before U+E000 to U+FFFF only in UTF-16
_SUPPLEMENTARY = "[\U00010000-\U0010ffff]"
_BEHIND_SURROGATES = "[\ue000-\uffff]"
_REFRESH = Call("refresh")
_IS_OF_FOOTERS = Words(
    "the bounds may be unverified statistics that another program took from Parquet footers; {}", _REFRESH
)
_ORDERED_OTHERWISE = Words("another program orders byte arrays differently from Spark; {}", _REFRESH)


def reason_unusable(profile: ReadProfile) -> str:
    """Return why a query cannot use metadata of another program; an empty text if it can [MDS-F-1]."""
    if profile.format not in _TYPED:
        what = "another program built the index and did not record how it read {}; {}"
        return Words(what, profile.format, _REFRESH)
    return joined("; ", differences(ReadProfile.of(profile.format, {}, {}), profile, but_zone=True))


def may_be_of_footers(fmt: str, indexes: Iterable[tuple[IndexDefinition, Storage]]) -> bool:
    """Return whether the bounds of a metadata file can be unverified statistics of Parquet footers [MDS-F-3]."""
    return fmt == "parquet" and all(
        index.name == "minmax" and isinstance(storage, Struct) and storage.fields[0][1] in _OF_FOOTERS
        for index, storage in indexes
    )


def drop_unproven(table: MetadataTable, *, footers: bool) -> MetadataTable:
    """Return the metadata without statistics that prove nothing [MDS-F-2] [MDS-F-3].

    ``footers`` is the result of :func:`may_be_of_footers`.
    """
    return replace(table, indexes={key: _proved(column, footers=footers) for key, column in table.indexes.items()})


def _proved(column: IndexColumn, *, footers: bool) -> IndexColumn:
    if column.definition.name != "minmax" or not isinstance(column.storage, Struct):
        return column
    kind = column.storage.fields[0][1]
    values = column.values
    low, high = (pc.struct_field(values, side) for side in (0, 1))
    unknown = values.is_null()
    if kind == "string":
        empty = pc.and_(low.is_null(), high.is_null())
        low, high = _cut_before_supplementary(low), _without_private(high)
        # two null bounds would mean that the data file has no value
        unknown = pc.or_(unknown, pc.and_not(pc.and_(low.is_null(), high.is_null()), empty))
    doubt = _ORDERED_OTHERWISE if kind == "binary" else _IS_OF_FOOTERS if footers and kind in _OF_FOOTERS else ""
    if doubt:
        unknown = pa.array([True] * len(values), pa.bool_())
    fields = list(values.type)
    proven = pa.StructArray.from_arrays([low, high], fields=fields, mask=unknown)
    return replace(column, values=proven, doubt=doubt)


def _cut_before_supplementary(low: pa.Array) -> pa.Array:
    """Return lower bounds that also hold in the order of code points."""
    # Let m be the least string by UTF-16 units, and p the part of m before its first supplementary character. If
    # another string s differs from m inside p, both orders agree, because m has no surrogate there. Otherwise s begins
    # with p. In either case p <= s.
    return pc.replace_substring_regex(low, "(?s)" + _SUPPLEMENTARY + ".*", "")


def _without_private(high: pa.Array) -> pa.Array:
    """Return upper bounds that also hold in the order of code points; null if there is no such bound."""
    # If the greatest string by UTF-16 units differs from a lesser string at a unit below U+E000, both orders agree.
    doubtful = pc.match_substring_regex(high, _BEHIND_SURROGATES)
    return pc.if_else(pc.fill_null(doubtful, False), pa.scalar(None, high.type), high)
