"""Tests of discovery: topics, stream keys, partitions, segments and custom metadata of a lake."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from tests.quixlake.lakes import START, WrittenLake, hourly, records
from xskip.errors import ArgumentError, DatasetError, PredicateError, XskipError
from xskip.quixlake import QuixLake, ReplayOptions, SinkOptions, location, store
from xskip.quixlake.selection import milliseconds

KEYS = ("a/b", "10", "2024-01-01", "", "é x#%:=", None)
HOUR = dt.timedelta(hours=1)
MIDNIGHT = dt.datetime(2025, 8, 21, tzinfo=dt.timezone.utc)


def column(table: Any, name: str) -> list[Any]:
    return [row[name] for row in table]


def test_topics_keys_and_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DI-1] [QLK-DI-2] [QLK-PA-4]"""
    written = hourly(tmp_path, KEYS)
    written.describe([written.segment("z", records(3), topic="other.topic")])
    lake = QuixLake(spark, str(tmp_path))
    assert [(row["topic"], row["keys"], row["segments"], row["messages"]) for row in lake.topics()] == [
        ("other.topic", 1, 1, 3), ("t", 6, 36, 144),
    ]  # fmt: skip
    found = lake.keys("t")
    assert column(found, "stream_key") == ["", "10", "2024-01-01", "a/b", "é x#%:=", None]
    assert set(column(found, "messages")) == {24}
    (row,) = lake.partitions("t", "10")
    size = sum(path.stat().st_size for path in tmp_path.glob("Raw/Topic=t/Key=10/*/*"))
    assert row == {
        "partition": 1, "segments": 6, "bytes": size, "messages": 24, "first": 0, "last": 53, "start": MIDNIGHT,
        "end": MIDNIGHT + 5.5 * HOUR,
    }  # fmt: skip
    assert len(lake.partitions("t")) == 6
    assert found.headline.startswith("6 keys, 36 segments, ")
    assert str(found).splitlines()[0] == found.headline
    assert "<table>" in found._repr_html_()
    assert found.to_df(spark).count() == 6
    assert found.to_df(spark).filter("stream_key = '10'").first().messages == 24  # type: ignore[union-attr]


def test_null_and_empty_keys_are_shown_differently(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-PA-4]"""
    hourly(tmp_path, (None, "", "null", "k", " k"), hours=1)
    lake = QuixLake(spark, tmp_path)
    lines = str(lake.keys("t")).splitlines()[3:]
    assert [line.partition("  ")[0] for line in lines] == ["''", "' k'", "k", "'null'", "null"]
    page = lake.keys("t")._repr_html_()
    assert all(f"<td>{cell}</td>" in page for cell in ("null", "&#39;&#39;", "&#39;null&#39;"))
    assert {row["stream_key"] for row in lake.keys("t")} == {None, "", "null", "k", " k"}


def test_keys_without_descriptors_are_listed(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DI-2] [QLK-DI-3] [QLK-DE-6]"""
    written = WrittenLake(tmp_path)
    one = written.segment("a", records(3))
    written.segment("a", records(3, first=10))
    written.segment("b", records(3))
    gone = one | {"Path": one["Path"].replace("off_0", "off_9")}
    written.describe([one, gone])
    lake = QuixLake(spark, str(tmp_path))
    assert [(row["stream_key"], row["segments"], row["messages"]) for row in lake.keys("t")] == [
        ("a", 2, 6), ("b", 1, None),
    ]  # fmt: skip
    listed = lake.keys("t", listed=True)
    assert [(row["stream_key"], row["segments"], row["messages"]) for row in listed] == [("a", 2, None), ("b", 1, None)]
    assert "an unknown number of messages" in str(listed)
    assert column(lake.topics(), "segments") == column(lake.topics(listed=True), "segments") == [3]
    (tmp_path / "Metadata").rename(tmp_path / "elsewhere")
    assert column(lake.keys("t"), "segments") == [2, 1]


