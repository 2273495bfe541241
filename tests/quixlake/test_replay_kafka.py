"""Replays from one topic of a real broker to another one."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.quixlake.broker import Broker
from tests.quixlake.messages import Row, frame_of, merged, read_topic
from xskip.errors import ReplayError
from xskip.quixlake import QuixLake, SinkOptions
from xskip.quixlake.replay import Replay, ReplayOptions
from xskip.quixlake.replay_progress import load_state

#: The headers whose values are text in the DataFrame.
TEXT = frozenset({"text"})
Consumed = dict[int, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def source(broker: Broker) -> str:
    """Return a topic of three partitions with messages of every form, whose timestamps decrease at times."""
    topic = broker.create_topic("source", 3)
    rows = []
    for i in range(600):
        timestamp = 1_700_000_000_000 + 1_000 * i - (7_000 if i % 5 == 0 else 0)
        headers = [(), (("text", "é"), ("bytes", b"\xff\x00"), ("bytes", b"")), (("null", None),)][i % 3]
        key = [None, b"", b"\xff", f"key {i % 7}".encode()][i % 4]
        value = None if i % 11 == 0 else b"" if i % 13 == 0 else f"value {i}".encode() * (i % 9)
        rows.append(Row(i % 3 if i % 10 else 0, i, timestamp, topic, key, value, headers))
    produce(broker, topic, rows)
    return topic


def produce(broker: Broker, topic: str, rows: Sequence[Row]) -> None:
    from confluent_kafka import Producer

    producer: Any = Producer({"bootstrap.servers": broker.address, "enable.idempotence": True})
    for row in rows:
        producer.produce(
            topic, row.value, row.key, partition=row.partition, timestamp=row.timestamp, headers=list(row.headers)
        )
    assert producer.flush(30) == 0


def consumed(broker: Broker, topic: str) -> Consumed:
    """Return key, value, headers and timestamp of the messages of a topic, by partition and in order."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer: Any = Consumer(
        {"bootstrap.servers": broker.address, "group.id": uuid.uuid4().hex, "enable.auto.commit": False}
    )
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=10)[1] for p in partitions}
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
        found: Consumed = {p: [] for p in partitions}
        for _ in range(sum(ends.values())):
            message = consumer.poll(30)
            assert message is not None
            assert message.error() is None
            parts = (message.key(), message.value(), message.headers() or [], message.timestamp()[1])
            found[message.partition()].append(parts)
        return found
    finally:
        consumer.close()


def without_timestamps(messages: Consumed) -> Consumed:
    return {partition: [message[:3] for message in listed] for partition, listed in messages.items()}


def a_topic(broker: Broker, partitions: int = 3, **settings: str) -> str:
    return broker.create_topic(f"target-{uuid.uuid4().hex}", partitions, settings)


@pytest.fixture(scope="module")
def messages(broker: Broker, source: str) -> Consumed:
    """Return the messages of the source."""
    return consumed(broker, source)


@pytest.fixture
def lake(kafka_spark: SparkSession, broker: Broker, source: str) -> DataFrame:
    return read_topic(kafka_spark, broker.address, source, text=TEXT)


def test_a_replay_is_equal_to_its_source(lake: DataFrame, broker: Broker, source: str, messages: Consumed) -> None:
    """[QLK-RP-1] [QLK-RP-2] [QLK-RP-4] Each partition has the same messages in the same order."""
    assert lake.where("exists(headers, h -> h.value.string is not null)").count() == 200
    target = a_topic(broker)
    result = Replay(lake, ReplayOptions()).to_kafka(broker.address, target)
    assert consumed(broker, target) == messages
    assert result.messages == sum(map(len, messages.values())) == 600
    assert result.confirmed == {(source, p): len(listed) - 1 for p, listed in messages.items()}


def test_moved_timestamps_have_the_original_distances(lake: DataFrame, broker: Broker, messages: Consumed) -> None:
    """[QLK-RP-4] One constant moves all timestamps."""
    target = a_topic(broker)
    Replay(lake, ReplayOptions(timestamps="moved", speed=1e9)).to_kafka({"bootstrap.servers": broker.address}, target)
    before, now = messages, consumed(broker, target)
    assert without_timestamps(now) == without_timestamps(before)
    moved = {b[3] - a[3] for p in before for a, b in zip(before[p], now[p], strict=True)}
    assert len(moved) == 1
    assert moved.pop() > 0


