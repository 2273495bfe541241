"""The kinds of indexes that copies of a dataset are made with: a line for each, and one copy has them all."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import xskip
from tests.fuzz.data import COLUMNS, FIELDS

__all__ = ["KINDS", "indexes"]

_ATOMIC = tuple(dict.fromkeys(kind for kind in FIELDS.values() if "<" not in kind))
_HASHED = ("int", "bigint", "smallint", "string", "date", "timestamp", "binary")
_ANY = tuple(dict.fromkeys([*COLUMNS.values(), *FIELDS.values()]))


class Kind(NamedTuple):
    """How an index of a column is made, and for columns of which types."""

    make: Callable[[str], xskip.Index]
    types: tuple[str, ...]


_EACH = {
    "minmax": Kind(xskip.MinMax, _ATOMIC),
    "valuelist": Kind(xskip.ValueList, _ATOMIC),
    "bloom": Kind(xskip.BloomFilter, _HASHED),
    "nullcount": Kind(xskip.NullCount, _ANY),
}
#: The names of the copies.
KINDS = (*_EACH, "all")


def indexes(kind: str, partitions: Collection[str] = ()) -> list[xskip.Index]:
    """The indexes of one copy: on every column and field of a fitting type but the partition columns."""
    columns = {name: of for name, of in (COLUMNS | FIELDS).items() if name not in partitions}
    chosen = list(_EACH.values()) if kind == "all" else [_EACH[kind]]
    return [each.make(name) for each in chosen for name, of in columns.items() if of in each.types]
