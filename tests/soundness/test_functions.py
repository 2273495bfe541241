"""Lists, bounds and single values rule out files for functions of a column. Rules: specs/pruning.rst, [PRU-FN].

The table in specs/functions.rst has the results of these tests; ``XSKIP_WRITE=1`` writes the table.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType

from tests.helpers import index, kept, needs_spark_4, opened_files, write_once
from tests.soundness.checking import ALL, NONE, Family, family
from xskip import (
    BloomFilter,
    Formatted,
    GapList,
    GeoBox,
    Hybrid,
    Index,
    MinMax,
    NullCount,
    Prefix,
    TokenBloom,
    ValueList,
)
from xskip.protocol.packed_values import Packed
from xskip.spark.bridge.queries import QueryCalls
from xskip.spark.catalyst import evaluator

PAGE = Path(__file__).parents[2] / "specs/functions.rst"
COLUMNS = ("i", "d", "s", "ts", "dt", "c")
KINDS: dict[str, list[Index]] = {
    "MinMax": [MinMax(c) for c in COLUMNS],
    "ValueList": [ValueList(c) for c in COLUMNS],
    "BloomFilter": [BloomFilter(c, fpp=1e-6) for c in ("i", "s", "ts", "dt", "c")],
    "NullCount": [NullCount(c) for c in (*COLUMNS, "q")],
    "Prefix": [Prefix(c, length=6) for c in ("s", "c")],
    "Hybrid": [Hybrid(c, max_values=10, fpp=1e-6) for c in ("i", "s", "ts", "dt", "c")],
    "GapList": [GapList(c) for c in ("i", "d", "ts", "dt")],
    "GeoBox": [GeoBox("i", "d")],
    "Formatted": [Formatted("s", "^([A-Za-z]+[0-9])")],
    "TokenBloom": [TokenBloom(c, fpp=1e-6) for c in ("s", "c")],
}
#: What is asked, by kind of expression.
EXPRESSIONS = {
    "comparison": ["i = 105", "i > 650", "700 < i", "i BETWEEN 203 AND 204", "c <=> 'c4'", "i <> 5"],
    "membership": ["i IN (3, 504)", "c NOT IN ('c1', 'c2')"],
    "null test": ["c IS NULL", "q IS NULL", "q IS NOT NULL"],
    "boolean": ["i = 5 OR i = 705", "NOT (i < 700)", "CASE WHEN c = 'c1' THEN true ELSE false END",
                "IF(c = 'c2', 1, 0) = 1"],
    "null function": ["coalesce(c, 'x') = 'c4'", "nvl(c, 'x') = 'x'", "nullif(c, 'c3') = 'c4'",
                      "ifnull(q, 1) = 1", "coalesce(i, 0) = 105"],
    "arithmetic": ["i + 5 > 700", "i - 3 = 100", "1000 - i < 350", "i * 2 < 50", "-i > -20", "i / 2 > 340",
                   "i div 100 = 6", "i % 100 = 7", "abs(i) > 650",
                   "sqrt(d) > 12", "ln(i) > 6.5", "floor(d) = 51", "ceil(d) = 52", "round(d, 0) = 75"],
    "cast": ["cast(i as bigint) = 105", "cast(d as int) = 50", "cast(i as string) = '105'",
             "cast(ts as date) = date'2021-01-01'", "cast(dt as timestamp) > timestamp'2021-02-01'"],
    "date and time": ["year(ts) = 2021", "month(dt) = 3", "quarter(dt) = 2", "day(dt) = 3",
                      "trunc(dt, 'MM') = date'2020-03-01'",
                      "date_trunc('month', ts) = timestamp'2020-03-01'", "date_add(dt, 10) = date'2020-05-10'",
                      "add_months(dt, 1) > date'2021-03-01'", "datediff(dt, date'2020-01-01') < 20",
                      "unix_timestamp(ts) > 1610000000", "hour(ts) = 3"],
    "string": ["s LIKE 'City3%'", "s LIKE '%3-1'", "s LIKE 'City3%1'", "s RLIKE 'y5-[12]$'", "startswith(s, 'City4')",
               "contains(s, '4-')", "endswith(s, '6-2')", "upper(s) = 'CITY3-1'", "substring(s, 1, 5) = 'City2'",
               "left(s, 5) = 'City2'", "length(s) = 3", "concat('a', c) = 'ac2'", "trim(c) = 'c6'"],
    "text": ["s LIKE 'City3-%'", "s LIKE '%-9'", "regexp_extract(s, '^([A-Za-z]+[0-9])', 1) = 'City6'"],
    "several columns": ["i > 115 AND i < 200", "i > 650 AND d < 150", "i = 105 OR c = 'c4'",
                        "(i, c) IN ((105, 'c1'), (606, 'c6'), (7, 'c1'))"],
    "any other": ["hash(c) = 5", "xxhash64(i) = 0"],
}  # fmt: skip


def _rows(n: int) -> list[tuple[object, ...]]:
    start = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(days=60 * n)
    found: list[tuple[object, ...]] = []
    for k in range(20):
        at = start + dt.timedelta(days=2 * k, hours=k)
        city = f"City{n}-{k % 3}"
        found.append(
            (100 * n + k, (100 * n + k) / 4, city, at, at.date(), None if k == 3 else f"c{n}", n if n < 2 else None)
        )
    return found


@pytest.fixture(scope="module")
def year(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    files = {f"f{n}": _rows(n) for n in range(8)}
    schema = "i int, d double, s string, ts timestamp, dt date, c string, q int"
    return family(session, tmp_path_factory.mktemp("year"), schema, files, KINDS)


def outcome(year: Family, kind: str, expression: str, frame: DataFrame | None = None) -> str:
    """Return how many of the files that an expression could rule out were skipped; None reads the copy anew."""
    needed = year.matching(expression)
    opened = opened_files((year.read(kind) if frame is None else frame).filter(expression))
    assert needed <= opened, f"{kind}: {expression}: WRONGLY SKIPPED {sorted(needed - opened)}"
    if needed == year.names:
        return "all match"
    return "yes" if opened == needed else "partly" if opened < year.names else "no"


@needs_spark_4("plans some of these otherwise")
def test_the_table_of_expressions(spark: SparkSession, year: Family) -> None:
    """[PRU-FN-1] [PRU-FN-4] [PRU-FN-6] An index rules out files for every kind of expression, none wrongly."""
    rows = []
    frames = {kind: year.read(kind) for kind in KINDS}
    year.ask_oracle([expression for expressions in EXPRESSIONS.values() for expression in expressions])
    for title, expressions in EXPRESSIONS.items():
        prunes = []
        for expression in expressions:
            found = [outcome(year, kind, expression, frame) for kind, frame in frames.items()]
            rows.append((title, f"``{expression}``", *found))
            prunes += found
        assert "yes" in prunes or "all match" in prunes, title
    text = _page(rows)
    if os.environ.get("XSKIP_WRITE"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text


#: The text of the page above the table.
INTRODUCTION = """\
Functions
=========

