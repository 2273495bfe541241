"""BloomFilter: a compact summary of a column's values in each object, which never forgets one.

Rules: specs/pruning.rst, [PRU-BF]. A filter answers equality and IN alone, and only "certainly absent". Every filter
is sized for the values its own object has, unless ``ndv`` fixes the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask, Verdicts
from xskip.clauses.index_clause import ColumnClause, Lists, Once
from xskip.expressions.operands import Column
from xskip.expressions.predicate import Comparison, In, Leaf, Op, Value
from xskip.indexes.base import Accumulator, OneColumn, Parameter, check_at_least_one, check_rate, unsupported
from xskip.metadata.table import IndexDefinition
from xskip.types import bloom_filter
from xskip.types.datatypes import INTEGRAL, Bloom, Storage

__all__ = ["BloomFilter", "BloomFilterClause"]

_SERVED = ("string", "binary", *INTEGRAL, "date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class BloomFilter(OneColumn):
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

    fpp: float = 0.01
    ndv: int | None = None
    name: ClassVar[str] = "bloomfilter"
    of_elements: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("ndv", "io.xskipper.index.bloom.ndv", int),
        Parameter("fpp", "io.xskipper.index.bloom.fpp", float, is_always_told=True),
    )

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        check_rate(self, self.fpp)
        if self.ndv is not None:
            check_at_least_one(self, "ndv")

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Pairs of hashes, or filters."""
        return (Accumulator("hashes", self.ndv or 0, fpp=self.fpp),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Spark's filter."""
        if types[0] not in _SERVED:
            raise unsupported("BloomFilter", self.column, types[0], _SERVED)
        return Bloom()

    def assemble(self, collected: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """A filter for each object, empty where it holds no value: those that the kernel made, else of the hashes."""
        hashes = collected[0]
        filters = collected[1] if len(collected) > 1 else pa.nulls(len(hashes), pa.binary())
        missing = pc.and_(hashes.is_valid(), filters.is_null()).to_numpy(zero_copy_only=False)
        if not missing.any():
            return filters
        lists = Lists.of(hashes)
        pairs = lists.values.to_numpy(zero_copy_only=False).astype(np.int64)
        built: list[bytes | None] = [None] * len(hashes)
        for i in np.flatnonzero(missing):
            own = pairs[lists.starts[i] : lists.ends[i]]
            size = bloom_filter.size_for(len(own) if self.ndv is None else self.ndv, self.fpp)
            built[i] = bloom_filter.build(own, *size)
        return pc.coalesce(filters, pa.array(built, pa.binary()))

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> BloomFilterClause | None:
        """Equality and IN on the column itself: a hash is of the exact type that was indexed."""
        match leaf:
            case Comparison(Op.EQ, Column() as operand, value) if operand.type in _SERVED:
                return BloomFilterClause(leaf, definition.key, (value,), expensive=True)
            case In(Column() as operand, values) if operand.type in _SERVED:
                return BloomFilterClause(leaf, definition.key, values, expensive=True)
            case _:
                return None


@dataclass(frozen=True, slots=True)
class BloomFilterClause(ColumnClause):
    """Values asked of the filters."""

    values: tuple[Value, ...]

    def verdicts(self, values: pa.Array, among: Mask, once: Once) -> Verdicts:
        """False where every value is certainly absent; null where there is no filter that can be read."""
        return bloom_filter.might_contain(values, [_hash(value) for value in self.values], among)


def _hash(value: Value) -> bloom_filter.HashPair:
    match value:
        case bytes():
            return bloom_filter.hash_bytes(value)
        case int() if not isinstance(value, bool):
            return bloom_filter.hash_long(value)
        case _:
            raise TypeError(f"a value that Bloom filters do not hold: {type(value).__name__}")
