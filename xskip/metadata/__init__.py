"""Metadata in memory: a table with one row for each file, and how those files were read.

Ways in: :class:`~xskip.metadata.table.MetadataTable`, :class:`~xskip.metadata.objects.Objects` and
:class:`~xskip.metadata.read_profile.ReadProfile`. Imports ``expressions`` and what lies below.
"""
