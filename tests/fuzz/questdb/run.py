"""A random table that a server changes in steps, and reads after each step."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import xskip
from tests.fuzz.copies import execution, under
from tests.fuzz.counts import Counts
from tests.fuzz.kinds import SINGLE, on_columns
from tests.fuzz.questdb.cold_tier import ColdTierModel
from tests.fuzz.questdb.reads import Pairs, filters, latest_rows, selected, selected_by, write_copy
from tests.fuzz.questdb.tables import RandomTable
from tests.questdb.server import Server, SqlError, SuspendedError
from tests.questdb.sidecars import describe_partitions
from tests.questdb.spark_values import compare_rows, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["STEPS", "Outcome", "TableRound", "steps_of"]

STEPS = 14
_FILTERS = 8
_ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu")


@dataclass(slots=True)
class Outcome(Counts):
    """The counts of tables, steps, reads, refused unions and skipped pieces, and the faults."""

    tables: int = 0
    steps: int = 0
    reads: int = 0
    refused: int = 0
    skipped: int = 0
    faults: list[str] = field(default_factory=list)


class SparkTable(RandomTable):
    """A random table with an index and a cold tier, which Spark reads."""

    def __init__(self, server: Server, seed: int, spark: SparkSession, base: Path) -> None:
        super().__init__(server, seed)
        self.spark, self.base = spark, base
        self.outcome = Outcome()
        self.path = server.database / self.name
        self.index = xskip.SkippingIndex.for_path(spark, str(self.path), format="questdb")
        self.tier = ColdTierModel(spark, self, base / "cold")
        self.indexed: dict[str, str] = {}

    def step(self) -> str:
        """Take a random step of the table or of its cold tier."""
        return self.tier.export() if self.random.random() < 0.15 else super().step()

    def compare(self) -> bool:
        if not super().compare():
            return False
        self.look()
        self.look_at_union()
        return True

    def with_parquet(self) -> None:
        if self.random.random() < 0.5:
            describe_partitions(self.path)
        self.look()

    def look(self) -> None:
        """Compare all rows, and those of random filters, which the index serves whether it is fresh or not."""
        table, df = self.opened.to_arrow(), load(self.spark, self.path)
        compare_rows(df, table)
        self.change_index(df)
        asked = filters(self.random, df.schema, table, _FILTERS)
        expected = selected_by(df, asked)
        got = selected(df, list(expected), lambda: write_copy(df, self.base / "plain"))
        self.agree(got, {text: expected[text] for text in got})
        symbols = [name for name, kind in self.columns.items() if kind.startswith("symbol")]
        if symbols and table.num_rows:
            found, latest = latest_rows(df, table, self.random.choice(symbols))
            self.agree({"latest_on": found}, {"latest_on": latest})

    def change_index(self, df: DataFrame) -> None:
        """Create, refresh or drop the index at times; an index of other columns than the table has stays or goes."""
        columns = {f.name: f.dataType.simpleString() for f in df.schema.fields}
        is_of_others = not self.indexed.items() <= columns.items()
        if self.random.random() < 0.5:
            return
        if self.index.exists() and not is_of_others and self.random.random() < 0.8:
            self.index.refresh(progress=False)
            return
        if self.index.exists():
            self.index.drop()
        kinds = self.random.sample(SINGLE, 3)
        self.index.create([index for kind in kinds for index in on_columns(kind, columns)], progress=False)
        self.indexed = columns

    def look_at_union(self) -> None:
        """Compare the rows of the table with its cold tier, and those of some filters on both."""
        found = self.tier.union()
        if found is None:
            self.outcome.refused += 1
            return
        df, expected = found
        pairs = list(expected) or [(0, 0)]
        (x, time), (_, other) = self.random.choice(pairs), self.random.choice(pairs)
        low, high = sorted((time, other))
        tests = {
            "true": expected,
            f"x = {x}": Counter({p: n for p, n in expected.items() if p[0] == x}),
            f"ts >= timestamp_micros({low}) AND ts < timestamp_micros({high})": Counter(
                {p: n for p, n in expected.items() if low <= p[1] < high}
            ),
            f"ts = timestamp_micros({low}) OR ts = timestamp_micros({high})": Counter(
                {p: n for p, n in expected.items() if p[1] in (low, high)}
            ),
        }
        self.agree(selected(df.select("x", "ts"), list(tests)), tests)

    def agree(self, found: dict[str, Pairs], expected: dict[str, Pairs]) -> None:
        self.outcome.reads += len(expected)
        self.outcome.skipped += sum(scan.skipped for scan in xskip.last_report(self.spark).scans)
        for label, rows in expected.items():
            missing, more = rows - found[label], found[label] - rows
            assert not missing, f"{label}: {missing.total()} rows are missing: {list(missing)[:3]}"
            assert not more, f"{label}: {more.total()} rows are too many: {list(more)[:3]}"


class TableRound:
    """A random table, whose rows several ways of reading return.

    Parameters
    ----------
    spark : SparkSession
    server : Server
    base : Path
        An empty directory.
    seed : int
    """

    def __init__(self, spark: SparkSession, server: Server, base: Path, seed: int) -> None:
        self.spark, self.server, self.base, self.seed = spark, server, base, seed

    def run(self, steps: int) -> Outcome:
        """Change the table in a number of random steps, and compare reads after each."""
        done: list[str] = []
        zone = _ZONES[self.seed % len(_ZONES)]
        table: SparkTable | None = None
        try:
            with under(self.spark, execution(self.seed) | {"spark.sql.ansi.enabled": "false"}, zone):
                table = SparkTable(self.server, self.seed, self.spark, self.base)
                steps_of(table, steps, done)
        except Exception:  # noqa: BLE001 - an error is a fault
            fault = f"seed {self.seed}, after {done[-3:]}: {traceback.format_exc(limit=-6)}"
        else:
            fault = ""
        found = Outcome(1) if table is None else table.outcome
        found.tables, found.steps = 1, len(done)
        found.faults += [fault] if fault else []
        return found


def steps_of(table: RandomTable, steps: int, done: list[str]) -> None:
    """Take steps of a random table until the server refuses one or spoils its table; note those that were taken."""
    for _ in range(steps):
        try:
            done.append(table.step())
        except (SqlError, SuspendedError):
            return
        if not table.compare():
            return