This page shows for which filters the index types rule out files. It is for users who choose index types. A test
measures the table and writes it. The page defines no rules; they are in ``pruning.rst``:

========== ============================================================================================================
family     subject
========== ============================================================================================================
``PRU-FN`` functions of a column
``PRU-EX`` indexes on expressions, for functions that no other index answers
``PRU-UF`` user-defined functions
========== ============================================================================================================

The test reads eight files. Every file holds a different part of the values of the columns. The entries mean:

=========== ===========================================================================================================
entry       meaning
=========== ===========================================================================================================
yes         the index rules out all files without a matching row
partly      the index rules out some of these files
no          the index rules out no file
all match   every file holds a matching row, so no file can be ruled out
=========== ===========================================================================================================

The columns ``i`` (integer), ``d`` (double), ``ts`` (timestamp) and ``dt`` (date) rise from file to file. The strings
``s`` and ``c`` differ from file to file. ``q`` is NULL in six of the files.

"""


def _page(rows: list[tuple[str, ...]]) -> str:
    head = ("kind", "filter", *KINDS)
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    line = "  ".join("=" * width for width in widths)

    def shown(row: tuple[str, ...]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()

    return INTRODUCTION + "\n".join([line, shown(head), line, *map(shown, rows), line]) + "\n"


def test_null_can_have_a_value(spark: SparkSession, year: Family) -> None:
    """[PRU-FN-2] Lists and bounds do not show which files have NULL rows."""
    for kind in ("MinMax", "ValueList"):
        assert opened_files(year.read(kind).filter("coalesce(c, 'x') = 'x'")) == year.names
        assert opened_files(year.read(kind).filter("nullif(c, 'c3') IS NULL")) == year.names
        assert opened_files(year.read(kind).filter("coalesce(c, 'x') = 'c9'")) == set()


def test_what_fails_is_met_by_the_query(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[PRU-FN-3] With ANSI, a value that cannot be cast fails the query, with and without an index."""
    texts = family(
        spark, tmp_path_factory.mktemp("texts"), "s string", {"one": [("1",)], "two": [("2",)], "bad": [("x",)]},
        {"valuelist": [ValueList("s")]},
    )  # fmt: skip
    spark.conf.set("spark.sql.ansi.enabled", "true")
    asked = texts.read("valuelist").filter("cast(s as int) = 1")
    assert opened_files(asked) == {"one", "bad"}
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        asked.collect()
    spark.conf.set("spark.sql.ansi.enabled", "false")
    assert opened_files(texts.read("valuelist").filter("cast(s as int) = 1")) == {"one"}


