"""The statistics of data files: the listing of a dataset, and the Spark jobs that collect the values of its indexes.

Entry points: :mod:`~xskip.spark.collect.relation` and :class:`~xskip.spark.collect.collector.Collector`.
"""
