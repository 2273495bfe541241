"""Advice with measured figures: proposed indexes, an order of the data, and their application [REP-A]."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timezone
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

import xskip
from tests.cli.calls import call, call_json
from tests.helpers import index, kept, put_files
from xskip import BloomFilter, Hybrid, MinMax, SkippingIndex, ValueList
from xskip.errors import ArgumentError, CollectError
from xskip.metadatastore.filesystem import LocalStorage
from xskip.query_history.files import HistoryFiles, HistoryWriter
from xskip.query_history.rows import HistoryRows
from xskip.results.advice import Advice
from xskip.results.index_usage import Condition, ConditionUsage
from xskip.spark.query.spark_engine import engine_of

FILES, ROWS = 16, 500
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()), ("city", pa.string()), ("user", pa.int64()), ("name", pa.string()), ("noise", pa.int32()),
        ("gap", pa.int32()), ("day", pa.int32()),
    ]
)  # fmt: skip
_RANDOM = random.Random(7)
USERS = _RANDOM.sample(range(10**9), FILES * ROWS)
NOISE = [_RANDOM.randrange(1000) for _ in range(FILES * ROWS)]


def row(i: int, j: int) -> tuple[object, ...]:
    """Return row j of file i."""
    at = ROWS * i + j
    city, name = ("aa", "zz", f"c{i % 4}")[j % 3], ("Aa", "ZZ", f"N{i % 4}", f"n{i % 4}")[j % 4]
    return at, city, USERS[at], name, NOISE[at], None if i == 3 and j < 5 else j, i


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return files: ``ts`` orders them, a file has three of six cities, and the users of no other file."""
    root = tmp_path_factory.mktemp("advice") / "data"
    return put_files(root, SCHEMA, {f"f{i:02}": [row(i, j) for j in range(ROWS)] for i in range(FILES)})


@pytest.fixture
def path(tmp_path: Path, files: str) -> str:
    """Return a dataset of its own, because each test changes its index, and one its files."""
    return str(shutil.copytree(files, tmp_path / "data"))


def size_of(path: str) -> int:
    return sum(each.stat().st_size for each in Path(path).glob("*.parquet"))


def run(spark: SparkSession, path: str, predicates: Iterable[str]) -> None:
    """Run one query with a scan for each predicate."""
    scans = [spark.read.parquet(path).filter(predicate).select(lit(1)) for predicate in predicates]
    reduce(DataFrame.union, scans).count()


def times(template: str, count: int = 4) -> list[str]:
    """Return predicates with different values."""
    return [template.format(v=v, thousands=1000 * v, user=USERS[ROWS * v]) for v in range(count)]


def proposed(made: SkippingIndex, trial: int = FILES) -> dict[str, Advice]:
    return {each.subject: each for each in made.advise(trial=trial)}


def test_an_index_of_the_type_that_fits_is_proposed(spark: SparkSession, path: str) -> None:
    """[REP-A-1] [REP-A-2] The figures are shares of what the scans read, which is the whole dataset here."""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, [*times("ts >= {thousands}"), *times("city = 'c{v}'"), *times("user = {user}", 5)])
    run(spark, path, [*times("lower(name) = 'n{v}'"), *times("gap IS NULL", 3), "day > 14"])
    found, whole = proposed(made), size_of(path)
    # A condition ts > v rules out the files that end before v, for v from the least to the greatest ts of all files.
    above = sum((8000 - 1 - (500 * i + 499)) / 7999 for i in range(FILES)) / FILES
    # Each of six values is in as many files: 16 have aa, 16 have zz, 4 have each other one.
    listed = 1 - (16 + 16 + 4 * 4) / (6 * FILES)
    one_file = 1 - 1 / FILES
    expected = {
        "minmax(ts)": (False, 4, above), "valuelist(city)": (False, 4, listed),
        "bloomfilter(user)": (False, 5, one_file * 0.99), "valuelist(lower(name))": (True, 4, listed),
        "nullcount(gap)": (False, 3, one_file),
    }  # fmt: skip
    assert found.keys() == expected.keys()
    for name, (is_expression, scans, share) in expected.items():
        advice = found[name]
        assert (advice.action, advice.index, advice.is_expression) == ("add", name, is_expression)
        assert advice.scans == scans
        assert advice.saved_share == pytest.approx(share)
        assert advice.saved_bytes == pytest.approx(scans * whole * share)
        assert advice.saved_bytes_per_day is None, "a process is no history"
        assert f"{scans} of 21 scans of this process have a condition on" in advice.text


