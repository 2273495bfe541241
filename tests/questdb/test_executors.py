"""Tables that executors in processes of their own read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

_ROOT = Path(__file__).parents[2]


def test_executors_that_are_separate_processes(files: Path, tmp_path: Path) -> None:
    """[QDB-SP-1], [QDB-SP-6]: executors get the classes and the files, and rows are those of the Arrow table."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(_ROOT),
    }
    command = [sys.executable, "-m", "tests.questdb.executors", str(files), str(tmp_path)]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert "executors read 4 tables" in done.stdout
