"""Encodings of other programs: Java's serialisation, the Julian calendar, and the limits of Xskipper's metadata.

The entry points are :mod:`~xskip.metadatastore.legacy.java_values`, :mod:`~xskip.metadatastore.legacy.java_bloom` and
:mod:`~xskip.metadatastore.legacy.xskipper_metadata`. This package imports ``metadata`` and lower layers.
"""
