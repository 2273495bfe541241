"""Numbers of every width, decimals, intervals, casts and functions skip exactly the expected files.

Classes: SND-19 (decimals), SND-23 (Bloom filters of every type), SND-24 (lossy casts), SND-25 (type widening), SND-27
(functions that keep no order).
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.helpers import SPARK_4, assert_same_rows, kept, needs_spark_4, write_files
from tests.soundness.checking import ALL, NONE, Family, family
from xskip import BloomFilter, Index, MinMax, SkippingIndex, ValueList

UTC = dt.timezone.utc
BLOOMED = "b byte, h short, i int, l long, s string, y binary, d date, t timestamp, n timestamp_ntz"
MOMENT = dt.datetime(2020, 1, 1, 12, 0, 0, 123456)


def _row(number: int, text: str, day: int) -> tuple[object, ...]:
    moment = MOMENT + dt.timedelta(days=day)
    stamps = (dt.date(2020, 1, 1) + dt.timedelta(days=day), moment.replace(tzinfo=UTC), moment)
    return number, number, number, number, text, bytearray(text.encode()), *stamps


TYPED: dict[str, list[Any]] = {
    "negative": [_row(-1, "minus", -20_000), _row(-128, "é", -1)],
    "zero": [_row(0, "", 0), (None,) * 9],
    "positive": [_row(1, "plus", 1), _row(127, "\U0001f600", 20_000)],
    "nulls": [(None,) * 9],
}


@pytest.fixture(scope="module")
def typed(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    blooms: list[Index] = [BloomFilter(column, fpp=1e-6) for column in "bhilsydtn"]
    kinds: dict[str, list[Index]] = {
        "bloom": blooms,
        "minmax": [MinMax(c) for c in "bhilsydtn"],
        "valuelist": [ValueList(c) for c in "bhilsydtn"],
    }
    return family(session, tmp_path_factory.mktemp("typed"), BLOOMED, TYPED, kinds)


def test_bloom_of_every_type(spark: SparkSession, typed: Family) -> None:
    """[SND-23] Bloom filters answer equality for every supported type."""
    cases = {
        "s = 'minus'": "negative",
        "s = ''": "positive zero",  # both hashes of nothing are 0: one bit, which this other file has set too
        "s in ('é', '\U0001f600')": "negative positive",
        "s = 'minu'": NONE,
        "y = x'6d696e7573'": "negative",
        "y = x''": "positive zero",
        "y = cast('\U0001f600' as binary)": "positive",
        "d = date'2020-01-01'": "zero",
        "d = date'1965-03-30'": "negative",
        "t = timestamp'2020-01-01 12:00:00.123456'": "zero",
        "t = timestamp'2020-01-01 12:00:00.123'": NONE,
        "t = timestamp'1965-03-30 12:00:00.123456'": "negative",
        "n = timestamp_ntz'2020-01-01 12:00:00.123456'": "zero",
    }
    for column, kind in zip("bhil", ("tinyint", "smallint", "int", "bigint"), strict=True):
        cases |= {f"{column} = cast(-1 as {kind})": "negative", f"{column} = cast(1 as {kind})": "positive"}
        cases |= {
            f"{column} in (cast(-128 as {kind}), cast(0 as {kind}))": "negative zero",
            f"{column} = cast(5 as {kind})": NONE,
        }
    typed.check("bloom", cases)


def test_int_asked_as_bigint(spark: SparkSession, typed: Family) -> None:
    """[SND-23] For an int column and a long literal, Spark narrows the literal, or no row can match."""
    cases = {
        "i = -1L": "negative",
        "i = 4294967295L": NONE,
        "i = 4294967296L": NONE,
        "b = 127": "positive",
        "b = 255": NONE,
        "b = -129": NONE,
        "h = 127L": "positive",
        "l = 127": "positive",
        "cast(i as bigint) = 127L": "positive",
        "i in (127L, 4294967297L)": "positive",
    }
    typed.check("bloom", cases)
    typed.check("valuelist", cases)
    typed.check("minmax", cases)


def test_casts_and_other_columns_are_not_hashed(spark: SparkSession, typed: Family) -> None:
    """[SND-23] A Bloom filter does not answer casts or comparisons of two columns."""
    valued = "negative zero positive"  # x IS NOT NULL is all that is left
    typed.check("bloom", {"b = l": ALL, "cast(i as string) = '127'": ALL})
    typed.check("minmax", {"b = l": valued, "cast(i as string) = '127'": "negative positive"})  # zero holds one value
    typed.check("valuelist", {"b = l": valued, "cast(i as string) = '127'": "positive"})


def test_lossy_literals_and_casts(spark: SparkSession, typed: Family) -> None:
    """[SND-24] With literals of other types no matching file is lost, and some files are skipped."""
    equal = {
        "i = 2147483648L": NONE,
        "i > 2147483648L": NONE,
        "i < 2147483648L": "negative zero positive",
        "i = '127'": "positive",
        "i = 127.0": "positive",
        "i > 126.5": "positive",
        "i < -127.5": "negative",
        "i = 1.5": NONE,
        "i <> 1.5": "negative zero positive",
        "b > 1000": NONE,
        "b < 1000": "negative zero positive",
        "l = 127.0D": "positive",
        "l > 126.5D": "positive",
        "i between -0.5 and 0.5": "zero",
    }
    exact = ("i = 2147483648L", "i > 2147483648L", "i = '127'", "i = 1.5", "b > 1000", "i < -127.5")
    wrong = []
    for kind in ("minmax", "valuelist", "bloom"):
        for (predicate, needed), opened in zip(equal.items(), typed.opened(kind, list(equal)), strict=True):
            wanted = set(needed.split())
            if not opened >= wanted or (predicate in exact and kind != "bloom" and opened != wanted):
                wrong.append((kind, predicate, opened))
    assert not wrong


def test_texts_as_numbers_and_times(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-24] '9' is above '10' as a string, and below it as a number."""
    files = {"low": [("2",), ("9",)], "high": [("10",), ("100",)], "times": [("2020",), ("2019",)]}
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax("s")],
        "valuelist": [ValueList("s")],
        "bloom": [BloomFilter("s", fpp=1e-6)],
    }
    texts = family(spark, tmp_path_factory.mktemp("texts"), "s string", files, kinds)
    numbers = {
        "cast(s as int) > 10": "high times",
        "s > 10": "high times",
        "s = 10": "high",
        "s = 10.0D": "high",
        "cast(s as int) = 9": "low",
        "try_cast(s as date) = date'2020-01-01'": "times",
        "not (s > 10)": "low high",
    }
    one_of = {"s in (9, 10)": "low high"} if SPARK_4 else {}  # Spark 3.5 compares texts there
    texts.check("valuelist", numbers | one_of)
    for kind in ("minmax", "bloom"):
        texts.check(kind, dict.fromkeys(numbers | one_of, ALL))
    texts.check("minmax", {"s > '9'": NONE, "s = '2'": "low", "s >= '9'": "low"})


