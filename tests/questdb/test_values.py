"""Values of types that Spark lacks [QDB-FN-10]."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.server import Server
from tests.questdb.spark_values import load
from xskip.errors import ArgumentError, PredicateError
from xskip.questdb import from_nanoseconds, ipv4_to_number, to_nanoseconds


@pytest.mark.parametrize(
    ("time", "number"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:00.000000001", 1),
        ("1970-01-01 00:00:01.5Z", 1_500_000_000),
        ("1970-01-01T01:00:00.123456789+01:00", 123_456_789),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("2262-04-11T23:47:16.854775807Z", (1 << 63) - 1),
        (datetime(1970, 1, 1, 0, 0, 0, 1), 1000),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
    ],
)
def test_nanoseconds_of_times(time: datetime | str, number: int) -> None:
    assert to_nanoseconds(time) == number


NO_TIMES = ["", "noon", "1970-01-01T00:00:00.", "1970-01-01T00:00:00.1234567890", "1.5", 5, date(1970, 1, 1), None]


@pytest.mark.parametrize("value", NO_TIMES)
def test_values_that_are_no_times(value: Any) -> None:
    with pytest.raises(PredicateError, match="a value is not a time"):
        to_nanoseconds(value)


def test_times_of_pandas_keep_their_nanoseconds() -> None:
    pandas = pytest.importorskip("pandas")
    assert to_nanoseconds(pandas.Timestamp(1_769_850_000_000_000_001)) == 1_769_850_000_000_000_001
    assert to_nanoseconds(pandas.Timestamp(-1, tz="UTC")) == -1


def test_columns_of_nanoseconds(spark: SparkSession, server: Server) -> None:
    """The server casts to microseconds in the same way, and a filter by a number reads one partition."""
    xskip.enable(spark)
    name = server.name("values")
    server.exec(f"create table {name} (x long, ts timestamp_ns) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select x, (x * 8640000000123L)::timestamp_ns from long_sequence(100)")
    df = load(spark, server.folder(name))
    found = df.select("x", F.unix_micros(from_nanoseconds("ts"))).collect()
    assert sorted(map(list, found)) == server.select(f"select x, ts::timestamp::long from {name} order by x")
    day = df.where((F.col("ts") >= to_nanoseconds("1970-01-02")) & (F.col("ts") < to_nanoseconds("1970-01-03")))
    expected = server.select(f"select count() from {name} where ts in '1970-01-02'")
    assert [[day.count()]] == expected
    before = spark.range(-1, 0).select(F.unix_micros(from_nanoseconds(F.col("id"))).alias("micros"))
    assert before.collect()[0].micros == -1
    ends = spark.createDataFrame([(-(1 << 63),), ((1 << 63) - 1,), (None,)], "n long")
    micros = [row[0] for row in ends.select(F.unix_micros(from_nanoseconds("n"))).collect()]
    assert micros == [-(1 << 63) // 1000, ((1 << 63) - 1) // 1000, None]


def test_the_order_of_addresses(spark: SparkSession, server: Server) -> None:
    xskip.enable(spark)
    name = server.name("values")
    server.exec(f"create table {name} (ip ipv4, ts timestamp) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select rnd_ipv4('0.0.0.0/0', 3), x::timestamp from long_sequence(200)")
    df = load(spark, server.folder(name)).where("ip IS NOT NULL")
    found = [row.ip for row in df.sort(ipv4_to_number("ip")).collect()]
    assert found == [row[0] for row in server.select(f"select ip from {name} where ip is not null order by ip")]
    texts = spark.createDataFrame([("0.0.1.2",), ("255.255.255.255",), ("1.2.3",), ("a.b.c.d",), (None,)], "ip string")
    numbers = [row[0] for row in texts.select(ipv4_to_number(F.col("ip"))).collect()]
    assert numbers == [258, 4_294_967_295, None, None, None]


def test_texts_that_are_no_addresses(spark: SparkSession) -> None:
    """Numbers above 255 would have the number of another address."""
    texts = ["999.1.1.1", "1.256.1.1", "1.1.1.300", "1.1.1.1\n", " 1.1.1.1", "1.1.1.1.1", "1.1.1.", "0001.1.1.1", ""]
    rows = spark.createDataFrame([(text,) for text in texts], "ip string")
    assert [row[0] for row in rows.select(ipv4_to_number("ip")).collect()] == [None] * len(texts)
    known = spark.createDataFrame([("249.199.099.9",), ("0.0.0.0",), ("250.200.100.255",)], "ip string")
    expected = [(249 << 24) + (199 << 16) + (99 << 8) + 9, 0, (250 << 24) + (200 << 16) + (100 << 8) + 255]
    assert [row[0] for row in known.select(ipv4_to_number("ip")).collect()] == expected


@pytest.mark.parametrize("call", [from_nanoseconds, ipv4_to_number])
def test_an_argument_that_is_no_column(call: Callable[[Any], object]) -> None:
    with pytest.raises(ArgumentError, match=r"column is not a column.*5, of type int.*or its name"):
        call(5)
