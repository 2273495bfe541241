"""The engine that decides which files a query can skip. Any failure here ends in a query that reads all files."""

from __future__ import annotations

import itertools
import json
import logging
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask
from xskip.engine.bounded_map import BoundedMap
from xskip.engine.column_facts import column_facts
from xskip.engine.conditions import conditions_of
from xskip.engine.decision import Decision, Evidence, ScanTrace
from xskip.engine.file_facts import FileFacts, file_facts, has_fields, predicate_facts
from xskip.engine.loaded_indexes import LoadedIndex, LoadedIndexes
from xskip.engine.ports import Functions, Platform
from xskip.engine.rewrite_needs import RewriteNeeds, by_keys, needs_of
from xskip.engine.scan_units import FileRanges, ScanParts, ScanUnits
from xskip.engine.selection import Selection, index_catalog, select
from xskip.engine.usage import UsageLog
from xskip.engine.warning_log import WarningLog
from xskip.errors import IndexDeletedError, XskipError, message_of
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import And, Predicate, operands
from xskip.metadata.read_profile import ReadProfile, zones_differ
from xskip.metadata.table import PartitionKey, Requirement
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.missing_index import lost_index
from xskip.metadatastore.snapshot import Snapshot
from xskip.protocol.answer import Answer, Refusal, Section
from xskip.protocol.request import RequestError, RequestHeader, ScanRequest
from xskip.protocol.scan_records import UsedRequest
from xskip.pruning.clause_translation import IndexCatalog
from xskip.pruning.prune import PruneResult
from xskip.results.index_usage import Condition, DatasetUsage
from xskip.settings import problems_of

__all__ = ["Engine"]

_log = logging.getLogger("xskip")
_MAX_TRACES = 512
#: The number of files above which the engine keeps no answers with facts, which have some 8 bytes for each file.
_MAX_FILES_OF_FACTS = 20_000
#: The number of requests for plans after which those that queries have used are counted.
_MAX_UNTAKEN = 128
#: The name of the rewrite of joins.
_JOIN = "join"
_OF_SETTINGS = '{"settings":'


