"""The targets of a replay that get one message after the other: a Kafka producer, and a function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from xskip.errors import ReplayError
from xskip.quixlake.replay_order import PACE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["CallbackTarget", "KafkaTarget", "Message", "Target", "messages_of"]

#: librdkafka replaces the timestamp 0 by the current time.
_NO_TIMESTAMP = 0
#: The settings of the producer that the user does not set: each message once and in order, and the partitions that
#: Kafka's Java producer chooses for the same keys.
_SETTINGS = {"enable.idempotence": True, "partitioner": "murmur2_random"}
_METADATA_SECONDS = 30.0
_POLL_SECONDS = 0.1
#: How long a replay that has failed waits for confirmations.
_CLOSE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a replay.

    Attributes
    ----------
    topic : str or None
        The topic of the message in the lake.
    partition : int
        The partition of the message in the lake.
    offset : int
        The offset of the message in the lake.
    timestamp : int or None
        The timestamp to send, in milliseconds since the Unix epoch; None leaves it to the target.
    original_timestamp : int or None
        The timestamp of the message in the lake.
    key : bytes or None
        The key.
    value : bytes or None
        The value; None is a tombstone.
    headers : tuple of (str, bytes or None)
        The names and values of the headers.
    """

    topic: str | None
    partition: int
    offset: int
    timestamp: int | None
    original_timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def __str__(self) -> str:
        """Return the place of the message in the lake."""
        return f"topic {self.topic}, partition {self.partition}, offset {self.offset}"


class Target(Protocol):
    """A receiver of messages that confirms each one by a call of a function."""

    def send(self, message: Message, confirm: Callable[[], None]) -> None:
        """Send a message; ``confirm`` runs at once or during a later call."""

    def idle(self) -> None:
        """Receive confirmations, while no message is due."""

    def close(self, *, failed: bool) -> None:
        """Wait for all confirmations, or give up the messages without one if the replay has failed."""


def messages_of(df: DataFrame) -> Iterator[tuple[Message, int | None]]:
    """Yield the messages of a sorted DataFrame with their pace, one partition of the DataFrame at a time."""
    from pyspark.sql import functions as F

    headers = F.expr(
        "transform(headers, h -> struct(h.key, coalesce(h.value.bytes, cast(h.value.string as binary)) as value))"
    )
    columns = ("topic", "partition", "offset", "timestamp", "original_timestamp", "key", "value")
    rows = df.select(*columns, headers.alias("headers"), PACE).toLocalIterator(prefetchPartitions=True)
    for topic, partition, offset, timestamp, original, key, value, pairs, pace in rows:
        sent = tuple((name, _bytes(content)) for name, content in pairs or ())
        yield Message(topic, partition, offset, timestamp, original, _bytes(key), _bytes(value), sent), pace


def _bytes(value: bytearray | bytes | None) -> bytes | None:
    return None if value is None else bytes(value)


class CallbackTarget:
    """A function that gets each message; its return confirms the message."""

    def __init__(self, callback: Callable[[Message], object]) -> None:
        self._callback = callback

    def send(self, message: Message, confirm: Callable[[], None]) -> None:
        """Call the function."""
        self._callback(message)
        confirm()

    def idle(self) -> None:
        """Return at once, because :meth:`send` has already confirmed every message."""

    def close(self, *, failed: bool) -> None:
        """Return at once, because a function holds nothing to close."""


class KafkaTarget:
    """A topic that gets messages from ``confluent-kafka``; the settings of its producer have librdkafka's names."""

    def __init__(self, settings: Mapping[str, Any], topic: str, *, keep_partitions: bool) -> None:
        try:
            import confluent_kafka
        except ImportError as error:
            raise ReplayError(
                "a replay to Kafka needs confluent-kafka", hint="install it with: pip install xskip[quix]"
            ) from error
        self._errors: tuple[type[Exception], ...] = (confluent_kafka.KafkaException, TypeError, ValueError)
        self._topic, self._keep = topic, keep_partitions
        self._failure: ReplayError | None = None
        try:
            self._producer: Any = confluent_kafka.Producer({**_SETTINGS, **settings})
            described: Any = self._producer.list_topics(topic, timeout=_METADATA_SECONDS).topics[topic]
        except self._errors as error:
            raise ReplayError("cannot connect to Kafka", where=f"topic {topic}", found=str(error)) from error
        if described.error is not None:
            raise ReplayError("cannot replay to the topic", where=f"topic {topic}", found=str(described.error))
        self.partitions = len(described.partitions)

    def send(self, message: Message, confirm: Callable[[], None]) -> None:
        """Give a message to the producer, and wait while its queue is full."""
        arguments: dict[str, Any] = {"on_delivery": partial(self._delivered, message, confirm)}
        if self._keep:
            # Without a partition, the producer chooses one by the key.
            arguments["partition"] = message.partition
        if message.timestamp is not None:
            if message.timestamp == _NO_TIMESTAMP:
                raise self._refused(message, "the timestamp 0, which librdkafka cannot send", "use timestamps='moved'")
            arguments["timestamp"] = message.timestamp
        while True:
            self._poll(0)
            try:
                self._producer.produce(
                    self._topic, message.value, message.key, headers=list(message.headers), **arguments
                )
            except BufferError:
                self._poll(_POLL_SECONDS)
            except self._errors as error:
                raise self._refused(message, str(error)) from error
            else:
                return

    def idle(self) -> None:
        """Receive confirmations."""
        self._poll(0)

    def close(self, *, failed: bool) -> None:
        """Wait for the confirmations of all messages, see :meth:`Target.close`."""
        end = time.monotonic() + _CLOSE_SECONDS
        while len(self._producer) and self._failure is None and not (failed and time.monotonic() > end):
            self._producer.poll(_POLL_SECONDS)
        if len(self._producer):
            # After a refused message, the messages that the producer has not yet sent are given up, because they come
            # later in the order.
            self._producer.purge(in_flight=False)
            self._producer.flush(_CLOSE_SECONDS)
        if self._failure is not None and not failed:
            raise self._failure

    def _poll(self, seconds: float) -> None:
        self._producer.poll(seconds)
        if self._failure is not None:
            raise self._failure

    def _delivered(self, message: Message, confirm: Callable[[], None], error: object, _: object) -> None:
        if error is None:
            confirm()
        elif self._failure is None:
            self._failure = self._refused(message, str(error))

    def _refused(self, message: Message, found: str, hint: str | None = None) -> ReplayError:
        return ReplayError(f"Kafka's topic {self._topic} refuses a message", where=str(message), found=found, hint=hint)
