"""The answers to the requests of writes to indexed datasets. Rules: [WRT]."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from xskip.engine.bounded_map import BoundedMap
from xskip.errors import XskipError, message_of
from xskip.protocol.write_request import WritePlanAnswer, WriteRequest
from xskip.spark.bridge.java_errors import reason
from xskip.spark.bridge.sessions import session_of
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from xskip.indexing.write_plan import WritePlan

__all__ = ["WriteAnswers"]

_log = logging.getLogger("xskip.builds")
#: The number of writes that Spark has planned and not finished, of which the plans are kept.
_MAX_PLANS = 256


class WriteAnswers:
    """The answers to the requests of writes; several threads can call it."""

    def __init__(self, engine: SparkEngine) -> None:
        self._engine = engine
        self._plans: BoundedMap[int, WritePlan] = BoundedMap(_MAX_PLANS)

    def answer(self, text: str) -> bytes | None:
        """Answer a request in the form of [JVM-WR-1]; never raise.

        After an error the files of the write have no statistics, and the log says why once.
        """
        request = None
        try:
            request = WriteRequest.parse(text)
            if request.question == "plan":
                return self._plan(request)
            self._commit(request)
        except BaseException as error:  # noqa: BLE001 - the fail-open point: a write never fails because of xskip
            if request is not None:
                self._engine.warnings.warn_unwritten(request.location, reason(error))
        return None

    def _plan(self, request: WriteRequest) -> bytes | None:
        from xskip.indexing.write_plan import plan_write  # few programs need the modules of builds

        write = self._engine.hook.writes.write(request.id)
        spark = session_of(self._engine.session(), write.session())
        try:
            found = plan_write(self._engine, request, write.columns(spark))
        except XskipError as error:  # such as a column of another type
            found = message_of(error)
        if isinstance(found, str):
            _log_reason(request, found)
            return None
        self._engine.hook.ship_kernel(spark)
        self._plans.put(request.id, found)
        job = found.job
        accumulators = job.specification.split("\n") if found.of_rows else []
        return WritePlanAnswer(tuple(job.selection[1:]), job.plain_columns, tuple(accumulators)).to_bytes()

    def _commit(self, request: WriteRequest) -> None:
        from xskip.indexing.write_commit import WriteCommit

        plan = self._plans.pop(request.id)
        if plan is None:
            return
        commit = WriteCommit(self._engine, plan, request, self._engine.hook.writes.write(request.id))
        _log_reason(request, commit.run())


def _log_reason(request: WriteRequest, why: str) -> None:
    """Log why a refresh has to read the files of a write."""
    if why:
        _log.info("the next refresh of the index of %s reads the files of a write: %s", request.location.root, why)
