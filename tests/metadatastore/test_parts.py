"""The parts of data files in metadata files. Rules: [MDS-PT]."""

from __future__ import annotations

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
    VALUES,
    array_of,
    bloomfilter,
    files_of,
    filter_of,
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
from xskip.metadata.file_parts import RANGE, FileParts
from xskip.metadata.table import IndexKey, MetadataTable, concat
from xskip.metadatastore.codec import decode, encode, open_file, parts_of
from xskip.metadatastore.encryption import use_kms
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.kms import LocalKms
from xskip.metadatastore.maintenance.compact import optimize
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.maintenance.remove import remove_indexes
from xskip.metadatastore.maintenance.rotate_keys import rotate_keys
from xskip.metadatastore.versions import WriteOptions

pytestmark = pytest.mark.usefixtures("no_client")
DISK = LocalStorage()
NAMES = [f"{ROOT}/{n}" for n in "abc"]
#: The first file has two parts, the second none, the third one.
RANGES: list[Any] = [[(0, 40, 5), (40, 60, 7)], None, [(10, 90, 9)]]
K, S, B = ("minmax", ("k",)), ("valuelist", ("s",)), ("bloomfilter", ("b",))


def lists(counts: Sequence[int | None], flat: pa.Array) -> pa.Array:
    """Return lists of some lengths, null for None."""
    offsets = [0]
    for count in counts:
        offsets.append(offsets[-1] + (count or 0))
    mask = pa.array([count is None for count in counts])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat, mask=mask)


def sample(names: Sequence[str] = NAMES) -> MetadataTable:
    """Return the metadata of three files with three indexes, two of which have values for parts."""
    indexes = [
        minmax("k", "int", [1, 2, 3], [4, 5, 6]),
        valuelist("s", "string", [["x"], [], None]),
        bloomfilter("b", [[b"1"], [b"2"], [b"3"]]),
    ]
    bounds = minmax("k", "int", [1, 3, 3], [2, 4, 6]).values
    texts = valuelist("s", "string", [["x"], None, []]).values
    values: dict[IndexKey, pa.Array] = {K: lists([2, None, 1], bounds), S: lists([2, None, 1], texts)}
    return replace(table_of(files_of(names), indexes), parts=FileParts(ranges_of(RANGES), values))


def ranges_of(ranges: Sequence[Any]) -> pa.Array:
    return pa.array(ranges, pa.list_(RANGE))


def plain(parts: FileParts | None) -> tuple[list[Any], dict[Any, list[Any]]] | None:
    if parts is None:
        return None
    ranges = [None if r is None else [tuple(each.values()) for each in r] for r in parts.ranges.to_pylist()]
    return ranges, {key: values.to_pylist() for key, values in parts.values.items()}


EXPECTED = plain(sample().parts)


# --- the form -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
def test_parts_are_read_as_they_were_written(version: int, tmp_path: Path) -> None:
    """[MDS-PT-1] [MDS-PT-4] Version 0 has none."""
    encode(sample(), ROOT, tmp_path / "f", WriteOptions(version))
    file = open_file(tmp_path / "f")
    assert plain(decode(file).parts) == (EXPECTED if version else None)
    assert decode(file, [K]).parts is None, "a query decodes parts by themselves"
    found = parts_of(file, [S])
    assert (found and set(found.values)) == ({S} if version else None)


def test_the_columns_of_parts(tmp_path: Path) -> None:
    """[MDS-PT-1] The schema that other programs read does not have them."""
    encode(sample(), ROOT, tmp_path / "f")
    file = pq.ParquetFile(tmp_path / "f")
    names = ["obj_name", "xskip_ranges", "k_minmax_1", "s_valuelist_1", "b_bloomfilter_1"]
    assert file.schema_arrow.names == [*names, "xskip_parts_k_minmax_1", "xskip_parts_s_valuelist_1"]
    assert b"xskip_" not in file.metadata.metadata[b"org.apache.spark.sql.parquet.row.metadata"]


def test_without_parts_there_are_no_columns(tmp_path: Path) -> None:
    """[MDS-PT-1]"""
    for parts in (None, FileParts.none(3), FileParts(ranges_of([[], None, []]), {})):
        encode(replace(sample(), parts=parts), ROOT, tmp_path / "f")
        assert "xskip_ranges" not in pq.read_schema(tmp_path / "f").names
        assert decode(open_file(tmp_path / "f")).parts is None


