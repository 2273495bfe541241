"""PathBounds on partitioned datasets, in jobs, encrypted and in all versions. Rules: specs/pruning.rst, [PRU-PB]."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import assert_same_rows, index, kept, metadata, write_once
from tests.soundness.checking import Family, family
from xskip import LocalKms, NullCount, PathBounds, SkippingIndex
from xskip.errors import IndexDefinitionError, KeyNotAvailableError, UnsupportedTypeError
from xskip.metadatastore import codec
from xskip.metadatastore.snapshot import Snapshot
from xskip.spark.query.spark_engine import forget_indexes

UTC = dt.timezone.utc
SCHEMA = "at timestamp, ts bigint, small smallint"
PATTERN = "day={at:period}/ts_{ts:min}_{ts:max}_s{small}"
#: Indexes whose paths have days of Norway.
OF_PATHS = PathBounds.of_pattern(PATTERN, zone="Europe/Oslo")


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=UTC)


def rows(first: str, last: str, *numbers: int) -> list[tuple[Any, ...]]:
    """Return rows whose times are the first and the last moment of a day, and a row of NULL."""
    return [(at(first), numbers[0], numbers[2]), (at(last), numbers[1], numbers[2]), (None, None, None)]


#: The days of 31 March and 27 October 2024 have 23 and 25 hours in Norway.
FILES = {
    "p=1/day=2024-03-01/ts_0_9_s1": rows("2024-02-29 23:00", "2024-03-01 22:59:59.999999", 0, 9, 1),
    "p=1/day=2024-03-02/ts_10_19_s2": rows("2024-03-01 23:00", "2024-03-02 22:59:59.999999", 10, 19, 2),
    "p=2/day=2024-03-01/ts_5_14_s3": rows("2024-02-29 23:00", "2024-03-01 22:59:59.999999", 5, 14, 3),
    "p=2/day=2024-03-31/ts_20_29_s4": rows("2024-03-30 23:00", "2024-03-31 21:59:59.999999", 20, 29, 4),
    "p=2/day=2024-10-27/ts_30_39_s5": rows("2024-10-26 22:00", "2024-10-27 22:59:59.999999", 30, 39, 5),
    "p=__HIVE_DEFAULT_PARTITION__/day=2024-03-01/other": rows("2020-01-01 00:00", "2030-01-01 00:00", -5, 500, 9),
}
A, B, C, D, E, N = (name.rpartition("/")[2] for name in FILES)
CASES = {
    "ts = 7": f"{A} {C} {N}",
    "ts < 0": N,
    "p = 1 AND ts > 9": B,
    "p = 2 AND (ts < 10 OR ts > 35)": f"{C} {E}",
    "p IS NULL AND ts < 0": N,
    "day = '2024-03-01' AND ts >= 10": f"{C} {N}",
    "small = 4": f"{D} {N}",
    "small IN (1, 9) AND ts > 3": f"{A} {N}",
    "at < '2024-02-29 23:00:00'": N,
    "at >= '2024-03-01 23:00:00'": f"{B} {D} {E} {N}",
    "at >= '2024-03-31 22:00:00' AND at < '2024-10-26 22:00:00'": N,
    "at = '2024-03-31 21:59:59.999999'": f"{D} {N}",
    "at = '2024-10-27 22:59:59.999999'": f"{E} {N}",
    "date_trunc('DAY', at) = '2024-10-27' AND ts > 0": f"{E} {N}",
    "at IS NULL AND p = 1": f"{A} {B}",
    "at IS NOT NULL AND p = 1": f"{A} {B}",
}
#: One case for each column and each kind of bound.
FEW = {
    predicate: CASES[predicate]
    for predicate in ("ts = 7", "p = 1 AND ts > 9", "small = 4", "at < '2024-02-29 23:00:00'", "at IS NULL AND p = 1")
}


@pytest.fixture(scope="module")
def copies(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Family]:
    """Return the files in two formats, without an index."""
    home = tmp_path_factory.mktemp("days")
    return {fmt: family(session, home / fmt, SCHEMA, FILES, {}, fmt=fmt) for fmt in ("parquet", "avro")}


def answers(spark: SparkSession, path: str, predicates: Mapping[str, str]) -> dict[str, str]:
    """Return the files that queries read, in the form of ``CASES``."""
    found = {predicate: kept(spark, path, predicate) for predicate in predicates}
    return {predicate: " ".join(name for name in (A, B, C, D, E, N) if name in found[predicate]) for predicate in found}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
@pytest.mark.parametrize("pushdown", ["true", "false"])
def test_directories_of_days_and_partitions(
    spark: SparkSession, copies: dict[str, Family], fmt: str, pushdown: str
) -> None:
    """[PRU-PB-4] [PRU-PC-1] Bounds from names of partition directories and partition values skip together."""
    for source in ("parquet.filterPushdown", "avro.filterPushdown.enabled"):
        spark.conf.set(f"spark.sql.{source}", pushdown)
    made = copies[fmt]
    made.add(f"paths {pushdown}", OF_PATHS)
    made.check(f"paths {pushdown}", CASES)


def test_a_partition_column_has_no_bounds(spark: SparkSession, copies: dict[str, Family]) -> None:
    """[PRU-PC-4] The values of a partition column answer its filters, so that a build refuses bounds of it."""
    made = copies["parquet"].skipping("plain")
    with pytest.raises(IndexDefinitionError, match="partition column"):
        made.create([PathBounds("day", "day={day:period}/*")])
    assert not made.exists()


@pytest.fixture
def by_job(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let jobs list, build and prune, with two files in a chunk, and one in a row group of metadata."""
    for key, value in {
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "0",
        "spark.xskip.build.chunkFiles": "2",
        "spark.xskip.metadata.rowsPerFile": "3",
        "spark.xskip.pruning.jobFiles": "0",
    }.items():
        spark.conf.set(key, value)
    monkeypatch.setattr(codec, "GROUP_ROWS", 1)
    forget_indexes()
    yield
    forget_indexes()


