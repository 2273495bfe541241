"""The pruning of queries: an engine answers each scan that Spark plans with the files to skip."""
