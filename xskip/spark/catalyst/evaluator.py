"""Catalyst's filters as the hook encodes them, and the expressions in them that Spark evaluates for given values."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.operands import Evaluate, Evaluated, form_of
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.packed_values import Packed, pack, parted, unpack
from xskip.types.datatypes import arrow_type

__all__ = ["EvaluationCache", "Evaluator", "ExprNode", "decorate"]

#: More distinct values than this are not evaluated: planning must not take longer than reading.
_MOST_VALUES = 1_000_000
_REMEMBERED_BYTES = 1 << 26


class ExprNode(list[Any]):
    """A node of a filter: its class and arguments.

    ``term`` is the number by which it can be evaluated, -1 for a deterministic expression of several columns, or None.
    """

    term: int | None = None
    type: str = ""
    evaluate: Evaluate | None = None


def decorate(node: Any, evaluate: Evaluate | None = None) -> Any:
    """A decoded node with its arguments, in which the marks of expressions have become attributes.

    >>> call = decorate(["Year", ["$", ["d"], "date"], {"@": 3, "t": "int"}])
    >>> call, call.term, call.type
    (['Year', ['$', ['d'], 'date']], 3, 'int')
    """
    if not isinstance(node, list):
        return node
    mark = node[-1] if node and isinstance(node[-1], dict) and "@" in node[-1] else None
    call = ExprNode(decorate(part, evaluate) for part in (node[:-1] if mark else node))
    if mark:
        call.term, call.type, call.evaluate = mark["@"], mark["t"], evaluate
        if isinstance(evaluate, Evaluator):
            evaluate.terms[mark["@"]] = call
    return call


class _Asked(NamedTuple):
    """An expression and distinct values of its column."""

    term: int
    kind: str
    values: Packed


class EvaluationCache:
    """What expressions were for given values, by their form and the session's settings; the oldest are forgotten."""

    def __init__(self, size: int = _REMEMBERED_BYTES) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, ...], Packed] = OrderedDict()
        self._left = size

    def get(self, key: tuple[str, ...]) -> Packed | None:
        """What was found, if it is remembered."""
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: tuple[str, ...], found: Packed) -> None:
        """Remembers it, if there is room at all."""
        with self._lock:
            if key not in self._found:
                self._found[key] = found
                self._left -= sum(map(len, found))
            while self._left < 0:
                self._left += sum(map(len, self._found.popitem(last=False)[1]))


class Evaluator:
    """Lets Spark evaluate the expressions of one request: each once for the same values, whoever asks.

    Parameters
    ----------
    hook : Hook
    request : int
    remembered : EvaluationCache, optional
        What requests before it have found.

    Attributes
    ----------
    terms : dict of int to ExprNode
        The expressions by their numbers.
    """

    def __init__(self, hook: Hook, request: int, remembered: EvaluationCache | None = None) -> None:
        self.terms: dict[int, ExprNode] = {}
        self._hook = hook
        self._request = request
        self._remembered = remembered or EvaluationCache()
        self._settings = ""
        self._found: dict[_Asked, Evaluated] = {}
        self._noted: dict[_Asked, None] | None = None

    def __call__(self, term: int, kind: str, values: pa.Array) -> Evaluated:
        """An expression's values for values of its column, each distinct one evaluated once.

        Parameters
        ----------
        term : int
        kind : str
            The expression's Spark type.
        values : pyarrow.Array
            Of the column's Arrow type.
        """
        encoded = values.dictionary_encode(null_encoding="encode")
        if len(encoded.dictionary) > _MOST_VALUES:
            return Evaluated(pa.nulls(len(values), arrow_type(kind)), np.full(len(values), True))
        asked = _Asked(term, kind, pack(encoded.dictionary))
        if asked not in self._found:
            if self._noted is not None:
                self._noted[asked] = None
                return Evaluated(pa.nulls(len(values), arrow_type(kind)), np.full(len(values), True))
            self._ask([asked])
        results, failed = self._found[asked]
        if pa.types.is_floating(values.type):  # -0.0 and 0.0 are one value here, and two for a function
            failed = failed | pc.equal(encoded.dictionary, 0).fill_null(False).to_numpy(zero_copy_only=False)
        at = encoded.indices
        return Evaluated(results.take(at), failed[at.to_numpy()])

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is asked inside is only noted, and taken for what cannot be found; at the end Spark is asked once."""
        self._noted = {}
        try:
            yield
        finally:
            noted, self._noted = self._noted, None
        self._ask(list(noted))

    def _ask(self, asked: list[_Asked]) -> None:
        keys = {each: self._key(each) for each in asked}
        known = {each: self._remembered.get(key) for each, key in keys.items() if key is not None}
        found = {each: packed for each, packed in known.items() if packed is not None}
        unknown = [each for each in asked if each not in found]
        if unknown:
            answer = self._hook.evaluate(self._request, [(each.term, each.values) for each in unknown])
            kinds, counts = [each.kind for each in unknown], [len(each.values.states) for each in unknown]
            for each, packed in zip(unknown, parted(answer, kinds, counts), strict=True):
                found[each] = packed
                key = keys[each]
                if key is not None:
                    self._remembered.put(key, packed)
        self._found |= {each: unpack(each.kind, packed) for each, packed in found.items()}

    def _key(self, asked: _Asked) -> tuple[str, ...] | None:
        """What tells an expression with values from all others; None where its form tells it in part."""
        form = form_of(self.terms[asked.term]) if asked.term in self.terms else ""
        if not form:
            return None
        digest = hashlib.blake2b(b"".join(asked.values), digest_size=32).hexdigest()
        return form, asked.kind, self.settings(), digest

    def settings(self) -> str:
        """A text that changes with the settings of the session that asks."""
        if not self._settings:
            self._settings = self._hook.settings(self._request)
        return self._settings

    def spread(self, zone: str, low: int, high: int) -> int:
        """By how many microseconds the offsets of a zone differ among themselves from one instant to another."""
        return self._hook.offset_spread(zone, low, high)
