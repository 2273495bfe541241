"""BloomFilter: a compact summary of a column's values in each object, which never forgets one.

Rules: specs/pruning.rst, [PRU-BF]. A filter answers equality and IN alone, and only "certainly absent". Every filter
is sized for the values its own object has, unless ``ndv`` fixes the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from xskip import bloom
from xskip.clauses import IndexClause, Mask, Verdicts
from xskip.datatypes import INTEGRAL, Bloom, Storage
from xskip.errors import IndexDefinitionError
from xskip.expressions import Comparison, In, Leaf, Op, Value
from xskip.indexes.base import Accumulator, Lists, check_column, column_of, unsupported
from xskip.metadata import IndexDefinition, IndexKey, MetadataTable
from xskip.operands import Column

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["BloomFilter", "BloomFilterClause"]

_FPP = "io.xskipper.index.bloom.fpp"
_NDV = "io.xskipper.index.bloom.ndv"
_SERVED = ("string", "binary", *INTEGRAL, "date", "timestamp", "timestamp_ntz")
# Murmur3 of this int with Spark's fixed seed 42 is 0, and a hash seeds the next: hash(_SEED_0, x) is Murmur3(x, seed 0)
_SEED_0 = -1693959553


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """A Bloom filter of a column in each object: for point lookups on columns with many values.

    Parameters
    ----------
    column : str
        A column, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    fpp : float
        The rate of objects that are read in vain, between 0 and 1.
    ndv : int, optional
        The number of distinct values to size every filter for; None counts them in each object.
    key_label : str, optional
        Label of the key that encrypts this index.

    Examples
    --------
    >>> BloomFilter("user_id", ndv=1000).params
    (('io.xskipper.index.bloom.ndv', '1000'), ('io.xskipper.index.bloom.fpp', '0.01'))
    """

    column: str
    fpp: float = 0.01
    ndv: int | None = None
    key_label: str | None = None
    name: ClassVar[str] = "bloomfilter"
    keeps_values: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_column(self.column)
        if not 0 < self.fpp < 1:
            raise IndexDefinitionError(
                "BloomFilter with an impossible rate", found=f"fpp={self.fpp}", expected="between 0 and 1"
            )
        if self.ndv is not None and self.ndv < 1:
            raise IndexDefinitionError(
                "BloomFilter with an impossible number of values", found=f"ndv={self.ndv}", expected="1 or more"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, alone."""
        return (self.column,)

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """The number of values where it is fixed, and the rate."""
        fixed = () if self.ndv is None else ((_NDV, str(self.ndv)),)
        return (*fixed, (_FPP, str(self.fpp)))

    @classmethod
    def from_definition(cls, definition: IndexDefinition) -> BloomFilter:
        """The index that metadata speaks of."""
        (column,) = definition.columns
        params = dict(definition.params)
        ndv = params.get(_NDV)
        return cls(column, float(params.get(_FPP, 0.01)), None if ndv is None else int(ndv), definition.key_label)

    @property
    def accumulator(self) -> Accumulator:
        """Pairs of hashes."""
        return Accumulator("hashes")

    def storage(self, types: Sequence[str]) -> Storage:
        """Spark's filter."""
        if types[0] not in _SERVED:
            raise unsupported("BloomFilter", self.column, types[0], _SERVED)
        return Bloom()

    def aggregates(self, columns: Sequence[SparkColumn], types: Sequence[str]) -> Sequence[SparkColumn]:
        """The distinct pairs of hashes, each packed in a long; both hashes are Spark's generated code."""
        from pyspark.sql import functions as F

        column = columns[0]
        value = column.cast("bigint") if types[0] in INTEGRAL else column
        if types[0] == "date":
            value = F.datediff(column, F.lit("1970-01-01").cast("date")).cast("bigint")
        seed = F.lit(_SEED_0)
        first = F.hash(seed, value).cast("bigint")
        second = F.hash(seed, value, value).cast("bigint")
        pair = F.shiftleft(first, 32).bitwiseOR(second.bitwiseAND(F.lit(0xFFFFFFFF)))
        return (F.collect_set(F.when(column.isNotNull(), pair)),)

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """A filter for each object, empty where it holds no value."""
        lists = Lists.of(collected[0])
        pairs = lists.values.to_numpy(zero_copy_only=False).astype(np.int64)
        filters = []
        for start, end in zip(lists.starts, lists.ends, strict=True):
            hashes, words = bloom.size_for(int(end - start) if self.ndv is None else self.ndv, self.fpp)
            filters.append(bloom.build(pairs[start:end], hashes, words))
        return pa.array(filters, pa.binary())

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Equality and IN on the column itself: a hash is of the exact type that was indexed."""
        match leaf:
            case Comparison(Op.EQ, Column() as operand, value) if operand.type in _SERVED:
                return BloomFilterClause(leaf, definition.key, (value,))
            case In(Column() as operand, values) if operand.type in _SERVED:
                return BloomFilterClause(leaf, definition.key, values)
            case _:
                return None


@dataclass(frozen=True, slots=True)
class BloomFilterClause:
    """Values asked of the filters."""

    leaf: Leaf
    requires: IndexKey
    values: tuple[Value, ...]
    expensive: bool = True

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """False where every value is certainly absent; null where there is no filter that can be read."""
        column = column_of(table, self.requires)
        if column is None:
            return pa.nulls(len(table), pa.bool_())
        return bloom.might_contain(column.values, [_hash(value) for value in self.values], among)


def _hash(value: Value) -> bloom.HashPair:
    match value:
        case bytes():
            return bloom.hash_bytes(value)
        case int() if not isinstance(value, bool):
            return bloom.hash_long(value)
        case _:
            raise TypeError(f"a value that Bloom filters do not hold: {type(value).__name__}")
