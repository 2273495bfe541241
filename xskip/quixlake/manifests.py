"""The manifests that commit the sink's batches, and the marks of complete batches. Rules: [QLK-SK].

.. code-block:: text

    Metadata/Topic=t/_xskip/batch-<digest>.arrow               a manifest: the batch is committed
    Metadata/Topic=t/_xskip/batch-<digest>.done                a mark: all segments and descriptors are visible
    Metadata/Topic=t/_xskip/stream-<digest>-<number>.arrow     a manifest of a stream, with the number of the batch
    Metadata/Topic=t/_xskip/compaction-<number>.arrow          a manifest of a compaction

A mark outlives its manifest, so that the batch stays known as committed. A manifest is an Arrow file. Each of its rows
is a segment of the batch or, with a path in the column ``replaced``, a segment that a compaction replaces.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import MetadataCorruptError
from xskip.hints import Call, Words
from xskip.metadatastore.filesystem import FileEntry, Storage

__all__ = [
    "UNDONE",
    "Manifest",
    "ManifestLog",
    "Recorded",
    "batch_name",
    "compaction_name",
    "new_token",
    "stream_batch_name",
]

#: The token in the mark of a compaction that is undone, which no manifest has.
UNDONE = "undone"

_FOLDER = "_xskip"
_MANIFEST, _MARK = ".arrow", ".done"
_REPLACED = "replaced"
_STREAM = re.compile(r"(stream-[0-9a-f]{32})-(\d{20})")
_COMPACTION = re.compile(r"compaction-(\d{20})")
_NAME = re.compile(r"(batch-[0-9a-f]{32}|stream-[0-9a-f]{32}-\d{20}|compaction-\d{20})(\.arrow|\.done)")
_RETAINED_MANIFESTS = 20
#: The identities of so many batches are remembered [QLK-SK-4].
_RETAINED_MARKS = 1_000
#: The last mark of a stream proves that all batches before it are committed.
_RETAINED_OF_STREAM = 10
_FIELDS = ("folder", "hidden", "name", "stream_key")
#: The start of the texts of uploads in the column of hidden names of a manifest. Earlier versions, which know no
#: uploads, find no file with such a name, and report a lost segment.
_UPLOAD = "upload "
#: The columns of the segments of a batch. ``folder`` is relative to the folder of the topic. A segment that is in an
#: upload has its text in ``upload`` and no ``hidden`` name; the first word of the text is the identity of the upload.
SEGMENTS = pa.schema(
    [(name, pa.string()) for name in _FIELDS]
    + [(name, pa.int64()) for name in ("partition", "start", "end", "first", "last", "rows", "size")]
    + [("upload", pa.string())]
)


def batch_name(identity: str) -> str:
    """Return the name of a batch in the manifests."""
    return f"batch-{_digest(identity)}"


def stream_batch_name(stream: str, number: int) -> str:
    """Return the name of a batch of a stream, whose identity does not change when the stream restarts."""
    return f"stream-{_digest(stream)}-{number:020d}"


def compaction_name(number: int) -> str:
    """Return the name of a compaction; the numbers of a topic's compactions grow."""
    return f"compaction-{number:020d}"