def test_an_index_that_rules_out_nothing_is_replaced(spark: SparkSession, path: str) -> None:
    """[REP-A-2] The bounds and lists answer the conditions, but rule out no file."""
    made = index(spark, path, [MinMax("day"), MinMax("user"), ValueList("user", max_values=5)])
    run(spark, path, [*times("user = {user}"), "day > 14"])
    assert "bloomfilter(user)" not in {each.subject for each in made.advise()}
    advice = made.advise(trial=FILES)
    assert {each.subject: each.action for each in advice} == {
        "minmax(user)": "remove", "valuelist(user)": "remove", "bloomfilter(user)": "add",
    }  # fmt: skip
    (added,) = (each for each in advice if each.action == "add")
    assert added.saved_share == pytest.approx((1 - 1 / FILES) * 0.99)
    assert "a condition on user, for which its index rules out no file" in added.text
    advice.apply()
    assert [f"{each.name}({each.columns[0]})" for each in made.describe().indexes] == [
        "minmax(day)", "bloomfilter(user)",
    ]  # fmt: skip
    assert kept(spark, path, f"user = {USERS[ROWS * 5]}") == {"f05"}


def test_without_a_trial_no_data_is_read_and_no_type_is_named(spark: SparkSession, path: str) -> None:
    """[REP-A-1]"""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, times("city = 'c{v}'"))
    for each in sorted(Path(path).glob("*.parquet"))[1:]:  # Spark takes the schema from the first file
        each.write_bytes(b"x" * each.stat().st_size)
    (advice,) = made.advise()
    with pytest.raises(CollectError):
        made.advise(trial=FILES)
    assert (advice.action, advice.subject, advice.index) == ("add", "city", None)
    assert (advice.saved_share, advice.saved_bytes, advice.cost_bytes) == (None, None, None)
    assert advice.text.endswith("; advise(trial=32) measures which type of index helps")
    assert made.advise().apply().left[0].reason == "no trial has measured which type of index helps"


def test_the_costs_of_a_trial_are_those_of_the_index(spark: SparkSession, path: str) -> None:
    """[REP-A-2] A trial of all files finds the size that the index will have, and writes nothing."""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, [*times("ts >= {thousands}"), *times("user = {user}")])
    before = {each.name for each in Path(made.describe().location).rglob("*")}
    found = proposed(made)
    assert {each.name for each in Path(made.describe().location).rglob("*")} == before
    made.add([MinMax("ts"), BloomFilter("user")])
    sizes = {f"{each.name}({each.columns[0]})": each.bytes for each in made.describe().indexes}
    assert {name: each.cost_bytes for name, each in found.items()} == {
        name: sizes[name] for name in ("minmax(ts)", "bloomfilter(user)")
    }
    assert all((each.cost_seconds or 0) > 0 for each in found.values())


def test_a_trial_reads_at_most_so_many_files(spark: SparkSession, path: str) -> None:
    """[REP-A-2] A value that one of four files has, is in one of all files."""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, times("user = {user}"))
    advice = made.advise(trial=4)
    (only,) = advice
    assert advice.trial == 4
    assert only.saved_share == pytest.approx((1 - 1 / FILES) * 0.99)
    with pytest.raises(ArgumentError, match="trial"):
        made.advise(trial=0)


