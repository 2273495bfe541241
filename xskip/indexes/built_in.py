"""The index types that xskip registers itself. Another one is a module of this folder and a line here."""

from xskip.indexes.bloomfilter import BloomFilter
from xskip.indexes.formatted import Formatted
from xskip.indexes.gaplist import GapList
from xskip.indexes.geobox import GeoBox
from xskip.indexes.hybrid import Hybrid
from xskip.indexes.minmax import MinMax
from xskip.indexes.nullcount import NullCount
from xskip.indexes.pathbounds import PathBounds
from xskip.indexes.prefix import Prefix
from xskip.indexes.registry import register
from xskip.indexes.tokenbloom import TokenBloom
from xskip.indexes.valuelist import ValueList

__all__ = ["BUILT_IN"]

BUILT_IN = (
    MinMax,
    ValueList,
    BloomFilter,
    NullCount,
    Prefix,
    Hybrid,
    GapList,
    GeoBox,
    Formatted,
    TokenBloom,
    PathBounds,
)

for kind in BUILT_IN:
    register(kind)
