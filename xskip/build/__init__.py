"""Builds and refreshes: what changed in a dataset, its statistics, and the commit of a new snapshot.

Ways in: :mod:`~xskip.build.source` and :class:`~xskip.build.builder.Build`. Imports ``spark`` and what lies below.
"""