def test_filters_decide_where_lists_are_too_long(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[REP-A-2] The bounds of all files are looked up in the filters."""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, times("user = {user}"))
    monkeypatch.setattr("xskip.indexing.trial._MAX_VALUES", FILES * (ROWS - 1))
    (advice,) = made.advise(trial=FILES)
    assert advice.index == "bloomfilter(user)"
    assert advice.saved_share == pytest.approx((1 - 1 / FILES) * 0.99, abs=0.01)


def test_prefixes_are_measured(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-A-2] Each file has one of four prefixes of eight bytes, and names of its own."""
    schema = pa.schema([("url", pa.string()), ("day", pa.int32())])
    rows = {f"f{i:02}": [(f"{'abcd'[j % 3]}:{i % 4}/page/{i}-{j}", i) for j in range(300)] for i in range(FILES)}
    path = put_files(tmp_path / "urls", schema, rows)
    made = index(spark, path, [MinMax("day")])
    run(spark, path, [f"url LIKE 'a:{i}/%'" for i in range(4)])
    (advice,) = made.advise(trial=FILES)
    assert advice.index == "prefix(url)"
    assert advice.saved_share == pytest.approx(1 - 1 / 4)
    assert made.advise(trial=FILES).apply().indexes_added == ("prefix(url)",)
    assert kept(spark, path, "url LIKE 'a:2/%'") == {f"f{i:02}" for i in range(2, FILES, 4)}


def test_applied_indexes_skip_files(spark: SparkSession, path: str) -> None:
    """[REP-A-4]"""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, [*times("ts >= {thousands}"), *times("user = {user}"), *times("lower(name) = 'n{v}'"), "day > 14"])
    advice = made.advise(trial=FILES)
    every = {f"f{i:02}" for i in range(FILES)}
    predicates = {
        "ts >= 7500": {"f15"}, f"user = {USERS[ROWS * 5]}": {"f05"},
        "lower(name) = 'n2'": {f"f{i:02}" for i in range(2, FILES, 4)},
    }  # fmt: skip
    assert {predicate: kept(spark, path, predicate) for predicate in predicates} == dict.fromkeys(predicates, every)
    planned = advice.apply(dry_run=True)
    assert (len(made.history()), planned.dry_run, planned.changed) == (1, True, True)
    result = advice.apply()
    assert set(result.indexes_added) == {"minmax(ts)", "bloomfilter(user)", "valuelist(lower(name))"}
    assert (result.indexes_removed, result.left) == ((), ())
    assert [each.operation for each in made.history()] == ["create", "add"]
    assert {predicate: kept(spark, path, predicate) for predicate in predicates} == predicates
    assert "make the same change in the list of ensure(), or its next run undoes it" in str(result)
    again = advice.apply()
    assert "next run" not in str(again)
    assert (again.changed, {each.reason for each in again.left}) == (False, {"the dataset has the index already"})
    assert "the dataset has the index already" in str(again)


def test_indexes_are_added_and_removed_in_one_commit(spark: SparkSession, path: str) -> None:
    """[REP-A-4]"""
    made = index(spark, path, [MinMax("city"), MinMax("ts")])
    run(spark, path, [*times("user = {user}"), "ts >= 7500"])
    advice = made.advise(trial=FILES)
    by_action = {each.action: each for each in advice}
    removal = by_action["remove"]
    assert (removal.subject, removal.index) == ("minmax(city)", "minmax(city)")
    info = next(each for each in made.describe().indexes if each.columns == ("city",))
    assert (removal.cost_bytes, removal.cost_seconds) == (info.bytes, info.seconds)
    assert f"it takes {info.bytes} B of metadata" in removal.text
    result = advice.apply()
    assert (result.indexes_added, result.indexes_removed) == (("bloomfilter(user)",), ("minmax(city)",))
    assert [each.operation for each in made.history()] == ["create", "advise"]
    assert [f"{each.name}({each.columns[0]})" for each in made.describe().indexes] == [
        "minmax(ts)",
        "bloomfilter(user)",
    ]
    assert kept(spark, path, f"user = {USERS[ROWS * 5]}") == {"f05"}
    assert kept(spark, path, "ts >= 7500") == {"f15"}


