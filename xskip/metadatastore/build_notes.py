"""Notes of builds in commit records: the time for each index, and the files that the build could not read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from xskip.metadata.table import IndexKey, index_text

__all__ = ["BuildNotes", "UnreadableFile"]

_MAX_FILES = 100
_MAX_REASON = 300


class UnreadableFile(NamedTuple):
    """A data file that a build could not read."""

    #: As the metadata stores names.
    name: str
    #: In milliseconds since the epoch.
    modified: int
    reason: str


@dataclass(frozen=True, slots=True)
class BuildNotes:
    """The notes of the builds of an index. No reader decides anything by them."""

    #: The time that all builds have spent on each index, by the text of the index.
    seconds: Mapping[str, float] = field(default_factory=dict)
    #: Files that the latest build could not read, at most 100.
    unreadable: tuple[UnreadableFile, ...] = ()

    def of(self, key: IndexKey) -> float | None:
        """Return the seconds that all builds have spent on an index, or None if they are not known."""
        return self.seconds.get(index_text(key))

    def after(self, spent: Mapping[IndexKey, float], unreadable: Sequence[UnreadableFile]) -> BuildNotes:
        """Return the notes after another build, with its seconds for indexes and the files that it could not read."""
        seconds = dict(self.seconds)
        for key, more in spent.items():
            seconds[index_text(key)] = seconds.get(index_text(key), 0.0) + more
        cut = tuple(each._replace(reason=each.reason[:_MAX_REASON]) for each in unreadable[:_MAX_FILES])
        return BuildNotes(seconds, cut)

    def without(self, keys: Iterable[IndexKey]) -> BuildNotes:
        """Return the notes without those on some indexes."""
        gone = set(map(index_text, keys))
        return replace(self, seconds={text: spent for text, spent in self.seconds.items() if text not in gone})

    def to_json(self) -> dict[str, Any]:
        """Return the notes as plain values for JSON."""
        seconds = {text: round(spent, 6) for text, spent in self.seconds.items()}
        return {"seconds": seconds, "unreadable": [each._asdict() for each in self.unreadable]}

    @staticmethod
    def parse(body: object) -> BuildNotes:
        """Parse the entry of a record, and omit anything that is not such an entry."""
        if not isinstance(body, dict):
            return BuildNotes()
        seconds, files = body.get("seconds"), body.get("unreadable")
        spent = seconds.items() if isinstance(seconds, dict) else ()
        return BuildNotes(
            {text: float(number) for text, number in spent if _is_duration(number)},
            tuple(_file(each) for each in files if _is_file(each)) if isinstance(files, list) else (),
        )


def _is_duration(value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0  # type: ignore[arg-type, operator]


def _is_file(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    modified = entry.get("modified")
    texts = (entry.get("name"), entry.get("reason"))
    return all(isinstance(each, str) for each in texts) and isinstance(modified, int)


def _file(entry: Mapping[str, Any]) -> UnreadableFile:
    return UnreadableFile(entry["name"], entry["modified"], entry["reason"])
