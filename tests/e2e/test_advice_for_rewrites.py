"""Advice on indexes that aggregates, first rows and joins lack [REP-A-6]."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import compared_files, index, put_files, write_once
from xskip import BloomFilter, MinMax, NullCount, SkippingIndex, ValueList
from xskip.metadatastore.filesystem import LocalStorage
from xskip.query_history.files import HistoryFiles
from xskip.results.advice import Advice
from xskip.results.index_usage import Condition
from xskip.spark.query.spark_engine import engine_of

#: How often a test runs a query: the least number of scans that lead to advice.
TIMES = 3
FILES, ROWS = 16, 50
SCHEMA = pa.schema(
    [("ts", pa.int64()), ("u", pa.int64()), ("x", pa.int32()), ("g", pa.string()), ("n", pa.int32()), ("k", pa.int32())]
)
_RANDOM = random.Random(3)


def row(i: int, j: int) -> tuple[object, ...]:
    """Return row j of file i: ``u`` falls from file to file, ``x`` is random, and each file has one ``g``."""
    return (
        ROWS * i + j,
        10_000 - ROWS * i - j,
        _RANDOM.randrange(10**6),
        f"g{i % 4}",
        None if j % 2 else j,
        10 * i + j % 10,
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("advice") / "data"
    return put_files(root, SCHEMA, {f"f{i:02}": [row(i, j) for j in range(ROWS)] for i in range(FILES)})


@pytest.fixture
def path(tmp_path: Path, files: str) -> str:
    """Return a dataset of its own, because each test changes its index."""
    (tmp_path / "data").mkdir()
    for each in Path(files).iterdir():
        (tmp_path / "data" / each.name).hardlink_to(each)
    return str(tmp_path / "data")


@pytest.fixture
def history(spark: SparkSession, tmp_path: Path) -> str:
    engine_of(spark).history.flush()
    spark.conf.set("spark.xskip.history.location", str(tmp_path / "history"))
    return str(tmp_path / "history")


def size_of(path: str, files: Sequence[int] = range(FILES)) -> int:
    return sum((Path(path) / f"f{i:02}.parquet").stat().st_size for i in files)


def asked(spark: SparkSession, path: str, query: str, times: int = TIMES) -> SkippingIndex:
    """Run a query of the view ``t`` several times."""
    spark.read.parquet(path).createOrReplaceTempView("t")
    for _ in range(times):
        spark.sql(query).collect()
    return SkippingIndex.for_path(spark, path)


def proposed(made: SkippingIndex, trial: int | None = None) -> dict[str, Advice]:
    return {each.subject: each for each in made.advise(trial=trial)}


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        ("select max(u) from t", {"minmax(u)": 1.0}),
        ("select min(g) from t", {"minmax(g)": 1.0}),
        ("select count(n) from t", {"nullcount(n)": 1.0}),
        ("select min(u), max(u), count(u) from t", {"minmax(u)": 1.0}),
        ("select min(u), count(n), max(ts) from t", {"minmax(u)": 0.5, "nullcount(n)": 0.5}),
    ],
)
def test_aggregates_that_an_index_would_answer(
    spark: SparkSession, api: str, path: str, query: str, indexes: dict[str, float]
) -> None:
    """[REP-A-6] The bytes are those that the queries read; columns of one query have equal parts of them."""
    index(spark, path, [MinMax("ts")])
    made = asked(spark, path, query)
    found = proposed(made)
    assert found.keys() == indexes.keys()
    for name, part in indexes.items():
        advice = found[name]
        assert (advice.action, advice.index, advice.scans) == ("add", name, TIMES)
        assert advice.saved_share == 1.0
        assert advice.saved_bytes == pytest.approx(TIMES * size_of(path) * part, abs=4)
    assert set(made.advise().apply().indexes_added) == indexes.keys()
    assert compared_files(spark, query) == set()
    assert proposed(made) == {}, "the index stays"


def test_only_files_all_of_whose_rows_match_count(spark: SparkSession, api: str, path: str) -> None:
    """[REP-A-6] Metadata answer for 12 of 13 files that the filter keeps."""
    index(spark, path, [MinMax("ts")])
    query = f"select max(u) from t where ts < {ROWS * 12 + 7}"
    made = asked(spark, path, query)
    (advice,) = made.advise()
    assert (advice.index, advice.scans) == ("minmax(u)", TIMES)
    assert advice.saved_bytes == pytest.approx(TIMES * size_of(path, range(12)), abs=4)
    made.advise().apply()
    assert compared_files(spark, query) == {"f12"}


@pytest.mark.parametrize(
    ("query", "name", "share"),
    [
        ("select g, count(*) from t group by g order by g", "minmax(g)", 1.0),
        ("select g, max(u) from t group by g order by g", "minmax(g)", 1.0),
        ("select x, count(*) from t group by x", "", 0.0),
        ("select * from t order by u limit 3", "minmax(u)", 1 - 1 / FILES),
        ("select * from t order by u desc limit 3", "minmax(u)", 1 - 1 / FILES),
        ("select * from t order by n limit 3", "", 0.0),
    ],
)
def test_groups_and_first_rows_need_a_trial(
    spark: SparkSession, api: str, path: str, query: str, name: str, share: float
) -> None:
    """[REP-A-6] Nobody knows without the values how many files have one group, or rows that are not among the first."""
    index(spark, path, [MinMax("ts")])
    made = asked(spark, path, query)
    (before,) = made.advise()
    assert (before.action, before.index, before.saved_bytes, before.scans) == ("add", None, None, TIMES)
    assert before.text.endswith("; advise(trial=32) measures what the index saves")
    found = {key: each for key, each in proposed(made, FILES).items() if each.action == "add"}
    assert found.keys() == ({name} if name else set())
    if name:
        assert found[name].saved_share == pytest.approx(share)
        assert found[name].saved_bytes == pytest.approx(TIMES * size_of(path) * share)
        assert (found[name].cost_bytes or 0) > 0
        made.advise(trial=FILES).apply()
        assert len(compared_files(spark, query)) == (FILES if "max" in query else round((1 - share) * FILES))


def test_aggregates_of_groups_come_after_the_groups(spark: SparkSession, api: str, path: str) -> None:
    """[REP-A-6] An index on an aggregated column helps only if the files have one group each."""
    index(spark, path, [MinMax("g"), MinMax("x")])
    assert all(each.action == "remove" for each in asked(spark, path, "select x, max(u) from t group by x").advise())
    made = asked(spark, path, "select g, max(u) from t group by g order by g")
    assert [each.index for each in made.advise() if each.action == "add"] == ["minmax(u)"]
    made.advise().apply()
    assert compared_files(spark, "select g, max(u) from t group by g order by g") == set()


def test_an_order_of_the_data_for_first_rows(spark: SparkSession, api: str, path: str) -> None:
    """[REP-A-6] The bounds of random values overlap, so that first rows read most files, and one in their order."""
    made = index(spark, path, [MinMax("ts"), MinMax("x")])
    asked(spark, path, "select * from t order by x limit 3")
    files = compared_files(spark, "select * from t order by x limit 3")
    assert len(files) > 4
    (advice,) = made.advise()
    assert (advice.action, advice.subject, advice.index) == ("order", "x", None)
    scans, read = advice.scans or 0, size_of(path, [int(name[1:]) for name in files])
    assert scans >= TIMES
    assert advice.saved_bytes == pytest.approx(scans * (read - size_of(path) / FILES))
    assert made.advise().apply().left[0].reason == "the data must be written anew"


def test_more_first_rows_than_a_file_has_are_not_measured(spark: SparkSession, path: str) -> None:
    """[REP-A-6] Their order would not put them into one file."""
    index(spark, path, [MinMax("ts"), MinMax("x")])
    made = asked(spark, path, f"select * from t order by x limit {ROWS + 1}")
    asked(spark, path, "select * from t where n > 10 order by x limit 3")
    assert [each for each in made.advise() if each.action == "order"] == []


@pytest.mark.parametrize(
    "query",
    [
        "select max(ts), min(ts), count(ts), count(*) from t",
        "select * from t order by ts limit 3",
        "select ts from t where ts > 700 order by ts desc limit 2",
        "select sum(u) from t",
        "select max(u + 1) from t",
        "select count(distinct u) from t",
        "select * from t limit 3",
    ],
)
def test_queries_that_no_index_helps_lead_to_no_advice(spark: SparkSession, api: str, path: str, query: str) -> None:
    """[REP-A-6] They are answered already, or their rewrites do not exist."""
    index(spark, path, [MinMax("ts")])
    assert list(asked(spark, path, query).advise(trial=FILES)) == []


def test_bounds_of_joins_are_useful(spark: SparkSession, api: str, path: str, tmp_path: Path) -> None:
    """[JVM-RQ-6] [REP-S-2] Files without a partner count for the index; the bounds of others are not advised."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    keys = write_once(spark, tmp_path / "keys", "key int, ts long", {"d": [(25, 120)] * 3})
    index(spark, keys, [MinMax("key"), MinMax("ts")])
    spark.read.parquet(keys).createOrReplaceTempView("keys")
    made = index(spark, path, [MinMax("ts"), MinMax("k"), ValueList("g")])
    asked(spark, path, "select sum(x) from t join keys on t.k = keys.key where keys.ts > 0")
    assert {each.name: each.ruled_out for each in made.describe().indexes if each.columns == ("k",)} == {
        "minmax": TIMES * (FILES - 1)
    }
    before = list(made.advise(trial=FILES))
    asked(spark, path, "select sum(x) from t join keys on t.u = keys.ts and t.ts >= keys.ts where key > 0")
    (added,) = [each for each in made.advise(trial=FILES) if each not in before]
    assert (added.action, added.subject) == ("add", "u")  # for the condition that it is not NULL
    assert "have a condition on u" in added.text


