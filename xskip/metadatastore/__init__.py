"""The Parquet metadatastore: the location of an index, the content of its metadata files, and its commits.

.. code-block:: text

    location   finds the metadata directory of a dataset
    filesystem reads and writes the files of a directory, on any file system
    commit     finds the files of one complete snapshot, and commits a new snapshot
    versions   names columns and parameters in each version of the format
    schema     converts between Spark's schema JSON and definitions
    codec      converts between one metadata file and a MetadataTable
    snapshot   combines all of these; reads each column once and caches it
"""
