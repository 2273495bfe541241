"""The index type BloomFilter: a Bloom filter of a column's values per file.

Rules: specs/pruning.rst, [PRU-BF]. A filter answers only equality and IN, and proves only that a value is absent. A
filter is sized for the number of distinct values of its file, unless ``ndv`` fixes the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask, Verdicts
from xskip.clauses.index_clause import ColumnClause, Lists, Memo
from xskip.expressions.operands import Column
from xskip.expressions.predicate import Comparison, In, Leaf, Op, Value
from xskip.indexes.accumulator import Accumulator
from xskip.indexes.argument_checks import check_at_least_one, check_rate, unsupported
from xskip.indexes.base import OneColumn, Parameter
from xskip.indexes.omissions import filters_omit, values_pass
from xskip.indexes.valuelist import ValueList
from xskip.metadata.table import IndexDefinition
from xskip.types import bloom_bits
from xskip.types.datatypes import INTEGRAL, Bloom, Storage

__all__ = ["BloomFilter", "BloomFilterClause"]

_SERVED = ("string", "binary", *INTEGRAL, "date", "timestamp", "timestamp_ntz")
_MAX_VALUES = 1_000_000


@dataclass(frozen=True, slots=True)
class BloomFilter(OneColumn):
    """An index of Bloom filters of a column per file, for point lookups on columns with many values.

    Parameters
    ----------
    column : str
        A column, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    fpp : float
        The probability that a filter reports a value that its file lacks, between 0 and 1.
    ndv : int, optional
        The number of distinct values to size every filter for, at least 1. None sizes a filter for its file's values.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Whether ``column`` is an SQL expression such as ``size(tags)``, which queries must contain in the same form.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path, or ``fpp`` or ``ndv`` is out of range.

    Examples
    --------
    >>> BloomFilter("user_id", ndv=1000).params
    (('io.xskipper.index.bloom.ndv', '1000'), ('io.xskipper.index.bloom.fpp', '0.01'))
    """

    fpp: float = 0.01
    ndv: int | None = None
    name: ClassVar[str] = "bloomfilter"
    of_elements: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("ndv", "io.xskipper.index.bloom.ndv", int),
        Parameter("fpp", "io.xskipper.index.bloom.fpp", float, is_always_recorded=True),
    )

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        check_rate(self, self.fpp)
        if self.ndv is not None:
            check_at_least_one(self, "ndv")

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulator of filters."""
        return (Accumulator("hashes", self.ndv or 0, fpp=self.fpp),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return the storage type of Spark's Bloom filter."""
        if types[0] not in _SERVED:
            raise unsupported("BloomFilter", self.column, types[0], _SERVED)
        return Bloom()

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Return one filter per file, null for a file with neither a filter nor hashes."""
        hashes = results[0]
        filters = results[1] if len(results) > 1 else pa.nulls(len(hashes), pa.binary())
        # a file that a single task reads has the kernel's filter; a file that several tasks read has pairs of hashes,
        # because the filters of its parts cannot be merged
        missing = pc.and_(hashes.is_valid(), filters.is_null()).to_numpy(zero_copy_only=False)
        if not missing.any():
            return filters
        lists = Lists.of(hashes)
        pairs = lists.values.to_numpy(zero_copy_only=False).astype(np.int64)
        built: list[bytes | None] = [None] * len(hashes)
        for i in np.flatnonzero(missing):
            own = pairs[lists.starts[i] : lists.ends[i]]
            # a file without values has no pairs, and its filter contains nothing [PRU-BF-4]
            size = bloom_bits.size_for(len(own) if self.ndv is None else self.ndv, self.fpp)
            built[i] = bloom_bits.build(own, *size)
        return pc.coalesce(filters, pa.array(built, pa.binary()))

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether a value is missing from the stored filter, see :meth:`OneColumn.omits`.

        ``actual`` holds filters, or lists of all values as :meth:`exact` collects them.
        """
        return values_pass(stored, actual) if pa.types.is_list(actual.type) else filters_omit(stored, actual)

    def exact(self) -> OneColumn | None:
        """Return an index whose lists decide where filters have different sizes.

        Returns
        -------
        OneColumn or None
            A list of up to a million values; None if no list decides.
        """
        return ValueList(self.column, _MAX_VALUES, expression=self.expression)

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> BloomFilterClause | None:
        """Return a clause for ``=`` or ``IN`` on the column itself, or None for any other leaf."""
        match leaf:
            # hashes depend on the indexed type, so a cast of the column has no answer [PRU-BF-1]
            case Comparison(Op.EQ, Column() as operand, value) if operand.type in _SERVED:
                return BloomFilterClause(leaf, definition.key, (value,), expensive=True)
            case In(Column() as operand, values) if operand.type in _SERVED:
                return BloomFilterClause(leaf, definition.key, values, expensive=True)
            case _:
                return None


@dataclass(frozen=True, slots=True)
class BloomFilterClause(ColumnClause):
    """A clause that tests a file's filter for values."""

    #: The literals: a file may match if its filter may contain one of them.
    values: tuple[Value, ...]

    def verdicts(self, values: pa.Array, among: Mask, memo: Memo) -> Verdicts:
        """Return false for files that certainly lack every literal, and null for files without a valid filter."""
        # = and IN are TRUE only of a literal, and a filter never loses a value: without any literal, no row matches;
        # NULL in a list adds no TRUE row
        return bloom_bits.might_contain(values, list(map(bloom_bits.hash_value, self.values)), among)
