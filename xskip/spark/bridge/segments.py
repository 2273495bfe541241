"""The hook's operations on the segments of a Quix Lake: reading, writing, renaming and removing them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xskip.errors import StorageError
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.java_errors import in_short, reason, spark_errors
from xskip.spark.bridge.queries import Pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["HiddenFile", "SegmentCalls", "SegmentForm", "SegmentLayout"]

_THREADS = 16


@dataclass(frozen=True, slots=True)
class SegmentLayout:
    """The form in which tasks write segments.

    Attributes
    ----------
    codec : str
        The name of an Avro codec.
    suffix : str
        The end of the names of segments, from ``.avro`` on.
    has_branches : bool
        Whether the values of headers are structs of ``string`` and ``bytes``.
    max_rows, max_bytes, max_millis : int
        The limits of a segment.
    """

    codec: str
    suffix: str
    has_branches: bool
    max_rows: int
    max_bytes: int
    max_millis: int


@dataclass(frozen=True, slots=True)
class SegmentForm:
    """How tasks read segments.

    Attributes
    ----------
    partitions : mapping of str to str
        The partition columns with their Spark types.
    partition_of : mapping of str to int
        The Kafka partition of segments whose names do not tell it, by name.
    is_distinct : bool
        Whether each segment has each offset of a Kafka partition once: the first message counts.
    """

    partitions: Mapping[str, str]
    partition_of: Mapping[str, int]
    is_distinct: bool = False


class HiddenFile(NamedTuple):
    """A segment under its hidden name.

    Attributes
    ----------
    path : str
        The Hadoop path.
    modified : int
        The modification time in milliseconds since the epoch.
    """

    path: str
    modified: int


class SegmentCalls:
    """The hook's operations on segments.

    Parameters
    ----------
    hook : Hook
        The hook of the JVM.
    """

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._files: Any = hook.builds.segment_files()

    def write(self, messages: DataFrame, topic: str, token: str, layout: SegmentLayout) -> DataFrame:
        """Return a DataFrame with a row for each segment; its tasks write the segments under hidden names.

        Parameters
        ----------
        messages : DataFrame
            The messages in the form of ``io.xskip.quixlake.MessageWriter``, sorted within partitions.
        topic : str
            The folder of the topic, in the hook's spelling.
        token : str
            A text that the hidden names of this batch share, and no other batch has.
        layout : SegmentLayout
            How tasks write segments.
        """
        from pyspark.sql import DataFrame

        spark = messages.sparkSession
        self._hook.ship_kernel(spark)
        limits = (layout.max_rows, layout.max_bytes, layout.max_millis)
        job = self._hook.builds.segment_job(layout.codec, layout.suffix, limits, has_branches=layout.has_branches)
        return DataFrame(job.write(messages._jdf, topic, token), spark)

    def frame(self, spark: SparkSession, files: Pieces, root: str, form: SegmentForm) -> DataFrame:
        """Return a DataFrame that reads chosen segments; Spark lists no directory.

        Parameters
        ----------
        spark : SparkSession
            The session of the DataFrame.
        files : sequence of bytes-like
            The segments in the format of ``io.xskip.snapshot.FileTable``, in pieces.
        root : str
            The folder of the topic, in the hook's spelling.
        form : SegmentForm
            How the segments are read.
        """
        from pyspark.sql import DataFrame

        self._hook.ship_kernel(spark)
        relation = self._hook.builds.segments().relation(
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
        """Give segments their final names; a segment that has its final name stays unchanged.

        Parameters
        ----------
        topic : str
            The folder of the topic, in the hook's spelling.
        moves : sequence of (str, str, str)
            For each segment its folder below ``topic``, its hidden name and its final name.
        ending : str
            The end that is added to a final name if another file with other messages has the name.

        Returns
        -------
        list of bool
            Whether the name of each segment has the ending.
        """
        packed = bytearray("\0".join(part for move in moves for part in move), "utf-8")
        with _storage_errors("rename segments", topic):
            return [digit == "1" for digit in self._files.rename(topic, packed, ending, _THREADS)]

    def hidden(self, folder: str) -> list[HiddenFile]:
        """List the segments with hidden names below a folder; a folder that does not exist has none."""
        with _storage_errors("list segments", folder):
            return [HiddenFile(path, modified) for path, modified in json.loads(self._files.hidden(folder))]

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
