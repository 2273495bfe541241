"""Random tables of QuestDB: a server writes and changes them, and reads return what the server selects.

``python -m tests.fuzz.questdb --tables 100 --seed 7`` changes each table in several steps. After each step, it compares
the rows with those that the server selects, and the rows that Spark reads with filters, with an index, with
``latest_on``, and with a cold tier.
"""
