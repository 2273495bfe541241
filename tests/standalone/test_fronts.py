"""A condition in SQL and the same condition of pyarrow keep the same files, and no file with a matching row is lost."""

from __future__ import annotations

import math
import os
import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import xskip
from tests import effort
from tests.helpers import index, needs_spark_4, write_once
from tests.standalone.random_data import FILES, START, made
from xskip import BloomFilter, MinMax, NullCount, Prefix, SkippingIndex, ValueList
from xskip.standalone.opened import OpenedIndex

F = ds.field
NAN = math.nan
UTC = timezone.utc
PARTITIONING = ds.partitioning(pa.schema([("p", pa.int32()), ("q", pa.string())]), flavor="hive")
OPS = {
    "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
COLUMNS = ["i", "l", "d", "f", "s", "c", "day", "t", "n", "flag", "p", "q"]


@pytest.fixture
def draw() -> random.Random:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")  # noqa: T201
    return random.Random(seed)


def literal(draw: random.Random, name: str) -> tuple[str, Any]:
    """Return a literal in SQL and for pyarrow."""
    number = draw.randint(-10, FILES * 10 + 10)
    moment = START + timedelta(hours=number * 5)
    match name:
        case "i":
            return draw.choice(
                [
                    (str(number), number),
                    (f"{number}.5", number + math.copysign(0.5, number)),
                    (f"{number}", float(number)),
                ]
            )
        case "p":
            return str(number % 5), number % 5
        case "l":
            return str(number * 1_000_000_007), number * 1_000_000_007
        case "d" | "f":
            return f"{number}.25", number + 0.25 if number >= 0 else number - 0.25
        case "c":
            return f"{number}.25", Decimal(f"{number}.25")
        case "s":
            text = f"{chr(97 + number % 26)}{number:03d}"
            return f"'{text}'", text
        case "q":
            return draw.choice([("'x'", "x"), ("'w'", "w")])
        case "day":
            found = START.date() + timedelta(days=number)
            return f"DATE '{found}'", found
        case "t":
            return f"TIMESTAMP '{moment}+00:00'", moment.replace(tzinfo=UTC)
        case "n":
            return f"TIMESTAMP_NTZ '{moment}'", moment
        case _:
            return draw.choice([("TRUE", True), ("FALSE", False)])


def leaf(draw: random.Random) -> tuple[str, Any]:
    name = draw.choice(COLUMNS)
    text, value = literal(draw, name)
    match draw.choice(["comparison", "comparison", "flipped", "in", "null", "like"]):
        case "in":
            texts, values = zip(*(literal(draw, name) for _ in range(draw.randint(1, 4))), strict=True)
            return f"{name} IN ({', '.join(texts)})", F(name).isin(pa.array(values))
        case "null":
            return draw.choice([(f"{name} IS NULL", F(name).is_null()), (f"{name} IS NOT NULL", F(name).is_valid())])
        case "like" if name == "s":
            start = value[: draw.randint(1, 4)]
            return draw.choice(
                [
                    (f"s LIKE '{start}%'", pc.starts_with(F("s"), pattern=start)),
                    (f"s LIKE '{start}%'", pc.match_like(F("s"), f"{start}%")),
                    (f"s LIKE '{start}'", pc.match_like(F("s"), start)),
                    (f"s LIKE '{start}%1'", pc.match_like(F("s"), f"{start}%1")),
                ]
            )
        case "flipped" if name in ("i", "s", "c"):
            return f"{text} <= {name}", pc.scalar(value) <= F(name)
        case _:
            op = draw.choice(list(OPS))
            return f"{name} {op} {text}", OPS[op](F(name), value)


def condition(draw: random.Random, depth: int = 2) -> tuple[str, Any]:
    if depth == 0 or draw.random() < 0.3:
        return leaf(draw)
    (left, one), (right, other) = condition(draw, depth - 1), condition(draw, depth - 1)
    text, found = draw.choice([(f"({left} AND {right})", one & other), (f"({left} OR {right})", one | other)])
    # is_in is never null, and so its negation differs from that of IN
    return (f"NOT {text}", ~found) if draw.random() < 0.3 and " IN " not in text else (text, found)


def test_both_fronts_keep_the_same_files(spark: SparkSession, tmp_path: Path, draw: random.Random) -> None:
    """[STA-SK-1] [STA-AR-1]"""
    path = made(spark, tmp_path, draw).name
    opened = xskip.open_index(path)
    every = ds.dataset(path, format="parquet", partitioning=PARTITIONING)
    skipped = matched = 0
    for _ in range(effort.cases(200)):
        text, expression = condition(draw)
        by_text, by_expression = opened.files(text), opened.files(expression)
        assert by_text.names == by_expression.names, (text, str(expression), by_expression.unused)
        try:
            rows = every.to_table(["__filename"], filter=expression)
        except pa.ArrowInvalid:  # pyarrow refuses some comparisons of numbers
            continue
        matching = set(rows["__filename"].to_pylist())
        assert matching <= set(by_expression), (text, str(expression))
        skipped += by_text.total - len(by_text)
        matched += len(matching)
    assert skipped > effort.cases(500)
    assert matched > effort.cases(250)


def stems(opened: OpenedIndex, predicate: Any) -> str:
    kept = opened.files(predicate)
    assert kept.unused == (), kept.unused
    return "".join(sorted(Path(name).stem for name in kept))


FLAT = (
    "i int, s string, d double, f float, c decimal(8,2), b binary, day date, n timestamp_ntz, t timestamp, "
    "st struct<a: int>, u string"
)


def flat_row(number: int, text: str | None, floating: float | None) -> tuple[Any, ...]:
    moment = datetime(2024, 1, 1) + timedelta(days=number)
    return (
        number, text, floating, None if floating is None else floating / 2, Decimal(number) / 4,
        None if text is None else text.encode(), moment.date(), moment, moment.replace(tzinfo=UTC), (number,), text,
    )  # fmt: skip


KINDS_OF_TIMESTAMPS = ["INT96", "TIMESTAMP_MICROS"]


@pytest.fixture(scope="module")
def paths(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the path of an indexed dataset for each kind of timestamps, which no test changes."""
    key, found = "spark.sql.parquet.outputTimestampType", {}
    before = session.conf.get(key)
    assert before is not None
    for kind in KINDS_OF_TIMESTAMPS:
        session.conf.set(key, kind)
        found[kind] = indexed_files(session, tmp_path_factory.mktemp("flat"))
    session.conf.set(key, before)
    return found


def indexed_files(spark: SparkSession, root: Path) -> str:
    """Write and index files whose bounds overlap, so that only lists, filters and prefixes tell them apart."""
    files = {
        "a": [flat_row(0, "ant", 0.0), flat_row(100, "zoo", 9.0)],
        "b": [flat_row(0, "ape", -0.0), flat_row(50, "bee", 5.0), flat_row(100, "zoo", 9.0)],
        "c": [flat_row(0, "ant", math.nan), flat_row(70, None, None), flat_row(100, "zoo", 9.0)],
    }
    path = write_once(spark, root / "flat", FLAT, files)
    lists = [ValueList(name) for name in ("i", "s", "d", "f", "c", "b", "day", "n", "t", "st.a")]
    index(spark, path, [*lists, BloomFilter("u"), *map(NullCount, ("i", "s", "d"))])
    return path


@pytest.fixture(params=KINDS_OF_TIMESTAMPS)
def flat(paths: dict[str, str], request: pytest.FixtureRequest) -> OpenedIndex:
    """Return the index of each dataset, newly opened."""
    return xskip.open_index(paths[request.param])


def test_expressions_use_lists_filters_and_null_counts(flat: OpenedIndex) -> None:
    """[STA-AR-1]"""
    day, moment = date(2024, 2, 20), datetime(2024, 2, 20)
    is_int96 = flat.files(F("i") == 50).to_pyarrow().schema.field("t").type.tz is None
    aware: Any = moment if is_int96 else moment.replace(tzinfo=UTC)
    cases: list[tuple[Any, str]] = [
        (F("i") == 50, "b"), (F("i").isin([50, 70]), "bc"), (F("i").isin([1, 2]), ""), (F("i").isin([]), ""),
        (F("i").cast("int64") == 70, "c"), (F("i").cast("double") == 50.0, "b"), (F("i") == 50.5, ""),
        (F("i") == 50.0, "b"), (pc.scalar(70) == F("i"), "c"), (F("i").isin([50.0]), "b"),
        (F("s") == "bee", "b"), (F("u") == "bee", "b"), (F("u").isin(["bee", "bug"]), "b"), (F("s") == b"bee", "b"),
        (pc.starts_with(F("s"), pattern="be"), "b"), (pc.match_like(F("s"), "be%"), "b"), (F("b") == b"bee", "b"),
        (F("b") == "bee", "b"), (F("s").is_null(), "c"), (F("s").is_valid() & (F("i") == 50), "b"),
        (F("d") == 5, "b"), (F("f") == 2.5, "b"), (F("c") == Decimal("12.50"), "b"), (F("day") == day, "b"),
        (F("day") == moment, "b"), (F("n") == moment, "b"), (F("n") == day, "b"), (F("t") == aware, "b"),
        (F("n").isin(pa.array([moment], pa.timestamp("s"))), "b"), (F("st", "a") == 50, "b"),
        ((F("i") == 50) | (F("i") == 70), "bc"), ((F("i") == 50) & (F("s") == "ant"), ""), (pc.scalar(False), ""),
        (F("i") == pa.scalar(None, pa.int32()), ""), (pc.and_kleene(F("i") == 50, F("s") == "bee"), "b"),
        (pc.and_not_kleene(F("i") == 50, F("s") == "zoo"), "b"), (F("d").isin([0.0]), "ab"), (F("d") == 0.0, "ab"),
    ]  # fmt: skip
    rows = flat.files("TRUE").to_pyarrow()
    for expression, expected in cases:
        assert (str(expression), stems(flat, expression)) == (str(expression), expected)
        found = rows.to_table(["__filename"], filter=expression)["__filename"].to_pylist()
        assert {Path(name).stem for name in found} <= set(expected), str(expression)


def test_numbers_of_many_digits(flat: OpenedIndex) -> None:
    """[STA-PR-3]"""
    great = "1" * 30
    for condition, expected in [("i = {}", ""), ("i < {}", "abc"), ("c > {}.5", ""), ("c > -{}.5", "abc")]:
        assert stems(flat, condition.format(great)) == expected, condition


def test_where_pyarrow_differs_from_sql(flat: OpenedIndex) -> None:
    """[STA-AR-2]"""
    rows = flat.files("TRUE").to_pyarrow()
    cases: list[tuple[Any, str]] = [
        (F("d").isin([math.nan]), "c"), (F("d") > 9, "c"), (~(F("d") > 9), "abc"), (pc.is_nan(F("d")), "c"),
        (F("s").isin(["bee", None]), "bc"), (~F("s").isin(["ant", "zoo"]), "bc"),
        (~F("s").isin(["ant", "zoo", None]), "b"),
        (pc.is_in(F("s"), value_set=pa.array(["bee", None]), skip_nulls=True), "b"),
        (F("d").is_null(nan_is_null=True), "c"), (~F("d").isin([0.0, 9.0]), "abc"), (~F("d").isin([-0.0, 9.0]), "abc"),
        (~F("i").isin([0, 100]), "bc"), (~(F("s") == "zoo") & ~(F("s") == "ant"), "b"),
    ]  # fmt: skip
    for expression, expected in cases:
        assert (str(expression), stems(flat, expression)) == (str(expression), expected)
        found = rows.to_table(["__filename"], filter=expression)["__filename"].to_pylist()
        assert {Path(name).stem for name in found} <= set(expected), str(expression)


@pytest.mark.parametrize(
    ("expression", "unused"),
    [
        (F("i") + 1 > 200, ("add_checked(i, 1) > 200", "xskip does not use the function add_checked of pyarrow")),
        (F("i").cast("string") == "7", ("cast(i) = '7'", "a cast to string can change values or their order")),
        (F("i") == "7", ("i = '7'", "xskip does not compare a column of type int32 with a literal of type string")),
        (F("i") == 2.0**60, ("i = 1.152921504606847e+18", "pyarrow rounds the column to floating-point numbers")),
        (F("d") == 2**60 + 1, ("d = 1152921504606846977", "pyarrow rounds this number to a floating-point number")),
        (F("d") == NAN, ("d = nan", "xskip does not use comparisons with infinity and NaN")),
        (F("f") == 0.1, ("f = 0.1000000000000000055511151231257827021181583404541015625",
                         "engines round this number differently for a column of type float")),
        (F("f").isin([0.1]), ("f = 0.1000000000000000055511151231257827021181583404541015625",
                              "engines round this number differently for a column of type float")),
        (F("n") == datetime(2024, 1, 1, tzinfo=UTC),
         ("n = 2024-01-01 00:00:00+00:00", "pyarrow does not compare timestamps with a zone and without one")),
        (pc.match_like(F("s"), "a%", ignore_case=True),
         ("match_like(s, 'a%')", "xskip does not use conditions that ignore case")),
        (pc.match_like(F("s"), r"a\%"), (r"match_like(s, 'a\%')", "xskip does not use patterns with a backslash")),
        (pc.ends_with(F("s"), pattern="x"),
         ("ends_with(s, 'x')", "xskip does not use the function ends_with of pyarrow")),
        (F("i").isin(["7"]), ("some values of a list for i",
                              "xskip does not compare a column of type int32 with a literal of type string")),
        (pc.scalar(5), ("5", "the literal is no condition")),
        (F("day") == pa.scalar(10**8, pa.date32()), ("day = <value out of range: 100000000>",
                                                     "xskip compares only dates of the years 1 to 9999")),
    ],
)  # fmt: skip
def test_parts_that_are_not_used_keep_files_and_are_named(
    flat: OpenedIndex, expression: Any, unused: tuple[str, str]
) -> None:
    """[STA-AR-2]"""
    kept = flat.files(expression)
    assert (kept.unused, len(kept)) == ((unused,), 3)
    both = flat.files(expression & (F("i") == 50))
    assert (both.unused, [Path(name).stem for name in both]) == ((unused,), ["b"])


def test_columns_by_their_position_keep_files(flat: OpenedIndex) -> None:
    """[STA-AR-3]"""
    kept = flat.files((F(0) == 50) & (F("i") == 50))
    assert (len(kept), kept.unused[0][1]) == (3, "Serialization of non-name field_refs")


def test_pickles_in_an_unknown_form_keep_files(flat: OpenedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """[STA-AR-3]"""
    assert len(flat.files(F("i") == 50)) == 1
    monkeypatch.setattr("xskip.standalone.arrow_tree._metadata_of", lambda _: iter([("new", "1")]))
    kept = flat.files(F("i") == 50)
    assert len(kept) == 3
    assert kept.unused[0] == ("(i == 50)", "this version of pyarrow writes expressions in another form")


def test_long_chains_and_lists(flat: OpenedIndex) -> None:
    chain = F("i") == 50
    for number in range(3_000):
        chain = chain | (F("i") == number + 1_000)
    assert stems(flat, chain) == "b"
    assert stems(flat, F("i").isin([50, *range(1_000, 50_000)])) == "b"
    deep = F("i") == 50
    for _ in range(200):
        deep = ~~(~deep)
    assert len(flat.files(deep)) == 3


def test_pyarrow_itself_decides_functions_of_partition_values(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-AR-1]"""
    path = write_once(spark, tmp_path / "data", "a int", {f"p={i}/f{i}": [(i,)] for i in range(4)})
    index(spark, path, [MinMax("a")])
    assert stems(xskip.open_index(path), F("p") * 2 == 4) == "f2"
    assert stems(xskip.open_index(path), (F("p") * 2 == 4) | (F("a") == 0)) == "f0f2"


def test_prefixes(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-AR-1]"""
    files = {"a": [("ant",), ("zoo",)], "b": [("a%_b",), ("zoo",)], "c": [("a\nc",), ("zoo",)]}
    path = write_once(spark, tmp_path / "data", "s string", files)
    index(spark, path, [Prefix("s", length=3)])
    opened = xskip.open_index(path)
    assert stems(opened, pc.starts_with(F("s"), pattern="a%")) == "b"
    assert stems(opened, pc.match_like(F("s"), "a\n%")) == "c"
    assert stems(opened, ~pc.starts_with(F("s"), pattern="a") & ~pc.starts_with(F("s"), pattern="z")) == ""


@needs_spark_4("reads no int of Parquet as bigint")
@pytest.mark.parametrize("wide", [0, 2])
def test_columns_with_different_types_in_files_keep_files(spark: SparkSession, tmp_path: Path, wide: int) -> None:
    """[STA-AR-2]"""
    root = tmp_path / "data"
    root.mkdir()
    for number in range(3):
        kind = pa.int64() if number == wide else pa.int32()
        pq.write_table(pa.table({"a": pa.array([number], kind), "b": [number]}), root / f"f{number}.parquet")
        os.utime(root / f"f{number}.parquet", (1_700_000_000 + number,) * 2)
    SkippingIndex.for_path(spark, str(root), schema="a bigint, b bigint").create([MinMax("a"), MinMax("b")])
    kept = xskip.open_index(root).files((F("a") == 1) & (F("b") < 2))
    assert [Path(name).stem for name in kept] == ["f0", "f1"]
    assert kept.unused == (("a = 1", "the files hold a with different types"),)
