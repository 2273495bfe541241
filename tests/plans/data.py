"""The tables and queries of TPC-H and TPC-DS: generated, written as several files each, and indexed.

The facts of TPC-DS and the orders of TPC-H are partitioned by date. Not all dates are kept, because a partition is a
file and the suite is about plans.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from xskip import MinMax, SkippingIndex, ValueList
from xskip.indexes.index_type import Index

__all__ = ["FACT_DATES", "SUITES", "create_indexes", "queries", "readable", "register", "write_tables"]

SUITES = ("tpcds", "tpch")
#: The facts of TPC-DS, and the columns with the dates by which they are loaded.
FACT_DATES = {
    "store_sales": "ss_sold_date_sk",
    "store_returns": "sr_returned_date_sk",
    "catalog_sales": "cs_sold_date_sk",
    "catalog_returns": "cr_returned_date_sk",
    "web_sales": "ws_sold_date_sk",
    "web_returns": "wr_returned_date_sk",
    "inventory": "inv_date_sk",
}
_FILES = 4
_MIN_ROWS = 40  # smaller tables are one file
_UNSUPPORTED = ("time64", "time32")


def queries() -> dict[str, str]:
    """Return the queries of both suites as Spark accepts them, by names such as ``tpcds5``."""
    import duckdb

    connection = duckdb.connect()
    texts = {}
    for suite in SUITES:
        files = importlib.metadata.files(f"duckdb-extension-{suite}") or []
        (extension,) = (file.locate() for file in files if file.name.endswith(".duckdb_extension"))
        connection.load_extension(str(extension))
        for number, text in connection.sql(f"FROM {suite}_queries()").fetchall():
            texts[f"{suite}{number}"] = _in_spark(text)
    return texts


def _in_spark(text: str) -> str:
    """Return a query of DuckDB in Spark's dialect: names are quoted by backticks."""
    return re.sub(r'"([^"]*)"', r"`\1`", text.strip().rstrip(";"))


def write_tables(root: Path, texts: dict[str, str], scale: float = 0.01, days: int = 9) -> None:
    """Generate the tables of queries, and write each as a dataset of Parquet files below ``root/SUITE/TABLE``.

    Every ninth date is kept, which is 200 of the five years of sales, or every one of other numbers of days.
    """
    for suite in sorted({re.sub(r"\d+$", "", name) for name in texts}):
        generated = root / f"{suite}-generated"
        generator = Path(sysconfig.get_path("scripts")) / "tpcgen-cli"
        command = [str(generator), suite, "parquet", "-s", str(scale), "--output-dir", str(generated)]
        subprocess.run(command, check=True, capture_output=True)
        tables = {path.stem: readable(pq.read_table(path)) for path in sorted(generated.glob("*.parquet"))}
        if suite == "tpch":
            tables = _with_kept_orders(tables, days)
        words = set(re.findall(r"\w+", " ".join(text for name, text in texts.items() if name.startswith(suite))))
        for name in words & tables.keys():
            _write(tables[name], root / suite / name, name, days)
        shutil.rmtree(generated)


def readable(table: pa.Table) -> pa.Table:
    """Return a table whose columns have types that Spark reads and that pyarrow filters."""
    fields = [field for field in table.schema if not str(field.type).startswith(_UNSUPPORTED)]
    types = [pa.string() if field.type == pa.string_view() else field.type for field in fields]
    schema = pa.schema([field.with_type(target) for field, target in zip(fields, types, strict=True)])
    return table.select(schema.names).cast(schema)


def _with_kept_orders(tables: dict[str, pa.Table], days: int) -> dict[str, pa.Table]:
    """Return TPC-H with the orders of the kept dates only, and with their items."""
    dates = pc.cast(tables["orders"]["o_orderdate"], pa.int32())
    orders = tables["orders"].filter(_is_kept(dates, days))
    items = tables["lineitem"]
    return tables | {
        "orders": orders,
        "lineitem": items.filter(pc.is_in(items["l_orderkey"], orders["o_orderkey"])).sort_by("l_shipdate"),
    }


def _is_kept(dates: pa.ChunkedArray, days: int) -> pa.ChunkedArray:
    """Return which of the dates of a column are kept, one of so many days; rows without a date are."""
    remainder = pc.subtract(dates, pc.multiply(pc.divide(dates, days), days))
    return pc.fill_null(pc.equal(remainder, 0), True)


def _write(table: pa.Table, folder: Path, name: str, days: int) -> None:
    date = "o_orderdate" if name == "orders" else FACT_DATES.get(name)
    if date is None:
        folder.mkdir(parents=True)
        size = -(-table.num_rows // _FILES) if table.num_rows >= _MIN_ROWS else max(table.num_rows, 1)
        for number in range(-(-table.num_rows // size)):
            pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet")
        return
    if name != "orders":
        table = table.filter(_is_kept(table[date], days))
    # every partition is one file
    pq.write_to_dataset(table.sort_by(date), folder, partition_cols=[date], max_partitions=10_000)


def register(spark: SparkSession, root: Path, suite: str, query: str | None = None) -> None:
    """Make the tables of a suite views of the session, newly read; by default all, or those of one query."""
    words = None if query is None else set(re.findall(r"\w+", query))
    for folder in (each for each in sorted((root / suite).glob("[!.]*")) if words is None or each.name in words):
        spark.read.parquet(str(folder)).createOrReplaceTempView(folder.name)


def create_indexes(spark: SparkSession, root: Path, query: str | None = None) -> None:
    """Index each column of each table, or those that a query names: bounds, and lists of values for texts."""
    words = None if query is None else set(re.findall(r"\w+", query))
    for folder in sorted(root.glob("[!.]*/[!.]*")):
        df = spark.read.parquet(str(folder))
        partitions = {path.name.partition("=")[0] for path in folder.glob("*=*")}
        columns = [
            field for field in df.schema if field.name not in partitions and (words is None or field.name in words)
        ]
        indexes: list[Index] = [MinMax(field.name) for field in columns]
        indexes += [ValueList(field.name) for field in columns if field.dataType.simpleString() == "string"]
        SkippingIndex.for_path(spark, str(folder)).create(indexes)
