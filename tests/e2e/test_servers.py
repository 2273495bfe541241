"""Clients of a Thrift server that a PySpark program hosts skip files."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.docs.blocks import blocks_in
from tests.helpers import index, write_once
from tests.programs import ROOT, environment
from xskip import MinMax

PAGE = ROOT / "docs" / "how-to" / "run" / "servers.rst"
_SECONDS = 180


@contextmanager
def hosted(folder: Path, port: int) -> Iterator[None]:
    """Run the page's program with a port and with files below a folder."""
    (program,) = (block.code for block in blocks_in(PAGE.read_text(encoding="utf-8")) if "# thrift.py" in block.code)
    assert "10000" in program
    (folder / "thrift.py").write_text(program.replace("10000", str(port)))
    command = [sys.executable, "thrift.py"]
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=log, stderr=log)
        try:
            yield
        finally:
            server.kill()
            server.wait()


def beeline(folder: Path, port: int, *statements: str) -> str:
    """Return what ``beeline`` prints for statements, as soon as the server accepts them."""
    program = str(Path(pyspark.__file__).parent / "bin" / "beeline")
    command = [program, "-u", f"jdbc:hive2://127.0.0.1:{port}", "--outputformat=tsv2"]
    command += [word for statement in statements for word in ("-e", statement)]
    end = time.monotonic() + _SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert time.monotonic() < end, (folder / "server.log").read_text()[-4000:]
            time.sleep(0.5)
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.skipif(not (Path(pyspark.__file__).parent / "bin" / "beeline").exists(), reason="PySpark has no beeline")
def test_clients_of_a_hosted_thrift_server_skip(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "data", "x int", {"low": [(1,), (2,)], "high": [(10,)]})
    index(spark, path, [MinMax("x")])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with hosted(tmp_path, port):
        query = f"SELECT count(*) FROM parquet.`{path}` WHERE x > 5"
        explained, _, counted = beeline(tmp_path, port, f"EXPLAIN FORMATTED {query}", query).partition("count(1)\n")
        assert "SkippingFileIndex" in explained
        assert counted.split() == ["1"]
