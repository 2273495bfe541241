"""Scans of data files by a session of Spark, also by a client of Spark Connect."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from xskip.column_paths import in_backticks
from xskip.errors import ArgumentError, DatasetError, shown
from xskip.results.scan_source import ScanSource

__all__ = ["ddl_of_file", "scan_spark"]

#: The formats whose files Spark reads by their paths alone.
_FORMATS = ("parquet", "orc", "avro", "csv", "json")
#: Where Spark keeps its schema in the Parquet files that it writes.
_ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"
#: The key of the schema in the header of an Avro file, and the bytes of the file that hold the header.
_AVRO_SCHEMA, _HEADER = b"avro.schema", 4 << 20
_SIMPLE = (
    (pa.types.is_boolean, "boolean"), (pa.types.is_int8, "tinyint"), (pa.types.is_int16, "smallint"),
    (pa.types.is_int32, "int"), (pa.types.is_int64, "bigint"), (pa.types.is_uint8, "smallint"),
    (pa.types.is_uint16, "int"), (pa.types.is_uint32, "bigint"), (pa.types.is_uint64, "decimal(20,0)"),
    (pa.types.is_float32, "float"), (pa.types.is_float64, "double"), (pa.types.is_date, "date"),
    (pa.types.is_string, "string"), (pa.types.is_large_string, "string"), (pa.types.is_binary, "binary"),
    (pa.types.is_large_binary, "binary"), (pa.types.is_fixed_size_binary, "binary"), (pa.types.is_null, "void"),
)  # fmt: skip


def scan_spark(source: ScanSource, spark: Any, paths: Sequence[str], root: str) -> Any:
    """Return files as a DataFrame with the schema of the whole dataset; the paths are below the root.

    The session may be a client of Spark Connect. ``root`` is the dataset's root as the session names it.
    """
    if not (hasattr(spark, "createDataFrame") and hasattr(spark, "read")):
        raise ArgumentError("spark is not a session", found=shown(spark), expected="a SparkSession")
    if source.format not in _FORMATS or source.spark_schema is None:
        raise DatasetError(
            f"files of the format {source.format} cannot be read by their paths", where=source.root,
            expected=", ".join(_FORMATS),
        )  # fmt: skip
    schema = source.spark_schema()
    if not paths:  # Spark reads nothing from no path, not even with a schema
        return spark.createDataFrame([], schema)
    # names of files can have the characters of globs; values of partitions are in the paths below the root
    literal = {"__globPaths__": "false", "recursiveFileLookup": "false", "basePath": root}
    reader = spark.read.format(source.format).options(**{**source.options, **literal}).schema(schema)
    return reader.load(list(paths))


def ddl_of_file(source: ScanSource, names: pa.Array, schema: pa.Schema, partitions: Mapping[str, str]) -> str:
    """Return the schema of a dataset in DDL by a file: that which Spark has written, or that which Spark would infer.

    ``schema`` has the partition columns, ``partitions`` has their types in Spark.
    """
    footer: Any = source.footer(names) if source.format == "parquet" else None
    written = (footer.metadata or {}).get(_ROW_METADATA) if footer is not None else None
    if written is not None:
        fields = {each["name"]: _of_json(each["type"]) for each in json.loads(written)["fields"]}
    else:
        local = _local_columns(source, names, footer)
        kinds = {each.name: "timestamp_ntz" if each.name in local else "timestamp" for each in schema}
        fields = {each.name: _of_arrow(each.type, kinds[each.name]) for each in schema}
    columns = {name: kind for name, kind in fields.items() if name not in partitions} | dict(partitions)
    return ", ".join(f"{in_backticks(name)} {kind}" for name, kind in columns.items())


def _local_columns(source: ScanSource, names: pa.Array, footer: Any) -> set[str]:
    """Return the columns whose times have no zone; Arrow and Polars show so also times in UTC, such as INT96."""
    if footer is not None:
        columns = [footer.schema.column(i) for i in range(footer.num_columns)]
        return {each.path.partition(".")[0] for each in columns if each.physical_type != "INT96"}
    if source.format != "avro":
        return set()
    filesystem, (path,) = source.located(names)
    with filesystem.open_input_file(path) as file:
        header = file.read(_HEADER)
    at = header.index(_AVRO_SCHEMA) + len(_AVRO_SCHEMA)
    length = shift = 0
    while True:  # a number in zigzag encoding, seven bits in a byte
        length |= (header[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not header[at - 1] & 0x80:
            break
    fields = json.loads(header[at : at + (length >> 1)])["fields"]
    return {each["name"] for each in fields if "local-timestamp" in json.dumps(each["type"])}


def _of_json(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "struct":
            fields = (f"{in_backticks(each['name'])}: {_of_json(each['type'])}" for each in kind["fields"])
            return f"struct<{', '.join(fields)}>"
        case "array":
            return f"array<{_of_json(kind['elementType'])}>"
        case "map":
            return f"map<{_of_json(kind['keyType'])}, {_of_json(kind['valueType'])}>"
        case _:  # a user-defined type
            return _of_json(kind["sqlType"])


def _of_arrow(kind: pa.DataType, zoneless: str) -> str:
    """Return a type in DDL from Arrow's, with the type of timestamps that have no zone."""
    # a type of Spark is that of the values, whatever their encoding in memory
    if pa.types.is_dictionary(kind):
        return _of_arrow(kind.value_type, zoneless)
    if pa.types.is_timestamp(kind):
        return zoneless if kind.tz is None else "timestamp"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        fields = (f"{in_backticks(each.name)}: {_of_arrow(each.type, zoneless)}" for each in kind)
        return f"struct<{', '.join(fields)}>"
    if pa.types.is_map(kind):
        return f"map<{_of_arrow(kind.key_type, zoneless)}, {_of_arrow(kind.item_type, zoneless)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return f"array<{_of_arrow(kind.value_type, zoneless)}>"
    found = next((name for is_kind, name in _SIMPLE if is_kind(kind)), None)
    if found is None:
        raise DatasetError("Spark has no type for a type of Arrow", found=str(kind), hint="read the dataset with Spark")
    return found
