"""Fixtures and hooks of all tests; ``conftest.py`` in the root provides the Spark session that the tests share."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from tests import effort
from tests.helpers import AVRO_V2, Counted
from tests.results import screenshots
from xskip.api import arguments
from xskip.results.render import text_table

settings.register_profile(
    "xskip", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("xskip")

pytest_runtest_makereport = screenshots.pytest_runtest_makereport

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
    "fault points of a write survived",
    "random pairs of a file and a filter",
    "of them skipped",
    "damaged indexes",
    "tests of metadata with encrypted footer",
    "tests of metadata with plaintext footer",
)


def pytest_configure(config: pytest.Config) -> None:
    """Keep the order of files among processes, which ends with many short ones, the examples of the package.

    By default the files with few tests are last, and some of them take minutes.
    """
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run a sample of the tests; skip those of Avro with the second API if the Avro jar is older than Spark."""
    chosen = effort.sample(items)
    others = set(items).difference(chosen)
    if others:
        config.hook.pytest_deselected(items=list(others))
        items[:] = chosen
    for item in items:
        words = set(re.split(r"[-\[\]]", item.name))
        if not AVRO_V2 and {"v2", "avro"} <= words:
            item.add_marker(pytest.mark.skip(reason="the Avro jar is of an older Spark"))


def pytest_collection_finish() -> None:
    """Exclude the tests and all imported modules from further collections of garbage, which they make slow."""
    gc.collect()
    gc.freeze()


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


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Let Spark interpret plans, which for few rows takes less time than to compile them."""
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield
    spark.conf.unset("spark.sql.codegen.factoryMode")  # Spark's own catalogue needs it


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


@pytest.fixture
def small_parts(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let parts be as small as the files of tests, and queries read each by itself."""
    monkeypatch.setattr(arguments, "LEAST_PART", 1)
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
