"""Catalyst's filters as the hook encodes them, and the expressions in them that Spark evaluates for given values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.datatypes import arrow_type
from xskip.operands import Evaluate, Evaluated
from xskip.ordering import Mask, sort_key
from xskip.spark.jvm import Hook

__all__ = ["Call", "Evaluator", "decorate"]

#: More distinct values than this are not evaluated: planning must not take longer than reading.
_MOST_VALUES = 1_000_000


class Call(list[Any]):
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
    call = Call(decorate(part, evaluate) for part in (node[:-1] if mark else node))
    if mark:
        call.term, call.type, call.evaluate = mark["@"], mark["t"], evaluate
    return call


class Evaluator:
    """Lets Spark evaluate the expressions of one request.

    Parameters
    ----------
    hook : Hook
    request : int
    """

    def __init__(self, hook: Hook, request: int) -> None:
        self._hook = hook
        self._request = request

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
        found = self._hook.evaluate(self._request, term, *_packed(encoded.dictionary))
        results, failed = _unpacked(kind, *found)
        if pa.types.is_floating(values.type):  # -0.0 and 0.0 are one value here, and two for a function
            failed = failed | pc.equal(encoded.dictionary, 0).fill_null(False).to_numpy(zero_copy_only=False)
        at = encoded.indices
        return Evaluated(results.take(at), failed[at.to_numpy()])

    def settings(self) -> str:
        """A text that changes with the settings of the session that asks."""
        return self._hook.settings(self._request)

    def spread(self, zone: str, low: int, high: int) -> int:
        """By how many microseconds the offsets of a zone differ among themselves from one instant to another."""
        return self._hook.offset_spread(zone, low, high)


def _packed(values: pa.Array) -> tuple[bytes, bytes, bytes]:
    """States, numbers and bytes: see ``java/XSkipValues.java``."""
    states = values.is_null().cast(pa.int8()).to_numpy(zero_copy_only=False).astype(np.uint8).tobytes()
    if pa.types.is_floating(values.type):
        return states, _numbers(values.cast(pa.float64()).fill_null(0.0), "<f8"), b""
    texts = values.cast(pa.string()).cast(pa.binary()) if pa.types.is_decimal(values.type) else sort_key(values)
    if pa.types.is_binary(texts.type):
        texts = pc.fill_null(texts, b"")
        return states, _numbers(pc.binary_length(texts), "<i8"), b"".join(texts.to_pylist())
    return states, _numbers(texts.cast(pa.int64()).fill_null(0), "<i8"), b""


def _numbers(values: pa.Array, form: str) -> bytes:
    return bytes(values.to_numpy(zero_copy_only=False).astype(form).tobytes())


def _unpacked(kind: str, states: bytes, numbers: bytes, data: bytes) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """Values and which of them could not be found; these are null."""
    state = np.frombuffer(states, np.uint8)
    target = arrow_type(kind)
    if pa.types.is_string(target) or pa.types.is_binary(target) or pa.types.is_decimal(target):
        return _of_bytes(target, np.frombuffer(numbers, "<i8"), data, state != 0), state == 2
    return _of_numbers(target, numbers, state != 0), state == 2


def _of_bytes(target: pa.DataType, lengths: npt.NDArray[np.int64], data: bytes, missing: Mask) -> pa.Array:
    """Strings can hold bytes that are no UTF-8, which is kept as it is: keys are bytes."""
    ends = np.cumsum(np.where(missing, 0, lengths))
    starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    texts = [None if gone else data[s:e] for gone, s, e in zip(missing, starts, ends, strict=True)]
    if pa.types.is_decimal(target):
        return pa.array([None if text is None else Decimal(text.decode()) for text in texts], target)
    raw = pa.array(texts, pa.binary())
    return pa.Array.from_buffers(target, len(raw), raw.buffers(), raw.null_count)


def _of_numbers(target: pa.DataType, numbers: bytes, missing: Mask) -> pa.Array:
    if pa.types.is_floating(target):
        return pa.array(np.frombuffer(numbers, "<f8"), pa.float64(), mask=missing).cast(target)
    found = pa.array(np.frombuffer(numbers, "<i8"), pa.int64(), mask=missing)
    if pa.types.is_boolean(target):
        return pc.not_equal(found, 0)
    return (found.cast(pa.int32()) if pa.types.is_date32(target) else found).cast(target)
