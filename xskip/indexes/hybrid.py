"""The index type Hybrid: the distinct values of a column per file, or a Bloom filter for a file with many values.

Rules: specs/pruning.rst, [PRU-HY]. Exactly one field of a struct is null: the list or the filter. A null struct means
that nothing is known of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask, Verdicts
from xskip.clauses.index_clause import ColumnClause, Memo
from xskip.expressions.predicate import Leaf
from xskip.indexes.accumulator import Accumulator
from xskip.indexes.argument_checks import check_at_least_one, check_rate
from xskip.indexes.base import OneColumn, Parameter
from xskip.indexes.bloomfilter import BloomFilter
from xskip.indexes.omissions import filters_omit, lists_omit, values_pass
from xskip.indexes.valuelist import ValueList
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Array, Bloom, Storage, Struct, arrow_type, element_of

__all__ = ["Hybrid", "HybridClause"]


@dataclass(frozen=True, slots=True)
class Hybrid(OneColumn):
    """An index of value lists for files with few distinct values, and of Bloom filters for files with many.

    Parameters
    ----------
    column : str
        A column, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    max_values : int
        The maximum length of a list, at least 1. A file with more distinct values has a filter.
    fpp : float
        The probability that a filter reports a value that its file lacks, between 0 and 1.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Whether ``column`` is an SQL expression such as ``size(tags)``, which queries must contain in the same form.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path, or ``max_values`` or ``fpp`` is out of range.

    Examples
    --------
    >>> Hybrid("device", max_values=100).params
    (('io.xskip.index.hybrid.maxvalues', '100'), ('io.xskip.index.hybrid.fpp', '0.01'))
    """

    max_values: int = 256
    fpp: float = 0.01
    name: ClassVar[str] = "hybrid"
    of_elements: ClassVar[bool] = True
    keeps_values: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("max_values", "io.xskip.index.hybrid.maxvalues", int, is_always_recorded=True),
        Parameter("fpp", "io.xskip.index.hybrid.fpp", float, is_always_recorded=True),
    )

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        check_at_least_one(self, "max_values")
        check_rate(self, self.fpp)

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulators of at most ``max_values`` distinct values and of filters."""
        return (Accumulator("values", self.max_values), Accumulator("hashes", fpp=self.fpp))

    @property
    def _filter(self) -> BloomFilter:
        return BloomFilter(self.column, self.fpp, expression=self.expression)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return a struct of ``values``, an array of the column's type, and ``filter``, the bytes of Spark's filter."""
        # raises an error for a type that filters cannot hold
        self._filter.storage(types)
        return _storage(types[0])

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Combine the lists and the filters into one struct per file; the filter is null where the file has a list."""
        kind = arrow_type(_storage(types[0]))
        values = results[0].cast(kind[0].type)
        needed = [pc.if_else(values.is_valid(), pa.scalar(None, each.type), each) for each in results[1:]]
        filters = self._filter.assemble(needed, types)
        return pa.StructArray.from_arrays([values, filters], fields=list(kind))

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether a value is missing from the stored list or filter, see :meth:`OneColumn.omits`."""
        (lists, filters), (values, bits) = (
            (pc.struct_field(each, 0), pc.struct_field(each, 1)) for each in (stored, actual)
        )
        by_list = lists_omit(lists, values, self.max_values)
        # filters of other sizes are not comparable, but the filter must contain every value of a complete list
        by_filter = pc.if_else(values.is_valid(), values_pass(filters, values), filters_omit(filters, bits))
        found = pc.if_else(lists.is_valid(), by_list, pc.if_else(filters.is_valid(), by_filter, pa.scalar(False)))
        return pc.if_else(stored.is_valid(), found, pa.scalar(False))

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> HybridClause | None:
        """Return a clause over lists, and over filters where filters can answer the leaf, or None if lists cannot."""
        kind = definition.types[0] if definition.types else ""
        kind = element_of(kind) or kind
        if storage != _storage(kind):
            return None
        listed = ValueList(self.column, expression=self.expression).translate(leaf, definition, Array(kind))
        filtered = self._filter.translate(leaf, definition, Bloom())
        return None if listed is None else HybridClause(leaf, definition.key, listed, filtered, expensive=True)


def _storage(kind: str) -> Storage:
    return Struct((("values", f"array<{kind}>"), ("filter", "binary")))


@dataclass(frozen=True, slots=True)
class HybridClause(ColumnClause):
    """A clause that tests a leaf against the list of a file, or against the filter of a file without a list."""

    listed: ColumnClause
    #: The clause over the filters, or None if filters cannot answer the leaf.
    filtered: ColumnClause | None

    def verdicts(self, values: pa.Array, among: Mask, memo: Memo) -> Verdicts:
        """Return the verdict of a file's list, or else of its filter; null for a file with neither or both."""
        lists, filters = (pc.struct_field(values, i) for i in (0, 1))
        found = self.listed.verdicts(lists, among, memo)
        # a file with both contradicts the rules of the index: nothing of it counts [PRU-V-10]
        both = pc.and_(lists.is_valid(), filters.is_valid())
        if both.true_count:
            found = pc.if_else(both, pa.scalar(None, pa.bool_()), found)
        if self.filtered is None:
            return found
        # a list decides by itself, and its file has no filter to test
        left = among & lists.is_null().to_numpy(zero_copy_only=False)
        return pc.coalesce(found, self.filtered.verdicts(filters, left, memo))
