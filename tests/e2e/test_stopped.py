"""A plan of a stopped session starts no new Spark, and operations say that the session is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, sys, xskip
from pyspark.sql import SparkSession

def session():
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    return xskip.configure(builder, avro_version=os.environ.get("XSKIP_TEST_AVRO")).getOrCreate()

spark = session()
path = sys.argv[1]
spark.range(10).write.parquet(path)
xskip.SkippingIndex.for_path(spark, path).create([xskip.MinMax("id")])
xskip.enable(spark)
df = spark.read.parquet(path).filter("id > 5")
jvm = spark._jvm
spark.stop()
try:
    df._jdf.queryExecution().executedPlan()
except Exception:
    pass
companion = jvm.java.lang.Class.forName("org.apache.spark.SparkContext$").getField("MODULE$").get(None)
active = companion.getActive()
print("active", active.isDefined())
for operation in (lambda: xskip.enable(spark), lambda: xskip.last_report(spark), lambda: xskip.explain(df)):
    try:
        operation()
    except xskip.XskipError as error:
        print(error)
spark = session()
xskip.enable(spark)
print("rows", spark.read.parquet(path).filter("id > 5").count())
"""


def test_no_context_is_started_for_a_plan(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "data")], cwd=ROOT, capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    stopped = "the Spark session was stopped; create a session, and call xskip.enable(spark) for it"
    assert ran.stdout.splitlines()[-5:] == ["active False", stopped, stopped, stopped, "rows 4"]
