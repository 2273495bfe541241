"""Tests of lakes whose folders other tools have named: topics, keys, reads, replays and indexes agree on them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, lit

from tests.quixlake.lakes import WrittenLake, identity, offsets, records, skipped
from xskip.errors import DatasetError
from xskip.indexes import BloomFilter
from xskip.quixlake import QuixLake
from xskip.quixlake.descriptors import describe

TOPIC, KEYS = "tele ü", ("πλ", "a b/+ü", "x%C3%BC", "e\u0301")
FORMS: dict[str, Callable[[str], str]] = {
    "quote": lambda text: quote(text, safe=""),
    "lower case": lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
    "half": lambda text: quote(text, safe="üπ "),
    "plus": quote_plus,
    "twice": lambda text: quote(quote(text, safe=""), safe=""),
    "utf-16": lambda text: quote(text.encode("utf-16-le"), safe=""),
}
#: The forms from which a reader cannot tell the text: a descriptor must give it.
LOSSY = ("plus", "twice", "utf-16")


def lake_of(base: Path, form: str, *, described: int) -> WrittenLake:
    """Write a lake with two segments of each key, of which the first ones have descriptors."""
    written, encode = WrittenLake(base), FORMS[form]
    for number, key in enumerate(KEYS):
        place = f"Topic={encode(TOPIC)}/Key={encode(key)}"
        rows = []
        for first in (0, 10):
            row = written.segment(f"{number}", records(4, first=first, partition=number), topic="tmp")
            below = row["Path"].partition("workspace/")[2]
            path = base / f"Raw/{place}/{below.split('/', 3)[3]}"
            path.parent.mkdir(parents=True, exist_ok=True)
            (base / below).rename(path)
            rows.append(row | {"Path": f"Raw/{path.relative_to(base / 'Raw')}", "Topic": TOPIC, "Key": key})
        chosen = rows[:described]
        if chosen:
            index = base / f"Metadata/{place}/index_raw_{number}_0.parquet"
            index.parent.mkdir(parents=True)
            index.write_bytes(describe(chosen, exact=False))
    for folder in sorted((base / "Raw/Topic=tmp").rglob("*"), reverse=True):
        folder.rmdir()
    (base / "Raw/Topic=tmp").rmdir()
    written.messages = [row | {"stream_key": KEYS[int(row["stream_key"])]} for row in written.messages]
    return written


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("form", "described"),
    [(form, described) for form in FORMS for described in (0, 1, 2) if described or form not in LOSSY],
)
def test_topics_keys_and_reads_agree(spark: SparkSession, tmp_path: Path, form: str, described: int) -> None:
    """[QLK-PA-2] [QLK-DE-8] [QLK-DI-1]"""
    written = lake_of(tmp_path, form, described=described)
    lake = QuixLake(spark, tmp_path)
    for listed in (False, True):
        assert [row["topic"] for row in lake.topics(listed=listed)] == [TOPIC]
        assert [row["stream_key"] for row in lake.keys(TOPIC, listed=listed)] == sorted(KEYS)
        for key in KEYS:
            found = lake.segments(TOPIC, keys=key, listed=listed)
            assert {row["stream_key"] for row in found} == {key}
    expected = Counter(identity(row) for row in written.messages)
    reads = {"": lake.read(TOPIC), **{key: lake.read(TOPIC, keys=key) for key in KEYS}}
    rows = reduce(DataFrame.unionAll, (df.withColumn("read", lit(key)) for key, df in reads.items())).collect()
    for key in reads:
        read = Counter(identity(row) for row in rows if row.read == key)
        assert read == Counter({row: n for row, n in expected.items() if key in ("", row[0])})
    assert {row.topic for row in rows} == {TOPIC}
    sent: list[Any] = []
    lake.replay(TOPIC, keys=KEYS[0]).to(sent.append)
    assert [message.offset for message in sent] == [0, 1, 2, 3, 10, 11, 12, 13]
    assert {message.topic for message in sent} == {TOPIC}


def test_an_index_of_a_topic_in_an_encoded_folder(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-PA-2] [QLK-IX-1]"""
    lake_of(tmp_path, "quote", described=0)
    lake = QuixLake(spark, tmp_path)
    assert skipped(spark, lake.read(TOPIC).filter("offset >= 10")) == (4, 8)
    lake.index(TOPIC).create([BloomFilter("key")])
    assert skipped(spark, lake.read(TOPIC).filter("offset >= 10")) == (4, 8)
    assert skipped(spark, lake.read(TOPIC).filter("key = X'00'")) == (0, 8)
    assert len(lake.check(TOPIC)) == len(lake.validate(TOPIC)) + 8  # eight segments without descriptors
    lake.set_metadata(TOPIC, KEYS[0], {"site": "Oslo"})
    assert offsets(lake.read(TOPIC, metadata={"site": "Oslo"})) == [0, 1, 2, 3, 10, 11, 12, 13]
    assert [row["stream_key"] for row in lake.find(metadata={"site": "Oslo"})] == [KEYS[0]]


