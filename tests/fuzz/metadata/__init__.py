"""Damaged metadata: no query loses a row by it, takes long, or takes much memory.

``python -m tests.fuzz.metadata --indexes 100000 --seed 7`` damages so many small indexes, each in a way of its own, and
prints the number of each case that it finds a fault in; ``--only NUMBER`` runs one again.
"""
