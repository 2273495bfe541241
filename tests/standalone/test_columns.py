"""A predicate that names a column which the dataset does not have is an error at the call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import index, write_once
from xskip import MinMax, SkippingIndex, ValueList
from xskip.errors import PredicateError
from xskip.standalone import columns
from xskip.standalone.opened import OpenedIndex

SCHEMA = "id int, city string, temp double, st struct<a: int, b: string>, m map<string, int>"
COLUMNS = "one of id, city, temp, st, m, p"


def dataset(spark: SparkSession, root: Path, fmt: str = "parquet") -> str:
    files = {f"p={i}/f{i}": [(i, "oslo", i / 2, (i, "x"), {"k": i})] for i in range(3)}
    return write_once(spark, root / "data", SCHEMA, files, fmt)


@pytest.fixture(scope="module")
def paths(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the paths of an indexed dataset of each format, which no test changes."""
    found = {fmt: dataset(session, tmp_path_factory.mktemp(fmt), fmt) for fmt in ("parquet", "avro")}
    for fmt, path in found.items():
        index(session, path, [MinMax("id"), ValueList("city"), MinMax("st.a")], fmt)
    return found


@pytest.fixture(params=["parquet", "avro"])
def opened(paths: dict[str, str], request: pytest.FixtureRequest) -> OpenedIndex:
    return xskip.open_index(paths[request.param])


@pytest.mark.parametrize(
    ("predicate", "found", "hint"),
    [
        ("cty = 'x'", "cty", "did you mean city?"),
        ("id > 1 AND NOT (tmp IS NULL OR city = 'x')", "tmp", "did you mean temp?"),
        ("id > 1 AND nothing", "nothing", ""),
        ("city = Oslo", "Oslo", "put a text in quotes: city = 'Oslo'"),
        ("city IN ('x', Oslo)", "Oslo", "put a text in quotes: city = 'Oslo'"),
        ("city = Temp1", "Temp1", "did you mean temp, or put a text in quotes: city = 'Temp1'"),
        ("idd LIKE 'x%'", "idd", "did you mean id?"),
        ("t.city = 'x'", "t.city", "did you mean city?"),
        ("st.c = 1", "st.c", "did you mean st?"),
    ],
)
def test_unknown_columns_are_errors(opened: OpenedIndex, predicate: str, found: str, hint: str) -> None:
    """[STA-CO-1]"""
    with pytest.raises(PredicateError) as error:
        opened.files(predicate)
    message = f"the dataset has no such column (where: {predicate}; found: {found}; expected: {COLUMNS})"
    assert str(error.value) == (f"{message}; {hint}" if hint else message)