def test_segments_of_a_window(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DI-4]"""
    hourly(tmp_path)
    lake = QuixLake(spark, str(tmp_path))
    found = lake.segments("t", keys="a", start="2025-08-21 02:00", end="2025-08-21T04:00Z")
    assert column(found, "first") == [20, 30]
    assert column(found, "start") == [MIDNIGHT + 2 * HOUR, MIDNIGHT + 3 * HOUR]
    # a window contains its start and does not contain its end
    at = MIDNIGHT + 2.5 * HOUR
    assert column(lake.segments("t", keys="a", start=at, end=at + HOUR / 2), "first") == [20]
    assert column(lake.segments("t", keys=["a"], start=START + 9_000_001, end=at + HOUR / 2), "first") == []
    assert column(lake.segments("t", partitions=1, offsets=(33, 41)), "first") == [30, 40]
    assert column(lake.segments("t", partitions=[1], offsets=(34, None)), "first") == [40, 50]
    assert len(lake.segments("t")) == 12
    ends = lake.time_range("t", keys="b")
    assert (ends.start, ends.end, ends.unknown) == (MIDNIGHT, MIDNIGHT + 5.5 * HOUR, 0)
    nothing = lake.time_range("t", keys="c")
    assert (nothing.start, nothing.end, nothing.unknown) == (None, None, 0)
    assert "segments without timestamps" in str(nothing)


def test_segments_without_claims_are_in_every_window(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DI-4]"""
    written = WrittenLake(tmp_path)
    written.segment("a", records(3), name="x.avro")
    lake = QuixLake(spark, str(tmp_path))
    assert column(lake.segments("t", start=0, end=1, partitions=7, offsets=(9, 9)), "start") == [None]
    assert lake.time_range("t").unknown == 1


def test_deleted_segments_are_not_found(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DI-2] [QLK-DE-5]"""
    written = WrittenLake(tmp_path)
    one, two = (written.segment("a", records(3, first=first)) for first in (0, 10))
    written.describe([one, two | {"DeletedAt": MIDNIGHT}])
    lake = QuixLake(spark, str(tmp_path))
    assert column(lake.segments("t"), "first") == column(lake.segments("t", listed=True), "first") == [0]


def test_custom_metadata(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CM-1] [QLK-CM-4] [QLK-CM-5]"""
    written = hourly(tmp_path, ("a", "b", None))
    written.set("a", "site", "Oslo", second=1)
    written.set("a", "site", "Rome", second=2)
    written.set("b", "site", "Oslo", second=2**33)
    lake = QuixLake(spark, str(tmp_path))
    assert [(row["stream_key"], row["name"], row["value"]) for row in lake.metadata("t")] == [
        ("a", "site", "Rome"), ("b", "site", "Oslo"),
    ]  # fmt: skip
    assert column(lake.segments("t", metadata={"site": "Oslo"}), "stream_key") == ["b"] * 6
    before = set(tmp_path.rglob("metadata_*"))
    lake.set_metadata("t", "b", {"site": "Bern", "unit": "C"})
    lake.set_metadata("t", None, {"site": "Bern"})
    assert [(row["name"], row["value"]) for row in lake.metadata("t", "b")] == [("site", "Bern"), ("unit", "C")]
    lake.delete_metadata("t", "b", ["unit", "none"])
    assert column(QuixLake(spark, str(tmp_path)).metadata("t", "b"), "name") == ["site"]
    assert before < set(tmp_path.rglob("metadata_*"))
    assert (
        column(lake.segments("t", metadata={"site": ["Bern", "Rome"]}), "stream_key")
        == ["a"] * 6 + ["b"] * 6 + [None] * 6
    )
    with pytest.raises(PredicateError, match="custom metadata is not text"):
        lake.set_metadata("t", "b", {"site": 5})  # type: ignore[dict-item]
    with pytest.raises(PredicateError, match=r"custom metadata is not text .found: 'site': None"):
        lake.set_metadata("t", "b", {"site": None})  # type: ignore[dict-item]
    assert column(lake.metadata("t", "b"), "name") == ["site"]


