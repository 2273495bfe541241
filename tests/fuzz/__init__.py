"""Random data, files, indexes, settings and filters: what is skipped holds no matching row.

``python -m tests.fuzz --pairs 20000 --seed 7`` runs until so many pairs of a file and a predicate were asked, and
prints a script for each wrong skip that it finds.
"""
