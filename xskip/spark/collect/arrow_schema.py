"""The Arrow schema of a DataFrame, for engines other than Spark."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.errors import DatasetError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["arrow_schema"]


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of a Spark schema; a type without an equivalent is a DatasetError."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    # Spark 4.3 has no default for the zone of timestamps, which was UTC
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
    fields = []
    for column in schema.fields:
        try:
            fields.append(pa.field(column.name, to_arrow_type(column.dataType, **zone)))
        except (PySparkException, TypeError) as error:
            raise DatasetError(
                "a column has a type without an equivalent in Arrow", where=column.name,
                found=column.dataType.simpleString(), hint="read the paths of the files with the engine itself",
            ) from error  # fmt: skip
    return pa.schema(fields)