def test_zeros_and_many_values(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-FN-3] A list has one zero for both zeros; functions of too many values are not evaluated."""
    files = {"zero": [(0.0, 1), (-0.0, 2)], "one": [(1.0, 3)], "two": [(2.0, 4)]}
    path = write_once(spark, tmp_path / "data", "d double, i int", files)
    from xskip import SkippingIndex

    SkippingIndex.for_path(spark, path).create([ValueList("d"), ValueList("i"), MinMax("d")])
    assert kept(spark, path, "cast(d as string) = '-0.0'") == {"zero"}
    assert kept(spark, path, "cast(d as string) = '1.0'") == {"zero", "one"}
    assert kept(spark, path, "i % 4 = 3") == {"one"}
    monkeypatch.setattr(evaluator, "_MAX_VALUES", 2)
    assert kept(spark, path, "i % 4 = 3 AND i > 0") == set(files)


def test_bounds_of_one_zero(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-FN-3] Equal bounds are one value, but zeros of both signs have equal bounds."""
    files = {"minus": [(-0.0,)], "plus": [(0.0,)], "both": [(0.0,), (-0.0,)], "one": [(1.0,), (1.0,)]}
    path = write_once(spark, tmp_path / "data", "d double", files)
    index(spark, path, [MinMax("d")])
    for text in ("-0.0", "0.0"):
        predicate = f"cast(d as string) = '{text}'"
        assert kept(spark, path, predicate) == set(files), predicate
        assert spark.read.parquet(path).filter(predicate).count() == 2, predicate
    assert kept(spark, path, "d = -0.0D") == {"minus", "plus", "both"}


