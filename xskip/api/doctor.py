"""A diagnosis of the installation, of the settings of a session, and of indexes."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from xskip.api.catalog import list_indexes
from xskip.api.index import SkippingIndex
from xskip.api.queries import explain
from xskip.api.session import MINIMUM_JAVA
from xskip.errors import MetadataNotFoundError, XskipError, statement_of
from xskip.hints import Phrase, Words
from xskip.indexes import MinMax
from xskip.indexing.source import base_location
from xskip.metadatastore.missing_index import no_index
from xskip.metadatastore.snapshot import open_snapshot
from xskip.metadatastore.temporary import temporary_folder
from xskip.paths import check_path
from xskip.results.diagnosis import Check, Diagnosis
from xskip.results.index_status import change_rows
from xskip.settings import ENABLED, HISTORY, LOCATION, STRICT, problems_of
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import first_line, reason, spark_errors
from xskip.spark.bridge.packages import spark_package
from xskip.spark.bridge.sessions import clone_session
from xskip.spark.query.spark_engine import SparkEngine, engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["doctor"]

#: The oldest Spark, and the first one that is too new.
_SPARK = ((3, 5), (4, 4))
_MAX_DATASETS = 20
_ROWS = 20


def doctor(spark: SparkSession, path: str | None = None) -> Diagnosis:
    """Check everything that skipping needs, and state for each check what to do.

    The checks are: the versions of Java and Spark, spark-avro, the hook in the JVM, the settings, the file systems, a
    dataset that is written, indexed, queried and removed in a temporary directory, and the state of indexes.

    Parameters
    ----------
    spark : SparkSession
        The session whose settings and file systems count.
    path : str, optional
        A dataset whose index is checked. None checks the indexes that :func:`xskip.list_indexes` returns, at most 20.

    Returns
    -------
    Diagnosis
        The checks, which print as a table and show as HTML in notebooks. No check raises an error.

    Raises
    ------
    ArgumentError
        If the object is not a session, the session was stopped, or the path is not a text.

    Examples
    --------
    >>> found = xskip.doctor(spark, indexed_path)
    >>> [(check.name, check.state) for check in found if check.name in ("round trip", "index")]
    [('round trip', 'ok'), ('index', 'ok')]
    """
    path = None if path is None else check_path(path)
    engine = engine_of(spark)
    parts: list[tuple[str, Callable[[], Iterable[Check]]]] = [
        ("java", lambda: [_java(engine)]),
        ("spark", lambda: [_spark(spark)]),
        ("spark-avro", lambda: [_avro(spark, engine)]),
        ("skipping", lambda: [_skipping(spark, engine)]),
        ("settings", lambda: _settings(spark, engine)),
        ("file system", lambda: _file_systems(spark, engine, path)),
    ]
    if any(problems_of(engine.settings.configured(spark))):  # operations refuse such settings
        parts += [(name, lambda name=name: [_not_checked(name)]) for name in ("round trip", "index")]  # type: ignore[misc]
    else:
        parts += [
            ("round trip", lambda: [_round_trip(spark, engine)]),
            ("index", lambda: [_index(spark, engine, path)] if path else _indexes(spark, engine)),
        ]
    return Diagnosis(tuple(check for name, run in parts for check in _guarded(name, run)))


def _guarded(name: str, run: Callable[[], Iterable[Check]]) -> list[Check]:
    """Run checks; an error is a failure of the check."""
    try:
        return list(run())
    except XskipError as error:
        return [Check(name, "failure", statement_of(error), error.hint or "")]
    except Exception as error:  # noqa: BLE001 - a diagnosis reports errors
        return [Check(name, "failure", reason(error))]


def _not_checked(name: str) -> Check:
    return Check(name, "failure", "not checked, because operations refuse the settings", "correct the settings")


def _java(engine: SparkEngine) -> Check:
    version = str(engine.hook.gateway.jvm.java.lang.System.getProperty("java.version"))
    major = int(version.split(".", maxsplit=1)[0].split("-", maxsplit=1)[0])
    if major < MINIMUM_JAVA:
        return Check("java", "failure", f"Java {version}", f"use Java {MINIMUM_JAVA} or newer")
    return Check("java", "ok", f"Java {version}")


def _spark(spark: SparkSession) -> Check:
    import pyspark

    oldest, too_new = (".".join(map(str, each)) for each in _SPARK)
    found = f"Spark {spark.version}"
    if spark.version != pyspark.__version__:
        advice = f"install pyspark=={spark.version}, because Python and the JVM must have one version"
        return Check("spark", "warning", f"{found}, PySpark {pyspark.__version__}", advice)
    version = tuple(int(part) for part in spark.version.split(".")[:2])
    if not _SPARK[0] <= version < _SPARK[1]:
        return Check(
            "spark", "warning", found, f"use a Spark that xskip is tested with: {oldest} or newer, below {too_new}"
        )
    return Check("spark", "ok", found)


def _avro(spark: SparkSession, engine: SparkEngine) -> Check:
    clone = clone_session(engine.hook, spark, {ENABLED.key: "false"})
    with temporary_folder("doctor") as folder:
        try:
            clone.read.format("avro").schema("a int").load(f"file:{folder}")
        except spark_errors() as error:
            package = spark_package("avro")
            advice = Words("for Avro files, {}", Phrase(f"start Spark with --packages {package}", "use --avro"))
            said = first_line(error)
            found = "spark-avro is missing" if "Failed to find data source: avro" in said else said
            return Check("spark-avro", "warning", found, advice)
    return Check("spark-avro", "ok", "Spark reads Avro files")


def _skipping(spark: SparkSession, engine: SparkEngine) -> Check:
    if not engine.hook.is_installed(spark):
        return Check("skipping", "warning", "off in this session", "call xskip.enable(spark)")
    setting = engine.settings.configured(spark).get(ENABLED.key, "")
    if setting.strip().lower() == "false":
        return Check("skipping", "warning", f"{ENABLED.key} is false", f"set {ENABLED.key} to true")
    return Check("skipping", "ok", "on in this session")


def _settings(spark: SparkSession, engine: SparkEngine) -> Iterator[Check]:
    configured = engine.settings.configured(spark)
    problems = list(problems_of(configured))
    for problem in problems:
        hint = problem.hint or f"set it to {problem.expected}, or unset it"
        found = f"{problem.where}: {problem.found}" if problem.where else problem.found
        yield Check("settings", "warning", f"{problem.what}: {found}", hint)
    if not problems:
        yield Check("settings", "ok", f"{len(configured)} set, all valid")


def _file_systems(spark: SparkSession, engine: SparkEngine, path: str | None) -> Iterator[Check]:
    """Check that directories can be listed: the default file system, the base location, and the dataset."""
    locations = engine.hook.locations
    places = {"the default file system": "/"}
    configured = engine.settings.configured(spark).get(LOCATION.key)
    places |= {LOCATION.key: configured} if configured else {}
    places |= {"the dataset": path} if path else {}
    for what, place in places.items():
        try:
            directory = locations.qualified(place)
            storage = storage_for(engine.hook, directory)
            count = len(storage.list(directory)) + len(storage.directories(directory))
        except Exception as error:  # noqa: BLE001 - a diagnosis reports errors
            advice = (error.hint if isinstance(error, XskipError) else None) or "check the address and its jar"
            yield Check("file system", "failure", Words("{} at {}: {}", what, place, reason(error)), advice)
        else:
            if count or place != path:
                yield Check("file system", "ok", f"{what} at {directory}: {count} entries")
            else:
                yield Check(
                    "file system", "failure", f"{what} at {directory} is empty or does not exist", "check the path"
                )


def _round_trip(spark: SparkSession, engine: SparkEngine) -> Check:
    """Write a dataset of two files, index it, query it with skipping, and remove it."""
    settings = {ENABLED.key: "true", STRICT.key: "false", "spark.xskip.evaluate": "false", HISTORY.key: ""}
    clone = clone_session(engine.hook, spark, settings)
    if str(spark.sparkContext.master).startswith("local"):
        with temporary_folder("doctor") as folder:
            return _tried(clone, engine, f"file:{folder}/data")
    root = engine.hook.locations.qualified(f"/tmp/xskip-doctor-{uuid.uuid4().hex}")
    try:
        return _tried(clone, engine, root)
    finally:
        storage_for(engine.hook, root).remove_tree(root)


def _tried(session: SparkSession, engine: SparkEngine, root: str) -> Check:
    session.range(0, _ROWS, 1, 2).write.parquet(root)
    index = SkippingIndex.for_path(session, root)
    index.create([MinMax("id")], progress=False)
    try:
        engine.hook.install(session)
        df = session.read.parquet(root).filter(f"id >= {_ROWS - 5}")
        (scan,) = explain(df).scans
        rows = df.count()
    finally:
        index.drop()
    if rows != 5:
        return Check("round trip", "failure", f"a query returned {rows} rows instead of 5", "report this as a defect")
    if (scan.kept, scan.files) != (1, 2):
        found = Words("a query read {} of {} files instead of 1 of 2: {}", scan.kept, scan.files, scan.problem)
        return Check("round trip", "failure", found, "report this with the output of xskip.explain(df)")
    return Check("round trip", "ok", f"wrote, indexed and queried {root}: 1 of 2 files read")


def _indexes(spark: SparkSession, engine: SparkEngine) -> Iterator[Check]:
    found = list(list_indexes(spark))
    if not found:
        base = base_location(spark, engine)
        where = f"no index under {base}" if base else "this process has used no index yet"
        yield Check("index", "ok", where, "pass a path to check the index of a dataset")
    for entry in found[:_MAX_DATASETS]:
        yield from _guarded("index", lambda dataset=entry.dataset: [_index(spark, engine, dataset)])  # type: ignore[misc]
    if len(found) > _MAX_DATASETS:
        yield Check("index", "ok", f"{len(found) - _MAX_DATASETS} further indexes, not checked", "pass the path of one")


def _index(spark: SparkSession, engine: SparkEngine, path: str) -> Check:
    """Compare the index of a path with its dataset, which is read in the format that the index records."""
    locations = engine.hook.locations.of_path(spark, engine.hook.locations.qualified(path))
    for location in locations:
        snapshot = open_snapshot(storage_for(engine.hook, location.directory), location.directory)
        if snapshot is not None:
            reading: Any = snapshot.read_profile
            kind = "parquet" if reading is None else reading.format
            return _state(path, SkippingIndex.for_path(spark, path, format=kind))
    return _missing_index(path, no_index(storage_for(engine.hook, locations[0].directory), locations[0]))


def _missing_index(path: str, error: MetadataNotFoundError) -> Check:
    return Check("index", "warning", f"{path}: {error.what}", error.hint or "")


def _state(path: str, index: SkippingIndex) -> Check:
    try:
        status = index.status()
    except MetadataNotFoundError as error:
        return _missing_index(path, error)
    rows = change_rows(status.missing, status.stale, status.changed, len(status.unreadable))
    found = ", ".join([f"{path}: {status.indexed:,} files indexed", *(f"{count:,} {name}" for name, count in rows)])
    if status.problem:
        advice = "read the dataset as it was indexed, or drop the index and create it again"
        return Check("index", "warning", Words("{}; queries do not use it: {}", found, status.problem), advice)
    if not status.up_to_date:
        return Check("index", "warning", found, status.remedy)
    return Check("index", "ok", found)
