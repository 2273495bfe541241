"""The sink, which writes Kafka messages into a Quix Lake, in batches or as a stream. Rules: [QLK-SK]."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import DatasetError, SettingError, StorageError
from xskip.paths import check_path
from xskip.quixlake.arguments import check_integer, check_options, check_topic
from xskip.quixlake.completion import Completion
from xskip.quixlake.manifests import Manifest, batch_name, new_token
from xskip.quixlake.message_frame import message_frame
from xskip.quixlake.names import SegmentName
from xskip.quixlake.streaming_sink import start_stream
from xskip.results.render import human_bytes
from xskip.results.result_view import KeyValueView
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import spark_errors, what_failed
from xskip.spark.collect.arrow_results import arrow_table
from xskip.spark.quixlake.segments import PendingUpload, SegmentCalls, SegmentLayout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["Sink", "SinkOptions", "WriteResult"]

_CHUNK = 10_000
_log = logging.getLogger("xskip")
_CODECS = ("snappy", "deflate", "zstandard", "null")


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The codec of segments, and the limits of segments and index files.

    Attributes
    ----------
    codec : str
        The Avro codec: ``snappy``, ``deflate``, ``zstandard`` or ``null``.
    max_rows : int, optional
        The number of messages after which a segment ends; without limit by default.
    max_bytes : int
        The number of bytes after which a segment ends.
    max_millis : int
        The number of milliseconds by which a message can be later than the first message of its segment.
    index_rows : int
        The maximum number of descriptors in an index file, at most 1,000.

    Raises
    ------
    ArgumentError
        If a limit is not a whole number.
    SettingError
        If a value is invalid.
    """

    codec: str = "snappy"
    max_rows: int | None = None
    max_bytes: int = 128 << 20
    max_millis: int = 300_000
    index_rows: int = 1_000

    def __post_init__(self) -> None:
        if self.codec not in _CODECS:
            raise SettingError("the sink does not know this codec", found=self.codec, expected=", ".join(_CODECS))
        for name in ("max_rows", "max_bytes", "max_millis", "index_rows"):
            check_integer(name, getattr(self, name))
        limits = {"max_rows": self.max_rows, "max_bytes": self.max_bytes, "index_rows": self.index_rows}
        for name, limit in limits.items():
            if limit is not None and limit < 1:
                raise SettingError(f"{name} is too small", found=str(limit), expected="a number of at least 1")
        if self.max_millis < 0 or self.index_rows > 1_000:
            found = f"max_millis={self.max_millis}, index_rows={self.index_rows}"
            raise SettingError("a limit is out of range", found=found, expected="max_millis >= 0, index_rows <= 1000")


@dataclass(frozen=True, slots=True, repr=False)
class WriteResult(KeyValueView):
    """The additions of a write to the lake.

    Attributes
    ----------
    is_new : bool
        Whether the write committed its batch; False if an earlier write has, so that this write added nothing.
    segments : int
        The number of segments.
    rows : int
        The number of messages.
    size : int
        The size of the segments in bytes.
    """

    is_new: bool
    segments: int
    rows: int
    size: int

    def _caption(self) -> str:
        return "Write to the lake"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            *([] if self.is_new else [("nothing added", "an earlier write has committed this batch")]),
            ("segments", self.segments),
            ("messages", self.rows),
            ("size", human_bytes(self.size)),
        ]


