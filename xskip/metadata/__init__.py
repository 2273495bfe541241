"""In-memory metadata: a table with one row for each file, and the profile with which Spark read the files.

Entry points: :class:`~xskip.metadata.table.MetadataTable`, :class:`~xskip.metadata.data_files.DataFiles` and
:class:`~xskip.metadata.read_profile.ReadProfile`. This package imports ``expressions`` and the layers below it.
"""
