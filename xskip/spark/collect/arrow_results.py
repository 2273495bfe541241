"""The rows of a DataFrame as an Arrow table, on each supported version of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["arrow_table"]


def arrow_table(df: DataFrame) -> pa.Table:
    """Run a query and return its rows."""
    if hasattr(df, "toArrow"):
        return df.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema  # Spark 3.5 has no public Arrow result

    batches = df._collect_as_arrow()  # type: ignore[operator]
    return pa.Table.from_batches(batches, None if batches else to_arrow_schema(df.schema))
