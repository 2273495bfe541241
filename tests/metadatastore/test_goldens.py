"""Metadata of other programs is read as they wrote it, and pruned at least as correctly.

Rules: specs/metadatastore.rst, [MDS-V-1], [MDS-T], [MDS-P]. Spark parses each query of the golden files, and the
verdicts are compared with the recorded verdicts for each file, by the path below the dataset's root.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import Counted
from tests.metadatastore.golden_queries import frame, predicate_of
from tests.metadatastore.samples import opened, storage_type
from xskip.column_paths import split_path
from xskip.metadatastore.snapshot import Snapshot
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune, requirements

# Skips on record that are no proof: xskip must keep what is named here.
UNPROVED = {
    # recorded: skipped, since min > v or max < v of each excluded value; right only because the file's three values
    # are just those, which its bounds 0.1 and 2.2 do not tell: {0.1, 1.5, 2.2} has the same
    "testID=2": {"0-3-JTH.csv"},
}
# Queries of which a file with a matching row is skipped on record. Its string bounds are themselves wrong, for they
# were found in the order of UTF-16 units: nothing can be proved by them, and xskip uses no index that others wrote to
WRONG = {("odd-strings", "s = '😀'"), ("odd-strings", "s > '�'")}
# A file without rows, of which nothing was collected: its metadata is null in every column, which xskip takes for
# "nothing is known" and the other program for "holds nothing"; both are sound, and only xskip's is without a guess
NOT_COLLECTED = {"odd": {"part-005.parquet"}, "odd-strings": {"part-005.parquet"}}
# A file whose string bounds, found in the order of UTF-16 units, contradict each other in Spark's
CONTRADICTORY = {"odd-strings": {"part-001.parquet"}}
# Queries of which xskip soundly skips more than is on record, and why
MORE = {
    ("partitioned", "p = 1 or v = 20"): "partition values take part in an OR with a data column",
    ("minmax-bool", "bool = true"): "Spark asks for the column itself, and its greatest value is false in four files",
    ("minmax-bool", "bool IN (true)"): "the same",
    (
        "testID=37",
        "address not IN ('Jerusalem', 'Batyam') and date != '2018-05-21'",
    ): "all files are of the partition that the query excludes",
}


def typed(snapshot: Snapshot, df: DataFrame) -> IndexCatalog:
    """Return the indexes with the types of their columns, which other programs do not record."""
    indexes = []
    for definition, storage in snapshot.indexes:
        kind = type_of(df, definition.columns[0])
        assert storage_type(storage) in ("", kind)
        indexes.append((dataclasses.replace(definition, types=(kind,)), storage))
    return IndexCatalog(tuple(indexes), snapshot.partitions)


def type_of(df: DataFrame, column: str) -> str:
    kind: Any = df.schema
    for part in split_path(column):
        (found,) = [field for field in kind.fields if field.name.lower() == part.lower()]
        kind = found.dataType
    return str(kind.simpleString())


def skipped(spark: SparkSession, directory: Path, dataset: str, sql: str) -> tuple[set[str], set[str]]:
    """Return all files of an index and the files that a query skips, as paths below the dataset's root."""
    snapshot = opened(directory)
    assert snapshot.live.foreign
    clause = translate(predicate_of(spark, dataset, sql), typed(snapshot, frame(spark, dataset)))
    table = snapshot.load(requirements(clause))
    skip = prune(clause, table).skip
    names = [n.removeprefix(snapshot.table_identifier + "/") for n in table.files.names.to_pylist()]
    return set(names), {name for name, skips in zip(names, skip, strict=True) if skips}


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_older_goldens(spark: SparkSession, shared: Path, clean_frames: None, version: int, counted: Counted) -> None:
    """[MDS-V-1] [MDS-T-1] [MDS-T-2] [MDS-T-3] The recorded files of 29 directories per version are skipped."""
    home = shared / "fixtures/xskipper"
    tests = [t["testDescription"] for t in json.loads((home / "version_tests.json").read_text())["versionTests"]]
    asked, more = [], set()
    for test in tests:
        if not test.get("minVersion", 1) <= version <= test.get("maxVersion", 4):
            continue
        name, dataset = f"testID={test['testId']}", test["dataSetPath"].split("/")[1]
        (directory,) = (home / f"parquet_version_tests/end_to_end/version={version}" / name).iterdir()
        assert opened(directory).metadata_files[0].schema.version == version
        sql = test["query"].partition(" WHERE ")[2]
        files, skips = skipped(spark, directory, dataset, sql)
        recorded = {Path(path).name for path in test["expectedSkippedFiles"]}
        found = {Path(path).name for path in skips}
        assert recorded <= {Path(path).name for path in files}, name
        keeps = UNPROVED.get(name, set())
        assert not found & keeps, name
        assert found >= recorded - keeps, name
        if found - recorded:
            more.add((name, sql))
        asked.append(name)
    assert len(asked) == len(set(asked)) == 29
    assert more == {key for key in MORE if key[0].startswith("testID") and version == 4}
    assert UNPROVED.keys() <= set(asked)
    counted("golden directories read", len(asked))
    count_queries(counted, len(asked), len(UNPROVED) + len(more))


