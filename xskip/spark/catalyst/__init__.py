"""The decoding of Catalyst expressions into predicates, and the evaluation of functions by Spark.

Entry points: :func:`~xskip.spark.catalyst.filter_decoder.to_predicate` and :mod:`~xskip.spark.catalyst.evaluator`. The
package imports ``spark.bridge`` and the layers below.
"""