def test_an_index_that_answers_aggregates_is_useful(spark: SparkSession, api: str, path: str, history: str) -> None:
    """[REP-S-3] [REP-H-4] No filter needs it, and its bounds rule out nothing."""
    made = index(spark, path, [MinMax("ts"), MinMax("x"), ValueList("k")])
    asked(spark, path, "select max(x) from t", 12)
    for period in (False, None):
        advice = made.advise(history=period)
        assert "minmax(x)" not in {each.subject for each in advice}
        assert "valuelist(k)" in {each.subject for each in advice}
    assert {each.name: each.ruled_out for each in made.describe().indexes if each.columns == ("x",)} == {
        "minmax": 12 * FILES
    }


@pytest.fixture
def days(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "days", "key int, name string", {"d": [(k, f"day{k}") for k in range(160)]})
    spark.read.parquet(path).createOrReplaceTempView("days")


@pytest.mark.parametrize("condition", ["", "and t.ts < 600"])
def test_keys_of_joins(spark: SparkSession, path: str, days: None, history: str, condition: str) -> None:
    """[REP-A-6] [REP-H-2] Also beside another filter, and in the history."""
    index(spark, path, [MinMax("ts")])
    query = f"select t.* from t join days on t.k = days.key where days.name = 'day5' {condition}"
    made = asked(spark, path, query)
    kept = size_of(path, range(12 if condition else FILES))
    for period in (False, None):
        (plain,) = made.advise(history=period)
        assert (plain.action, plain.subject, plain.index, plain.scans) == ("add", "k", None, TIMES)
        assert f"{TIMES} of {TIMES} scans" in plain.text
        assert "compare keys of joins with k, which no index answers" in plain.text
        (advice,) = made.advise(history=period, trial=FILES)
        assert (advice.index, advice.scans) == ("minmax(k)", TIMES)
        # A key at random in 0..159 is between the bounds of a file, which are 9 apart.
        assert advice.saved_share == pytest.approx(1 - 9 / 159)
        assert advice.saved_bytes == pytest.approx(TIMES * kept * (1 - 9 / 159))
    advice_list = made.advise(trial=FILES)
    assert advice_list.apply().indexes_added == ("minmax(k)",)
    spark.sql(query).collect()
    report = xskip.last_report(spark)
    assert report is not None
    assert [scan.kept - scan.pruned for scan in report.scans if scan.dataset == path] == [1]
    assert list(made.advise()) == []


