"""Fixtures and hooks of all tests; the tests share one Spark session in strict mode.

In strict mode, a query that cannot use an index fails with the reason instead of reading all files.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

import xskip
from tests.helpers import AVRO_V2, Counted
from xskip.results.render import text_table

settings.register_profile(
    "xskip", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("xskip")

_REBASE = [
    f"{source}RebaseModeIn{way}"
    for source in ("parquet.datetime", "parquet.int96", "avro.datetime")
    for way in ("Read", "Write")
]
_SHARED = Path(__file__).parents[2] / "shared"
#: What tests count, in the order of the table.
COUNTS = (
    "golden directories read",
    "golden queries whose verdicts are those on record",
    "golden queries with a named exception",
    "pairs of versions migrated",
    "goldens migrated to a version with every value",
    "goldens joined from pieces with every value",
    "fault points of a migration survived",
    "fault points of a commit survived",
    "random pairs of a file and a filter",
    "of them skipped",
    "damaged indexes",
    "tests of metadata with encrypted footer",
    "tests of metadata with plaintext footer",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of Avro with the second data source API if the Avro jar is older than Spark."""
    for item in items:
        words = set(re.split(r"[-\[\]]", item.name))
        if not AVRO_V2 and {"v2", "avro"} <= words:
            item.add_marker(pytest.mark.skip(reason="the Avro jar is of an older Spark"))


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> Counted:
    """Return a function that adds a number to the table at the end of the report, if the test passes."""

    def count(what: str, number: int) -> None:
        assert what in COUNTS
        record_property(what, number)

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the sums of the numbers that passing tests have counted as one table."""
    passed = [report for report in terminalreporter.stats.get("passed", []) if report.when == "call"]
    sums: Counter[str] = Counter()
    for report in passed:
        for what, number in report.user_properties:
            sums[what] += number
        for footer in (what for what in COUNTS if what.endswith("footer")):
            sums[footer] += footer.removeprefix("tests of metadata with ") in report.nodeid
    rows = [(what, sums[what]) for what in COUNTS if sums[what]]
    if rows:
        terminalreporter.section("seen in passing tests")
        terminalreporter.write_line(text_table(["what", "how many"], rows))


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Yield the Spark session that all tests share."""
    home = tmp_path_factory.mktemp("spark")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("xskip tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    for key in _REBASE:  # Spark 4's defaults; 3.5 refuses to write old dates
        builder = builder.config(f"spark.sql.{key}", "CORRECTED")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # functions in Python have what the tests have
    spark = xskip.configure(builder, avro_version=os.environ.get("XSKIP_TEST_AVRO")).getOrCreate()
    yield spark
    spark.stop()


@pytest.fixture
def spark(session: SparkSession) -> Iterator[SparkSession]:
    """Yield the shared session in strict mode with skipping on, and restore its settings and catalog after the test."""
    before = _settings(session)
    session.conf.set("spark.xskip.strict", "true")
    xskip.enable(session)
    yield session
    xskip.enable(session)
    assert not list(session._jsparkSession.listenerManager().listListeners()), "a listener would hear all later queries"
    for view in session.catalog.listTables():
        session.sql(f"DROP {'VIEW' if view.isTemporary else 'TABLE'} IF EXISTS `{view.name}`")
    session.catalog.clearCache()
    after = _settings(session)
    for key in after.keys() | before.keys():
        if key.startswith(("spark.sql.", "spark.xskip.")) and after.get(key) != before.get(key):
            session.conf.set(key, before[key]) if key in before else session.conf.unset(key)


def _settings(session: SparkSession) -> dict[str, str]:
    """Return the settings of a session, which Spark 3.5 shows only in the JVM."""
    return dict(session._jsparkSession.sessionState().conf().settings())


@pytest.fixture(scope="module", autouse=True)
def _collect_garbage() -> Iterator[None]:
    """Collect garbage after each module.

    The objects of py4j form cycles, so that their counterparts stay in the JVM until Python's collector runs.
    """
    yield
    gc.collect()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the directory of the golden files beside the repository, or skip the test if it is absent."""
    if not _SHARED.is_dir():
        pytest.skip("needs the golden files that lie beside the repo, and they are not here")
    return _SHARED
