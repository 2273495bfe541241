"""The Python interface of the hook in the JVM: rules, snapshots, metadata locations, expressions and scans."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xskip.metadata.format_rules import SETTING_PREFIXES, SETTINGS
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.temporary import lasting_folder, temporary_folder
from xskip.spark.bridge.callback import Callback
from xskip.spark.bridge.compiler import RULE_CLASS, existing_rule, new_rule, rules_of, set_rules, write_jar
from xskip.spark.bridge.packed_values import Packed, numbers_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

__all__ = ["Hook", "Pieces", "Table", "build_session", "hook_of", "places_in"]

#: The number of bytes above which a snapshot goes to the JVM as a local file: py4j sends bytes as text, which is slow.
_MOST_BYTES = 1 << 20
Pieces = Sequence[bytes | memoryview]
_hooks: dict[int, Hook] = {}
_lock = threading.RLock()


def hook_of(spark: SparkSession) -> Hook:
    """Return the hook of the session's JVM, and compile the hook at the first call.

    A JVM gets a single hook: py4j caches methods by class name, so a second class loader with the same class names
    would break the first hook.
    """
    with _lock:
        gateway = spark.sparkContext._gateway
        hook = _hooks.get(id(gateway))
        if hook is None:
            _hooks.clear()
            hook = _hooks[id(gateway)] = Hook(spark, existing_rule(spark) or new_rule(spark))
        return hook


class Hook:
    """The hook in the JVM, ``java/XSkipRule.java``, with Python methods for its operations.

    Parameters
    ----------
    spark : SparkSession
        A session of the JVM.
    rule : JavaObject
        The optimizer rule, also the attribute ``rule``.
    """

    def __init__(self, spark: SparkSession, rule: Any) -> None:
        self._jvm: Any = spark._jvm
        self._gateway: Any = spark.sparkContext._gateway
        self.rule = rule
        self._callback: Callback | None = None
        self._shipped: str | None = None

    def connect(self, answer: Callable[[str], bytes | None]) -> None:
        """Register the function that answers the hook's requests; later calls have no effect.

        Parameters
        ----------
        answer : callable
            The function that gets each request as JSON text and returns the answer's bytes, or None to keep all files.
            The function must not raise.
        """
        if self._callback is None:
            from pyspark.java_gateway import ensure_callback_server_started

            ensure_callback_server_started(self._gateway)  # type: ignore[no-untyped-call]
            self._callback = Callback(answer)
            self.rule.setConfKeys(self.strings([*SETTINGS]), self.strings(SETTING_PREFIXES))
            self.rule.setCallback(self._callback)

    def install(self, spark: SparkSession) -> None:
        """Add the rule to a session, unless the session already has the rule."""
        if existing_rule(spark) is None:
            set_rules(spark, [*rules_of(spark), self.rule])

    def uninstall(self, spark: SparkSession) -> None:
        """Remove the rule from a session, and leave the rules of other libraries in place."""
        set_rules(spark, [rule for rule in rules_of(spark) if rule.ruleName() != RULE_CLASS])

    def is_installed(self, spark: SparkSession) -> bool:
        """Return whether the session has the rule."""
        return existing_rule(spark) is not None

    def key(self, path: str) -> str:
        """Return a path in the hook's spelling: without ``file:``, a password or a trailing slash."""
        return str(self.rule.key(path))

    def location(self, path: str) -> str:
        """Return a user's path in the hook's spelling; a path without a scheme is on the default file system."""
        return str(self.rule.location(path))

    def schema_of(self, ddl: str) -> str:
        """Return the schema JSON of a schema in DDL."""
        return str(self._jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl).json())

    def register(self, directory: str, token: int, objects: Pieces) -> None:
        """Send the files of a snapshot to the JVM; each bit of an answer refers to the file at that position.

        Parameters
        ----------
        directory : str
            The directory of the metadata, in the hook's spelling.
        token : int
            The number of the snapshot. The JVM ignores an answer with another number.
        objects : sequence of bytes-like
            The files in the format of ``java/XSkipSnapshot.java``, in pieces.
        """
        self.rule.register(directory, token, self.objects(objects))

    def objects(self, objects: Pieces) -> Any:
        """Return the JVM's representation of a snapshot's files.

        Many bytes go through a local file. If the JVM cannot read that file, the bytes go through py4j.

        Parameters
        ----------
        objects : sequence of bytes-like
            The files in the format of ``java/XSkipSnapshot.java``, in pieces.

        Returns
        -------
        JavaObject
            An instance of ``XSkipObjects``.
        """
        from py4j.protocol import Py4JJavaError

        if sum(map(len, objects)) > _MOST_BYTES:
            with temporary_folder("objects") as folder, suppress(Py4JJavaError):
                path = Path(folder) / "objects"
                with path.open("wb") as file:
                    file.writelines(objects)
                return self.rule.objectsFrom(str(path))
        return self.rule.objects(bytearray(b"".join(objects)))

    def unregister(self, directory: str) -> None:
        """Remove the snapshot of a metadata directory from the JVM."""
        self.rule.unregister(directory)

    def set_process_wide(self, key: str, value: str | None) -> None:
        """Set a value for all sessions that do not set the key themselves; None removes the value."""
        self.rule.setProcessWide(key, value)

    def places(self, root: str) -> list[IndexLocation]:
        """Return the possible locations of a path's metadata, in the order in which queries try them."""
        return places_in(self.rule.placesOf(root))

    def set_location(self, dataset: str, directory: str | None) -> None:
        """Choose the metadata directory of a dataset for the rest of the process.

        Parameters
        ----------
        dataset : str
            The dataset's root in the hook's spelling, or ``db.table``.
        directory : str or None
            The metadata directory in the hook's spelling. None restores the default locations.
        """
        self.rule.choosePlace(dataset, directory)

    def database_location(self, spark: SparkSession, database: str) -> str | None:
        """Return the base location of indexes in a database's properties, or None if the properties name none."""
        found = self.rule.databaseLocation(spark._jsparkSession, database)
        return None if found is None else self.location(found)

    def reader(self, reader: DataFrameReader) -> tuple[str, dict[str, str], str]:
        """Return the format, the options and the schema JSON of a reader; the JSON is empty without a schema."""
        told = json.loads(self.rule.reader(reader._jreader))
        return told["format"], told["options"], told["schema"]

    def table(self, spark: SparkSession, name: str) -> Table | None:
        """Return a table or view of the session's catalog, or None if the catalog does not have the name."""
        found = self.rule.table(spark._jsparkSession, name)
        return None if found is None else Table(**json.loads(found))

    def forget_directories(self) -> None:
        """Clear the JVM's record of which directories have an index."""
        self.rule.forgetDirectories()

    def evaluate(self, request: int, asked: Sequence[tuple[int, Packed]]) -> Packed:
        """Evaluate expressions of a request that is being answered, all in a single call of the JVM.

        Parameters
        ----------
        request : int
            The number of the request.
        asked : sequence of (int, Packed)
            The number of each expression in the request, and the values of its column.

        Returns
        -------
        Packed
            The results of all expressions, concatenated in the order of ``asked``.
        """
        parts = np.array([(term, len(v.states), len(v.data)) for term, v in asked], "<i8").tobytes()
        together = (bytearray(b"".join(each)) for each in zip(*(values for _, values in asked), strict=True))
        found = self.rule.evaluate(request, bytearray(parts), *together)
        return Packed(*map(base64.b64decode, (found.states(), found.numbers(), found.bytes())))

    def identity(self, function: Any) -> str:
        """Return a text that distinguishes a user's function from all other functions.

        Parameters
        ----------
        function : UserDefinedFunction or str
            The result of ``udf`` or ``spark.udf.register``, or the registered name of a function in Java or Scala.

        Returns
        -------
        str
            A digest of a Python function, or the name after ``java:``.
        """
        if isinstance(function, str):
            return f"java:{function}"
        return str(self.rule.identity(getattr(function, "_unwrapped", function)._judf))

    def settings(self, request: int) -> str:
        """Return a digest of all settings of the session whose request is being answered."""
        return str(self.rule.settings(request))

    def offset_spread(self, zone: str, low: int, high: int) -> int:
        """Return the range of a zone's UTC offsets between two instants, extended by two days on either side.

        Parameters
        ----------
        zone : str
            The name of the time zone.
        low, high : int
            The instants, in microseconds since the epoch.

        Returns
        -------
        int
            The greatest offset minus the least one, in microseconds; 36 hours if the hook does not compute the range.
        """
        return int(self.rule.offsetSpread(zone, low, high))

    def last_scan(self) -> int:
        """Return the number of the latest request."""
        return int(self.rule.lastScanId())

    def scans_after(self, number: int) -> list[dict[str, Any]]:
        """Return the pruning counts of the requests after a request's number, oldest first, at most the last 512.

        Returns
        -------
        list of dict
            For each request: its number, dataset root, format and query, the listed, known and kept files, the listed
            and kept bytes, and the times in milliseconds (see ``XSkipScan`` in ``java/XSkipHub.java``).
        """
        return list(json.loads(self.rule.scansAfter(number)))

    def explain(self, df: DataFrame) -> dict[str, Any]:
        """List the files of every scan of a query without running the query.

        Returns
        -------
        dict
            The name of this call under ``query``, and a dict for each scan under ``scans``.
        """
        return dict(json.loads(self.rule.explain(df._jdf)))

    def answer_at_once(self) -> None:
        """Make the JVM send large results without delay (``TCP_NODELAY``)."""
        with suppress(AttributeError):  # a gateway of another type lacks java_gateway_server
            self.rule.answerAtOnce(self._gateway.java_gateway_server)

    def files(self) -> Any:
        """Return the JVM's access to Hadoop's file systems (``java/XSkipFiles.java``)."""
        return self.rule.files()

    def ship_kernel(self, spark: SparkSession) -> None:
        """Send the hook's classes to the executors in a jar, once for each Spark application."""
        context = spark.sparkContext
        if self._shipped == context.applicationId:
            return
        path = f"{lasting_folder('kernel')}/xskip-kernel.jar"
        write_jar(self._jvm, path)
        context._jsc.sc().addJar(path)
        self._shipped = context.applicationId

    def footers(self, paths: Sequence[str], threads: int) -> list[bytes]:
        """Return the end of each Parquet file, from the first byte of its footer.

        Parameters
        ----------
        paths : sequence of str
            The Hadoop paths of the files.
        threads : int
            The number of threads that read in the JVM.

        Returns
        -------
        list of bytes
            The bytes for each file; empty for a file without a readable Parquet footer.
        """
        tails = self.rule.tails(self.strings(paths), threads)
        lengths = numbers_in(tails.lengths())
        ends = np.cumsum(lengths)
        joined = base64.b64decode(tails.joined())
        return [joined[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]

    def strings(self, values: Sequence[str]) -> Any:
        """Return a Java array of strings."""
        array = self._gateway.new_array(self._jvm.java.lang.String, len(values))
        for i, value in enumerate(values):
            array[i] = value
        return array


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view of a catalog.

    Attributes
    ----------
    name : str
        The name with its database, ``db.table``.
    database : str
        The name of the database.
    root : str
        The location of the data, in the hook's spelling; empty for a view.
    location : str
        The metadata location in the table's properties, in the hook's spelling; empty if the properties name none.
    is_view : bool
        Whether the catalog entry is a view.
    """

    name: str
    database: str
    root: str
    location: str
    is_view: bool


def places_in(text: str) -> list[IndexLocation]:
    """Parse the metadata locations that the JVM sends as JSON."""
    return [IndexLocation(**place) for place in json.loads(text)]


def build_session(spark: SparkSession) -> SparkSession:
    """Return a clone of a session for builds, with the same settings and views; its changes do not reach the user."""
    from pyspark import RDD

    rdd_to_df, active = RDD.toDF, spark._jvm.SparkSession.getActiveSession()  # type: ignore[union-attr]
    clone = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    # the constructor also replaces the thread's active session and the session of RDD.toDF: restore the user's session
    RDD.toDF = rdd_to_df  # type: ignore[method-assign]
    before = active.get() if active.isDefined() else spark._jsparkSession
    spark._jvm.SparkSession.setActiveSession(before)  # type: ignore[union-attr]
    return clone