def test_one_evaluation_a_query(spark: SparkSession, year: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-FN-10] All functions of a query are evaluated in one call, without known results."""
    calls: list[list[int]] = []
    real = QueryCalls.evaluate

    def counted(queries: QueryCalls, request: int, terms: Sequence[tuple[int, Packed]]) -> Packed:
        calls.append([len(values.states) for _, values in terms])
        return real(queries, request, terms)

    monkeypatch.setattr(QueryCalls, "evaluate", counted)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")  # what no test before has asked
    filters = "month(ts) = 3 AND hour(ts) < 23 AND (lower(s) LIKE '%9' OR cast(ts as date) + i % 7 > dt)"
    for kind in ("MinMax", "ValueList"):
        outcome(year, kind, filters)
        assert len(calls) == 1, kind
        assert len(calls[0]) >= 3, calls
        calls.clear()
        outcome(year, kind, filters.replace("3", "4").replace("23", "22"))
        assert calls == [], "only literals that are compared with are other ones"
    outcome(year, "MinMax", "month(dt) = 3")
    assert len(calls) == 1
    calls.clear()
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    outcome(year, "MinMax", "month(dt) = 4 AND hour(ts) < 5")
    assert len(calls) == 1, "other settings"


WRAPS = {"low": [(-(2**31),), (-(2**31) + 5,)], "mid": [(0,), (10,)], "high": [(2**31 - 3,), (2**31 - 1,)],
         "wide": [(-(2**31),), (2**31 - 1,)]}  # fmt: skip


def test_overflow_between_bounds(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[PRU-FN-4] If a sum or a product may overflow between the bounds, the result is unknown."""
    spark.conf.set("spark.sql.ansi.enabled", "false")
    ints = family(spark, tmp_path_factory.mktemp("wraps"), "i int", WRAPS, {"minmax": [MinMax("i")]})
    ints.check(
        "minmax",
        {
            "i + 2 < -2147483640": "low high wide",
            "i + 2 = 5": "mid high wide",
            "i - 1 > 2147483640": "low high wide",
            "0 - i = -5": "mid low wide",
            "i * 3 = 15": "mid low high wide",
            "cast(i * 100000 as bigint) > 1": "mid low high wide",
            "i + 0L > 2147483640L": "high wide",
            # what divides can hide that the sum below it has wrapped around
            "(i + 10) div 1500000000 = 0": "mid wide",
            "(10 - i) div 1500000000 = 0": "mid wide",
            "floor((i - 10) / 1e10) = 0": "mid low high wide",
            "round(i, -1) div 2000000000 = 1": "low wide",
        },
    )


