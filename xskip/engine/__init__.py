"""The engine: which files of a dataset a query needs, decided from a request and the statistics, without Spark.

Entry points: :class:`~xskip.engine.engine.Engine`, which answers the requests of the JVM's hook through a
:class:`~xskip.engine.ports.Platform`, and :func:`~xskip.engine.selection.select`, which programs without Spark call,
too.
"""
