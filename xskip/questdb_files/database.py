"""A database: the folders of tables by name. Rules: [QDB-DB]."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xskip.errors import DatasetError, TableDamagedError
from xskip.paths import check_path
from xskip.questdb_files.metadata_file import prefixed_text
from xskip.questdb_files.retry import Retry
from xskip.questdb_files.snapshot import TablePlace

__all__ = ["Database", "TableEntry", "place_of"]

_CHECKPOINT = ".checkpoint"
_ADD, _REMOVE = 0, -1
_ADD_RESERVED_BYTES = 64
#: The kind of views, which have a query and no rows; materialized views have rows as tables do.
_VIEW = 3
_END = struct.Struct("<q")
_KIND = struct.Struct("<4xi")  # after the identifier of the table
_SYSTEM_PREFIXES = ("sys.", "_", ".")
_SYSTEM_NAMES = ("telemetry", "telemetry_config", "telemetry_wal")


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table of a database.

    Attributes
    ----------
    name : str
        The name that the server shows.
    folder : Path
    wal : bool
        Whether the table has a write-ahead log.
    """

    name: str
    folder: Path
    wal: bool


class Database:
    """The tables below a folder.

    Parameters
    ----------
    root : str or Path
        The folder ``db`` of a server or a checkpoint, or the folder that contains it.

    Raises
    ------
    ArgumentError
        If the folder is no path.
    DatasetError
        If the folder does not exist.

    Examples
    --------
    >>> import xskip.questdb
    >>> xskip.questdb.Database("/root/.questdb").table("trades").folder  # doctest: +SKIP
    """

    def __init__(self, root: str | Path) -> None:
        root = Path(check_path(root, "folder of the database"))
        below = root / "db"
        self.folder = below if below.is_dir() and not (root / "_txn").exists() else root
        if not self.folder.is_dir():
            raise DatasetError("the folder of a database does not exist", where=str(root), hint="check the path")

    def tables(self, *, system: bool = False) -> list[TableEntry]:
        """Return the tables, sorted by name.

        Parameters
        ----------
        system : bool, default False
            Whether to return the tables of the server itself too.

        Returns
        -------
        list of TableEntry
            Tables whose files exist, and materialized views. Other views have no rows.

        Raises
        ------
        TableDamagedError
            If the registry of tables is incomplete.
        """
        shown = [table for table in self._entries() if system or not _is_system(table.name)]
        return sorted(shown, key=lambda table: table.name)

    def table(self, name: str) -> TableEntry:
        """Return a table by the name that the server shows, which is compared without regard to case.

        Parameters
        ----------
        name : str
            The name of a table.

        Returns
        -------
        TableEntry
            The table.

        Raises
        ------
        DatasetError
            If there is no such table.
        """
        tables = self.tables(system=True)
        for table in tables:
            if table.name.lower() == name.lower():
                return table
        if name.lower() in (view.lower() for view, kind in self._registry()[0].values() if kind == _VIEW):
            raise DatasetError(
                "a view has no rows on disk", where=str(self.folder), found=name,
                hint="read the tables that it selects from, or a materialized view",
            )  # fmt: skip
        shown = ", ".join(t.name for t in tables if not _is_system(t.name))
        raise DatasetError(
            "there is no such table", where=str(self.folder), found=name, expected=shown or None,
            hint=None if shown else "name a folder with a file _txn, or a table in the folder of a database",
        )  # fmt: skip

    def place(self, table: TableEntry) -> TablePlace:
        """Return the folders of a table.

        Parameters
        ----------
        table : TableEntry
            A table of the database.

        Returns
        -------
        TablePlace
            For a table of a checkpoint, the data are in the database beside the checkpoint.
        """
        return _place(table.folder)

    def _entries(self) -> Iterator[TableEntry]:
        # The registry has the tables with a write-ahead log. Their folders keep the first names of renamed tables.
        # Every other folder with a file _txn is a table without such a log [QDB-DB-1].
        registered, removed = self._registry()
        for folder, (name, kind) in registered.items():
            if kind != _VIEW and (self.folder / folder / "_txn").exists():
                yield TableEntry(name, self.folder / folder, wal=True)
        for control in sorted(self.folder.glob("*/_txn")):
            folder = control.parent.name
            if folder not in registered and folder not in removed:
                yield TableEntry(_name_of(control.parent), control.parent, wal=False)

    def _registry(self) -> tuple[dict[str, tuple[str, int]], set[str]]:
        """Return the names and kinds of tables by folder, and the folders of removed tables."""
        retry = Retry()
        while True:
            files = [p for p in self.folder.glob("tables.d.*") if p.suffix[1:].isdigit()]
            if not files:
                return {}, set()
            path = max(files, key=lambda p: int(p.suffix[1:]))
            try:
                return _parsed(path.read_bytes())
            except FileNotFoundError as error:  # the server has replaced the file by one with a greater number
                if not retry.wait(int(path.suffix[1:])):
                    raise TableDamagedError(
                        "the registry of tables is not there", where=str(path), hint="try again"
                    ) from error  # fmt: skip
            except (struct.error, ValueError) as error:
                raise TableDamagedError(
                    "the registry of tables is incomplete", where=str(path), found=str(error)
                ) from error  # fmt: skip