class Engine:
    """An engine that answers the requests of the hook in a JVM.

    Several threads can call an engine. The engine itself has no lock: each of its parts has a lock for its own state,
    and :class:`LoadedIndexes` states the order of the locks. A thread holds none of these locks while it prunes.
    """

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self.warnings = WarningLog()
        self.indexes = LoadedIndexes(platform, self.warnings)
        self._traces: BoundedMap[int, ScanTrace] = BoundedMap(_MAX_TRACES)
        self._usage = UsageLog()
        #: The traces of requests for plans, which count when a query reads the files.
        self._planned: BoundedMap[int, tuple[str, ScanTrace]] = BoundedMap(_MAX_TRACES)
        self._untaken = itertools.count(1)

    def answer(self, text: str) -> bytes | None:
        """Return the answer to a scan request as bytes for the hook, or None to read all files; never raise.

        After an error the query reads all files, and the engine logs the reason once. In strict mode, the hook gets a
        refusal instead.
        """
        # a message with settings to check is no request of a scan
        if text.startswith(_OF_SETTINGS):
            self._check(text)
            return None
        header, is_of_plan = RequestHeader(), False
        try:
            request = ScanRequest.parse(text)
            header, is_of_plan = request.header, request.is_of_plan
            decision = self._decide(request)
        except BaseException as error:  # noqa: BLE001 - the fail-open point: a query never fails because of xskip
            header = error.header if isinstance(error, RequestError) else header
            decision = Decision(None, ScanTrace("", None, self._platform.describe(error)))
            self.indexes.discard_unreadable(header.location.directory, error)
        self._traces.put(header.id, decision.trace)
        if header.explains or is_of_plan:
            self._plan(header, decision.trace)
        else:
            trace = decision.trace
            self._usage.add(header.location.directory, trace, UsedRequest(header.id, trace.kept_bytes, 0))
        problem = decision.trace.problem
        if problem and decision.is_failure:
            with suppress(Exception):  # an answer never raises
                self._platform.count_failure()
            if header.strict:  # the error of the query says it
                return Refusal(f"{header.location.root}: {problem}").to_bytes()
            self.warnings.warn_unused(header.location, problem)
        return decision.answer

    def warn_settings(self, configured: Mapping[str, str]) -> None:
        """Warn about each unknown or invalid setting in the configuration of a session, once for each problem."""
        for problem in problems_of(configured):
            self.warnings.warn_setting(str(problem))

    def _check(self, text: str) -> None:
        """Check the settings of a session in which Spark plans a query."""
        with suppress(Exception):  # a query never fails because of xskip
            self.warn_settings(json.loads(text)["settings"])

    def usage(self, directory: str) -> DatasetUsage:
        """Return how queries have used the indexes in a directory."""
        self._count_used(waits=True)
        return self._usage.of(directory)

    def _plan(self, header: RequestHeader, trace: ScanTrace) -> None:
        """Keep the trace of a request for a plan until a query has read the files."""
        self._planned.put(header.id, (header.location.directory, trace))
        if next(self._untaken) % _MAX_UNTAKEN == 0:
            with suppress(Exception):  # an answer never raises
                self._count_used(waits=False)

    def _count_used(self, *, waits: bool) -> None:
        """Count the requests for plans whose files a query has read since; Spark may list them only once."""
        for used in self._platform.take_used(waits=waits):
            planned = self._planned.pop(used.id)
            if planned is not None:
                self._usage.add(*planned, used)

    def trace(self, number: int) -> ScanTrace | None:
        """Return the trace of the decision about a request, or None if the engine no longer has the trace."""
        return self._traces.get(number)

    def forget(self, directory: str) -> None:
        """Discard all state of a directory, whose index this process has created, changed or dropped."""
        self.indexes.forget(directory)
        self.warnings.forget(directory)

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
            return _without_index(request, self._platform.storage(location.directory))
        profile = request.read_profile()
        problem = loaded.snapshot.reason_unusable(location, profile)
        if problem:
            trace = ScanTrace("", None, problem, request.filters_text)
            return Decision(None, trace, is_failure=not _reads_lines(loaded.snapshot, profile))
        functions = self._platform.functions(request.header.id)
        differing = loaded.snapshot.differing_columns(profile)
        key = request.cache_key() + ("".join(sorted(differing.values())) if differing else "")
        decision = loaded.decisions.get(key)
        if decision is None or (decision.settings != "" and decision.settings != functions.settings()):
            decision = self._prune(request, loaded, profile, functions)
        # the facts of many files are large, and a plan asks for them once
        if request.facts is None or loaded.snapshot.rows <= _MAX_FILES_OF_FACTS:
            loaded.decisions.put(key, decision)
        return decision

    def _prune(self, request: ScanRequest, loaded: LoadedIndex, profile: ReadProfile, functions: Functions) -> Decision:
        """Decide for every file of an index whether the scan can skip the file."""
        snapshot = loaded.snapshot
        catalog = index_catalog(
            snapshot,
            profile,
            case_sensitive=snapshot.read_profile is not None and snapshot.read_profile.case_sensitive,
            queried=request.partition_types,
            settings=request.expression_settings,
        )
        predicate = self._platform.decode(request.filters, functions, with_conditions=catalog.has_conditions)
        selection = Selection.of(predicate, catalog)
        evidence, facts, ranges, needs = None, None, None, RewriteNeeds()
        if self.indexes.is_for_job(loaded, request.job_threshold):
            result = self._prune_by_job(loaded, selection, profile)
        else:
            result = select(selection, snapshot, profile, functions)
            evidence = Evidence(selection, weakref.ref(snapshot), profile, functions)
            parts, ranges = _parts(request, evidence, result.skip)
            facts = self._facts(request, evidence, result.skip, parts)
            needs = _needs(request, evidence, facts)
        trace = ScanTrace(
            str(predicate),
            replace(result, skip=np.zeros(0, bool)),
            filters=request.filters_text,
            decoded=predicate,
            secret_columns=_secret_columns(snapshot),
            indexes=frozenset(str(definition) for definition, _ in snapshot.indexes),
            evidence=evidence,
            conditions=_conditions(request, predicate, catalog, result, snapshot) + needs.conditions,
            kept_bytes=0 if evidence is None else _kept_bytes(snapshot, result),
            whole_bytes=needs.whole_bytes,
            rewrite_indexes=needs.indexes,
            is_of_join=request.rewrite == _JOIN,
        )
        return Decision(
            _packed(result, loaded.token, selection.needed, facts, ranges),
            trace,
            _valid_settings(predicate if facts is None else And((predicate, facts.all_conditions)), request, functions),
        )

    def _facts(self, request: ScanRequest, evidence: Evidence, skip: Mask, parts: ScanParts | None) -> FileFacts | None:
        """Return what a request asks of files beyond "skip"; a failure must not cost the scan its skip mask."""
        snapshot = evidence.snapshot()
        if request.facts is None or snapshot is None or not snapshot.is_ours:
            return None
        catalog, functions = evidence.selection.catalog, evidence.functions
        try:
            conditions = request.facts.conditions
            with_conditions = catalog.has_conditions
            decoded = self._platform.decode(conditions, functions, with_conditions=with_conditions)
            if evidence.profile.format == "orc" and has_fields(decoded):
                return None
            units = ScanUnits.of_files(evidence, snapshot, skip)
            if parts is not None and request.facts.of_parts:
                units = units.by_part(parts, [catalog.counted_column(column) for column in request.facts.columns])
            facts = file_facts(decoded, evidence, units)
            columns = column_facts(request.facts, evidence, units, facts.rows)
            predicates = [
                self._platform.decode([predicate], functions, with_conditions=with_conditions)
                for predicate in request.facts.predicates
            ]
            return replace(facts, columns=columns, predicates=predicate_facts(predicates, evidence, facts))
        except Exception as error:  # noqa: BLE001 - only a shorter plan needs them
            _log.debug("xskip cannot tell which files match wholly: %r", error)
            return None

    def _prune_by_job(self, loaded: LoadedIndex, selection: Selection, profile: ReadProfile) -> PruneResult:
        snapshot = loaded.snapshot
        if snapshot.read_profile is not None and zones_differ(snapshot.read_profile, profile):
            raise XskipError(
                "a job cannot determine which statistics are valid in another time zone",
                hint="set -Duser.timezone of the driver's JVM as in the build, or create the index again",
            )
        return self._platform.jobs.prune(loaded.directory, snapshot, selection.clause)


