"""The engine that decides which files a query can skip. Any failure here ends in a query that reads all files."""

from __future__ import annotations

import itertools
import logging
import re
import struct
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from xskip.clauses.clause import PartitionKey, collect_evaluations
from xskip.errors import DatasetError, XskipError
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import Predicate, operands
from xskip.metadata.read_profile import zones_differ
from xskip.metadatastore.known_failures import Failures
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.pruning.prune import PruneResult, prune, requirements
from xskip.pruning.translate import Available, translate, without_column
from xskip.settings import METADATA_BYTES, Setting
from xskip.spark.bridge.gateway import Hook, hook_of
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import reason
from xskip.spark.catalyst.decode import to_predicate
from xskip.spark.catalyst.evaluator import EvaluationCache, Evaluator
from xskip.spark.collect.listing import packed_objects
from xskip.spark.query.distributed_pruning import DistributedPruner, driver_only_reason
from xskip.spark.query.request import RequestError, RequestHeader, ScanRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Engine", "ScanTrace", "engine_of", "forget_indexes"]

T = TypeVar("T")
_log = logging.getLogger("xskip")
_tokens = itertools.count(1)
# seconds until the engine checks a directory for a new snapshot; pruning by a stale snapshot is still sound
_RECHECK_LOCAL_SECONDS = 0.0
_RECHECK_REMOTE_SECONDS = 5.0
#: The number of seconds for which the engine does not retry an unreadable remote directory: a failure can take long.
_RETRY_SECONDS = 5.0
_REMEMBERED_ANSWERS = 64
_REMEMBERED_TRACES = 512
_REMEMBERED_INDEXES = 32
_REMEMBERED_WARNINGS = 1024
_NUMBERED = re.compile(r"\w*\d\w*")


@dataclass(frozen=True, slots=True)
class ScanTrace:
    """The decision about a request.

    Attributes
    ----------
    predicate : str
        The decoded filters, without literal values.
    result : PruneResult or None
        The result without its skip mask, to save memory; None if the engine did not use the index.
    problem : str
        The reason why the engine did not use the index; empty without a problem.
    filters : str
        The filters as JSON with literal values, which distinguish two scans of a query.
    """

    predicate: str
    result: PruneResult | None
    problem: str = ""
    filters: str = ""


class _Answer(NamedTuple):
    """An answer with its trace, and a digest of the session's settings if Spark evaluated functions for the answer."""

    answer: bytes | None
    trace: ScanTrace
    settings: str


def _settings_of(predicate: Predicate, request: ScanRequest, evaluator: Evaluator) -> str:
    """Return the settings for which an answer is valid: ``""`` for any settings, ``"none"`` for no other request."""
    if not any(isinstance(operand, Computed) for operand in operands(predicate)):
        return ""
    return "none" if request.is_partly_encoded else evaluator.settings()


@dataclass(slots=True)
class _Loaded:
    """An index in use: its snapshot, the snapshot's number in the JVM, the time of the last check, and answers."""

    directory: str
    snapshot: Snapshot
    token: int
    checked: float
    answers: OrderedDict[str, _Answer]
    is_registered: bool = False


