"""Spark's types as metadata stores them, and Bloom filters over values of these types.

Entry points: :func:`~xskip.types.datatypes.arrow_type` and :mod:`xskip.types.bloom_bits`. This package imports only
``xskip.errors``.
"""

from xskip.types.datatypes import Array, Storage, Struct

__all__ = ["Array", "Storage", "Struct"]
