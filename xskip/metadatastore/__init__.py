"""The Parquet metadatastore: where it is, what its files hold, how they change.

.. code-block:: text

    location   dataset  -> directory
    filesystem directory -> files, on any file system
    commit     files    -> the files of one whole snapshot; a new snapshot, or none
    versions   names and labels of each version of the format
    schema     Spark's schema JSON <-> definitions
    codec      one file <-> a MetadataTable
    snapshot   all of the above, read once and kept

Imports ``pruning``, ``metadatastore.legacy`` and what lies below.
"""