def test_find(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CM-5] [QLK-DI-4]"""
    written = hourly(tmp_path, ("car-1", "car-2", "bus"))
    written.describe([written.segment("x", records(2), topic="Cars")])
    written.set("bus", "driver", "Oscar")
    written.set("car-2", "site", "Oslo")
    lake = QuixLake(spark, str(tmp_path))

    def keys(*args: Any, **kwargs: Any) -> list[Any]:
        return column(lake.find(*args, **kwargs), "stream_key")

    assert keys() == ["x", "bus", "car-1", "car-2"]
    assert keys("CAR") == ["x", "bus", "car-1", "car-2"]
    assert keys("car-") == ["car-1", "car-2"]
    assert keys("driver") == ["bus"]
    assert keys("car", metadata={"site": "Oslo"}) == keys(metadata={"site": ["Oslo", "Rome"]}) == ["car-2"]
    assert keys("nothing") == keys(metadata={"site": "Bern"}) == []
    assert keys(start="2025-08-21 05:00") == ["bus", "car-1", "car-2"]
    assert column(lake.find(start="2025-08-21 05:00"), "segments") == [1, 1, 1]


def test_a_condition_on_metadata_is_answered_before_raw_folders_are_listed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-CM-5] [QLK-DI-2] Discovery lists ``Metadata`` once, and the folders of fitting keys alone."""
    written = WrittenLake(tmp_path)
    for key in ("a/b", "c", "d"):
        row = written.segment(key, records(2))
        if key == "d":
            written.describe([row])
    for key in ("a/b", "d"):
        written.set(key, "site", "Oslo")
    lake = QuixLake(spark, str(tmp_path))
    listed: list[str] = []
    original = location.list_below

    def noted(place: Any, uri: str) -> Any:
        listed.append(uri.removeprefix(f"file:{tmp_path}/").replace("Topic=t", "t"))
        return original(place, uri)

    monkeypatch.setattr(store, "list_below", noted)
    for look in (lake.segments, lake.find):
        listed.clear()
        condition: Any = {"metadata": {"site": iter(["Rome", "Oslo"])}}
        assert column(look(*(["t"] if look == lake.segments else []), **condition), "stream_key") == ["a/b", "d"]
        assert listed == ["Metadata/t", "Raw/t/Key=a%2Fb"]
    listed.clear()
    assert lake.time_range("t", metadata={"site": "Rome"}).start is None
    assert listed == ["Metadata/t"]
    listed.clear()
    assert column(lake.segments("t", listed=True, metadata={"site": "Oslo"}), "stream_key") == ["a/b", "d"]
    assert listed == ["Metadata/t", "Raw/t/Key=a%2Fb", "Raw/t/Key=d"]
    listed.clear()
    assert column(lake.segments("t"), "stream_key") == ["a/b", "c", "d"]
    assert listed == ["Metadata/t", "Raw/t/Key=a%2Fb", "Raw/t/Key=c"]
    assert column(lake.find("C"), "stream_key") == ["c"]
    assert column(lake.segments("t", keys="c"), "stream_key") == ["c"]


def test_errors_say_what_is_wrong(spark: SparkSession, tmp_path: Path) -> None:
    hourly(tmp_path)
    lake = QuixLake(spark, str(tmp_path))
    with pytest.raises(DatasetError, match=r"the lake has no such topic .*found: u; expected: one of t"):
        lake.keys("u")
    with pytest.raises(PredicateError, match="the window ends before it starts"):
        lake.segments("t", start="2025-08-22", end="2025-08-21")
    with pytest.raises(PredicateError, match="range of offsets ends before it starts"):
        lake.segments("t", offsets=(5, 4))
    with pytest.raises(PredicateError, match=r"no such filter .*found: begin"):
        lake.segments("t", begin=5)  # type: ignore[call-arg]
    with pytest.raises(PredicateError, match="kind of trust"):
        lake.segments("t", trust="all")  # type: ignore[arg-type]
    with pytest.raises(PredicateError, match="a stream key is not text"):
        lake.segments("t", keys=[5])  # type: ignore[list-item]
    with pytest.raises(PredicateError, match="a partition is not a whole number"):
        lake.segments("t", partitions=["0"])  # type: ignore[list-item]


