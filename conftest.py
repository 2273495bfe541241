"""Fixtures that the tests share with the examples in docstrings: a Spark session in strict mode, and datasets.

In strict mode, a query that cannot use an index fails with the reason instead of reading all files.
"""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from py4j.java_gateway import JavaClass, JavaPackage, JVMView
from pyspark.sql import SparkSession

import xskip
from tests.class_archive import archive_options, start_archive
from tests.closure_cleaner import closure_cleaner_options

#: Tests of the tests collect others.
pytest_plugins = ["pytester"]

_REBASE = [
    f"{source}RebaseModeIn{way}"
    for source in ("parquet.datetime", "parquet.int96", "avro.datetime")
    for way in ("Read", "Write")
]


#: Tests run most code too few times to pay for the optimizing compiler. The cache has the size that it has with it.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"


def pytest_configure(config: pytest.Config) -> None:
    """Start the JVMs of all drivers, also those of other processes, with options for short runs."""
    for owner in (JVMView, JavaPackage):
        owner.__getattr__ = _known_names(owner.__getattr__)
    given = os.environ.get("SPARK_SUBMIT_OPTS", "")
    if _JAVA_OPTIONS in given:  # a worker has the environment of its controller
        return
    options = f"{_JAVA_OPTIONS} {given}".strip()
    if config.pluginmanager.has_plugin("cacheprovider"):
        folder = config.cache.mkdir("java")
        options = f"{options} {closure_cleaner_options(folder)}".strip()
        if getattr(config.option, "numprocesses", None):
            _archiving.append(start_archive(folder, options))
            options = f"{options} {archive_options(folder, options)}"
    os.environ["SPARK_SUBMIT_OPTS"] = options


def pytest_unconfigure() -> None:
    """Stop the processes that still write the archive of Spark's classes."""
    for process in _archiving:
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


#: The process that writes the archive of Spark's classes, while the first tests run.
_archiving: list[subprocess.Popen[bytes] | None] = []


def _known_names(look_up: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Return a look-up that asks the JVM only once what a name below a package is.

    The JVM searches all jars of its class path for a class with the name of each package, such as ``org``. PySpark
    writes out the names of packages in most calls, and the searches take a tenth of the time of the JVM.
    """

    def known(self: Any, name: str) -> Any:
        found = look_up(self, name)
        if isinstance(found, (JavaPackage, JavaClass)):
            self.__dict__[name] = found
        return found

    return known


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Yield the Spark session that all tests share."""
    home = tmp_path_factory.mktemp("spark")
    # each job carries all settings of Hadoop, and most of them are defaults of services that no test uses
    (home / "classpath").mkdir()
    for service in ("yarn", "hdfs", "mapred"):
        (home / "classpath" / f"{service}-default.xml").write_text("<configuration/>")
    (home / "classpath" / "core-default.xml").write_bytes(_core_defaults())
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("xskip tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.sources.parallelPartitionDiscovery.threshold", "256")  # a job has a task for each directory
        .config("spark.broadcast.blockSize", "64k")  # the size of a buffer, which most broadcasts do not fill
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.xskip.writes.enabled", "false")  # most tests write what an index does not know yet
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
        .config("spark.driver.extraClassPath", str(home / "classpath"))
        .config("spark.python.daemon.module", "tests.python_workers")
        .config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parent))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    for key in _REBASE:  # Spark 4's defaults; 3.5 refuses to write old dates
        builder = builder.config(f"spark.sql.{key}", "CORRECTED")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # functions in Python have what the tests have
    spark = xskip.configure(builder, avro_version=os.environ.get("XSKIP_TEST_AVRO")).getOrCreate()
    yield spark
    spark.stop()


#: Defaults of Hadoop's core for services and file systems that no test of the session uses.
_UNUSED_DEFAULTS = re.compile(
    r"(hadoop\.(security|http|zk|registry|ssl|caller|rpc|kerberos)|ipc|rpc|ha|net|fs\.(s3a|viewfs|azure|adl|ftp|client)|ftp)\."
)


