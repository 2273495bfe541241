"""Replays of messages of a Quix Lake, to Kafka or to a function. Rules: QLK-RP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from xskip.errors import ArgumentError, ReplayError, SettingError, or_none, shown
from xskip.hints import Argument, Phrase, Words
from xskip.quixlake.arguments import check_integer, check_topic
from xskip.quixlake.replay_order import (
    ORDER,
    PACE,
    Stream,
    StreamId,
    after,
    check_columns,
    in_order,
    streams_of,
    with_times,
)
from xskip.quixlake.replay_pace import Clock, Pacer, SystemClock
from xskip.quixlake.replay_progress import Progress, SavedState, load_state
from xskip.quixlake.replay_sink import write_to_kafka
from xskip.quixlake.replay_targets import CallbackTarget, KafkaTarget, Message, Target, messages_of
from xskip.quixlake.results import shown_key
from xskip.results.result_view import KeyValueView
from xskip.spark.bridge.sessions import active_session

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Replay", "ReplayOptions", "ReplayResult"]

_SAVE_SECONDS = 5.0
#: The bytes of messages that the driver holds at a time; Spark fetches as much in advance.
_CHUNK = 32 * 2**20
_TIMESTAMPS = ("original", "moved", "current")


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The options of a replay.

    Attributes
    ----------
    speed : float or None
        The factor by which the replay is faster than the original; None sends as fast as the target takes messages.
    timestamps : {"original", "moved", "current"}
        Which timestamps are sent: those of the lake, those of the lake moved by one constant so that the first message
        has the time of the replay's start, or the time at which the target gets each message.
    max_gap_ms : int or None
        The maximum in milliseconds of the original to which longer gaps are shortened; None shortens none.
    key_suffix : str or None
        The text that is added to all keys except null ones, so that consumers tell replayed streams from live ones.
    keep_partitions : bool
        Whether a message goes to the partition with its number in the lake; otherwise the producer decides by the key.
    state : str or None
        The path of a local file with the progress. A replay with the same file continues after the last confirmed
        messages. None keeps no progress.
    stop : threading.Event or None
        The event that stops the replay before the next message.

    Raises
    ------
    ArgumentError
        If a number is something else.
    SettingError
        If a value is out of range.

    Examples
    --------
    >>> ReplayOptions(speed=2.0, timestamps="moved", max_gap_ms=60_000).speed
    2.0
    >>> ReplayOptions(speed=0)
    Traceback (most recent call last):
    xskip.errors.SettingError: the speed of a replay must be ... (found: 0); None replays as fast as possible
    """

    speed: float | None = None
    timestamps: Literal["original", "moved", "current"] = "original"
    max_gap_ms: int | None = None
    key_suffix: str | None = None
    keep_partitions: bool = field(default=True, kw_only=True)
    state: str | None = None
    stop: threading.Event | None = None

    def __post_init__(self) -> None:
        if isinstance(self.speed, bool) or not isinstance(self.speed, (int, float, type(None))):
            raise ArgumentError(
                Words("{} is not a number", Argument("speed")), found=shown(self.speed), expected=or_none("a number")
            )
        check_integer("max_gap_ms", self.max_gap_ms)
        if self.speed is not None and not 0 < self.speed < float("inf"):
            raise SettingError(
                "the speed of a replay must be positive and finite",
                found=str(self.speed),
                hint=Words("{} as fast as possible", Phrase("None replays", "without --speed, it replays")),
            )
        if self.timestamps not in _TIMESTAMPS:
            raise SettingError(
                "the timestamps of a replay are unknown", found=self.timestamps, expected=", ".join(_TIMESTAMPS)
            )
        if self.max_gap_ms is not None and self.max_gap_ms < 0:
            raise SettingError("the maximum gap of a replay must not be negative", found=str(self.max_gap_ms))

    @property
    def by_spark(self) -> bool:
        """Return whether Spark's sink can replay to Kafka: it has no timestamps, no pace and no confirmations."""
        return (self.speed, self.timestamps, self.state, self.stop) == (None, "current", None, None)


