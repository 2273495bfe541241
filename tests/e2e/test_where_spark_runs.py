"""xskip works under ``spark-submit``, in the ``pyspark`` shell and in sessions that exist, and says what they lack."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.programs import SECONDS, environment, run
from xskip.errors import DatasetError
from xskip.spark.bridge.packages import has_avro, spark_package

AVRO = spark_package("avro", os.environ.get("XSKIP_TEST_AVRO"))

#: A program that builds and uses an index on Avro files, in a session that it finds and in one that it configures.
PROGRAM = """
import sys
import xskip
from pyspark.sql import SparkSession


def use(spark, path):
    spark.range(0, 100, numPartitions=4).write.format("avro").save(path)
    xskip.SkippingIndex.for_path(spark, path, format="avro").create([xskip.MinMax("id")])
    xskip.enable(spark)
    print("rows", spark.read.format("avro").load(path).filter("id < 10").count())
    print("skipped", xskip.last_report(spark).scans[0].skipped)
    spark.stop()


use(SparkSession.builder.getOrCreate(), sys.argv[1] + "/plain")
use(xskip.configure(SparkSession.builder).getOrCreate(), sys.argv[1] + "/configured")
"""
#: A program in which ``configure`` comes too late, because a session runs already.
TOO_LATE = """
import logging
import sys
import xskip
from pyspark.sql import SparkSession

logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
running = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark = xskip.configure(SparkSession.builder).getOrCreate()
index = xskip.SkippingIndex.for_path(spark, sys.argv[1], format="avro")
for operation in (index.status, index.exists, lambda: index.create([xskip.MinMax("id")])):
    try:
        operation()
    except xskip.XskipError as error:
        print("error:", error)
"""


def launcher(name: str) -> str:
    return str(Path(pyspark.__file__).parent / "bin" / name)


def test_spark_submit(tmp_path: Path) -> None:
    """With and without ``configure``."""
    program = tmp_path / "job.py"
    program.write_text(PROGRAM)
    said = run(
        tmp_path, launcher("spark-submit"), "--master", "local[1]", "--conf", "spark.ui.enabled=false",
        "--packages", AVRO, str(program), str(tmp_path / "data"),
    )  # fmt: skip
    assert said.splitlines()[-4:] == ["rows 10", "skipped 3"] * 2


def test_configure_after_a_session_runs_names_the_package(tmp_path: Path) -> None:
    """The warning and each error name the arguments to start Spark with."""
    (tmp_path / "data").mkdir()
    program = tmp_path / "late.py"
    program.write_text(TOO_LATE)
    said = run(tmp_path, sys.executable, str(program), str(tmp_path / "data"))
    warnings = [line for line in said.splitlines() if line.startswith("WARNING:xskip:")]
    assert len(warnings) == 1
    assert f"--packages {spark_package('avro')}" in warnings[0]
    errors = [line for line in said.splitlines() if line.startswith("error:")]
    assert len(errors) == 3
    for error in errors:
        assert "cannot read the dataset" in error
        assert f"start Spark with --packages {spark_package('avro')}" in error


def test_a_session_with_avro_gets_no_warning(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    assert has_avro(spark)
    xskip.configure(SparkSession.builder)
    assert caplog.records == []


def test_the_builder_of_a_connect_client_is_refused() -> None:
    builder = SparkSession.Builder()
    builder._options = {"spark.remote": "sc://127.0.0.1"}
    with pytest.raises(DatasetError, match="Spark Connect client"):
        xskip.configure(builder)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux, which types into the shell, is not installed")
    typed = Shell(tmp_path)
    yield typed
    typed.close()


class Shell:
    """The ``pyspark`` shell in a terminal of tmux, with a server of tmux that only this test uses."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")
        variables = [word for item in environment(folder).items() for word in ("-e", "=".join(item))]
        command = f"{launcher('pyspark')} --master 'local[1]' --conf spark.ui.enabled=false --packages {AVRO}"
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "200", *variables, "-c", str(folder), command
        )

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *arguments], capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    def wait_for(self, text: str) -> str:
        """Wait until the screen has a text, and return the screen."""
        end, screen = time.monotonic() + SECONDS, ""
        while time.monotonic() < end:
            screen = self._tmux("capture-pane", "-p", "-J")
            if text in screen:
                return screen
            time.sleep(0.2)
        raise AssertionError(f"the screen has no {text!r}:\n{screen}")

    def type(self, line: str) -> None:
        self._tmux("send-keys", "-l", line)
        self._tmux("send-keys", "Enter")

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, timeout=60, check=False)


def test_the_pyspark_shell(shell: Shell, tmp_path: Path) -> None:
    shell.wait_for("SparkSession available as 'spark'")
    path = tmp_path / "data"
    shell.type("import xskip")
    shell.type(f"path = '{path}'")
    shell.type("spark.range(0, 100, numPartitions=4).write.format('avro').save(path)")
    shell.type("done = xskip.SkippingIndex.for_path(spark, path, format='avro').create([xskip.MinMax('id')])")
    shell.type("xskip.enable(spark)")
    shell.type("print('rows', '=', spark.read.format('avro').load(path).filter('id < 10').count())")
    shell.type("print('skipped', '=', xskip.last_report(spark).scans[0].skipped)")
    screen = shell.wait_for("skipped = ")
    assert "rows = 10" in screen
    assert "skipped = 3" in screen
