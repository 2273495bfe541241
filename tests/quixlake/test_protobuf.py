"""Tests of payloads in Protobuf, which Spark reads with the package spark-protobuf from Maven."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import needs_spark_4
from tests.quixlake.protobuf_session import PAYLOADS

ROOT = Path(__file__).parents[2]
SECONDS = 420


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a session with spark-protobuf has read."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-m", "tests.quixlake.protobuf_session", str(tmp_path_factory.mktemp("protobuf"))],
        cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False,
    )  # fmt: skip
    if "unresolved dependency" in done.stderr:
        pytest.skip("needs spark-protobuf from Maven, and it cannot be had")
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_values_are_equal(observed: dict[str, Any]) -> None:
    assert observed["values"] == PAYLOADS


def test_filters_on_fields_select_and_filters_on_messages_skip(observed: dict[str, Any]) -> None:
    """[QLK-RD-3]"""
    assert observed["filtered"] == {
        "value.temp > 1": [5, 6, 7],
        "value.temp IS NULL": [4],
        "value.place.floor < -10": [5, 6, 7],
        "array_contains(value.tags, 5)": [5],
    }
    assert observed["skipped"] == [[3], 3, 4]


@needs_spark_4("has no function from_protobuf in SQL")
def test_fields_cannot_be_indexed(observed: dict[str, Any]) -> None:
    """[QLK-IX-5]"""
    assert observed["index"].startswith("xskip cannot index this expression")


def test_a_message_or_descriptor_set_that_does_not_exist(observed: dict[str, Any]) -> None:
    assert observed["message"].startswith("PredicateError: cannot decode the payload")
    assert observed["descriptor"].startswith("PredicateError: cannot read the descriptor set")
