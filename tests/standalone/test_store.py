"""The stores of datasets that are opened without Spark: their lists of files, their metadata and headers of Avro."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest
from pyarrow.fs import LocalFileSystem

from xskip.errors import DatasetError, StorageError
from xskip.metadata.data_files import is_hidden
from xskip.standalone import store as stores
from xskip.standalone.avro_header import header_schema
from xskip.standalone.store import Store, list_data

SCHEMA = {
    "type": "record", "name": "row", "fields": [
        {"name": "id", "type": ["null", "int"]}, {"name": "both", "type": ["int", "string"]},
        {"name": "st", "type": ["null", {"type": "record", "name": "inner", "fields": [{"name": "a", "type": "int"}]}]},
    ],
}  # fmt: skip
COLUMNS = pa.schema([("id", pa.null()), ("both", pa.null()), ("st", pa.struct([("a", pa.null())]))])


@pytest.fixture(params=[None, LocalFileSystem()], ids=["local", "pyarrow"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Store:
    return Store.of(tmp_path, request.param)


def name_of(store: Store, data: bytes) -> str:
    file = Path(store.path) / "f.avro"
    file.write_bytes(data)
    return str(file)


def header_of(schema: object) -> bytes:
    """Return a header whose metadata are a block with a size, as some writers make it."""
    text = json.dumps(schema).encode()
    entry = b"\x16avro.schema" + _long(len(text)) + text
    return b"Obj\x01" + _long(-1) + _long(len(entry)) + entry + b"\0" + b"s" * 16


def _long(number: int) -> bytes:
    rest, out = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def test_headers_of_avro_files_have_the_columns(store: Store) -> None:
    """[STA-CO-1]"""
    name = name_of(store, header_of(SCHEMA))
    assert header_schema(store, name) == COLUMNS
    with open(name, "wb") as file:
        fastavro.writer(file, SCHEMA, [{"id": 1, "both": "x", "st": {"a": 1}}])
    assert header_schema(store, name) == COLUMNS


def test_headers_of_other_files_are_errors(store: Store) -> None:
    cases: list[tuple[bytes, str]] = [
        (b"PAR1", "the file is no Avro file"), (b"", "the file is no Avro file"),
        (header_of("int"), "the rows of the Avro file are no records"),
    ]  # fmt: skip
    for data, what in cases:
        with pytest.raises(DatasetError) as error:
            header_schema(store, name_of(store, data))
        assert error.value.what == what
    for data in (header_of(SCHEMA)[:40], b"Obj\x01\0", header_of({"type": "record"}), header_of(SCHEMA)[:5]):
        with pytest.raises((ValueError, LookupError, TypeError)):
            header_schema(store, name_of(store, data))


def test_directories_that_cannot_be_listed_are_errors(tmp_path: Path) -> None:
    """[STA-OP-1]"""
    long, missing = str(tmp_path / ("x" * 300)), str(tmp_path / "missing")
    expected: list[tuple[str, LocalFileSystem | None, type[Exception], str]] = [
        (long, None, StorageError, "cannot list the dataset"),
        (missing, None, DatasetError, "the dataset is no directory"),
        (long, LocalFileSystem(), DatasetError, "the dataset cannot be listed"),
        (missing, LocalFileSystem(), DatasetError, "the dataset cannot be listed"),
    ]
    for path, filesystem, kind, what in expected:
        with pytest.raises(kind) as error:
            list_data(Store.of(path, filesystem))
        assert str(error.value).startswith(f"{what} (where: {path}"), str(error.value)


def test_a_file_that_is_deleted_after_the_listing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)

    def deleting(name: str, *, directory: bool = False) -> bool:
        (tmp_path / "b").unlink(missing_ok=True)
        return is_hidden(name, directory=directory)

    monkeypatch.setattr(stores, "is_hidden", deleting)
    assert [Path(name).name for name in list_data(Store.of(tmp_path, None)).names.to_pylist()] == ["a", "c"]


def test_file_systems_of_pyarrow_are_only_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("data")
    storage, path = Store.of(tmp_path, LocalFileSystem()).storage, str(tmp_path / "f")
    changes: list[Callable[[], object]] = [
        lambda: storage.add(tmp_path / "f", path), lambda: storage.put_if_absent(path, b""),
        lambda: storage.remove([path]), lambda: storage.remove_tree(path),
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(StorageError) as error:
            change()
        assert str(error.value) == f"xskip changes an index only in Spark (where: {path})"
    assert storage.read(path) == b"data"