def test_jobs_build_and_prune(
    spark: SparkSession, tmp_path: Path, by_job: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PRU-PB-5] [PRU-JB-1] [PRU-JB-3] Jobs that list, build and prune skip the same files as the driver."""
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES)
    made = index(spark, path, [*OF_PATHS, NullCount("ts")])
    assert len(metadata(made).files) == len(FILES)
    with monkeypatch.context() as patched:
        patched.setattr(Snapshot, "load", lambda *_: pytest.fail("the driver loaded a snapshot"))
        assert answers(spark, path, FEW) == FEW
    forget_indexes()
    spark.conf.set("spark.xskip.pruning.jobFiles", "1000")
    assert answers(spark, path, FEW) == FEW


def test_one_bound_of_row_groups(spark: SparkSession, tmp_path: Path, by_job: None) -> None:
    """[PRU-JB-3] A row group whose files lack the other bound is read for filters that need this bound."""
    files = {f"from_{n}": [(n,), (n + 100,)] for n in (0, 10, 20)} | {"from_x": [(50,)]}
    path = write_once(spark, tmp_path / "data", "ts int", files)
    index(spark, path, [PathBounds("ts", "from_{ts:min}")])
    assert kept(spark, path, "ts < 10") == {"from_0", "from_x"}
    assert kept(spark, path, "ts > 1000") == files.keys()
    assert kept(spark, path, "ts = 15") == {"from_0", "from_10", "from_x"}
    assert kept(spark, path, "ts BETWEEN 5 AND 9") == {"from_0", "from_x"}


def test_migrations(spark: SparkSession, copies: dict[str, Family]) -> None:
    """[PRU-PB-5] Bounds of times, of integers and of small integers survive all versions of the format."""
    family_ = copies["parquet"]
    made = family_.add("migrated", OF_PATHS)
    before = {key: column.values for key, column in metadata(made).indexes.items()}
    for version in (1, 2, 3, 0, 4):
        made.migrate(version)
        assert {key: column.values for key, column in metadata(made).indexes.items()} == before
        family_.check("migrated", FEW)


@pytest.fixture(params=[True, False], ids=["plaintext footer", "encrypted footer"])
def encrypted(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[SkippingIndex]:
    """Yield an index whose bounds of ``at`` and ``ts`` have keys."""
    spark.conf.set("spark.xskip.encryption.footer.key", "footer")
    spark.conf.set("spark.xskip.encryption.plaintext.footer", str(request.param).lower())
    keys("k1", "k2", "footer")
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES)
    of = [PathBounds(*(column, PATTERN, "", "Europe/Oslo"), key_label=key) for column, key in KEYS_OF.items()]
    yield index(spark, path, of)
    xskip.use_kms(None)


KEYS_OF = {"at": "k1", "ts": "k2", "small": None}


def keys(*labels: str) -> None:
    xskip.use_kms(LocalKms({label: label.encode().ljust(16, b"!") for label in labels}))


def test_encrypted_bounds(spark: SparkSession, encrypted: SkippingIndex) -> None:
    """[ENC-L-1] [ENC-C-2] [ENC-R-2] Bounds with keys skip in all versions, and metadata reveals no name of a file."""
    path = encrypted.name
    for version in (4, 1, 3, 4):
        encrypted.migrate(version)
        assert answers(spark, path, FEW) == FEW
        for file in Path(encrypted.describe().location).rglob("*"):
            assert not file.is_file() or b"ts_10_19" not in file.read_bytes()
    for predicate in ("ts = 9", "at >= '2024-03-31 22:00:00'"):
        assert assert_same_rows(lambda p=predicate: spark.read.parquet(path).filter(p), spark)


def test_bounds_whose_key_is_absent(spark: SparkSession, encrypted: SkippingIndex) -> None:
    """[ENC-R-1] [ENC-R-2] Bounds without a key are unknown, the other bounds skip, and a refresh names the key."""
    path = encrypted.name
    keys("k1", "footer")
    assert answers(spark, path, {"ts = 7": "", "small = 4": "", "at < '2024-02-29 23:00:00'": ""}) == {
        "ts = 7": f"{A} {B} {C} {D} {E} {N}",
        "small = 4": f"{D} {N}",
        "at < '2024-02-29 23:00:00'": N,
    }
    write_once(spark, Path(path), SCHEMA, {"p=3/day=2024-03-05/ts_50_59_s6": [(at("2024-03-05 12:00"), 50, 6)]})
    with pytest.raises(KeyNotAvailableError, match="k2"):
        encrypted.refresh()
    keys("k1", "k2", "footer")
    assert encrypted.refresh().added == 1
    assert kept(spark, path, "ts = 55") == {"ts_50_59_s6", N}
    assert kept(spark, path, "at > '2024-03-05' AND at < '2024-03-06'") == {"ts_50_59_s6", N}


@pytest.mark.parametrize("kind", ["string", "decimal(9,2)", "double", "boolean"])
def test_a_column_of_another_type_is_refused(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """[PRU-PB-1] A build with such a column fails, and leaves no index."""
    path = str(tmp_path / "data")
    spark.sql(f"SELECT CAST(NULL AS {kind}) AS c, 1 AS n").write.parquet(path)
    made = SkippingIndex.for_path(spark, path)
    with pytest.raises(UnsupportedTypeError, match="PathBounds cannot index this type"):
        made.create(PathBounds.of_pattern("{n}_{c}"))
    assert not made.exists()


def test_literals_of_other_types(spark: SparkSession, copies: dict[str, Family]) -> None:
    """[PRU-PB-5] Filters with decimals, texts and doubles skip exactly the files that cannot match."""
    made = copies["parquet"]
    made.add("literals", OF_PATHS)
    made.check("literals", {
        "ts > 29.5": f"{E} {N}",
        "ts = 7.5": "",
        "ts = 9.0": f"{A} {C} {N}",
        "ts >= 14.00BD": f"{B} {C} {D} {E} {N}",
        "ts <= CAST(0 AS DECIMAL(38, 10))": f"{A} {N}",
        "ts = '7'": f"{A} {C} {N}",
        "ts > '29'": f"{E} {N}",
        "ts < 5e0": f"{A} {N}",
        "small = 4.0": f"{D} {N}",
        "small > 40000": "",
        "at < DATE'2024-03-01' AND ts < 3": f"{A} {N}",
    })  # fmt: skip
