"""Replays to functions: what they get, when, and how a stopped replay continues."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.quixlake.messages import Row, frame_of, merged
from xskip.errors import DatasetError, ReplayError, SettingError, StorageError
from xskip.quixlake import replay, replay_sink
from xskip.quixlake.replay import Replay, ReplayOptions
from xskip.quixlake.replay_pace import Pacer
from xskip.quixlake.replay_progress import Progress, SavedState, load_state
from xskip.quixlake.replay_targets import CallbackTarget, Message

pytestmark = pytest.mark.usefixtures("interpreted")
#: Two partitions of a topic and one of another, with timestamps that decrease.
ROWS = [
    Row(0, 0, 1_000), Row(0, 2, 5_000), Row(0, 3, 2_000), Row(0, 9, 9_000),
    Row(1, 0, 4_000, key=None), Row(1, 1, 3_000, value=None), Row(1, 4, 60_000),
    Row(0, 0, 4_500, "u", headers=(("a", "é"), ("b", b"\xff"), ("c", None))),
]  # fmt: skip
PLACES = [row.place for row in merged(ROWS)]
#: What a state says of a replay to a function with the default options.
TARGET = {
    "target": "a function", "timestamps": "original", "max_gap_ms": None, "key_suffix": None, "keep_partitions": True,
}  # fmt: skip


def place(message: Message) -> tuple[str | None, int, int]:
    return message.topic, message.partition, message.offset


class FakeClock:
    """A clock that passes only in waits, and in ``late`` seconds for each reading."""

    def __init__(self, late: float = 0.0, epoch: int = 1_800_000_000_000) -> None:
        self.now, self.late, self.epoch, self.waits = 100.0, late, epoch, 0

    def monotonic(self) -> float:
        self.now += self.late
        return self.now

    def epoch_ms(self) -> int:
        return self.epoch

    def wait(self, seconds: float, stop: threading.Event) -> None:
        assert seconds > 0
        self.waits += 1
        self.now += seconds


class FakeError(Exception):
    """An error of a function."""


def test_a_function_gets_messages_in_order_with_all_their_parts(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-RP-1] [QLK-RP-2] A header has the bytes of its branch, and text is UTF-8."""
    monkeypatch.setattr(replay, "_CHUNK", 300)
    got: list[Message] = []
    result = Replay(frame_of(spark, ROWS), ReplayOptions()).to(got.append)
    assert [place(message) for message in got] == PLACES
    by_place = {place(message): message for message in got}
    assert by_place["u", 0, 0].headers == (("a", "é".encode()), ("b", b"\xff"), ("c", None))
    assert by_place["t", 1, 0].key is None
    assert by_place["t", 1, 1] == Message("t", 1, 1, 3_000, 3_000, b"k", None, ())
    assert (result.messages, result.stopped) == (8, False)
    assert result.confirmed == {("t", 0): 9, ("t", 1): 4, ("u", 0): 0}


def test_an_empty_selection_sends_nothing(spark: SparkSession) -> None:
    got: list[Message] = []
    result = Replay(frame_of(spark, []), ReplayOptions(timestamps="moved", max_gap_ms=1)).to(got.append)
    assert (got, result.messages, result.stopped) == ([], 0, False)


@pytest.mark.parametrize(("speed", "late"), [(1.0, 0.0), (4.0, 0.0), (2.0, 0.003)])
def test_messages_are_due_at_their_original_distances(spark: SparkSession, speed: float, late: float) -> None:
    """[QLK-RP-3] Delays of single messages do not add up, and a gap has at most the given length."""
    clock = FakeClock(late)
    times: list[tuple[int, float]] = []
    rows = [Row(0, i, 1_000 * i) for i in range(6)] + [Row(0, 6, 3_600_000), Row(0, 7, 3_601_000), Row(0, 8, 0)]
    options = ReplayOptions(speed=speed, max_gap_ms=10_000)
    Replay(frame_of(spark, rows), options, clock).to(lambda m: times.append((m.offset, clock.now)))
    origin = times[0][1]
    due = [0, 1, 2, 3, 4, 5, 15, 16, 16]
    assert [offset for offset, _ in times] == list(range(9))
    assert [now - origin for _, now in times] == pytest.approx([seconds / speed for seconds in due], abs=20 * late)


def test_messages_behind_the_schedule_are_due_at_once() -> None:
    """[QLK-RP-3] The schedule stays that of the first message."""
    clock = FakeClock()
    pacer = Pacer(clock, 1.0, threading.Event())
    pacer.wait_for(0, lambda: None)
    clock.now += 10
    pacer.wait_for(5_000, lambda: None)
    assert clock.waits == 0
    pacer.wait_for(11_000, lambda: None)
    assert clock.now == pytest.approx(111.0)


def test_without_a_speed_no_message_waits(spark: SparkSession) -> None:
    """[QLK-RP-3] A replay without a speed is as fast as its target."""
    clock = FakeClock()
    assert Replay(frame_of(spark, ROWS), ReplayOptions(), clock).to(lambda _: None).messages == len(ROWS)
    assert clock.waits == 0


