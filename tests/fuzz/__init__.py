"""Random data, files, indexes, settings and filters: a skipped file must hold no matching row.

``python -m tests.fuzz --pairs 20000 --seed 7`` runs rounds until the given number of pairs of a file and a predicate is
reached, and prints a script for each wrong skip.
"""
