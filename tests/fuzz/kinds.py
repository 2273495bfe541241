"""The kinds of indexes for the copies of a dataset, with one line for each kind; one copy has all kinds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from random import Random
from typing import NamedTuple

import xskip
from tests.fuzz.data import COLUMNS, FIELDS

__all__ = ["KINDS", "SINGLE", "indexes", "on_columns", "some"]

_ATOMIC = tuple(dict.fromkeys(kind for kind in FIELDS.values() if "<" not in kind))
_NUMBERS = ("int", "bigint", "smallint", "double", "float", "decimal(10,2)", "date", "timestamp", "timestamp_ntz")
_HASHED = ("int", "bigint", "smallint", "string", "date", "timestamp", "binary")
_ANY = tuple(dict.fromkeys([*COLUMNS.values(), *FIELDS.values()]))
_ARRAYS = ("array<int>",)
_SEVERAL = 4


class Kind(NamedTuple):
    """A function that creates an index type for a column, and the column types that it supports."""

    make: Callable[[str], xskip.Index]
    types: tuple[str, ...]


_EACH = {
    "minmax": Kind(xskip.MinMax, (*_ATOMIC, *_ARRAYS)),
    "valuelist": Kind(xskip.ValueList, (*_ATOMIC, *_ARRAYS)),
    "bloom": Kind(xskip.BloomFilter, (*_HASHED, *_ARRAYS)),
    "nullcount": Kind(xskip.NullCount, _ANY),
    "prefix": Kind(lambda column: xskip.Prefix(column, length=3), ("string", "binary")),
    "hybrid": Kind(lambda column: xskip.Hybrid(column, max_values=2), (*_HASHED, *_ARRAYS)),
    "gaplist": Kind(lambda column: xskip.GapList(column, gaps=1), (*_NUMBERS, *_ARRAYS)),
    "tokenbloom": Kind(xskip.TokenBloom, ("string",)),
}
#: Indexes of several columns, or of expressions, with the columns that they need.
_WHOLE: dict[str, list[tuple[tuple[str, ...], xskip.Index]]] = {
    "geobox": [(("d", "f"), xskip.GeoBox("d", "f", boxes=2)), (("i", "h"), xskip.GeoBox("i", "h", boxes=2))],
    "expression": [
        (("m",), xskip.MinMax("m['k']", expression=True)),
        (("m",), xskip.NullCount("element_at(m, 'k')", expression=True)),
        (("arr",), xskip.ValueList("size(arr)", expression=True)),
        (("i", "h"), xskip.MinMax("coalesce(h, i)", expression=True)),
        (("s",), xskip.ValueList("upper(s)", expression=True)),
        (("dt",), xskip.MinMax("year(dt)", expression=True)),
    ],
}
#: The kinds of indexes of one column.
SINGLE = tuple(_EACH)
#: The names of the copies.
KINDS = (*_EACH, *_WHOLE, "pathbounds", "all")


def some(random: Random, absent: Collection[str] = ()) -> tuple[str, ...]:
    """Return the kinds for the copies of a round: a sample of single kinds, and all kinds together.

    Parameters
    ----------
    random : Random
    absent : collection of str
        The columns that files lack. The sample omits kinds that have no index on the other columns.
    """
    single = [kind for kind in KINDS[:-1] if kind == "pathbounds" or indexes(kind, absent)]
    return (*random.sample(single, _SEVERAL), "all")


def indexes(
    kind: str, partitions: Collection[str] = (), of_paths: Iterable[xskip.PathBounds] = ()
) -> list[xskip.Index]:
    """Return the index types of one copy.

    Parameters
    ----------
    kind : str
    partitions : collection of str
        The columns that files lack. The other columns and fields of a supported type have an index.
    of_paths : iterable of PathBounds
        The indexes of bounds that the names of the copy's files contain.
    """
    columns = {name: of for name, of in (COLUMNS | FIELDS).items() if name not in partitions}
    made = on_columns(kind, columns)
    whole = [each for name, found in _WHOLE.items() if kind in (name, "all") for each in found]
    made += [index for needed, index in whole if not set(needed) & set(partitions)]
    return [*made, *of_paths] if kind in ("pathbounds", "all") else made


def on_columns(kind: str, columns: Mapping[str, str]) -> list[xskip.Index]:
    """Return the index types of a kind, or of all single kinds, on the columns that they support, given with types."""
    chosen = [each for name, each in _EACH.items() if kind in (name, "all")]
    return [each.make(name) for each in chosen for name, of in columns.items() if of in each.types]
