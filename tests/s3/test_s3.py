"""Indexes work on an S3 API by S3A, with conditional puts. Rules: [MDS-C-12], [MDS-C-20].

The server is moto's, in a process of its own on loopback. Spark runs in another process, with packages from Maven.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.s3 import runner

ROOT = Path(__file__).parents[2]
SECONDS = 600


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """Yield the port of an S3 server."""
    pytest.importorskip("moto", reason="needs moto[server], of the extra test")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.s3.server"], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment()
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@pytest.fixture(scope="module")
def errors(server: int) -> dict[str, str]:
    """Return the error of each scenario, or an empty text."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.s3.runner", str(server)],
        cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, env=environment(), check=False,
    )  # fmt: skip
    if "unresolved dependency" in done.stderr:
        pytest.skip("needs hadoop-aws with the SDK of AWS from Maven, and they cannot be had")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert lines, done.stderr[-3000:]
    return {name: error for name, error, _ in lines}


@pytest.mark.parametrize("name", runner.SCENARIOS)
def test_scenario(errors: dict[str, str], name: str) -> None:
    """Each scenario runs without an error.

    [MDS-C-7] [MDS-C-12] [MDS-C-19] [MDS-C-20] [QLK-SK-11] [QLK-SK-12] [QLK-SK-13] [QLK-SK-14] [QLK-SK-15]
    """
    assert errors.get(name, "it was not run") == ""
