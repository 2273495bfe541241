"""Delta and Iceberg tables beside an index of their data files behave as without xskip [PRU-KN]."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.e2e.table_formats import FILTERS

ROOT = Path(__file__).parents[2]
#: How many rows each step leaves, whatever skips.
ROWS = {
    "delta": {
        "converted": 30,
        "deletion vectors": 28,
        "update": 28,
        "merge": 29,
        "time travel": 30,
        "optimize": 29,
        "z-order": 28,
        "restore": 29,
        "vacuum": 29,
        "column mapping": 29,
        "stream": 29,
    },
    "iceberg": {"made": 30, "deletes": 28, "update": 28, "merge": 29, "rewrite": 29, "rename": 29, "snapshots": 7},
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not pyspark.__version__.startswith("4.1"):
        pytest.skip("the packages of Delta and Iceberg that are tested are for Spark 4.1")
    home = tmp_path_factory.mktemp("formats")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.e2e.table_formats", str(home)],
        cwd=ROOT, env=os.environ | {"PYSPARK_PYTHON": sys.executable}, capture_output=True, text=True,
        timeout=1800, check=False,
    )  # fmt: skip
    if "unresolved dependency" in ran.stderr + ran.stdout:
        pytest.skip("the packages of Delta and Iceberg cannot be resolved here")
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("table", ROWS)
def test_every_command_leaves_what_it_leaves_without_xskip(seen: dict[str, Any], table: str) -> None:
    """[PRU-KN-1] Every query has the same rows in all three cases after every command."""
    assert seen[table]["kept"] == [1, 1], "the index of the plain files rules files out"
    steps = seen[table]["steps"]
    assert {step["step"]: len(step["on"]["true"]) for step in steps} == ROWS[table]
    for step in steps:
        assert set(step["on"]) == set(FILTERS)
        assert step["on"] == step["off"], step["step"]
    assert seen[table]["others"] == {step["step"]: step["off"]["true"] for step in steps}


@pytest.mark.parametrize("table", ROWS)
def test_plans_are_equal_node_for_node(seen: dict[str, Any], table: str) -> None:
    """[PRU-KN-1] No relation in the plans has a file index of xskip."""
    for step in seen[table]["steps"]:
        assert step["on plan"] == step["off plan"], step["step"]
        assert not any("Skipping" in line for line in step["on plan"])


@pytest.mark.parametrize("table", ROWS)
def test_an_index_of_a_table_format_is_refused(seen: dict[str, Any], table: str) -> None:
    """[PRU-KN-3] The error names the format, which has its own data skipping."""
    assert seen[table]["refused"].startswith("DatasetError: xskip indexes only files that Spark itself lists and reads")
    assert "have their own data skipping" in seen[table]["refused"]
