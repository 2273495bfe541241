"""Keys that do not fit are errors before a build, which then runs no job and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.helpers import write_once
from xskip import MinMax, SkippingIndex
from xskip.errors import KeyNotAvailableError
from xskip.indexing.builder import Build

NO_FOOTER = (
    "an index has a key, but the footer of the metadata has none (where: minmax(a); found: key_label k, and no "
    "spark.xskip.encryption.footer.key; expected: the label of a key); set spark.xskip.encryption.footer.key"
)
NO_INDEX = (
    "the footer of the metadata has a key, but no index has one (found: spark.xskip.encryption.footer.key f); give an "
    "index a key_label, or unset spark.xskip.encryption.footer.key"
)
NO_CLIENT = "the metadata is encrypted, and no KMS client is registered; call xskip.use_kms(…)"


@pytest.mark.parametrize(
    ("label", "footer", "message"), [("k", None, NO_FOOTER), (None, "f", NO_INDEX), ("k", "f", NO_CLIENT)]
)
def test_create_fails_before_it_reads(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: Any, footer: Any, message: str
) -> None:
    path = write_once(spark, tmp_path / "data", "a int", {"f": [(1,)]})
    before = sorted(Path(path).rglob("*"))
    if footer:
        spark.conf.set("spark.xskip.encryption.footer.key", footer)

    def refuse(*_: object) -> None:
        raise AssertionError("a build began")

    monkeypatch.setattr(Build, "run", refuse)
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("keys", "keys")
    try:
        with pytest.raises(KeyNotAvailableError) as error:
            SkippingIndex.for_path(spark, path, schema="a int").create([MinMax("a", key_label=label)])
    finally:
        jobs = tracker.getJobIdsForGroup("keys")
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        spark.conf.unset("spark.xskip.encryption.footer.key")
    assert str(error.value) == message
    assert list(jobs) == []
    assert sorted(Path(path).rglob("*")) == before


def test_a_key_is_added_only_with_a_key_of_the_footer(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "data", "a int, b int", {"f": [(1, 2)]})
    made = SkippingIndex.for_path(spark, path)
    made.create([MinMax("a")])
    before = sorted(Path(path).rglob("*"))
    with pytest.raises(
        KeyNotAvailableError, match=r"an index has a key, but the footer of the metadata has none .where: minmax\(b\)"
    ):
        made.add([MinMax("b", key_label="k")])
    assert sorted(Path(path).rglob("*")) == before
