"""Bring the indexes of datasets up to date, and report those that could not be brought up to date; for a schedule.

Write your datasets and their indexes into ``DATASETS``. ``xskip ensure --config FILE`` does the same without a script.

python examples/ensure_indexes.py avro
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

import xskip
from xskip import BloomFilter, Index, MinMax, SkippingIndex, ValueList, XskipError

DATASETS: Mapping[str, Sequence[Index]] = {
    "/lake/events": [MinMax("ts"), ValueList("city")],
    "/lake/orders": [MinMax("ordered"), BloomFilter("customer")],
}


def main(file_format: str, datasets: Mapping[str, Sequence[Index]] = DATASETS) -> int:
    """Run the example.

    Parameters
    ----------
    file_format : str
        The format of the datasets, such as ``avro``.
    datasets : mapping of str to sequence of Index
        The directories of the datasets, each with all indexes that it should have.

    Returns
    -------
    int
        1 if an index could not be brought up to date or a file could not be read, else 0.
    """
    spark = xskip.configure(SparkSession.builder.appName("ensure")).getOrCreate()
    failed = False
    for path, indexes in datasets.items():
        try:
            result = SkippingIndex.for_path(spark, path, format=file_format).ensure(indexes, on_error="skip")
        except XskipError as error:
            print(f"{path}: {error}")
            failed = True
        else:
            unread = ", ".join(result.failed) or "none"
            print(f"{path}: {result.added} added, {result.removed} removed, not read: {unread}")
            failed = failed or bool(result.failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
