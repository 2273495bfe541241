"""Spark's side: the bridge to its JVM, its expressions, its files and its queries.

.. code-block:: text

    build    collect.relation -> collect.listing -> collect.collector (parquet_footers) -> a MetadataTable
    query    java/XSkip*.java -> bridge.gateway -> query.engine -> catalyst.decode -> pruning -> a bitmap
"""
