"""PathBounds skips files by bounds in their paths. Rules: specs/pruning.rst, [PRU-PB]."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.helpers import index, metadata, opened_files, write_once
from tests.soundness.checking import ALL, family
from xskip import MinMax, PathBounds, ValueList
from xskip.errors import IndexDefinitionError, UnsupportedTypeError
from xskip.spark.collect.collector import Collector

QUIX = "ts_{ts:min}_{ts:max}_part_{part}_off_{offset:min}_{offset:max}"
UTC = dt.timezone.utc
GREATEST = 2**63 - 1


def bounds(kind: str, pattern: str, *paths: str, unit: str = "", zone: str = "UTC") -> list[Any]:
    """Return the bounds of column ``c`` in paths, as numbers; None where a path says nothing."""
    values = PathBounds("c", pattern, unit, zone).assemble([pa.array(paths, pa.string())], [kind])
    whole = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}.get(kind)
    low, high = (side.view(whole) if whole else side for side in values.flatten())
    return [
        (a, b) if fits else None
        for fits, a, b in zip(values.is_valid().to_pylist(), low.to_pylist(), high.to_pylist(), strict=True)
    ]


def period(first: str, last: str) -> tuple[int, int]:
    """Return the bounds of a period from one day to another, without the last one."""
    return micros(first), micros(last) - 1


def micros(text: str) -> int:
    return (dt.datetime.fromisoformat(text).replace(tzinfo=UTC) - dt.datetime(1970, 1, 1, tzinfo=UTC)) // dt.timedelta(
        microseconds=1
    )


@pytest.mark.parametrize(
    ("kind", "least", "greatest"),
    [("tinyint", -128, 127), ("smallint", -(2**15), 2**15 - 1), ("int", -(2**31), 2**31 - 1)],
)
def test_a_number_that_the_type_cannot_hold_says_nothing(kind: str, least: int, greatest: int) -> None:
    """[PRU-PB-3]"""
    paths = [f"/n{n}" for n in (least - 1, least, 0, greatest, greatest + 1)]
    assert bounds(kind, "n{c}", *paths) == [None, (least, least), (0, 0), (greatest, greatest), None]
    assert bounds(kind, "n{c:min}", "/n1", f"/n{greatest + 1}") == [(1, None), None]
    assert bounds(kind, "n{c:max}", "/n1", f"/n{least - 1}") == [(None, 1), None]


def test_parts_of_a_period() -> None:
    """[PRU-PB-4]"""
    hours = "year={c:year}/month={c:month}/day={c:day}/hour={c:hour}/*"
    paths = [f"/year={year}/month=02/day=29/hour=7/x" for year in (2024, 2023)]
    assert bounds("timestamp", hours, *paths) == [period("2024-02-29T07", "2024-02-29T08"), None]
    days = "year={c:year}/month={c:month}/day={c:day}/data"
    paths = [
        "t/year=2024/month=2/day=9/data.parquet",
        "t/year=2024/month=13/day=01/data.parquet",
        "t/2024/data.parquet",
    ]
    assert bounds("timestamp", days, *paths) == [period("2024-02-09", "2024-02-10"), None, None]
    assert bounds("date", days, paths[0]) == [(19_762, 19_762)]
    assert bounds("bigint", days, paths[0]) == [None]
    assert bounds("bigint", days, paths[0], unit="s") == [(1_707_436_800, 1_707_523_199)]
    assert bounds("timestamp", "{c:year}w{c:week}/*", "2020w53/x", "2020w54/x", "2021w1/x") == [
        period("2020-12-28", "2021-01-04"), None, period("2021-01-04", "2021-01-11"),
    ]  # fmt: skip
    assert bounds("timestamp", "{c:year}/{c:month}_{c:min}", "2024/02_5", unit="us") == [
        period("2024-02-01", "2024-03-01")
    ]
    assert bounds("timestamp", "y={c:year}/*", "y=2024/x", zone="Asia/Tokyo") == [
        (micros("2023-12-31T15:00"), micros("2024-12-31T15:00") - 1)
    ]


def test_numbers_of_64_bits() -> None:
    """[PRU-PB-3]"""
    paths = ["/n0000000000000000012", f"/n{GREATEST - 1}", f"/n-{GREATEST - 1}", "/n9999999999999999999", "/n-0"]
    assert bounds("bigint", "n{c}", *paths) == [
        (12, 12), (GREATEST - 1, GREATEST - 1), (1 - GREATEST, 1 - GREATEST), None, (0, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize(
    ("unit", "low", "high"),
    [("s", -5_000_000, 7_999_999), ("ms", -5_000, 7_999), ("us", -5, 7), ("ns", -1, 0)],
)
def test_a_time_is_at_least_as_precise_as_its_number(kind: str, unit: str, low: int, high: int) -> None:
    """[PRU-PB-3] The upper bound is the last microsecond of the unit, because writers round down."""
    assert bounds(kind, "n_{c:min}_{c:max}", "/n_-5_7", unit=unit) == [(low, high)]
    assert bounds(kind, "n_{c:min}_{c:max}", f"/n_1_{'9' * 19}", unit=unit) == [None]


def test_periods() -> None:
    """[PRU-PB-4]"""
    paths = ("/2024-03-01/f", "/2024-W09/f", "/2024-02-30/f", "/2024-03-01T23/f")
    day, week, hour = ("2024-03-01", "2024-03-02"), ("2024-02-26", "2024-03-04"), ("2024-03-01T23:00", "2024-03-02")
    known = [day, week, None, hour]
    instants = [None if p is None else (micros(p[0]), micros(p[1]) - 1) for p in known]
    assert bounds("timestamp", "{c:period}/*", *paths) == instants
    assert bounds("timestamp_ntz", "{c:period}/*", *paths, zone="Asia/Tokyo") == instants
    shifted = [None if p is None else tuple(v - 9 * 3_600_000_000 for v in p) for p in instants]
    assert bounds("timestamp", "{c:period}/*", *paths, zone="Asia/Tokyo") == shifted
    days = [None if p is None else tuple(v // 86_400_000_000 for v in p) for p in instants]
    assert bounds("date", "{c:period}/*", *paths, zone="Asia/Tokyo") == days
    assert bounds("bigint", "{c:period}/*", *paths, unit="ms") == [
        None if p is None else (p[0] // 1000, p[1] // 1000) for p in instants
    ]
    assert bounds("bigint", "{c:period}/*", *paths, unit="ns") == [
        None if p is None else (p[0] * 1000, p[1] * 1000 + 999) for p in instants
    ]
    assert bounds("bigint", "{c:period}/*", "/9998-01/f", unit="ns") == [None], "nanoseconds end in 2262"
    assert bounds("bigint", "{c:period}/*", *paths) == [None] * 4, "no unit says what the numbers count"
    assert bounds("int", "{c:period}/*", "/2024/f", "/2040/f", unit="s")[1:] == [None]


def test_only_the_start_of_a_period() -> None:
    """[PRU-PB-4]"""
    assert bounds("timestamp", "{c:since}/*", "/2024-03-01/f") == [(micros("2024-03-01"), None)]
    assert bounds("date", "{c:min}_{c:max}", "/2024-01_2024-02") == [(19723, 19782)]
    assert bounds("timestamp", "{c:min}", "/2024-03-01") == [(micros("2024-03-01"), None)]


def test_several_places_restrict_each_other() -> None:
    """[PRU-PB-3] Bounds that contradict each other say nothing."""
    pattern = "{c:period}/f_{c:min}_{c:max}"
    start = micros("2024-03-01") // 1000
    paths = [f"/2024-03-01/f_{start - 5}_{start + 5}", f"/2024-03-01/f_{start + 7}_{start + 5}"]
    paths += [f"/2024-03-02/f_{start}_{start + 5}", f"/2024-03-01/f_{start - 5}_{start - 1}"]
    assert bounds("timestamp", pattern, *paths, unit="ms") == [
        (start * 1000, start * 1000 + 5999), None, None, None,
    ]  # fmt: skip


def test_definitions() -> None:
    """[PRU-PB-1] Invalid definitions are refused."""
    builds: dict[str, Callable[[], object]] = {
        "no place of the column": lambda: PathBounds("x", "ts_{ts}"),
        "a column and a pattern": lambda: PathBounds("ts"),
        "no place;": lambda: PathBounds("ts", "ts"),
        "unknown unit": lambda: PathBounds("ts", "{ts}", "minutes"),
        "unknown time zone": lambda: PathBounds("ts", "{ts}", zone="Mars/Base"),
        "time zone": lambda: PathBounds("ts", "{ts}", zone="../../etc/passwd"),
        "an expression": lambda: PathBounds("ts", "{ts}", expression=True),
    }
    for problem, build in builds.items():
        with pytest.raises(IndexDefinitionError, match=problem.rstrip(";")):
            build()
    for kind in ("string", "double", "decimal(9,2)", "boolean"):
        with pytest.raises(UnsupportedTypeError, match="PathBounds cannot index this type"):
            PathBounds("ts", "{ts}").storage([kind])


def test_an_index_for_each_column_of_a_pattern() -> None:
    """[PRU-PB-1]"""
    made = PathBounds.of_pattern(QUIX, unit="ms", zone="Europe/Prague")
    assert made == tuple(PathBounds(column, QUIX, "ms", "Europe/Prague") for column in ("ts", "part", "offset"))


SCHEMA = "ts bigint, part int, offset bigint, at timestamp, day date"
AT = [dt.datetime(2024, 3, 1, 12, 0, 0, 999_999, UTC)] * 2


def rows(part: int, *numbers: int) -> list[tuple[Any, ...]]:
    return [(n, part, 10 * n, AT[0], dt.date(2024, 3, 1)) for n in numbers]


FILES: dict[str, list[Any]] = {
    "ts_0_9_part_0_off_0_90": [*rows(0, 0, 9), (None, 0, None, None, None)],
    "ts_5_20_part_1_off_50_200": rows(1, 5, 20),
    "ts_21_40_part_0_off_210_400": rows(0, 30),
    "ts_9_3_part_0_off_0_2000": rows(0, 100),
    "other": rows(7, 1000),
}
A, B, C, X, Y = FILES
CASES = {
    "ts = 7": f"{A} {B} {X} {Y}",
    "ts > 20": f"{C} {X} {Y}",
    "ts < 5": f"{A} {X} {Y}",
    "ts in (22, 39)": f"{C} {X} {Y}",
    "ts >= 1000": f"{X} {Y}",
    "part = 1": f"{B} {Y}",
    "part <> 0": f"{B} {Y}",
    "part = 0 and offset > 300": f"{C} {X} {Y}",
    "offset between 100 and 150": f"{B} {X} {Y}",
    "ts is null": ALL,
    "not (ts <= 20)": f"{C} {X} {Y}",
}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_leaf(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PRU-PB-2] [PRU-PB-5] Filters read exactly the expected files, and a build opens no file."""
    made = family(spark, tmp_path_factory.mktemp("paths"), SCHEMA, FILES, {}, fmt=fmt)
    with monkeypatch.context() as patched:
        for job in ("_from_data", "_from_footers"):
            patched.setattr(Collector, job, lambda *_: pytest.fail("a file was opened"))
        made.add("paths", PathBounds.of_pattern(QUIX))
    # ``part`` of X is trusted although its other bounds contradict each other
    made.check("paths", CASES)
    made.add("both", [*PathBounds.of_pattern(QUIX), MinMax("ts"), ValueList("part")])
    made.check("both", {"ts > 25": f"{C} {X} {Y}", "ts = 7": f"{A} {B}", "part = 7": Y, "offset > 9999": Y})