class Sink:
    """A writer of one topic of a Quix Lake; ``base`` is the folder with the folders ``Raw`` and ``Metadata``."""

    def __init__(self, spark: SparkSession, base: str, topic: str, options: SinkOptions | None = None) -> None:
        check_topic(topic)
        check_options(options, SinkOptions)
        hook = hook_of(spark)
        self._hook = hook
        self.options = options or SinkOptions()
        self._calls = SegmentCalls(hook)
        root = hook.locations.resolved(hook.locations.qualified(base))
        self.completion = Completion(storage_for(hook, root), self._calls, root, topic)

    def write(self, df: DataFrame, batch: str | None = None) -> WriteResult:
        """Write messages as one batch.

        Parameters
        ----------
        df : DataFrame
            The messages: ``timestamp`` (BIGINT in milliseconds, or TIMESTAMP), ``key`` and ``value`` (BINARY or
            STRING), ``partition`` and ``offset`` (integers), and optionally ``headers`` as Spark's Kafka source or a
            read of the lake has them, and ``stream_key`` (STRING), by default the key as text. Other columns are
            ignored. All messages belong to the topic of the sink.
        batch : str, optional
            The identity of the batch. A batch with the identity of a committed batch writes nothing. The sink
            remembers the identities of the last thousand batches of the topic.

        Returns
        -------
        WriteResult

        Raises
        ------
        DatasetError
            If a column is missing or has another type.
        StorageError
            If Spark cannot write the segments, or if the lake cannot be changed.
        """
        return self.write_named(df, batch_name(uuid.uuid4().hex if batch is None else f"batch {batch}"))

    def stream(self, df: DataFrame, checkpoint: str, **trigger: Any) -> StreamingQuery:
        """Start a stream that writes each of its micro-batches as one batch, see :meth:`QuixLake.stream`."""
        message_frame(df)
        checkpoint = check_path(checkpoint, "checkpoint")
        if not df.isStreaming:
            raise DatasetError(
                "the DataFrame is no stream", found="a batch", expected="such as spark.readStream",
                hint="call write() for a batch",
            )  # fmt: skip
        folder = self._hook.locations.qualified(checkpoint)
        writer = df.writeStream.option("checkpointLocation", checkpoint)
        return start_stream(writer, (storage_for(self._hook, folder), folder), self.write_named, trigger)

    def write_named(self, df: DataFrame, batch: str) -> WriteResult:
        """Write messages as the batch with a name of the manifests, see :meth:`write`."""
        message_frame(df)  # fail before anything is written
        completion = self.completion
        recorded = completion.log.recorded()
        if completion.complete_all(recorded).has(batch):
            return WriteResult(is_new=False, segments=0, rows=0, size=0)
        if batch in recorded.manifests:
            completion.log.read(batch)  # the manifest is damaged: fail before the job runs
        token = new_token(is_compaction=False)
        segments = self.write_segments(df, token)
        manifest = Manifest(batch, token, time.time_ns() // 1_000, self.options.index_rows, segments)
        # A refused commit means that another writer has committed the batch.
        if not completion.log.commit(manifest):
            completion.complete_all(completion.log.recorded())
            self.discard(segments)
            return WriteResult(is_new=False, segments=0, rows=0, size=0)
        completion.complete(manifest)
        completion.log.trim(recorded)
        rows, size = (pc.sum(segments[name], min_count=0).as_py() for name in ("rows", "size"))
        return WriteResult(is_new=True, segments=len(segments), rows=rows, size=size)

    def clean(self, older_than: timedelta = timedelta(days=1), *, abandon_lost: bool = False) -> int:
        """Remove what writers have left that ended before they committed their batches, and return how much it was.

        These are files and uploads. ``older_than`` must be more than the duration of any write that still runs. See
        :meth:`Completion.complete` for ``abandon_lost``.
        """
        completion = self.completion
        limit = time.time() * 1000 - older_than / timedelta(milliseconds=1)
        hidden = [file.path for file in self._calls.hidden(completion.segments) if file.modified < limit]
        uploads = [upload.text for upload in self._uploads() if upload.started < limit]
        recorded = completion.log.recorded()  # after the listings: they have no segment of a later commit
        committed = completion.complete_all(recorded, abandon_lost=abandon_lost)
        damaged = [
            batch
            for batch, entry in recorded.manifests.items()
            if batch not in committed.manifests and entry.modified < limit
        ]
        self._calls.remove(hidden)
        self._calls.abort(uploads)
        for batch in damaged:
            completion.log.discard(batch)
        return len(hidden) + len(uploads) + len(damaged)

    def _uploads(self) -> Sequence[PendingUpload]:
        """List uploads; if this is not allowed, the log says so, and uploads stay until the store removes them."""
        try:
            return self._calls.uploads(self.completion.segments)
        except StorageError as error:
            _log.warning("%s", error)
            return []

    def write_segments(self, df: DataFrame, token: str, ending: str = "") -> pa.Table:
        """Write messages into segments that no reader sees, and return rows of ``SEGMENTS``.

        The hidden names share the token, and the final names have the ending.
        """
        frame = message_frame(df)
        messages, has_branches = frame.messages, frame.has_branches
        options = self.options
        suffix = SegmentName(0, 0, 0, 0, 0).text(options.codec).partition(".")[2]
        layout = SegmentLayout(
            options.codec, f".{suffix}", ending, has_branches, options.max_rows or (1 << 63) - 1,
            options.max_bytes, options.max_millis,
        )  # fmt: skip
        try:
            return arrow_table(self._calls.write(messages, self.completion.segments, token, layout))
        except spark_errors() as error:
            failed = what_failed(error) | {"hint": "no message of this batch is visible; write the batch once more"}
            raise StorageError("Spark cannot write the segments of a batch", **failed) from error

    def discard(self, segments: pa.Table) -> None:
        """Remove segments that :meth:`write_segments` has written and that no manifest names."""
        folder = self.completion.segments
        hidden = segments.filter(pc.is_valid(segments["hidden"]))
        places = zip(hidden["folder"].to_pylist(), hidden["hidden"].to_pylist(), strict=True)
        self._calls.remove([f"{folder}/{place}/{name}" for place, name in places])
        self._calls.abort(segments["upload"].drop_null().to_pylist())

    def remove_segments(self, paths: pa.ChunkedArray) -> None:
        """Remove segments, whose paths are relative to the base; ignore segments that do not exist."""
        base = self.completion.base
        for start in range(0, len(paths), _CHUNK):
            self._calls.remove([f"{base}/{path}" for path in paths.slice(start, _CHUNK).to_pylist()])
