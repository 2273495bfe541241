"""The cold tier of a random table, and the rows that a union of both has."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import xskip
import xskip.questdb
from tests.fuzz.questdb.tables import RandomTable
from xskip.errors import DatasetError, UnsupportedTypeError
from xskip.questdb import ExportOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ColdTierModel"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_ALWAYS = datetime(2100, 1, 1, tzinfo=timezone.utc)
_REFUSALS = (DatasetError, UnsupportedTypeError)
#: Rows as pairs of ``x`` and the time in microseconds, by the start of their partition.
Rows: TypeAlias = dict[int, Counter[tuple[int, int]]]


class ColdTierModel:
    """The rows of a table that were exported, and those of them that the table no longer has."""

    def __init__(self, spark: SparkSession, table: RandomTable, folder: Path) -> None:
        self.spark, self.table, self.folder = spark, table, folder
        self.format = table.random.choice(("parquet", "avro"))
        self.exported: Rows = {}
        self.gone: Counter[tuple[int, int]] = Counter()

    def rows(self) -> Rows:
        """Return the present rows of the table, and note which exported partitions it no longer has."""
        opened = self.table.opened
        clock, found = opened.snapshot().metadata.clock, opened.to_arrow(["x", "ts"])
        rows: Rows = {}
        for pair in zip(found["x"].to_pylist(), found["ts"].cast("int64").to_pylist(), strict=True):
            rows.setdefault(clock.floor(pair[1]), Counter())[pair] += 1
        for start in [start for start in self.exported if start not in rows]:
            self.gone += self.exported.pop(start)
        return rows

    def export(self) -> str:
        """Export the partitions before one of them, or all, and drop them at times; return what was done."""
        rows = self.rows()
        moment = self.table.random.choice([*(_EPOCH + timedelta(microseconds=start) for start in rows), _ALWAYS])
        options = ExportOptions(spark=self.spark)
        indexes = [xskip.MinMax("x"), xskip.ValueList("x")]
        try:
            result = self.table.opened.export(
                moment, str(self.folder), format=self.format, indexes=indexes, options=options
            )
        except _REFUSALS as error:
            return f"export before {moment}, refused: {error}"
        clock = self.table.opened.snapshot().metadata.clock
        copied = {start: of for start, of in rows.items() if clock.folder(start, -1) in result.partitions}
        assert result.changed == ()
        assert result.rows == sum(sum(of.values()) for of in copied.values())
        self.exported |= copied
        if result.drop_statement and self.table.random.random() < 0.7:
            self.table.run(result.drop_statement)
            return f"export before {moment}, and {result.drop_statement}"
        return f"export before {moment}"

    def union(self) -> tuple[DataFrame, Counter[tuple[int, int]]] | None:
        """Return the union and the rows that it has to have, or None if it is refused."""
        expected = sum(self.rows().values(), self.gone.copy())
        try:
            folder = self.table.server.database / self.table.name
            return xskip.questdb.union(folder, str(self.folder), spark=self.spark), expected
        except _REFUSALS:
            return None
