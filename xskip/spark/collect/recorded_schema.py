"""The schema that Spark has recorded in the footer of a Parquet file on a local disk, for reads without a Spark job."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["recorded_schema"]

#: The key of ParquetReadSupport; Spark takes the schema of a file from its value, and infers it only without one.
_KEY = b"org.apache.spark.sql.parquet.row.metadata"
#: Spark checks the declared types of CHAR and VARCHAR columns in a schema of the user, and not in one of a file.
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"


def recorded_schema(path: Path) -> StructType | None:
    """Return the schema in the footer of a file; None without one, or if anything prevents its reading."""
    from pyspark.sql.types import StructType

    with suppress(OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        text = (pq.read_metadata(path).metadata or {}).get(_KEY)
        if text is not None and _DECLARED not in (decoded := text.decode()):
            return StructType.fromJson(json.loads(decoded))
    return None
