"""Dates and timestamps are exact to the microsecond, to their limits, in all zones and in old calendars.

Classes: SND-16 (precision and extreme values), SND-17 (time zone and calendar).
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.helpers import index, kept, needs_spark_4
from tests.soundness.checking import ALL, NONE, Family, family, shown
from xskip import BloomFilter, Index, MinMax, ValueList

BASE = 1_577_836_800_000_000  # 2020-01-01 00:00:00 UTC
MICROS = {
    "early": [BASE + 123_456, BASE + 123_999],
    "one": [BASE + 456_789],
    "edge": [BASE + 999_999, BASE + 1_000_000],
    "noon": [BASE + 43_200_000_000, None],
    "next": [BASE + 86_400_000_000],
    "far": [9_223_372_036_854_775_807, 9_223_372_036_854_775_000],
    "nulls": [None],
}


@pytest.fixture(scope="module")
def times(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    """Write timestamps with Arrow, up to the last microsecond of a long, and return their copies."""
    root = tmp_path_factory.mktemp("times")
    (root / "plain").mkdir()
    for name, values in MICROS.items():
        numbers = pa.array(values, pa.int64())
        table = pa.table({"t": numbers.view(pa.timestamp("us", tz="UTC")), "z": numbers.view(pa.timestamp("us"))})
        pq.write_table(table, root / "plain" / f"{name}.parquet")
    made = Family(session, root)
    for column in ("t", "z"):
        made.add(f"minmax_{column}", [MinMax(column)])
        made.add(f"valuelist_{column}", [ValueList(column)])
        made.add(f"bloom_{column}", [BloomFilter(column, fpp=1e-6)])
        made.add(f"scanned_{column}", [MinMax(column), ValueList(column)])  # bounds from the data, not from footers
    return made


def _cases(column: str, literal: str) -> dict[str, str]:
    at = {text: f"{literal}'{text}'" for text in (
        "2020-01-01 00:00:00.456789", "2020-01-01 00:00:00.123456", "2020-01-01 00:00:00.123999",
        "2020-01-01 00:00:00.999999", "2020-01-01 00:00:01", "2020-01-01 00:00:00.456788", "2020-01-02 00:00:00",
    )}  # fmt: skip
    t456789, t123456, t123999, t999999, t1, t456788, day = at.values()
    return {
        f"{column} = {t456789}": "one",
        f"{column} = {t456788}": NONE,
        f"{column} > {t456788} and {column} < {t999999}": "one",
        f"{column} < {t123456}": NONE,
        f"{column} <= {t123456}": "early",
        f"{column} > {t123999} and {column} <= {t456789}": "one",
        f"{column} >= {t999999} and {column} < {t1}": "edge",
        f"{column} between {t1} and {t1}": "edge",
        f"{column} <> {t456789}": "early edge noon next far",
        f"{column} in ({t456789}, {day})": "one next",
        f"{column} > {day}": "far",
        f"{column} not in ({t456789}, {t123456}, {t123999})": "early edge noon next far",
    }


@pytest.mark.parametrize(("column", "literal"), [("t", "timestamp"), ("z", "timestamp_ntz")])
def test_microseconds_and_extreme_values(spark: SparkSession, times: Family, column: str, literal: str) -> None:
    """[SND-16] Timestamps are exact to the microsecond, up to their limits."""
    cases = _cases(column, literal)
    times.check(f"minmax_{column}", cases)
    listed = cases | {next(k for k in cases if "not in" in k): "edge noon next far"}
    for kind in ("valuelist", "scanned"):
        times.check(f"{kind}_{column}", listed)
    same = f"{column} = {literal}'2020-01-01 00:00:00.456789'"
    near = f"{column} = {literal}'2020-01-01 00:00:00.456788'"
    times.check(f"bloom_{column}", {same: "one", near: NONE, f"{column} > {literal}'2020-01-02 00:00:00'": ALL})


def test_the_last_microsecond(spark: SparkSession, times: Family) -> None:
    """[SND-16] The last microsecond of a long is an exact bound."""
    last, before = "timestamp_micros(9223372036854775807L)", "timestamp_micros(9223372036854775806L)"
    for kind in ("minmax_t", "scanned_t", "valuelist_t"):
        times.check(kind, {f"t = {last}": "far", f"t > {before}": "far", f"t > {last}": NONE, f"t >= {last}": "far"})
    times.check("bloom_t", {f"t = {last}": "far", f"t = {before}": NONE})


VALUED = "early one edge noon next far"
ZONES = ("UTC", "America/New_York", "Asia/Kathmandu")


@pytest.mark.parametrize("zone", ZONES)
def test_time_zone_changed_after_the_build(spark: SparkSession, times: Family, zone: str) -> None:
    """[SND-17] An instant does not depend on the zone; a literal's meaning is decided at planning."""
    spark.conf.set("spark.sql.session.timeZone", zone)
    hours = {"UTC": "00:00:00.456789", "America/New_York": "19:00:00.456789", "Asia/Kathmandu": "05:45:00.456789"}[zone]
    day = "2019-12-31" if zone == "America/New_York" else "2020-01-01"
    for kind in ("minmax_t", "scanned_t", "valuelist_t", "bloom_t"):
        times.check(kind, {f"t = timestamp'{day} {hours}'": "one"})
    for kind in ("minmax_z", "valuelist_z", "bloom_z"):
        times.check(kind, {"z = timestamp_ntz'2020-01-01 00:00:00.456789'": "one"})
    # whole days of the session's zone; a comparison of an instant with a local time moves with the zone
    days = f"t >= timestamp'{day}' and t < timestamp'{day}' + interval 1 day"
    found = {
        "UTC": "early one edge noon",
        "America/New_York": "early one edge",
        "Asia/Kathmandu": "early one edge noon",
    }[zone]
    # one holds one value, which is asked
    texts = "early edge noon next far" if zone == "America/New_York" else VALUED
    times.check(
        "minmax_t", {days: found, f"cast(t as date) = date'{day}'": found, "cast(t as string) like '2020%'": texts}
    )


