"""An archive of Spark's classes, from which the drivers of test programs start in half the time."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark

__all__ = ["archive_options", "start_archive"]

#: The program whose classes the archive has: those of writes, builds, queries and refreshes.
_PROGRAM = """
import tempfile
from pyspark.sql import SparkSession
import xskip
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
xskip.enable(spark)
with tempfile.TemporaryDirectory() as folder:
    path = folder + "/data"
    spark.range(100).selectExpr("id", "string(id) s").write.partitionBy("s").parquet(path)
    index = xskip.SkippingIndex.for_path(spark, path)
    index.create([xskip.MinMax("id"), xskip.ValueList("s")])
    spark.read.parquet(path).filter("id > 90").groupBy("s").count().orderBy("s").collect()
    spark.read.parquet(path).write.json(folder + "/json")
    spark.read.json(folder + "/json").createOrReplaceTempView("v")
    spark.sql("SELECT count(*) FROM v JOIN v w USING (id)").collect()
    index.refresh()
"""


def archive_options(folder: Path, java_options: str) -> str:
    """Return the further Java options of drivers that use the archive in a folder, if it is there and fits."""
    return f'"-XX:SharedArchiveFile={_archive(folder, java_options)}" -Xlog:cds=off -Xlog:cds+dynamic=off'


def start_archive(folder: Path, java_options: str) -> subprocess.Popen[bytes] | None:
    """Start a group of processes that writes the archive, unless it exists."""
    archive = _archive(folder, java_options)
    if archive.exists():
        return None
    partial = archive.with_suffix(f".{os.getpid()}")
    program = f"{shlex.quote(sys.executable)} -c {shlex.quote(_PROGRAM)} | cat"  # the pipe ends with the JVM
    options = {"SPARK_SUBMIT_OPTS": f'{java_options} "-XX:ArchiveClassesAtExit={partial}" -Xlog:cds=off'}
    command = f"{program}; mv {shlex.quote(str(partial))} {shlex.quote(str(archive))}"
    return subprocess.Popen(
        ["sh", "-c", command],
        env={**os.environ, **options},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _archive(folder: Path, java_options: str) -> Path:
    """Return the path of the archive, which depends on the JVM, on its options and on Spark."""
    java = Path(os.environ.get("JAVA_HOME", "/nowhere")) / "bin" / "java"
    java = java if java.exists() else Path(shutil.which("java") or "java")
    # the JVM refuses an archive of other jars
    jars = [(jar.name, jar.stat().st_mtime_ns) for jar in sorted(Path(pyspark.__file__).parent.glob("jars/*"))]
    parts = (java.resolve(), java_options, pyspark.__file__, jars)
    return folder / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.jsa"