def test_a_lake_that_is_not_there_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DI-5]"""
    calls: list[Callable[[QuixLake], object]] = [
        lambda lake: lake.topics(), lambda lake: lake.topics(listed=True), lambda lake: lake.find(),
        lambda lake: lake.keys("t"), lambda lake: lake.read("t"), lambda lake: lake.segments("t"),
        lambda lake: lake.check("t"), lambda lake: lake.index("t"),
    ]  # fmt: skip
    for name in ("none", "none/below", "n%20o"):
        for call in calls:
            with pytest.raises(
                DatasetError, match=rf"the folder of the lake does not exist .*{name}\); check the path"
            ):
                call(QuixLake(spark, tmp_path / name))
    for made in ("a b%20c", "a b%20c/Raw"):
        (tmp_path / made).mkdir()
        lake = QuixLake(spark, tmp_path / "a b%20c")
        assert len(lake.topics()) == len(lake.find()) == 0
        with pytest.raises(DatasetError, match=r"no such topic .*found: t; expected: a folder Raw/Topic=<topic>"):
            lake.keys("t")


def test_a_folder_of_something_else_is_no_lake(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DI-5]"""
    hourly(tmp_path / "lakes" / "one")
    (tmp_path / "lakes" / "_temporary").mkdir()
    with pytest.raises(
        DatasetError, match=r"is no lake .*found: one; expected: .* Raw and Metadata\); name the folder"
    ):
        QuixLake(spark, tmp_path / "lakes").topics()
    (tmp_path / "file").write_text("x")
    with pytest.raises(DatasetError, match=r"the folder of the lake does not exist .*/file\); check the path"):
        QuixLake(spark, tmp_path / "file").topics()


@pytest.mark.parametrize("base", [None, "", " ", 5, ["/lake"], b"/lake"])
def test_the_folder_of_a_lake_is_a_path(spark: SparkSession, base: Any) -> None:
    with pytest.raises(ArgumentError, match=r"the folder of the lake is .*expected: a path such as '/lake/events'"):
        QuixLake(spark, base)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda lake: lake.topics(listed="yes"), r"listed has an invalid value .*True or False"),
        (lambda lake: lake.segments("t", listed=1), r"listed has an invalid value .*True or False"),
        (lambda lake: lake.keys("T"), r"no such topic .*found: T; expected: one of t\); did you mean t\?"),
        (lambda lake: lake.partitions("t", 5), r"key is not a text .found: 5, of type int; expected: a stream key"),
        (lambda lake: lake.metadata("t", b"k"), r"key is not a text .found: an object of type bytes"),
        (lambda lake: lake.find(5), r"text is not a text .found: 5"),
        (lambda lake: lake.find(metadata="site"), r"custom metadata is not a mapping .found: 'site'; "),
        (lambda lake: lake.read("t", metadata={"site": 5}), r"value of custom metadata is not text .found: 5"),
        (lambda lake: lake.read("t", metadata={"site": ["x", 5]}), r"value of custom metadata is not text .found: 5"),
        (lambda lake: lake.segments("t", metadata={"site": [None]}), r"value of custom metadata is not text .found: N"),
        (lambda lake: lake.find(metadata={"site": b"x"}), r"value of custom metadata is not text .found: b'x'"),
        (lambda lake: lake.find(metadata={5: "x"}), r"a name or a value of custom metadata is not text .found: 5"),
        (lambda lake: lake.read("t", keys=5), r"the stream keys are not texts .found: 5"),
        (lambda lake: lake.read("t", keys=b"k"), r"the stream keys are not texts .found: b'k'"),
        (lambda lake: lake.read("t", partitions=1.5), r"a partition is not a whole number .*topic t; found: 1.5"),
        (lambda lake: lake.read("t", offsets=5), r"the offsets are not a pair .*topic t; found: 5; expected: the"),
        (lambda lake: lake.read("t", offsets=(1, 2, 3)), r"the offsets are not a pair"),
        (lambda lake: lake.read("t", offsets=("2026-01-31", None)), r"an offset is not a whole number .*found: '2026"),
        (lambda lake: lake.read("t", offsets=(0, MIDNIGHT)), r"an offset is not a whole number .*topic t; found: dat"),
        (lambda lake: lake.read("t", offsets=(True, 5)), r"an offset is not a whole number .*topic t; found: True"),
        (lambda lake: lake.read("t", value="jsn"), r"cannot decode the payload .*; did you mean json\?"),
        (lambda lake: lake.read("t", value="json", schema="a DUBLE"), r"cannot decode the payload .found: [^;]*.$"),
        (lambda lake: lake.index("t", trust="data "), r"trust has an invalid value .*; did you mean data\?"),
        (lambda lake: lake.validate("t", sample=0), r"sample has an invalid value .found: 0"),
        (lambda lake: lake.compact("t", older_than=5), r"older_than is not an age .*such as timedelta\(hours=1\)"),
        (lambda lake: lake.clean("t", older_than="1d"), r"older_than is not an age .found: '1d'"),
        (lambda lake: lake.clean("t", abandon_lost="no"), r"abandon_lost has an invalid value"),
        (lambda lake: lake.replay("t", 5), r"options has an invalid value .*an instance of ReplayOptions"),
        (lambda lake: lake.replay("t").to_kafka(None, "u"), r"servers is not a text .*such as 'localhost:9092'"),
        (lambda lake: lake.replay("t").to_kafka("s", None), r"topic is not a text .found: None"),
        (lambda lake: lake.set_metadata("t", "a/b", 5), r"values is not a mapping .found: 5"),
        (lambda lake: lake.set_metadata("t", 5, {}), r"key is not a text .found: 5"),
        (lambda lake: lake.delete_metadata("t", "a/b", "site"), r"names is not a list of texts .found: 'site'"),
        (lambda lake: lake.write(None, "t"), r"the query is not a DataFrame .found: None"),
        (lambda lake: lake.write(lake.read("t"), None), r"topic is not a text .found: None"),
        (lambda lake: lake.write(lake.read("t"), "t", options=5), r"options has an invalid value .*of SinkOptions"),
        (lambda lake: lake.stream(lake.read("t"), "t", None), r"the checkpoint is not a text .found: None"),
        (lambda lake: lake.stream(lake.read("t"), "t", "/cp"), r"is no stream .*; call write\(\) for a batch"),
        (lambda _: SinkOptions(max_millis=cast(Any, "x")), r"max_millis is not a whole number .found: .x., of"),
        (lambda _: ReplayOptions(speed=cast(Any, "fast")), r"speed is not a number .found: 'fast', of type str"),
        (lambda _: ReplayOptions(max_gap_ms=cast(Any, 1.5)), r"max_gap_ms is not a whole number .found: 1.5"),
    ],
)  # fmt: skip
def test_wrong_arguments(
    spark: SparkSession, tmp_path: Path, call: Callable[[QuixLake], object], expected: str
) -> None:
    hourly(tmp_path)
    with pytest.raises(XskipError, match=expected):
        call(QuixLake(spark, tmp_path))
    assert len(QuixLake(spark, tmp_path).topics()) == 1  # nothing was written


