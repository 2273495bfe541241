"""Spark's types as metadata stores them, Bloom filters over values of these types, sort keys and masks.

Entry points: :func:`~xskip.types.datatypes.arrow_type` and :mod:`xskip.types.bloom_bits`. This package imports only
``xskip.errors``.
"""

from xskip.types.datatypes import Array, Storage, Struct

__all__ = ["Array", "Storage", "Struct"]