@pytest.mark.parametrize("kind", [k for k in VALUES if not k.startswith("interval")])
@pytest.mark.parametrize("version", [1, 4])
def test_values_of_every_type(kind: str, version: int, tmp_path: Path) -> None:
    """[MDS-PT-1] The values have the form of those of files."""
    low, high, _ = VALUES[kind]
    columns = [minmax("k", kind, [low], [high]), valuelist("s", kind, [[low, high]])]
    flat = minmax("k", kind, [low, high, None], [low, high, None]).values
    texts = valuelist("s", kind, [[low], None, []]).values
    parts = FileParts(ranges_of([[(0, 1, 1), (1, 1, 1), (2, 1, 1)]]), {K: lists([3], flat), S: lists([3], texts)})
    table = replace(table_of(files_of([f"{ROOT}/a"]), columns), parts=parts)
    encode(table, ROOT, tmp_path / "f", WriteOptions(version))
    read = decode(open_file(tmp_path / "f")).parts
    assert read is not None
    assert read.values[K].flatten().equals(flat)
    zeros = kind in ("float", "double") and low == 0
    assert zeros or read.values[S].flatten().equals(texts)
    assert array_of(kind, [low]).type == flat.type[0].type


def test_bloom_filters_of_parts(tmp_path: Path) -> None:
    """[MDS-PT-1]"""
    flat = pa.array([filter_of([1]), None, filter_of([2])], pa.binary())
    parts = FileParts(ranges_of(RANGES), {B: lists([2, None, 1], flat)})
    encode(replace(sample(), parts=parts), ROOT, tmp_path / "f")
    read = decode(open_file(tmp_path / "f")).parts
    assert read is not None
    assert read.values[B].flatten().to_pylist() == flat.to_pylist()


# --- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        [(0, 40, 5), (39, 2, 1)], [(0, 40, 5), (40, 61, 7)], [(-1, 40, 5)], [(0, 0, 5)], [(0, -3, 5)], [(0, 1, -1)],
        [(5, 2**63 - 1, 1)], [(40, 60, 7), (0, 40, 5)],
    ],
    ids=str,
)  # fmt: skip
def test_ranges_that_cannot_be_true_are_none(wrong: list[tuple[int, int, int]], tmp_path: Path) -> None:
    """[MDS-PT-3]"""
    encode(sample(), ROOT, tmp_path / "f")
    rewrite(tmp_path / "f", {}, {"xskip_ranges": ranges_of([wrong, None, RANGES[2]])})
    read = decode(open_file(tmp_path / "f")).parts
    assert read is not None
    assert plain(read.of_indexes([])) == ([None, None, RANGES[2]], {})
    assert [values.is_valid().to_pylist() for values in read.values.values()] == [[False, False, True]] * 2


def test_values_that_do_not_fit_are_unknown(tmp_path: Path) -> None:
    """[MDS-PT-3]"""
    encode(sample(), ROOT, tmp_path / "f")
    rewrite(tmp_path / "f", {}, {"xskip_ranges": ranges_of([RANGES[0][:1], None, RANGES[2]])})
    read = decode(open_file(tmp_path / "f")).parts
    assert read is not None
    assert [values.is_valid().to_pylist() for values in read.values.values()] == [[False, False, True]] * 2


# --- operations ---------------------------------------------------------------------------------------------------


def test_a_snapshot_has_the_parts_of_all_files(tmp_path: Path) -> None:
    """[MDS-PT-2] Metadata files without parts, as earlier releases wrote them, have none."""
    old = replace(sample([f"{ROOT}/d", f"{ROOT}/e", f"{ROOT}/f"]), parts=None)
    snapshot = opened(index_of(tmp_path, [sample(), old]))
    ranges, values = EXPECTED or ([], {})
    nothing = [None] * 3
    expected = (ranges + nothing, {key: found + nothing for key, found in values.items()})
    assert plain(snapshot.parts()) == plain(snapshot.load().parts) == expected
    assert plain(snapshot.parts([K])) == (expected[0], {K: expected[1][K]})
    assert plain(opened(tmp_path / "md").parts([])) == (expected[0], {})
    assert snapshot.load([K]).parts is None


def test_an_index_without_parts(tmp_path: Path) -> None:
    """[MDS-PT-2]"""
    snapshot = opened(index_of(tmp_path, [numbered_table(0, 2)]))
    assert snapshot.parts() is None
    assert snapshot.load().parts is None


def test_parts_among_files_of_another_program_are_unknown(tmp_path: Path) -> None:
    """[MDS-PT-2]"""
    md = index_of(tmp_path, [sample()])
    put_foreign(md, [numbered_table(0, 2)])
    assert opened(md).parts() is None


