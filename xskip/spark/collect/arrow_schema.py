"""The Arrow schema of a DataFrame, for engines other than Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from xskip.errors import DatasetError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["arrow_schema"]


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of a Spark schema; a type without an equivalent is a DatasetError."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    fields = []
    for column in schema.fields:
        try:
            fields.append(pa.field(column.name, to_arrow_type(column.dataType)))
        except (PySparkException, TypeError) as error:
            raise DatasetError(
                "a column has a type without an equivalent in Arrow", where=column.name,
                found=column.dataType.simpleString(), hint="read the paths of the files with the engine itself",
            ) from error  # fmt: skip
    return pa.schema(fields)
