"""The registry of index types, by the name that the metadata uses."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from xskip.errors import IndexDefinitionError
from xskip.metadata.table import IndexDefinition, IndexKey

if TYPE_CHECKING:
    from xskip.indexes.index_type import Index

__all__ = ["BUILT_IN", "index_of", "keys_of_paths", "register", "registered", "type_of"]

#: The classes of xskip's index types. The module of a class has the name of the index type, and is imported when the
#: index type is used first.
BUILT_IN = {
    "minmax": "MinMax",
    "valuelist": "ValueList",
    "bloomfilter": "BloomFilter",
    "nullcount": "NullCount",
    "prefix": "Prefix",
    "hybrid": "Hybrid",
    "gaplist": "GapList",
    "geobox": "GeoBox",
    "formatted": "Formatted",
    "tokenbloom": "TokenBloom",
    "pathbounds": "PathBounds",
}
#: Those that are computed from the paths of files.
_OF_PATHS = {"pathbounds"}
#: The index types that have been used or registered.
_TYPES: dict[str, type[Index]] = {}
#: The names of columns in the metadata join the name of an index type and those of its columns by underscores.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def register(kind: type[Index]) -> type[Index]:
    """Register an index type under its ``name``; the function also works as a class decorator.

    Parameters
    ----------
    kind : type of Index
        The class of the index type.

    Returns
    -------
    type of Index
        The same class.

    Raises
    ------
    IndexDefinitionError
        If the object is no class with a name of letters and digits, or another class is registered under the name.

    Examples
    --------
    A further registration of the same class has no effect. A class that is defined anew, as by a notebook's cell that
    runs again, replaces the class of the same module and name.

    >>> xskip.register(xskip.MinMax)
    <class 'xskip.indexes.minmax.MinMax'>
    """
    if not isinstance(kind, type) or not isinstance(getattr(kind, "name", None), str):
        raise IndexDefinitionError(
            "an index type is a class with a name", found=repr(kind)[:100], expected="a class such as MinMax"
        )
    if not _NAME.fullmatch(kind.name):
        raise IndexDefinitionError(
            "the name of an index type is not valid", where=kind.__qualname__, found=repr(kind.name)[:100],
            expected="letters and digits, such as 'suffix'",
        )  # fmt: skip
    # a notebook's cell that runs again defines its class anew, with the same module and name
    known = type_of(kind.name) or kind
    if (known.__module__, known.__qualname__) == (kind.__module__, kind.__qualname__):
        _TYPES[kind.name] = kind
    else:
        raise IndexDefinitionError(
            f"two index types have the name {kind.name!r}", found=f"{known.__qualname__} and {kind.__qualname__}"
        )
    return kind


def registered() -> tuple[str, ...]:
    """Return the names of all registered index types, xskip's own first, in the order of registration."""
    return tuple(dict.fromkeys((*BUILT_IN, *_TYPES)))


def type_of(name: str) -> type[Index] | None:
    """Return the index type with a name, or None if no index type of this name is registered."""
    if name not in _TYPES and name in BUILT_IN:
        _TYPES[name] = getattr(importlib.import_module(f"xskip.indexes.{name}"), BUILT_IN[name])
    return _TYPES.get(name)


def index_of(definition: IndexDefinition) -> Index | None:
    """Return the index that a recorded definition describes, or None for an unknown type or an invalid parameter."""
    kind = type_of(definition.name)
    if kind is None:
        return None
    try:
        return _made(kind, definition)
    except (ValueError, TypeError):
        return None


def keys_of_paths(definitions: Iterable[IndexDefinition]) -> list[IndexKey]:
    """Return the keys of the indexes that are computed from the paths of files."""
    possible = (d for d in definitions if d.name in _OF_PATHS or d.name not in BUILT_IN)
    indexes = ((definition.key, index_of(definition)) for definition in possible)
    return [key for key, index in indexes if index is not None and index.of_paths]


@lru_cache(maxsize=4096)  # every query looks up all indexes on its columns
def _made(kind: type[Index], definition: IndexDefinition) -> Index:
    return kind.from_definition(definition)
