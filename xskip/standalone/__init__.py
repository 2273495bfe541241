"""Selection of files without Spark, for queries in other engines.

Entry point: :func:`~xskip.standalone.opened.open_index`. This package imports neither pyspark nor
py4j. Rules: specs/standalone.rst.
"""
