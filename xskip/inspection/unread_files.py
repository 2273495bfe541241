"""Files that rewrites of plans need not read by bounds: those of one group, and those without first rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from xskip.results.index_usage import ConditionKind

__all__ = ["unread_shares"]


def unread_shares(bounds: pa.Array | None, counts: pa.Array | None) -> dict[ConditionKind, float]:
    """Return the shares of files that rewrites need not read with bounds of a column, by what they need.

    ``bounds`` and ``counts`` are the statistics of MinMax and NullCount of the same files. Without counts, every file
    may have NULL. The first rows are as few as each file has.

    >>> bounds = pa.StructArray.from_arrays([pa.array([0, 4, 7]), pa.array([5, 9, 7])], ["min", "max"])
    >>> counts = pa.StructArray.from_arrays([pa.array([0, 2, 0]), pa.array([9, 9, 9])], ["nulls", "rows"])
    >>> shares = unread_shares(bounds, counts)
    >>> {kind: round(share, 2) for kind, share in shares.items()}
    {'least': 0.33, 'greatest': 0.33, 'group': 0.33, 'least_or_null': 0.33, 'greatest_or_null': 0.33}
    """
    if bounds is None or not pa.types.is_struct(bounds.type) or not len(bounds):
        return {}
    low, high = (pc.struct_field(bounds, side) for side in (0, 1))
    nothing = pa.scalar(None, low.type)
    low, high = (pc.if_else(bounds.is_valid(), side, nothing) for side in (low, high))
    is_empty = pc.and_(bounds.is_valid(), pc.and_(low.is_null(), high.is_null()))
    nulls = None if counts is None else pc.struct_field(counts, 0)
    has_no_null = pa.array([False] * len(bounds)) if nulls is None else pc.equal(nulls, 0).fill_null(False)
    # The first rows are not behind the least of the greatest values: the file with it has enough rows.
    is_behind = pc.greater(low, pc.min(high)).fill_null(False)
    is_before = pc.less(high, pc.max(low)).fill_null(False)
    is_one = pc.and_(pc.equal(low, high).fill_null(False), has_no_null)
    unread: dict[ConditionKind, pa.Array] = {
        "least": pc.or_(is_behind, is_empty),
        "greatest": pc.or_(is_before, is_empty),
        "group": pc.or_(is_one, is_empty),
        "least_or_null": pc.and_(is_behind, has_no_null),
        "greatest_or_null": pc.and_(is_before, has_no_null),
    }
    return {kind: float(pc.mean(mask).as_py()) for kind, mask in unread.items()}