def test_predicates_on_known_columns_read_no_data_file(opened: OpenedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """[STA-CO-1] A footer is read only for a column that the index does not know."""
    read: list[Any] = []

    def schema(*arguments: Any) -> pa.Schema:
        read.append(arguments)
        return pa.schema([])

    for reader in ("schema_of_file", "header_schema"):
        monkeypatch.setattr(columns, reader, schema)
    assert len(opened.files("id = 1 AND city = 'oslo' AND st.a = 1 AND p = 1")) == 1
    assert not read
    with pytest.raises(PredicateError):
        opened.files("id = 1 AND temp = 1")
    assert read


@pytest.mark.parametrize(
    ("predicate", "kept", "unused"),
    [
        ("temp = 1 AND id = 1", 1, (("temp = 1", "the index has no statistics of temp"),)),
        ("ID = 1 AND CITY = 'oslo' AND P = 1 AND ST.A = 1", 1, ()),
        ("st.b = 'y'", 3, (("st.b = 'y'", "the index has no statistics of st.b"),)),
        ("m.nope = 1", 3, (("m.nope = 1", "the index has no statistics of m.nope"),)),
        ("_metadata.file_name = 'x'", 3,
         (("_metadata.file_name = 'x'", "the index has no statistics of _metadata.file_name"),)),
        ("filename = 'x'", 3, (("filename = 'x'", "the index has no statistics of filename"),)),
        ("city = current_user", 3, (("city = current_user", "the index has no statistics of current_user"),)),
        ("f(nope) = 1", 3, (("f(nope) = 1", "xskip does not support this condition without Spark"),)),
    ],
)  # fmt: skip
def test_other_columns_keep_files(opened: OpenedIndex, predicate: str, kept: int, unused: Any) -> None:
    """[STA-CO-2]"""
    found = opened.files(predicate)
    assert (len(found), found.unused) == (kept, unused)


def test_expressions_know_columns_by_their_exact_names(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-CO-1] [STA-CO-2]"""
    path = dataset(spark, tmp_path)
    index(spark, path, [MinMax("id")])
    opened = xskip.open_index(path)
    for name, hint in {"cty": "did you mean city?", "City": "did you mean city?"}.items():
        with pytest.raises(PredicateError) as error:
            opened.files((ds.field(name) == "x") & (ds.field("id") == 1))
        assert str(error.value) == (
            f"the dataset has no such column (where: ({name} = 'x') AND (id = 1); found: {name}; expected: {COLUMNS}); "
            f"{hint}"
        )
    kept = opened.files((ds.field("temp") == 1) & (ds.field("id") == 1))
    assert (len(kept), kept.unused) == (1, (("temp = 1", "the index has no statistics of temp"),))
    kept = opened.files((ds.field("__filename") == "x") & (ds.field("id") == 1))
    assert len(kept) == 1
    assert kept.unused == (("__filename = 'x'", "the dataset has no unambiguous column __filename"),)


def test_a_column_that_only_the_newest_file_has_exists(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-CO-2]"""
    path = write_once(spark, tmp_path / "data", "id int", {"a": [(1,)], "b": [(2,)]})
    other = write_once(spark, tmp_path / "other", "id int, late int", {"aa": [(3, 4)]})
    index(spark, path, [MinMax("id")])
    (Path(other) / "aa.parquet").rename(Path(path) / "aa.parquet")
    for number, name in enumerate(["b", "a", "aa"]):
        os.utime(Path(path) / f"{name}.parquet", (1_700_000_000 + number,) * 2)
    SkippingIndex.for_path(spark, path).refresh()
    for predicate in ("late = 4 AND id = 3", (ds.field("late") == 4) & (ds.field("id") == 3)):
        kept = xskip.open_index(path).files(predicate)
        assert ([Path(name).stem for name in kept], kept.unused) == (
            ["aa"], (("late = 4", "the index has no statistics of late"),),
        )  # fmt: skip
    with pytest.raises(PredicateError, match=r"found: lat; expected: one of id, late\); did you mean late\?"):
        xskip.open_index(path).files("lat = 4")


def test_without_a_readable_schema_all_columns_may_exist(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-CO-3]"""
    path = write_once(spark, tmp_path / "data", "id int", {"a": [(1,)], "b": [(2,)]})
    index(spark, path, [MinMax("id")])
    (Path(path) / "a.parquet").write_bytes(b"no Parquet")
    opened = xskip.open_index(path)
    kept = opened.files("idd = 3 AND id = 2")
    assert [Path(name).stem for name in kept] == ["a", "b"]  # a has changed
    assert kept.unused == (("idd = 3", "the index has no statistics of idd; did you mean id?"),)
    kept = opened.files(ds.field("id") == 7)
    assert len(kept) == 2
    ((text, reason),) = kept.unused
    assert text == "(id == 7)"
    assert reason.startswith("the schema of the dataset is not known: a file of the dataset cannot be read (where: ")
    assert [Path(name).stem for name in opened.files("id = 7")] == ["a"]
    for name in ("a", "b"):
        (Path(path) / f"{name}.parquet").unlink()
    assert opened.files("idd = 3").names == []
