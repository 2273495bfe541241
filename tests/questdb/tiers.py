"""A table and its cold tier, for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import xskip
import xskip.questdb
from tests.questdb.server import Server
from tests.questdb.spark_values import load, spark_rows
from xskip.questdb import ExportOptions, ExportResult

ALWAYS = datetime(2100, 1, 1)


class Tiers:
    """A table of five days with twenty rows each, and its cold tier."""

    def __init__(self, spark: SparkSession, server: Server, cold: Path, rows: int = 100) -> None:
        self.spark, self.server, self.cold = spark, server, cold
        self.name = server.name("tiers")
        server.run(
            self.name,
            f"create table {self.name} (ts timestamp, x long, s symbol) timestamp(ts) partition by day wal",
            f"insert into {self.name} select (x * {5 * 86_400_000_000 // rows} - 1)::timestamp, x, "
            f"rnd_symbol('a', 'b', null) from long_sequence({rows})",
        )

    @property
    def folder(self) -> Path:
        return self.server.database / self.name

    def export(
        self,
        until: Any = ALWAYS,
        indexes: Sequence[xskip.Index] = (),
        *,
        file_format: str = "parquet",
        **options: Any,
    ) -> ExportResult:
        chosen = ExportOptions(spark=self.spark, **options)
        table = xskip.questdb.open(self.folder)
        return table.export(until, str(self.cold), format=file_format, indexes=indexes, options=chosen)

    def union(self) -> DataFrame:
        return xskip.questdb.union(self.folder, str(self.cold), spark=self.spark)

    def rows(self) -> Counter[str]:
        """Return the rows that the server has."""
        return counted(load(self.spark, self.folder))

    def run(self, *statements: str) -> None:
        self.server.run(self.name, *(statement.replace("{t}", self.name) for statement in statements))

    def late(self, day: int, first: int, count: int = 3) -> None:
        """Insert rows of a day, with x from a number on."""
        self.run(
            f"insert into {{t}} select ({day} * 86400000000 + 1000 * x)::timestamp, {first} + x, 'late' "
            f"from long_sequence({count})"
        )


def counted(df: DataFrame) -> Counter[str]:
    return Counter(map(repr, spark_rows(df)))
