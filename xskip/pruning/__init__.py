"""Pruning: from a predicate to the files that cannot hold a matching row.

Entry points: :func:`~xskip.pruning.clause_translation.translate`, which translates a predicate into a clause, and
:func:`~xskip.pruning.prune.prune`, the only place where a verdict skips a file. This package imports ``indexes`` and
the layers below it.
"""
