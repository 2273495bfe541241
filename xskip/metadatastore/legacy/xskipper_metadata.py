"""What metadata proves that another program has written. Rules: specs/metadatastore.rst, [MDS-F].

Such metadata does not say how the files were read, so it is used only where files carry their own types and a query
reads them as Spark does by default; and what that program is known to get wrong is taken out before it is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.read_profile import ReadProfile, differences
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.types.datatypes import INTEGRAL, Storage, Struct

__all__ = ["may_be_of_footers", "not_usable", "proved"]

#: Formats whose files carry their own types.
_TYPED = ("parquet", "avro")
_OF_FOOTERS = (*INTEGRAL, "float", "double")
# where the orders of UTF-16 units and of code points part: surrogates stand before U+E000 to U+FFFF in one alone
_SUPPLEMENTARY = "[\U00010000-\U0010ffff]"
_BEHIND_SURROGATES = "[\ue000-\uffff]"
_IS_OF_FOOTERS = (
    "another program may have taken the bounds from Parquet footers, which prove nothing; refresh() reads the data"
)
_ORDERED_OTHERWISE = "another program orders byte arrays in another way than Spark; refresh() reads the data"


def not_usable(asked: ReadProfile) -> str:
    """Why a query cannot use metadata of another program, or nothing [MDS-F-1].

    >>> not_usable(Reading.of("csv", {}, {}, ""))
    'another program made the index and did not record how it read csv; call refresh()'
    """
    if asked.format not in _TYPED:
        return f"another program made the index and did not record how it read {asked.format}; call refresh()"
    return "; ".join(differences(ReadProfile.of(asked.format, {}, {}, ""), asked, but_zone=True))


def may_be_of_footers(fmt: str, indexes: Iterable[tuple[IndexDefinition, Storage]]) -> bool:
    """Can the bounds of a metadata file be what Parquet's footers say, taken at their word [MDS-F-3]."""
    return fmt == "parquet" and all(
        index.name == "minmax" and isinstance(storage, Struct) and storage.fields[0][1] in _OF_FOOTERS
        for index, storage in indexes
    )


def proved(table: MetadataTable, *, footers: bool) -> MetadataTable:
    """The same metadata without what proves nothing [MDS-F-2] [MDS-F-3].

    Parameters
    ----------
    table : MetadataTable
    footers : bool
        The answer of :func:`may_be_of_footers`.
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
        # two nulls would say that there is no value
        unknown = pc.or_(unknown, pc.and_not(pc.and_(low.is_null(), high.is_null()), empty))
    doubt = _ORDERED_OTHERWISE if kind == "binary" else _IS_OF_FOOTERS if footers and kind in _OF_FOOTERS else ""
    if doubt:
        unknown = pa.array([True] * len(values), pa.bool_())
    fields = list(values.type)
    proven = pa.StructArray.from_arrays([low, high], fields=fields, mask=unknown)
    return replace(column, values=proven, doubt=doubt)


def _cut_before_supplementary(low: pa.Array) -> pa.Array:
    """A lower bound that holds in the order of code points, too.

    Let m be least by UTF-16 units, and p what is before its first supplementary character. Where another string differs
    from m inside p, both orders agree, for m has no surrogate there; where it does not, it begins with p. So p <= s.
    """
    return pc.replace_substring_regex(low, "(?s)" + _SUPPLEMENTARY + ".*", "")


def _without_private(high: pa.Array) -> pa.Array:
    """An upper bound that holds in the order of code points, too; null where there is none.

    Where the greatest string by UTF-16 units differs from a lesser one at a unit below U+E000, both orders agree.
    """
    doubtful = pc.match_substring_regex(high, _BEHIND_SURROGATES)
    return pc.if_else(pc.fill_null(doubtful, False), pa.scalar(None, high.type), high)
