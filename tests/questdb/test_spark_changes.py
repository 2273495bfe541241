"""Tables that Spark reads while a server changes them: random lives, and writes in the middle of reads."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.random_tables import STEPS, RandomTable, steps_of
from tests.questdb.server import Server
from tests.questdb.spark_values import compare_rows, load
from xskip.questdb.table import open_table

_SECONDS = 60
_REFUSAL = "xskip cannot read"


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


class SparkTable(RandomTable):
    """A random table with an index, which Spark reads after each step."""

    def __init__(self, server: Server, seed: int, spark: SparkSession) -> None:
        super().__init__(server, seed)
        self.spark = spark
        self.skipped = 0
        self.index = xskip.SkippingIndex.for_path(spark, str(self.path), format="questdb")
        self.index.create([xskip.MinMax("x"), xskip.ValueList("x"), xskip.MinMax("ts")])

    @property
    def path(self) -> Path:
        return self.server.database / self.name

    def compare(self, statement: str) -> bool:
        if not super().compare(statement):
            return False
        try:
            self.look()
        except Exception as error:
            raise AssertionError(f"Spark, after: {statement}") from error
        return True

    def with_parquet(self) -> None:
        self.look()

    def look(self) -> None:
        """Compare all rows, and those of random filters, which the index serves whether it is fresh or not."""
        table = open_table(self.path).to_arrow()
        df = load(self.spark, self.path)
        compare_rows(df, table)
        if self.random.random() < 0.5:
            self.index.refresh()
        pairs = list(zip(table["x"].to_pylist(), table["ts"].cast("int64").to_pylist(), strict=True))
        for _ in range(3):
            x, time = self.random.choice(pairs) if pairs else (0, 0)
            low, high = sorted([time, self.random.choice(pairs)[1] if pairs else 0])
            expected = [p for p in pairs if p[0] == x], [p for p in pairs if low <= p[1] < high and p[0] <= x]
            found = (
                df.filter(f"x = {x}"),
                df.filter(f"ts >= timestamp_micros({low}) AND ts < timestamp_micros({high}) AND x <= {x}"),
            )
            for rows, wanted in zip(found, expected, strict=True):
                got = [tuple(row) for row in rows.select("x", F.unix_micros("ts")).collect()]
                assert Counter(got) == Counter(wanted)
                self.skipped += sum(scan.skipped for scan in xskip.last_report(self.spark).scans)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tables_of_known_seeds(spark: SparkSession, server: Server, seed: int) -> None:
    """[QDB-SP-1], [QDB-SP-5], [QDB-SP-6]."""
    table = SparkTable(server, seed, spark)
    assert steps_of(table) == STEPS
    assert table.skipped > 0


def test_a_table_of_a_random_seed(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-1], [QDB-SP-5], [QDB-SP-6]."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - pytest shows it if the test fails
    steps_of(SparkTable(server, seed, spark))


class Writer(threading.Thread):
    """A thread that changes a table without pause, and knows each state that the table had."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server
        self.name = server.name("busy")
        self.states = {(0, 0)}
        self.rows, self.sum = 0, 0
        self.done = threading.Event()
        self.failure: Exception | None = None
        server.exec(f"create table {self.name} (x long, s symbol, ts timestamp) timestamp(ts) partition by day wal")
        self.insert(20_000, 5_000_000)

    def insert(self, rows: int, step: int, start: int = 0) -> None:
        self.rows += rows
        self.sum += rows * (rows + 1) // 2
        self.states.add((self.rows, self.sum))
        values = f"x, rnd_symbol('a', 'b'), ({start} + x * {step})::timestamp"
        self.server.run(self.name, f"insert into {self.name} select {values} from long_sequence({rows})")

    def run(self) -> None:
        chosen = random.Random(5)
        statements = (
            f"alter table {self.name} convert partition to parquet where ts < '1970-01-02'",
            f"alter table {self.name} convert partition to native where ts < '1970-01-02'",
            f"alter table {self.name} squash partitions",
        )
        try:
            while not self.done.is_set():
                for _ in range(3):
                    self.insert(chosen.choice([1, 100, 3000]), 7_000_000, chosen.randrange(90_000_000_000))
                    time.sleep(0.05)
                self.server.run(self.name, chosen.choice(statements))
        except Exception as error:  # noqa: BLE001 - the test shows it
            self.failure = error


def state(df: DataFrame) -> tuple[int, int] | None:
    """Return the rows and the sum of a table, which two scans of a query read, or None if the read is refused."""
    both = df.agg(F.count("*"), F.sum("x")).union(df.agg(F.count("s"), F.sum("x")))
    try:
        first, second = (tuple(row) for row in both.collect())
    except Exception as error:
        if _REFUSAL not in str(error):
            raise
        return None
    assert first == second
    return first


def test_every_read_is_one_of_the_states_of_the_table(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-3], [QDB-SP-4]: a read has the rows of one transaction, or is refused with an error."""
    writer = Writer(server)
    df = load(spark, server.database / writer.name)
    seen: Counter[tuple[int, int]] = Counter()
    refused = 0
    writer.start()
    try:
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            found = state(df)
            refused += found is None
            if found is not None:
                seen[found] += 1
    finally:
        writer.done.set()
        writer.join()
    assert writer.failure is None
    print(f"{sum(seen.values())} reads of {len(seen)} states, {refused} refused")  # noqa: T201
    assert set(seen) <= writer.states
    assert len(seen) > 5
    assert refused <= 5 * sum(seen.values())
