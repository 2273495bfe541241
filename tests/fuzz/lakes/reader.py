"""A reader that goes on from token to token, and has each message of the lake once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import xskip.quixlake
from tests.fuzz.lakes.identity import identity, identity_of_row
from tests.fuzz.lakes.model import Message, Model, Origin
from xskip.errors import DatasetError, PredicateError
from xskip.quixlake import QuixLake

__all__ = ["NewRead", "Reader"]


@dataclass(slots=True)
class _Moment:
    """A token, what the lake had when it was made, and whether manifests of compactions have gone since."""

    token: str | None
    messages: dict[Origin, Message]
    is_cleaned: bool = False


@dataclass(frozen=True, slots=True)
class NewRead:
    """A read between two tokens with Spark, and the messages that it has to return."""

    label: str
    frame: DataFrame
    expected: list[Message]


@dataclass(slots=True)
class Reader:
    """A program that reads what is new since its last token.

    Attributes
    ----------
    random : Random
    base : Path
    model : Model
    faults : list of str
    failures : int
        The number of reads that failed, because the messages of merged segments could not be told.
    """

    random: Random
    base: Path
    model: Model
    faults: list[str] = field(default_factory=list)
    failures: int = 0
    _since: _Moment = field(default_factory=lambda: _Moment(None, {}))
    _until: _Moment | None = None

    def clean(self) -> None:
        """Note that manifests of compactions have gone."""
        for moment in (self._since, self._until):
            if moment is not None:
                moment.is_cleaned = True

    def read(self, lake: QuixLake) -> NewRead | None:
        """Read the new messages of a lake, at times up to a token that was made some steps ago.

        Returns None if the reader waits, or has to begin again.
        """
        if self._until is None:
            self._until = _Moment(lake.token("t"), {m["origin"]: m for m in self.model.messages()})
            if self.random.random() < 0.4:
                return None
        since, until = self._since, self._until
        self._since, self._until = until, None
        results: list[Any] = []
        for read in (xskip.quixlake.open(self.base).to_arrow, lake.read):
            try:
                results.append(read("t", since=since.token, until=until.token))
            except (DatasetError, PredicateError) as error:
                results.append(error)
        table, frame = results
        if isinstance(table, pa.Table) and isinstance(frame, DataFrame):
            return self._compared(table, frame, since, until)
        self._failed(results, (since, until))
        return None

    def _compared(self, table: pa.Table, frame: DataFrame, since: _Moment, until: _Moment) -> NewRead:
        """Compare what Arrow has read, and return the read of Spark."""
        present = self.model.messages()
        expected = [m for m in present if m["origin"] in until.messages and m["origin"] not in since.messages]
        found, wanted = Counter(map(identity_of_row, table.to_pylist())), Counter(map(identity, expected))
        more, missing = found - wanted, wanted - found
        if since.is_cleaned or until.is_cleaned:
            # a copy of a segment that was deleted counts as this segment [QLK-TK-4]
            gone = since.messages.keys() - {m["origin"] for m in present}
            had = {_place(since.messages[origin]) for origin in gone}
            lost = [m for m in expected if identity(m) in missing and _place(m) not in had]
            chosen = _chosen(expected, found)
        else:
            lost, chosen = [m for m in expected if identity(m) in missing], expected
        if more or lost:
            self.faults.append(f"new messages with Arrow\n  missing {lost[:3]}\n  additional {[*more][:3]}")
        return NewRead("new messages", frame, chosen)

    def _failed(self, results: Sequence[Any], moments: Sequence[_Moment]) -> None:
        """Judge reads of which one failed at least; the reader goes on as if it had read everything."""
        texts = [str(each) for each in results if isinstance(each, Exception)]
        sizes = {m["origin"][:2] for m in self.model.messages()}
        paths = {path for path, _ in sizes}
        had = {origin[:2] for moment in moments for origin in moment.messages}
        is_rewritten = any(path in paths and (path, size) not in sizes for path, size in had)
        allowed = ["was rewritten since the token"] if is_rewritten else []
        allowed += ["cannot be told"] if any(moment.is_cleaned for moment in moments) else []
        if len(texts) != len(results) or not all(any(each in text for each in allowed) for text in texts):
            self.faults.append(f"reads of new messages failed: {texts}")
        self.failures += 1


def _chosen(messages: Sequence[Message], counts: Counter[Any]) -> list[Message]:
    """Return the messages that a read has returned, by the number of times for each identity."""
    left, found = Counter(counts), []
    for each in messages:
        left[identity(each)] -= 1
        found += [each] if left[identity(each)] >= 0 else []
    return found


def _place(message: Message) -> tuple[Any, Any]:
    return message["partition"], message["offset"]
