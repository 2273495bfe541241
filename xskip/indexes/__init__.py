"""The index types, one module per type.

The module of an index type defines how a build collects the statistics and which clauses test the statistics at query
time. To add an index type, write a class that follows the protocol :class:`~xskip.indexes.index_type.Index` and pass
the class to :func:`~xskip.indexes.registry.register`. This package imports ``clauses`` and the layers below it.
"""

from xskip.indexes.base import OneColumn, Parameter
from xskip.indexes.bloomfilter import BloomFilter
from xskip.indexes.built_in import BUILT_IN
from xskip.indexes.formatted import Formatted
from xskip.indexes.gaplist import GapList
from xskip.indexes.geobox import GeoBox
from xskip.indexes.hybrid import Hybrid
from xskip.indexes.index_type import Index
from xskip.indexes.minmax import MinMax
from xskip.indexes.nullcount import NullCount
from xskip.indexes.pathbounds import PathBounds
from xskip.indexes.prefix import Prefix
from xskip.indexes.registry import index_of, keys_of_paths, register, registered
from xskip.indexes.tokenbloom import TokenBloom
from xskip.indexes.valuelist import ValueList

__all__ = [
    "BUILT_IN",
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
