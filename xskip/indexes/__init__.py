"""The index types, one module per type.

The module of an index type defines how a build collects the statistics and which clauses test the statistics at query
time. To add an index type, write a class that follows the protocol :class:`~xskip.indexes.index_type.Index` and pass
the class to :func:`~xskip.indexes.registry.register`. This package imports ``clauses`` and the layers below it, and the
module of an index type when it is used first.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from xskip.indexes.registry import BUILT_IN, index_of, keys_of_paths, register, registered

if TYPE_CHECKING:
    from xskip.indexes.base import OneColumn, Parameter
    from xskip.indexes.bloomfilter import BloomFilter
    from xskip.indexes.formatted import Formatted
    from xskip.indexes.gaplist import GapList
    from xskip.indexes.geobox import GeoBox
    from xskip.indexes.hybrid import Hybrid
    from xskip.indexes.index_type import Index
    from xskip.indexes.minmax import MinMax
    from xskip.indexes.nullcount import NullCount
    from xskip.indexes.pathbounds import PathBounds
    from xskip.indexes.prefix import Prefix
    from xskip.indexes.tokenbloom import TokenBloom
    from xskip.indexes.valuelist import ValueList

__all__ = [
    "BloomFilter",
    "Formatted",
    "GapList",
    "GeoBox",
    "Hybrid",
    "Index",
    "MinMax",
    "NullCount",
    "OneColumn",
    "Parameter",
    "PathBounds",
    "Prefix",
    "TokenBloom",
    "ValueList",
    "index_of",
    "keys_of_paths",
    "register",
    "registered",
]

#: The modules of the other names.
_MODULES = {
    "OneColumn": "base",
    "Parameter": "base",
    "Index": "index_type",
    **{class_name: module for module, class_name in BUILT_IN.items()},
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a name at its first use."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
