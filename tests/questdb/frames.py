"""Random tables of a server as DataFrames, with few values in each column, so that keys and times are often equal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tests.questdb.server import Server
from xskip.questdb import open as open_table

#: The values of a key by its type; a key can be null if its type has a null.
KEYS = {
    "boolean": "rnd_boolean()",
    "byte": "rnd_byte(0, 3)",
    "short": "rnd_short(0, 3)",
    "char": "rnd_symbol('a', 'b', null)::char",
    "int": "rnd_int(0, 3, 2)",
    "long": "rnd_long(0, 3, 2)",
    "date": "rnd_long(0, 3, 2)::date",
    "timestamp": "rnd_long(0, 3, 2)::timestamp",
    "timestamp_ns": "(1000 * rnd_long(0, 3, 2))::timestamp_ns",
    "float": "rnd_int(0, 3, 2)::float",
    "double": "rnd_int(0, 3, 2)::double",
    "string": "rnd_str('a', 'b', '', null)",
    "varchar": "rnd_str('a', 'b', '', null)::varchar",
    "symbol": "rnd_symbol('a', 'b', '', null)",
    "uuid": "rnd_symbol('00000000-0000-0001-0000-000000000001', '00000000-0000-0002-0000-000000000002', null)::uuid",
    "ipv4": "rnd_symbol('1.1.1.1', '2.2.2.2', null)::ipv4",
    "long256": "rnd_symbol('0x01', '0x02', null)::string::long256",
    "geohash(1c)": "rnd_geohash(5)",
    "geohash(7b)": "rnd_geohash(7)",
}
_ROW_GROUP = 40


def create(server: Server, name: str, keys: Sequence[str], clauses: str) -> None:
    """Create a table with a number ``x``, keys ``k0``, ``k1``…, two other columns and the time ``ts``."""
    columns = "".join(f"k{position} {kind}, " for position, kind in enumerate(keys))
    server.exec(f"create table {name} (x long, {columns}s string, d double, ts timestamp) {clauses}")


def insert(server: Server, name: str, keys: Sequence[str], rows: int, start: int = 0) -> None:
    """Insert random rows at a few times of two days, with numbers that follow a start."""
    values = "".join(f"{KEYS[kind]}, " for kind in keys)
    time = "(rnd_long(0, 2, 0) * 43200000000 + rnd_long(0, 3, 0))::timestamp"
    server.run(
        name,
        f"insert into {name} select x + {start}, {values}rnd_str('p', 'q', null), rnd_double(2), {time}"
        f" from long_sequence({rows})",
    )


def frame_of(spark: SparkSession, server: Server, name: str, folder: Path) -> DataFrame:
    """Return a table as a DataFrame of several partitions, with the rows in the order of the table."""
    table = open_table(server.database / name).to_arrow()
    fields = [f.with_type(_spark_type(f.type)) for f in table.schema]
    path = folder / f"{name}.parquet"
    pq.write_table(table.cast(pa.schema(fields)), path, row_group_size=_ROW_GROUP)
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(path.stat().st_size // 4))
    schema = from_arrow_schema(pa.schema(fields))
    df = spark.read.schema(schema).parquet(str(path))
    assert table.num_rows < 4 * _ROW_GROUP or df.rdd.getNumPartitions() > 2
    return df


def sorted_rows(df: DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a DataFrame in an order that depends on their values only."""
    return sorted((tuple(row) for row in df.collect()), key=repr)


def _spark_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    return pa.utf8() if pa.types.is_dictionary(kind) else kind
