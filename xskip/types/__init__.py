"""Spark's types as metadata stores them, and Bloom filters over their values.

Ways in: :func:`~xskip.types.datatypes.arrow_type` and :mod:`xskip.types.bloom_filter`.
Imports ``xskip.errors`` alone.
"""

from xskip.types.datatypes import Array, Storage, Struct

__all__ = ["Array", "Storage", "Struct"]
