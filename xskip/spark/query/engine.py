"""The engine that decides which files a query can skip. Any failure here ends in a query that reads all files."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from xskip.clauses.clause import Clause
from xskip.errors import XskipError
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import Predicate, operands
from xskip.metadata.read_profile import ReadProfile, zones_differ
from xskip.metadata.table import PartitionKey, Requirement
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.missing_index import lacks_first_record, no_index
from xskip.metadatastore.snapshot import Snapshot
from xskip.protocol.answer import Answer, Refusal, Section
from xskip.protocol.request import RequestError, RequestHeader, ScanRequest
from xskip.pruning.prune import PruneResult, requirements
from xskip.pruning.translate import IndexCatalog, translate, without_columns
from xskip.settings import problems_of
from xskip.spark.bridge.gateway import Hook, hook_of
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import reason
from xskip.spark.bridge.sessions import check_session
from xskip.spark.catalyst.decode import to_predicate
from xskip.spark.catalyst.evaluator import EvaluationCache, Evaluator
from xskip.spark.query.bounded_map import BoundedMap
from xskip.spark.query.decision import Decision, Evidence, ScanTrace
from xskip.spark.query.distributed_pruning import DistributedPruner
from xskip.spark.query.driver_pruning import prune_in_driver
from xskip.spark.query.loaded_indexes import LoadedIndex, LoadedIndexes
from xskip.spark.query.session_settings import SessionSettings
from xskip.spark.query.usage import DatasetUsage, UsageLog
from xskip.spark.query.warning_log import WarningLog
from xskip.spark.questdb.tables import TableAnswers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Engine", "engine_of", "forget_indexes"]

_MAX_TRACES = 512
_OF_SETTINGS = '{"settings":'


class Engine:
    """An engine that answers the requests of a JVM's hook; each JVM has a single engine.

    Several threads can call an engine. The engine itself has no lock: each of its parts has a lock for its own state,
    and :class:`LoadedIndexes` states the order of the locks. A thread holds none of these locks while it prunes.

    Parameters
    ----------
    hook : Hook
        The hook of the JVM.

    Attributes
    ----------
    hook : Hook
        The hook whose requests the engine answers.
    settings : SessionSettings
        The settings of sessions and of the process.
    jobs : DistributedPruner
        The runner of the jobs that prune large metadata.
    indexes : LoadedIndexes
        The indexes in use.
    tables : TableAnswers
        The answers about tables of QuestDB.
    """

    def __init__(self, hook: Hook) -> None:
        self.hook = hook
        self.settings = SessionSettings(hook)
        self.jobs = DistributedPruner(hook)
        self._warnings = WarningLog()
        self.indexes = LoadedIndexes(hook, self.jobs, self.settings, self._warnings)
        self._traces: BoundedMap[int, ScanTrace] = BoundedMap(_MAX_TRACES)
        self._evaluations = EvaluationCache()
        self._usage = UsageLog()
        self._explained: BoundedMap[int, tuple[str, ScanTrace]] = BoundedMap(_MAX_TRACES)
        self.tables = TableAnswers(hook, self._session)

    def answer(self, text: str) -> bytes | None:
        """Return the bitmap of the files that a scan can skip, as bytes for the hook, or None to read all files.

        The method never raises: after an error the query reads all files, and the engine logs the reason once. A
        request in strict mode gets a refusal instead.

        Parameters
        ----------
        text : str
            The request, as :meth:`ScanRequest.parse` takes it, or a message with settings to check.
        """
        if text.startswith(_OF_SETTINGS):
            self._check(text)
            return None
        header = RequestHeader()
        try:
            request = ScanRequest.parse(text)
            header = request.header
            decision = self._decide(request)
        except BaseException as error:  # noqa: BLE001 - the fail-open point: a query never fails because of xskip
            header = error.header if isinstance(error, RequestError) else header
            decision = Decision(None, ScanTrace("", None, reason(error)))
            self.indexes.discard_unreadable(header.location.directory, error)
        self._traces.put(header.id, decision.trace)
        if header.explains:
            self._explained.put(header.id, (header.location.directory, decision.trace))
        else:
            self._usage.add(header.location.directory, decision.trace)
        problem = decision.trace.problem
        if problem and decision.is_failure:
            with suppress(Exception):  # an answer never raises
                self.hook.queries.count_failure()
            if header.strict:  # the error of the query says it
                return Refusal(f"{header.location.root}: {problem}").to_bytes()
            self._warnings.warn_unused(header.location, problem)
        return decision.answer

    def warn_settings(self, configured: Mapping[str, str]) -> None:
        """Warn about each unknown or invalid setting in the configuration of a session, once for each problem."""
        for problem in problems_of(configured):
            self._warnings.warn_setting(str(problem))

    def _check(self, text: str) -> None:
        """Check the settings of a session in which Spark plans a query."""
        with suppress(Exception):  # a query never fails because of xskip
            self.warn_settings(json.loads(text)["settings"])

    def _session(self) -> SparkSession:
        assert self.jobs.spark is not None, "the engine needs a session"
        return self.jobs.spark

    def usage(self, directory: str) -> DatasetUsage:
        """Return how queries have used the indexes in a directory.

        The scans of a query that was explained before it ran count here, because Spark may list their files only once.
        """
        for number in self.hook.queries.take_used():
            explained = self._explained.get(number)
            if explained is not None:
                self._usage.add(*explained, explained=True)
        return self._usage.of(directory)

    def trace(self, number: int) -> ScanTrace | None:
        """Return the trace of the decision about a request, or None if the engine no longer has the trace."""
        return self._traces.get(number)

    def forget(self, directory: str) -> None:
        """Discard all state of a directory, whose index this process has created, changed or dropped."""
        self.indexes.forget(directory)
        self._warnings.forget(directory)

    def forget_all(self) -> None:
        """Discard the state of every index in use."""
        for directory in self.indexes.directories():
            self.forget(directory)
        self.indexes.forget_known_files()

    def _decide(self, request: ScanRequest) -> Decision:
        """Return the cached decision about an equal request, or prune the files of the index."""
        location = request.header.location
        loaded = self.indexes.load(location.directory, request.job_threshold)
        if loaded is None:
            problem = _missing_index(storage_for(self.hook, location.directory), location)
            return Decision(None, ScanTrace("", None, problem, request.filters_text))
        profile = request.read_profile()
        problem = loaded.snapshot.reason_unusable(location, profile)
        if problem:
            trace = ScanTrace("", None, problem, request.filters_text)
            return Decision(None, trace, is_failure=not _reads_lines(loaded.snapshot, profile))
        evaluator = Evaluator(self.hook, request.header.id, self._evaluations)
        differing = loaded.snapshot.differing_columns(profile)
        key = request.cache_key() + ("".join(sorted(differing.values())) if differing else "")
        decision = loaded.decisions.get(key)
        if decision is None or (decision.settings != "" and decision.settings != evaluator.settings()):
            decision = self._prune(request, loaded, profile, evaluator)
        loaded.decisions.put(key, decision)
        return decision

    def _prune(self, request: ScanRequest, loaded: LoadedIndex, profile: ReadProfile, evaluator: Evaluator) -> Decision:
        """Decide for every file of an index whether the scan can skip the file."""
        snapshot = loaded.snapshot
        catalog = _index_catalog(request, snapshot, profile)
        predicate = to_predicate(request.filters, evaluator, with_conditions=catalog.has_conditions)
        clause = translate(predicate, catalog)
        needed = requirements(clause)
        evidence = None
        if self.indexes.is_for_job(loaded, request.job_threshold):
            result = self._prune_by_job(loaded, clause, profile)
        else:
            result = prune_in_driver(clause, snapshot.load_proven(needed, profile), evaluator)
            evidence = Evidence(clause, catalog, weakref.ref(snapshot), profile, evaluator)
        trace = ScanTrace(
            str(predicate),
            replace(result, skip=np.zeros(0, bool)),
            filters=request.filters_text,
            decoded=predicate,
            secret_columns=_secret_columns(snapshot),
            indexes=frozenset(str(definition) for definition, _ in snapshot.indexes),
            evidence=evidence,
        )
        return Decision(_packed(result, loaded.token, needed), trace, _valid_settings(predicate, request, evaluator))

    def _prune_by_job(self, loaded: LoadedIndex, clause: Clause, profile: ReadProfile) -> PruneResult:
        snapshot = loaded.snapshot
        if snapshot.reading is not None and zones_differ(snapshot.reading, profile):
            raise XskipError(
                "a job cannot determine which statistics are valid in another time zone",
                hint="set -Duser.timezone of the driver's JVM as in the build, or create the index again",
            )
        return self.jobs.prune(loaded.directory, snapshot, clause)


def _reads_lines(snapshot: Snapshot, profile: ReadProfile) -> bool:
    """Return whether a query reads lines of CSV or JSON files as text, as Spark does to infer their schema."""
    return profile.format == "text" and snapshot.reading is not None and snapshot.reading.format in ("csv", "json")


def _missing_index(storage: Storage, location: IndexLocation) -> str:
    """Return the problem of a location without an index; empty if the index was dropped after Spark had listed it."""
    return str(no_index(storage, location)) if lacks_first_record(storage, location.directory) else ""


def _index_catalog(request: ScanRequest, snapshot: Snapshot, profile: ReadProfile) -> IndexCatalog:
    """Return the indexes and partition columns of a snapshot that a request can use."""
    differing = snapshot.differing_columns(profile)
    return IndexCatalog(
        without_columns(snapshot.indexes, differing),
        snapshot.partitions,
        request.partition_types,
        case_sensitive=snapshot.reading is not None and snapshot.reading.case_sensitive,
        untyped=not snapshot.is_ours,
        settings=request.expression_settings,
        differing=differing,
    )


def _secret_columns(snapshot: Snapshot) -> frozenset[str]:
    """Return the columns with an encrypted index, in lower case."""
    encrypted = (definition.columns for definition, _ in snapshot.indexes if definition.key_label is not None)
    return frozenset(column.lower().replace("`", "") for columns in encrypted for column in columns)


def _packed(result: PruneResult, token: int, needed: frozenset[Requirement]) -> bytes | None:
    """Return the bytes of an answer (JVM-AN-1), or None if no leaf of the clause reads metadata."""
    if not result.counts:
        return None
    partitions = sum(isinstance(requirement, PartitionKey) for requirement in needed)
    sections = {Section.SKIP: Answer.bits(result.skip)}
    return Answer(token, len(needed) - partitions, partitions > 0, sections).to_bytes()


def _valid_settings(predicate: Predicate, request: ScanRequest, evaluator: Evaluator) -> str | None:
    """Return the settings for which a decision is valid, as :class:`Decision` describes them."""
    if not any(isinstance(operand, Computed) for operand in operands(predicate)):
        return ""
    return None if request.is_partly_encoded else evaluator.settings()


_engines: dict[int, Engine] = {}
#: A thread that holds the lock can take the lock of the hooks. No thread takes it in the other order.
_lock = threading.RLock()


def forget_indexes() -> None:
    """Discard the state of every index in use, for all sessions."""
    for engine in list(_engines.values()):
        engine.forget_all()


def engine_of(spark: SparkSession) -> Engine:
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
            engine = Engine(hook)
            engine.jobs.spark = spark
            hook.connect(engine.answer)
            hook.connect_tables(engine.tables.session, engine.tables.answer)
            _engines.clear()
            _engines[id(hook)] = engine
        engine.jobs.spark = spark
    return engine
