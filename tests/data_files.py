"""Parquet and Avro files with the schema and the metadata that Spark writes, without a job of Spark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    _parse_datatype_string,
)

__all__ = ["arrow_table", "struct_of", "type_of", "write_file"]

#: Python's, Arrow's and Avro's types of the values that are the same in Spark whichever way they reach it.
_TYPES: dict[DataType, tuple[type, pa.DataType, Any]] = {
    BooleanType(): (bool, pa.bool_(), "boolean"),
    ByteType(): (int, pa.int8(), "int"),
    ShortType(): (int, pa.int16(), "int"),
    IntegerType(): (int, pa.int32(), "int"),
    LongType(): (int, pa.int64(), "long"),
    FloatType(): (float, pa.float32(), "float"),
    DoubleType(): (float, pa.float64(), "double"),
    StringType(): (str, pa.string(), "string"),
    BinaryType(): (bytes, pa.binary(), "bytes"),
    DateType(): (date, pa.date32(), {"type": "int", "logicalType": "date"}),
}


@cache
def type_of(text: str) -> DataType:
    """Return the type of a text in DDL; PySpark 3.5 has no public function for it."""
    return _parse_datatype_string(text)


def struct_of(schema: str) -> StructType:
    """Return the schema of a text in DDL."""
    struct = type_of(schema)
    assert isinstance(struct, StructType)
    return struct


def write_file(spark: SparkSession, path: Path, rows: Sequence[Any], schema: StructType) -> bool:
    """Write rows as a Parquet or Avro file, and return True, unless only Spark knows how: False."""
    write = {".parquet": _write_parquet, ".avro": _write_avro}.get(path.suffix)
    if write is None or not _is_default(spark, path.suffix[1:], schema):
        return False
    table = arrow_table(rows, schema)
    if table is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.parent / f"_{path.name}.tmp"
    write(staged, table, schema)
    os.replace(staged, path)
    return True


def arrow_table(rows: Sequence[Any], schema: StructType) -> pa.Table | None:
    """Return rows as a table of Arrow, or None if types or values have other counterparts there."""
    if not all(type(row) is tuple for row in rows):
        return None
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema.fields)
    if len(columns) != len(schema.fields):
        return None
    arrays = [_array(column, field.dataType) for column, field in zip(columns, schema.fields, strict=True)]
    known = [array for array in arrays if array is not None]
    return pa.Table.from_arrays(known, schema.names) if len(known) == len(arrays) else None


def _array(values: Sequence[Any], kind: DataType) -> pa.Array | None:
    arrow = _arrow_type(kind)
    if arrow is None or not all(value is None or _fits(value, kind) for value in values):
        return None
    try:
        return pa.array(values, arrow)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return None


def _arrow_type(kind: DataType) -> pa.DataType | None:
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, StructType):
        types = [(field.name, _arrow_type(field.dataType)) for field in kind.fields]
        names = {name for name, _ in types}
        return None if len(names) < len(types) or any(each is None for _, each in types) else pa.struct(types)
    return _TYPES[kind][1] if kind in _TYPES else None


def _fits(value: Any, kind: DataType) -> bool:
    """Return whether a value has the type that Spark takes without a conversion."""
    if isinstance(kind, DecimalType):
        return type(value) is Decimal and value.is_finite() and -int(value.as_tuple().exponent) <= kind.scale
    if isinstance(kind, StructType):
        if type(value) is not tuple or len(value) != len(kind.fields):
            return False
        return all(part is None or _fits(part, field.dataType) for part, field in zip(value, kind.fields, strict=True))
    if type(value) is float and (isnan(value) or str(value) == "-0.0"):
        return False  # Arrow's bounds in the footer are not those of Java
    return type(value) is _TYPES[kind][0]


def _is_default(spark: SparkSession, fmt: str, schema: StructType) -> bool:
    """Return whether no setting of the session changes what Spark writes."""
    if _has_dates(schema) and spark.conf.get(f"spark.sql.{fmt}.datetimeRebaseModeInWrite") != "CORRECTED":
        return False
    return fmt == "avro" or spark.conf.get("spark.sql.parquet.writeLegacyFormat") == "false"


def _has_dates(kind: DataType) -> bool:
    return kind == DateType() or (isinstance(kind, StructType) and any(_has_dates(f.dataType) for f in kind.fields))


def _write_parquet(path: Path, table: pa.Table, schema: StructType) -> None:
    with pq.ParquetWriter(path, table.schema, store_schema=False, store_decimal_as_integer=True) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(
            {
                "org.apache.spark.version": pyspark.__version__,
                "org.apache.spark.sql.parquet.row.metadata": schema.json(),
            }
        )


def _write_avro(path: Path, table: pa.Table, schema: StructType) -> None:
    described = fastavro.parse_schema(_record(schema, "topLevelRecord", ""))
    metadata = {"org.apache.spark.version": pyspark.__version__}
    with path.open("wb") as file:
        fastavro.writer(file, described, table.to_pylist(), codec="snappy", metadata=metadata)


def _record(schema: StructType, name: str, namespace: str) -> dict[str, Any]:
    inner = f"{namespace}.{name}" if namespace else name
    fields = [{"name": field.name, "type": _nullable(field, inner)} for field in schema.fields]
    return {"type": "record", "name": name, "namespace": namespace, "fields": fields}


def _nullable(field: StructField, namespace: str) -> list[Any]:
    kind = field.dataType
    if isinstance(kind, StructType):
        return [_record(kind, field.name, namespace), "null"]
    if isinstance(kind, DecimalType):
        # the least bytes for the digits and the sign
        size = ((10**kind.precision - 1).bit_length() + 8) // 8
        fixed = {"type": "fixed", "name": "fixed", "namespace": f"{namespace}.{field.name}", "size": size}
        return [{**fixed, "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}, "null"]
    return [_TYPES[kind][2], "null"]
