"""Queries, refreshes and sessions leave no threads, handles or connections behind."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from pyspark import InheritableThread
from pyspark.sql import SparkSession

import xskip
from tests.helpers import index, write_once
from tests.plans.measure import INTERPRETED
from xskip import MinMax, SkippingIndex

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="handles are counted on Linux alone")
FILES = {f"f{i}": [(10 * i, i), (10 * i + 5, i)] for i in range(8)}
SCHEMA = "a int, g int"
_number = count()


@pytest.fixture
def made(spark: SparkSession, tmp_path: Path) -> SkippingIndex:
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)
    return index(spark, write_once(spark, tmp_path / "data", SCHEMA, FILES), [MinMax("a")])


def held() -> tuple[int, int, int]:
    """Return the numbers of threads, handles and sockets of this process."""
    gc.collect()
    links = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return threading.active_count(), len(links), sum(link.startswith("socket:") for link in links)


def query(spark: SparkSession, path: str) -> None:
    """Run a new query whose stages Spark plans in separate threads."""
    low = next(_number) / 1000
    df = spark.read.schema(SCHEMA).parquet(path)
    found = df.filter(f"a > {low}").join(df.filter(f"a < {50 + low}").select("g"), "g").groupBy("g").count()
    assert found.count() >= 4


def assert_flat(step: Callable[[], object], times: int) -> None:
    for _ in range(times // 2):
        step()
    before = held()
    for _ in range(times):
        step()
    assert all(after <= first for after, first in zip(held(), before, strict=True)), (before, held())


def test_queries(spark: SparkSession, made: SkippingIndex) -> None:
    """[PRU-AN-1] A request opens no new connection."""
    assert_flat(lambda: query(spark, made.name), 12)


def test_queries_of_many_threads(spark: SparkSession, made: SkippingIndex) -> None:
    """[PRU-AN-1] Sixteen threads open at most as many connections as they have concurrent requests."""

    def together() -> None:
        threads = [InheritableThread(target=query, args=(spark, made.name)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for _ in range(2):
        together()
    names = [thread.getName() for thread in spark._jvm.Thread.getAllStackTraces().keySet()]  # type: ignore[union-attr]
    assert 1 <= sum(name.startswith("xskip-answers-") for name in names) <= 16
    most = threading.active_count() + 16
    for _ in range(2):
        together()
    assert threading.active_count() <= most


def test_refreshes(spark: SparkSession, made: SkippingIndex) -> None:
    """[PRU-AN-1] A refresh and the query after it leave nothing behind."""

    def refreshed() -> None:
        os.utime(Path(made.name) / "f3.parquet")
        assert made.refresh().added == 1
        query(spark, made.name)

    assert_flat(refreshed, 8)


def test_sessions(spark: SparkSession, made: SkippingIndex) -> None:
    """[PRU-AN-1] A session that is enabled and disabled leaves nothing behind."""

    def another() -> None:
        own = spark.newSession()
        for key, value in INTERPRETED.items():
            own.conf.set(key, value)
        own.conf.set("spark.xskip.strict", "true")
        xskip.enable(own)
        query(own, made.name)
        xskip.disable(own)

    before = spark._jvm.SparkSession.getActiveSession()  # type: ignore[union-attr]
    assert_flat(another, 8)
    spark._jvm.SparkSession.setActiveSession(before.get() if before.isDefined() else spark._jsparkSession)  # type: ignore[union-attr]


def test_who_asks(spark: SparkSession, made: SkippingIndex) -> None:
    """[PRU-AN-2] The requesting thread has the job group and the session of the planning thread."""
    from xskip.spark.query.spark_engine import engine_of

    seen = []
    engine = engine_of(spark)
    answer = engine.hook._callback._answer  # type: ignore[union-attr]

    def asked(request: str) -> bytes | None:
        seen.append((spark.sparkContext.getLocalProperty("spark.jobGroup.id"), threading.current_thread().name))
        return answer(request)

    engine.hook._callback._answer = asked  # type: ignore[union-attr]
    try:
        for group in ("first", "second"):
            spark.sparkContext.setJobGroup(group, group)
            assert spark.read.parquet(made.name).filter(f"a > {next(_number) / 1000}").count() > 0
    finally:
        engine.hook._callback._answer = answer  # type: ignore[union-attr]
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None removes it
    assert [group for group, _ in seen] == ["first", "second"]
    assert threading.current_thread().name not in {name for _, name in seen}
