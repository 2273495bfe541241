"""The control files of a table: what is read of them, and errors for damaged ones [QDB-FI], [QDB-SN-8]."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

import xskip.questdb_files
from tests.questdb.copies import copy_table
from tests.questdb.damages import DAMAGES, create, patch
from tests.questdb.server import Server
from tests.questdb.values import check
from xskip.errors import DatasetError, TableDamagedError, TableVersionError
from xskip.questdb.table import open_table
from xskip.questdb_files import Database
from xskip.questdb_files.bitmap_index import BitmapIndex
from xskip.questdb_files.column_versions import ColumnFiles, ColumnVersions
from xskip.questdb_files.files import TableFile
from xskip.questdb_files.metadata_file import read_metadata
from xskip.questdb_files.partition_names import PartitionUnit
from xskip.questdb_files.transaction_file import read_transaction

_MIN = -(1 << 63)


@pytest.fixture(scope="module")
def original(server: Server) -> Path:
    name = create(server)
    check(server, name)
    return server.folder(name)


@pytest.fixture
def copied(original: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder of a table."""
    return copy_table(original, tmp_path / "copied")


def test_the_transaction_and_the_metadata(copied: Path) -> None:
    """[QDB-FI-1], [QDB-FI-2]."""
    transaction = read_transaction(copied / "_txn")
    assert transaction is not None
    assert (transaction.rows, transaction.last_rows, transaction.symbol_counts) == (150, 50, (50,))
    records = [transaction.record(position) for position in range(3)]
    assert [(p.rows, p.parquet_size) for p in records] == [(50, None)] * 3
    assert transaction.rows_of_pieces().tolist() == [50] * 3
    assert transaction.least == 1
    assert transaction.greatest == 2 * 86_400_000_000 + 50
    metadata = read_metadata(copied / "_meta")
    assert [c.name for c in metadata.columns] == ["x", "s", "sy", "v", "b", "a", "ts", "c0", "c1", "c2"]
    assert metadata.wal
    assert metadata.clock.unit is PartitionUnit.DAY
    assert metadata.timestamp == metadata.column("TS")
    assert metadata.column("nope") is None


def test_both_halves_of_the_transaction_file_count(copied: Path) -> None:
    """[QDB-FI-1]: the parity of the version selects one, and its record must have the version."""
    path = copied / "_txn"
    now = read_transaction(path)
    assert now is not None
    patch(path, 0, struct.pack("<q", now.txn - 1))
    former = read_transaction(path)
    assert former is not None
    assert former.txn == now.txn - 1
    patch(path, 0, struct.pack("<q", now.txn + 2))
    with pytest.raises(TableDamagedError, match="contradicts itself"):
        read_transaction(path)


def test_lookups_of_column_versions() -> None:
    """[QDB-FI-4]."""
    records = {
        (100, 1): (7, 20),
        (100, 2): (-1, 5),
        (_MIN, 2): (3, 50),
        (_MIN, 3): (4, 100),
        (_MIN, 4): (5, _MIN),
        (_MIN + 1, 4): (9, 0),
    }
    versions = ColumnVersions(0, records)
    assert versions.files(100, 1, 21) == ColumnFiles(7, 20)
    assert versions.files(100, 1, 20) is None
    assert versions.files(100, 2, 21) == ColumnFiles(3, 5)
    assert versions.files(0, 3, 21) is None
    assert versions.files(99, 3, 21) is None
    assert versions.files(100, 3, 21) == ColumnFiles(4, 0)
    assert versions.files(0, 4, 21) == ColumnFiles(5, 0)
    assert versions.files(0, 9, 21) == ColumnFiles(-1, 0)
    assert [versions.symbol_txn(column) for column in (2, 4, 9)] == [3, 9, -1]


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_damaged_tables_are_errors(copied: Path, damage: str) -> None:
    """[QDB-SN-8]: with the place, and never with other rows."""
    assert open_table(copied).to_arrow().num_rows == 150
    action, kind, message = DAMAGES[damage]
    action(copied)
    for frozen in (False, True):
        with pytest.raises(kind, match=f"(?s){message}"):
            open_table(copied, frozen=frozen).to_arrow()


@pytest.mark.parametrize(("version", "hint"), [(425, "start the QuestDB server once"), (427, "newer release of xskip")])
def test_the_hint_for_a_format_of_another_time(copied: Path, version: int, hint: str) -> None:
    """[QDB-FI-2]: a server migrates tables to newer formats only."""
    patch(copied / "_meta", 12, struct.pack("<i", version))
    with pytest.raises(TableVersionError, match=f"found: {version}; expected: 426.*{hint}"):
        open_table(copied).to_arrow()


def test_mapped_files_are_the_buffers_of_the_result(copied: Path) -> None:
    """[QDB-RD-5]: only where no server writes."""
    mapped = open_table(copied, frozen=True).to_arrow()
    before = open_table(copied).to_arrow()
    assert mapped.equals(before)
    first = open_table(copied).pieces[0].folder / "x.d"
    with first.open("r+b") as file:
        file.write(struct.pack("<q", 4711))
    assert mapped["x"][0].as_py() == 4711
    assert before["x"][0].as_py() == 1


def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    """[QDB-RD-5]: an error, and not the end of the process."""
    path = tmp_path / "x.d"
    path.write_bytes(bytes(1 << 16))
    with TableFile(path, frozen=False) as file:
        assert file.read(0, 1 << 16).size == 1 << 16
        path.write_bytes(bytes(100))
        with pytest.raises(TableDamagedError, match="found: 100 bytes; expected: bytes 0 to 65,536"):
            file.read(0, 1 << 16)


