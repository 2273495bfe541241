"""The pruning of queries: an engine answers each scan that Spark plans with the files to skip.

Entry point: :func:`~xskip.spark.query.engine.engine_of`. The package imports ``spark.collect`` and the layers below.
"""