def test_an_encrypted_index_is_removed_in_a_commit_of_its_own(spark: SparkSession, path: str) -> None:
    """[REP-A-4]"""
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    xskip.use_kms(xskip.LocalKms({label: label.encode() * 16 for label in ("f", "k")}))
    try:
        made = index(spark, path, [MinMax("city", key_label="k"), MinMax("ts", key_label="k")])
        run(spark, path, [*times("user = {user}"), "ts >= 7500"])
        result = made.advise(trial=FILES).apply()
        assert (result.indexes_added, result.indexes_removed) == (("bloomfilter(user)",), ("minmax(city)",))
        assert [each.operation for each in made.history()] == ["create", "add", "remove"]
        assert kept(spark, path, f"user = {USERS[ROWS * 5]}") == {"f05"}
        assert kept(spark, path, "ts >= 7500") == {"f15"}
    finally:
        xskip.use_kms(None)


def test_a_filter_stays_if_the_list_beside_it_goes(spark: SparkSession, path: str) -> None:
    """[REP-A-4] Neither rules out files for values that a file has, and one of both suffices for all others."""
    rows = {f"f{i:02}": [(i, f"k{j % 2}") for j in range(10)] for i in range(FILES)}
    made = index(
        spark, put_files(Path(path).parent / "alike", pa.schema([("day", pa.int32()), ("kind", pa.string())]), rows),
        [MinMax("day"), ValueList("kind"), BloomFilter("kind")],
    )  # fmt: skip
    assert [(each.action, each.subject) for each in made.advise()] == [("remove", "valuelist(kind)")]


def test_an_index_that_has_become_useful_stays(spark: SparkSession, path: str) -> None:
    """[REP-S-3] [REP-A-4] Between the advice and its application."""
    made = index(spark, path, [MinMax("noise"), MinMax("city"), MinMax("ts")])
    advice = made.advise()
    assert {(each.action, each.subject) for each in advice} == {("remove", "minmax(noise)"), ("remove", "minmax(city)")}
    run(spark, path, ["noise > 1000"])
    result = advice.apply()
    assert result.indexes_removed == ("minmax(city)",)
    assert [(each.subject, each.reason) for each in result.left] == [
        ("minmax(noise)", "the index has ruled out files since")
    ]


def test_scans_of_one_process_remove_no_index(spark: SparkSession, path: str) -> None:
    """[REP-A-4] They do not tell which indexes other drivers need."""
    made = index(spark, path, [MinMax("ts"), MinMax("noise"), ValueList("day"), Hybrid("gap")])
    run(spark, path, [f"ts > {1000 + v} AND gap >= 0" for v in range(10)])
    advice = made.advise(trial=FILES)
    assert {each.subject: (each.action, each.is_of_process) for each in advice} == {
        "minmax(noise)": ("remove", False), "valuelist(day)": ("remove", True), "hybrid(gap)": ("change", True),
        "gap": ("order", False),
    }  # fmt: skip
    result = advice.apply()
    assert result.indexes_removed == ("minmax(noise)",)
    reasons = {each.subject: each.reason for each in result.left}
    assert reasons["valuelist(day)"] == (
        "only the scans of this process do not need the index, and other drivers can; pass history= to advise()"
    )
    assert kept(spark, path, "day = 7") == {"f07"}


def test_the_history_of_the_session_decides(spark: SparkSession, path: str, tmp_path: Path) -> None:
    """[REP-A-4] [REP-A-5] With the queries of all drivers, an index that none needs is removed."""
    made = index(spark, path, [MinMax("ts"), ValueList("day")])
    run(spark, path, [f"ts > {1000 + v}" for v in range(10)])
    engine_of(spark).history.flush()
    spark.conf.set("spark.xskip.history.location", str(tmp_path / "history"))
    run(spark, path, ["ts > 1000"])
    assert (made.advise().scans, made.advise().advice) == (1, ())
    ours = made.advise(history=False)
    assert (ours.scans, [(each.subject, each.is_of_process) for each in ours]) == (11, [("valuelist(day)", True)])
    assert not ours.apply().changed
    with pytest.raises(ArgumentError, match="days= needs a query history"):
        made.advise(history=False, days=7)
    run(spark, path, [f"ts > {2000 + v}" for v in range(9)])
    (removal,) = made.advise()
    assert (removal.subject, removal.action, removal.is_of_process) == ("valuelist(day)", "remove", False)
    assert "no condition of 10 scans of the last 30 days concerns valuelist(day)" in removal.text
    assert made.advise().apply().indexes_removed == ("valuelist(day)",)


