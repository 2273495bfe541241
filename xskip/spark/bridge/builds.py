"""The hook's operations for builds: readers, schemas, and the footers of Parquet files."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xskip.protocol.packed_values import numbers_in
from xskip.spark.bridge.java_arrays import string_array

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

__all__ = ["BuildCalls"]


class BuildCalls:
    """The hook's operations for builds, ``io.xskip.bridge.BuildCalls``."""

    def __init__(self, gateway: Any, calls: Any) -> None:
        self._gateway = gateway
        self._calls = calls

    def cloned_session(self, spark: SparkSession, settings: Mapping[str, str]) -> Any:
        """Return a clone of a session in the JVM, with other settings."""
        return self._calls.clonedSession(spark._jsparkSession, json.dumps(settings))

    def dataset(self, df: DataFrame) -> Any:
        """Return the relation of files that a DataFrame reads (``io.xskip.collect.FileRelation``)."""
        return self._calls.dataset(df._jdf)

    def selected(self, df: DataFrame) -> Any:
        """Return the files that the scans of a query read (``io.xskip.files.FileListing``)."""
        return self._calls.selected(df._jdf)

    def files(self) -> Any:
        """Return the JVM's access to Hadoop's file systems (``io.xskip.files.HadoopFiles``)."""
        return self._calls.files()

    def schema_of(self, spark: SparkSession, ddl: str) -> str:
        """Return the schema JSON of a schema in the DDL of a session."""
        return str(self._calls.schemaOf(spark._jsparkSession, ddl))

    def reader(self, spark: SparkSession, reader: DataFrameReader) -> tuple[str, dict[str, str], str]:
        """Return the format, options and schema JSON of a session's reader; the JSON is empty without a schema."""
        described = json.loads(self._calls.reader(spark._jsparkSession, reader._jreader))
        return described["format"], described["options"], described["schema"]

    def footers(self, paths: Sequence[str], threads: int) -> list[bytes]:
        """Return each Parquet file from the first byte of its footer; empty without a readable footer."""
        footers = self._calls.footers(string_array(self._gateway, paths), threads)
        lengths = numbers_in(footers.lengths())
        ends = np.cumsum(lengths)
        joined = base64.b64decode(footers.joined())
        return [joined[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
