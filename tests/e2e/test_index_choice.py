"""Indexes that xskip chooses: from a sample of the files, recorded queries, and a budget [REP-CH]."""

from __future__ import annotations

import json
import logging
import random
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import lit

import xskip
from tests.cli.calls import call_json
from tests.helpers import assert_same_rows, index, kept, put_files
from xskip import BloomFilter, GapList, MinMax, SkippingIndex, ValueList
from xskip.cli.main import main
from xskip.errors import (
    ArgumentError,
    CollectError,
    IndexDefinitionError,
    KeyNotAvailableError,
    RecordDamagedError,
    SettingError,
)
from xskip.indexing.reconciliation import Reconciliation
from xskip.query_history import summary
from xskip.results.index_choice import IndexChoice
from xskip.settings import CHOICE_BUDGET, CHOICE_FILES, HISTORY

FILES, ROWS = 16, 1200
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()), ("city", pa.string()), ("user", pa.string()), ("url", pa.string()), ("msg", pa.string()),
        ("noise", pa.int32()), ("gap", pa.int32()), ("props", pa.map_(pa.string(), pa.string())),
        ("at", pa.struct([("lat", pa.float64())])),
    ]
)  # fmt: skip
_RANDOM = random.Random(7)
USERS = [f"{_RANDOM.randrange(10**12):012}" for _ in range(FILES * ROWS)]
NOISE = [_RANDOM.randrange(100) for _ in range(FILES * ROWS)]


