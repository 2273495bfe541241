"""The state of an index: its description, its comparison with the present files, and advice, all without Spark."""
