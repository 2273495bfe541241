"""The evaluation of filter expressions by Spark: nodes with their marks, an evaluator per request, and a cache."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.operands import Evaluate, Evaluated
from xskip.protocol.packed_values import Packed, pack, parted, unpack
from xskip.spark.bridge.gateway import Hook
from xskip.spark.catalyst.canonical_form import form_of
from xskip.types.datatypes import arrow_type

__all__ = ["Evaluation", "EvaluationCache", "Evaluator", "ExprNode", "decorate"]

#: The number of distinct values above which Spark evaluates nothing: planning must not take longer than reading.
_MAX_VALUES = 1_000_000
_CACHED_BYTES = 1 << 26


class ExprNode(list[Any]):
    """A node of a filter: a list of the class name and the arguments."""

    #: The number by which the hook can evaluate the expression; -1 for a deterministic expression over several columns;
    #: None if the hook has not marked the node.
    term: int | None = None
    #: The Spark type of the expression; empty without a mark.
    type: str = ""
    #: Whether the expression is known to be NULL for no value of its column but NULL.
    is_total: bool = False
    evaluate: Evaluate | None = None
    #: Whether an index on a condition, such as this node, can exist.
    with_conditions: bool = True


def decorate(node: Any, evaluate: Evaluate | None = None, *, with_conditions: bool = True) -> Any:
    """Return a node, parsed from JSON, and its arguments with the hook's marks turned into attributes.

    A mark is a dict at the end of a node with the number (``@``) and the Spark type (``t``) of the expression, and with
    ``v`` if it is total. An :class:`Evaluator` also records the marked nodes in ``terms``.

    >>> call = decorate(["Year", ["$", ["d"], "date"], {"@": 3, "t": "int"}])
    >>> call, call.term, call.type
    (['Year', ['$', ['d'], 'date']], 3, 'int')
    """
    if not isinstance(node, list):
        return node
    mark = node[-1] if node and isinstance(node[-1], dict) and "@" in node[-1] else None
    parts = node[:-1] if mark else node
    call = ExprNode(decorate(part, evaluate, with_conditions=with_conditions) for part in parts)
    if mark:
        call.with_conditions = with_conditions
        call.term, call.type, call.evaluate = mark["@"], mark["t"], evaluate
        call.is_total = mark.get("v") is True
        if isinstance(evaluate, Evaluator):
            evaluate.terms[mark["@"]] = call
    return call


class Evaluation(NamedTuple):
    """The evaluation of an expression for distinct values of its column."""

    term: int
    kind: str
    values: Packed


class EvaluationCache:
    """A cache, of at most ``size`` bytes of results, which removes the least recently used results first.

    A key consists of the expression, the session's settings and the input values. Several threads can use the cache:
    one lock guards the results, and no method runs other code under the lock.
    """

    def __init__(self, size: int = _CACHED_BYTES) -> None:
        from cachetools import LRUCache

        self._lock = threading.Lock()
        self._results: LRUCache[tuple[str, ...], Packed] = LRUCache(size, getsizeof=lambda value: sum(map(len, value)))

    def get(self, key: tuple[str, ...]) -> Packed | None:
        """Return the cached results for a key, or None if the cache has no results for the key."""
        with self._lock:
            return self._results.get(key)

    def put(self, key: tuple[str, ...], results: Packed) -> None:
        """Add results to the cache, unless they are larger than the whole cache."""
        with self._lock, suppress(ValueError):  # LRUCache rejects a value of more than its size
            self._results[key] = results


class Evaluator:
    """An evaluator of the expressions of a single request; Spark evaluates an expression once for equal input values.

    Only the thread that answers the request uses the evaluator. ``cache`` has the results of earlier requests.
    """

    def __init__(self, hook: Hook, request: int, cache: EvaluationCache | None = None) -> None:
        #: The marked expressions by number, as :func:`decorate` records them.
        self.terms: dict[int, ExprNode] = {}
        self._hook = hook
        self._request = request
        self._cache = cache or EvaluationCache()
        self._settings = ""
        self._results: dict[Evaluation, Evaluated] = {}
        #: The postponed evaluations in order; None outside of :meth:`collecting`.
        self._collected: dict[Evaluation, None] | None = None

    def __call__(self, term: int, kind: str, values: pa.Array) -> Evaluated:
        """Return the values of an expression for values of its column, and the mask of those that are not known.

        All are unknown if the input has too many distinct values, or if :meth:`collecting` postpones their evaluation.
        """
        encoded = values.dictionary_encode(null_encoding="encode")
        if len(encoded.dictionary) > _MAX_VALUES:
            return _unknown(kind, len(values))
        evaluation = Evaluation(term, kind, pack(encoded.dictionary))
        if evaluation not in self._results:
            if self._collected is not None:
                self._collected[evaluation] = None
                return _unknown(kind, len(values))
            self.evaluate([evaluation])
        results, failed = self._results[evaluation]
        if pa.types.is_floating(values.type):  # a zero in metadata can be -0.0 or 0.0, which differ for a function
            failed = failed | pc.equal(encoded.dictionary, 0).fill_null(False).to_numpy(zero_copy_only=False)
        at = encoded.indices
        return Evaluated(results.take(at), failed[at.to_numpy()])

    @contextmanager
    def collecting(self) -> Iterator[Iterable[Evaluation]]:
        """Collect the evaluations that the body requests, and postpone them, for :meth:`evaluate` after the body.

        Inside the body, a call of the evaluator returns unknown values for each evaluation without results.
        """
        collected = self._collected = {}
        try:
            yield collected
        finally:
            self._collected = None

    def evaluate(self, evaluations: Iterable[Evaluation]) -> None:
        """Run evaluations in at most one call of Spark [PRU-FN-10]; later calls of the evaluator use the results."""
        keys = {evaluation: self._key(evaluation) for evaluation in evaluations}
        cached = {evaluation: self._cache.get(key) for evaluation, key in keys.items() if key is not None}
        results = {evaluation: packed for evaluation, packed in cached.items() if packed is not None}
        missing = [evaluation for evaluation in keys if evaluation not in results]
        if missing:
            answer = self._hook.queries.evaluate(self._request, [(e.term, e.values) for e in missing])
            kinds, counts = [e.kind for e in missing], [len(e.values.states) for e in missing]
            for evaluation, packed in zip(missing, parted(answer, kinds, counts), strict=True):
                results[evaluation] = packed
                key = keys[evaluation]
                if key is not None:
                    self._cache.put(key, packed)
        self._results |= {evaluation: unpack(evaluation.kind, packed) for evaluation, packed in results.items()}

    def _key(self, evaluation: Evaluation) -> tuple[str, ...] | None:
        """Return the cache key of an expression and its values, or None if no form identifies the expression."""
        form = form_of(self.terms[evaluation.term]) if evaluation.term in self.terms else None
        if form is None:
            return None
        digest = hashlib.blake2b(b"".join(evaluation.values), digest_size=32).hexdigest()
        return form.text, evaluation.kind, self.settings(), digest

    def settings(self) -> str:
        """Return a digest of the settings of the session that sent the request."""
        if not self._settings:
            self._settings = self._hook.queries.settings(self._request)
        return self._settings

    def spread(self, zone: str, low: int, high: int) -> int:
        """Return the greatest minus the least UTC offset of a zone between two instants; all in microseconds."""
        return self._hook.queries.offset_spread(zone, low, high)


def _unknown(kind: str, count: int) -> Evaluated:
    return Evaluated(pa.nulls(count, arrow_type(kind)), np.full(count, True))
