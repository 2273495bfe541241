"""Encrypted indexes are built, queried with and without keys, refreshed and migrated. Rules: specs/encryption.rst."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import assert_same_rows, kept, opened_files, write_once
from xskip import BloomFilter, LocalKms, MinMax, SkippingIndex, ValueList
from xskip.errors import KeyNotAvailableError

KEYS = {label: label.encode().ljust(16, b"!") for label in ("k1", "k2", "footer")}
FILES: dict[str, list[Any]] = {"low": [(1, "a"), (9, "b")], "high": [(20, "c"), (29, None)]}


def kms(*labels: str) -> None:
    xskip.use_kms(LocalKms({label: KEYS[label] for label in labels}))


@pytest.fixture(params=[True, False], ids=["plaintext footer", "encrypted footer"])
def made(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[SkippingIndex]:
    path = write_once(spark, tmp_path / "data", "a int, s string", FILES)
    spark.conf.set("spark.xskip.encryption.footer.key", "footer")
    spark.conf.set("spark.xskip.encryption.plaintext.footer", str(request.param).lower())
    kms("k1", "k2", "footer")
    index = SkippingIndex.for_path(spark, path)
    index.create([MinMax("a", key_label="k1"), ValueList("s", key_label="k2"), BloomFilter("a", fpp=1e-6)])
    yield index
    xskip.use_kms(None)


def test_with_all_keys(spark: SparkSession, made: SkippingIndex) -> None:
    """[ENC-L-1] Queries skip, and the metadata's bytes reveal neither names nor values."""
    for predicate, files in {"a > 10": {"high"}, "s = 'b'": {"low"}, "a = 20": {"high"}}.items():
        assert kept(spark, made.name, predicate) == files
        assert_same_rows(lambda p=predicate: spark.read.parquet(made.name).filter(p), spark)
    for file in Path(made.describe().location).rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        assert b"low.parquet" not in data
        assert not any(key in data for key in KEYS.values())


def test_without_the_key_of_an_index(spark: SparkSession, made: SkippingIndex) -> None:
    """[ENC-R-1] [ENC-R-2] Other indexes skip, and reports and a failed refresh name the missing key."""
    kms("k1", "footer")
    assert kept(spark, made.name, "a > 10") == {"high"}
    assert kept(spark, made.name, "s = 'b'") == {"low", "high"}
    report = str(xskip.explain(spark.read.parquet(made.name).filter("s = 'b'")))
    assert "valuelist(s): its key k2 is not available" in report
    assert made.refresh().unchanged == 2
    write_once(spark, Path(made.name), "a int, s string", {"new": [(99, "z")]})
    location = Path(made.describe().location)
    before = sorted(p.name for p in location.glob("*.parquet"))
    with pytest.raises(KeyNotAvailableError, match="k2"):
        made.refresh()
    assert sorted(p.name for p in location.glob("*.parquet")) == before
    kms("k1", "k2", "footer")
    assert made.refresh().added == 1
    assert kept(spark, made.name, "s = 'z'") == {"new"}
    assert kept(spark, made.name, "a = 99") == {"new"}


def test_without_the_key_of_the_footer(
    spark: SparkSession, made: SkippingIndex, caplog: pytest.LogCaptureFixture
) -> None:
    """[ENC-R-1] Queries read all files, with correct rows and one warning."""
    spark.conf.set("spark.xskip.strict", "false")
    for client in (None, LocalKms({"k1": KEYS["k1"]})):
        xskip.use_kms(client)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "xskip"):
            for _ in range(2):
                assert kept(spark, made.name, "a > 10") == {"low", "high"}
                assert spark.read.parquet(made.name).filter("a > 10").count() == 2
        assert len(caplog.records) == 1
        assert "use_kms" in caplog.text or "footer" in caplog.text


def test_migrate(spark: SparkSession, made: SkippingIndex) -> None:
    """[ENC-R-2] A migration keeps the keys."""
    made.migrate(1)
    made.migrate(4)
    kms("k2", "footer")
    assert kept(spark, made.name, "s = 'b'") == {"low"}
    assert kept(spark, made.name, "a > 15 AND a < 18") == {"low", "high"}


def test_optimize(spark: SparkSession, made: SkippingIndex) -> None:
    """[MDS-C-14] [ENC-R-2] A compaction keeps the keys."""
    write_once(spark, Path(made.name), "a int, s string", {"new": [(99, "z")]})
    made.refresh()
    result = made.optimize()
    assert (result.metadata_files_before, result.metadata_files_after, result.files) == (2, 1, 3)
    kms("k2", "footer")
    assert kept(spark, made.name, "s = 'b'") == {"low"}
    assert kept(spark, made.name, "a > 15 AND a < 18") == {"low", "high", "new"}
    kms("k1", "footer")
    assert kept(spark, made.name, "a > 15 AND a < 50") == {"high"}
    assert kept(spark, made.name, "s = 'b'") == {"low", "high", "new"}
    kms("k1", "k2")
    with pytest.raises(KeyNotAvailableError):
        made.optimize()