def test_many_keys_rule_out_less(spark: SparkSession, path: str, days: None) -> None:
    """[REP-A-6] The kind of a condition tells about how many keys a join has."""
    index(spark, path, [MinMax("ts")])
    made = asked(spark, path, "select t.* from t join days on t.k = days.key where days.name like 'day1%'")
    (usage,) = (
        each for each in engine_of(spark).usage(made._open()[1].directory).conditions if each.kinds != ("other",)
    )
    assert usage == Condition("k", ("keys_256",)), "day1, day10 to day19 and day100 to day159"
    assert list(made.advise(trial=FILES)) == []


def test_a_history_without_what_rewrites_lack(spark: SparkSession, path: str, history: str) -> None:
    """[REP-H-2] Files of earlier releases lack the bytes, and so does a file that one of them has merged."""
    index(spark, path, [MinMax("ts")])
    made = asked(spark, path, "select max(u) from t")
    (before,) = made.advise()
    assert before.index == "minmax(u)"
    assert before.saved_bytes_per_day == pytest.approx(TIMES * size_of(path), abs=4)
    (file,) = Path(history).rglob("*.parquet")
    table = pq.read_table(file)
    pq.write_table(table.drop(["whole_bytes"]), file)
    assert list(made.advise()) == []
    pq.write_table(table.drop(["whole_bytes", "conditions"]), file)
    assert list(made.advise()) == []
    assert xskip.savings(spark, days=1).queries == TIMES


