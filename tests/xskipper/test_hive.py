"""Xskipper's API works on a Hive metastore, embedded in Derby, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("hive")
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.xskipper.hive", str(home)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found | {"home": str(home)}


def built(count: int) -> dict[str, object]:
    return {"status": "SUCCESS", "new_entries_added": count, "old_entries_removed": 0}


def test_the_quick_start_has_the_documented_results(seen: dict[str, Any]) -> None:
    assert seen["catalog"] == "hive"
    path, table = seen["path"], seen["table"]
    assert (path["built"], table["built"]) == (built(2), built(3))
    assert (path["stats"]["skipped_Objs"], path["stats"]["total_Objs"]) == (1, 2)
    assert (table["aggregated"]["skipped_Objs"], table["aggregated"]["total_Objs"]) == (1, 3)
    where = f"{seen['home']}/md/{sha256(b'default.tbl').hexdigest()}"
    assert ["Metadata location", where, ""] in table["described"]
    assert (path["indexed"], table["indexed"]) == (False, False)


@pytest.mark.parametrize("part", ["table_name", "database_name", "native", "again"])
def test_queries_on_tables(seen: dict[str, Any], part: str) -> None:
    """[MDS-L-4] An index is found by the table's property, its database's property and in the data."""
    assert seen[part]["opened"] == {"v > 4": 2, "v > 4 AND p < 3": 1, "v = 7": 0}
    assert seen[part]["rows"] == 2


def test_the_metadata_is_in_the_configured_location(seen: dict[str, Any]) -> None:
    assert (seen["table_name"]["built"], seen["table_name"]["files"]) == (built(3), 1)
    assert (seen["database_name"]["before"], seen["database_name"]["built"]) == (False, built(3))
    assert "shop.events" in seen["database_name"]["listed"]
    assert seen["native"]["added"] == 3


def test_tables_that_spark_reads_by_their_serde(seen: dict[str, Any]) -> None:
    """[PRU-KN-1] Queries of the table stay as they are, and operations say which setting is in the way."""
    assert seen["by_serde"] == {
        "rows": 2,
        "report": "no scan reads files",
        "refused": "Spark reads the table by its Hive SerDe, and xskip indexes only files that Spark itself reads; "
        "set spark.sql.hive.convertMetastoreParquet and spark.sql.hive.convertMetastoreOrc to true",
    }
