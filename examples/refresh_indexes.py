"""Refresh the indexes of datasets, and report those that could not be refreshed; for a schedule.

python examples/refresh_indexes.py avro /lake/events /lake/orders
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession

import xskip
from xskip import SkippingIndex, XskipError


def main(file_format: str, paths: Sequence[str]) -> int:
    """Run the example.

    Parameters
    ----------
    file_format : str
        The format of the datasets, such as ``avro``.
    paths : sequence of str
        The directories of the datasets.

    Returns
    -------
    int
        1 if an index could not be refreshed or a file could not be read, else 0.
    """
    spark = xskip.configure(SparkSession.builder.appName("refresh")).getOrCreate()
    failed = False
    for path in paths:
        try:
            result = SkippingIndex.for_path(spark, path, format=file_format).refresh(on_error="skip")
        except XskipError as error:
            print(f"{path}: {error}")
            failed = True
        else:
            unread = ", ".join(result.failed) or "none"
            print(f"{path}: {result.added} added, {result.removed} removed, not read: {unread}")
            failed = failed or bool(result.failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