class Engine:
    """An engine that answers the requests of a JVM's hook; each JVM has a single engine.

    Attributes
    ----------
    jobs : DistributedPruner
        The runner of the jobs that prune large metadata.
    """

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._lock = threading.RLock()
        self._indexes: OrderedDict[str, _Loaded] = OrderedDict()  # by directory
        self._traces: OrderedDict[int, ScanTrace] = OrderedDict()
        self._said: set[tuple[str, str, str]] = set()
        self._made: dict[str, None] = {}
        self._unreadable: dict[str, tuple[float, str]] = {}  # time and reason, by directory
        self._process_wide: dict[str, str] = {}
        self._remembered = EvaluationCache()
        self._failures = Failures()
        self._room = METADATA_BYTES.default
        self.jobs = DistributedPruner(hook)

    @property
    def hook(self) -> Hook:
        """Return the hook whose requests the engine answers."""
        return self._hook

    def answer(self, text: str) -> bytes | None:
        """Return the bitmap of the files that a scan can skip, as bytes for the hook, or None to read all files.

        The method never raises: after an error the query reads all files, and the engine logs the reason once. A
        request in strict mode gets ``b"E"`` and the reason instead.
        """
        header = RequestHeader()
        try:
            request = ScanRequest.parse(text)
            header = request.header
            answer, trace = self._decide(request)
        except BaseException as error:  # noqa: BLE001 - the fail-open point: a query never fails because of xskip
            header = error.header if isinstance(error, RequestError) else header
            answer, trace = None, ScanTrace("", None, reason(error))
            self._drop_unreadable(header.location.directory, error)
        self._remember(header.id, trace)
        if trace.problem:
            self._say(header.location, trace.problem)
            if header.strict:
                return b"E" + f"{header.location.root}: {trace.problem}".encode()
        return answer

    def trace(self, number: int) -> ScanTrace | None:
        """Return the decision about a request, or None if the engine no longer remembers the request."""
        with self._lock:
            return self._traces.get(number)

    def snapshot(self, directory: str) -> tuple[Snapshot, int] | None:
        """Return the present snapshot of a directory and its number in the JVM, or None without an index."""
        with self._lock:
            loaded = self._look(directory, self._indexes.get(directory))
        return None if loaded is None else (loaded.snapshot, loaded.token)

    def forget(self, directory: str) -> None:
        """Discard all state of a directory, whose index this process has created, changed or dropped."""
        with self._lock:
            self._indexes.pop(directory, None)
            self._unreadable.pop(directory, None)
            self._failures.forget(directory)
            self._made[directory] = None
            self.jobs.forget()
            self._said = {said for said in self._said if said[0] != directory}
            self._hook.unregister(directory)  # under the lock: a concurrent query registers afterwards
        self._hook.forget_directories()

    def forget_all(self) -> None:
        """Discard the state of every index in use."""
        with self._lock:
            directories = list(self._indexes)
        for directory in directories:
            self.forget(directory)

    def setting(self, spark: SparkSession, wanted: Setting[T]) -> T:
        """Return the value of a setting for a session.

        Raises
        ------
        SettingError
            If the session or the process has set an invalid value.
        """
        return wanted.of(spark.conf.get(wanted.key, None) or self._process_wide.get(wanted.key))

    def set_process_wide(self, key: str, value: str | None) -> None:
        """Set a value for all sessions that do not set the key themselves; None removes the value."""
        self._process_wide.pop(key, None)
        if value is not None:
            self._process_wide[key] = value
        self._hook.set_process_wide(key, value)

    def known(self, base: str | None) -> list[tuple[Snapshot, str]]:
        """Return the indexes under a base location, or for None those that this process has created or used."""
        if base is None:
            with self._lock:
                places = dict.fromkeys(self._indexes) | self._made
        else:
            places = dict.fromkeys(storage_for(self._hook, base).directories(base))
        found = []
        for directory in places:
            try:
                snapshot = open_snapshot(storage_for(self._hook, directory), directory)
            except XskipError as error:
                _log.warning("xskip ignores the index in %s: %s", directory, error)
                continue
            if snapshot is not None:
                found.append((snapshot, directory))
        return found

    def _decide(self, request: ScanRequest) -> tuple[bytes | None, ScanTrace]:
        location = request.header.location
        loaded = self._load(location.directory, request.job_threshold)
        if loaded is None:
            return None, ScanTrace("", None, filters=request.filters_text())
        problem = loaded.snapshot.not_usable(location, request.read_profile())
        if problem:
            return None, ScanTrace("", None, problem, request.filters_text())
        key = request.cache_key()
        evaluator = Evaluator(self._hook, request.header.id, self._remembered)
        with self._lock:
            known = loaded.answers.get(key)
        if known is None or known.settings not in ("", evaluator.settings() if known.settings else ""):
            known = self._prune(loaded, request, evaluator)
        with self._lock:
            loaded.answers[key] = known
            loaded.answers.move_to_end(key)
            while len(loaded.answers) > _REMEMBERED_ANSWERS:
                loaded.answers.popitem(last=False)
        return known.answer, known.trace

    def _prune(self, loaded: _Loaded, request: ScanRequest, evaluator: Evaluator) -> _Answer:
        snapshot, predicate = loaded.snapshot, to_predicate(request.filters, evaluator)
        reading = request.read_profile()
        available = Available(
            without_column(snapshot.indexes, reading.corrupt_record),
            snapshot.partitions,
            request.partition_types,
            case_sensitive=snapshot.reading is not None and snapshot.reading.case_sensitive,
            untyped=not snapshot.is_ours,
            settings=request.expression_settings,
        )
        clause = translate(predicate, available)
        wanted = requirements(clause)
        if self._is_for_job(loaded, request.job_threshold):
            if snapshot.reading is not None and zones_differ(snapshot.reading, reading):
                raise XskipError(
                    "a job cannot determine which statistics are valid in another time zone",
                    hint="set -Duser.timezone of the driver's JVM as in the build, or create the index again",
                )
            result = self.jobs.prune(loaded.directory, snapshot, clause)
        else:
            table = snapshot.proved(wanted, reading)
            with evaluator.together():
                collect_evaluations(clause, table)
            result = prune(clause, table)
        bits = np.packbits(result.skip, bitorder="little").tobytes()
        by_partition = any(isinstance(requirement, PartitionKey) for requirement in wanted)
        trace = ScanTrace(str(predicate), replace(result, skip=np.zeros(0, bool)), filters=request.filters_text())
        settings = _settings_of(predicate, request, evaluator)
        if not result.outcomes:  # no leaf of the clause reads metadata
            return _Answer(None, trace, settings)
        return _Answer((b"P" if by_partition else b"B") + struct.pack(">q", loaded.token) + bits, trace, settings)

    def _is_for_job(self, loaded: _Loaded, limit: int) -> bool:
        """Return whether a job prunes an index; warn once if a large index cannot be pruned by a job."""
        if loaded.snapshot.rows <= limit:
            return False
        why = driver_only_reason(loaded.snapshot)
        if why:
            what = f"the driver prunes {loaded.snapshot.rows:,} objects of metadata in {loaded.directory}: {why}"
            self._once((loaded.directory, "", why), what)
        return not why

    def _load(self, directory: str, limit: int) -> _Loaded | None:
        """Return the index in a directory after its files are registered in the JVM, or None without an index.

        A job registers an index of more than ``limit`` files, if a job can prune the index.
        """
        wait = _RECHECK_LOCAL_SECONDS if directory.startswith("/") else _RECHECK_REMOTE_SECONDS
        with self._lock:
            loaded = self._indexes.get(directory)
            if loaded is None or time.monotonic() - loaded.checked >= wait:
                loaded = self._look_again(directory, loaded)
            if loaded is not None and not loaded.is_registered:
                if self._is_for_job(loaded, limit):
                    self.jobs.register(directory, loaded.snapshot, loaded.token)
                else:
                    table = loaded.snapshot.load(loaded.snapshot.partition_keys)
                    self._hook.register(directory, loaded.token, packed_objects(table))
                loaded.is_registered = True
            return loaded

    def _look_again(self, directory: str, loaded: _Loaded | None) -> _Loaded | None:
        """Check a directory, unless a check has just failed: a remote directory can take minutes to fail."""
        when, why = self._unreadable.get(directory, (0.0, ""))
        if why and time.monotonic() - when < _RETRY_SECONDS:
            raise XskipError(why)
        try:
            found = self._look(directory, loaded)
        except Exception as error:
            if not directory.startswith("/"):
                self._unreadable[directory] = (time.monotonic(), reason(error))
            raise
        self._unreadable.pop(directory, None)
        return found

    def _look(self, directory: str, loaded: _Loaded | None) -> _Loaded | None:
        """Return the present index of a directory, which is the loaded index if nothing has changed."""
        known, storage = loaded.snapshot if loaded else None, storage_for(self._hook, directory)
        if loaded is None:
            self._room = self._room_now()
            self._failures.look(storage, directory, self._room)
        snapshot = open_snapshot(storage, directory, known, self._room)
        if snapshot is None:
            self._indexes.pop(directory, None)
            self._hook.unregister(directory)
            return None
        if loaded is None or snapshot is not known:
            loaded = self._indexes[directory] = _Loaded(directory, snapshot, next(_tokens), 0.0, OrderedDict())
        loaded.checked = time.monotonic()
        self._indexes.move_to_end(directory)
        while len(self._indexes) > _REMEMBERED_INDEXES:
            self._hook.unregister(self._indexes.popitem(last=False)[0])
        return loaded

    def _room_now(self) -> int:
        spark = self.jobs.spark
        return METADATA_BYTES.default if spark is None else self.setting(spark, METADATA_BYTES)

    def _drop_unreadable(self, directory: str, error: BaseException) -> None:
        """Discard an unreadable index, and do not open the index again until its directory changes."""
        with self._lock:
            if self._failures.remember(directory, error):
                self._indexes.pop(directory, None)

    def _remember(self, number: int, trace: ScanTrace) -> None:
        with self._lock:
            self._traces[number] = trace
            while len(self._traces) > _REMEMBERED_TRACES:
                self._traces.popitem(last=False)

    def _say(self, place: IndexLocation, problem: str) -> None:
        what = f"the index of {place.root} is not used, queries read all files: {problem}"
        # request numbers and times in a store's message do not make another problem
        self._once((place.directory, place.root, _NUMBERED.sub("#", problem)), what)

    def _once(self, key: tuple[str, str, str], what: str) -> None:
        with self._lock:
            if key in self._said:
                return
            if len(self._said) >= _REMEMBERED_WARNINGS:
                self._said.clear()
            self._said.add(key)
        _log.warning("%s", what)


_engines: dict[int, Engine] = {}


def forget_indexes() -> None:
    """Discard the state of every index in use, for all sessions."""
    for engine in _engines.values():
        engine.forget_all()


def engine_of(spark: SparkSession) -> Engine:
    """Return the engine of the session's JVM, connected to its hook.

    Raises
    ------
    DatasetError
        If the session is a Spark Connect client, which has no JVM.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise DatasetError(
            "xskip does not run in a Spark Connect client", hint="call xskip in the process that hosts the server"
        )
    hook = hook_of(spark)
    engine = _engines.get(id(hook))
    if engine is None:
        _engines.clear()
        engine = _engines[id(hook)] = Engine(hook)
        hook.connect(engine.answer)
    engine.jobs.spark = spark
    return engine
