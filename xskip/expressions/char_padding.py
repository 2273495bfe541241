"""Predicates over padded strings, as predicates over the strings without padding. Rules: specs/pruning.rst, [PRU-CH].

Spark pads the values of a CHAR(n) column with spaces when it reads them, and compares the padded values. The statistics
are of the values in the files, which writers pad or do not pad.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xskip.expressions.condition_reasons import OtherReason
from xskip.expressions.operands import Column
from xskip.expressions.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNull,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    Unknown,
    Value,
    negate,
)

__all__ = ["Padded"]

#: The greatest number of bytes of a literal, and of strings that padding makes equal to the literals of a predicate.
_MAX_BYTES = 4096
_MAX_STRINGS = 10_000
#: The greatest number of literals that may be prefixes of longer values.
_MAX_PREFIXES = 100


@dataclass(frozen=True, slots=True)
class Padded:
    """A string column whose values are padded with spaces to ``length`` characters.

    All methods return predicates that are TRUE, FALSE and NULL for the same rows as the condition on the padded value,
    and None for a literal that they do not support.
    """

    # proofs: let pad(v) be v with as many spaces as it lacks characters, and L a literal of valid UTF-8; then pad(v)
    # begins with v, and pad(v) = v unless v is too short
    column: Column
    #: The number of characters, at least 1.
    length: int
    #: Whether longer values are cut off after ``length`` characters, as by ``rpad`` [PRU-CH-6].
    is_cut: bool = False

    def compare(self, op: Op, value: Value) -> Predicate | None:
        """Return the predicate ``pad(column) op value``."""
        match op:
            case Op.EQ:
                return self.among((value,))
            case Op.GT | Op.GE:
                return self._above(op, value)
            case _:
                opposite = self.compare(op.negated, value)
                return None if opposite is None else negate(opposite)

    def among(self, values: Sequence[Value], *, has_null: bool = False) -> Predicate | None:
        """Return the predicate ``pad(column) IN (values)``."""
        texts = [_text(value) for value in values]
        whole = [text for text in texts if text is not None]
        if len(whole) < len(texts) or (self.is_cut and len(texts) > _MAX_PREFIXES):
            return None
        if not values:
            return In(self.column, (), has_null)
        equal = [text for text in whole if len(text) == self.length or (len(text) > self.length and not self.is_cut)]
        if not equal:  # no padded value is shorter than the length: FALSE for values, NULL for NULL
            return Constant(None) if has_null else And((IsNull(self.column), Constant(None)))
        if sum(len(text) - len(text.rstrip(" ")) + 1 for text in equal) > _MAX_STRINGS:
            return self._between(equal)
        # pad(v) = L  <=>  v = L, or v is L without some of its last spaces and L has ``length`` characters
        sources = tuple(dict.fromkeys(source for text in equal for source in self._sources(text)))
        found = self._one_of(sources, has_null=has_null)
        if not self.is_cut:
            return found
        # a value that begins with L is cut off to L
        return Or((found, *(StartsWith(self.column, text.encode()) for text in equal)))

    def starts_with(self, prefix: Value) -> Predicate | None:
        """Return the predicate that ``pad(column)`` starts with a prefix."""
        text = _text(prefix)
        if text is None or self.is_cut or not isinstance(prefix, bytes):
            return None
        # pad(v) starts with p  <=>  v does, or v is p without some of its last spaces and padding replaces them
        shorter = tuple(self._sources(text))[:-1] if len(text) <= self.length else ()
        start = StartsWith(self.column, prefix)
        return Or((start, self._one_of(shorter))) if shorter else start

    def _above(self, op: Op, value: Value) -> Predicate | None:
        """Return the predicate that the padded value is greater than a literal, or not less."""
        text = _text(value)
        if text is None or not isinstance(value, bytes) or (self.is_cut and len(text) != self.length):
            return None
        # pad(v) > L <=> v > L, or v is a prefix of L with pad(v) > L: pad(v) >= v, and if v < L differs from L within
        # both, so does pad(v); the same holds for >=. A prefix qualifies only if it lacks characters, and if L ends
        # with it or goes on with a space or a character below: a prefix that ends inside of a character goes on with a
        # byte above the space.
        ends = (k for k in range(min(len(text) + 1, self.length)) if k == len(text) or text[k] <= " ")
        padded = ((text[:k].encode(), text[:k].ljust(self.length).encode()) for k in ends)
        prefixes = tuple(v for v, pad in padded if pad > value or (op is Op.GE and pad == value))
        above: Predicate = Comparison(op, self.column, value)
        if self.is_cut and op is Op.GT:  # a longer value that begins with L is cut off to L
            above = And((above, NotStartsWith(self.column, value)))
        return Or((above, self._one_of(prefixes))) if prefixes else above

    def _between(self, texts: Iterable[str]) -> Predicate:
        """Return bounds of the values that padding makes equal to a text; its negation is unknown."""
        # every source of a text lies between the text without its last spaces and the text; Unknown keeps the negation
        # of these bounds from skipping files
        encoded = [text.encode() for text in texts]
        least, greatest = min(value.rstrip(b" ") for value in encoded), max(encoded)
        low, high = Comparison(Op.GE, self.column, least), Comparison(Op.LE, self.column, greatest)
        reach: Predicate = low if self.is_cut else And((low, high))
        return And((reach, Unknown(OtherReason("the padded values of the list are too many"))))

    def _sources(self, text: str) -> Iterable[bytes]:
        """Yield a text without its last spaces, then with one more of them at a time."""
        # padding adds no space to a text that is longer than the column
        start = len(text.rstrip(" ")) if len(text) <= self.length else len(text)
        return (text[:end].encode() for end in range(start, len(text) + 1))

    def _one_of(self, values: tuple[bytes, ...], *, has_null: bool = False) -> Predicate:
        single = len(values) == 1 and not has_null
        return Comparison(Op.EQ, self.column, values[0]) if single else In(self.column, values, has_null)


def _text(value: Value) -> str | None:
    """Return a literal as text, or None for a long literal and for one that is not valid UTF-8."""
    try:
        return value.decode() if isinstance(value, bytes) and len(value) <= _MAX_BYTES else None
    except UnicodeDecodeError:
        return None
