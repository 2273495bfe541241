"""Damaged metadata: no query loses a row because of it, takes long, or takes much memory.

``python -m tests.fuzz.metadata --indexes 100000 --seed 7`` damages the given number of small indexes in random ways,
and prints the number of each case with a fault. ``--only NUMBER`` runs a single case again.
"""