@needs_spark_4("converts the last instants before the filter has left them out")
def test_local_and_absolute_times_are_not_mixed(spark: SparkSession, times: Family) -> None:
    """[SND-17] Comparisons of local and absolute times have the rows of plain Spark."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    near = (
        "z < timestamp_ntz'2021-01-01 00:00:00' and t < timestamp'2021-01-01 00:00:00'"  # the last instant is no time
    )
    for mixed in ("z > timestamp'2020-01-01 06:00:00'", "t > timestamp_ntz'2020-01-01 06:00:00'", "z = t"):
        predicate = f"{near} and {mixed}"
        rows = shown(times.read("plain").filter(predicate))
        for kind in ("minmax_z", "minmax_t", "valuelist_z", "valuelist_t"):
            assert shown(times.read(kind).filter(predicate)) == rows, (kind, predicate)


FOLD = {  # clocks went back from 2:00 to 1:00 at 2020-11-01 06:00 UTC in New York
    "first": [1_604_208_600_000_000],  # 01:30 summer time
    "second": [1_604_212_200_000_000],  # 01:30 winter time
    "later": [1_604_215_800_000_000],
}


def test_the_hour_that_comes_twice(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-17] An hour that occurs twice in a zone has two separate instants."""
    files = {name: [(dt.datetime.fromtimestamp(n[0] / 1e6, dt.timezone.utc),) for _ in n] for name, n in FOLD.items()}
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax("t")],
        "valuelist": [ValueList("t")],
        "bloom": [BloomFilter("t", fpp=1e-6)],
    }
    fold = family(spark, tmp_path_factory.mktemp("fold"), "t timestamp", files, kinds)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    for kind in kinds:
        fold.check(
            kind,
            {
                "t = timestamp'2020-11-01 01:30:00'": "first",
                "t = timestamp'2020-11-01 06:30:00Z'": "second",
            },
        )
        texts = {"date_format(t, 'HH:mm') = '01:30'": ALL if kind == "bloom" else "first second"}
        fold.check(kind, texts)
    ordered = {
        "t > timestamp'2020-11-01 01:30:00'": "second later",
        "t < timestamp'2020-11-01 02:00:00'": "first second",
    }
    fold.check("minmax", ordered)
    fold.check("valuelist", ordered)


OLD = {
    "year1": [("0001-01-01",)],
    "julian": [("1582-10-04",), ("1500-02-28",)],
    "gregorian": [("1582-10-15",), ("1700-01-01",)],
    "y1850": [("1850-06-01",)],
    "modern": [("2020-02-29",)],
    "end": [("9999-12-31",)],
}


