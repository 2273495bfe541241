"""Catalyst's expressions: decoded into predicates, and evaluated by Spark itself.

Ways in: :func:`~xskip.spark.catalyst.decode.to_predicate` and :mod:`~xskip.spark.catalyst.evaluator`. Imports
``spark.bridge`` and what lies below.
"""
