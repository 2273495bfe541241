"""The Spark layer: the bridge to Spark's JVM, expressions, file statistics and the pruning of queries.

.. code-block:: text

    build    collect.relation -> collect.listing -> collect.collector (parquet_footers) -> a MetadataTable
    query    java -> bridge.callback -> query.spark_engine (request) -> catalyst.filter_decoder -> pruning -> a bitmap
"""
