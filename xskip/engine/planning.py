"""What statistics say of files beyond "skip", for planners: which files match wholly, and how many rows they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Mask
from xskip.engine.decision import Evidence
from xskip.engine.selection import collect_evaluations
from xskip.expressions.predicate import Predicate
from xskip.metadata.table import PartitionKey
from xskip.metadatastore.snapshot import Snapshot
from xskip.protocol.answer import Answer, Section
from xskip.pruning.complement import complement_clause, wholly
from xskip.pruning.prune import requirements

__all__ = ["FileFacts", "file_facts"]

_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts about the files of a snapshot."""

    conditions: Predicate
    #: True for each file all of whose rows satisfy the conditions for certain.
    whole: Mask
    #: int64, without nulls: the number of rows of each file; -1 if it is unknown.
    rows: pa.Array
    #: Whether ``whole`` holds only for files with the partition values of the snapshot.
    uses_partitions: bool

    @property
    def sections(self) -> Mapping[Section, bytes]:
        """Return the sections of the answer."""
        rows = self.rows.to_numpy().astype("<i8")
        return {Section.WHOLE: Answer.bits(self.whole), Section.ROWS: rows.tobytes()}


def file_facts(conditions: Predicate, evidence: Evidence, snapshot: Snapshot, skip: Mask) -> FileFacts:
    """Return which files of a snapshot match conditions wholly, and the numbers of rows [PRU-CO-3] [PRU-CO-5].

    ``evidence`` is that of the decision about the filters, which rules out the files at which ``skip`` is True.
    """
    clause = complement_clause(conditions, evidence.selection.catalog)
    needed = requirements(clause)
    counts = snapshot.counts().plausible()
    table = replace(snapshot.load_proven(needed, evidence.profile), counts=counts)
    functions = evidence.functions
    functions.evaluate(collect_evaluations(clause, table, functions))
    is_counted = np.asarray(counts.rows.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    rows = pc.fill_null(counts.rows, _UNKNOWN)
    # no row of a file that matches wholly is ruled out: the statistics of a file with both contradict each other
    is_sound = is_counted & ~(skip & (rows.to_numpy() > 0))
    uses_partitions = any(isinstance(need, PartitionKey) for need in needed)
    return FileFacts(conditions, wholly(clause, table) & is_sound, rows, uses_partitions)