def count_queries(counted: Counted, queries: int, exceptions: int) -> None:
    counted("golden queries whose verdicts are those on record", queries - exceptions)
    counted("golden queries with a named exception", exceptions)


def test_goldens_of_the_real_program(spark: SparkSession, shared: Path, clean_frames: None, counted: Counted) -> None:
    """[MDS-V-1] [MDS-T-1] [MDS-P-1] In 124 queries on 35 indexes, only named cases differ from the record."""
    home = shared / "fixtures/xskipper-1.6.0"
    cases = json.loads((home / "cases.json").read_text())
    plain = [c for c in cases if "metadata" in c and not c["name"].startswith("encrypted")]
    more, wrong, less, queries, unknown = set(), set(), set(), 0, 0
    for case in plain:
        for query in case["queries"]:
            where = (case["name"], query["sql"])
            files, skips = skipped(spark, home / case["metadata"], case["dataset"], query["sql"])
            kept = files - skips
            assert files == set(case["modified_ms"]), where
            assert kept >= set(query["files_with_rows"]) or where in WRONG, where
            recorded = set(query["kept"])
            if query["wrong_skip"]:
                wrong.add(where)
                assert not set(query["files_with_rows"]) <= recorded, where
            else:
                unknown_here = NOT_COLLECTED.get(case["name"], set()) | CONTRADICTORY.get(case["name"], set())
                assert kept - recorded <= unknown_here, (where, kept - recorded)
                unknown += len(kept - recorded)
                if kept - recorded:
                    less.add(where)
                if kept < recorded:
                    more.add(where)
            queries += 1
    assert (len(plain), queries) == (35, 124)
    assert unknown == 11
    assert wrong == WRONG
    assert more == {key for key in MORE if not key[0].startswith("testID")}
    counted("golden directories read", len(plain))
    count_queries(counted, queries, len(more | wrong | less))


def test_foreign_string_bounds_are_out_of_order(shared: Path) -> None:
    """[MDS-C-5] [MDS-T-8] The recorded bounds explain the wrong queries; the index does not count as one of xskip."""
    folder = shared / "fixtures/xskipper-1.6.0/metadata/odd-strings"
    snapshot = opened(next(folder.iterdir()))
    assert snapshot.is_ours is False
    table = snapshot.load()
    row = table.files.names.to_pylist().index("/lake/odd/part-001.parquet")
    bounds = table.indexes["minmax", ("s",)].values[row].as_py()
    assert bounds == {"min": "\U0001f600", "max": "\ufffd"}
    assert bounds["min"].encode() > bounds["max"].encode()
    assert bounds["min"].encode("utf-16-be") < bounds["max"].encode("utf-16-be")


def test_every_value_is_read(shared: Path) -> None:
    """[MDS-T-1] [MDS-T-2] [MDS-T-3] Every index of every golden directory is decoded; one filter is unknown."""
    home = shared / "fixtures"
    directories = {p.parent for p in home.glob("xskipper/parquet_version_tests/end_to_end/version=4/*/*/*.parquet")}
    directories |= {p.parent for p in home.glob("xskipper-1.6.0/metadata/[!e]*/*/*.parquet")}
    columns = filters = unknown = 0
    for directory in directories:
        snapshot = opened(directory)
        table = snapshot.load()
        assert len(table) == snapshot.rows > 0
        for (name, _), column in table.indexes.items():
            columns += 1
            assert column.values.null_count < len(table)
            if name == "bloomfilter":
                filters += 1
                unknown += column.values.null_count
    assert len(directories) == 64
    assert columns == 78
    assert filters == 11
    assert unknown == 1
