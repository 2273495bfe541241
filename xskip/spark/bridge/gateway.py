"""All that speaks to the hook in the JVM: sessions, datasets, files."""

from __future__ import annotations

import base64
import json
import threading
import zipfile
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
from xskip.spark.bridge.compiler import RULE_CLASS, compiled, existing_rule, new_rule, rules_of, set_rules
from xskip.spark.bridge.packed_values import Packed, numbers_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

__all__ = ["Hook", "Pieces", "Table", "build_session", "hook_of", "places_in"]

#: More bytes than these go to the JVM as a file, which both can read where they share a disk: py4j's text is slow.
_MOST_BYTES = 1 << 20
Pieces = Sequence[bytes | memoryview]
_hooks: dict[int, Hook] = {}
_lock = threading.RLock()


def hook_of(spark: SparkSession) -> Hook:
    """The hook of the session's JVM, compiled at the first call.

    py4j keeps methods by class name, so a second class loader with the same names would break the first: one per JVM.
    """
    with _lock:
        gateway = spark.sparkContext._gateway
        hook = _hooks.get(id(gateway))
        if hook is None:
            _hooks.clear()
            hook = _hooks[id(gateway)] = Hook(spark, existing_rule(spark) or new_rule(spark))
        return hook


class Hook:
    """The rule in the JVM, ``java/XSkipRule.java``, and what Python asks of it."""

    def __init__(self, spark: SparkSession, rule: Any) -> None:
        self._jvm: Any = spark._jvm
        self._gateway: Any = spark.sparkContext._gateway
        self.rule = rule
        self._callback: Callback | None = None
        self._shipped: str | None = None

    def connect(self, answer: Callable[[str], bytes | None]) -> None:
        """Lets ``answer`` decide: it is given each request as JSON and never raises."""
        if self._callback is None:
            from pyspark.java_gateway import ensure_callback_server_started

            ensure_callback_server_started(self._gateway)  # type: ignore[no-untyped-call]
            self._callback = Callback(answer)
            self.rule.setConfKeys(self.strings([*SETTINGS]), self.strings(SETTING_PREFIXES))
            self.rule.setCallback(self._callback)

    def install(self, spark: SparkSession) -> None:
        """Adds the rule to a session, once."""
        if existing_rule(spark) is None:
            set_rules(spark, [*rules_of(spark), self.rule])

    def uninstall(self, spark: SparkSession) -> None:
        """Takes the rule out of a session; foreign rules stay."""
        set_rules(spark, [rule for rule in rules_of(spark) if rule.ruleName() != RULE_CLASS])

    def is_installed(self, spark: SparkSession) -> bool:
        """Has the session the rule."""
        return existing_rule(spark) is not None

    def key(self, path: str) -> str:
        """A path as the hook names datasets: without ``file:``, without a trailing slash."""
        return str(self.rule.key(path))

    def location(self, path: str) -> str:
        """The same for a path of the user's, which without a scheme is of the default file system."""
        return str(self.rule.location(path))

    def schema_of(self, ddl: str) -> str:
        """A schema in DDL, as JSON."""
        return str(self._jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl).json())

    def register(self, directory: str, token: int, objects: Pieces) -> None:
        """Tells the JVM the objects of a snapshot, whose bits answers then speak of.

        Parameters
        ----------
        directory : str
            Of the metadata.
        token : int
        objects : sequence of bytes-like
            See ``java/XSkipSnapshot.java``.
        """
        self.rule.register(directory, token, self.objects(objects))

    def objects(self, objects: Pieces) -> Any:
        """Objects as the JVM holds them."""
        from py4j.protocol import Py4JJavaError

        if sum(map(len, objects)) > _MOST_BYTES:
            with temporary_folder("objects") as folder, suppress(Py4JJavaError):
                path = Path(folder) / "objects"
                with path.open("wb") as file:
                    file.writelines(objects)
                return self.rule.objectsFrom(str(path))
        return self.rule.objects(bytearray(b"".join(objects)))

    def unregister(self, directory: str) -> None:
        """Forgets a snapshot."""
        self.rule.unregister(directory)

    def set_process_wide(self, key: str, value: str | None) -> None:
        """A setting for sessions that do not have it themselves; None takes it away."""
        self.rule.setProcessWide(key, value)

    def places(self, root: str) -> list[IndexLocation]:
        """Where the metadata of a path may be, in the order in which queries look."""
        return places_in(self.rule.placesOf(root))

    def set_location(self, dataset: str, directory: str | None) -> None:
        """Where the metadata of a dataset are from now on; None: where they would be.

        Parameters
        ----------
        dataset : str
            Its root, or ``db.table``.
        directory : str or None
        """
        self.rule.choosePlace(dataset, directory)

    def database_location(self, spark: SparkSession, database: str) -> str | None:
        """The base location in a database's properties, if there is one."""
        found = self.rule.databaseLocation(spark._jsparkSession, database)
        return None if found is None else self.location(found)

    def reader(self, reader: DataFrameReader) -> tuple[str, dict[str, str], str]:
        """What a reader was told: format, options, and the schema as JSON, empty without one."""
        told = json.loads(self.rule.reader(reader._jreader))
        return told["format"], told["options"], told["schema"]

    def table(self, spark: SparkSession, name: str) -> Table | None:
        """A table of the session's catalog, None where there is none of that name."""
        found = self.rule.table(spark._jsparkSession, name)
        return None if found is None else Table(**json.loads(found))

    def forget_directories(self) -> None:
        """Forgets which directories have an index and which have none."""
        self.rule.forgetDirectories()

    def evaluate(self, request: int, asked: Sequence[tuple[int, Packed]]) -> Packed:
        """Expressions of a request that is being answered, each for values, one after the other."""
        parts = np.array([(term, len(v.states), len(v.data)) for term, v in asked], "<i8").tobytes()
        together = (bytearray(b"".join(each)) for each in zip(*(values for _, values in asked), strict=True))
        found = self.rule.evaluate(request, bytearray(parts), *together)
        return Packed(*map(base64.b64decode, (found.states(), found.numbers(), found.bytes())))

    def identity(self, function: Any) -> str:
        """What tells a user's function from all others.

        Parameters
        ----------
        function : UserDefinedFunction or str
            As ``udf`` or ``spark.udf.register`` returns it, or the name of one in Java or Scala.
        """
        if isinstance(function, str):
            return f"java:{function}"
        return str(self.rule.identity(getattr(function, "_unwrapped", function)._judf))

    def settings(self, request: int) -> str:
        """A digest of all settings of the session whose request is being answered."""
        return str(self.rule.settings(request))

    def offset_spread(self, zone: str, low: int, high: int) -> int:
        """By how many microseconds a zone's offsets differ among themselves between two instants, two days added."""
        return int(self.rule.offsetSpread(zone, low, high))

    def last_scan(self) -> int:
        """The number of the latest request."""
        return int(self.rule.lastScanId())

    def scans_after(self, number: int) -> list[dict[str, Any]]:
        """What happened to the listings after a request's number, oldest first; the last few hundred are known."""
        return list(json.loads(self.rule.scansAfter(number)))

    def explain(self, df: DataFrame) -> dict[str, Any]:
        """Lists every scan of a query without running it."""
        return dict(json.loads(self.rule.explain(df._jdf)))

    def answer_at_once(self) -> None:
        """Large answers of the JVM leave without waiting for more to send."""
        with suppress(AttributeError):  # a gateway that somebody else started
            self.rule.answerAtOnce(self._gateway.java_gateway_server)

    def files(self) -> Any:
        """The JVM's access to file systems."""
        return self.rule.files()

    def ship_kernel(self, spark: SparkSession) -> None:
        """Makes the classes known to executors: as a jar, once for each Spark context."""
        context = spark.sparkContext
        if self._shipped == context.applicationId:
            return
        codes = compiled(self._jvm).getBytecodes()
        folder = lasting_folder("kernel")
        path = f"{folder}/xskip-kernel.jar"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
            for name in codes.keySet():
                jar.writestr(name.replace(".", "/") + ".class", codes.get(name))
        context._jsc.sc().addJar(path)
        self._shipped = context.applicationId

    def footers(self, paths: Sequence[str], threads: int) -> list[bytes]:
        """The end of each Parquet file from the start of its footer on; empty where there is none to read."""
        tails = self.rule.tails(self.strings(paths), threads)
        lengths = numbers_in(tails.lengths())
        ends = np.cumsum(lengths)
        joined = base64.b64decode(tails.joined())
        return [joined[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]

    def strings(self, values: Sequence[str]) -> Any:
        """A Java array of strings."""
        array = self._gateway.new_array(self._jvm.java.lang.String, len(values))
        for i, value in enumerate(values):
            array[i] = value
        return array


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a catalog.

    Attributes
    ----------
    name : str
        With its database.
    database : str
    root : str
        Where its data is, as the hook names paths; nothing for a view.
    location : str
        Where its properties say that its metadata is, or nothing.
    is_view : bool
    """

    name: str
    database: str
    root: str
    location: str
    is_view: bool


def places_in(text: str) -> list[IndexLocation]:
    """Places as the JVM writes them."""
    return [IndexLocation(**place) for place in json.loads(text)]


def build_session(spark: SparkSession) -> SparkSession:
    """A session of its own for builds: the user's settings and views, and none of its changes reach the user."""
    from pyspark import RDD

    rdd_to_df, active = RDD.toDF, spark._jvm.SparkSession.getActiveSession()  # type: ignore[union-attr]
    clone = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    # the constructor makes the new session this thread's active one, and that of RDD.toDF: put the user's back
    RDD.toDF = rdd_to_df  # type: ignore[method-assign]
    before = active.get() if active.isDefined() else spark._jsparkSession
    spark._jvm.SparkSession.setActiveSession(before)  # type: ignore[union-attr]
    return clone