def test_the_sink_writes_beside_an_encoded_folder(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-PA-2] [QLK-PA-7]"""
    lake_of(tmp_path, "quote", described=2)
    lake = QuixLake(spark, tmp_path)
    lake.write(lake.read(TOPIC, keys=KEYS[1]).withColumn("offset", expr("offset + 100")), TOPIC)
    assert sorted(path.name for path in (tmp_path / "Raw").iterdir()) == [f"Topic={TOPIC}", "Topic=tele%20%C3%BC"]
    assert (tmp_path / f"Raw/Topic={TOPIC}/Key=a b%2F+ü").is_dir()
    assert offsets(lake.read(TOPIC, keys=KEYS[1])) == [
        0,
        1,
        2,
        3,
        10,
        11,
        12,
        13,
        100,
        101,
        102,
        103,
        110,
        111,
        112,
        113,
    ]
    (row,) = [row for row in lake.keys(TOPIC) if row["stream_key"] == KEYS[1]]
    assert row["messages"] == 16
    lake.compact(TOPIC)
    assert lake.read(TOPIC).count() == 40


def test_a_folder_with_two_topics(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DE-8] Descriptors of one day give another topic than the folder's name, which the other days keep."""
    written = WrittenLake(tmp_path)
    one = written.segment("k", records(2), topic="a+b")
    written.segment("k", records(3, first=100_000), topic="a+b")
    assert offsets(QuixLake(spark, tmp_path).read("a+b")) == [0, 1, 100_000, 100_001, 100_002]
    path = tmp_path / "Metadata/Topic=a+b/Key=k/index_raw_0_0.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(describe([one | {"Topic": "a b"}], exact=False))
    lake = QuixLake(spark, tmp_path)
    assert [row["topic"] for row in lake.topics(listed=True)] == ["a b", "a+b"]
    for topic, found in (("a b", [0, 1]), ("a+b", [100_000, 100_001, 100_002])):
        assert offsets(lake.read(topic)) == found
        assert [row["segments"] for row in lake.keys(topic, listed=True)] == [1]
    with pytest.raises(DatasetError, match="no such topic"):
        lake.keys("a%20b")


def test_a_folder_whose_segments_all_have_another_topic(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DE-8] The name of the folder is no topic then, for discovery and for reads."""
    written = WrittenLake(tmp_path)
    row = written.segment("k", records(2), topic="a+b")
    path = tmp_path / "Metadata/Topic=a+b/Key=k/index_raw_0_0.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(describe([row | {"Topic": "other"}], exact=False))
    lake = QuixLake(spark, tmp_path)
    assert [row["topic"] for row in lake.topics()] == ["other"]
    assert offsets(lake.read("other", keys="k")) == [0, 1]
    with pytest.raises(DatasetError, match=r"no such topic .*found: a\+b; expected: one of other"):
        lake.read("a+b")
