"""Statistics of data files: the listing of a dataset, and what index types collect, in one job over its files.

Ways in: :mod:`~xskip.spark.collect.relation` and :class:`~xskip.spark.collect.collector.Collector`. Imports
``spark.catalyst`` and what lies below.
"""
