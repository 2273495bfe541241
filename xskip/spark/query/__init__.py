"""Queries: the answer to each scan that Spark plans.

Ways in: :func:`~xskip.spark.query.engine.engine_of`. Imports ``spark.collect`` and what lies below.
"""