def test_migrations_keep_parts(tmp_path: Path) -> None:
    """[MDS-PT-4] Version 0 loses them."""
    md = index_of(tmp_path, [sample()])
    for version in (1, 2, 3, 4, 1):
        Migration(DISK, md, version).run()
        assert plain(opened(md).parts()) == EXPECTED
    Migration(DISK, md, 0).run()
    assert opened(md).parts() is None


def test_compaction_keeps_parts(tmp_path: Path) -> None:
    """[MDS-PT-4] Parts follow their files into another order."""
    table = sample()
    md = index_of(tmp_path, [table.take(pa.array([row])) for row in (2, 0, 1)])
    optimize(DISK, md, WriteOptions())
    snapshot = opened(md)
    assert len(snapshot.metadata_files) == 1
    assert snapshot.load(()).files.names.to_pylist() == NAMES
    assert plain(snapshot.parts()) == EXPECTED


def test_removed_indexes_take_their_values_with_them(tmp_path: Path) -> None:
    """[MDS-PT-4]"""
    md = index_of(tmp_path, [sample()])
    remove_indexes(DISK, md, ["minmax(k)"])
    ranges, values = EXPECTED or ([], {})
    assert plain(opened(md).parts()) == (ranges, {S: values[S]})


def encrypted(labels: Mapping[Any, str]) -> MetadataTable:
    table = sample()
    return replace(table, indexes={key: keyed(c, labels.get(key)) for key, c in table.indexes.items()})


@pytest.mark.parametrize("is_plaintext", [True, False], ids=["plaintext footer", "encrypted footer"])
def test_values_of_parts_have_the_key_of_their_index(is_plaintext: bool, tmp_path: Path) -> None:
    """[ENC-L-5] Ranges have the key of the footer, as names have."""
    use_kms(LocalKms(KEYS))
    table = encrypted({K: "k1", S: "k2"})
    encode(table, ROOT, tmp_path / "f", WriteOptions(footer_key="footer", plaintext_footer=is_plaintext))
    file = open_file(tmp_path / "f")
    assert plain(decode(file).parts) == EXPECTED
    assert file.schema.encryption is not None
    paths = dict(part.split(":") for part in file.schema.encryption.column_keys.split(";"))
    assert "xskip_parts_k_minmax_1.list.element.min" in paths["k1"].split(",")
    assert "xskip_ranges.list.element.start" in paths["footer"].split(",")
    use_kms(LocalKms({label: KEYS[label] for label in ("k1", "footer")}))
    read = parts_of(open_file(tmp_path / "f"))
    ranges, values = EXPECTED or ([], {})
    assert plain(read) == (ranges, {K: values[K]})
    use_kms(LocalKms(KEYS))
    md = index_of(tmp_path, [table], WriteOptions(footer_key="footer", plaintext_footer=is_plaintext))
    rotate_keys(DISK, md, {"k1": "new"})
    assert plain(opened(md).parts()) == EXPECTED


def test_tables_join_and_lose_parts() -> None:
    """[MDS-PT-4]"""
    table = sample()
    ranges, values = EXPECTED or ([], {})
    taken = plain(table.take(pa.array([2, 0])).parts)
    assert taken == ([ranges[2], ranges[0]], {key: [v[2], v[0]] for key, v in values.items()})
    without = replace(table, parts=None)
    assert concat([without, without]).parts is None
    joined = concat([without, table])
    assert plain(joined.parts) == ([None] * 3 + ranges, {key: [None] * 3 + v for key, v in values.items()})
    other = minmax("k", "bigint", [1, 2, 3], [4, 5, 6])
    differing = concat([table, replace(without, indexes={**table.indexes, K: other})])
    assert differing.parts is not None
    assert set(differing.parts.values) == {S}


def test_parts_merge_where_files_are_divided_alike() -> None:
    """[MDS-PT-4]"""
    one = FileParts(ranges_of([[(0, 4, 1), (4, 4, 1)], [(0, 8, 1)], None]), {K: pa.array([[1, 2], [3], None])})
    ranges = ranges_of([[(0, 4, 1), (4, 4, 1)], [(0, 7, 1)], [(2, 3, 1)]])
    other = FileParts(ranges, {S: pa.array([["a", "b"], ["c"], ["d"]])})
    merged = plain(one.merged(other))
    assert merged == (
        [[(0, 4, 1), (4, 4, 1)], [(0, 8, 1)], [(2, 3, 1)]],
        {K: [[1, 2], [3], None], S: [["a", "b"], None, ["d"]]},
    )
