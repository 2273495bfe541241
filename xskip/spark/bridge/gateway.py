"""The Python interface of the hook in the JVM: its connection, and its operations by subject."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from xskip.metadata.reader_settings import RECORDS, SETTING_PREFIXES, SETTINGS
from xskip.metadatastore.temporary import lasting_folder
from xskip.spark.bridge.builds import BuildCalls
from xskip.spark.bridge.callback import Callback
from xskip.spark.bridge.class_cache import HOOK
from xskip.spark.bridge.compiler import (
    RULE_CLASS,
    classes_jar,
    existing_rule,
    new_extension,
    new_object,
    new_rule,
    register_sources,
    rules_of,
    set_rules,
)
from xskip.spark.bridge.java_arrays import string_array
from xskip.spark.bridge.locations import LocationCalls
from xskip.spark.bridge.queries import QueryCalls
from xskip.spark.bridge.writes import WriteCalls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Hook", "hook_of", "known_hook"]

#: The hook of the present JVM, by the identity of its gateway.
_hooks: dict[int, Hook] = {}
_lock = threading.RLock()


def hook_of(spark: SparkSession) -> Hook:
    """Return the hook of the session's JVM, and compile the hook at the first call."""
    with _lock:
        gateway = spark.sparkContext._gateway
        # A JVM gets a single hook: py4j caches methods by class name, so a second class loader with the same class
        # names would break the first hook.
        hook = _hooks.get(id(gateway))
        if hook is None:
            _hooks.clear()
            hook = _hooks[id(gateway)] = Hook(spark, existing_rule(spark) or new_rule(spark))
        return hook


def known_hook(spark: SparkSession) -> Hook | None:
    """Return the hook of the session's JVM if there is one, without compiling it."""
    if not hasattr(spark, "_jsparkSession"):  # Spark Connect has no JVM in this process
        return None
    with _lock:
        return _hooks.get(id(spark.sparkContext._gateway))


class Hook:
    """The hook in the JVM, ``io.xskip.bridge.SkippingRule``: its connection to Python and its life cycle."""

    def __init__(self, spark: SparkSession, rule: Any) -> None:
        self.rule = rule
        self.gateway: Any = spark.sparkContext._gateway
        self._connection = rule.connection()
        self.locations = LocationCalls(rule.locations())
        self.queries = QueryCalls(rule.queries())
        self.builds = BuildCalls(self.gateway, rule.builds())
        self.writes = WriteCalls(rule.writes())
        self._callback: Callback | None = None
        self._loader: Callback | None = None
        self._writer: Callback | None = None
        self._shipped: set[tuple[str, str]] = set()
        self._installing = threading.RLock()
        self._shipping = threading.RLock()

    def connect(self, answer: Callable[[str], bytes | None]) -> None:
        """Register the function that answers the hook's requests; later calls have no effect.

        The function gets each request as JSON text, and returns the answer's bytes, or None to keep all files. It never
        raises.
        """
        if self._callback is None:
            from pyspark.java_gateway import ensure_callback_server_started

            ensure_callback_server_started(self.gateway)  # type: ignore[no-untyped-call]
            self._callback = Callback(answer)
            keys = string_array(self.gateway, [*SETTINGS, *RECORDS])
            prefixes = string_array(self.gateway, SETTING_PREFIXES)
            self._connection.setConfKeys(keys, prefixes)
            self._connection.setCallback(self._callback)

    def connect_extensions(
        self, session: Callable[[], SparkSession], answers: Mapping[str, Callable[[str], bytes | None]]
    ) -> None:
        """Register the extensions of the hook, whose classes the JVM asks for when it first uses them.

        ``answers`` has the function that answers the requests of each extension. The functions get requests as JSON
        and never raise.
        """
        callbacks = {name: Callback(answer) for name, answer in answers.items()}

        def load(name: str) -> None:
            methods = new_extension(session(), self.rule, name)
            methods.setCallback(callbacks[name])
            self._connection.setExtension(name, methods)

        self._loader = Callback(load)
        self._connection.setExtensionLoader(self._loader)
        for name, callback in callbacks.items():  # an earlier process of Python can have loaded the extension
            methods = self.rule.knownExtension(name)
            if methods is not None:
                methods.setCallback(callback)

    def connect_writes(self, answer: Callable[[str], bytes | None]) -> None:
        """Register the function that answers the requests of writes; later calls have no effect.

        The function gets each request as JSON text, and never raises.
        """
        with self._installing:
            if self._writer is None:
                self._writer = Callback(answer)
                self.writes.set_callback(self._writer)

    def create(self, class_name: str) -> Any:
        """Return a new object of a class of the hook, which has a constructor without parameters."""
        return new_object(self.rule, class_name)

    def install(self, spark: SparkSession) -> None:
        """Add the rule to a session, unless the session already has the rule."""
        if existing_rule(spark) is None:
            self.queries.last_query()  # the records of earlier queries say that the session lacked the rule
            with self._installing:
                register_sources(spark)
                if existing_rule(spark) is None:
                    set_rules(spark, [*rules_of(spark), self.rule])
        self.queries.listen()

    def uninstall(self, spark: SparkSession) -> None:
        """Remove the rule from a session, and leave the rules of other libraries in place."""
        self.queries.last_query()  # the records of earlier queries say that the session had the rule
        with self._installing:
            set_rules(spark, [rule for rule in rules_of(spark) if rule.ruleName() != RULE_CLASS])

    def is_installed(self, spark: SparkSession) -> bool:
        """Return whether the session has the rule."""
        return existing_rule(spark) is not None

    def set_process_wide(self, key: str, value: str | None) -> None:
        """Set a value for all sessions that do not set the key themselves; None removes the value."""
        self._connection.setProcessWide(key, value)

    def settings_of(self, spark: SparkSession) -> dict[str, str]:
        """Return the keys ``spark.xskip.*`` that a session sets, and their values."""
        message = self._connection.settings(spark._jsparkSession)
        return {} if message is None else dict(json.loads(message)["settings"])

    def declare_classes(self, file_index: str | None, file_format: str | None) -> None:
        """Declare classes of file indexes and file formats whose relations the rule prunes; None declares nothing."""
        if file_index is not None:
            self._connection.declareIndex(file_index)
        if file_format is not None:
            self._connection.declareFormat(file_format)

    def answer_at_once(self) -> None:
        """Make the JVM send large results without delay (``TCP_NODELAY``)."""
        with suppress(AttributeError):  # a gateway of another type lacks java_gateway_server
            self._connection.answerAtOnce(self.gateway.java_gateway_server)

    def ship_kernel(self, spark: SparkSession) -> None:
        """Send the hook's classes to the executors in a jar, once for each Spark application."""
        self._ship(spark, HOOK)

    def ship_extension(self, spark: SparkSession, name: str) -> None:
        """Send the classes of the hook and of an extension to the executors, once for each Spark application."""
        self.ship_kernel(spark)
        self._ship(spark, name)

    def _ship(self, spark: SparkSession, name: str) -> None:
        context = spark.sparkContext
        with self._shipping:
            if (name, context.applicationId) in self._shipped:
                return
            path = f"{lasting_folder(name)}/xskip-{name}.jar"
            shutil.copyfile(classes_jar(spark, name), path)  # another process can remove the jar
            context._jsc.sc().addJar(path)
            self._shipped.add((name, context.applicationId))
