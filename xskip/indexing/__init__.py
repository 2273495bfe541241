"""Builds and refreshes: the changes in a dataset, the statistics of its files, and the commit of a new snapshot.

Entry points: :mod:`~xskip.indexing.source` and :class:`~xskip.indexing.builder.Build`.
"""
