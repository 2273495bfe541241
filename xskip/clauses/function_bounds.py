"""Bounds of a function of a column, computed from bounds of the column. Rules: specs/pruning.rst, [PRU-FN]."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.evaluate import compare
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import Op
from xskip.types.datatypes import arrow_type
from xskip.types.masks import Mask
from xskip.types.sort_keys import sort_key

__all__ = ["bounds_of"]

#: A duration greater than the UTC offset of any time zone, in microseconds.
_OFFSET = 19 * 3600 * 1_000_000


def bounds_of(operand: Computed, low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the least and the greatest value that a function can have between two bounds of its column.

    Both have the Arrow type of the function's result, and are null where they are unknown.
    """
    shape, nothing = operand.shape, pa.nulls(len(low), arrow_type(operand.type))
    if shape.direction == 0 or not len(low):
        return nothing, nothing
    usable = _mask(low.is_valid()) & _mask(high.is_valid())
    if pa.types.is_floating(high.type):  # NaN is the greatest value, but the function of NaN need not be
        usable &= ~_mask(pc.is_nan(high))
    if shape.within:
        # the function rises within one period, and restarts in the next one [PRU-FN-6]
        usable &= _same(low, high, shape.within)
    if shape.limit is not None:
        # beyond the limit the function overflows, perhaps several times, so that its ends show nothing
        usable &= _mask(pc.and_(pc.greater_equal(low, -shape.limit), pc.less_equal(high, shape.limit)))
    if shape.zone:
        low, high = _shifted(operand, low, high, usable)
    if shape.folds and shape.wraps:  # between ends of opposite signs a sum can wrap around and back, unseen at the ends
        return nothing, nothing
    if shape.folds:
        return _folded(operand, low, high, usable)
    least, greatest, ordered = _ends(operand, (operand.term, operand.type, shape.direction), low, high)
    usable &= ordered
    # the whole function can hide that a part wrapped around; the ends of the part show it
    for part in shape.wraps:
        if part[0] != operand.term:
            usable &= _ends(operand, part, low, high)[2]
    known = pa.array(usable)
    return pc.if_else(known, least, nothing), pc.if_else(known, greatest, nothing)


def _ends(
    operand: Computed, part: tuple[int, str, int], low: pa.Array, high: pa.Array
) -> tuple[pa.Array, pa.Array, Mask]:
    """Return the least and the greatest value of a part of a function, and a mask of the rows where both are valid."""
    term, kind, direction = part
    first, last = (low, high) if direction > 0 else (high, low)
    (least, failed), (greatest, lost) = operand.evaluate(term, kind, first), operand.evaluate(term, kind, last)
    # a function that follows its direction has ends in order: ends out of order show an overflow between the bounds
    ordered = _mask(compare(Op.LE, sort_key(least), sort_key(greatest)))
    return least, greatest, ordered & ~failed & ~lost & _is_number(least) & _is_number(greatest)


def _folded(operand: Computed, low: pa.Array, high: pa.Array, usable: Mask) -> tuple[pa.Array, pa.Array]:
    """Return the bounds of a function of |x|, where x lies in [low, high] [PRU-FN-9]."""
    (first, failed), (second, lost) = (operand(values) for values in (low, high))
    nothing = pa.nulls(len(low), first.type)
    usable = usable & ~failed & ~lost & _is_number(first) & _is_number(second)
    # |x| is at most the greater of |low| and |high|, and it is at least the lesser of both where both ends have the
    # same sign; elsewhere |x| can be 0, so that the function has a bound on one side only
    falling = compare(Op.LE, sort_key(second), sort_key(first))
    ends = pc.if_else(falling, second, first), pc.if_else(falling, first, second)
    zero = pa.scalar(Decimal(0), low.type) if pa.types.is_decimal(low.type) else pa.scalar(0).cast(low.type)
    one_sign = _mask(pc.or_(pc.greater(low, zero), pc.less(high, zero)))
    known = (usable & one_sign, usable) if operand.shape.direction > 0 else (usable, usable & one_sign)
    least, greatest = (pc.if_else(pa.array(mask), end, nothing) for mask, end in zip(known, ends, strict=True))
    return least, greatest


def _is_number(values: pa.Array) -> Mask:
    """Return a mask of the values that are neither null nor NaN."""
    return _mask(pc.invert(pc.is_nan(values)) if pa.types.is_floating(values.type) else values.is_valid())


def _mask(values: pa.Array) -> Mask:
    mask: Mask = values.fill_null(False).to_numpy(zero_copy_only=False)
    return mask


def _shifted(operand: Computed, low: pa.Array, high: pa.Array, usable: Mask) -> tuple[pa.Array, pa.Array]:
    """Return bounds whose local times enclose the local time of every instant between them [PRU-FN-5]."""
    if not usable.any():
        return low, high
    kind = low.type
    lows, highs = (values.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) for values in (low, high))
    # let o be the zone's offset, with o in [a, a + s] around all instants; for every instant u >= low:
    # low - s + o(low - s) <= low + a <= u + o(u), and the upper bound follows in the same way
    spread = operand.evaluate.spread(operand.shape.zone, int(lows[usable].min()), int(highs[usable].max()))
    edges = np.iinfo(np.int64)
    # the shift stops at the ends of int64, beyond which there are no instants
    lows, highs = np.maximum(lows, edges.min + spread) - spread, np.minimum(highs, edges.max - spread) + spread
    return pa.array(lows, pa.int64(), mask=~usable).view(kind), pa.array(highs, pa.int64(), mask=~usable).view(kind)


def _day(instants: pa.Array, shift: int) -> pa.Array:
    micros = instants.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    edges = np.iinfo(np.int64)
    # the UTC day of the shifted instant bounds the local day in every time zone; the clip avoids an overflow
    days = (np.clip(micros, edges.min + _OFFSET, edges.max - _OFFSET) + shift) // 86_400_000_000
    return pa.array(days.astype(np.int32), pa.int32()).view(pa.date32())


def _same(low: pa.Array, high: pa.Array, period: str) -> Mask:
    """Return a mask of the rows whose bounds lie in one year or month; for instants, in every time zone."""
    if pa.types.is_timestamp(low.type):
        low, high = (_day(low, -_OFFSET), _day(high, _OFFSET))
    same = _mask(pc.equal(pc.year(low), pc.year(high)))
    return same if period == "year" else same & _mask(pc.equal(pc.month(low), pc.month(high)))