def new_token(*, is_compaction: bool) -> str:
    """Return a token that no other batch has. Its letter 13 tells compactions from other batches.

    >>> new_token(is_compaction=True)[12], new_token(is_compaction=False)[12], len(new_token(is_compaction=True))
    ('c', 'b', 32)
    """
    found = uuid.uuid4().hex
    return f"{found[:12]}{'c' if is_compaction else 'b'}{found[13:]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """The content of a manifest."""

    batch: str
    #: The text that the hidden names of the batch share. It tells this attempt to write the batch from others.
    token: str
    #: The time of the commit in microseconds since the epoch.
    created: int
    index_rows: int
    #: The columns are those of :data:`SEGMENTS`.
    segments: pa.Table
    #: The paths of the segments that a compaction replaces, relative to the base; empty for other batches.
    replaced: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))

    @property
    def is_compaction(self) -> bool:
        """Return whether the batch is a compaction."""
        return _COMPACTION.fullmatch(self.batch) is not None

    def to_bytes(self) -> bytes:
        """Return the manifest as an Arrow file."""
        fields = {
            "batch": self.batch, "token": self.token, "created": self.created, "index_rows": self.index_rows,
        }  # fmt: skip
        # The paths of replaced segments are a column, because columns are compressed [QLK-CP-6].
        tables = [_with_one_place(self.segments), pa.table({_REPLACED: self.replaced})]
        table = pa.concat_tables(tables, promote_options="default")
        table = table.replace_schema_metadata({"xskip.batch": json.dumps(fields)})
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd" if pa.Codec.is_available("zstd") else None)
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    @staticmethod
    def from_bytes(data: bytes) -> Manifest:
        """Parse the bytes that :meth:`to_bytes` returned."""
        try:
            table = pa.ipc.open_file(data).read_all()
            table.validate(full=True)
            fields = json.loads(table.schema.metadata[b"xskip.batch"])
            if _REPLACED in table.column_names:
                replaced = table[_REPLACED].drop_null().cast(pa.string()).combine_chunks()
                table = table.filter(pc.is_null(table[_REPLACED])).drop_columns(_REPLACED)
            else:  # a former manifest
                replaced = pa.array(fields.get("replaced", ()), pa.string())
            segments = _with_two_places(table.replace_schema_metadata(None)).cast(SEGMENTS)
            numbers = int(fields["created"]), int(fields["index_rows"])
            return Manifest(str(fields["batch"]), str(fields["token"]), *numbers, segments, replaced)
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            raise MetadataCorruptError(
                "a manifest of the sink is damaged or incomplete", found=type(error).__name__
            ) from error


def _with_one_place(segments: pa.Table) -> pa.Table:
    """Return segments with their uploads in the column of hidden names."""
    uploads = pc.binary_join_element_wise(_UPLOAD, segments["upload"], "")
    places = pc.coalesce(segments["hidden"], uploads)
    return segments.set_column(segments.schema.get_field_index("hidden"), "hidden", places).drop_columns("upload")


def _with_two_places(segments: pa.Table) -> pa.Table:
    """Return the segments from which :func:`_with_one_place` made these."""
    places, nothing = segments["hidden"], pa.scalar(None, pa.string())
    is_upload = pc.starts_with(places, _UPLOAD)
    uploads = pc.if_else(is_upload, pc.utf8_slice_codeunits(places, len(_UPLOAD)), nothing)
    hidden = pc.if_else(is_upload, nothing, places)
    segments = segments.set_column(segments.schema.get_field_index("hidden"), "hidden", hidden)
    return segments.append_column("upload", uploads)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The files in a listing of the manifests, by the names of their batches."""

    manifests: dict[str, FileEntry]
    marks: dict[str, FileEntry]

    @property
    def unfinished(self) -> list[str]:
        """Return the committed batches without a mark, the oldest first."""
        names = [name for name in self.manifests if name not in self.marks]
        return sorted(names, key=lambda name: (self.manifests[name].modified, name))

    @property
    def compactions(self) -> list[str]:
        """Return the names of compactions whose manifests exist, in order."""
        return sorted(name for name in self.manifests if _COMPACTION.fullmatch(name))

    @property
    def ended(self) -> dict[int, str]:
        """Return the names of compactions with a mark, by their numbers."""
        found = filter(None, map(_COMPACTION.fullmatch, self.marks))
        return {int(each[1]): each[0] for each in found}

    @property
    def next_compaction(self) -> str:
        """Return the name of the next compaction."""
        found = filter(None, map(_COMPACTION.fullmatch, (*self.manifests, *self.marks)))
        return compaction_name(max((int(each[1]) for each in found), default=0) + 1)

    def has(self, batch: str) -> bool:
        """Return whether a batch is committed."""
        if batch in self.manifests or batch in self.marks:
            return True
        # Every batch of a stream before a committed one is committed [QLK-SK-4].
        own = _STREAM.fullmatch(batch)
        others = filter(None, map(_STREAM.fullmatch, (*self.manifests, *self.marks))) if own else ()
        return any(own is not None and other[1] == own[1] and other[2] > own[2] for other in others)