def test_dates_against_timestamps(spark: SparkSession, typed: Family) -> None:
    """[SND-24] Comparisons of dates with timestamps skip only files without a match."""
    predicates = {
        "t >= date'2020-01-02'": "positive",
        "d >= timestamp'2020-01-01 12:00:00'": "positive",
        "d = timestamp'2020-01-01 00:00:00'": "zero",
        "cast(t as date) = date'2020-01-01'": "zero",
        "cast(t as date) < date'2020-01-01'": "negative",
        "cast(n as date) = date'2020-01-01'": "zero",
        "d = n": "",
    }
    for kind in ("minmax", "valuelist", "bloom"):
        for (predicate, needed), opened in zip(predicates.items(), typed.opened(kind, list(predicates)), strict=True):
            assert opened >= set(needed.split()), (kind, predicate)
            assert (kind, predicate) != ("minmax", "t >= date'2020-01-02'") or opened == {"positive"}


@needs_spark_4("does not read narrow numbers as wider ones")
@pytest.mark.parametrize("wide", ["bigint", "double", "decimal(12,2)"])
def test_files_narrower_than_the_schema(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, wide: str
) -> None:
    """[SND-25] An index on int does not serve a query that reads a wider type."""
    files = {"low": [(1,), (2,)], "high": [(2_147_483_647,)]}
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax("x")],
        "valuelist": [ValueList("x")],
        "bloom": [BloomFilter("x", fpp=1e-6)],
    }
    ints = family(spark, tmp_path_factory.mktemp("ints"), "x int", files, kinds)
    ints.schema = f"x {wide}"
    for kind in kinds:
        ints.check(kind, {"x < 2147483648": ALL, "x = 1": ALL, "x > 2147483646": ALL, "x in (1, 77)": ALL})
    # indexed as it is read, it prunes
    ints.add("asread", [MinMax("x"), ValueList("x")])
    ints.check("asread", {"x = 1": "low", "x > 2": "high", "x < 2147483648": ALL, "x > 2147483648": NONE})