def test_rotate(spark: SparkSession, made: SkippingIndex) -> None:
    """[ENC-R-3] Queries use the keys of the new labels at once."""
    assert kept(spark, made.name, "s = 'b'") == {"low"}
    KEYS["k3"] = b"another key of 1"
    kms("k1", "k2", "k3", "footer")
    assert made.rotate_keys({"k2": "k3"}).labels == ("footer", "k1", "k3")
    kms("k1", "k3", "footer")
    assert kept(spark, made.name, "s = 'b'") == {"low"}
    assert made.refresh().unchanged == 2
    kms("k1", "k2", "footer")
    assert kept(spark, made.name, "s = 'b'") == {"low", "high"}


@pytest.mark.parametrize(("footer", "label"), [("", "k1"), ("footer", None)])
def test_keys_that_do_not_fit(spark: SparkSession, tmp_path: Path, footer: str, label: str | None) -> None:
    """[ENC-L-3] Invalid combinations of keys raise an error before anything is written."""
    path = write_once(spark, tmp_path / "data", "a int, s string", FILES)
    spark.conf.set("spark.xskip.encryption.footer.key", footer)
    index = SkippingIndex.for_path(spark, path)
    with pytest.raises(KeyNotAvailableError, match="footer"):
        index.create([MinMax("a", key_label=label)])
    assert not index.exists()


KMS_IN_JAVA = """
package io.xskip.test;
import org.apache.parquet.crypto.keytools.KeyToolkit;
/** The same master keys: a label, filled up with exclamation marks. */
public class Kms implements org.apache.parquet.crypto.keytools.KmsClient {
  public void initialize(org.apache.hadoop.conf.Configuration c, String instance, String url, String token) { }
  private static byte[] key(String label) { return (label + "!!!!!!!!!!!!!!!!").substring(0, 16).getBytes(); }
  public String wrapKey(byte[] key, String label) {
    return KeyToolkit.encryptKeyLocally(key, key(label), label.getBytes());
  }
  public byte[] unwrapKey(String wrapped, String label) {
    return KeyToolkit.decryptKeyLocally(wrapped, key(label), label.getBytes());
  }
}
"""


@pytest.fixture
def parquet_mr(spark: SparkSession, tmp_path: Path) -> Iterator[None]:
    """Run the test with Spark's own decryption and an equal client."""
    jvm: Any = spark._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(KMS_IN_JAVA)
    codes = compiler.getBytecodes()
    with zipfile.ZipFile(tmp_path / "kms.jar", "w") as jar:
        for name in codes.keySet():
            jar.writestr(name.replace(".", "/") + ".class", codes.get(name))
    spark.sparkContext._jsc.sc().addJar(str(tmp_path / "kms.jar"))
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    factory = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"
    settings = {"parquet.crypto.factory.class": factory, "parquet.encryption.kms.client.class": "io.xskip.test.Kms"}
    for key, value in settings.items():
        conf.set(key, value)
    yield
    for key in settings:
        conf.unset(key)


def test_spark_reads_it(spark: SparkSession, made: SkippingIndex, parquet_mr: None) -> None:
    """[ENC-K-1] parquet-mr decrypts the files with the same master keys."""
    location = made.describe().location
    rows = spark.read.parquet(location).selectExpr("obj_name", "a_minmax_1.max AS top", "s_valuelist_1 AS s").collect()
    found = {Path(row.obj_name.rpartition("#")[0]).stem: (row.top, sorted(row.s)) for row in rows}
    assert found == {"low": (9, ["a", "b"]), "high": (29, ["c"])}


@pytest.mark.parametrize("plaintext", [True, False], ids=["plaintext footer", "encrypted footer"])
def test_nothing_of_values_is_in_the_clear(spark: SparkSession, tmp_path: Path, *, plaintext: bool) -> None:
    """[ENC-C-1] [ENC-C-2] No data, bounds, file names, option values or schema are in plaintext."""
    (tmp_path / "lake").mkdir()
    for name, row in {"visible-a": "alpha;17", "visible-b": "omega;unspoken"}.items():
        (tmp_path / "lake" / f"{name}.csv").write_text(row + "\n")
    spark.conf.set("spark.xskip.encryption.footer.key", "footer")
    spark.conf.set("spark.xskip.encryption.plaintext.footer", str(plaintext).lower())
    kms("k1", "footer")
    try:
        schema, options = "s string, hushed int", {"sep": ";", "nullValue": "unspoken"}
        made = SkippingIndex.for_path(spark, str(tmp_path / "lake"), format="csv", schema=schema, options=options)
        made.create([MinMax("s", key_label="k1"), ValueList("s", key_label="k1"), BloomFilter("s", key_label="k1")])
        for _ in range(2):
            seen = b"".join(p.read_bytes() for p in Path(made.describe().location).rglob("*") if p.is_file())
            for hidden in (b"alpha", b"omega", b"unspoken", b"visible", b"hushed"):
                assert hidden not in seen
            read = spark.read.schema(schema).options(**options).csv(str(tmp_path / "lake"))
            assert opened_files(read.filter("s = 'omega'")) == {"visible-b"}
            made.rotate_keys()
    finally:
        xskip.use_kms(None)
