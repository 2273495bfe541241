"""The application of advice: indexes are added and removed in one commit."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from xskip.api.upkeep import IndexUpkeep
from xskip.hints import Call, Phrase, Words
from xskip.indexes import Index
from xskip.indexes.registry import type_of
from xskip.indexing.additional_indexes import Extension
from xskip.indexing.source import require_own_snapshot
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.advice import Advice, AppliedAdvice, LeftAdvice
from xskip.results.index_usage import DatasetUsage

__all__ = ["apply_advice"]


@dataclass(frozen=True, slots=True)
class _Changes:
    """The indexes that advice adds and removes, and the advice that changes nothing."""

    added: tuple[Advice, ...]
    removed: tuple[Advice, ...]
    left: tuple[LeftAdvice, ...]
    #: Whether an index to remove is encrypted.
    has_key: bool

    @staticmethod
    def of(advice: Sequence[Advice], snapshot: Snapshot, usage: DatasetUsage) -> _Changes:
        """Return the changes to the present index; advice that is out of date is left."""
        present = {str(definition): definition for definition, _ in snapshot.indexes}
        reasons = [_reason(each, present, usage) for each in advice]
        chosen = [each for each, reason in zip(advice, reasons, strict=True) if not reason]
        left = [LeftAdvice(a.action, a.subject, r) for a, r in zip(advice, reasons, strict=True) if r]
        added = tuple(each for each in chosen if each.action == "add")
        removed = [each for each in chosen if each.action == "remove"]
        if not added and len(removed) == len(present):
            last = removed.pop()
            left.append(LeftAdvice("remove", last.subject, Words("no index would remain; {}", Call("drop"))))
        has_key = any(present[each.index or ""].key_label is not None for each in removed)
        return _Changes(added, tuple(removed), tuple(left), has_key)


def apply_advice(index: IndexUpkeep, advice: tuple[Advice, ...], *, dry_run: bool) -> AppliedAdvice:
    """Add and remove the indexes that advice names, or return what would be added and removed."""
    started = time.monotonic()
    engine, source = index._open()
    changes = _Changes.of(advice, require_own_snapshot(source), engine.usage(source.directory))
    added, removed = (tuple(each.index or "" for each in some) for some in (changes.added, changes.removed))
    failed = () if dry_run else _made(index, list(_indexes(changes.added)), removed, has_key=changes.has_key)
    result = AppliedAdvice(source.root, added, removed, changes.left, 0.0, failed, dry_run)
    return replace(result, seconds=time.monotonic() - started)


def _made(index: IndexUpkeep, added: list[Index], removed: tuple[str, ...], *, has_key: bool) -> tuple[str, ...]:
    """Make the changes, and return the files that could not be read."""
    if added and removed and not has_key:
        engine = index._check_settings()
        return Extension(engine, index._spark, index._reader, None, "raise").run(added, removed, "advise").failed
    # The removal of an encrypted index can change the key of the footers, which is a commit of its own.
    failed = index.add(added).failed if added else ()
    if removed:
        index.remove(removed)
    return failed


def _indexes(advice: Sequence[Advice]) -> Iterator[Index]:
    for each in advice:
        name, _, column = (each.index or "").removesuffix(")").partition("(")
        kind = type_of(name)
        assert kind is not None
        yield kind(column, expression=each.is_expression)  # type: ignore[call-arg]


def _reason(advice: Advice, present: Collection[str], usage: DatasetUsage) -> str:
    """Return why a piece of advice is left, or an empty text."""
    match advice:
        case Advice(action="change"):
            return "choose another type of index, or other parameters"
        case Advice(action="order"):
            return "the data must be written anew"
        case Advice(action="add", index=None):
            return "no trial has measured which type of index helps"
        case Advice(action="add", index=str() as index) if index.lower() in {each.lower() for each in present}:
            return "the dataset has the index already"
        case Advice(action="remove", index=str() as index) if index in usage.useful:
            return "the index has ruled out files since"
        case Advice(action="remove", is_of_process=True):
            hint = Phrase("pass history= to advise()", "give --history")
            return Words("only the scans of this process do not need the index, and other drivers can; {}", hint)
        case Advice(action="remove", index=index) if index not in present:
            return "the dataset has no such index"
        case _:
            return ""