@needs_spark_4("does not read narrow numbers as wider ones")
def test_files_of_two_widths(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-25] An index covers files of int and bigint together."""
    from tests.helpers import write_files

    root = tmp_path_factory.mktemp("widths")
    write_files(spark, root / "plain", "x int", {"int": [(1,), (2,)]})
    write_files(spark, root / "plain", "x bigint", {"long": [(3,), (4_294_967_297,)]})
    widths = Family(spark, root, schema="x bigint")
    for kind, index in {
        "minmax": MinMax("x"),
        "valuelist": ValueList("x"),
        "bloom": BloomFilter("x", fpp=1e-6),
    }.items():
        widths.add(kind, [index])
        widths.check(kind, {"x = 1": "int", "x = 4294967297": "long", "x = 3": "long", "x = 0": NONE})


DECIMALS: dict[str, list[Any]] = {
    "negative": [(Decimal("-99999999.99"), Decimal("-12345678901234567890123456789.01"))],
    "small": [(Decimal("-0.01"), Decimal("-0.01")), (Decimal("0.00"), None)],
    "big": [(Decimal("99999999.99"), Decimal("999999999999999999999999999999999999.99"))],
    "nulls": [(None, None)],
}


@pytest.fixture(scope="module")
def decimals(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax("a"), MinMax("w")],
        "valuelist": [ValueList("a"), ValueList("w")],
    }
    return family(session, tmp_path_factory.mktemp("decimals"), "a decimal(10,2), w decimal(38,2)", DECIMALS, kinds)


@pytest.mark.parametrize("kind", ["minmax", "valuelist"])
def test_decimals(spark: SparkSession, decimals: Family, kind: str) -> None:
    """[SND-19] Decimals are compared by value, with sign and scale."""
    huge = "999999999999999999999999999999999999.99BD"
    decimals.check(
        kind,
        {
            "a < 0": "negative small",
            "a > 0": "big",
            "a = -0.01BD": "small",
            "a = 99999999.99BD": "big",
            "a < -0.01BD": "negative",
            "a in (-99999999.99BD, 5.00BD)": "negative",
            "a <> 0.00BD": "negative small big",
            "a = 0": "small",
            "a > -99999999.99BD and a < 99999999.99BD": "small",
            f"w = {huge}": "big",
            f"w < {huge}": "negative small",
            f"w >= {huge}": "big",
            f"w in ({huge}, -0.01BD)": "small big",
            f"w <> {huge}": "negative small",
            "w < -1.00BD": "negative",
            "w = -12345678901234567890123456789.01BD": "negative",
        },
    )


@pytest.mark.parametrize("kind", ["minmax", "valuelist"])
def test_decimals_of_other_scales(spark: SparkSession, decimals: Family, kind: str) -> None:
    """[SND-19] Spark widens both sides if a literal has more digits than the column."""
    cases = {"a = 99999999.990BD": "big", "a > 0.001BD": "big", "a = 0.005BD": NONE, "a < -0.001BD": "negative small"}
    decimals.check(
        kind,
        cases | {"cast(a as decimal(20,5)) = -0.01000BD": "small", "cast(a as decimal(10,1)) = 0": "small"},
    )


def test_bloom_refuses_decimals(spark: SparkSession, decimals: Family) -> None:
    """[SND-19] A BloomFilter on decimals is refused."""
    with pytest.raises(Exception, match="BloomFilter cannot index this type"):
        decimals.skipping("plain").create([BloomFilter("a")])


def test_functions_that_keep_no_order(spark: SparkSession, typed: Family) -> None:
    """[SND-27] Bounds prove nothing about such functions, but single values and lists do.

    zero holds one value of each column, nulls none.
    """
    ranges = {
        "abs(i) = 1": "negative positive",
        "i * i > 16000": "negative positive",
        "i % 2 = 1": "negative positive",
        "hour(t) = 12": "negative zero positive",
        "upper(s) = 'PLUS'": "negative positive",
        "length(s) = 4": "negative positive",
        "cast(i as tinyint) = 127": "negative positive",
        "case when i = 127 then true else false end": "negative positive",
        "hash(i) = 0": "negative positive",
        "i & 1 = 1": "negative positive",
        "if(i > 0, i, 0) = 0": ALL,
        "coalesce(i, 127) = 127": ALL,
        "try_to_timestamp(s, 'yyyy') is null": ALL,
    }
    lists = {
        "abs(i) = 1": "negative positive",
        "upper(s) = 'PLUS'": "positive",
        "case when i = 127 then true else false end": "positive",
        "if(i > 0, i, 0) = 0": ALL,
        "coalesce(i, 127) = 127": ALL,
        "hash(i) = 0": NONE,
        "i % 2 = 1": "positive",
    }
    typed.check("minmax", ranges)
    typed.check("valuelist", lists)
    typed.opened("bloom", list(ranges))


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "int", "bigint"])
def test_products_that_overflow(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """[SND-27] [PRU-FN-3] Products with the least integer can overflow, even between equal bounds."""
    spark.conf.set("spark.sql.ansi.enabled", "false")
    least = -(1 << {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}[kind])
    files = {"wraps": [(0,), (1,), (2,)], "both": [(-2,), (1,), (2,)], "zero": [(0,), (0,)], "odd": [(3,), (5,)]}
    path = write_files(spark, tmp_path / "data", f"x {kind}", files)
    SkippingIndex.for_path(spark, path).create([MinMax("x")])
    for factor, value, matching in (
        (least, least, {"wraps", "both", "odd"}),
        (least, 0, {"wraps", "both", "zero"}),
        (-least - 1, -2, {"wraps", "both"}),
        (least // 2, 0, {"wraps", "zero"}),
        (2, 4, {"wraps", "both"}),
    ):
        predicate = f"x * cast({factor}L as {kind}) = cast({value}L as {kind})"
        assert matching <= kept(spark, path, predicate), predicate
        assert assert_same_rows(partial(spark.read.parquet(path).filter, predicate), spark) > 0
    assert kept(spark, path, f"x * cast(2L as {kind}) = cast(4L as {kind})") == {"wraps", "both"}
    assert kept(spark, path, f"x * cast({least}L as {kind}) = cast(1L as {kind})") == {"wraps", "both", "odd"}


def test_functions_that_keep_order(spark: SparkSession, typed: Family) -> None:
    """[SND-27] A function that follows its column skips files, except where a + 1 may overflow."""
    ordered = {
        "i + 1 = 2": "positive",
        "try_add(i, 1) = 2": "positive",
        "-i = 1": "negative",
        "year(d) = 2020": "zero positive",
        "date_trunc('DAY', t) = timestamp'2020-01-01 00:00:00'": "zero",
    }
    typed.check("minmax", ordered)
    typed.check("valuelist", ordered)


def test_intervals(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-27] Intervals have bounds and lists."""
    root = tmp_path_factory.mktemp("intervals")
    (root / "plain").mkdir()
    made = Family(spark, root)
    for name, months, micros in (
        ("neg", -15, -1),
        ("zero", 0, 0),
        ("pos", 15, 90_061_000_001),
        ("top", 2_147_483_647, 2**63 - 1),
    ):
        df = spark.range(1).selectExpr(
            f"make_ym_interval(0, {months}) m",
            "cast(null as interval day to second) + make_dt_interval(0) e",
            f"{micros}L * interval '0.000001' second s",
        )
        df.coalesce(1).write.parquet(str(root / "staging" / name))
        (part,) = (root / "staging" / name).glob("part-*.parquet")
        part.rename(root / "plain" / f"{name}.parquet")
    made.add("minmax", [MinMax("m"), MinMax("s"), MinMax("e")])
    made.add("valuelist", [ValueList("m"), ValueList("s")])
    for kind in ("minmax", "valuelist"):
        made.check(
            kind,
            {
                "m = interval '1-3' year to month": "pos",
                "m < interval '0' month": "neg",
                "m >= interval '15' month": "pos top",
                "s = interval '1 01:01:01.000001' day to second": "pos",
                "s < interval '0' second": "neg",
                "s > interval '2' day": "top",
            },
        )
    made.check("minmax", {"e is not null": NONE, "e = interval '0' second": NONE})
