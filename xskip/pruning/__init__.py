"""From a predicate to the files that it rules out.

Ways in: :func:`~xskip.pruning.translate.translate`, which makes a clause of a predicate, and
:func:`~xskip.pruning.prune.prune`, the one place where a verdict skips a file. Imports ``indexes`` and what lies below.
"""
