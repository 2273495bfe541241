"""The verdict of a clause on single files, and the parts of the clause that decide it, for reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import AllOf, Always, AnyOf, Clause, IndexClause, Subject, Undetermined, Verdicts, subjects
from xskip.clauses.index_clause import PartsClause
from xskip.expressions.condition_reasons import Cause, MissingKey, MissingStatistics, OtherReason, Reason
from xskip.metadata.table import MetadataTable, PartitionKey, Requirement
from xskip.types.masks import same

__all__ = ["FileFindings", "Finding"]

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class Finding:
    """The part of a clause that decides the verdict on a file, and why the verdict is what it is."""

    #: The predicates of each clause that decides; empty if no predicate decides.
    subjects: tuple[tuple[Subject, ...], ...]
    #: The indexes or partition columns that were read, clause by clause; empty if no clause read any.
    needs: tuple[tuple[Requirement, ...], ...]
    reason: Reason


class FileFindings:
    """The verdicts of all parts of a clause on all files of a metadata table, which has what the clause requires."""

    def __init__(self, clause: Clause, table: MetadataTable) -> None:
        self._clause = clause
        self._table = table
        self._found: dict[int, Verdicts] = {}  # by the identity of the part, which the clause keeps alive
        #: The verdict of the clause on each file: true, false or null.
        self.verdicts = self._evaluate(clause)

    def _evaluate(self, clause: Clause) -> Verdicts:
        match clause:
            case Always(verdict):
                found = same(len(self._table), truth=verdict)
            case Undetermined():
                found = pa.nulls(len(self._table), pa.bool_())
            case AllOf(children):
                found = same(len(self._table), truth=True)
                for child in children:
                    found = pc.and_kleene(found, self._evaluate(child))
            case AnyOf(children):
                found = same(len(self._table), truth=False)
                for child in children:
                    found = pc.or_kleene(found, self._evaluate(child))
            case _:
                found = clause.evaluate(self._table, np.full(len(self._table), True))
        self._found[id(clause)] = found
        return found

    def _verdict(self, clause: Clause, row: int) -> bool | None:
        verdict: bool | None = self._found[id(clause)][row].as_py()
        return verdict

    def of(self, row: int) -> Finding:
        """Return what decides the verdict on the file at a position of the table.

        Where the verdict is false, the finding has the first part that proves it: all alternatives of a disjunction
        together. Where it is null, the finding has the last part without a verdict, and says why it has none. Where it
        is true, the finding has the last part.
        """
        verdict = self._verdict(self._clause, row)
        # Spark puts conditions such as ``IS NOT NULL`` before the others, so the last part says most.
        if verdict is None:
            return self._opened(_last(list(self._open(self._clause, row)))[0], row)
        if not verdict:
            return _joined(list(self._proof(self._clause, row)), Cause.EXCLUDED, Cause.NEVER_TRUE)
        return _joined(_last(list(self._true(self._clause, row))), Cause.ADMITTED, Cause.ALWAYS_TRUE)

    def _proof(self, clause: Clause, row: int) -> Iterator[IndexClause]:
        match clause:
            case AllOf(children):
                yield from self._proof(next(each for each in children if self._verdict(each, row) is False), row)
            case AnyOf(children):
                for child in children:
                    yield from self._proof(child, row)
            case Always() | Undetermined():
                return
            case _:
                yield clause

    def _true(self, clause: Clause, row: int) -> Iterator[IndexClause]:
        match clause:
            case AllOf(children) | AnyOf(children):
                for child in children:
                    if self._verdict(child, row):
                        yield from self._true(child, row)
            case Always() | Undetermined():
                return
            case _:
                yield clause

    def _open(self, clause: Clause, row: int) -> Iterator[IndexClause | Undetermined]:
        match clause:
            case AllOf(children) | AnyOf(children):
                for child in children:
                    if self._verdict(child, row) is None:
                        yield from self._open(child, row)
            case Always():
                return
            case _:
                yield clause

    def _opened(self, clause: IndexClause | Undetermined, row: int) -> Finding:
        if isinstance(clause, Undetermined):
            return Finding((clause.predicates,) if clause.predicates else (), (), clause.reason)
        return Finding((subjects(clause),), (clause.needs,), self._why_open(clause, row))

    def _why_open(self, clause: IndexClause, row: int) -> Reason:
        for need in clause.needs:
            if isinstance(need, PartitionKey):
                continue
            column = self._table.indexes.get(need)
            if column is None:
                return Cause.NO_SUCH_INDEX
            if column.is_locked:
                return MissingKey(column.definition.key_label)
            if column.doubt:
                return OtherReason(column.doubt)
            if not column.values[row].is_valid:
                return MissingStatistics(is_damaged=bool(column.unreadable))
        return Cause.UNDECIDED


def _last(clauses: list[_Part]) -> list[_Part]:
    """Return the last clause, rather one of a single leaf than one of several; an empty list if there is none."""
    single = [clause for clause in clauses if not (isinstance(clause, PartsClause) and clause.also)]
    return (single or clauses)[-1:]


def _joined(clauses: list[IndexClause], reason: Cause, constant: Cause) -> Finding:
    """Return the finding of clauses for ``reason``, or for ``constant`` if there are none."""
    needs = dict.fromkeys(clause.needs for clause in clauses)
    return Finding(tuple(dict.fromkeys(map(subjects, clauses))), tuple(needs), reason if clauses else constant)