@dataclass(frozen=True, slots=True)
class ManifestLog:
    """The manifests and marks of a topic."""

    storage: Storage
    #: The folder of the topic below ``Metadata``.
    topic: str

    def recorded(self) -> Recorded:
        """List the manifests and marks."""
        entries: dict[str, dict[str, FileEntry]] = {_MANIFEST: {}, _MARK: {}}
        for entry in self.storage.list(f"{self.topic}/{_FOLDER}"):
            if match := _NAME.fullmatch(entry.name):
                entries[match[2]][match[1]] = entry
        return Recorded(entries[_MANIFEST], entries[_MARK])

    def read(self, batch: str) -> Manifest | None:
        """Return a manifest, or None if it does not exist any more, because another writer has completed the batch."""
        path = self._path(batch, _MANIFEST)
        try:
            return Manifest.from_bytes(self.storage.read(path))
        except FileNotFoundError:
            return None
        except MetadataCorruptError as error:
            clean = Call("clean", command="quix clean")
            hint = Words("no batch was committed by this file; {} to remove it", clean)
            raise MetadataCorruptError(error.what, where=path, found=error.found, hint=hint) from error

    def commit(self, manifest: Manifest) -> bool:
        """Commit a batch, and return whether this manifest commits the batch or another one has."""
        if not self.storage.put_if_absent(self._path(manifest.batch, _MANIFEST), manifest.to_bytes()):
            present = self.read(manifest.batch)  # a client of an object store can send a request twice
            if present is None or present.token != manifest.token:
                return False
        # an earlier attempt can be complete, and its manifest removed; its mark was there before the removal
        finished_by = self.token_of(manifest.batch)
        return finished_by in (None, manifest.token)

    def mark(self, manifest: Manifest) -> None:
        """Mark a batch as complete."""
        self.storage.put_if_absent(self._path(manifest.batch, _MARK), json.dumps({"token": manifest.token}).encode())

    def undo(self, manifest: Manifest) -> None:
        """Mark a compaction as undone, unless it is complete: the added segments never count."""
        self.storage.put_if_absent(self._path(manifest.batch, _MARK), json.dumps({"token": UNDONE}).encode())

    def withdraw(self, manifest: Manifest) -> None:
        """Remove a manifest whose commit was refused, if it is there: its name was that of a complete batch."""
        present = self.read(manifest.batch)
        if present is not None and present.token == manifest.token:
            self._remove([manifest.batch], _MANIFEST)

    def is_marked(self, batch: str) -> bool:
        """Return whether a batch is complete."""
        return self.token_of(batch) is not None

    def trim(self, recorded: Recorded) -> None:
        """Remove old manifests of complete batches, and old marks."""
        complete = [n for n in recorded.manifests if n in recorded.marks and _COMPACTION.fullmatch(n) is None]
        # Manifests go before marks: a manifest without a mark is that of an unfinished batch.
        self._remove(_surplus(complete, recorded.manifests, _RETAINED_MANIFESTS), _MANIFEST)
        marks = [n for n in recorded.marks if n not in recorded.manifests and _COMPACTION.fullmatch(n) is None]
        streams: dict[str, list[str]] = {}
        for name in marks:
            if match := _STREAM.fullmatch(name):
                streams.setdefault(match[1], []).append(name)
        old = [name for names in streams.values() for name in sorted(names)[:-_RETAINED_OF_STREAM]]
        batches = [name for name in marks if _STREAM.fullmatch(name) is None]
        self._remove([*old, *_surplus(batches, recorded.marks, _RETAINED_MARKS)], _MARK)

    def forget(self, compactions: Collection[str], recorded: Recorded, limit: float) -> None:
        """Remove manifests of compactions whose effects are permanent, and then old marks without a manifest.

        A mark is old if it was written before ``limit``, in milliseconds since the epoch.
        """
        self._remove(compactions, _MANIFEST)
        marks = {name: mark for name, mark in recorded.marks.items() if _COMPACTION.fullmatch(name)}
        # the last mark stays, so that no later compaction gets its number
        without = marks.keys() - (recorded.manifests.keys() - set(compactions)) - {max(marks, default="")}
        self._remove([name for name in sorted(without) if marks[name].modified < limit], _MARK)

    def discard(self, batch: str) -> None:
        """Remove a manifest that commits nothing, because it is damaged."""
        self._remove([batch], _MANIFEST)

    def _remove(self, batches: Iterable[str], suffix: str) -> None:
        self.storage.remove([self._path(batch, suffix) for batch in batches])

    def token_of(self, batch: str) -> str | None:
        """Return the token in the mark of a batch, by which its manifest is complete; None without a mark."""
        try:
            return str(json.loads(self.storage.read(self._path(batch, _MARK)))["token"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):  # a crash has left the mark incomplete
            return ""

    def _path(self, batch: str, suffix: str) -> str:
        return f"{self.topic}/{_FOLDER}/{batch}{suffix}"


def _surplus(names: list[str], entries: dict[str, FileEntry], count: int) -> list[str]:
    """Return all names but the newest ones."""
    return sorted(names, key=lambda name: (entries[name].modified, name))[: max(len(names) - count, 0)]
