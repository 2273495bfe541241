"""The recorder of a driver's queries: a thread that adds them to the query history of their sessions."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from xskip.engine.decision import ScanTrace
from xskip.engine.usage import columns_without_index, ruled_out_by_indexes
from xskip.engine.warning_log import WarningLog, without_numbers
from xskip.expressions.shown_values import text_with_values
from xskip.metadatastore.writers import Writer, present_writer
from xskip.protocol.scan_records import ExecutedScan, QueryRecord, ScanRecord
from xskip.query_history.files import HistoryFiles, HistoryWriter
from xskip.query_history.rows import HistoryRows, ScanKind, ScanSums
from xskip.results.index_usage import Condition
from xskip.settings import HISTORY, HISTORY_DAYS
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.unindexed_scans import scan_conditions

__all__ = ["HistoryRecorder"]

_log = logging.getLogger("xskip")
#: How often the thread takes the queries of the JVM, which keeps the last 1,000, and how often it writes them.
_TAKE_SECONDS = 10.0
_WRITE_SECONDS = 300.0
#: The different rows that the recorder keeps until it writes them.
_MAX_ROWS = 1000
_MAX_CHARACTERS = 2000


@dataclass(slots=True)
class _Pending:
    writer: HistoryWriter
    rows: HistoryRows
    #: The number of days that the history keeps; None if the setting is wrong, so that no day is removed.
    days: int | None


@dataclass(slots=True)
class HistoryRecorder:
    """The recorder of a JVM's queries. Several threads can use it.

    A driver that is killed loses the rows of the last five minutes. Nothing here runs while Spark plans a query, and a
    failure is logged once.
    """

    hook: Hook
    trace: Callable[[int], ScanTrace | None]
    warnings: WarningLog
    _pending: dict[str, _Pending] = field(default_factory=dict)
    _taken: int = 0
    #: When the recorder was started, in milliseconds since the epoch: another process has recorded the queries before.
    _started_ms: float = 0.0
    _written: float = field(default_factory=time.monotonic)
    #: Guards the rows. A thread that holds it calls the JVM and the storage, and takes no other lock of the engine.
    _lock: threading.Lock = field(default_factory=threading.Lock)
    #: Guards the thread. A query that Spark plans can start it, and waits for nothing under this lock.
    _starting: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start the thread unless it runs; it records the queries that end from now on."""
        with self._starting:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name="xskip query history", daemon=True)
        self._started_ms = time.time() * 1000
        self._thread.start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """Stop the thread after it has written all rows."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_TAKE_SECONDS)

    def flush(self, location: str | None = None) -> None:
        """Write the rows of the queries that have ended to a history; None is all. Raise an error if one fails."""
        with self._lock:
            self._take()
            for pending in self._pending.values():
                if location in (None, pending.writer.files.location):
                    self._write(pending)

    def _run(self) -> None:
        while not self._stop.wait(_TAKE_SECONDS):
            self._record(is_last=False)
        self._record(is_last=True)

    def _record(self, *, is_last: bool) -> None:
        """Take the queries, and write them if it is time; never raise."""
        with self._lock:
            try:
                self._take()
            except Exception as error:  # noqa: BLE001 - the JVM can end at any moment
                _log.debug("xskip cannot take the queries for their history: %s", error)
            writes = is_last or time.monotonic() - self._written >= _WRITE_SECONDS
            if writes:
                self._written = time.monotonic()
            for location, pending in list(self._pending.items()):
                try:
                    if writes:
                        self._write(pending)
                    if not is_last:  # a driver that ends waits for no merge
                        pending.writer.tidy(datetime.now(timezone.utc), pending.days)
                except Exception as error:  # noqa: BLE001 - a query never fails because of xskip
                    self.warnings.warn_history(location, str(error))

    def _take(self) -> None:
        for query in self.hook.queries.all_queries_after(self._taken):
            self._taken = query.number
            with suppress(Exception):  # a record that is odd must not stop those after it
                self._add(query)

    def _add(self, query: QueryRecord) -> None:
        if not query.history or query.ended_ms < self._started_ms or HISTORY.error(query.history) is not None:
            return
        pending = self._pending.get(query.history)
        if pending is None:
            location = self.hook.locations.qualified(query.history)
            files = HistoryFiles(storage_for(self.hook, location), location)
            pending = _Pending(HistoryWriter(files), HistoryRows(_MAX_ROWS), None)
            self._pending[query.history] = pending
        pending.days = None if HISTORY_DAYS.error(query.history_days) else HISTORY_DAYS.of(query.history_days)
        author = present_writer()
        for position, (kind, sums) in enumerate(self._scans(query, author)):
            pending.rows.add(kind, sums if position == 0 else replace(sums, queries=0))

    def _write(self, pending: _Pending) -> None:
        pending.writer.settle()
        if len(pending.rows):
            pending.writer.write(pending.rows, datetime.now(timezone.utc))
            pending.rows = HistoryRows(_MAX_ROWS)

    def _scans(self, query: QueryRecord, author: Writer) -> Iterator[tuple[ScanKind, ScanSums]]:
        for scan in query.scans:
            questions = [trace for number in scan.questions if (trace := self.trace(number)) is not None]
            if not scan.requests:
                yield self._unanswered(query, scan, author, questions)
            for request in scan.requests:
                yield self._answered(query, request, author, questions)

    def _unanswered(
        self, query: QueryRecord, scan: ExecutedScan, author: Writer, questions: Sequence[ScanTrace]
    ) -> tuple[ScanKind, ScanSums]:
        dataset = self.hook.locations.normalized(scan.path) if scan.path else scan.table
        problem = _bounded(scan.refusal or scan.off)
        asked = next((trace for trace in questions if trace.conditions), None)
        conditions = _conditions(asked, query) if asked else scan_conditions(scan)
        kind = ScanKind(
            dataset,
            scan.format,
            None,
            problem,
            tuple(sorted(asked.indexes)) if asked else (),
            user=author.user,
            application=author.application,
            conditions=tuple(sorted(conditions)),
        )
        ended, whole = query.ended_ms, asked.whole_part(scan.bytes) if asked else 0
        sums = ScanSums(ended, ended, 1, 1, scan.files, scan.bytes, scan.files, scan.bytes, 0.0, (), whole)
        return kind, sums

    def _answered(
        self, query: QueryRecord, request: ScanRecord, author: Writer, questions: Sequence[ScanTrace]
    ) -> tuple[ScanKind, ScanSums]:
        trace = self.trace(request.id)
        used = {} if trace is None else ruled_out_by_indexes(trace, request.unneeded)
        for name, count in (pair for question in questions for pair in ruled_out_by_indexes(question).items()):
            used[name] = max(used.get(name, 0), count)
        names = sorted(used)
        kind = ScanKind(
            request.root,
            request.format,
            _predicate(trace, query),
            _bounded(trace.problem) if trace else "",
            tuple(sorted(trace.indexes)) if trace else (),
            tuple(names),
            tuple(sorted(columns_without_index(trace))) if trace else (),
            author.user,
            author.application,
            _conditions(trace, query, *questions),
        )
        ended, spent = query.ended_ms, request.request_ms + request.filter_ms
        read = request.listed, request.listed_bytes, request.kept, request.kept_bytes
        whole = trace.whole_part(request.kept_bytes) if trace else 0
        sums = ScanSums(ended, ended, 1, 1, *read, spent, tuple(used[name] for name in names), whole)
        return kind, sums


def _conditions(trace: ScanTrace | None, query: QueryRecord, *questions: ScanTrace) -> tuple[Condition, ...]:
    """Return what a scan asks of columns and expressions, the latter with literals only if reports show values."""
    found = [condition for each in (trace, *questions) if each is not None for condition in each.conditions]
    return tuple(sorted(set(found if query.shows_values else (each.without_values() for each in found))))


def _bounded(problem: str) -> str:
    """Return a problem without numbers of requests and times, so that the history has few of them."""
    return without_numbers(problem)[:_MAX_CHARACTERS]


def _predicate(trace: ScanTrace | None, query: QueryRecord) -> str | None:
    if trace is None:
        return None
    shows = query.shows_values and trace.decoded is not None
    text = text_with_values(trace.decoded, trace.secret_columns) if shows and trace.decoded else trace.predicate
    return text if len(text) <= _MAX_CHARACTERS else None
