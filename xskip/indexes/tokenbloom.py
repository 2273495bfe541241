"""TokenBloom: a Bloom filter of the words of a text column in each object.

Rules: specs/pruning.rst, [PRU-TB]. A word is a longest run of bytes that are ASCII letters, digits, underscores, or not
ASCII at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask, Verdicts
from xskip.clauses.index_clause import ColumnClause, Once
from xskip.expressions.like import like_parts
from xskip.expressions.operands import Column, Computed
from xskip.expressions.predicate import Comparison, In, Leaf, Op, StartsWith
from xskip.indexes.base import Accumulator, Parameter, unsupported
from xskip.indexes.bloomfilter import BloomFilter
from xskip.metadata.table import IndexDefinition
from xskip.types import bloom_filter
from xskip.types.datatypes import Bloom, Storage

__all__ = ["TokenBloom", "TokenBloomClause"]

_WORD = re.compile(rb"[0-9A-Za-z_\x80-\xff]+")


@dataclass(frozen=True, slots=True)
class TokenBloom(BloomFilter):
    """A Bloom filter of a text's words: for ``LIKE '% word %'``, and all that needs a word whole.

    Parameters
    ----------
    column : str
        A column of strings, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    fpp : float
        The rate at which a word is found in vain, between 0 and 1.
    ndv : int, optional
        The number of distinct words to size every filter for; None counts them in each object.
    key_label : str, optional
        Label of the key that encrypts this index.

    Examples
    --------
    >>> TokenBloom("message").params
    (('io.xskip.index.tokenbloom.fpp', '0.01'),)
    """

    name: ClassVar[str] = "tokenbloom"
    of_elements: ClassVar[bool] = False
    keeps_values: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("ndv", "io.xskip.index.tokenbloom.ndv", int),
        Parameter("fpp", "io.xskip.index.tokenbloom.fpp", float, is_always_told=True),
    )

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Pairs of the words' hashes, or filters."""
        return (Accumulator("words", self.ndv or 0, fpp=self.fpp),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Spark's filter."""
        if types[0] != "string":
            raise unsupported("TokenBloom", self.column, types[0], ("string",))
        return Bloom()

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> TokenBloomClause | None:  # type: ignore[override]
        """What says of a text that it holds some words whole."""
        ways = tuple(tuple(word for part in parts for word in whole_words(part)) for parts in _ways(leaf))
        return TokenBloomClause(leaf, definition.key, ways, expensive=True) if ways and all(ways) else None


class Part(NamedTuple):
    """A part of a text; ``is_start`` and ``is_end`` where the text begins or ends with it."""

    text: bytes
    is_start: bool
    is_end: bool


def whole_words(part: Part) -> tuple[bytes, ...]:
    """The words of a part of a text that are words of the whole text: the first and the last may go on.

    >>> whole_words(Part(b"ab cd-ef", is_start=True, is_end=False))
    (b'ab', b'cd')
    """
    return tuple(
        found[0]
        for found in _WORD.finditer(part.text)
        if (part.is_start or found.start() > 0) and (part.is_end or found.end() < len(part.text))
    )


def _ways(leaf: Leaf) -> list[list[Part]]:
    """The ways in which a text can make a leaf TRUE, each by the parts that it then has; none where not known."""
    match leaf:
        case Comparison(Op.EQ, Column(), bytes() as text):
            return [[Part(text, is_start=True, is_end=True)]]
        case In(Column(), values):
            return [[Part(text, is_start=True, is_end=True)] for text in values if isinstance(text, bytes)]
        case StartsWith(Column(), prefix):
            return [[Part(prefix, is_start=True, is_end=False)]]
        case Comparison(Op.EQ, Computed(call=("Contains" | "EndsWith" as name, bytes() as text)), True):
            return [[Part(text, is_start=False, is_end=name == "EndsWith")]]
        case Comparison(Op.EQ, Computed(call=("Like", bytes() as pattern, str() as escape)), True):
            parts = like_parts(pattern.decode(errors="replace"), escape) or []
            last = len(parts) - 1
            return [[Part(text.encode(), is_start=k == 0, is_end=k == last) for k, text in enumerate(parts)]]
        case _:
            return []


@dataclass(frozen=True, slots=True)
class TokenBloomClause(ColumnClause):
    """Words asked of the filters: of some way, all."""

    ways: tuple[tuple[bytes, ...], ...]

    def verdicts(self, values: pa.Array, among: Mask, once: Once) -> Verdicts:
        """False where of each way some word is certainly absent; null where there is no filter that can be read."""
        found = pa.array(np.full(len(values), False))
        for words in self.ways:
            whole = pa.array(np.full(len(values), True))
            for word in words:
                whole = pc.and_kleene(whole, bloom_filter.might_contain(values, [bloom_filter.hash_bytes(word)], among))
            found = pc.or_kleene(found, whole)
        return found
