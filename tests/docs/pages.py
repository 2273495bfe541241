"""The pages whose code blocks are tests, and what stands in for the data that they name."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.docs.blocks import blocks_in
from tests.maven import CannotFetchError
from tests.questdb.server import running_server
from tests.quixlake.lakes import WrittenLake
from tests.quixlake.written import message
from xskip.quixlake.selection import milliseconds

__all__ = ["ROOT", "pages", "prepare"]

ROOT = Path(__file__).parents[2]


def pages() -> list[Path]:
    """Return the README and the pages of the site that have code; other tests run the code in ``specs/``."""
    found = [ROOT / "README.rst", *sorted((ROOT / "docs").rglob("*.rst"))]
    return [page for page in found if blocks_in(page.read_text(encoding="utf-8"))]


def prepare(
    page: Path, request: pytest.FixtureRequest, folder: Path, spark: SparkSession | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the paths that stand in for those of a page, and the variables that the page does not define."""
    places = {"/lake/": f"{folder}/lake/", "/md/": f"{folder}/md/"}
    names: dict[str, Any] = {}
    if spark is not None:
        for key in ("strict", "writes.enabled"):  # as users have it
            spark.conf.unset(f"spark.xskip.{key}")
        xskip.disable(spark)
        names["spark"] = spark
    if page.stem == "quix-lake":
        places = {"s3a://bucket/workspace": str(_quix_lake(folder / "workspace"))}
    if page.stem == "questdb":
        places = {"/root/.questdb": str(_questdb(request, folder)), "s3a://archive": f"{folder}/archive"}
    return places, names


def _quix_lake(folder: Path) -> Path:
    """Write a lake with two segments of ten messages, and return its folder."""
    folder.mkdir()
    lake = WrittenLake(folder)
    first, start = 331_130, milliseconds("2026-01-31 09:30")
    rows = [
        message(first + i, timestamp=start + i, value=b'{"temp": %d, "site": "Oslo"}' % (25 + i)) for i in range(10)
    ]
    lake.describe([lake.segment("B", rows[:5], "csv-data"), lake.segment("B", rows[5:], "csv-data")])
    return folder


def _questdb(request: pytest.FixtureRequest, folder: Path) -> Path:
    """Return the root of a running QuestDB server with a table of trades of several days, or skip the test."""
    stack = ExitStack()
    request.addfinalizer(stack.close)
    try:
        server = stack.enter_context(running_server(folder))
    except CannotFetchError as error:
        pytest.skip(str(error))
    server.run(
        "trades",
        "create table trades (ts timestamp, sym symbol, price double, amount double) "
        "timestamp(ts) partition by day wal",
        "insert into trades select timestamp_sequence('2026-01-29T00:00:00Z', 60000000L), "
        "rnd_symbol('BTC', 'ETH'), 100 + x / 100.0, rnd_double() from long_sequence(5760)",
    )
    return server.root