@pytest.mark.parametrize("moment", ["soon", None, 1.5, True, b"2025"])
def test_moments_that_are_none(moment: Any) -> None:
    with pytest.raises(PredicateError, match="a moment cannot be understood"):
        milliseconds(moment)


@pytest.mark.parametrize(
    "filters", [{"end": 2**63}, {"start": -(2**63) - 1}, {"offsets": (None, 2**64)}, {"partitions": [0, -(2**70)]}]
)
def test_numbers_beyond_64_bits(spark: SparkSession, tmp_path: Path, filters: Any) -> None:
    hourly(tmp_path)
    lake = QuixLake(spark, str(tmp_path))
    for ask in (lake.segments, lake.read, lake.time_range):
        with pytest.raises(PredicateError, match="does not fit into 64 bits"):
            ask("t", **filters)


def test_moments() -> None:
    zoned = dt.datetime(2025, 8, 21, 2, tzinfo=dt.timezone(2 * HOUR))
    assert milliseconds(zoned) == milliseconds("2025-08-21") == milliseconds(dt.datetime(2025, 8, 21)) == START
    # the least millisecond that is not before the moment
    assert milliseconds(MIDNIGHT + dt.timedelta(microseconds=1)) == START + 1
    assert milliseconds(dt.datetime(1969, 12, 31, 23, 59, 59, 999_500)) == 0
    assert milliseconds(-5) == -5


def test_timestamps_that_python_cannot_show(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DI-4] Such as microseconds in place of milliseconds."""
    written = WrittenLake(tmp_path)
    written.segment("a", records(2), name="ts_1755776884034000_1755776884035000_part_0_off_0_1.avro")
    lake = QuixLake(spark, str(tmp_path))
    for found in (lake.topics(), lake.keys("t"), lake.segments("t")):
        assert column(found, "start") == [None]
        assert "None" in str(found) or str(found)
        assert found.to_df(spark).count() == 1
    assert lake.time_range("t").unknown == 1