def test_the_last_index_stays(spark: SparkSession, path: str) -> None:
    """[REP-A-4]"""
    made = index(spark, path, [MinMax("noise"), MinMax("city")])
    result = made.advise().apply()
    assert (result.indexes_removed, result.left[0].subject) == (("minmax(noise)",), "minmax(city)")
    assert result.left[0].reason == "no index would remain; call drop()"
    assert [each.name for each in made.describe().indexes] == ["minmax"]


def test_an_order_that_saves_most_is_proposed(spark: SparkSession, path: str) -> None:
    """[REP-A-3] Bounds of random values rule out next to nothing, and half of the files in their order."""
    made = index(spark, path, [MinMax("noise"), ValueList("city")])
    for predicate in times("noise > {v}"):  # metadata answer a part of a count
        spark.read.parquet(path).filter(predicate).collect()
    (advice,) = (each for each in made.advise() if each.action == "order")
    bounds = [(min(part), max(part)) for part in (NOISE[ROWS * i : ROWS * (i + 1)] for i in range(FILES))]
    last, width = max(NOISE), max(NOISE) - min(NOISE)
    now = sum((last - high) / width for _, high in bounds) / FILES
    then = (1 - 1 / FILES) / 2
    assert (advice.subject, advice.index, advice.scans) == ("noise", None, 4)
    assert advice.saved_bytes == pytest.approx(4 * size_of(path) * (then - now) / (1 - now))
    assert "47 % in this order" in advice.text
    assert "minmax(noise)" not in {each.subject for each in made.advise()}, "the order needs the index"
    assert made.advise().apply().left[0].reason == "the data must be written anew"
    # The order would end what the index on another column rules out.
    run(spark, path, times("city = 'c{v}'"))
    assert [each.subject for each in made.advise() if each.action == "order"] == []


def test_no_order_is_proposed_for_ordered_data(spark: SparkSession, path: str) -> None:
    """[REP-A-3]"""
    made = index(spark, path, [MinMax("ts"), MinMax("noise")])
    run(spark, path, times("ts > {thousands}"))
    assert [each for each in made.advise() if each.action == "order"] == []


def test_literals_in_expressions_are_not_shown(spark: SparkSession, path: str) -> None:
    """[REP-V-1] [REP-A-1]"""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, times("pmod(user, 7) = {v}"))
    (hidden,) = made.advise(trial=FILES)
    assert (hidden.subject, hidden.index) == ("user", None)
    assert "7" not in hidden.text.replace("KiB", "").split("have a condition")[1].split(", and read")[0]
    spark.conf.set("spark.xskip.report.values", "true")
    assert [each.subject for each in made.advise()] == ["pmod(user, 7L)"]
    spark.conf.set("spark.sql.redaction.string.regex", "x")
    assert [each.subject for each in made.advise()] == ["user"]


def test_no_plain_index_on_an_encrypted_column_is_proposed(spark: SparkSession, path: str) -> None:
    """[REP-V-2] [REP-A-1]"""
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    spark.conf.set("spark.xskip.report.values", "true")
    xskip.use_kms(xskip.LocalKms({label: label.encode() * 16 for label in ("f", "k")}))
    try:
        made = index(spark, path, [BloomFilter("user", key_label="k")])
        run(spark, path, [*times("user > {user}"), *times("substring(CAST(user AS STRING), 2, 2) = '1{v}'")])
        advice = made.advise(trial=FILES)
        assert {each.subject for each in advice} == {"user"}
        assert [(each.index, each.saved_share) for each in advice] == [(None, None)]
        assert not advice.apply().changed
    finally:
        xskip.use_kms(None)


