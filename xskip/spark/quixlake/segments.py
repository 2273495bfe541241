"""The hook's operations on the segments of a Quix Lake: reading, writing, naming and removing them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xskip.errors import StorageError
from xskip.protocol.file_table import Pieces
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.java_errors import in_short, reason, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["HiddenFile", "PendingUpload", "SegmentCalls", "SegmentForm", "SegmentLayout"]

_THREADS = 16


@dataclass(frozen=True, slots=True)
class SegmentLayout:
    """The form in which tasks write segments."""

    #: The name of an Avro codec.
    codec: str
    #: The part of the names of segments from .avro to the suffix of the codec.
    suffix: str
    #: The end of the names of segments.
    ending: str
    #: Whether the values of headers are structs of string and bytes.
    has_branches: bool
    max_rows: int
    max_bytes: int
    max_millis: int


@dataclass(frozen=True, slots=True)
class SegmentForm:
    """The form of segments that tasks read."""

    #: The partition columns with their Spark types.
    partitions: Mapping[str, str]
    #: The Kafka partition of segments whose names do not tell it, by name.
    partition_of: Mapping[str, int]
    #: Whether each segment has each offset of a Kafka partition once: the first message counts.
    is_distinct: bool = False


class HiddenFile(NamedTuple):
    """A segment under its hidden name."""

    path: str
    #: Milliseconds since the epoch.
    modified: int


class PendingUpload(NamedTuple):
    """An upload of a segment that is not complete."""

    #: The first word is the identity of the upload.
    text: str
    #: Milliseconds since the epoch.
    started: int


class SegmentCalls:
    """The hook's operations on segments."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._calls: Any = hook.create("io.xskip.quixlake.SegmentCalls")
        self._files: Any = self._calls.files()

    def write(self, messages: DataFrame, topic: str, token: str, layout: SegmentLayout) -> DataFrame:
        """Return a DataFrame with a row for each segment, which its tasks write so that no reader sees it.

        A segment has a hidden name or, on S3A, an upload: a text by which it appears under its name.

        The messages have the form of ``io.xskip.quixlake.MessageWriter``, sorted within partitions. ``topic`` is the
        topic's folder in the hook's spelling. ``token`` is a text that the hidden names of this batch share, and no
        other batch has.
        """
        from pyspark.sql import DataFrame

        spark = messages.sparkSession
        self._hook.ship_kernel(spark)
        limits = bytearray(np.array((layout.max_rows, layout.max_bytes, layout.max_millis), "<i8").tobytes())
        job = self._calls.job(layout.codec, layout.suffix, layout.ending, layout.has_branches, limits)
        return DataFrame(job.write(messages._jdf, topic, token), spark)

    def frame(self, spark: SparkSession, files: Pieces, root: str, form: SegmentForm) -> DataFrame:
        """Return a DataFrame that reads chosen segments; Spark lists no directory.

        ``root`` is the topic's folder in the hook's spelling.
        """
        from pyspark.sql import DataFrame

        self._hook.ship_kernel(spark)
        relation = self._calls.relations().relation(
            spark._jsparkSession,
            self._hook.queries.files(files),
            root,
            ", ".join(f"{name} {kind}" for name, kind in form.partitions.items()),
            "\0".join(form.partition_of),
            bytearray(np.array([*form.partition_of.values()], "<i8").tobytes()),
            form.is_distinct,
        )
        return DataFrame(spark._jsparkSession.baseRelationToDataFrame(relation), spark)

    def use_index_at(self, rows: DataFrame, directory: str) -> None:
        """Make Spark's rule take the index of a result of :meth:`frame` from a directory."""
        rows._jdf.queryExecution().logical().relation().location().useIndexAt(directory)

    def rename(self, topic: str, moves: Sequence[tuple[str, str, str]], ending: str) -> list[bool]:
        """Give segments their final names, and return whether the name of each segment has the ending.

        A move is a segment's folder below ``topic``, its hidden name and its final name. A segment that has its final
        name stays unchanged. A final name gets the ending if another file with other messages has the name.
        """
        packed = bytearray("\0".join(part for move in moves for part in move), "utf-8")
        with _storage_errors("rename segments", topic):
            return [digit == "1" for digit in self._files.rename(topic, packed, ending, _THREADS)]

    def complete(self, topic: str, uploads: Sequence[str]) -> None:
        """Complete uploads, so that their segments appear; a segment that exists stays unchanged."""
        with _storage_errors("complete the uploads of segments", topic):
            self._files.complete(bytearray("\0".join(uploads), "utf-8"), _THREADS)

    def abort(self, uploads: Sequence[str]) -> None:
        """Abort uploads; ignore uploads that have ended."""
        if uploads:
            with _storage_errors("abort uploads of segments", uploads[0].split(" ", 2)[-1]):
                self._files.abort(bytearray("\0".join(uploads), "utf-8"), _THREADS)

    def uploads(self, folder: str) -> list[PendingUpload]:
        """List the uploads of segments below a folder that are not complete; only S3A has such uploads."""
        with _storage_errors("list uploads of segments", folder):
            return [PendingUpload(text, started) for text, started in json.loads(self._files.uploads(folder))]

    def hidden(self, folder: str) -> list[HiddenFile]:
        """List the segments with hidden names below a folder; a folder that does not exist has none."""
        with _storage_errors("list segments", folder):
            return [HiddenFile(path, modified) for path, modified in json.loads(self._files.hidden(folder))]

    def uris(self, topic: str, names: Sequence[str]) -> list[str]:
        """Return the URIs that ``_metadata.file_path`` has for segments, by their names without scheme and authority.

        ``topic`` is the topic's folder in the hook's spelling.
        """
        if not names:
            return []
        return str(self._files.uris(topic, bytearray("\0".join(names), "utf-8"))).split("\n")[:-1]

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files; ignore files that do not exist."""
        if paths:
            with _storage_errors("remove segments", paths[0]):
                self._files.remove(bytearray("\0".join(paths), "utf-8"), _THREADS)


@contextmanager
def _storage_errors(action: str, path: str) -> Iterator[None]:
    """Run the body and convert Java's exceptions to a StorageError."""
    try:
        yield
    except spark_errors() as error:
        raise StorageError(
            f"cannot {action}", where=path, found=reason(error), hint="check the store"
        ) from in_short(error)  # fmt: skip
