"""A table that Spark reads while a server changes it."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.server import Server
from tests.questdb.spark_values import load

_SECONDS = 30
#: Enough reads and states of the table, and changes of each kind.
_READS, _STATES, _CHANGES = 40, 10, 2
_REFUSAL = "xskip cannot read"


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


class Writer(threading.Thread):
    """A thread that changes a table without pause, and knows each state that the table had."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server
        self.name = server.name("busy")
        self.states = {(0, 0)}
        self.rows, self.sum = 0, 0
        self.changes: Counter[str] = Counter()
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

    def has_changed(self, seen: Counter[tuple[int, int]]) -> bool:
        """Return whether reads have seen enough states of the table, with enough changes of each kind between them."""
        enough = sum(seen.values()) >= _READS and len(seen) >= _STATES
        return enough and bool(self.changes) and min(self.changes.values()) >= _CHANGES

    def run(self) -> None:
        chosen = random.Random(5)
        statements = (
            f"alter table {self.name} convert partition to parquet where ts < '1970-01-02'",
            f"alter table {self.name} convert partition to native where ts < '1970-01-02'",
            f"alter table {self.name} squash partitions",
        )
        self.changes.update(dict.fromkeys(statements, 0))
        try:
            while not self.done.is_set():
                for _ in range(3):
                    self.insert(chosen.choice([1, 100, 3000]), 7_000_000, chosen.randrange(90_000_000_000))
                    time.sleep(0.05)
                statement = chosen.choice(statements)
                self.server.run(self.name, statement)
                self.changes[statement] += 1
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
        while time.monotonic() < end and not writer.has_changed(seen):
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
    assert min(writer.changes.values()) > 0
    assert refused <= 5 * sum(seen.values())
