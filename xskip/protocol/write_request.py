"""The requests of writes to indexed datasets. Rules: [JVM-WR]."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from xskip.metadatastore.location import IndexLocation

__all__ = ["WritePlanAnswer", "WriteRequest"]


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A request about one write."""

    #: ``plan`` asks what tasks collect; ``commit`` says that the files are there.
    question: Literal["plan", "commit"]
    #: The number of the write.
    id: int
    location: IndexLocation
    #: The options of the writer.
    options: Mapping[str, str]
    #: The path to which Spark writes.
    path: str
    #: The name of the table to which Spark writes; empty if there is none yet.
    table: str
    #: The text of the indexes that the write requests for a dataset without an index; empty for none.
    indexes: str
    #: Whether the write deletes all former files of the dataset.
    overwrites: bool
    #: The directories of whose former files the write has left none, as metadata name files.
    removed: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str) -> WriteRequest:
        """Parse a request in the form of [JVM-WR-1]."""
        fields = json.loads(text)
        place = fields["location"]
        location = IndexLocation(
            str(place["root"]), str(place["directory"]), str(place["identifier"]), str(place.get("listed", ""))
        )
        return WriteRequest(
            fields["question"], int(fields["id"]), location, dict(fields["options"]),
            path=str(fields["path"]),
            table=str(fields["table"] or ""),
            indexes=str(fields["indexes"] or ""),
            overwrites=bool(fields["overwrites"]),
            removed=tuple(map(str, fields.get("removed", ()))),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class WritePlanAnswer:
    """The statistics that tasks collect from the rows that they write."""

    #: The SQL of the columns that the accumulators read.
    selection: tuple[str, ...]
    #: The names of these columns, if all of them are top-level columns; else None.
    columns: tuple[str, ...] | None
    #: The accumulators, in the form of [JVM-AC-1].
    accumulators: tuple[str, ...]

    def to_bytes(self) -> bytes:
        """Return the answer in the form of [JVM-WR-2]."""
        fields = {"selection": self.selection, "columns": self.columns, "accumulators": self.accumulators}
        return json.dumps(fields).encode()
