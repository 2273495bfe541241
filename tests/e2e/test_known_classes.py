"""Relations of unknown classes stay unchanged until a plugin declares the classes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import opened_files
from xskip import MinMax, SkippingIndex
from xskip.errors import DatasetError

LIBSVM = "org.apache.spark.ml.source.libsvm.LibSVMFileFormat"


def test_a_format_is_used_once_it_is_declared(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-KN-2] [PRU-KN-3]"""
    for name, label in (("low", 1), ("high", 9)):
        (tmp_path / f"{name}.txt").write_text(f"{label} 1:0.5\n")
    made = SkippingIndex.for_path(spark, str(tmp_path), format="libsvm", options={"numFeatures": "1"})
    with pytest.raises(DatasetError, match=f"found: files of the format {LIBSVM}"):
        made.create([MinMax("label")])
    df = spark.read.format("libsvm").option("numFeatures", "1").load(str(tmp_path)).filter("label > 5")
    (scan,) = xskip.explain(df).scans
    assert (scan.kept, scan.problem) == (2, f"xskip does not support files of the format {LIBSVM}")
    xskip.declare_classes(spark, file_format=LIBSVM)
    made.create([MinMax("label")])
    assert opened_files(
        spark.read.format("libsvm").option("numFeatures", "1").load(str(tmp_path)).filter("label > 5")
    ) == {"high"}
