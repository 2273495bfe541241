"""The index types. One index type is one file with both halves of its life: how it is collected, and what it answers.

To add one: a file here, or a class of your own that follows :class:`~xskip.indexes.base.Index`, and
:func:`~xskip.indexes.registry.register`. Imports ``clauses`` and what lies below.
"""

from xskip.indexes.base import Index, OneColumn, Parameter
from xskip.indexes.bloomfilter import BloomFilter
from xskip.indexes.formatted import Formatted
from xskip.indexes.gaplist import GapList
from xskip.indexes.geobox import GeoBox
from xskip.indexes.hybrid import Hybrid
from xskip.indexes.minmax import MinMax
from xskip.indexes.nullcount import NullCount
from xskip.indexes.prefix import Prefix
from xskip.indexes.registry import index_of, register, registered
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
    "Prefix",
    "TokenBloom",
    "ValueList",
    "index_of",
    "register",
    "registered",
]

for kind in (MinMax, ValueList, BloomFilter, NullCount, Prefix, Hybrid, GapList, GeoBox, Formatted, TokenBloom):
    register(kind)
