"""The single files of a scan that ran, for reports: their classes, their bounds, and why the scan read them.

Nothing here runs while Spark plans a query. Rules: specs/reports.rst, [REP-P] and [REP-F].
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Undetermined, leaves
from xskip.engine.decision import Evidence, ScanTrace
from xskip.engine.scan_units import ScanParts
from xskip.expressions.condition_reasons import Cause
from xskip.expressions.intervals import Interval, interval_of
from xskip.indexes.file_bounds import bounded_type, bounds_of_files
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import IndexDefinition, MetadataTable, PartitionKey, Requirement
from xskip.metadatastore.snapshot import Snapshot
from xskip.protocol.scan_records import ScanRecord
from xskip.pruning.file_findings import FileFindings, Finding
from xskip.pruning.prune import PruneResult, index_name, prune, text_of
from xskip.results.file_explanation import FileExplanation
from xskip.results.file_picture import CLASSES, FilePicture, PicturedFiles
from xskip.results.value_texts import is_linear, value_text
from xskip.spark.bridge.queries import ListedFiles, QueryCalls
from xskip.types.datatypes import arrow_type
from xskip.types.masks import to_mask

__all__ = ["ScanFiles", "ScanListing", "ranges_in"]

_SKIPPED, _MATCHED, _UNDECIDED, _UNINDEXED = range(len(CLASSES))
#: Guards the results of evaluators, which belong to one thread at a time.
_evaluating = threading.Lock()


@dataclass(frozen=True, slots=True)
class ScanListing:
    """Access to the files of a scan, as long as the hook and the engine know them."""

    calls: QueryCalls
    scan: ScanRecord
    trace: ScanTrace | None

    def is_partial(self) -> bool:
        """Return whether Spark listed only some of the files of the index."""
        snapshot = None if self.trace is None or self.trace.evidence is None else self.trace.evidence.snapshot()
        return snapshot is not None and self.scan.known < snapshot.rows

    def files(self) -> ScanFiles | str:
        """Return the files, or the reason why they are not known."""
        trace = self.trace
        evidence = None if trace is None else trace.evidence
        if trace is None or evidence is None:
            is_by_job = trace is not None and trace.result is not None
            return "a Spark job pruned the index" if is_by_job else "the scan used no index"
        snapshot = evidence.snapshot()
        if snapshot is None:
            return "the index has changed since the query"
        listed = self.calls.listed_files(self.scan.id)
        if listed is None:
            return "the list of the scan's files is no longer in memory"
        found = ScanFiles(evidence, snapshot, trace, listed)
        if (len(found.ordinals), int(found.kept.sum())) != (self.scan.listed, self.scan.kept + self.scan.unneeded):
            return "files of the scan have other partition values than in the index"
        return found

    def picture(self, *, has_values: bool) -> FilePicture | str:
        """Return the picture of the files along a column, or the reason why there is none."""
        found = self.files()
        return found if isinstance(found, str) else found.picture(has_values=has_values)


def ranges_in(evidence: Evidence | None, files: DataFiles) -> pa.Array | None:
    """Return the ranges of files that can hold matching rows, for a list of files; None if all are to be read whole.

    Nothing is known of a clause whose functions Spark evaluates, because the request is over, and of one with partition
    values, because Spark can list a file with others than the index.
    """
    snapshot = None if evidence is None else evidence.snapshot()
    if evidence is None or snapshot is None:
        return None
    clause = evidence.selection.clause
    needed = evidence.selection.needed
    has_functions = any(not isinstance(leaf, Undetermined) and leaf.asks_spark for leaf in leaves(clause))
    if has_functions or any(isinstance(need, PartitionKey) for need in needed):
        return None
    table = snapshot.load_proven(needed, evidence.profile)
    parts = ScanParts.of(evidence, snapshot, prune(clause, table).skip)
    return None if parts is None else parts.ranges_of(files)


class ScanFiles:
    """The files of a scan."""

    def __init__(self, evidence: Evidence, snapshot: Snapshot, trace: ScanTrace, listed: ListedFiles) -> None:
        self._evidence = evidence
        self._snapshot = snapshot
        self._trace = trace
        self._listed = listed
        #: The position of each listed file in the snapshot; -1 for a file that is not in the snapshot.
        self.ordinals = listed.ordinals()
        #: Whether the scan reads each listed file.
        self.kept = listed.kept()

    @cached_property
    def _table(self) -> MetadataTable:
        return self._proved(self._evidence.selection.needed)

    @cached_property
    def _findings(self) -> FileFindings:
        with _evaluating, self._evidence.functions.collecting():  # functions without results keep the file
            return FileFindings(self._evidence.selection.clause, self._table)

    def _proved(self, wanted: frozenset[Requirement]) -> MetadataTable:
        return self._snapshot.load_proven(wanted, self._evidence.profile)

    def result(self) -> PruneResult:
        """Return the result of pruning, with the counts of the files that Spark listed."""
        listed = np.full(len(self._table), False)
        listed[self.ordinals[self.ordinals >= 0]] = True
        assert self._trace.result is not None
        if listed.all():
            return self._trace.result
        with _evaluating, self._evidence.functions.collecting():
            return prune(self._evidence.selection.clause, self._table, listed)

    def classes(self) -> npt.NDArray[np.uint8]:
        """Return the class of each listed file, as a position in ``CLASSES``."""
        verdicts = to_mask(self._findings.verdicts)
        known = self.ordinals >= 0
        found = np.full(len(self.ordinals), _UNINDEXED, np.uint8)
        found[known] = np.where(verdicts[self.ordinals[known]], _MATCHED, _UNDECIDED)
        found[known & ~self.kept] = _SKIPPED
        return found

    def picture(self, *, has_values: bool) -> FilePicture | str:
        """Return the picture of the files along a column, or the reason why there is none."""
        bounded = self._bounded()
        if not bounded:
            return "no index has bounds of a column" + (" without encryption" if self._trace.secret_columns else "")
        definition, kind = bounded[0]
        values = self._proved(frozenset({definition.key})).indexes[definition.key].values
        low, high = bounds_of_files(values)
        at = pa.array(self.ordinals, mask=self.ordinals < 0)
        decoded = self._trace.decoded
        interval = interval_of(decoded, definition.columns[0]) if decoded is not None else Interval()
        files = PicturedFiles(self.classes(), low.take(at), high.take(at), interval)
        return FilePicture.of(files, definition.columns[0], str(definition), kind, has_values=has_values)

    def _bounded(self) -> list[tuple[IndexDefinition, str]]:
        """Return the indexes whose bounds may be shown, the best one for a picture first."""
        ruled_out: dict[tuple[Requirement, ...], int] = {}
        for outcome in () if self._trace.result is None else self._trace.result.counts:
            needs = outcome.clause.needs
            ruled_out[needs] = max(ruled_out.get(needs, 0), outcome.ruled_out)

        def rank(definition: IndexDefinition, kind: str) -> tuple[bool, int]:
            count = ruled_out.get((definition.key,), -1)  # -1: no clause reads the index
            # An axis shows the distances of numbers and times, so those of them that ruled out files come first.
            return count > 0 and is_linear(arrow_type(kind)), count

        bounded = [(d, bounded_type(d, storage)) for d, storage in self._snapshot.indexes]
        shown = [(d, kind) for d, kind in bounded if kind is not None and not self._is_secret(d)]
        return sorted(shown, key=lambda each: rank(*each), reverse=True)

    def _is_secret(self, definition: IndexDefinition) -> bool:
        columns = (column.lower().replace("`", "") for column in definition.columns)
        return definition.key_label is not None or not self._trace.secret_columns.isdisjoint(columns)

    def explanations(self, most: int, shown: Mapping[str, str] | None) -> Iterator[FileExplanation]:
        """Yield why the scan reads or skips files: first the files that it reads, then the others, by their names.

        ``shown`` has the texts of predicates with values, by their texts without; None hides all values.
        """
        known = self.ordinals >= 0
        left = most
        for place in self._by_name(known & self.kept, left):
            yield self._explained(place, shown)
            left -= 1
        for file in self._unindexed(left):
            yield file
            left -= 1
        for place in self._by_name(known & ~self.kept, left):
            yield self._explained(place, shown)

    def _by_name(self, chosen: npt.NDArray[np.bool_], most: int) -> npt.NDArray[np.int64]:
        """Return the places, in the listing, of the first chosen files by name."""
        places = np.flatnonzero(chosen)
        order = pc.sort_indices(self._table.files.names.take(pa.array(self.ordinals[places])))
        first: npt.NDArray[np.int64] = places[order.to_numpy(zero_copy_only=False)[: max(most, 0)].astype(np.int64)]
        return first

    def _unindexed(self, most: int) -> list[FileExplanation]:
        if most <= 0 or not (self.ordinals < 0).any():
            return []
        files = sorted(self._listed.unknown(most), key=lambda each: each.name)
        names = self._table.files.names
        stale = pc.is_in(pa.array([file.name for file in files], pa.string()), names).to_pylist()
        causes = [Cause.STALE_FILE if is_stale else Cause.UNKNOWN_FILE for is_stale in stale]
        return [
            FileExplanation(file.name, file.size, "kept", "", "", "", str(cause))
            for file, cause in zip(files, causes, strict=True)
        ]

    def _explained(self, place: int, shown: Mapping[str, str] | None) -> FileExplanation:
        row, kept = int(self.ordinals[place]), bool(self.kept[place])
        file, finding = self._table.files[row], self._findings.of(row)
        verdict = self._findings.verdicts[row].as_py()
        # conditions that differ only in hidden values have one text
        predicates = dict.fromkeys(text_of(subjects, shown) for subjects in finding.subjects)
        names = dict.fromkeys(map(index_name, finding.needs))
        reason = finding.reason
        # What the scan did differs from the present verdict: the scan had another snapshot, or results of functions
        # that the evaluator no longer has.
        if kept is (verdict is False):
            reason = Cause.ANOTHER_SNAPSHOT if kept else Cause.FORGOTTEN_RESULTS
        return FileExplanation(
            file.name,
            file.size,
            "kept" if kept else "skipped",
            " AND ".join(predicates),
            ", ".join(names),
            "" if shown is None else self._bounds(finding, row),
            str(reason),
        )

    def _bounds(self, finding: Finding, row: int) -> str:
        """Return the bounds of a file in the first index of a finding that has bounds and is not encrypted."""
        for need in dict.fromkeys(need for needs in finding.needs for need in needs):
            column = None if isinstance(need, PartitionKey) else self._table.indexes.get(need)
            if column is None or bounded_type(column.definition, column.storage) is None:
                continue
            low, high = bounds_of_files(column.values.slice(row, 1))
            if not self._is_secret(column.definition) and (low[0].is_valid or high[0].is_valid):
                return f"{value_text(low[0])} … {value_text(high[0])}"
        return ""
