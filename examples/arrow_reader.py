"""Read the rows of a Parquet dataset that match a condition with Arrow, from the files that the index leaves.

python examples/arrow_reader.py /lake/events "ts > '2024-03-01'"
"""

from __future__ import annotations

import sys

import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from xskip import SkippingIndex


def main(path: str, predicate: str) -> None:
    """Run the example.

    Parameters
    ----------
    path : str
        The directory of an indexed dataset of Parquet files.
    predicate : str
        A condition in Spark's SQL.
    """
    spark = SparkSession.builder.appName("arrow reader").getOrCreate()
    files = SkippingIndex.for_path(spark, path).files(predicate)
    print(f"{len(files.names):,} of {files.total:,} files can hold matching rows")
    if files.names:
        print(f"{ds.dataset(files.names).count_rows():,} rows in these files")


if __name__ == "__main__":
    main(*sys.argv[1:3])
