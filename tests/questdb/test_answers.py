"""Answers to the JVM about tables, without Spark [QDB-SP]."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.questdb.copies import copy_table
from tests.questdb.server import Server
from tests.questdb.tables import create_numbers
from xskip.questdb_files.snapshot import Snapshot, TablePlace, read_snapshot
from xskip.spark.questdb.tables import TableAnswers


class _Hook:
    def ship_extension(self, _: object, name: str) -> None:
        """Do nothing: no JVM reads the answers."""


def answer_of(folder: Path, *, frozen: bool = False) -> bytes | None:
    hook: Any = _Hook()
    request = {"path": str(folder), "frozen": frozen, "cold": "", "fingerprint": "", "record": -1}
    return TableAnswers(hook, lambda: hook).answer(json.dumps(request))


def test_a_column_of_an_unknown_type(server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[QDB-SP-2]: a table is described for each new transaction, and the warning comes once."""
    folder = copy_table(server.folder(create_numbers(server, "unknown")), tmp_path / "unknown")
    metadata = bytearray((folder / "_meta").read_bytes())
    metadata[128:132] = (120).to_bytes(4, "little")
    (folder / "_meta").write_bytes(metadata)
    for _ in range(3):
        answer = answer_of(folder)
        assert answer is not None
        assert answer.startswith(b"T")
        assert b'"name": "x"' not in answer
    (warning,) = caplog.messages
    assert f"leaves out a column of {folder}" in warning
    assert "type code 120" in warning


@pytest.mark.parametrize("frozen", [True, False])
def test_a_missing_file(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: bool) -> None:
    """[QDB-SN-8]: the answer is an error, after further looks only where a server writes."""
    folder = copy_table(server.folder(create_numbers(server, "missing")), tmp_path / "missing")
    shutil.rmtree(folder / "1970-01-03")
    read: list[Snapshot] = []

    def counted(place: TablePlace) -> Snapshot:
        read.append(read_snapshot(place))
        return read[-1]

    monkeypatch.setattr("xskip.spark.questdb.tables.read_snapshot", counted)
    answer = answer_of(folder, frozen=frozen)
    assert answer is not None
    assert answer.startswith(b"Ea file that the transaction of a table names does not exist")
    assert (len(read) == 1) == frozen
