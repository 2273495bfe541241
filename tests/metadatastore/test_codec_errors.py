"""Files that are not valid metadata raise errors. Rules: specs/metadatastore.rst, [MDS-S-5]."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.metadatastore.samples import bloomfilter, files_of, minmax, numbered_table, rewrite, table_of
from xskip.errors import MetadataCorruptError, XskipError
from xskip.metadata.table import IndexColumn, IndexDefinition, PartitionColumn
from xskip.metadatastore.codec import decode, encode, open_file

KEY = b"org.apache.spark.sql.parquet.row.metadata"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "f.parquet"
    table = table_of(
        files_of(["/a", "/b"]),
        [minmax("k", "int", [1, 2], [3, 4]), bloomfilter("s", [[b"x"], None])],
        [PartitionColumn("p", "int", pa.array([1, 2], pa.int32()))],
    )
    encode(table, "/lake", file)
    return file


def test_truncated_anywhere(path: Path) -> None:
    """[MDS-S-5] A file that is truncated at any length is incomplete."""
    whole = path.read_bytes()
    lengths = [0, 1, 4, 8, 11, 12, len(whole) // 2, len(whole) - 8, len(whole) - 4, len(whole) - 1]
    for length in lengths:
        path.write_bytes(whole[:length])
        with pytest.raises(MetadataCorruptError, match="damaged or incomplete") as caught:
            open_file(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"obj_name,a\n/x#1,2\n" * 50, b"PAR1" * 100, b"\0" * 1000])
def test_other_files(content: bytes, path: Path) -> None:
    """[MDS-S-5] Empty files, text files and files that only begin like Parquet are refused."""
    path.write_bytes(content)
    with pytest.raises(MetadataCorruptError, match="damaged or incomplete"):
        open_file(path)


def test_missing_file(tmp_path: Path) -> None:
    """[MDS-C-9] A missing file raises FileNotFoundError, so that callers retry."""
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "none.parquet")


def test_file_gone_after_its_footer(path: Path) -> None:
    """[MDS-C-11] An open file can be read to its end after a commit has removed it."""
    file = open_file(path)
    path.unlink()
    assert decode(file, [("minmax", ("k",))]).files.names.to_pylist() == ["/a", "/b"]
    assert decode(file).partitions["p"].values.to_pylist() == [1, 2]


def test_parquet_without_the_entry(path: Path) -> None:
    """[MDS-S-1] Parquet without Spark's schema entry is not metadata."""
    rewrite(path, {KEY: None})
    with pytest.raises(MetadataCorruptError, match="not a metadata file"):
        open_file(path)


def test_entry_that_is_no_text(path: Path) -> None:
    """[MDS-S-5] An entry that is not UTF-8 raises an error."""
    rewrite(path, {KEY: b"\xff\xfe{"})
    with pytest.raises(MetadataCorruptError):
        open_file(path)


def test_damaged_pages(path: Path) -> None:
    """[MDS-S-5] Damaged rows below an intact footer raise an error."""
    whole = bytearray(path.read_bytes())
    whole[4:120] = b"\xff" * 116
    path.write_bytes(whole)
    file = open_file(path)
    with pytest.raises(MetadataCorruptError, match="cannot read the rows"):
        decode(file)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("k_minmax_1", pa.array(["x", "y"])),
        ("k_minmax_1", pa.array([{"min": "x", "max": "y"}, None])),
        ("k_minmax_1", pa.array([{"min": 2**40, "max": 1}, None])),
        ("k_minmax_1", pa.array([{"lo": 1, "hi": 2}, None])),
        ("virtual_p", pa.array(["one", "2"])),
        ("virtual_p", pa.array([[1], [2]])),
        ("s_bloomfilter_1", pa.array([1, 2])),
        ("obj_name", pa.array([1, 2])),
        ("obj_name", pa.array(["/a#1", None])),
        ("obj_name", pa.array(["/a#1", "/b"])),
        ("obj_name", pa.array(["/a#1", "/b#x"])),
        ("obj_name", pa.array(["/a#1", "/b#1.5"])),
        ("obj_name", pa.array(["/a#1", "/b#99999999999999999999"])),
        ("obj_name", pa.array(["/a#1", "/b#"])),
    ],
)
def test_columns_of_another_kind(column: str, values: pa.Array, path: Path) -> None:
    """[MDS-S-5] [MDS-O-2] Columns that contradict the schema, and invalid identities, raise an error."""
    rewrite(path, {}, {column: values})
    with pytest.raises(MetadataCorruptError):
        decode(open_file(path))


def test_partition_of_a_type_not_held(path: Path) -> None:
    """[MDS-P-3] Partition values of an unsupported type are unknown, and the other columns are used."""
    text = (
        pq.read_metadata(path).metadata[KEY].replace(b'"virtual_p","type":"integer"', b'"virtual_p","type":"variant"')
    )
    rewrite(path, {KEY: text})
    table = decode(open_file(path))
    assert list(table.partitions) == []
    assert table.indexes["minmax", ("k",)].values.to_pylist() == [{"min": 1, "max": 3}, {"min": 2, "max": 4}]


def test_a_key_label_is_no_decoration(tmp_path: Path) -> None:
    """[MDS-S-6] Nothing is written in plaintext under the label of a key."""
    table = numbered_table(0, 2)
    bounds = table.indexes["minmax", ("k",)]
    labelled = IndexColumn(IndexDefinition("minmax", ("k",), key_label="k1"), bounds.storage, bounds.values)
    with pytest.raises(XskipError, match="encrypt"):
        encode(table_of(table.files, [labelled]), "/lake", tmp_path / "f.parquet")
    assert list(tmp_path.iterdir()) == []