def test_the_history_has_no_values(spark: SparkSession, path: str, days: None, history: str) -> None:
    """[REP-V-1] [REP-H-2] Of rewrites it has names of columns and numbers."""
    index(spark, path, [MinMax("ts")])
    spark.read.parquet(path).createOrReplaceTempView("t")
    spark.sql("select max(u) from t where g = 'secret' and ts < 4242").collect()
    spark.sql("select t.* from t join days on t.g = days.name where days.key = 142").collect()
    engine_of(spark).history.flush()
    rows = list(HistoryFiles(LocalStorage(), history).rows())
    text = repr([replace(kind, dataset="", application="") for kind, _ in rows])
    assert Condition("g", ("keys_1",)) in [each for kind, _ in rows for each in kind.conditions]
    assert not [value for value in ("4242", "142", "secret") if value in text]


def test_columns_with_an_encrypted_index_are_named(spark: SparkSession, path: str) -> None:
    """[REP-A-1] [REP-A-6] No plain index on them is proposed."""
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    xskip.use_kms(xskip.LocalKms({label: label.encode() * 16 for label in ("f", "k")}))
    try:
        index(spark, path, [MinMax("ts"), BloomFilter("u", key_label="k")])
        made = asked(spark, path, "select max(u) from t")
        for advice in (made.advise(), made.advise(trial=FILES)):
            assert [(each.subject, each.index) for each in advice] == [("u", None)]
            assert not advice.apply().changed
    finally:
        xskip.use_kms(None)


def test_partitions_count_by_the_files_that_spark_lists(spark: SparkSession, api: str, tmp_path: Path) -> None:
    """[REP-A-6] A filter on partitions only leaves whole files."""
    files = {f"p={p}/f{p}{i}": [(100 * p + 10 * i + j,) for j in range(10)] for p in range(2) for i in range(8)}
    path = write_once(spark, tmp_path / "parted", "v int", files)
    index(spark, path, [NullCount("v")])
    made = asked(spark, path, "select max(v) from t where p = 1")
    (advice,) = made.advise()
    listed = sum(each.stat().st_size for each in (Path(path) / "p=1").glob("*.parquet"))
    assert (advice.index, advice.saved_share) == ("minmax(v)", 1.0)
    assert advice.saved_bytes == pytest.approx(TIMES * listed, rel=0.01)


def test_many_planned_queries_count(spark: SparkSession, path: str) -> None:
    """[REP-S-2] Also if nobody asks for advice between them."""
    index(spark, path, [MinMax("ts")])
    frame = spark.read.parquet(path).select("ts")
    for i in range(150):
        frame.filter(f"ts >= {i}").limit(1).collect()
    made = SkippingIndex.for_path(spark, path)
    assert made.describe().scans == 150
