"""Parquet files whose columns and footers are encrypted: the index is built from them and skips them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.maven import SPARK_JARS, CannotFetchError, fetch
from tests.programs import run

PROGRAM = """
import json
import sys
from pathlib import Path

import xskip
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

jar, root = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.jars", jar)
    .config("spark.hadoop.parquet.crypto.factory.class",
            "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory")
    .config("spark.hadoop.parquet.encryption.kms.client.class", "org.apache.parquet.crypto.keytools.mocks.InMemoryKMS")
    .config("spark.hadoop.parquet.encryption.key.list", "k1:AAECAwQFBgcICQoLDA0ODw==, k2:AAECAAECAAECAAECAAECAA==")
    .getOrCreate()
)
xskip.enable(spark)

def write(path, plaintext, first):
    rows = spark.range(first, first + 300, numPartitions=3).select("id", F.concat(F.lit("n"), "id").alias("s"))
    options = {"parquet.encryption.column.keys": "k1:id,s", "parquet.encryption.footer.key": "k2",
               "parquet.encryption.plaintext.footer": plaintext}
    rows.write.mode("append").options(**options).parquet(path)

def found(path, plaintext):
    write(path, plaintext, 0)
    index = xskip.SkippingIndex.for_path(spark, path)
    index.create([xskip.MinMax("id"), xskip.BloomFilter("s")])
    write(path, plaintext, 300)
    index.refresh()
    seen = {"magic": sorted({file.read_bytes()[:4].decode() for file in Path(path).glob("*.parquet")})}
    for predicate in ("id < 50", "s = 'n450'", "id > 10000"):
        rows = spark.read.parquet(path).filter(predicate).count()
        seen[predicate] = [rows, xskip.last_report(spark).scans[0].skipped]
    seen["standalone"] = len(list(xskip.open_index(path).files("id >= 500")))
    return seen

print(json.dumps({plaintext: found(f"{root}/{plaintext}", plaintext) for plaintext in ("false", "true")}))
"""


@pytest.fixture(scope="module")
def kms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the jar of Parquet's tests, which contains a client of a key management service in memory."""
    (hadoop,) = SPARK_JARS.glob("parquet-hadoop-*.jar")
    version = hadoop.stem.removeprefix("parquet-hadoop-")
    folder = tmp_path_factory.mktemp("kms")
    try:
        (jar,) = fetch("org.apache.parquet", "parquet-hadoop", version, folder, classifier="tests")
    except CannotFetchError as error:
        pytest.skip(str(error))
    return jar


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, kms: Path) -> dict[str, Any]:
    """Return what one session finds in files with encrypted footers and in files with plaintext footers."""
    folder = tmp_path_factory.mktemp("encrypted")
    (folder / "program.py").write_text(PROGRAM)
    printed = run(folder, sys.executable, "program.py", str(kms), str(folder / "data"))
    seen: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return seen


@pytest.mark.parametrize("plaintext", ["false", "true"], ids=["encrypted footer", "plaintext footer"])
def test_encrypted_files_are_indexed_and_skipped(found: dict[str, Any], plaintext: str) -> None:
    """The JVM's keys open the files for the build; queries need no keys for the files that they skip."""
    assert found[plaintext] == {
        "magic": ["PAR1" if plaintext == "true" else "PARE"],
        "id < 50": [50, 5],
        "s = 'n450'": [1, 5],
        "id > 10000": [0, 6],
        "standalone": 1,
    }
