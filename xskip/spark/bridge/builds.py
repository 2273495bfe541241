"""The hook's operations for builds: readers, schemas, and the footers of Parquet files."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xskip.spark.bridge.java_arrays import string_array
from xskip.spark.bridge.packed_values import numbers_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader

__all__ = ["BuildCalls"]


class BuildCalls:
    """The hook's operations for builds.

    Parameters
    ----------
    gateway : JavaGateway
        The connection to the JVM.
    rule : JavaObject
        The optimizer rule, which has the operations.
    """

    def __init__(self, gateway: Any, rule: Any) -> None:
        self._gateway = gateway
        self._rule = rule

    def schema_of(self, ddl: str) -> str:
        """Return the schema JSON of a schema in DDL."""
        return str(self._gateway.jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl).json())

    def reader(self, reader: DataFrameReader) -> tuple[str, dict[str, str], str]:
        """Return the format, the options and the schema JSON of a reader; the JSON is empty without a schema."""
        described = json.loads(self._rule.reader(reader._jreader))
        return described["format"], described["options"], described["schema"]

    def footers(self, paths: Sequence[str], threads: int) -> list[bytes]:
        """Return the end of each Parquet file, from the first byte of its footer.

        Parameters
        ----------
        paths : sequence of str
            The Hadoop paths of the files.
        threads : int
            The number of threads that read in the JVM.

        Returns
        -------
        list of bytes
            The bytes for each file; empty for a file without a readable Parquet footer.
        """
        tails = self._rule.tails(string_array(self._gateway, paths), threads)
        lengths = numbers_in(tails.lengths())
        ends = np.cumsum(lengths)
        joined = base64.b64decode(tails.joined())
        return [joined[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