def test_conditions_inside_of_an_or_are_not_measured(spark: SparkSession, path: str) -> None:
    """[REP-A-1] An index on one side of an OR rules out nothing that the other side admits."""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, times("ts = {v} OR user = {user}"))
    assert {each.subject: each.index for each in made.advise(trial=FILES)} == {"ts": None, "user": None}
    whole = size_of(path)
    conditions = engine_of(spark).usage(made._open()[1].directory).conditions
    assert conditions == {Condition(name): ConditionUsage(4, 4 * whole) for name in ("ts", "user")}


@pytest.fixture
def history(spark: SparkSession, tmp_path: Path) -> str:
    engine_of(spark).history.flush()
    spark.conf.set("spark.xskip.history.location", str(tmp_path / "history"))
    return str(tmp_path / "history")


def test_figures_of_a_history_are_those_of_a_day_of_all_drivers(spark: SparkSession, path: str, history: str) -> None:
    """[REP-A-2] [REP-H-2] [REP-H-4]"""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, [*times("user = {user}"), *times("lower(name) = 'n{v}'"), "day > 14"])
    (one, other) = sorted(made.advise(days=7, trial=FILES), key=lambda each: each.subject)
    share, whole = (1 - 1 / FILES) * 0.99, size_of(path)
    assert (one.subject, other.subject) == ("bloomfilter(user)", "valuelist(lower(name))")
    assert one.saved_bytes_per_day == one.saved_bytes == pytest.approx(4 * whole * share)
    assert "4 of 9 scans of the last 7 days" in one.text
    assert " a day" in one.text
    # Another driver has recorded the same two days before.
    files = HistoryFiles(LocalStorage(), history)
    earlier = HistoryRows(100)
    past = 2 * 86_400_000
    earlier.update((kind, replace(sums, first=sums.first - past, last=sums.last - past)) for kind, sums in files.rows())
    moment = datetime.fromtimestamp(datetime.now(timezone.utc).timestamp() - past / 1000, timezone.utc)
    HistoryWriter(files).write(earlier, moment)
    again = {each.subject: each for each in made.advise(days=7, trial=FILES)}["bloomfilter(user)"]
    assert again.scans == 8
    assert again.saved_bytes == pytest.approx(8 * whole * share)
    assert again.saved_bytes_per_day == pytest.approx(8 * whole * share / 2, rel=0.01)
    opened = xskip.open_index(path).advise(history=history, days=7)
    assert [(each.subject, each.scans) for each in opened] == [("lower(name)", 8), ("user", 8)]


def test_a_history_shows_literals_only_where_reports_show_values(spark: SparkSession, path: str, history: str) -> None:
    """[REP-V-1] [REP-H-2]: another session has recorded them."""
    made = index(spark, path, [MinMax("day")])
    spark.conf.set("spark.xskip.report.values", "true")
    run(spark, path, times("pmod(user, 7) = {v}"))
    assert [each.subject for each in made.advise(history=history)] == ["pmod(user, 7L)"]
    spark.conf.unset("spark.xskip.report.values")
    assert [each.subject for each in made.advise(history=history)] == ["user"]
    assert [each.subject for each in xskip.open_index(path).advise(history=history)] == ["user"]


def test_columns_in_an_encrypted_expression_are_secret(spark: SparkSession, path: str, history: str) -> None:
    """[REP-V-2]: neither reports nor the history show values of the column."""
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    spark.conf.set("spark.xskip.report.values", "true")
    xskip.use_kms(xskip.LocalKms({label: label.encode() * 16 for label in ("f", "k")}))
    try:
        index(spark, path, [MinMax("day"), ValueList("lower(name)", expression=True, key_label="k")])
        spark.read.parquet(path).filter("name = 'ANNA-42' AND day < 4242").collect()
        engine_of(spark).history.flush()
        ((kind, _),) = HistoryFiles(LocalStorage(), history).rows()
        for text in (str(kind), str(xskip.last_report(spark))):
            assert "42" in text
            assert "ANNA" not in text
    finally:
        xskip.use_kms(None)