def test_status_names_the_paths_that_say_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-PB-6] Files that were deleted do not count."""
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES)
    made = index(spark, path, [PathBounds("ts", QUIX), PathBounds("part", QUIX), MinMax("ts")])
    status = made.status()
    assert status.unknown_paths == 2
    assert sorted(Path(example).stem for example in status.unknown_path_examples) == [Y, X]
    assert "paths without bounds" in str(status)
    (tmp_path / f"data/{Y}.parquet").unlink()
    status = made.status()
    assert (status.unknown_paths, status.stale) == (1, 1)
    made.drop()
    assert "paths without bounds" not in str(index(spark, path, [MinMax("ts")]).status())


def test_refresh_and_migration(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-PB-5] New files get bounds from their paths, and the bounds survive all versions of the format."""
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES)
    made = index(spark, path, PathBounds.of_pattern(QUIX))
    write_once(spark, tmp_path / "more", SCHEMA, {"ts_50_60_part_3_off_500_600": rows(3, 50)})
    (tmp_path / "more/ts_50_60_part_3_off_500_600.parquet").rename(
        tmp_path / "data/ts_50_60_part_3_off_500_600.parquet"
    )
    assert made.refresh().added == 1
    before = metadata(made)
    for version in (1, 2, 3, 0, 4):
        made.migrate(version)
        assert {k: c.values for k, c in metadata(made).indexes.items()} == {
            k: c.values for k, c in before.indexes.items()
        }
        assert opened_files(spark.read.parquet(path).filter("ts > 45")) == {"ts_50_60_part_3_off_500_600", X, Y}
    assert [info.name for info in made.describe().indexes] == ["pathbounds"] * 3


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_validation_names_the_paths_that_are_wrong(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[PRU-PB-7]"""
    files = {
        "ts_0_9_part_0_off_0_90": rows(0, 0, 9),
        "ts_5_19_part_1_off_50_200": rows(1, 5, 20),
        "ts_31_40_part_2_off_0_400": rows(0, 30),
        "ts_9_3_part_7_off_0_1": rows(0, 100),
        "other": rows(0, 1),
    }
    path = write_once(spark, tmp_path / "data", SCHEMA, files, fmt)
    made = index(spark, path, [*PathBounds.of_pattern(QUIX), MinMax("ts")], fmt)
    found = made.validate()
    assert found.files == 5
    assert sorted((Path(w.path).stem, w.index, w.claimed, w.actual) for w in found.wrong) == [
        ("ts_31_40_part_2_off_0_400", "pathbounds(part)", "2 to 2", "0 to 0"),
        ("ts_31_40_part_2_off_0_400", "pathbounds(ts)", "31 to 40", "30 to 30"),
        ("ts_5_19_part_1_off_50_200", "pathbounds(ts)", "5 to 19", "5 to 20"),
        ("ts_9_3_part_7_off_0_1", "pathbounds(offset)", "0 to 1", "1000 to 1000"),
        ("ts_9_3_part_7_off_0_1", "pathbounds(part)", "7 to 7", "0 to 0"),
    ]
    assert "wrong statistics" in str(found)
    some = [made.validate(sample=2, seed=seed) for seed in range(6)]
    assert {each.files for each in some} == {2}
    assert {w for each in some for w in each.wrong} <= set(found.wrong)
    assert len({each.wrong for each in some}) > 1, "samples differ by their seeds"
    assert made.validate(sample=2, seed=3).wrong == some[3].wrong
