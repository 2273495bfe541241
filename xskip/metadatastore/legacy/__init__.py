"""Encodings of other programs: Java's serialisation, its older calendar, and what Xskipper's metadata cannot prove.

Ways in: :mod:`~xskip.metadatastore.legacy.java_values`, :mod:`~xskip.metadatastore.legacy.java_bloom` and
:mod:`~xskip.metadatastore.legacy.xskipper_metadata`. Imports ``metadata`` and what lies below.
"""