def place_of(path: str | Path) -> TablePlace:
    """Return the folders of a table, from its own folder, or the folder of a database followed by the table's name."""
    path = Path(check_path(path, "path of the table"))
    if (path / "_txn").exists():
        return _place(path)
    if not path.parent.is_dir():
        raise DatasetError("there is no such folder", where=str(path), hint="check the path")
    database = Database(path.parent)
    if path.exists() and not any(path.name.lower() == table.name.lower() for table in database.tables(system=True)):
        raise DatasetError(
            "there is no table at the path", where=str(path),
            found="a file" if path.is_file() else "a folder without the file _txn",
            hint="name the folder of a table, or a table in the folder of a database",
        )  # fmt: skip
    return database.place(database.table(path.name))


def _place(folder: Path) -> TablePlace:
    """Return the folders of a table; those of a checkpoint are ``<root>/.checkpoint/db/<table>``."""
    folder = folder.absolute()
    database = folder.parent
    if database.parent.name == _CHECKPOINT:
        return TablePlace(database.parent.parent / database.name / folder.name, folder)
    return TablePlace(folder, folder)


def _parsed(data: bytes) -> tuple[dict[str, tuple[str, int]], set[str]]:
    (end,) = _END.unpack_from(data)
    if not any(data):  # a new server has allocated the registry, and has no table with a log
        return {}, set()
    if not _END.size <= end <= len(data):
        raise ValueError(f"{len(data)} bytes of {end}")
    names: dict[str, tuple[str, int]] = {}
    removed: set[str] = set()
    place = _END.size
    while place < end:
        (operation,) = struct.unpack_from("<i", data, place)
        name, place = prefixed_text(data, place + 4)
        folder, place = prefixed_text(data, place)
        (kind,) = _KIND.unpack_from(data, place)
        place += _KIND.size
        if operation == _ADD:
            names[folder] = name, kind
            removed.discard(folder)
            place += _ADD_RESERVED_BYTES
        elif operation == _REMOVE:
            names.pop(folder, None)
            removed.add(folder)
        else:
            raise ValueError(f"operation {operation}")
    return names, removed


def _name_of(folder: Path) -> str:
    """Return the name in the file ``_name`` of a table, or the name of its folder up to the first ``~``."""
    try:
        return prefixed_text((folder / "_name").read_bytes(), 0)[0]
    except (FileNotFoundError, struct.error, ValueError):
        return folder.name.split("~")[0]


def _is_system(name: str) -> bool:
    return name.startswith(_SYSTEM_PREFIXES) or name in _SYSTEM_NAMES
