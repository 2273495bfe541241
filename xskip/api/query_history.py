"""The query history of a session's setting, or of a directory that only Spark reaches."""

from __future__ import annotations

import os

from xskip.paths import check_path
from xskip.query_history.files import HistoryFiles
from xskip.settings import HISTORY
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.spark_engine import SparkEngine
from xskip.standalone.query_history import no_history

__all__ = ["history_of_session"]


def history_of_session(engine: SparkEngine, location: str | os.PathLike[str] | None = None) -> HistoryFiles:
    """Return the history at a location, with all queries that have ended in this driver.

    None is the location that the engine's session sets.
    """
    if location is None:
        location = engine.settings.of(engine.session(), HISTORY)
        if not location:
            raise no_history(f"pass history=, or set {HISTORY.key} of the session to a directory")
    directory = engine.hook.locations.qualified(check_path(location, "history"))
    engine.history.flush(directory)
    return HistoryFiles(storage_for(engine.hook, directory), directory)