def test_a_stopped_replay_continues(lake: DataFrame, broker: Broker, messages: Consumed, tmp_path: Path) -> None:
    """[QLK-RP-5] Two runs together send each message once and in order."""
    target, state, stop = a_topic(broker), str(tmp_path / "state"), threading.Event()

    class StoppingClock:
        """A clock without time that stops the replay in the middle."""

        readings = 0

        def monotonic(self) -> float:
            self.readings += 1
            if self.readings == 300:
                stop.set()
            return 0.0

        def epoch_ms(self) -> int:
            return 0

        def wait(self, seconds: float, stop: threading.Event) -> None:
            raise AssertionError

    first = Replay(lake, ReplayOptions(state=state, stop=stop), StoppingClock()).to_kafka(broker.address, target)
    assert first.stopped
    assert 0 < first.messages < 600
    assert sum(map(len, consumed(broker, target).values())) == first.messages
    second = Replay(lake, ReplayOptions(state=state)).to_kafka(broker.address, target)
    assert (second.messages, second.stopped) == (600 - first.messages, False)
    assert consumed(broker, target) == messages


def test_spark_sends_messages_whose_timestamps_do_not_matter(
    lake: DataFrame, broker: Broker, source: str, messages: Consumed
) -> None:
    """[QLK-RP-1] [QLK-RP-2] Spark's sink sends each partition in order, with the timestamps of the sending."""
    target = a_topic(broker)
    result = Replay(lake, ReplayOptions(timestamps="current")).to_kafka(broker.address, target)
    found = consumed(broker, target)
    assert without_timestamps(found) == without_timestamps(messages)
    assert min(m[3] for listed in found.values() for m in listed) > 1_750_000_000_000
    assert result.messages == 600
    assert result.confirmed == {(source, p): len(listed) - 1 for p, listed in messages.items()}


@pytest.mark.parametrize("timestamps", ["original", "current"])
def test_streams_of_several_topics_share_the_partitions_of_their_numbers(
    kafka_spark: SparkSession, broker: Broker, timestamps: Any
) -> None:
    """[QLK-RP-1] The order within a partition of the target is that of the merge, with both ways of sending."""
    rows = [
        Row(p, 5 * i, 10 + 7 * i % 40, t, value=f"{t}{p}{i}".encode()) for t in "ab" for p in (0, 1) for i in range(9)
    ]
    target = a_topic(broker, 2)
    Replay(frame_of(kafka_spark, rows), ReplayOptions(timestamps=timestamps)).to_kafka(broker.address, target)
    found = {p: [m[1] for m in listed] for p, listed in consumed(broker, target).items()}
    assert found == {p: [row.value for row in merged(rows) if row.partition == p] for p in (0, 1)}


def test_the_producer_chooses_partitions_by_keys(kafka_spark: SparkSession, broker: Broker) -> None:
    """[QLK-RP-1] Both ways of sending choose the same partitions, and messages of a stream keep their order."""
    rows = [Row(5, i, 1 + i, key=f"key {i % 7}".encode(), value=str(i).encode()) for i in range(50)]
    found = []
    by_producer = ReplayOptions(keep_partitions=False)
    for options in (by_producer, replace(by_producer, timestamps="current")):
        target = a_topic(broker)
        Replay(frame_of(kafka_spark, rows), options).to_kafka(broker.address, target)
        found.append({p: [int(m[1]) for m in listed] for p, listed in consumed(broker, target).items()})
    by_driver, by_spark = found
    assert by_driver == by_spark
    assert all(by_driver.values())
    assert sorted(i for listed in by_driver.values() for i in listed) == list(range(50))
    assert all(listed == sorted(listed) for listed in by_driver.values())