def row(i: int, j: int) -> tuple[object, ...]:
    """Return row j of file i."""
    at = ROWS * i + j
    word = f"w{at}" if j % 2 else f"topic{i}"
    return (
        at, ("aa", "zz", f"c{i % 4}")[j % 3], USERS[at], f"/site{i}/{NOISE[at]}{at}", f"the {word} of all {NOISE[at]}",
        NOISE[at], None if i == 3 and j < 5 else i % 2, [("k", "v")], (float(at),),
    )  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return files: ``ts`` orders them, a file has three of six cities, and the users of no other file."""
    root = tmp_path_factory.mktemp("choice") / "data"
    return put_files(root, SCHEMA, {f"f{i:02}": [row(i, j) for j in range(ROWS)] for i in range(FILES)})


@pytest.fixture
def path(tmp_path: Path, files: str) -> str:
    return str(shutil.copytree(files, tmp_path / "data"))


@pytest.fixture
def generous(spark: SparkSession) -> None:
    """Set a budget with room for all indexes."""
    spark.conf.set(CHOICE_BUDGET.key, "100%")


def made(spark: SparkSession, path: str) -> SkippingIndex:
    return SkippingIndex.for_path(spark, path)


def chosen(choice: IndexChoice | None) -> set[str]:
    assert choice is not None
    return {each.subject for each in choice if each.is_chosen}


def ask(spark: SparkSession, path: str, *predicates: str) -> None:
    for predicate in predicates:
        spark.read.parquet(path).filter(predicate).select(lit(1)).collect()


BEST = {
    "minmax(ts)", "minmax(at.lat)", "valuelist(city)", "bloomfilter(user)", "minmax(url)", "tokenbloom(msg)",
    "minmax(gap)", "nullcount(gap)",
}  # fmt: skip


@pytest.mark.usefixtures("generous")
def test_a_new_index_without_a_list(spark: SparkSession, path: str) -> None:
    """[REP-CH-1] The chosen indexes are built, they skip as the choice says, and a second call keeps them."""
    before = made(spark, path).choose()
    assert not made(spark, path).exists()
    result = made(spark, path).create()
    assert result.added == FILES
    assert result.choice is not None
    assert chosen(result.choice) == chosen(before) == BEST
    assert {str(each).partition("(")[0].lower() for each in result.choice.indexes} == {
        "minmax", "valuelist", "bloomfilter", "tokenbloom", "nullcount"
    }  # fmt: skip
    assert {each.name + str(each.columns) for each in made(spark, path).describe().indexes} == {
        index.name + str(index.columns) for index in result.choice.indexes
    }
    for predicate, files in (
        (f"ts = {ROWS * 5}", {"f05"}), ("city = 'c1'", {f"f{i:02}" for i in range(1, FILES, 4)}),
        (f"user = '{USERS[ROWS * 7]}'", {"f07"}), ("msg LIKE '% topic9 %'", {"f09"}), ("gap IS NULL", {"f03"}),
        ("url LIKE '/site11/%'", {"f11"}), ("at.lat > 19199.5", set()),
    ):  # fmt: skip
        assert kept(spark, path, predicate) == files, predicate
        assert_same_rows(lambda p=predicate: spark.read.parquet(path).filter(p), spark)
    again = made(spark, path).ensure()
    assert (again.choice, again.changed) == (None, False)
    dry = made(spark, path).refresh(auto="revise").choice
    assert dry is not None
    assert not dry.changed
    assert {each.action for each in dry if each.is_chosen} == {"keep"}


@pytest.mark.usefixtures("generous")
def test_the_shares_are_those_of_queries(spark: SparkSession, path: str) -> None:
    """[REP-CH-2] The share of the choice is the mean share of the files that queries for values of the column skip."""
    spark.conf.set(CHOICE_FILES.key, str(FILES))
    choice = made(spark, path).choose()
    made(spark, path).create(choice.indexes)
    shares = {each.subject: each.share for each in choice}
    rows = [row(_RANDOM.randrange(FILES), _RANDOM.randrange(ROWS)) for _ in range(20)]
    for subject, column, values in (
        ("minmax(ts)", "ts", [each[0] for each in rows]), ("bloomfilter(user)", "user", [each[2] for each in rows]),
        ("valuelist(city)", "city", ["aa", "zz", "c0", "c1", "c2", "c3"]), ("minmax(gap)", "gap", [0, 1]),
    ):  # fmt: skip
        skipped = [1 - len(kept(spark, path, f"{column} = {value!r}")) / FILES for value in values]
        assert shares[subject] == pytest.approx(sum(skipped) / len(skipped), abs=0.07), subject


def test_small_data_has_a_least_budget(spark: SparkSession, path: str) -> None:
    """[REP-CH-3] 64 KiB, into which filters with more false positives fit."""
    result = made(spark, path).create()
    assert result.choice is not None
    assert result.choice.budget_bytes == 64 << 10
    assert result.choice.cost_bytes <= 64 << 10
    found = made(spark, path).describe().indexes
    assert sum(each.bytes or 0 for each in found) <= 64 << 10


def test_filters_of_a_small_budget(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-CH-3] The rate of false positives is that of the built filters, whose size the choice knows."""
    users = {f"f{i:02}": [(f"{_RANDOM.randrange(10**15)}",) for _ in range(3000)] for i in range(40)}
    path = put_files(tmp_path / "users", pa.schema([("user", pa.string())]), users)
    size = sum(each.stat().st_size for each in Path(path).glob("*.parquet"))
    spark.conf.set(CHOICE_BUDGET.key, "100%")
    (free,) = made(spark, path).choose()
    assert free.cost_bytes is not None
    spark.conf.set(CHOICE_BUDGET.key, str(0.6 * free.cost_bytes / size))
    choice = made(spark, path).create().choice
    assert choice is not None
    (built,) = choice
    assert (free.fpp, built.fpp) == (None, 0.1)
    (found,) = made(spark, path).describe().indexes
    assert found.bytes == pytest.approx(built.cost_bytes, rel=0.15)
    assert dict(found.params)["io.xskipper.index.bloom.fpp"] == "0.1"