def _reads_lines(snapshot: Snapshot, profile: ReadProfile) -> bool:
    """Return whether a query reads lines of CSV or JSON files as text, as Spark does to infer their schema."""
    return (
        profile.format == "text"
        and snapshot.read_profile is not None
        and snapshot.read_profile.format in ("csv", "json")
    )


def _without_index(request: ScanRequest, storage: Storage) -> Decision:
    """Return the decision about a location that had an index, with a problem unless the index was dropped."""
    location = request.header.location
    error = lost_index(storage, location)
    problem = message_of(error) if error is not None else ""
    # an index that an overwrite has deleted is none: other processes no longer ask it
    is_deleted = isinstance(error, IndexDeletedError)
    return Decision(None, ScanTrace("", None, problem, request.filters_text), is_failure=not is_deleted)


def _secret_columns(snapshot: Snapshot) -> frozenset[str]:
    """Return the columns with an encrypted index, also those in expressions, in lower case."""
    encrypted = [definition for definition, _ in snapshot.indexes if definition.key_label is not None]
    names = {column.lower().replace("`", "") for each in encrypted for column in each.columns}
    return frozenset(names | {".".join(path).lower() for each in encrypted for path in each.paths})


def _parts(
    request: ScanRequest, evidence: Evidence, skip: Mask
) -> tuple[ScanParts, FileRanges | None] | tuple[None, None]:
    """Return which parts and ranges of files a scan needs; a failure must not cost the scan its skip mask."""
    snapshot = evidence.snapshot()
    has_filters = bool(evidence.selection.needed)
    is_of_use = has_filters or (request.facts is not None and request.facts.of_parts)
    if not request.takes_ranges or not is_of_use or snapshot is None:
        return None, None
    try:
        parts = ScanParts.of(evidence, snapshot, skip)
        return (None, None) if parts is None else (parts, parts.ranges())
    except Exception as error:  # noqa: BLE001 - a scan can read whole files
        _log.debug("xskip cannot tell which parts of files a scan needs: %r", error)
        return None, None


def _packed(
    result: PruneResult, token: int, needed: frozenset[Requirement], facts: FileFacts | None,
    ranges: FileRanges | None,
) -> bytes | None:  # fmt: skip
    """Return the bytes of an answer (JVM-AN-1), or None if no leaf of the clause reads metadata, and without facts."""
    if not result.counts and facts is None:
        return None
    partitions = sum(isinstance(requirement, PartitionKey) for requirement in needed)
    uses_partitions = partitions > 0 or (facts is not None and facts.depends_on_partitions)
    sections = {
        Section.SKIP: Answer.bits(result.skip), **({} if facts is None else facts.sections),
        **({} if ranges is None else {Section.RANGES: ranges.to_bytes()}),
    }  # fmt: skip
    return Answer(token, len(needed) - partitions, uses_partitions, sections).to_bytes()


def _conditions(
    request: ScanRequest, predicate: Predicate, catalog: IndexCatalog, result: PruneResult, snapshot: Snapshot
) -> tuple[Condition, ...]:
    """Return what a scan asks of columns and expressions; a failure must not cost the scan its skip mask."""
    try:
        found = conditions_of(predicate, catalog, result.unused, _secret_columns(snapshot))
        return by_keys(found, predicate) if request.rewrite == _JOIN else found
    except Exception as error:  # noqa: BLE001 - only advice needs them
        _log.debug("xskip cannot tell what a scan asks of its columns: %r", error)
        return ()


def _needs(request: ScanRequest, evidence: Evidence, facts: FileFacts | None) -> RewriteNeeds:
    """Return what a rewrite needs of columns; a failure must not cost the scan its skip mask."""
    if request.facts is None or facts is None:
        return RewriteNeeds()
    try:
        return needs_of(request.facts, evidence, facts)
    except Exception as error:  # noqa: BLE001 - only advice needs them
        _log.debug("xskip cannot tell what a rewrite needs of its columns: %r", error)
        return RewriteNeeds()


def _kept_bytes(snapshot: Snapshot, result: PruneResult) -> int:
    """Return the size of the files of an index that a scan cannot skip."""
    return int(pc.sum(snapshot.load(()).files.sizes.filter(pa.array(~result.skip))).as_py() or 0)


def _valid_settings(predicate: Predicate, request: ScanRequest, functions: Functions) -> str | None:
    """Return the settings for which a decision is valid, as :class:`Decision` describes them."""
    if not any(isinstance(operand, Computed) for operand in operands(predicate)):
        return ""
    return None if request.is_partly_encoded else functions.settings()
