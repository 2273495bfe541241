"""The first reads of a process load the classes for tables once, however many threads read at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.programs import run
from xskip.questdb.table import open_table

PROGRAM = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

import xskip
from xskip.spark.bridge import compiler

THREADS = 16
compiled = []
real = compiler._compile


def counting(jvm, loader, part, spark_version):
    compiled.append(part)
    return real(jvm, loader, part, spark_version)


compiler._compile = counting
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.log.level", "ERROR").config("spark.xskip.classes.folder", "off").getOrCreate()
barrier = threading.Barrier(THREADS)


def read(number):
    barrier.wait()
    session = spark if number % 2 else spark.newSession()
    xskip.enable(session)
    return session.read.format("questdb").load(sys.argv[1]).count()


with ThreadPoolExecutor(THREADS) as pool:
    counts = list(pool.map(read, range(THREADS)))
jars = spark.sparkContext._jsc.sc().listJars()
sent = [jars.apply(i).rpartition("/")[2] for i in range(jars.length())]
print(json.dumps({"counts": counts, "compiled": sorted(compiled), "sent": sorted(sent)}))
"""


def test_first_reads_by_many_threads(files: Path, tmp_path: Path) -> None:
    table = next(path.parent for path in sorted(files.glob("*/_txn")) if open_table(path.parent).count())
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = json.loads(run(tmp_path, sys.executable, str(program), str(table)).splitlines()[-1])
    assert found["counts"] == [open_table(table).count()] * 16
    assert found["compiled"] == ["hook", "questdb"]
    assert found["sent"] == ["xskip-hook.jar", "xskip-questdb.jar"]