def test_what_is_not_a_number_below_zero(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[PRU-FN-4] If a part is NaN at a bound, the values between the bounds are unknown."""
    files = {"both": [(-4.0,), (0.0001,), (100.0,)], "plus": [(9.0,), (16.0,)], "minus": [(-9.0,), (-4.0,)]}
    made = family(spark, tmp_path_factory.mktemp("nan"), "d double", files, {"minmax": [MinMax("d")]})
    spark.conf.set("spark.sql.ansi.enabled", "false")
    made.check("minmax", {
        "floor(ln(sqrt(d))) = -5": "both minus",
        "floor(sqrt(d)) = 20": "both minus",
        "sqrt(d) > 3.5": ALL,  # NaN is above all
        "sqrt(d) < 2": "both minus",
        "cast(sqrt(d) as int) = 7": "both minus",
    })  # fmt: skip


def test_absolute_values(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[PRU-FN-9] The bounds of |x| are correct if x has one sign or both; a sum of it can overflow."""
    least = -(2**31)
    files = {"minus": [(-9, -9.5), (-4, -4.0)], "plus": [(3, 3.0), (8, 8.5)], "both": [(-6, -6.0), (2, 2.0)],
             "wide": [(-5, -1.0), (147_483_647, 0.0), (2_000_000_000, 0.5)],
             "least": [(least, 1.0), (7, 2.0)]}  # fmt: skip
    rows = {name: [(i, d, Decimal(str(d))) for i, d in own] for name, own in files.items()}
    wanted = {"minmax": [MinMax("i"), MinMax("d"), MinMax("n")]}
    made = family(spark, tmp_path_factory.mktemp("abs"), "i int, d double, n decimal(5,2)", rows, wanted)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    made.check("minmax", {
        "abs(i) > 8": "minus wide least",  # the absolute value of the least integer is itself
        "abs(i) < 4": "plus both wide least",
        "abs(i) = 5": "minus plus both wide least",
        "abs(i) between 10 and 100": "wide least",
        "-abs(d) < -8": "minus plus",
        "-abs(d) > -2.5": "both wide least",
        "abs(i) + 2000000000 > 2000000100": ALL,
        "abs(d) > 8": "minus plus",
        "abs(d) < 2.5": "both wide least",
        "sqrt(abs(d)) > 3": ALL,  # of a root below it is not known that no end is NaN
        "sqrt(-abs(d)) = 0": ALL,
        "abs(n) > 8": "minus plus",
    })  # fmt: skip


@pytest.fixture(scope="module")
def clock(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    """Write files with two instants each, around changes of the clock."""
    minutes = [dt.datetime(2018, 2, 18, tzinfo=dt.timezone.utc) + dt.timedelta(minutes=10 * k) for k in range(36)]
    minutes += [dt.datetime(2011, 12, 30, tzinfo=dt.timezone.utc) + dt.timedelta(hours=k) for k in range(36)]
    minutes += [dt.datetime(2020, 11, 1, tzinfo=dt.timezone.utc) + dt.timedelta(minutes=30 * k) for k in range(30)]
    files = {f"t{k}": [(a,), (b,)] for k, (a, b) in enumerate(pairwise(minutes))}
    return family(session, tmp_path_factory.mktemp("clock"), "t timestamp", files, {"minmax": [MinMax("t")]})


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kathmandu"])
def test_dates_around_a_change_of_the_clock(spark: SparkSession, clock: Family, zone: str) -> None:
    """[PRU-FN-5] All files of a date are read if the clock goes back over midnight or skips a day."""
    spark.conf.set("spark.sql.session.timeZone", zone)
    predicates = (
        "cast(t as date) = date'2018-02-17'",
        "cast(t as date) > date'2018-02-17' AND year(t) = 2018",
        "date_trunc('HOUR', t) = timestamp'2020-11-01 01:00:00'",
        "cast(t as date) = date'2011-12-31'",
        "year(t) = 2011",
        "month(t) = 2",
        "day(t) = 30",
    )
    clock.ask_oracle(predicates)
    asked = clock.read("minmax")
    ruled_out = 0
    for predicate in predicates:
        opened = opened_files(asked.filter(predicate))
        assert clock.matching(predicate) <= opened, (zone, predicate)
        ruled_out += len(clock.names - opened)
    assert ruled_out > 100


def test_functions_of_users_and_of_several_columns(spark: SparkSession, year: Family) -> None:
    """[PRU-FN-7] Such functions are not evaluated, so that no file is skipped."""
    spark.udf.register("mine", lambda x: x == 5, BooleanType())
    for kind in ("MinMax", "ValueList"):
        for expression in ("mine(i)", "i + length(s) = 12", "rand() < 0.5"):
            assert opened_files(year.read(kind).filter(expression)) == year.names, expression
        array = "exists(split(c, 'x'), e -> e = 'c1')"
        assert opened_files(year.read(kind).filter(array)) == year.names


def test_an_answer_is_of_its_session_s_settings(spark: SparkSession, year: Family) -> None:
    """[PRU-FN-8] The same filter on the same plan gives other files under another setting."""
    hour = "date_format(ts, 'yyyy-MM-dd HH') = '2020-01-01 00'"
    asked: dict[str, set[frozenset[str]]] = {}
    for zone in ("UTC", "Asia/Tokyo", "UTC"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        asked.setdefault(zone, set()).add(frozenset(opened_files(year.read("ValueList").filter(hour))))
        assert year.matching(hour) <= opened_files(year.read("ValueList").filter(hour))
    assert asked == {"UTC": {frozenset({"f0"})}, "Asia/Tokyo": {frozenset()}}
    for policy, found in (("CORRECTED", {"f0"}), ("LEGACY", {"f0"})):
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.set("spark.sql.legacy.timeParserPolicy", policy)
        assert opened_files(year.read("ValueList").filter(hour)) == found


def test_everything_is_kept_where_nothing_is_known(spark: SparkSession, year: Family) -> None:
    """[PRU-FN-1] A Bloom filter answers only conditions on the column itself."""
    year.check("BloomFilter", {"upper(c) = 'C1'": ALL, "i + 1 = 6": ALL, "c = 'c9'": NONE, "i = 5": "f0"})
