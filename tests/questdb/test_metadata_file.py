"""The file ``_meta``, without a server: its columns, and what makes it damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest

from xskip.errors import TableDamagedError, TableVersionError, UnsupportedTypeError
from xskip.questdb_files.column_types import SYMBOL, TIMESTAMP, Kind, column_type
from xskip.questdb_files.metadata_file import Metadata, read_metadata
from xskip.questdb_files.parquet_values import changed_type

LONG, VARCHAR, DAY = Kind.LONG.value, Kind.VARCHAR.value, 0


def text(name: str, units: int | None = None) -> bytes:
    return struct.pack("<i", len(name) if units is None else units) + name.encode("utf-16-le")


def content(
    records: list[tuple[int, int]], names: list[bytes], timestamp: int, count: int | None = None, version: int = 426
) -> bytes:
    """Return the bytes of a file; each record has a type and the writer index that it replaces, or -1."""
    header = struct.pack("<5i", len(records) if count is None else count, DAY, timestamp, version, 7)
    body = b"".join(struct.pack("<iq2i4xi4x", code, 0, 0, 0, replaced + 1) for code, replaced in records)
    return header.ljust(128, b"\0") + body + b"".join(names)


def read(tmp_path: Path, data: bytes) -> Metadata:
    (tmp_path / "_meta").write_bytes(data)
    return read_metadata(tmp_path / "_meta")


def test_columns_are_in_the_places_of_those_that_they_replace(tmp_path: Path) -> None:
    """[QDB-FI-3]"""
    records = [(-LONG, -1), (TIMESTAMP, -1), (SYMBOL, -1), (-VARCHAR, 0), (SYMBOL, 3)]
    found = read(tmp_path, content(records, [text(name) for name in ("a", "ts", "s", "a", "a")], 1))
    assert [(c.name, c.writer_index, c.former, c.symbols) for c in found.columns] == [
        ("a", 4, (3, 0), 1), ("ts", 1, (), None), ("s", 2, (), 0),
    ]  # fmt: skip
    assert (found.timestamp and found.timestamp.name, found.table_id) == ("ts", 7)
    assert found.type_codes == (LONG, TIMESTAMP, SYMBOL, VARCHAR, SYMBOL)
    assert read(tmp_path, content([(LONG, -1)], [text("a")], -1)).timestamp is None


def test_damaged_files(tmp_path: Path) -> None:
    """[QDB-FI-2]"""
    one, name = [(LONG, -1)], [text("a")]
    cases: list[tuple[bytes, str]] = [
        (content([], [], -1), "0 columns"),
        (content(one, name, -1, count=-5), "-5 columns"),
        (content(one, name, -1, count=1 << 21), "2097152 columns"),
        (content(one, name, -1, count=9), "unpack_from"),
        (content(one, name, 3), "designated timestamp 3"),
        (content(one, name, 0), f"a designated timestamp of type {LONG}"),
        (content(one, [text("")], -1), "a column without a name"),
        (content(one, [text("a", units=-2)], -1), "a name of -2 characters"),
        (content(one, [text("a", units=2)], -1), "a name of 2 characters"),
        (content(one, [], -1), "unpack_from"),
        (b"", "unpack_from"),
    ]
    for data, found in cases:
        with pytest.raises(TableDamagedError) as error:
            read(tmp_path, data)
        assert error.value.what == "the metadata of a table is incomplete"
        assert found in str(error.value.found), (found, error.value.found)
    for version, hint in ((425, "start the QuestDB server once"), (427, "use a newer release")):
        with pytest.raises(TableVersionError, match=hint):
            read(tmp_path, content(one, name, -1, version=version))


@pytest.mark.parametrize("former", [Kind.STRING, Kind.VARCHAR])
def test_texts_that_became_symbols(former: Kind) -> None:
    """[QDB-PQ-6]"""
    symbol, was = column_type(SYMBOL, "s"), column_type(former.value, "s")
    values = changed_type(pa.array(["é", None, "b", "é"]), was, symbol, "data.parquet")
    assert values.type == symbol.arrow
    assert values.to_pylist() == ["é", None, "b", "é"]
    back = changed_type(values, symbol, was, "data.parquet")
    assert (back.type, back.to_pylist()) == (was.arrow, ["é", None, "b", "é"])
    with pytest.raises(UnsupportedTypeError):
        changed_type(values, symbol, column_type(LONG, "s"), "data.parquet")