def _core_defaults() -> bytes:
    """Return the file of Hadoop's defaults without those that the session does not use."""
    (jar,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    with ZipFile(jar) as archive:
        defaults = ElementTree.fromstring(archive.read("core-default.xml"))
    for entry in list(defaults):
        name = entry.findtext("name") or ""
        if _UNUSED_DEFAULTS.match(name) and not name.endswith(".impl"):
            defaults.remove(entry)
    return ElementTree.tostring(defaults)


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings of the session as a map in the JVM, read by few calls: each entry that Python reads is several."""

    entries: Any
    hash_map: Any
    string: Any

    def copy(self) -> Any:
        """Return a copy of the map in the JVM."""
        return self.hash_map(self.entries)

    def only_in(self, one: Any, other: Any) -> dict[str, str]:
        """Return the entries of a map that another does not have."""
        left = self.hash_map(one)
        left.entrySet().removeAll(other.entrySet())
        # the end of an iterator in the JVM is an exception, which PySpark inspects by dozens of calls
        keys = self.string.join("\n", left.keySet())
        return {key: left.get(key) for key in keys.split("\n") if key}


@pytest.fixture(scope="session")
def _settings(session: SparkSession) -> _Settings:
    """Return the settings of the session."""
    assert session._jvm is not None
    java = session._jvm.java
    return _Settings(session._jsparkSession.sessionState().conf().settings(), java.util.HashMap, java.lang.String)


@pytest.fixture
def spark(session: SparkSession, _settings: _Settings) -> Iterator[SparkSession]:
    """Yield the shared session in strict mode with skipping on, and restore its settings and catalog after the test."""
    before = _settings.copy()
    session.conf.set("spark.xskip.strict", "true")
    xskip.enable(session)
    yield session
    xskip.enable(session)
    assert not list(session._jsparkSession.listenerManager().listListeners()), "a listener would hear all later queries"
    for name, kind in _tables(session):
        session.sql(f"DROP {kind} IF EXISTS `{name}`")
    session.catalog.clearCache()
    wanted = _settings.only_in(before, _settings.entries)
    for key in _settings.only_in(_settings.entries, before).keys() | wanted.keys():
        session.conf.set(key, wanted[key]) if key in wanted else session.conf.unset(key)


def _tables(session: SparkSession) -> list[tuple[str, str]]:
    """Return the tables and views of ``session.catalog.listTables()``, which is a query, and what each of them is."""
    catalog = session._jsparkSession.sessionState().catalog()
    found = catalog.listTables(catalog.getCurrentDatabase())
    names = [found.apply(i) for i in range(found.size())]
    return [(name.table(), "VIEW" if catalog.isTempView(name) else "TABLE") for name in names]


#: The temperatures of three cities, one Parquet file for each city.
_TEMPERATURES = {"oslo": [-4.0, 8.5], "lima": [15.0, 24.0], "cairo": [18.5, 36.0]}


def _write_cities(root: Path) -> str:
    root.mkdir()
    for city, temperatures in _TEMPERATURES.items():
        table = pa.table({"city": [city] * len(temperatures), "temp": temperatures})
        pq.write_table(table, root / f"{city}.parquet")
    return str(root)


@pytest.fixture
def cities(spark: SparkSession, tmp_path: Path) -> dict[str, Any]:
    """Return the names that examples can use: ``spark``, and two directories with the same three Parquet files.

    The dataset at ``path`` has no index. The dataset at ``indexed_path`` has an index below a base location.
    """
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "metadata"))
    names = {"path": _write_cities(tmp_path / "cities"), "indexed_path": _write_cities(tmp_path / "indexed")}
    index = xskip.SkippingIndex.for_path(spark, names["indexed_path"])
    index.create([xskip.MinMax("temp"), xskip.ValueList("city")])
    return {"spark": spark, **names}


@pytest.fixture(autouse=True)
def _example_names(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> Iterator[None]:
    """Define ``xskip`` for all examples, and the names of ``cities`` for examples that contain ``spark``."""
    added: dict[str, Any] = {}
    if isinstance(request.node, pytest.DoctestItem):
        added |= {"xskip": xskip}
        if "spark" in _names_in(request.node):
            added |= request.getfixturevalue("cities")
    doctest_namespace.update(added)
    yield
    for name in added:
        del doctest_namespace[name]


def _names_in(item: pytest.DoctestItem) -> set[str]:
    """Return the variables that the examples of a docstring use or define."""
    examples = item.dtest.examples if item.dtest else []
    nodes = (node for example in examples for node in ast.walk(ast.parse(example.source)))
    return {node.id for node in nodes if isinstance(node, ast.Name)}
