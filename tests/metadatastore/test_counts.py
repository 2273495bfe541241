"""The numbers of rows and of NULLs of data files in metadata files. Rules: [MDS-O-5] to [MDS-O-7]."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.metadatastore.samples import (
    KEYS,
    ROOT,
    bloomfilter,
    commit,
    files_of,
    index_of,
    keyed,
    minmax,
    numbered_table,
    opened,
    put_foreign,
    rewrite,
    table_of,
    valuelist,
)
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.table import EXPRESSION, MetadataTable, concat
from xskip.metadatastore.codec import decode, encode, open_file
from xskip.metadatastore.encryption import use_kms
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.kms import LocalKms
from xskip.metadatastore.maintenance.compact import optimize
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.maintenance.remove import remove_indexes
from xskip.metadatastore.maintenance.rotate_keys import rotate_keys
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import WriteOptions

pytestmark = pytest.mark.usefixtures("no_client")
DISK = LocalStorage()
COUNTS = b"io.xskip.object.counts"
NAMES = [f"{ROOT}/{n}" for n in "abc"]
ROWS = [3, None, 2**40]
NULLS: dict[str, list[Any]] = {"k": [0, 4, None], "a.b": [3, 0, 2**40]}


def counts_of(rows: Sequence[Any], nulls: Mapping[str, Sequence[Any]]) -> FileCounts:
    return FileCounts(pa.array(rows, pa.int64()), {n: pa.array(v, pa.int64()) for n, v in nulls.items()})


def plain(counts: FileCounts | None) -> tuple[list[Any], dict[str, list[Any]]] | None:
    if counts is None:
        return None
    return counts.rows.to_pylist(), {name: values.to_pylist() for name, values in counts.nulls.items()}


def sample(names: Sequence[str] = NAMES) -> MetadataTable:
    """Return the metadata of three files with indexes on ``k`` and ``a.b``, and with counts."""
    indexes = [minmax("k", "int", [1, 2, 3], [4, 5, 6]), valuelist("a.b", "string", [["x"], [], None])]
    return replace(table_of(files_of(names), indexes), counts=counts_of(ROWS, NULLS))


def found(snapshot: Snapshot) -> dict[str, Any]:
    """Return the counts of a snapshot by the names of the files."""
    names, counts = snapshot.load(()).files.names.to_pylist(), snapshot.counts()
    return {
        name.removeprefix(f"{ROOT}/"): (rows, *(counts.nulls[column][i].as_py() for column in sorted(counts.nulls)))
        for i, (name, rows) in enumerate(zip(names, counts.rows.to_pylist(), strict=True))
    }


ALL = {"a": (3, 3, 0), "b": (None, 0, 4), "c": (2**40, 2**40, None)}


def test_the_form_of_the_entry(tmp_path: Path) -> None:
    """[MDS-O-5] JSON of strings in the form of sizes; a column of which nothing is known is absent."""
    table = replace(sample(), counts=counts_of(ROWS, {**NULLS, "k": [None] * 3}))
    encode(table, ROOT, tmp_path / "f")
    entry = json.loads(pq.read_metadata(tmp_path / "f").metadata[COUNTS])
    assert entry.keys() == {"rows", "nulls"}
    assert entry["nulls"].keys() == {"a.b"}
    inflated = zlib.decompress(base64.b64decode(entry["rows"]))
    assert inflated == b"".join(n.to_bytes(8, "little", signed=True) for n in (3, -1, 2**40))
    assert plain(decode(open_file(tmp_path / "f")).counts) == (ROWS, {"a.b": NULLS["a.b"]})


@pytest.mark.parametrize("version", range(5))
def test_counts_are_read_as_they_were_written(version: int, tmp_path: Path) -> None:
    """[MDS-O-5]"""
    encode(sample(), ROOT, tmp_path / "f", WriteOptions(version))
    file = open_file(tmp_path / "f")
    assert plain(decode(file).counts) == (ROWS, NULLS)
    assert decode(file, []).counts is None, "a query decodes no counts"


def test_without_counts_there_is_no_entry(tmp_path: Path) -> None:
    """[MDS-O-5]"""
    for counts in (None, FileCounts.unknown(3), counts_of([None] * 3, {"k": [None] * 3})):
        encode(replace(sample(), counts=counts), ROOT, tmp_path / "f")
        assert COUNTS not in pq.read_metadata(tmp_path / "f").metadata
        assert decode(open_file(tmp_path / "f")).counts is None


def test_only_columns_of_indexes_on_columns_are_counted(tmp_path: Path) -> None:
    """[MDS-O-5] An index on an expression has no column, and readers ignore other columns."""
    table = sample()
    expression = bloomfilter("size(x)", [[b"x"]] * 3)
    params = (*expression.definition.params, (EXPRESSION, "{}"))
    expression = replace(expression, definition=replace(expression.definition, params=params))
    given = counts_of(ROWS, {**NULLS, "size(x)": [1] * 3, "other": [1] * 3})
    indexes = {**table.indexes, expression.definition.key: expression}
    encode(replace(table, indexes=indexes, counts=given), ROOT, tmp_path / "f")
    entry = json.loads(pq.read_metadata(tmp_path / "f").metadata[COUNTS])
    assert entry["nulls"].keys() == {"k", "a.b"}
    entry["nulls"]["other"] = entry["nulls"].pop("k")
    rewrite(tmp_path / "f", {COUNTS: json.dumps({**entry, "later": 1}).encode()})
    assert plain(decode(open_file(tmp_path / "f")).counts) == (ROWS, {"a.b": NULLS["a.b"]})


def packed(*numbers: int) -> str:
    return base64.b64encode(zlib.compress(b"".join(n.to_bytes(8, "little", signed=True) for n in numbers))).decode()


@pytest.mark.parametrize(
    "entry",
    [
        b"", b"!", b"[]", b"{}", b"1", b"null", b"\xff", b"[" * 100_000, b'{"rows": 1, "nulls": {}}',
        b'{"rows": "", "nulls": {}}', b'{"rows": "!!", "nulls": {}}', '{"rows": "é", "nulls": {}}'.encode(),
        json.dumps({"rows": packed(1, 2), "nulls": {}}).encode(),
        json.dumps({"rows": packed(1, 2, 3, 4), "nulls": {}}).encode(),
        json.dumps({"rows": packed(*range(10**5)), "nulls": {}}).encode(),
        json.dumps({"rows": packed(1, 2, 3)}).encode(),
        json.dumps({"rows": packed(1, 2, 3), "nulls": []}).encode(),
        json.dumps({"rows": packed(1, 2, 3), "nulls": {"k": packed(1)}}).encode(),
        json.dumps({"rows": packed(1, 2, 3), "nulls": {"k": None}}).encode(),
    ],
    ids=lambda entry: entry[:30].decode(errors="replace"),
)  # fmt: skip
def test_damaged_entries_are_unknown(entry: bytes, tmp_path: Path) -> None:
    """[MDS-O-5] Damaged counts are no error."""
    encode(sample(), ROOT, tmp_path / "f")
    rewrite(tmp_path / "f", {COUNTS: entry})
    read = decode(open_file(tmp_path / "f"))
    assert read.counts is None
    assert read.files.names.to_pylist() == NAMES


def test_counts_that_contradict_each_other_are_unknown(tmp_path: Path) -> None:
    """[MDS-O-5] There are no more NULLs than rows."""
    encode(sample(), ROOT, tmp_path / "f")
    entry = {"rows": packed(3, -7, 5), "nulls": {"k": packed(4, 4, 5), "a.b": packed(3, -2, 0)}}
    rewrite(tmp_path / "f", {COUNTS: json.dumps(entry).encode()})
    assert plain(decode(open_file(tmp_path / "f")).counts) == ([3, None, 5], {"k": [None, 4, 5], "a.b": [3, None, 0]})


def test_a_snapshot_has_the_counts_of_all_files(tmp_path: Path) -> None:
    """[MDS-O-5] Files without the entry, as earlier releases wrote them, and columns that a file lacks are unknown."""
    old = replace(sample([f"{ROOT}/d", f"{ROOT}/e", f"{ROOT}/f"]), counts=None)
    other = replace(sample([f"{ROOT}/g", f"{ROOT}/h", f"{ROOT}/i"]), counts=counts_of([1, 2, 3], {"k": [1, 0, 0]}))
    snapshot = opened(index_of(tmp_path, [sample(), old, other]))
    nothing = dict.fromkeys("def", (None, None, None))
    assert found(snapshot) == {**ALL, **nothing, "g": (1, None, 1), "h": (2, None, 0), "i": (3, None, 0)}
    assert plain(snapshot.load().counts) == plain(snapshot.counts())
    assert snapshot.load([("minmax", ("k",))]).counts is None
    assert snapshot.counts() is snapshot.counts()


def test_an_index_without_counts(tmp_path: Path) -> None:
    """[MDS-O-5]"""
    commit(DISK, str(tmp_path / "md"), tmp_path / "s", [numbered_table(0, 2)])
    assert plain(opened(tmp_path / "md").counts()) == ([None, None], {})


def test_counts_among_files_of_another_program_are_unknown(tmp_path: Path) -> None:
    """[MDS-O-7]"""
    md = index_of(tmp_path, [sample()])
    assert found(opened(md)) == ALL
    put_foreign(md, [numbered_table(0, 2)])
    assert plain(opened(md).counts()) == ([None] * 5, {})
    put_foreign(tmp_path / "foreign", [sample()])
    assert plain(opened(tmp_path / "foreign").counts()) == ([None] * 3, {})


def test_migrations_keep_counts(tmp_path: Path) -> None:
    """[MDS-O-7] [MDS-M-1]"""
    md = index_of(tmp_path, [sample()])
    for version in (0, 4, 3, 0, 1, 2, 4):
        Migration(DISK, md, version).run()
        assert opened(md).version == version
        assert found(opened(md)) == ALL


def test_compaction_keeps_counts(tmp_path: Path) -> None:
    """[MDS-O-7] [MDS-C-14] The counts follow their rows into another order."""
    table = sample()
    single = [table.take(pa.array([row])) for row in (2, 0, 1)]
    md = index_of(tmp_path, [*single[:2], replace(single[2], counts=None)])
    optimize(DISK, md, WriteOptions())
    snapshot = opened(md)
    assert len(snapshot.metadata_files) == 1
    assert snapshot.load(()).files.names.to_pylist() == NAMES
    assert found(snapshot) == {**ALL, "b": (None, None, None)}


def test_removed_indexes_take_their_columns_with_them(tmp_path: Path) -> None:
    """[MDS-O-5] [MDS-O-7]"""
    md = index_of(tmp_path, [sample()])
    remove_indexes(DISK, md, ["minmax(k)"])
    assert plain(opened(md).counts()) == (ROWS, {"a.b": NULLS["a.b"]})


def encrypted(bounds: str | None, lists: str | None) -> MetadataTable:
    table = sample()
    columns = [keyed(c, label) for c, label in zip(table.indexes.values(), (bounds, lists), strict=True)]
    return replace(table, indexes={c.definition.key: c for c in columns})


@pytest.mark.parametrize("is_plaintext", [True, False], ids=["plaintext footer", "encrypted footer"])
def test_columns_of_encrypted_indexes_are_absent(is_plaintext: bool, tmp_path: Path) -> None:
    """[ENC-C-3]"""
    use_kms(LocalKms(KEYS))
    options = WriteOptions(footer_key="footer", plaintext_footer=is_plaintext)
    encode(encrypted("k1", None), ROOT, tmp_path / "one", options)
    assert plain(decode(open_file(tmp_path / "one")).counts) == (ROWS, {"a.b": NULLS["a.b"]})
    encode(encrypted("k1", "k2"), ROOT, tmp_path / "both", options)
    assert plain(decode(open_file(tmp_path / "both")).counts) == (None if is_plaintext else (ROWS, {}))
    table = encrypted("k1", None)
    two = {**table.indexes, ("valuelist", ("k",)): valuelist("k", "int", [[1], [2], [3]])}
    encode(replace(table, indexes=two), ROOT, tmp_path / "two", options)
    assert plain(decode(open_file(tmp_path / "two")).counts) == (ROWS, NULLS), "an index on k has no key"


def test_rotations_keep_counts(tmp_path: Path) -> None:
    """[MDS-O-7] [ENC-R-3]"""
    use_kms(LocalKms(KEYS))
    md = index_of(tmp_path, [encrypted("k1", None)], WriteOptions(footer_key="footer"))
    rotate_keys(DISK, md, {"k1": "new"})
    assert plain(opened(md).counts()) == (ROWS, {"a.b": NULLS["a.b"]})


def test_tables_join_and_lose_counts() -> None:
    """[MDS-O-7] Positions that are null take nothing, and unknown counts stay unknown."""
    table = sample()
    assert plain(table.take(pa.array([2, 0])).counts) == ([2**40, 3], {"k": [None, 0], "a.b": [2**40, 3]})
    without = replace(table, counts=None)
    assert concat([without, without]).counts is None
    assert plain(concat([without, table]).counts) == (
        [None] * 3 + ROWS,
        {name: [None] * 3 + values for name, values in NULLS.items()},
    )
    other = replace(table, counts=counts_of([1, 2, 3], {"x": [0, 0, 0]}))
    assert plain(concat([table, other]).counts) == (
        [*ROWS, 1, 2, 3],
        {**{name: values + [None] * 3 for name, values in NULLS.items()}, "x": [None] * 3 + [0] * 3},
    )


def test_counts_agree_or_are_unknown() -> None:
    """[MDS-O-6] [MDS-O-7] A file with two numbers of rows is not what either count is about."""
    one = counts_of([1, 2, None, 4], {"a": [0, 1, None, 3], "b": [1, 1, 1, 1]})
    other = counts_of([1, None, 3, 5], {"a": [1, 1, 2, 3], "c": [0, 0, 0, 0]})
    expected = [1, 2, 3, None], {"a": [None, 1, 2, None], "b": [1, 1, 1, None], "c": [0, 0, 0, None]}
    assert plain(one.agreed(other)) == plain(other.agreed(one)) == expected


def test_counts_of_some_files_become_unknown() -> None:
    """[MDS-O-6]"""
    counts, files = counts_of([1, 2], {"a": [0, 1], "b": [1, 2]}), pa.array([False, True])
    assert plain(counts.without(files, {"b", "c"})) == ([1, 2], {"a": [0, 1], "b": [1, None]})
    assert plain(counts.without_files(files)) == ([1, None], {"a": [0, None], "b": [1, None]})
    assert plain(counts.take(pa.array([1, None], pa.int64()))) == ([2, None], {"a": [1, None], "b": [2, None]})