@dataclass(frozen=True, slots=True, repr=False)
class ReplayResult(KeyValueView):
    """The result of a replay.

    Attributes
    ----------
    messages : int
        The number of messages that the target has confirmed in this run.
    stopped : bool
        Whether the event stopped the replay.
    confirmed : mapping of tuple to int
        For each topic and partition, the last offset that the target has confirmed, in this run or before.
    seconds : float
        The duration.
    """

    messages: int
    stopped: bool
    confirmed: Mapping[StreamId, int]
    seconds: float

    def _caption(self) -> str:
        return "Replay"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            *([("stopped", "by the event, before the last message")] if self.stopped else []),
            ("messages", self.messages),
            ("seconds", self.seconds),
            *(
                ("confirmed", f"{shown_key(topic)}, partition {partition}: up to offset {offset:,}")
                for (topic, partition), offset in self.confirmed.items()
            ),
        ]


class Replay:
    """A replay of the messages of a DataFrame.

    The partitions of each topic are streams of their own, because offsets are unique only within a topic. Streams with
    the same number of the partition go to the same partition of the target, in the order of timestamps.

    Parameters
    ----------
    df : DataFrame
        The messages, with the columns of a read of a lake.
    options : ReplayOptions
        The options.
    clock : Clock, optional
        The time.

    Raises
    ------
    DatasetError
        If the DataFrame lacks a column, or has messages without a partition or an offset.
    """

    def __init__(self, df: DataFrame, options: ReplayOptions, clock: Clock | None = None) -> None:
        check_columns(df)
        self._df, self._options, self._clock = df, options, clock or SystemClock()

    @cached_property
    def _streams(self) -> tuple[Stream, ...]:
        with active_session(self._df.sparkSession):
            return streams_of(self._df)

    def frame(self) -> DataFrame:
        """Return the messages that a replay sends now, in order, with the timestamps to send.

        Returns
        -------
        DataFrame
            The columns of the DataFrame, and ``original_timestamp``. The column ``time`` follows ``timestamp``, which
            is null with ``timestamps="current"``.
        """
        state = load_state(self._options.state)
        shift = self._shift() if state is None else state.shift
        return self._sorted(shift, {} if state is None else state.confirmed).drop(ORDER[0], PACE)

    def to(self, callback: Callable[[Message], object]) -> ReplayResult:
        """Call a function for each message.

        Parameters
        ----------
        callback : callable
            The function. If it raises, the replay saves its progress, which does not contain this message, and raises
            the same error.

        Returns
        -------
        ReplayResult
        """
        return self._send("a function", lambda: CallbackTarget(callback))

    def to_kafka(self, servers: str | Mapping[str, Any], topic: str) -> ReplayResult:
        """Send the messages to a topic of Kafka.

        Spark's Kafka sink sends the messages in parallel if the options have neither a speed, a state nor an event, and
        the timestamps are ``"current"``. Otherwise the driver sends them one after the other with ``confluent-kafka``.

        Parameters
        ----------
        servers : str or mapping of str to Any
            The addresses of brokers, or settings of the producer: librdkafka's for ``confluent-kafka``, and those of
            the Java producer for Spark's sink.
        topic : str
            The topic, which must exist and have enough partitions.

        Returns
        -------
        ReplayResult

        Raises
        ------
        ReplayError
            If Kafka does not take a message. The error names the topic, partition and offset in the lake.
        """
        check_topic(topic)
        if not isinstance(servers, (str, Mapping)):
            raise ArgumentError("servers is not a text", found=shown(servers), expected="such as 'localhost:9092'")
        settings = {"bootstrap.servers": servers} if isinstance(servers, str) else servers
        if self._options.by_spark:
            return self._send_by_spark(settings, topic)
        keep = self._options.keep_partitions
        return self._send(f"topic {topic}", lambda: self._kafka(KafkaTarget(settings, topic, keep_partitions=keep)))

    def _kafka(self, target: KafkaTarget) -> KafkaTarget:
        """Return the target after a check of its number of partitions."""
        greatest = max((stream.partition for stream in self._streams), default=0)
        if self._options.keep_partitions and greatest >= target.partitions:
            raise ReplayError(
                "the topic has too few partitions",
                found=f"{target.partitions} partitions",
                expected=f"a partition {greatest}",
                hint=Words("add partitions to the topic{}", Phrase(", or use keep_partitions=False", "")),
            )
        return target

    def _shift(self) -> int | None:
        """Return the milliseconds by which a replay that starts now moves timestamps."""
        if self._options.timestamps != "moved":
            return None
        firsts = [stream.first_timestamp for stream in self._streams if stream.first_timestamp is not None]
        return self._clock.epoch_ms() - min(firsts, default=0)

    def _timed(self, df: DataFrame, shift: int | None) -> DataFrame:
        """Return the messages with their keys, times and order."""
        from pyspark.sql import functions as F

        timestamp: Column = F.col("timestamp")
        if self._options.timestamps == "moved":
            timestamp = timestamp - F.col("_removed") + F.lit(shift)
        elif self._options.timestamps == "current":
            timestamp = F.lit(None)
        if self._options.key_suffix:
            df = df.withColumn("key", F.concat("key", F.lit(self._options.key_suffix).cast("binary")))
        gaps_matter = self._options.speed is not None or self._options.timestamps == "moved"
        return with_times(df, self._options.max_gap_ms if gaps_matter else None, timestamp)

    def _sorted(self, shift: int | None, confirmed: Mapping[StreamId, int]) -> DataFrame:
        with active_session(self._df.sparkSession):
            return in_order(after(self._timed(self._df, shift), confirmed), self._streams, _CHUNK)

    def _state(self, target: str) -> SavedState:
        """Return the state at the start of a replay, after a check that a saved state is of the same replay."""
        options = self._options
        # The speed may change: it decides when messages are sent, and not what is sent [QLK-RP-5].
        replay = {
            "target": target,
            "timestamps": options.timestamps,
            "max_gap_ms": options.max_gap_ms,
            "key_suffix": options.key_suffix,
            "keep_partitions": options.keep_partitions,
        }
        state = load_state(options.state)
        if state is None:
            return SavedState(replay, self._shift(), {})
        other = {name: value for name, value in replay.items() if state.replay.get(name) != value}
        if other:
            raise ReplayError(
                "the state is of a replay with another target or with other options", where=options.state,
                found=", ".join(f"{name}: {state.replay.get(name)}" for name in other),
                expected=", ".join(f"{name}: {value}" for name, value in other.items()),
                hint="use another file, or remove this one to replay all messages",
            )  # fmt: skip
        return state

    def _send(self, target_name: str, open_target: Callable[[], Target]) -> ReplayResult:
        """Send the messages one after the other."""
        started = self._clock.monotonic()
        state = self._state(target_name)
        progress = Progress(self._options.state, state)
        messages = self._sorted(state.shift, state.confirmed)
        target = open_target()
        stopped = failed = True
        try:
            progress.save()
            # From here on, the state has the shift, which a replay that continues uses again [QLK-RP-4].
            stopped = self._run(messages, target, progress)
            failed = False
        finally:
            try:
                # Closing receives further confirmations, which the state below has.
                target.close(failed=failed)
            finally:
                progress.save()
        return ReplayResult(progress.messages, stopped, progress.confirmed, self._clock.monotonic() - started)

    def _run(self, messages: DataFrame, target: Target, progress: Progress) -> bool:
        """Send the messages at their pace, and return whether the event stopped the replay."""
        pacer = Pacer(self._clock, self._options.speed, self._options.stop or threading.Event())
        saved = self._clock.monotonic()

        def idle() -> None:
            nonlocal saved
            target.idle()
            if self._clock.monotonic() - saved >= _SAVE_SECONDS:
                progress.save()
                saved = self._clock.monotonic()

        for message, pace in messages_of(messages):
            if not pacer.wait_for(pace, idle):
                return True
            target.send(message, progress.sent((message.topic, message.partition), message.offset).confirm)
            idle()
        return False

    def _send_by_spark(self, settings: Mapping[str, Any], topic: str) -> ReplayResult:
        started = self._clock.monotonic()
        streams = self._streams
        # the window and the sink need this one shuffle
        messages = self._timed(self._df.repartition("partition"), None)
        write_to_kafka(messages, settings, topic, keep_partitions=self._options.keep_partitions)
        confirmed = {stream.identity: stream.last_offset for stream in streams}
        seconds = self._clock.monotonic() - started
        return ReplayResult(sum(stream.messages for stream in streams), False, confirmed, seconds)
