"""The only way between Python and Spark's JVM: the hook is compiled here, called, and calls back.

Ways in: :func:`~xskip.spark.bridge.gateway.hook_of` and :mod:`~xskip.spark.bridge.hadoop_filesystem`. py4j is imported
here and nowhere else. Imports ``metadatastore`` and what lies below.
"""
