"""The indexes. One index is one file with both halves of its life: how it is collected, and what it answers.

To add one: a file here (or a class of your own that follows :class:`~xskip.indexes.base.Index`), and
:func:`~xskip.indexes.registry.register`.
"""

from xskip.indexes.base import Index
from xskip.indexes.bloomfilter import BloomFilter
from xskip.indexes.minmax import MinMax
from xskip.indexes.nullcount import NullCount
from xskip.indexes.registry import index_of, register, registered
from xskip.indexes.valuelist import ValueList

__all__ = ["BloomFilter", "Index", "MinMax", "NullCount", "ValueList", "index_of", "register", "registered"]

register(MinMax)
register(ValueList)
register(BloomFilter)
register(NullCount)
