"""Refresh the indexes of datasets, and report those that could not be refreshed; for a schedule.

python examples/refresh_indexes.py avro /lake/events /lake/orders
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession

import xskip
from xskip import SkippingIndex, XskipError
from xskip.results.render import text_table


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
    rows: list[tuple[str, object, object, str]] = []
    failed = False
    for path in paths:
        try:
            result = SkippingIndex.for_path(spark, path, format=file_format).refresh(on_error="skip")
        except XskipError as error:
            rows.append((path, "", "", str(error)))
            failed = True
            continue
        rows.append((path, result.added, result.removed, ", ".join(result.failed) or "refreshed"))
        failed = failed or bool(result.failed)
    print(text_table(["dataset", "added", "removed", "result"], rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
