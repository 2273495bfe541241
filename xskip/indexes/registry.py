"""Which index types are known, by the name that metadata gives them."""

from __future__ import annotations

from functools import lru_cache

from xskip.errors import IndexDefinitionError
from xskip.indexes.base import Index
from xskip.metadata.table import IndexDefinition

__all__ = ["index_of", "register", "registered"]

_TYPES: dict[str, type[Index]] = {}


def register(kind: type[Index]) -> type[Index]:
    """Makes an index type known under its ``name``; usable as a class decorator.

    Raises
    ------
    IndexDefinitionError
        Another type has the name.
    """
    known = _TYPES.setdefault(kind.name, kind)
    if known is not kind:
        raise IndexDefinitionError(
            f"two index types named {kind.name!r}", found=f"{known.__qualname__} and {kind.__qualname__}"
        )
    return kind


def registered() -> tuple[str, ...]:
    """The names of all index types.

    >>> registered()[:3]
    ('minmax', 'valuelist', 'bloomfilter')
    """
    return tuple(_TYPES)


def index_of(definition: IndexDefinition) -> Index | None:
    """The index that a recorded definition means, or None where its type is not known or its parameters are odd."""
    kind = _TYPES.get(definition.name)
    if kind is None:
        return None
    try:
        return _made(kind, definition)
    except (ValueError, TypeError):
        return None


@lru_cache(maxsize=4096)  # every query asks for all indexes of its columns
def _made(kind: type[Index], definition: IndexDefinition) -> Index:
    return kind.from_definition(definition)
