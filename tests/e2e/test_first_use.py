"""The first use of a process by many threads at once makes one of each thing."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.programs import run

#: A program in which 32 threads do everything for the first time at once. It prints what there is afterwards.
PROGRAM = """
import json, os, sys, threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import xskip
from xskip.spark.bridge import callback, compiler
from xskip.spark.query import spark_engine

folder = sys.argv[1]
THREADS, DATASETS = 32, 6
made = Counter()


def count(owner, name):
    real = getattr(owner, name)

    def counting(*args, **kwargs):
        made[name if name != "__init__" else owner.__name__] += 1
        return real(*args, **kwargs)

    setattr(owner, name, counting)


count(spark_engine.SparkEngine, "__init__")
count(callback.Callback, "__init__")
count(compiler, "_compile")

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.log.level", "ERROR").config("spark.xskip.classes.folder", "off").getOrCreate()
sessions = [spark] * (THREADS // 2) + [spark.newSession() for _ in range(THREADS - THREADS // 2)]
barrier = threading.Barrier(THREADS)


def at_once(work, items):
    def started(item):
        barrier.wait()
        return work(item)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, items))


def rules(session):
    found = session._jsparkSession.experimental().extraOptimizations()
    return [found.apply(i).ruleName() for i in range(found.length())]


def listeners():
    found = spark.sparkContext._jsc.sc().listenerBus().listeners()
    return sum("QueryLog" in found.get(i).getClass().getName() for i in range(found.size()))


def path(i):
    return f"{folder}/data{i % DATASETS}"


for i in range(DATASETS):
    os.makedirs(path(i))
    for j in range(4):
        pq.write_table(pa.table({"a": [10 * j, 10 * j + 1], "s": [f"s{j}"] * 2}), f"{path(i)}/f{j}.parquet")

at_once(xskip.enable, sessions)
rule_counts = sorted({len(rules(session)) for session in sessions})


def build(i):
    # one thread builds the index of each dataset, the others read the dataset
    session = sessions[i]
    if i < DATASETS:
        indexes = [xskip.MinMax("a"), xskip.BloomFilter("s"), xskip.ValueList("upper(s)", expression=True)]
        return xskip.SkippingIndex.for_path(session, path(i)).create(indexes, progress=False).added
    return session.read.parquet(path(i)).filter("a > 29").count()


built = at_once(build, range(THREADS))


def report(i):
    session = spark.newSession()
    xskip.enable(session)
    df = session.read.parquet(path(i)).filter("a > 29")
    rows = len(df.collect())
    last = xskip.last_report(session)
    explained = xskip.explain(df)
    return rows, [(s.kept, s.files, s.problem) for s in (*last.scans, *explained.scans)]


reports = at_once(report, range(THREADS))


def toggle(i):
    # enable and disable of one session, beside a rule of another library
    (xskip.enable if i % 2 else xskip.disable)(toggled)


toggled = spark.newSession()
at_once(toggle, range(THREADS))
xskip.enable(toggled)
toggled_rules = rules(toggled)

# an index that is dropped and made again is known to the one engine
index = xskip.SkippingIndex.for_path(spark, path(0))
index.drop()
index.create([xskip.MinMax("a")], progress=False)
after = xskip.explain(spark.read.parquet(path(0)).filter("a > 29")).scans
jars = spark.sparkContext._jsc.sc().listJars()
print(json.dumps({
    "made": made,
    "rules": rule_counts,
    "listeners": listeners(),
    "engines": len(spark_engine._engines),
    "built": built,
    "reports": reports,
    "toggled": toggled_rules,
    "after": [(s.kept, s.files, s.problem) for s in after],
    "kernels": sum("xskip-hook" in jars.apply(i) for i in range(jars.length())),
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("threads")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    data = folder / "data"
    return dict(json.loads(run(folder, sys.executable, str(program), str(data)).splitlines()[-1]))


def test_one_engine_and_one_compilation(found: dict[str, Any]) -> None:
    """[PRU-AN-4] Each thread gets the engine that the hook calls; the classes are compiled and sent once."""
    assert found["made"]["SparkEngine"] == 1
    assert found["engines"] == 1
    assert found["made"]["_compile"] == 1
    assert found["made"]["Callback"] == 4  # of requests, of writes, and of the classes and tables of QuestDB
    assert found["kernels"] == 1
    assert found["listeners"] == 1


def test_one_rule_in_each_session(found: dict[str, Any]) -> None:
    assert found["rules"] == [1]
    assert found["toggled"] == ["io.xskip.bridge.SkippingRule"]


def test_first_builds_and_reports(found: dict[str, Any]) -> None:
    """Builds index all files, queries have all rows, and reports know why each scan read what it read."""
    assert found["built"] == [4] * 6 + [2] * 26
    assert found["reports"] == [[2, [[1, 4, ""], [1, 4, ""]]]] * 32


def test_the_engine_forgets_an_index_that_changes(found: dict[str, Any]) -> None:
    assert found["after"] == [[1, 4, ""]]
