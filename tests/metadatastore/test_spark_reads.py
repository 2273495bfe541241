"""Spark can read a metadata file of xskip. Rules: specs/metadatastore.rst, [MDS-T]."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from pyspark.sql import Row, SparkSession

from tests.metadatastore.samples import VALUES, array_of, files_of, minmax, table_of, valuelist
from xskip.metadata.table import PartitionColumn
from xskip.metadatastore.codec import encode

KINDS = ["timestamp", "timestamp_ntz", "decimal(9,2)", "decimal(38,10)", "date", "tinyint", "binary"]
INTERVALS = ["interval year to month", "interval day to second"]


def test_spark_reads_our_file(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-T-1] [MDS-T-2] [MDS-T-4] [MDS-T-5] [MDS-P-1] Types and values are as Spark would write them."""
    bounds = [minmax(f"c{i}", kind, VALUES[kind][:1], VALUES[kind][1:2]) for i, kind in enumerate(KINDS)]
    bounds += [minmax(f"i{i}", kind, VALUES[kind][:1], VALUES[kind][1:2]) for i, kind in enumerate(INTERVALS)]
    lists = [valuelist("s", "string", [["b", "ü\U0001f600"]]), valuelist("d", "date", [VALUES["date"][:2]])]
    partitions = [PartitionColumn("p q", "date", array_of("date", VALUES["date"][:1]))]
    table = table_of(files_of(["/lake/ü #1"]), [*bounds, *lists], partitions)
    encode(table, "/lake", tmp_path / "part.parquet")
    df = spark.read.parquet(str(tmp_path))
    assert [(f.name, f.dataType.simpleString()) for f in df.schema.fields] == [
        ("obj_name", "string"),
        ("virtual_p q", "date"),
        ("c0_minmax_2", "struct<min:timestamp,max:timestamp>"),
        ("c1_minmax_2", "struct<min:timestamp_ntz,max:timestamp_ntz>"),
        ("c2_minmax_2", "struct<min:decimal(9,2),max:decimal(9,2)>"),
        ("c3_minmax_2", "struct<min:decimal(38,10),max:decimal(38,10)>"),
        ("c4_minmax_2", "struct<min:date,max:date>"),
        ("c5_minmax_2", "struct<min:tinyint,max:tinyint>"),
        ("c6_minmax_2", "struct<min:binary,max:binary>"),
        ("i0_minmax_2", "struct<min:interval year to month,max:interval year to month>"),
        ("i1_minmax_2", "struct<min:interval day to second,max:interval day to second>"),
        ("s_valuelist_1", "array<string>"),
        ("d_valuelist_1", "array<date>"),
    ]
    (row,) = df.selectExpr(
        "obj_name",
        "`virtual_p q`",
        "cast(c0_minmax_2.min as string) as low",
        "cast(c0_minmax_2.max as string) as high",
        "c1_minmax_2.max as ntz",
        "c2_minmax_2.min as small",
        "c3_minmax_2.min as large",
        "c4_minmax_2",
        "c5_minmax_2",
        "c6_minmax_2.max as bytes",
        "cast(i0_minmax_2.min as string) as months",
        "i1_minmax_2.min as days",
        "s_valuelist_1",
        "d_valuelist_1",
    ).collect()
    assert row == Row(
        obj_name="/lake/ü #1#1700000000000",
        **{"virtual_p q": date(1000, 1, 1)},
        low="1000-01-01 00:00:00",
        high="2020-09-13 12:26:40.123456",
        ntz=datetime(9999, 12, 31, 23, 59, 59, 999999),
        small=Decimal("-9999999.99"),
        large=Decimal("-1234567890123456789012345678.0123456789"),
        c4_minmax_2=Row(min=date(1000, 1, 1), max=date(2020, 1, 1)),
        c5_minmax_2=Row(min=-128, max=127),
        bytes=bytearray(b"\x00\xff"),
        months="INTERVAL '-1-1' YEAR TO MONTH",
        days=timedelta(days=-1),
        s_valuelist_1=["b", "ü\U0001f600"],
        d_valuelist_1=[date(1000, 1, 1), date(2020, 1, 1)],
    )
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    first = spark.read.parquet(str(tmp_path)).selectExpr("cast(c0_minmax_2.max as long)").first()
    assert first is not None
    assert first[0] == 1_600_000_000