def test_a_sample(spark: SparkSession, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """[REP-CH-1] At most so many files are read; the log names the indexes and the reasons."""
    spark.conf.set(CHOICE_FILES.key, "5")
    with caplog.at_level(logging.INFO, "xskip.builds"):
        choice = made(spark, path).choose()
        assert not [each for each in caplog.records if "chooses" in each.getMessage()]
        made(spark, path).create()
    assert (choice.sample, choice.files, choice.left_out) == (5, FILES, 0)
    assert any(": add minmax(ts): rules out" in each.getMessage() for each in caplog.records)
    assert str(choice).startswith("5 of 16 files read, no recorded scans; ")
    assert "<table" in choice._repr_html_()
    assert choice.to_arrow().column_names == ["action", "subject", "metadata", "build", "reason"]
    assert json.loads(json.dumps(choice.to_dict()))["indexes"][0] == "minmax(column='ts')"


def test_queries_in_this_process(spark: SparkSession, path: str) -> None:
    """[REP-CH-5] What queries ask is added with a second commit, and nothing is removed for want of their use."""
    made(spark, path).create([MinMax("ts"), BloomFilter("user")])
    ask(spark, path, *[f"city = 'c{i % 4}'" for i in range(6)], *[f"noise = {i}" for i in range(6)])
    choice = made(spark, path).choose()
    assert choice.scans == 12
    found = {each.subject: each for each in choice}
    assert (found["valuelist(city)"].action, found["valuelist(city)"].scans) == ("add", 6)
    assert found["noise"].reason == "alike"
    assert (found["bloomfilter(user)"].action, found["bloomfilter(user)"].reason) == ("keep", "not_queried")
    assert found["msg"].reason == "not_queried"
    result = made(spark, path).refresh(auto="revise")
    assert chosen(result.choice) == chosen(choice)
    assert [each.operation for each in made(spark, path).history()] == ["create", "revise"]
    assert "index chosen  valuelist(city): a file has 3 different values; rules out" in str(result)
    assert len(kept(spark, path, "city = 'c1'")) == 4


def test_queries_of_a_history(spark: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[REP-CH-5] The history of a day removes what no query needs, but nothing with parameters of its own."""
    spark.conf.set(HISTORY.key, str(tmp_path / "history"))
    made(spark, path).create([MinMax("ts"), BloomFilter("user"), ValueList("noise", max_values=500), GapList("ts")])
    ask(spark, path, *[f"ts = {i}" for i in range(6)], *[f"city = 'c{i % 4}'" for i in range(6)])
    result = made(spark, path).refresh(auto="revise")
    assert {each.action for each in result.choice or ()} == {"add", "keep", "none"}  # the history is of seconds
    monkeypatch.setattr(summary, "_COMPLETE", 0)
    made(spark, path).remove(["valuelist(city)"])
    result = made(spark, path).refresh(auto="revise")
    assert result.choice is not None
    found = {each.subject: each for each in result.choice}
    assert (found["bloomfilter(user)"].action, found["bloomfilter(user)"].reason) == ("remove", "not_queried")
    assert found["minmax(ts)"].reason == "useful"
    assert {found[each].reason for each in ("valuelist(noise)", "gaplist(ts)")} == {"given"}
    saved = found["valuelist(city)"].saved_bytes
    size = sum(each.stat().st_size for each in Path(path).glob("*.parquet"))
    assert saved == pytest.approx(6 * size * 0.5, rel=0.35)
    present = {each.name + each.columns[0] for each in made(spark, path).describe().indexes}
    assert present >= {"minmaxts", "valuelistcity", "gaplistts"}
    assert "bloomfilteruser" not in present
    assert "index given up  bloomfilter(user): no recorded query has a condition on the column" in str(result)
    # the queries count also for a new index, and so do those of a time without an index
    made(spark, path).drop()
    ask(spark, path, *["user = '5'"] * 20)
    choice = made(spark, path).choose()
    found = {each.subject: each for each in choice}
    assert (found["valuelist(city)"].scans, found["bloomfilter(user)"].scans, choice.scans) == (6, 20, 32)


@pytest.mark.parametrize("has_history", [False, True])
@pytest.mark.parametrize("reader", ["v1", "v2"])
def test_queries_of_a_time_without_an_index(
    spark: SparkSession, path: str, tmp_path: Path, reader: str, has_history: bool
) -> None:
    """[REP-CH-2] [REP-H-4] Their conditions are known, so that the first choice is for them."""
    spark.conf.set("spark.sql.sources.useV1SourceList", "parquet" if reader == "v1" else "")
    if has_history:
        spark.conf.set(HISTORY.key, str(tmp_path / "history"))
    ask(spark, path, *["user = '5'"] * 6, *["ts > 20 AND msg LIKE '%x%'"] * 5, "length(url) = 3", "city IN ('a', 'b')")
    spark.read.parquet(path).select("gap").collect()
    spark.conf.set("spark.xskip.enabled", "false")
    ask(spark, path, "city = 'c1'")
    spark.conf.set("spark.xskip.enabled", "true")
    choice = made(spark, path).choose()
    found = {each.subject: each.scans for each in choice if each.scans}
    assert choice.scans == 13
    assert found["minmax(ts)"] == 5
    assert found["bloomfilter(user)"] == 6
    size = sum(each.stat().st_size for each in Path(path).glob("*.parquet"))
    saved = next(each.saved_bytes for each in choice if each.subject == "bloomfilter(user)")
    assert saved == pytest.approx(6 * size * (FILES - 1) / FILES, rel=0.1)
    created = made(spark, path).create().choice
    assert created is not None
    assert chosen(created) == chosen(choice)
    assert not any(each.subject.startswith("bloomfilter(url") for each in created)


def test_queries_of_a_directory_without_an_index(spark: SparkSession, tmp_path: Path) -> None:
    """Filters on partition columns leave a table one directory, and other datasets are no directories of it."""
    frame = spark.range(4000).selectExpr("id", "id % 97 AS n", "id % 4 AS p")
    frame.write.partitionBy("p").option("path", str(tmp_path / "parts")).saveAsTable("choice_parts")
    frame.select("id", "n").write.parquet(str(tmp_path / "parts_other"))
    for _ in range(5):
        spark.table("choice_parts").filter("p = 1 AND id > 100").collect()
    spark.read.parquet(str(tmp_path / "parts_other")).filter("n = 5").collect()
    choice = SkippingIndex.for_table(spark, "choice_parts").choose()
    assert choice.scans == 5
    assert {each.subject for each in choice if each.scans} == {"minmax(id)"}


def test_values_of_queries_without_an_index_are_not_recorded(spark: SparkSession, path: str, tmp_path: Path) -> None:
    """[REP-H-4] Which columns are secret is not known, and long filters are of no use."""
    spark.conf.set(HISTORY.key, str(tmp_path / "history"))
    spark.conf.set("spark.xskip.report.values", "true")
    many = ", ".join(f"'user {i}'" for i in range(9000))
    ask(spark, path, "concat(user, 'secret') = 'other'", f"city IN ({many}) OR user IN ({many})", "noise = 7")
    made(spark, path).choose()
    (rows,) = [table for each in (tmp_path / "history").rglob("*.parquet") for table in [pq.read_table(each)]]
    found = rows.to_pylist()
    assert sorted(sorted(each["operand"] for each in row["conditions"]) for row in found) == [[], ["noise"], ["user"]]
    assert "secret" not in str(found)


def test_a_revision_covers_new_files(spark: SparkSession, path: str, files: str) -> None:
    made(spark, path).create([MinMax("ts")])
    shutil.copy(f"{files}/f07.parquet", f"{path}/g07.parquet")
    result = made(spark, path).refresh(auto="revise")
    assert (result.added, made(spark, path).status().up_to_date) == (1, True)
    assert kept(spark, path, "city = 'c3' AND ts BETWEEN 8400 AND 9000") == {"f07", "g07"}


def test_few_files_and_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-CH-4] The types decide; a dataset of maps is an error."""
    schema = pa.schema([("a", pa.int32()), ("m", pa.map_(pa.string(), pa.int32()))])
    path = put_files(tmp_path / "few", schema, {"f0": [(1, [])], "f1": [(2, [])]})
    assert chosen(made(spark, path).create().choice) == {"minmax(a)", "valuelist(a)"}
    assert kept(spark, path, "a = 2") == {"f1"}
    spark.range(0).select("id").write.parquet(str(tmp_path / "empty"))
    assert chosen(made(spark, str(tmp_path / "empty")).ensure().choice) == {"minmax(id)"}
    maps = put_files(tmp_path / "maps", schema.remove(0), {"f0": [([],)]})
    with pytest.raises(IndexDefinitionError, match=r"finds no column to choose an index for.*maps; expected: "):
        made(spark, maps).create()


def test_unusual_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Names with dots, spaces and capital letters, fields of structs, partitions, arrays, NULL alone, NaN."""
    df = spark.range(0, 600, numPartitions=6).selectExpr(
        "id AS `a.b`", "id AS `C c`", "struct(id AS `x.y`) AS `S s`", "CAST(id AS decimal(20, 2)) AS d",
        "CAST(NULL AS int) AS n", "CAST('NaN' AS double) AS nan", "array(id div 100) AS tags", "id div 300 AS p",
        "X'00' AS b", "id % 2 = 0 AS flag", "make_date(2024, 1, 1 + id div 100) AS day",
        "array(struct(id AS q)) AS arr",
    )  # fmt: skip
    path = str(tmp_path / "d")
    df.write.partitionBy("p").parquet(path)
    assert chosen(made(spark, path).create().choice) == {
        "minmax(`a.b`)", "minmax(C c)", "minmax(S s.`x.y`)", "minmax(d)", "minmax(tags)", "minmax(day)"
    }  # fmt: skip
    assert len(kept(spark, path, "`a.b` = 5")) == len(kept(spark, path, "`S s`.`x.y` = 5")) == 1
    assert len(kept(spark, path, "array_contains(tags, 3L) AND p = 1")) == 1


def test_many_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-CH-1] At most 64 are measured."""
    path = put_files(tmp_path / "wide", pa.schema([(f"c{i}", pa.int32()) for i in range(70)]), {
        f"f{i}": [(i,) * 70] for i in range(4)
    })  # fmt: skip
    choice = made(spark, path).choose()
    assert (len(chosen(choice)), choice.left_out) == (64, 6)
    assert "; 6 further columns not measured" in str(choice)


@pytest.mark.parametrize("text", ["0", "0%", "-1%", "101%", "1.5", "half", "nan"])
def test_a_budget_that_is_none(spark: SparkSession, path: str, text: str) -> None:
    spark.conf.set(CHOICE_BUDGET.key, text)
    with pytest.raises(SettingError, match=r"spark.xskip.choice.budget.*a share such as 0.5% or 0.005"):
        made(spark, path).choose()
    spark.conf.unset(CHOICE_BUDGET.key)


def test_arguments(spark: SparkSession, path: str) -> None:
    with pytest.raises(ArgumentError, match="auto"):
        made(spark, path).refresh(auto="always")  # type: ignore[arg-type]
    made(spark, path).create([MinMax("ts")])
    with pytest.raises(xskip.errors.IndexExistsError):
        made(spark, path).create()


def test_a_write_without_a_list(spark: SparkSession, files: str, tmp_path: Path) -> None:
    """The index is chosen after the first write; later ones keep it."""
    path, df = str(tmp_path / "written"), spark.read.parquet(files).select("ts", "city")
    written = xskip.write(df, path)
    before = {each.name for each in written.describe().indexes}
    assert "minmax" in before
    xskip.write(df, path, mode="append")
    assert {each.name for each in written.describe().indexes} == before
    assert written.status().up_to_date


def test_the_command_line(
    spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    shown = call_json(capsys, "choose", path)
    assert {each["subject"] for each in shown["columns"] if each["action"] == "add"} >= {"minmax(ts)"}
    plan = call_json(capsys, "ensure", path, "--auto", "--dry-run")
    assert plan["choice"]["columns"] == shown["columns"] or plan["choice"]["sample"] == shown["sample"]
    assert call_json(capsys, "create", path, "--auto")["choice"]["indexes"] == shown["indexes"]
    assert call_json(capsys, "refresh", path, "--revise")["choice"]["columns"][0]["action"] == "keep"
    assert call_json(capsys, "refresh", path)["choice"] is None
    config = tmp_path / "auto.toml"
    config.write_text(f'[[dataset]]\npath = "{path}"\nindexes = "auto"\n')
    (again,) = call_json(capsys, "ensure", "--config", str(config))
    assert (again["indexes_added"], again["choice"]) == ([], None)


@pytest.mark.parametrize(
    ("arguments", "config", "message"),
    [
        (["/d", "--auto", "--minmax", "a"], "", "indexes are given together with --auto"),
        (["/d", "--config", "FILE"], 'indexes = "auto"', "a key of another type"),
        (["--config", "FILE"], '[[dataset]]\npath = "/d"\nindexes = "all"', "a key of another type"),
        (
            ["--config", "FILE"],
            '[[dataset]]\npath = "/d"\nindexes = "auto"\nindex = [{type = "minmax", column = "a"}]',
            "a dataset has indexes together",
        ),
    ],
)  # fmt: skip
def test_commands_that_contradict_themselves(
    arguments: list[str], config: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "FILE").write_text(config)
    given = [each.replace("FILE", str(tmp_path / "FILE")) for each in arguments]
    assert main(["ensure", *given]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_a_list_is_resolved_when_it_is_committed(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[REP-CH-1] ensure() without a list keeps an index that another program adds meanwhile."""
    made(spark, path).create([MinMax("ts")])
    (Path(path) / "f00.parquet").unlink()
    calls: list[int] = []
    real = Reconciliation._prepared

    def prepared(self: Reconciliation, found: object) -> object:
        run = real(self, found)  # type: ignore[arg-type]
        if not calls:
            calls.append(1)
            made(spark, path).add([ValueList("city")])
        return run

    monkeypatch.setattr(Reconciliation, "_prepared", prepared)
    made(spark, path).ensure()
    assert calls
    assert [each.name for each in made(spark, path).describe().indexes] == ["minmax", "valuelist"]


def test_what_the_dataset_had(spark: SparkSession, path: str, files: str, tmp_path: Path) -> None:
    """[REP-CH-1] The index before an overwrite, with its parts and its version, and that of a former path."""
    made(spark, path).create([MinMax("ts"), GapList("noise")], version=3, parts=None)
    spark.read.parquet(files).write.mode("overwrite").parquet(path)
    assert not made(spark, path).exists()
    result = made(spark, path).ensure()
    assert (result.choice, result.rebuilt) == (None, True)
    found = made(spark, path).describe()
    assert (found.version, [each.name for each in found.indexes]) == (3, ["minmax", "gaplist"])
    moved = str(Path(path).rename(tmp_path / "moved"))
    result = made(spark, moved).ensure()
    assert (result.choice, result.former) == (None, path)
    assert [each.name for each in made(spark, moved).describe().indexes] == ["minmax", "gaplist"]


def test_a_damaged_record_needs_a_list(spark: SparkSession, path: str) -> None:
    """[REP-CH-1] It hides which indexes there were, and which columns are secret."""
    made(spark, path).create([MinMax("ts")])
    location = Path(made(spark, path).describe().location)
    for record in location.rglob("*.json"):
        record.write_text("broken")
    for copy in Path(path).parent.glob(".xskip_definitions/*/*.json"):
        copy.unlink()
    for operation in (made(spark, path).ensure, made(spark, path).create):
        with pytest.raises(RecordDamagedError):
            operation()
    assert made(spark, path).ensure([MinMax("ts")]).created


def test_a_file_that_cannot_be_read(spark: SparkSession, path: str) -> None:
    """It is no part of the sample, and the build decides about it."""
    (Path(path) / "f08.parquet").write_bytes(b"broken")
    with pytest.raises(CollectError, match="f08"):
        made(spark, path).create()
    assert len(made(spark, path).create(on_error="skip").failed) == 1
    result = made(spark, path).refresh(auto="revise", on_error="skip")
    assert result.choice is not None
    assert not result.choice.changed


@pytest.mark.parametrize("fmt", ["avro", "orc", "json", "csv"])
def test_other_formats_and_tables(spark: SparkSession, files: str, fmt: str, tmp_path: Path) -> None:
    rows = spark.read.parquet(files).select("ts", "city", "user", "gap")
    rows.repartitionByRange(8, "ts").write.format(fmt).option("path", str(tmp_path / fmt)).saveAsTable(f"choice_{fmt}")
    table = SkippingIndex.for_table(spark, f"choice_{fmt}")
    choice = table.create().choice
    assert chosen(choice) >= {"minmax(ts)"}
    assert len(table.files("ts = 5000").names) == 1
    assert not (table.refresh(auto="revise").choice or choice).changed  # type: ignore[union-attr]


def test_an_encrypted_column(spark: SparkSession, path: str) -> None:
    """[REP-CH-5] No index may tell the values of a column that an encrypted index covers, and encrypted ones stay."""
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    xskip.use_kms(xskip.LocalKms({label: label.encode() * 16 for label in ("f", "k")}))
    try:
        index(spark, path, [MinMax("user", key_label="k"), MinMax("noise", key_label="k")])
        result = made(spark, path).refresh(auto="revise")
        assert result.choice is not None
        found = {each.subject: each for each in result.choice}
        assert {found[f"minmax({each})"].reason for each in ("user", "noise")} == {"given"}
        assert "bloomfilter(user)" not in found
        assert found["minmax(ts)"].action == "add"
        assert kept(spark, path, f"ts = {ROWS * 5}") == {"f05"}
    finally:
        xskip.use_kms(None)


def test_an_encrypted_index_of_no_files(spark: SparkSession, path: str, tmp_path: Path) -> None:
    """[REP-CH-5] Without rows, and without keys: no plain statistics of secret columns."""
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    kms = xskip.LocalKms({label: label.encode() * 16 for label in ("f", "k")})
    xskip.use_kms(kms)
    try:
        index(spark, path, [BloomFilter("user", key_label="k"), MinMax("ts")])
        for file in Path(path).glob("*.parquet"):
            file.rename(tmp_path / file.name)
        pq.write_table(SCHEMA.empty_table(), f"{path}/empty.parquet")
        result = made(spark, path).refresh(auto="revise")
        assert not [each for each in result.choice or () if "user" in each.subject and each.action == "add"]
        for file in tmp_path.glob("*.parquet"):
            file.rename(Path(path) / file.name)
        made(spark, path).refresh()
        moved = str(Path(path).rename(tmp_path / "moved"))
        xskip.use_kms(None)
        with pytest.raises(KeyNotAvailableError):
            made(spark, moved).ensure()
        assert not made(spark, moved).exists()
    finally:
        xskip.use_kms(None)