@pytest.mark.parametrize("mode", ["CORRECTED", "LEGACY"])
def test_old_calendars(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, mode: str) -> None:
    """[SND-17] Dates before 1582 and local times before 1900 are rebased as the writer declares in the file."""
    for kind in ("datetimeRebaseModeInWrite", "int96RebaseModeInWrite"):
        spark.conf.set(f"spark.sql.parquet.{kind}", mode)
    root = tmp_path_factory.mktemp("old")
    made = Family(spark, root)
    for name, values in OLD.items():
        df = spark.createDataFrame(values, "s string").selectExpr("cast(s as date) d", "cast(s as timestamp) t")
        df.coalesce(1).write.parquet(str(root / "staging" / name))
        (part,) = (root / "staging" / name).glob("part-*.parquet")
        (root / "plain").mkdir(exist_ok=True)
        part.rename(root / "plain" / f"{name}.parquet")
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax("d"), MinMax("t")],
        "valuelist": [ValueList("d"), ValueList("t")],
        "bloom": [BloomFilter("d", fpp=1e-6), BloomFilter("t", fpp=1e-6)],
    }
    for copy, indexes in kinds.items():
        made.add(copy, indexes)
    equal = {
        "d = date'1582-10-04'": "julian",
        "d = date'0001-01-01'": "year1",
        "t = timestamp'1850-06-01 00:00:00'": "y1850",
        "t = timestamp'1582-10-15 00:00:00'": "gregorian",
        "d in (date'2020-02-29', date'9999-12-31')": "modern end",
    }
    ranges = {
        "d < date'1582-10-15'": "year1 julian",
        "d > date'1850-06-01'": "modern end",
        "t < timestamp'1850-06-01 00:00:01' and t > timestamp'1800-01-01'": "y1850",
        "d <> date'2020-02-29'": "year1 julian gregorian y1850 end",
        "t <= timestamp'0001-01-01 00:00:00'": "year1",
    }
    made.check("minmax", equal | ranges)
    made.check("valuelist", equal | ranges)
    made.check("bloom", equal)


def test_int96_is_converted_by_the_session_zone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-17] With int96TimestampConversion, INT96 values of other writers depend on the session's zone."""
    root = tmp_path_factory.mktemp("int96")
    (root / "plain").mkdir()
    for name, micros in {"one": BASE, "two": BASE + 5 * 3_600_000_000, "three": BASE + 86_400_000_000}.items():
        table = pa.table({"t": pa.array([micros], pa.timestamp("us"))})
        pq.write_table(table, root / "plain" / f"{name}.parquet", use_deprecated_int96_timestamps=True)
    made = Family(spark, root)
    made.add("fixed", [MinMax("t"), ValueList("t")])
    made.check("fixed", {"t = timestamp'2020-01-01 00:00:00'": "one", "t > timestamp'2020-01-01 05:00:00'": "three"})
    spark.conf.set("spark.sql.parquet.int96TimestampConversion", "true")
    made.add("moved", [MinMax("t"), ValueList("t")])
    made.check("moved", {"t = timestamp'2020-01-01 00:00:00'": "one"})
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark.conf.set("spark.xskip.strict", "false")
    for text in ("2019-12-31 19:00:00", "2020-01-01 00:00:00", "2020-01-01 19:00:00"):
        predicate = f"t = timestamp'{text}'"
        assert shown(made.read("moved").filter(predicate)) == shown(made.read("plain").filter(predicate)), text


def test_dates(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-16] [SND-17] Dates are exact up to their limits, in all zones."""
    files: dict[str, list[Any]] = {
        "a": [(dt.date(2020, 1, 1),), (dt.date(2020, 1, 31),)],
        "b": [(dt.date(2020, 2, 1),), (None,)],
        "c": [(dt.date(1, 1, 1),), (dt.date(9999, 12, 31),)],
    }
    kinds: dict[str, list[Index]] = {
        "minmax": [MinMax("d")],
        "valuelist": [ValueList("d")],
        "bloom": [BloomFilter("d", fpp=1e-6)],
    }
    dates = family(spark, tmp_path_factory.mktemp("dates"), "d date", files, kinds)
    equal = {"d = '2020-02-01'": "b", "d = date'9999-12-31'": "c", "d in (date'2020-01-31', date'0001-01-01')": "a c"}
    dates.check("valuelist", equal | {"d < date'2020-01-01'": "c", "d <> date'2020-02-01'": "a c"})
    dates.check("minmax", {"d = date'2020-02-01'": "b c", "d > date'2020-02-01'": "c", "d < date'2020-01-01'": "c"})
    dates.check("bloom", equal | {"d = date'2020-02-02'": NONE})
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Kiritimati")
    for kind in ("valuelist", "minmax"):
        # a date against a timestamp is midnight in the session's zone
        predicate = "d >= timestamp'2020-02-01 00:00:00'"
        assert shown(dates.read(kind).filter(predicate)) == shown(dates.read("plain").filter(predicate))


def test_functions_of_times_that_span_all_instants(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-FN-5] The days of the first and the last instant are not those of each other after an overflow."""
    limits = np.iinfo(np.int64)
    for name, micros in {"all": [limits.min, limits.max], "may": [BASE + 125 * 86_400_000_000]}.items():
        pq.write_table(
            pa.table({"t": pa.array(micros).view(pa.timestamp("us", tz="UTC"))}), tmp_path / f"{name}.parquet"
        )
    index(spark, str(tmp_path), [MinMax("t")])
    for month in range(1, 13):
        expected = {"all", "may"} if month == 5 else {"all"}
        assert kept(spark, str(tmp_path), f"month(t) = {month}") == expected
