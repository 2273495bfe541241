"""Refreshes after the batches of Structured Streaming's file sink. Rules: [WRT-SS]."""

from __future__ import annotations

import logging
import re
import threading
from typing import TYPE_CHECKING, Any

from xskip.engine.bounded_map import BoundedMap
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.settings import WRITES
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import reason
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["listen_to_sinks", "stop_listening_to_sinks"]

_log = logging.getLogger("xskip.builds")
_SINK = re.compile(r"FileSink\[(.*)\]")
_MAX_SESSIONS = 64
#: The listeners of sessions, by the identifiers of the sessions.
_listeners: BoundedMap[str, Any] = BoundedMap(_MAX_SESSIONS)
_lock = threading.Lock()


def listen_to_sinks(engine: SparkEngine, spark: SparkSession) -> None:
    """Refresh the indexes of datasets after each batch that a file sink of a session adds; once for each session."""
    session = engine.hook.queries.session_id(spark)
    with _lock:
        if _listeners.get(session) is None:
            listener = _listener_of(SinkRefreshes(engine, spark))
            spark.streams.addListener(listener)
            _listeners.put(session, listener)


def stop_listening_to_sinks(engine: SparkEngine, spark: SparkSession) -> None:
    """End the refreshes after batches of a session."""
    with _lock:
        listener = _listeners.pop(engine.hook.queries.session_id(spark))
    if listener is not None:
        spark.streams.removeListener(listener)


class SinkRefreshes:
    """The refreshes after the batches of a session, one after the other in a thread that ends when none is left."""

    def __init__(self, engine: SparkEngine, spark: SparkSession) -> None:
        self._engine = engine
        self._spark = spark
        # Guards the attributes below. No method runs other code under the lock.
        self._lock = threading.Lock()
        #: The paths of datasets with new files, in the order in which they got them.
        self._pending: dict[str, None] = {}
        self._is_running = False

    def add(self, sink: str) -> None:
        """Note that a sink, by its description, has added files."""
        found = _SINK.fullmatch(sink)
        if found is None:
            return
        with self._lock:
            self._pending[found[1]] = None
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="xskip-sinks", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                path = next(iter(self._pending), None)
                if path is None:
                    self._is_running = False
                    return
                del self._pending[path]
            try:
                self._refresh(path)
            except Exception as error:  # noqa: BLE001 - the stream goes on, and the next refresh mends the index
                self._engine.warnings.warn_unwritten(IndexLocation(path, path, path), reason(error))

    def _refresh(self, path: str) -> None:
        """Refresh the index of a dataset, which Spark reads by the log of the sink, if it has an index."""
        from xskip.indexing.reader import PathReader  # few programs need the modules of builds
        from xskip.indexing.refresh import Refresh

        if not self._engine.settings.of(self._spark, WRITES):
            return
        snapshot = self._snapshot(self._engine.hook.locations.qualified(path))
        if snapshot is None or snapshot.read_profile is None:
            return
        if snapshot.read_profile.options:
            _log.info("a refresh with the same options reads the files of a stream in %s", path)
            return
        reader = PathReader(path, snapshot.read_profile.format)
        Refresh(self._engine, self._spark, reader, progress=False, on_error="skip").run()

    def _snapshot(self, root: str) -> Snapshot | None:
        for location in self._engine.hook.locations.of_path(self._spark, root):
            found = open_snapshot(storage_for(self._engine.hook, location.directory), location.directory)
            if found is not None:
                return found
        return None


def _listener_of(refreshes: SinkRefreshes) -> Any:
    """Return a listener to the streams of a session."""
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        """Notes the batches with rows."""

        def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - the name of Spark
            """Ignore the start of a query."""

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - the name of Spark
            """Note the sink of a batch with rows; never raise."""
            try:
                if event.progress.numInputRows:
                    refreshes.add(event.progress.sink.description)
            except Exception as error:  # noqa: BLE001 - an error would end up in the log of Spark's listeners
                _log.debug("the progress of a stream cannot be read: %r", error)

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - the name of Spark
            """Ignore the end of a query."""

    return Listener()
