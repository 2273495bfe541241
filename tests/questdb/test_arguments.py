"""Wrong arguments of the functions for tables of QuestDB: one error names the argument and what is expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip.questdb
from xskip.errors import ArgumentError, DatasetError
from xskip.questdb import Database

EXPECTED = r"the {} is .*expected: a path such as '/lake/events'"


@pytest.mark.parametrize("path", [None, "", " ", 5, ["/db/trades"], b"/db/trades"])
def test_paths(spark: SparkSession, files: Path, path: Any) -> None:
    table = xskip.questdb.open(Database(files).tables()[0].folder)
    calls: list[tuple[str, Callable[[], object]]] = [
        ("path of the table", lambda: xskip.questdb.open(path)),
        ("path of the table", lambda: xskip.questdb.union(path, "/cold", spark=spark)),
        ("folder of the database", lambda: Database(path)),
        ("folder of the cold tier", lambda: xskip.questdb.union(table, path, spark=spark)),
        ("folder of the cold tier", lambda: table.export("30d", path)),
    ]
    for name, call in calls:
        with pytest.raises(ArgumentError, match=EXPECTED.format(name)):
            call()


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"does not exist .where: .*/none\); check the path"):
        Database(tmp_path / "none")
    with pytest.raises(DatasetError, match=r"there is no such folder .*none/trades\); check the path"):
        xskip.questdb.open(tmp_path / "none" / "trades")
