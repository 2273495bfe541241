"""A suite of query plans: with indexes, no scan reads more files and no plan has more exchanges than without."""
