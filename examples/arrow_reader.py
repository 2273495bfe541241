"""Read the rows of a Parquet dataset whose column exceeds a number with Arrow, from the files that the index leaves.

python examples/arrow_reader.py /lake/events user_id 1000
"""

from __future__ import annotations

import sys

import pyarrow.dataset as ds

import xskip


def main(path: str, column: str, number: float) -> None:
    """Run the example, which needs no Spark.

    Parameters
    ----------
    path : str
        The directory of an indexed dataset of Parquet files.
    column : str
        A column of numbers.
    number : float
        The number.
    """
    condition = ds.field(column) > number
    files = xskip.open_index(path).files(condition)
    rows = files.to_pyarrow()
    print(f"{len(files):,} of {files.total:,} files can hold matching rows")
    print(f"{rows.count_rows():,} rows in these files, {rows.to_table(filter=condition).num_rows:,} of them match")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
