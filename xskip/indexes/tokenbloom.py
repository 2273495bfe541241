"""The index type TokenBloom: a Bloom filter of the words of a text column per file.

Rules: specs/pruning.rst, [PRU-TB]. A word is a maximal run of bytes that are ASCII letters, ASCII digits, underscores
or non-ASCII bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask, Verdicts
from xskip.clauses.index_clause import ColumnClause, Memo
from xskip.expressions.like import like_parts
from xskip.expressions.operands import Column, Computed
from xskip.expressions.predicate import Comparison, In, Leaf, Op, StartsWith
from xskip.indexes.accumulator import Accumulator
from xskip.indexes.argument_checks import unsupported
from xskip.indexes.base import OneColumn, Parameter
from xskip.indexes.bloomfilter import BloomFilter
from xskip.metadata.table import IndexDefinition
from xskip.types import bloom_bits
from xskip.types.datatypes import Bloom, Storage
from xskip.types.words import WORD

__all__ = ["TokenBloom", "TokenBloomClause"]


@dataclass(frozen=True, slots=True)
class TokenBloom(BloomFilter):
    """An index of Bloom filters of words, for ``LIKE '% word %'`` and other predicates that require whole words.

    Parameters
    ----------
    column : str
        A column of strings, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    fpp : float
        The probability that a filter reports a word that its file lacks, between 0 and 1.
    ndv : int, optional
        The number of distinct words to size every filter for, at least 1. None sizes a filter for its file's words.
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
    >>> TokenBloom("message").params
    (('io.xskip.index.tokenbloom.fpp', '0.01'),)
    """

    name: ClassVar[str] = "tokenbloom"
    of_elements: ClassVar[bool] = False
    keeps_values: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("ndv", "io.xskip.index.tokenbloom.ndv", int),
        Parameter("fpp", "io.xskip.index.tokenbloom.fpp", float, is_always_recorded=True),
    )

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulator of word filters."""
        return (Accumulator("words", self.ndv or 0, fpp=self.fpp),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return the storage type of Spark's Bloom filter."""
        if types[0] != "string":
            raise unsupported("TokenBloom", self.column, types[0], ("string",))
        return Bloom()

    def exact(self) -> OneColumn | None:
        """Return None: no list of all words decides where filters have different sizes."""
        return None

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> TokenBloomClause | None:  # type: ignore[override]
        """Return a clause for a leaf that only texts with certain whole words satisfy, or None for any other leaf."""
        ways = tuple(tuple(word for part in parts for word in whole_words(part)) for parts in _ways(leaf))
        # an alternative without a whole word rules out no file, and so neither does the leaf [PRU-TB-3]
        return TokenBloomClause(leaf, definition.key, ways, expensive=True) if ways and all(ways) else None


class Part(NamedTuple):
    """A literal part of a text that a predicate requires, as UTF-8 bytes."""

    text: bytes
    #: Whether the text begins with the part, and whether the text ends with the part.
    is_start: bool
    is_end: bool


def whole_words(part: Part) -> tuple[bytes, ...]:
    """Return the words of a part that are certainly words of the whole text."""
    return tuple(
        found[0]
        for found in WORD.finditer(part.text)
        # the first word of the part can go on to the left in the text, and its last word to the right [PRU-TB-2]
        if (part.is_start or found.start() > 0) and (part.is_end or found.end() < len(part.text))
    )


def _ways(leaf: Leaf) -> list[list[Part]]:
    """Return alternative lists of required parts; a text that satisfies the leaf has all parts of an alternative."""
    match leaf:
        case Comparison(Op.EQ, Column(), bytes() as text):
            return [[Part(text, is_start=True, is_end=True)]]
        case In(Column(), values):
            texts = [text for text in values if isinstance(text, bytes)]
            # a value that is no text has no known words, so that the alternatives would not be complete
            whole = len(texts) == len(values)
            return [[Part(text, is_start=True, is_end=True)] for text in texts] if whole else []
        case StartsWith(Column(), prefix):
            return [[Part(prefix, is_start=True, is_end=False)]]
        # a value and its padding with spaces have the same words
        case Comparison(Op.EQ, Computed(call=("Contains" | "PaddedContains", bytes() as text)), True):
            return [[Part(text, is_start=False, is_end=False)]]
        case Comparison(Op.EQ, Computed(call=("EndsWith" | "PaddedEndsWith", bytes() as text)), True):
            return [[Part(text, is_start=False, is_end=True)]]
        case Comparison(Op.EQ, Computed(call=("Like" | "PaddedLike", bytes() as pattern, str() as escape)), True):
            parts = like_parts(pattern.decode(errors="replace"), escape) or []
            last = len(parts) - 1
            return [[Part(text.encode(), is_start=k == 0, is_end=k == last) for k, text in enumerate(parts)]]
        case _:
            # no required part is known
            return []


@dataclass(frozen=True, slots=True)
class TokenBloomClause(ColumnClause):
    """A clause that tests a file's filter for words."""

    #: The alternatives: a file may match if its filter may contain all words of one of them.
    ways: tuple[tuple[bytes, ...], ...]

    def verdicts(self, values: pa.Array, among: Mask, memo: Memo) -> Verdicts:
        """Return false for files that certainly lack a word of every alternative, and null without a valid filter."""
        # a row that satisfies the leaf has all words of one alternative, and a filter never loses a word: without a
        # word of every alternative, the file has no such row [PRU-TB-1]
        found = pa.array(np.full(len(values), False))
        for words in self.ways:
            whole = pa.array(np.full(len(values), True))
            for word in words:
                whole = pc.and_kleene(whole, bloom_bits.might_contain(values, [bloom_bits.hash_bytes(word)], among))
            found = pc.or_kleene(found, whole)
        return found