def test_a_full_queue_delays_the_replay(lake: DataFrame, broker: Broker, messages: Consumed) -> None:
    """[QLK-RP-3] A replay is as fast as its target takes messages."""
    target = a_topic(broker)
    settings = {"bootstrap.servers": broker.address, "queue.buffering.max.messages": 5}
    assert Replay(lake, ReplayOptions()).to_kafka(settings, target).messages == 600
    assert consumed(broker, target) == messages


@pytest.mark.parametrize("at_broker", [True, False])
def test_a_refused_message_fails_the_replay(
    kafka_spark: SparkSession, broker: Broker, tmp_path: Path, at_broker: bool
) -> None:
    """[QLK-RP-5] The error names the message, and the messages before it are confirmed."""
    rows = [Row(0, 10 + i, 1 + i, value=b"x" * (100_000 if i == 5 else 10)) for i in range(8)]
    limit: dict[str, str] = {"max.message.bytes": "50000"} if at_broker else {}
    target, state = broker.create_topic(f"small-{at_broker}", 1, limit), str(tmp_path / "state")
    settings: dict[str, Any] = {"bootstrap.servers": broker.address, "batch.num.messages": 1}
    settings |= {} if at_broker else {"message.max.bytes": 50_000}
    with pytest.raises(ReplayError, match="topic t, partition 0, offset 15"):
        Replay(frame_of(kafka_spark, rows), ReplayOptions(state=state)).to_kafka(settings, target)
    saved = load_state(state)
    assert saved is not None
    assert saved.confirmed == {("t", 0): 14}
    if at_broker:
        assert [len(m[1]) for m in consumed(broker, target)[0]][:5] == [10] * 5


def test_the_timestamp_0_is_refused(kafka_spark: SparkSession, broker: Broker) -> None:
    """[QLK-RP-4] Original timestamps are sent as they are, or not at all."""
    target = a_topic(broker, 1)
    with pytest.raises(ReplayError, match="offset 4; found: the timestamp 0"):
        Replay(frame_of(kafka_spark, [Row(0, 3, -5), Row(0, 4, 0)]), ReplayOptions()).to_kafka(broker.address, target)


def test_topics_that_cannot_hold_the_messages_are_refused(lake: DataFrame, broker: Broker) -> None:
    """[QLK-RP-1] The number of partitions is checked before a message is sent."""
    replay = Replay(lake, ReplayOptions())
    target = a_topic(broker, 2)
    with pytest.raises(ReplayError, match="too few partitions"):
        replay.to_kafka(broker.address, target)
    assert consumed(broker, target) == {0: [], 1: []}
    with pytest.raises(ReplayError, match="cannot replay to the topic"):
        replay.to_kafka(broker.address, "no-such-topic")


def test_spark_errors_name_the_cause(lake: DataFrame, broker: Broker) -> None:
    settings = {"bootstrap.servers": broker.address, "max.block.ms": 1000}
    with pytest.raises(ReplayError, match="Spark cannot replay"):
        Replay(lake, ReplayOptions(timestamps="current")).to_kafka(settings, "no-such-topic")


def test_from_kafka_through_a_lake_to_kafka(
    kafka_spark: SparkSession, broker: Broker, source: str, messages: Consumed, tmp_path: Path
) -> None:
    """[QLK-SK-1] [QLK-RP-1] [QLK-RD-3]"""
    lake = QuixLake(kafka_spark, str(tmp_path))
    reader = kafka_spark.read.format("kafka").option("kafka.bootstrap.servers", broker.address)
    reader = reader.option("includeHeaders", "true").option("subscribe", source)
    written = lake.write(reader.load(), "t", options=SinkOptions(max_rows=20))
    assert written.rows == sum(map(len, messages.values()))
    target = a_topic(broker)
    replayed = lake.replay("t").to_kafka(broker.address, target)
    assert replayed.messages == written.rows
    assert consumed(broker, target) == messages
    assert len(lake.check("t")) == 0
    assert len(lake.validate("t")) == 0
    lake.index("t").create()
    some = lake.read("t").filter("offset = 1")
    assert some.count() == sum(len(each) > 1 for each in messages.values())
    (scan,) = xskip.last_report(kafka_spark).scans
    assert 0 < scan.kept < scan.files