def test_folders_without_a_table_are_errors(tmp_path: Path, copied: Path) -> None:
    """[QDB-DB-2]."""
    with pytest.raises(DatasetError, match=r"no such table.*nope.*expected: copied"):
        open_table(copied.parent / "nope")
    with pytest.raises(DatasetError, match="does not exist"):
        Database(tmp_path / "nope")
    with pytest.raises(DatasetError, match="no such folder"):
        open_table(tmp_path / "nope" / "nope")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(DatasetError, match=r"no table at the path .*/empty; found: a folder without the file _txn"):
        open_table(tmp_path / "empty")
    with pytest.raises(DatasetError, match=r"no table at the path .*/file; found: a file\); name the folder"):
        open_table(tmp_path / "file")


def test_a_damaged_registry_is_an_error(tmp_path: Path) -> None:
    """[QDB-DB-1]: the registry with the highest number counts."""
    (tmp_path / "tables.d.9").write_bytes(struct.pack("<q", 8))
    (tmp_path / "tables.d.10").write_bytes(struct.pack("<qii", 200, 0, 9))
    with pytest.raises(TableDamagedError, match="registry of tables"):
        Database(tmp_path).tables()
    (tmp_path / "tables.d.10").unlink()
    assert Database(tmp_path).tables() == []


def test_a_registry_that_the_server_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-DB-1]: the server removes the former file after the listing of the folder."""
    (tmp_path / "tables.d.9").write_bytes(struct.pack("<q", 8))
    read, asked = Path.read_bytes, []

    def replaced(path: Path) -> bytes:
        asked.append(path.name)
        if path.name == "tables.d.9":
            path.rename(tmp_path / "tables.d.10")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", replaced)
    assert Database(tmp_path).tables() == []
    assert asked == ["tables.d.9", "tables.d.10"]
    (tmp_path / "tables.d.11").symlink_to(tmp_path / "nowhere")
    with pytest.raises(TableDamagedError, match=r"registry of tables is not there .*tables\.d\.11.*try again"):
        Database(tmp_path).tables()


def test_a_registry_without_entries(copied: Path) -> None:
    """[QDB-DB-1]: a new server has allocated its registry and not written to it; tables without a log are not there."""
    (copied.parent / "tables.d.0").write_bytes(bytes(4096))
    assert [(table.folder, table.wal) for table in Database(copied.parent).tables()] == [(copied, False)]
    with pytest.raises(DatasetError, match=r"no such table.*expected: copied"):
        Database(copied.parent).table("nope")


def test_spark_is_not_imported_by_the_package_and_the_package_not_by_xskip() -> None:
    package = Path(xskip.questdb_files.__file__).parent
    imported = {
        name.split(".")[0] if not name.startswith("xskip.questdb_files") else "xskip.questdb_files"
        for path in package.glob("*.py")
        for name in re.findall(r"^(?:from|import) ([\w.]+)", path.read_text(), re.MULTILINE)
        if name not in ("xskip.arrow_filters", "xskip.errors", "xskip.paths", "xskip.token_text")
    }
    assert imported & {"pyspark", "py4j", "xskip"} == set()
    assert "questdb" not in (package.parent / "__init__.py").read_text()


def bitmap_index(folder: Path, *, keys: int = 2, total: int = 5, last: int = 96, second: int = 48) -> BitmapIndex:
    """Write an index of blocks of four rows: the rows 0, 2, 3, 5 and 7 of the symbol 0, in two of three blocks."""
    header = struct.pack("<Bqqii", 0xFA, 1, 144, 4, keys)
    entries = [
        struct.pack("<qqqii", *entry) for entry in ((0, 0, 0, 0, 0), (total, second, last, total & 0x7FFFFFFF, 0))
    ]
    (folder / "s.k").write_bytes(header.ljust(64, b"\0") + b"".join(entries))
    blocks = [(4, 4, 4, 4, 0, 0), (0, 2, 3, 5, 0, 96), (7, 0, 0, 0, second, 0)]
    (folder / "s.v").write_bytes(b"".join(struct.pack("<6q", *block) for block in blocks))
    return BitmapIndex(folder / "s.k", folder / "s.v", 0, 8)


def test_damaged_bitmap_indexes_are_errors(tmp_path: Path) -> None:
    """[QDB-SN-8], [QDB-IX-1]: counts that are wrong, and chains of blocks that have no end."""
    whole = bitmap_index(tmp_path)
    assert [whole.rows_of(key).tolist() for key in (None, 0, 1)] == [[], [0, 2, 3, 5, 7], []]
    assert bitmap_index(tmp_path, keys=0).rows_of(0).tolist() == []
    for damage, found in (
        ({"keys": -1}, "-1 keys"),
        ({"total": -3}, "-3 and .* rows of a key"),
        ({"total": 1 << 31}, "rows of a key"),
        ({"second": 96}, "a block at 96 before the block at 96"),
        ({"second": -48}, "a block at -48 before"),
        ({"second": 64}, "a block at 64 before"),
        ({"total": 9}, "rows that do not ascend"),
        ({"second": 0}, "rows that do not ascend"),
    ):
        with pytest.raises(TableDamagedError, match=found):
            bitmap_index(tmp_path, **damage).rows_of(0)
    with pytest.raises(TableDamagedError, match="ends before"):
        bitmap_index(tmp_path, last=1 << 40).rows_of(0)