@pytest.mark.parametrize("number", [3, 8])
def test_a_stopped_replay_continues_after_the_last_confirmed_messages(
    spark: SparkSession, tmp_path: Path, number: int
) -> None:
    """[QLK-RP-5] The second run sends the rest, with the timestamps that one run would have sent."""
    stop = threading.Event()
    first: list[Message] = []
    state = str(tmp_path / "state.json")

    def take(message: Message) -> None:
        first.append(message)
        if len(first) == number:
            stop.set()

    df, clock = frame_of(spark, ROWS), FakeClock()
    options = ReplayOptions(timestamps="moved", max_gap_ms=1_000, state=state, stop=stop)
    assert Replay(df, options, clock).to(take).stopped == (number < len(ROWS))
    second: list[Message] = []
    later = FakeClock(epoch=1_900_000_000_000)
    rest = ReplayOptions(timestamps="moved", max_gap_ms=1_000, state=state)
    assert [r.offset for r in Replay(df, rest, later).frame().collect()] == [p[2] for p in PLACES[number:]]
    assert Replay(df, rest, later).to(second.append).messages == len(ROWS) - number
    whole: list[Message] = []
    Replay(df, ReplayOptions(timestamps="moved", max_gap_ms=1_000), clock).to(whole.append)
    assert [*first, *second] == whole
    assert Replay(df, rest, later).to(second.append).messages == 0


def test_a_stop_ends_a_wait(spark: SparkSession) -> None:
    """[QLK-RP-5] The event stops a replay that waits for its next message."""
    stop = threading.Event()
    got: list[Message] = []

    class StoppingClock(FakeClock):
        def wait(self, seconds: float, stop: threading.Event) -> None:
            super().wait(seconds, stop)
            stop.set()

    result = Replay(frame_of(spark, ROWS), ReplayOptions(speed=1.0, stop=stop), StoppingClock()).to(got.append)
    assert (result.messages, result.stopped, len(got)) == (1, True, 1)


def test_the_error_of_a_function_is_raised_after_the_progress_is_saved(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RP-5] The message whose function raised is sent again."""
    state = str(tmp_path / "state.json")
    got: list[Message] = []

    def fail(message: Message) -> None:
        if len(got) == 3:
            raise FakeError
        got.append(message)

    df, options = frame_of(spark, ROWS), ReplayOptions(state=state)
    with pytest.raises(FakeError):
        Replay(df, options).to(fail)
    saved = load_state(state)
    assert saved is not None
    assert saved.confirmed == {(t, p): max(o for a, b, o in PLACES[:3] if (a, b) == (t, p)) for t, p, _ in PLACES[:3]}
    Replay(df, options).to(got.append)
    assert [place(message) for message in got] == PLACES


def test_progress_is_saved_in_between(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RP-5] A killed replay continues after the messages whose confirmations are on disk."""
    state = tmp_path / "state.json"
    seen: list[int] = []
    Replay(frame_of(spark, ROWS), ReplayOptions(speed=1.0, state=str(state)), FakeClock()).to(
        lambda _: seen.append(len(json.loads(state.read_text())["confirmed"]))
    )
    assert seen[0] == 0
    assert seen[-1] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_an_offset_counts_when_all_before_it_are_confirmed() -> None:
    """[QLK-RP-5] Targets can confirm messages out of order."""
    progress = Progress(None, SavedState({}, None, {}))
    a, b, c = (progress.sent(("t", 0), offset) for offset in (3, 5, 8))
    b.confirm()
    assert progress.confirmed == {}
    a.confirm()
    assert progress.confirmed == {("t", 0): 5}
    c.confirm()
    assert (progress.confirmed, progress.messages) == ({("t", 0): 8}, 3)


def test_the_state_of_another_replay_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RP-5] A state fits one target and one set of options."""
    state = str(tmp_path / "state.json")
    df = frame_of(spark, ROWS)
    Replay(df, ReplayOptions(state=state)).to(lambda _: None)
    saved = load_state(state)
    assert saved is not None
    assert dict(saved.replay) == TARGET
    with pytest.raises(ReplayError, match="found: timestamps: original; expected: timestamps: moved"):
        Replay(df, ReplayOptions(state=state, timestamps="moved")).to(lambda _: None)
    with pytest.raises(ReplayError, match="found: target: a function; expected: target: topic x"):
        Replay(df, ReplayOptions(state=state)).to_kafka("127.0.0.1:1", "x")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "confirmed": [["t"]], "shift": 0}'])
def test_a_damaged_state_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(ReplayError, match="not the state of a replay"):
        load_state(str(tmp_path / "state.json"))


def test_a_state_that_cannot_be_written_fails_before_messages_are_sent(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target is closed."""
    got: list[Message] = []
    closed: list[bool] = []

    class Closing(CallbackTarget):
        def close(self, *, failed: bool) -> None:
            closed.append(failed)

    monkeypatch.setattr(replay, "CallbackTarget", Closing)
    with pytest.raises(StorageError, match="no such directory"):
        Replay(frame_of(spark, ROWS), ReplayOptions(state=str(tmp_path / "none" / "state"))).to(got.append)
    assert (got, closed) == ([], [True])


@pytest.mark.parametrize(
    "options", [{"speed": 0}, {"speed": float("nan")}, {"speed": float("inf")}, {"timestamps": "x"}, {"max_gap_ms": -1}]
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        ReplayOptions(**options)


def test_a_message_without_an_offset_fails_before_messages_are_sent(spark: SparkSession) -> None:
    got: list[Message] = []
    df = frame_of(spark, ROWS).selectExpr(
        "timestamp", "key", "headers", "value", "partition", "nullif(offset, 9) as offset", "topic"
    )
    with pytest.raises(DatasetError, match="1 message "):
        Replay(df, ReplayOptions()).to(got.append)
    assert got == []


def test_the_package_of_sparks_sink_is_named_where_it_is_absent(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_sink, "_FORMAT", "no-such-sink")
    with pytest.raises(ReplayError, match="add spark-sql-kafka-0-10"):
        Replay(frame_of(spark, ROWS), ReplayOptions(timestamps="current")).to_kafka("127.0.0.1:1", "x")
