"""A Quix Lake, the main class of the package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

from xskip.api.arguments import check_choice, check_count, check_flag, check_seed
from xskip.paths import check_path
from xskip.quixlake.arguments import check_age, check_names, check_options, check_values
from xskip.quixlake.checks import check, contradictions
from xskip.quixlake.claims import IndexTrust
from xskip.quixlake.compaction import Compaction, CompactionResult
from xskip.quixlake.confluent import Schemas
from xskip.quixlake.custom_metadata_files import delete_names, write_values
from xskip.quixlake.discovery import LakeDiscovery
from xskip.quixlake.distinct import distinct_rows
from xskip.quixlake.location import spark_location
from xskip.quixlake.part_rows import PartRows
from xskip.quixlake.payload import Payload
from xskip.quixlake.process_index import ProcessIndexes
from xskip.quixlake.replay import Replay, ReplayOptions
from xskip.quixlake.results import LakeTable
from xskip.quixlake.selected_rows import spark_condition
from xskip.quixlake.selection import Filters, Selection
from xskip.quixlake.sink import Sink, SinkOptions, WriteResult
from xskip.quixlake.topic_dataset import TopicSource
from xskip.quixlake.topic_index import TopicIndex, topic_index
from xskip.spark.bridge.sessions import active_session
from xskip.spark.query.spark_engine import engine_of
from xskip.spark.quixlake.segments import SegmentCalls

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType
    from typing_extensions import Unpack

__all__ = ["QuixLake"]

#: A segment holds messages of one day, so that a limit of one day ends none.
_COMPACT = SinkOptions(max_millis=86_400_000)


class QuixLake(LakeDiscovery):
    """A lake of Kafka messages: Avro segments, and Parquet files that describe them.

    Parameters
    ----------
    spark : SparkSession
        The session that reads the lake.
    base : str or os.PathLike
        The folder of the workspace, which contains ``Raw`` and ``Metadata``, on any file system that Spark can reach.
    """

    def __init__(self, spark: SparkSession, base: str | os.PathLike[str]) -> None:
        base = check_path(base, "folder of the lake")
        super().__init__(base, spark_location(engine_of(spark).hook, base))
        self.spark = spark
        self._indexes = ProcessIndexes()

    def read(
        self,
        topic: str | Sequence[str],
        *,
        value: Column | str | None = None,
        schema: StructType | str | None = None,
        descriptor: str | None = None,
        schemas: Schemas | None = None,
        **filters: Unpack[Filters],
    ) -> DataFrame:
        """Return the messages of a selection.

        Parameters
        ----------
        topic : str or sequence of str
            The topic, or several topics, whose messages the column ``topic`` tells apart.
        value : {"json", "avro", "protobuf"}, str or Column, optional
            The encoding of the payload, which then takes the place of its bytes in the column ``value``; or an SQL
            expression or Column for it. None keeps the bytes.
        schema : StructType or str, optional
            For JSON the schema, for Avro the schema as JSON text, for Protobuf the full name of the message.
        descriptor : str, optional
            For Protobuf the local path of the descriptor set.
        schemas : mapping of int to str, or callable, optional
            For Avro in Confluent's frame, which is the byte 0, the id of a schema in four bytes, and the Avro: the
            schemas as JSON texts by their ids, or a function that returns the schema of an id, or None. All payloads
            are resolved to ``schema`` or, without it, to the schema of the greatest id. The function is called for each
            id in the messages, and returns None for one without a schema: ``read`` runs a job of Spark that reads all
            selected messages for their ids. Without ``schema``, a function needs a selected message. A query that
            decodes a payload without frame, with an unknown id or with other bytes fails, as with ``value="avro"``
            alone.
        **filters
            The messages to select, see :class:`~xskip.quixlake.Filters`. ``end`` and the second of the ``offsets`` are
            exclusive. Segments of writers other than xskip are skipped by time only with ``trust="names"``, which loses
            messages unless their timestamps never decrease within a partition.

        Returns
        -------
        DataFrame
            ``timestamp``, ``key``, ``headers``, ``value``, ``partition`` and ``offset`` of each message, the ``time``
            of the timestamp, and the ``topic``, the ``stream_key`` and the ``date`` of the segment's folder. Filters on
            the DataFrame skip segments.

        Raises
        ------
        DatasetError
            If the lake has no such topic, or if the new messages of a merged segment cannot be told from others.
        PredicateError
            If a filter or a token is invalid.
        """
        selections, payload = Selection.of_topics(topic, filters), Payload(value, schema, descriptor, schemas)
        with active_session(self.spark):
            frames = [self._messages(each) for each in selections]
            return payload.decoded(reduce(lambda one, other: one.unionAll(other), frames))

    def check(self, topic: str) -> LakeTable:
        """Return what is odd about the descriptors and segments of a topic, without a look into segments.

        Parameters
        ----------
        topic : str

        Returns
        -------
        LakeTable
            A row for each case with ``case``, ``path`` and ``detail``. The cases are ``stale``, ``missing``,
            ``doubled``, ``deleted``, ``size``, ``former``, ``outside``, ``unreadable``, ``name``, ``overlap``,
            ``empty``, ``lost`` and ``undecodable``.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        """
        uploads = SegmentCalls(engine_of(self.spark).hook)
        return check(self._store, self._store.folders_of(topic), uploads)

    def validate(self, topic: str, *, sample: int | None = None, seed: int = 0) -> LakeTable:
        """Read segments, and return the claims that their messages contradict.

        If the topic has an index, the bounds of segments whose timestamps are unknown are entered into it.

        Parameters
        ----------
        topic : str
        sample : int, optional
            The maximum number of segments to compare, chosen at random. None compares all. With a sample, the index
            stays as it is.
        seed : int
            The seed of the random choice.

        Returns
        -------
        LakeTable
            A row for each wrong claim with ``path``, ``column``, ``claimed`` and ``found``.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        CollectError
            If a segment cannot be read.
        """
        check_count("sample", sample)
        check_seed(seed)
        source = self._source(topic)
        wrong = contradictions(self.spark, source, sample, seed)
        index = topic_index(self.spark, source, "data")
        if sample is None and index.exists():
            index.refresh(progress=False)
        return wrong

    def set_metadata(self, topic: str, key: str | None, values: Mapping[str, str]) -> None:
        """Set custom metadata of a stream key, in a file of its own beside the present ones.

        Parameters
        ----------
        topic : str
        key : str or None
            The stream key.
        values : mapping of str to str
            The value of each name.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        PredicateError
            If a name or a value is not text.
        """
        check_values("values", values)
        write_values(self._store, topic, key, values)

    def delete_metadata(self, topic: str, key: str | None, names: Iterable[str]) -> None:
        """Delete names of custom metadata of a stream key, by marks in a file of their own.

        Parameters
        ----------
        topic : str
        key : str or None
            The stream key.
        names : iterable of str
            The names to delete.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        """
        delete_names(self._store, topic, key, check_names(names))

    def index(
        self,
        topic: str,
        *,
        trust: IndexTrust = "checked",
        value: str | None = None,
        schema: StructType | str | None = None,
    ) -> TopicIndex:
        """Return the index of a topic, which need not exist yet.

        Parameters
        ----------
        topic : str
        trust : {"checked", "names", "data"}
            Which timestamps count as bounds, by which queries skip segments. ``checked``: those that the sink of xskip
            computed. ``names``: those that descriptors and names claim; **queries lose messages** unless timestamps
            never decrease within a partition, or the writer is known to compute least and greatest ones. ``data``: a
            build reads the timestamps of the segments for which they do not count.
        value : {"json", "avro"} or str, optional
            The decoding of payloads, as for :meth:`read`. Indexes that are created can then be on fields of the
            payload, such as ``MinMax("value.temp")``, and serve reads with the same decoding.
        schema : StructType or str, optional
            The schema of the payload, as for :meth:`read`.

        Returns
        -------
        TopicIndex

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        """
        check_choice("trust", trust, ("checked", "names", "data"))
        return topic_index(self.spark, self._source(topic), trust, Payload(value, schema))

    def write(
        self, df: DataFrame, topic: str, *, batch: str | None = None, options: SinkOptions | None = None
    ) -> WriteResult:
        """Write messages as one batch.

        Parameters
        ----------
        df : DataFrame
            The messages, such as Spark's Kafka source gives them. :meth:`xskip.quixlake.sink.Sink.write` describes the
            columns.
        topic : str
        batch : str, optional
            The identity of the batch: a batch with the identity of a committed batch writes nothing.
        options : SinkOptions, optional
            The codec of segments, and when a segment ends.

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
        return self._sink(topic, options).write(df, batch)

    def stream(
        self, df: DataFrame, topic: str, checkpoint: str, *, options: SinkOptions | None = None, **trigger: Any
    ) -> StreamingQuery:
        """Start a stream that writes each of its micro-batches as one batch.

        Parameters
        ----------
        df : DataFrame
            A streaming DataFrame of messages, with the columns that :meth:`write` takes.
        topic : str
        checkpoint : str
            The folder of the stream's progress. A stream that restarts from it neither loses nor doubles messages.
        options : SinkOptions, optional
            The codec of segments, and when a segment ends.
        **trigger
            The arguments of ``DataStreamWriter.trigger``, such as ``processingTime="1 minute"``.

        Returns
        -------
        StreamingQuery

        Raises
        ------
        DatasetError
            If a column is missing or has another type.
        """
        return self._sink(topic, options).stream(df, checkpoint, **trigger)

    def clean(self, topic: str, *, older_than: timedelta = timedelta(days=1), abandon_lost: bool = False) -> int:
        """Remove the segments that compactions have replaced, and what interrupted writers have left.

        Parameters
        ----------
        topic : str
        older_than : timedelta
            The least age of a compaction whose replaced segments are removed, and of the files and uploads of writers
            that ended before they committed their batches; more than the duration of any read or write that still
            runs.
        abandon_lost : bool
            What to do with a committed batch that no writer can complete, because somebody has removed segments, which
            :meth:`check` lists as ``lost``. True completes the batch without these segments and logs their names; a
            compaction is undone instead, so that no message is lost. False raises an error that names the segments.

        Returns
        -------
        int
            The number of removed files and aborted uploads.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        StorageError
            If a committed batch cannot be completed, or a file cannot be removed.
        """
        check_age(older_than)
        check_flag("abandon_lost", abandon_lost)
        sink = self._sink(topic, None)
        left = sink.clean(older_than, abandon_lost=abandon_lost)
        return left + Compaction(self.spark, self._source(topic), sink).clean(older_than)

    def compact(
        self, topic: str, *, older_than: timedelta = timedelta(hours=1), options: SinkOptions | None = None
    ) -> CompactionResult:
        """Merge many small segments into few, and many index files into few.

        Messages, their order and their offsets stay as they are. Reads take the new segments from one moment on; the
        old ones stay until :meth:`clean` removes them. An index of the topic is refreshed.

        Parameters
        ----------
        topic : str
        older_than : timedelta
            The least age of the segments and index files to merge.
        options : SinkOptions, optional
            The codec of segments, and when a segment ends. By default no segment ends because of time.

        Returns
        -------
        CompactionResult

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        CommitConflictError
            If another writer changed the segments meanwhile; nothing has changed.
        """
        check_age(older_than)
        source = self._source(topic)
        found = Compaction(self.spark, source, self._sink(topic, options or _COMPACT)).run(older_than)
        index = topic_index(self.spark, source, "checked")
        if index.exists():
            index.refresh(progress=False)
        return found

    def replay(
        self, topic: str | Sequence[str], options: ReplayOptions | None = None, **filters: Unpack[Filters]
    ) -> Replay:
        """Return a replay of the messages of a selection, which its methods send to Kafka or to a function.

        Parameters
        ----------
        topic : str or sequence of str
            The topic, or several topics. Messages of different topics are sent in the order of their timestamps.
        options : ReplayOptions, optional
            The pace, the timestamps and the progress of the replay; None sends original messages as fast as possible.
        **filters
            See :class:`~xskip.quixlake.Filters`.

        Returns
        -------
        Replay

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        PredicateError
            If a filter is invalid.
        """
        check_options(options, ReplayOptions)
        return Replay(self.read(topic, **filters), options or ReplayOptions())

    def _messages(self, selection: Selection) -> DataFrame:
        """Return the messages of a selection of one topic."""
        source = self._source(selection.topic)
        if selection.distinct_offsets:
            found, parts, comparison = source.compared(selection)
        else:
            found, parts, fits = source.chosen(selection)
        index = self._indexes.update(self.spark, source, found, selection.trust)
        rows = PartRows(self.spark, source, index, selection.distinct_offsets)
        if selection.distinct_offsets:
            frame = distinct_rows(rows, found, parts, comparison)
        else:
            frame = rows.new(found.filter(fits), [parts[at] for at in fits.to_numpy().nonzero()[0].tolist()])
        for condition in selection.conditions:
            frame = frame.filter(spark_condition(condition))
        return frame

    def _sink(self, topic: str, options: SinkOptions | None) -> Sink:
        return Sink(self.spark, self.base, topic, options)

    def _source(self, topic: str) -> TopicSource:
        return TopicSource(engine_of(self.spark).hook, self._store, topic)
