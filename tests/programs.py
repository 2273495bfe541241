"""Programs that start Spark themselves, from this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

__all__ = ["ROOT", "SECONDS", "environment", "run"]

ROOT = Path(__file__).parents[1]
#: The time after which a program that still runs has failed.
SECONDS = 240


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a program that starts Spark itself: this checkout, and files below a folder."""
    java = "SPARK_SUBMIT_OPTS"
    kept = {n: value for n, value in os.environ.items() if n == java or not n.startswith(("SPARK_", "PYSPARK_"))}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "spark"),
    }


def run(folder: Path, *command: str) -> str:
    """Run a program to its end, and return what it has printed."""
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