def test_scans_that_asked_no_index_do_not_count(spark: SparkSession, path: str, history: str) -> None:
    """[REP-H-4] [REP-S-2]: nobody knows what the index would have ruled out for them."""
    made = index(spark, path, [MinMax("noise")])
    spark.conf.set("spark.xskip.enabled", "false")
    run(spark, path, times("day = {v}", 12))
    spark.conf.set("spark.xskip.enabled", "true")
    run(spark, path, times("noise > {v}", 3))
    advice = made.advise(history=history)
    (savings,) = xskip.savings(spark, days=1)
    assert (advice.scans, savings.scans) == (3, 15)


def test_a_history_of_the_first_release_names_columns(spark: SparkSession, path: str, history: str) -> None:
    """[REP-H-2] Its files have no column of conditions."""
    made = index(spark, path, [MinMax("day")])
    run(spark, path, times("user = {user}"))
    engine_of(spark).history.flush()
    (file,) = Path(history).rglob("*.parquet")
    pq.write_table(pq.read_table(file).drop(["conditions"]), file)
    (advice,) = made.advise(history=history, trial=FILES)
    assert (advice.action, advice.subject, advice.index, advice.scans) == ("add", "user", None, 4)
    run(spark, path, times("user = {user}", 2))
    (both,) = made.advise(history=history, trial=FILES)
    assert (both.subject, both.scans) == ("bloomfilter(user)", 6)
    # What is known of two of six scans counts, and nothing of the others.
    assert both.saved_share == pytest.approx((1 - 1 / FILES) * 0.99 * 2 / 6)


def test_only_spark_applies_advice(spark: SparkSession, path: str) -> None:
    """[REP-A-4]"""
    index(spark, path, [MinMax("noise"), MinMax("city")])
    advice = xskip.open_index(path).advise()
    with pytest.raises(ArgumentError, match=r"only Spark applies advice.*SkippingIndex.for_path"):
        advice.apply()


def test_the_command_applies_advice(
    spark: SparkSession, path: str, history: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[REP-A-4]"""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    made = index(spark, path, [MinMax("day")])
    run(spark, path, times("user = {user}"))
    engine_of(spark).history.flush()
    words = ("advise", path, "--history", history)
    (plain,) = call_json(capsys, *words)["advice"]
    assert (plain["subject"], plain["index"]) == ("user", None)
    assert "xskip advise --trial 32 measures" in call(capsys, *words)
    measured = call_json(capsys, *words, "--trial", "16")
    assert (measured["trial"], measured["advice"][0]["index"]) == (16, "bloomfilter(user)")
    planned = call_json(capsys, *words, "--trial", "16", "--dry-run")
    assert (planned["indexes_added"], planned["dry_run"], len(made.history())) == (["bloomfilter(user)"], True, 1)
    applied = call(capsys, *words, "--trial", "16", "--apply", "--check")
    assert "bloomfilter(user)" in applied
    assert "make the same change in the file of xskip ensure --config" in applied
    assert kept(spark, path, f"user = {USERS[ROWS * 5]}") == {"f05"}


EXPRESSIONS = [
    "lower(name)", "length(trim(name))", "substring(name, 1, 2)", "user % 10", "user + noise", "CAST(noise AS STRING)",
    "coalesce(gap, 0)", "concat(city, '-', name)", "hash(city, name)", "reverse(upper(city))", "pmod(user, 7)",
]  # fmt: skip


@pytest.fixture
def form_of(spark: SparkSession, path: str) -> Callable[[str], str]:
    from xskip.indexing.build_plan import plan

    source = SkippingIndex.for_path(spark, path)._open()[1]
    return lambda text: plan(source, [ValueList(text, expression=True)])[0].definition.expression or ""


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_in_sql_resolve_to_the_same_expression(form_of: Callable[[str], str], text: str) -> None:
    """[REP-A-1]"""
    from xskip.expressions.expression_sql import expression_sql
    from xskip.expressions.operands import Form

    form = form_of(text)
    found = expression_sql(Form(form, form, ()))
    assert found is not None
    assert form_of(found.text) == form
