"""The engine of a JVM: its access to Spark, and its connection to the hook."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xskip.engine.engine import Engine
from xskip.engine.ports import Functions
from xskip.expressions.predicate import Predicate
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.writers import declare_application
from xskip.protocol.file_table import FileTable
from xskip.protocol.scan_records import UsedRequest
from xskip.settings import HISTORY, METADATA_BYTES
from xskip.spark.bridge.gateway import Hook, hook_of
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import reason
from xskip.spark.bridge.sessions import check_session
from xskip.spark.catalyst.evaluator import EvaluationCache, Evaluator
from xskip.spark.catalyst.filter_decoder import to_predicate
from xskip.spark.query.distributed_pruning import DistributedPruner
from xskip.spark.query.extensions import extension_answers
from xskip.spark.query.history_recorder import HistoryRecorder
from xskip.spark.query.setting_values import SettingValues

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkEngine", "SparkPlatform", "engine_of", "forget_indexes"]


class SparkPlatform:
    """The :class:`~xskip.engine.ports.Platform` of a JVM: storage, functions, jobs and the hook of Spark."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook
        self.settings = SettingValues(hook)
        self.jobs = DistributedPruner(hook)
        self._evaluations = EvaluationCache()

    def storage(self, directory: str) -> Storage:
        """Return the access to a directory through Hadoop."""
        return storage_for(self.hook, directory)

    def max_metadata_bytes(self) -> int:
        """Return the limit that the latest session sets."""
        spark = self.jobs.spark
        return METADATA_BYTES.default if spark is None else self.settings.of(spark, METADATA_BYTES)

    def functions(self, request: int) -> Functions:
        """Return the functions of a pending request, whose results are cached."""
        return Evaluator(self.hook, request, self._evaluations)

    def decode(self, filters: Sequence[Any], functions: Functions, *, with_conditions: bool) -> Predicate:
        """Return the predicate of Catalyst's filters."""
        assert isinstance(functions, Evaluator)
        return to_predicate(filters, functions, with_conditions=with_conditions)

    def register(self, directory: str, token: int, files: FileTable, *, has_parts: bool) -> None:
        """Send the files of a snapshot to the JVM."""
        self.hook.queries.register(directory, token, files.to_pieces(), has_parts=has_parts)

    def unregister(self, directory: str) -> None:
        """Remove the files of a snapshot from the JVM."""
        self.hook.queries.unregister(directory)

    def forget_directories(self) -> None:
        """Make the hook look for indexes again."""
        self.hook.locations.forget_directories()

    def take_used(self, *, waits: bool) -> list[UsedRequest]:
        """Return the requests for plans whose files a query has read since the last call; wait for all that ended."""
        return self.hook.queries.take_used(waits=waits)

    def count_failure(self) -> None:
        """Count a scan whose index cannot be used, in Spark's metrics system."""
        self.hook.queries.count_failure()

    def describe(self, error: BaseException) -> str:
        """Return the first line of an error of Spark or of the JVM, or the text of another error."""
        return reason(error)


class SparkEngine(Engine):
    """The single engine of a JVM."""

    def __init__(self, hook: Hook) -> None:
        platform = SparkPlatform(hook)
        super().__init__(platform)
        self.hook = hook
        self.settings = platform.settings
        self.jobs = platform.jobs
        self.history = HistoryRecorder(hook, self.trace, self.warnings)

    def warn_settings(self, configured: Mapping[str, str]) -> None:
        """Warn about wrong settings of a session, and record its queries if it sets a place for their history."""
        super().warn_settings(configured)
        if HISTORY.key in configured or self.settings.process_wide(HISTORY.key):
            self.history.start()

    def session(self) -> SparkSession:
        """Return the latest session."""
        assert self.jobs.spark is not None, "the engine needs a session"
        return self.jobs.spark


_engines: dict[int, SparkEngine] = {}
#: A thread that holds the lock can take the lock of the hooks. No thread takes it in the other order.
_lock = threading.RLock()


def forget_indexes() -> None:
    """Discard the state of every index in use, for all sessions."""
    for engine in list(_engines.values()):
        engine.forget_all()


def engine_of(spark: SparkSession) -> SparkEngine:
    """Return the engine of the session's JVM, connected to its hook.

    Raises
    ------
    ArgumentError
        If the object is not a session, or the session was stopped.
    DatasetError
        If the session is a Spark Connect client, which has no JVM.
    """
    check_session(spark)
    with _lock:  # a JVM answers to a single engine: two threads must not make one each
        hook = hook_of(spark)
        engine = _engines.get(id(hook))
        if engine is None:
            engine = SparkEngine(hook)
            _declare_application(spark)
            engine.jobs.spark = spark
            hook.connect(engine.answer)
            hook.connect_extensions(engine.session, extension_answers(hook, engine.session))
            _engines.clear()
            _engines[id(hook)] = engine
        elif engine.jobs.spark is None or engine.jobs.spark.sparkContext is not spark.sparkContext:
            _declare_application(spark)  # a program can stop its context and start another one
        engine.jobs.spark = spark
    return engine


def _declare_application(spark: SparkSession) -> None:
    context = spark.sparkContext
    declare_application(context.sparkUser(), f"{context.appName} ({context.applicationId})", spark.version)
