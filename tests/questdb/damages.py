"""A table whose files are damaged, one way at a time."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from tests.questdb.server import Server
from xskip.errors import TableChangedError, TableDamagedError, TableVersionError, XskipError

__all__ = ["DAMAGES", "create", "patch"]


def create(server: Server) -> str:
    """Create a table with three days of 50 rows, and a column that was added after each day, and return its name."""
    name = server.name("copied")
    server.exec(
        f"create table {name} (x long, s string, sy symbol, v varchar, b binary, a double[], ts timestamp)"
        " timestamp(ts) partition by day wal"
    )
    values = "x, 's' || x, 'symbol ' || x, 'a long varchar ' || x, rnd_bin(5, 9, 0), rnd_double_array(1)"
    for day in range(3):
        moment = f"({day} * 86400000000L + x)::timestamp"
        server.run(
            name,
            f"insert into {name} (x, s, sy, v, b, a, ts) select {values}, {moment} from long_sequence(50)",
            f"alter table {name} add column c{day} int",
        )
    return name


def second_day(folder: Path) -> Path:
    (found,) = folder.glob("1970-01-02*")
    return found


def patch(path: Path, place: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[place : place + len(data)] = data
    path.write_bytes(content)


def shorten(name: str, size: int) -> Callable[[Path], None]:
    def action(folder: Path) -> None:
        (path,) = folder.glob(name)
        path.write_bytes(path.read_bytes()[:size])

    return action


def overwrite(name: str, place: int, data: bytes) -> Callable[[Path], None]:
    def action(folder: Path) -> None:
        (path,) = folder.glob(name)
        patch(path, place, data)

    return action


#: What damages the folder of a table, and the error of a read.
DAMAGES: dict[str, tuple[Callable[[Path], None], type[XskipError], str]] = {
    "no _txn record": (shorten("_txn", 70), TableDamagedError, "transaction file.*contradicts itself"),
    "empty _txn": (shorten("_txn", 0), TableDamagedError, "transaction file"),
    "short _meta": (shorten("_meta", 200), TableDamagedError, "metadata of a table is incomplete"),
    "short _cv": (shorten("_cv", 20), TableDamagedError, "versions of columns"),
    "no _cv": (lambda folder: (folder / "_cv").unlink(), TableDamagedError, "does not exist.*_cv"),
    "another version": (
        overwrite("_meta", 12, struct.pack("<i", 427)), TableVersionError, "found: 427; expected: 426",
    ),
    "metadata of another transaction": (
        overwrite("_meta", 32, struct.pack("<q", 77)), TableChangedError, "not of one transaction.*CHECKPOINT",
    ),
    "column versions of another transaction": (
        overwrite("_cv", 0, struct.pack("<q", 78)), TableChangedError, "not of one transaction.*CHECKPOINT",
    ),
    "an unknown type": (overwrite("_meta", 128, struct.pack("<i", 120)), XskipError, "type code 120"),
    "a short column": (shorten("1970-01-02*/x.d", 8 * 49), TableDamagedError, "x.d; found: 392 bytes"),
    "a short index": (shorten("1970-01-02*/v.i", 16 * 49), TableDamagedError, "ends before the rows"),
    "a short text column": (shorten("1970-01-02*/s.d", 100), TableDamagedError, "ends before the rows"),
    "no column": (lambda folder: (second_day(folder) / "x.d").unlink(), TableDamagedError, "x.d.*of transaction"),
    "no partition": (lambda folder: shutil.rmtree(second_day(folder)), TableDamagedError, "of transaction"),
    "text of other lengths": (overwrite("1970-01-02*/s.d", 0, b"\7"), TableDamagedError, "lengths of strings"),
    "offsets that do not ascend": (
        overwrite("1970-01-02*/s.i", 8, struct.pack("<q", 1 << 20)), TableDamagedError, "contradict each other",
    ),
    "varchars that overlap": (
        overwrite("1970-01-02*/v.i", 10, b"\3"), TableDamagedError, "contradict each other",
    ),
    "text that is not UTF-8": (overwrite("1970-01-02*/v.d", 3, b"\xff"), TableDamagedError, "UTF8"),
    "binaries of other lengths": (overwrite("1970-01-02*/b.d", 0, b"\x55"), TableDamagedError, "lengths of binaries"),
    "arrays of other shapes": (overwrite("1970-01-02*/a.d", 0, b"\x7f"), TableDamagedError, "shapes of arrays"),
    "a key without a symbol": (
        overwrite("1970-01-02*/sy.d", 0, struct.pack("<i", 50)), TableDamagedError, "found: key 50; expected: less",
    ),
    "symbols of zeros": (overwrite("sy.o", 64 + 8 * 50, bytes(8)), TableDamagedError, "SYMBOL column contradict"),
    "symbols of other lengths": (overwrite("sy.c", 0, b"\x55"), TableDamagedError, "SYMBOL column contradict"),
    "short symbols": (shorten("sy.c", 40), TableDamagedError, "sy.c"),
}  # fmt: skip
