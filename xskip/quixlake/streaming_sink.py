"""Streams into a Quix Lake: each micro-batch of Structured Streaming is a batch of the sink. Rules: [QLK-SK]."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from xskip.errors import StorageError
from xskip.metadatastore.filesystem import Storage
from xskip.quixlake.manifests import stream_batch_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

__all__ = ["start_stream"]


def start_stream(
    writer: DataStreamWriter,
    progress: tuple[Storage, str],
    write: Callable[[DataFrame, str], object],
    trigger: Mapping[str, Any],
) -> StreamingQuery:
    """Start a stream whose micro-batches ``write`` takes with the names of their batches.

    ``progress`` is the storage of the checkpoint, and its folder in the hook's spelling.
    """
    storage, checkpoint = progress

    def write_batch(messages: DataFrame, number: int) -> None:
        write(messages, stream_batch_name(_identity(storage, checkpoint), number))

    started = writer.foreachBatch(write_batch)
    return (started.trigger(**trigger) if trigger else started).start()


def _identity(storage: Storage, checkpoint: str) -> str:
    """Return the identity of the stream, which Spark writes to a new checkpoint before the first micro-batch."""
    # A new checkpoint numbers its batches from 0, so that its path would not tell new batches from old ones.
    path = f"{checkpoint}/metadata"
    try:
        return str(json.loads(storage.read(path))["id"])
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            "the stream's checkpoint has no identity", where=path, found=type(error).__name__,
            hint="restore the file, or start a new stream with a new checkpoint",
        ) from error  # fmt: skip
