"""Spark's side: the hook into its optimizer, its listings, its filters, its aggregates.

.. code-block:: text

    build    jvm.Dataset -> listing -> collect (footers) -> a MetadataTable
    query    java/XSkip*.java -> jvm.Hook -> scan -> catalyst -> pruning -> a bitmap
"""
