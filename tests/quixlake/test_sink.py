"""Tests of the messages, names and descriptors that the sink writes."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.quixlake.lake_files import Message, assert_lake_holds, index_files, segments
from tests.quixlake.written import frame_of
from xskip.errors import DatasetError, SettingError, StorageError
from xskip.quixlake.names import decode, encode, stream_key_of
from xskip.quixlake.sink import Sink, SinkOptions

KAFKA = "array<struct<key:string,value:binary>>"
BRANCHES = "array<struct<key:string,value:struct<string:string,bytes:binary>>>"
SCHEMA = f"timestamp bigint, key binary, headers {KAFKA}, value binary, partition int, offset bigint"
DAY = 86_400_000


def frame(spark: SparkSession, messages: list[Message], schema: str = SCHEMA) -> DataFrame:
    rows = [tuple(bytearray(v) if isinstance(v, bytes) else v for v in message) for message in messages]
    return spark.createDataFrame(rows, schema)


def message(offset: int, timestamp: int = 0, key: bytes | None = b"k", value: bytes = b"v") -> Message:
    return (timestamp, key, (), value, 0, offset)


def write(spark: SparkSession, base: Path, messages: list[Message], **options: Any) -> list[list[Message]]:
    """Write messages as one batch, and return those of each segment."""
    result = Sink(spark, str(base), "t", SinkOptions(**options)).write(frame(spark, messages))
    assert_lake_holds(base, messages)
    found = segments(base)
    assert (result.is_new, result.segments, result.rows) == (True, len(found), len(messages))
    assert result.size == sum(segment.size for segment in found)
    return [segment.messages for segment in found]


def test_days_partitions_and_keys_have_segments_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-1] [QLK-SK-6] The day is that of UTC, before 1970 as well, and the order is that of offsets."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    times = [0, DAY - 1, DAY, -1, -DAY, -DAY - 1, 5, 5]
    messages = [(time, b"k", (), b"v", 0, 10 - i) for i, time in enumerate(times)]
    messages += [(0, b"k", (), b"v", 1, 3), (0, b"l", (), b"v", 0, 4), (0, b"", (), b"v", 0, 5)]
    write(spark, tmp_path, messages, max_millis=DAY)
    assert [segment.path for segment in segments(tmp_path)] == [
        f"Raw/Topic=t/Key={folder}/{name}.avro.snappy"
        for folder, name in (
            ("/Start=1970-01-01", "ts_0_0_part_0_off_5_5"),
            ("k/Start=1969-12-30", "ts_-86400001_-86400001_part_0_off_5_5"),
            ("k/Start=1969-12-31", "ts_-86400000_-1_part_0_off_6_7"),
            ("k/Start=1970-01-01", "ts_0_0_part_1_off_3_3"),
            ("k/Start=1970-01-01", "ts_0_86399999_part_0_off_3_10"),
            ("k/Start=1970-01-02", "ts_86400000_86400000_part_0_off_8_8"),
            ("l/Start=1970-01-01", "ts_0_0_part_0_off_4_4"),
        )
    ]


KEYS = (
    None, b"", b"a b", b"a/b", b"100%", b"%41", b"a=b", b"a:b?c#d", b"'\"*\\{[]^\x7f", bytes(range(32)), b"..",
    b"__HIVE_DEFAULT_PARTITION__", "caf\u00e9 \u4e2d \U0001f600".encode(), b"\xff\xfe", b"a\xe2\x82b",
    b"\xed\xa0\x80", b"\xf0\x9f\x98", b"~}|`_-+,;<>@$&!()",
)  # fmt: skip


def test_keys_of_odd_characters(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-PA-7] The folder is the one that Python encodes, and it decodes to the key as text."""
    write(spark, tmp_path, [message(i, key=key) for i, key in enumerate(KEYS)])
    folders = {segment.messages[0][1]: segment.path.split("/")[2] for segment in segments(tmp_path)}
    texts = {key: stream_key_of(key) for key in KEYS}
    assert folders == {key: f"Key={encode(text)}" for key, text in texts.items()}
    assert {key: decode(folder.removeprefix("Key=")) for key, folder in folders.items()} == texts
    assert {path: (rows[0]["Topic"], rows[0]["Key"]) for path, rows in index_files(tmp_path).items()} == {
        f"Metadata/Topic=t/{folders[key]}/index_raw_0_{i}.parquet": ("t", texts[key]) for i, key in enumerate(KEYS)
    }


def test_names_of_topics(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-PA-1] A topic is a value of a folder as well."""
    Sink(spark, str(tmp_path), "a.b%", SinkOptions()).write(frame(spark, [message(1)]))
    (segment,) = segments(tmp_path)
    assert segment.path.startswith("Raw/Topic=a.b%25/Key=k/")
    assert [name.split("/")[1] for name in index_files(tmp_path)] == ["Topic=a.b%25"]


def test_the_stream_key_can_be_a_column(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-1]"""
    rows = [(0, b"k", (), b"v", 0, 1, "x"), (0, b"l", (), b"v", 0, 2, "x"), (0, b"l", (), b"v", 0, 3, None)]
    Sink(spark, str(tmp_path), "t").write(frame(spark, rows, SCHEMA + ", stream_key string"))
    assert_lake_holds(tmp_path, [row[:6] for row in rows])
    assert {segment.stream_key: len(segment.messages) for segment in segments(tmp_path)} == {b"x": 2, None: 1}


def test_headers_of_both_branches(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-9] A text stays a text, and bytes stay bytes, also where they are UTF-8."""
    headers = [
        ("a", ("text \u00e9", None)),
        ("b", (None, bytearray(b"text"))),
        ("a", ("", None)),
        ("", (None, bytearray(b"\xff"))),
    ]
    schema = SCHEMA.replace(KAFKA, BRANCHES)
    Sink(spark, str(tmp_path), "t").write(frame(spark, [(0, b"k", headers, b"v", 0, 1)], schema))
    expected = (("a", "text \u00e9"), ("b", b"text"), ("a", ""), ("", b"\xff"))
    assert_lake_holds(tmp_path, [(0, b"k", expected, b"v", 0, 1)])


def test_headers_of_kafka(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-9] Headers from Kafka are bytes; a message without headers has none."""
    rows = [(0, b"k", [("a", bytearray(b"\xff")), ("a", bytearray(b"x"))], b"v", 0, 1), (0, b"k", None, b"v", 0, 2)]
    Sink(spark, str(tmp_path), "t").write(frame(spark, rows))
    expected = [(0, b"k", (("a", b"\xff"), ("a", b"x")), b"v", 0, 1), message(2)]
    assert_lake_holds(tmp_path, expected)


def test_nulls_have_a_schema_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-7] Segments without nulls have the schema of the document."""
    rows: list[Message] = [
        message(1), (0, b"k", (), None, 0, 2), message(3), (0, b"l", [("h", None), ("i", bytearray(b"x"))], b"v", 0, 4),
    ]  # fmt: skip
    Sink(spark, str(tmp_path), "t").write(frame(spark, rows))
    expected = [*rows[:3], (0, b"l", (("h", None), ("i", b"x")), b"v", 0, 4)]
    assert_lake_holds(tmp_path, expected)
    found = segments(tmp_path)
    assert [[m[5] for m in segment.messages] for segment in found] == [[1], [2, 3], [4]]
    fields = [{field["name"]: field["type"] for field in segment.schema["fields"]} for segment in found]
    assert [types["value"] for types in fields] == ["bytes", ["null", "bytes"], ["null", "bytes"]]
    header = [types["headers"]["items"]["fields"][1]["type"] for types in fields]
    assert header == [["string", "bytes"], ["null", "string", "bytes"], ["null", "string", "bytes"]]


def test_branches_that_are_null(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-7] [QLK-SK-9] A value without a branch is null, and a value of both branches is an error."""
    schema = SCHEMA.replace(KAFKA, BRANCHES)
    rows = [(0, b"k", [("a", (None, None)), ("b", None)], b"v", 0, 1)]
    Sink(spark, str(tmp_path), "t").write(frame(spark, rows, schema))
    assert_lake_holds(tmp_path, [(0, b"k", (("a", None), ("b", None)), b"v", 0, 1)])
    both = [(0, b"k", [("a", ("x", bytearray(b"x")))], b"v", 0, 2)]
    with pytest.raises(StorageError, match="both a string and bytes"):
        Sink(spark, str(tmp_path), "t").write(frame(spark, both, schema))


def test_the_schema_is_that_of_the_document(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-7]"""
    write(spark, tmp_path, [message(1)])
    (segment,) = segments(tmp_path)
    header = {"type": "record", "name": "Header", "fields": [
        {"name": "key", "type": "string"}, {"name": "value", "type": ["string", "bytes"]},
    ]}  # fmt: skip
    fields = {
        "timestamp": "long", "key": ["null", "bytes"], "headers": {"type": "array", "items": header}, "value": "bytes",
        "partition": "long", "offset": "long",
    }  # fmt: skip
    assert segment.schema["name"] == "KafkaMessage"
    assert [(field["name"], field["type"]) for field in segment.schema["fields"]] == list(fields.items())


@pytest.mark.parametrize(
    ("codec", "suffix"), [("null", ""), ("snappy", ".snappy"), ("deflate", ".gzip"), ("zstandard", ".zstd")]
)
def test_codecs(spark: SparkSession, tmp_path: Path, codec: str, suffix: str) -> None:
    """[QLK-SK-1]"""
    write(spark, tmp_path, [message(1, value=b"x" * 1000)], codec=codec)
    (segment,) = segments(tmp_path)
    assert (segment.codec, segment.name) == (codec, f"ts_0_0_part_0_off_1_1.avro{suffix}")


def offsets(found: list[list[Message]]) -> list[list[int]]:
    return [[m[5] for m in part] for part in found]


def test_limits_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-2] [QLK-SK-5]"""
    found = write(spark, tmp_path, [message(i, i) for i in range(7)], max_rows=2, index_rows=3)
    assert offsets(found) == [[0, 1], [2, 3], [4, 5], [6]]
    files = index_files(tmp_path)
    assert {path.rpartition("/")[2]: [row["StartOffset"] for row in rows] for path, rows in files.items()} == {
        "index_raw_0_0.parquet": [0, 2, 4],
        "index_raw_0_6.parquet": [6],
    }


def test_limits_of_bytes(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-2] Messages count before they are written, but a message is never divided."""
    found = write(spark, tmp_path, [message(i, i, value=b"x" * 900) for i in range(4)], codec="null", max_bytes=1500)
    assert offsets(found) == [[0, 1], [2, 3]]
    sizes = [segment.size for segment in segments(tmp_path)]
    assert all(1500 <= size < 3000 for size in sizes)


def test_limits_of_time(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-2] Only a message that is later than the first one begins a new segment."""
    times = [100, 110, 111, 0, 121, 122, 121, 122, 300]
    found = write(spark, tmp_path, [message(i, time) for i, time in enumerate(times)], max_millis=10)
    assert sorted(offsets(found)) == [[0, 1], [2, 3, 4], [5, 6, 7], [8]]


def test_equal_timestamps_and_offsets(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-1] Messages that are equal stay as many as they are."""
    write(spark, tmp_path, [message(1, 5), message(1, 5), message(2, 5), message(2, 5, b"l")])


def test_other_types_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-9] The columns can be those of Spark's Kafka source, or texts."""
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    time = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_500, datetime.timezone.utc)
    schema = "key string, value string, topic string, partition smallint, offset int, timestamp timestamp"
    Sink(spark, str(tmp_path), "t").write(spark.createDataFrame([("k\u00e9", "v", "t", 3, 4, time)], schema))
    assert_lake_holds(tmp_path, [(-1, "k\u00e9".encode(), (), b"v", 3, 4)])


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (SCHEMA.replace("timestamp bigint", "timestamp string"), "'timestamp'.*found: string"),
        (SCHEMA.replace("timestamp bigint", "time bigint"), "'timestamp'.*no such column among time, key"),
        (SCHEMA.replace("key binary,", "key int,", 1), "'key'.*found: int"),
        (SCHEMA.replace("value binary, p", "value bigint, p"), "'value'.*found: bigint"),
        (SCHEMA.replace("partition int", "partition string"), "'partition'"),
        (SCHEMA.replace("offset bigint", "offset double"), "'offset'"),
        (SCHEMA.replace(KAFKA, "map<string,binary>"), "'headers'.*found: map"),
        (SCHEMA + ", stream_key binary", "'stream_key'.*expected: one column of type string"),
    ],
)
def test_columns_that_the_sink_cannot_write(spark: SparkSession, tmp_path: Path, schema: str, says: str) -> None:
    """[QLK-SK-9] The error comes before anything is written."""
    with pytest.raises(DatasetError, match=says):
        Sink(spark, str(tmp_path / "lake"), "t").write(spark.createDataFrame([], schema))
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("column", ["timestamp", "partition", "offset"])
def test_a_message_without_its_place_fails_the_batch(spark: SparkSession, tmp_path: Path, column: str) -> None:
    """[QLK-SK-9] [QLK-SK-3] The files of the failed task are removed."""
    df = frame(spark, [message(i) for i in range(5)]).selectExpr(
        *(f"IF(offset = 3, NULL, `{c}`) AS `{c}`" if c == column else f"`{c}`" for c in ("timestamp", "key", "value")),
        *(f"IF(offset = 3, NULL, `{c}`) AS `{c}`" if c == column else f"`{c}`" for c in ("partition", "offset")),
    )
    with pytest.raises(StorageError, match=f"a message has no {column}"):
        Sink(spark, str(tmp_path), "t", SinkOptions(max_rows=1)).write(df)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_a_read_of_the_lake_returns(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-7] [QLK-SK-9] The sink writes the columns of a read, and nothing of the messages changes."""
    rows: list[Message] = [
        (0, b"k", [("a", ("text", None)), ("b", (None, bytearray(b"\xff"))), ("c", None)], b"v", 0, 1),
        (1, None, [], None, 0, 2), (2, b"k", [], b"", 0, 3),
    ]  # fmt: skip
    Sink(spark, str(tmp_path / "a"), "t").write(frame(spark, rows, SCHEMA.replace(KAFKA, BRANCHES)))
    read = frame_of(spark, [tmp_path / "a" / segment.path for segment in segments(tmp_path / "a")])
    Sink(spark, str(tmp_path / "b"), "t").write(read.withColumn("stream_key", F.col("key").cast("string")))
    expected = [(0, b"k", (("a", "text"), ("b", b"\xff"), ("c", None)), b"v", 0, 1)]
    expected += [(*row[:2], (), *row[3:]) for row in rows[1:]]
    assert_lake_holds(tmp_path / "a", expected)
    assert_lake_holds(tmp_path / "b", expected)


def test_messages_that_exist(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-8] Equal segments are one, and other messages do not overwrite a segment."""
    sink = Sink(spark, str(tmp_path), "t")
    first, other = [message(1), message(2)], [message(1), message(2, value=b"w")]
    sink.write(frame(spark, first))
    sink.write(frame(spark, first))
    assert [segment.messages for segment in segments(tmp_path)] == [first]
    sink.write(frame(spark, other))
    assert sorted(segment.messages for segment in segments(tmp_path)) == [first, other]
    described = [row["Path"] for rows in index_files(tmp_path).values() for row in rows]
    assert sorted(set(described)) == sorted(f"{tmp_path}/{segment.path}" for segment in segments(tmp_path))
    assert len(index_files(tmp_path)) == 3


def test_a_repeated_batch(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-4]"""
    sink = Sink(spark, str(tmp_path), "t")
    assert sink.write(frame(spark, [message(1)]), "b").rows == 1
    repeated = sink.write(frame(spark, [message(2)]), "b")
    assert (repeated.is_new, repeated.segments, repeated.rows, repeated.size) == (False, 0, 0, 0)
    assert_lake_holds(tmp_path, [message(1)])
    assert Sink(spark, str(tmp_path), "u").write(frame(spark, [message(1)]), "b").is_new, "another topic"


def test_a_batch_without_messages(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-4] Its identity counts as well."""
    sink = Sink(spark, str(tmp_path), "t")
    assert sink.write(frame(spark, []), "b").is_new
    assert not sink.write(frame(spark, [message(1)]), "b").is_new
    assert segments(tmp_path) == []


def test_a_base_with_odd_characters(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-PA-1]"""
    base = tmp_path / "a b%20=\u00e9"
    Sink(spark, f"file://{base}/", "t").write(frame(spark, [message(1)]))
    assert_lake_holds(base, [message(1)])


@pytest.mark.parametrize(
    "options", [{"codec": "lz4"}, {"max_rows": 0}, {"max_bytes": 0}, {"max_millis": -1}, {"index_rows": 1001}]
)
def test_options_that_are_invalid(options: dict[str, Any]) -> None:
    """[QLK-SK-5]"""
    with pytest.raises(SettingError):
        SinkOptions(**options)


@pytest.mark.parametrize("umask", ["022", "077", "002"])
def test_segments_have_the_permissions_of_files_that_hadoop_creates(
    spark: SparkSession, tmp_path: Path, umask: str
) -> None:
    """A local file system has the umask that its configuration names."""
    jvm: Any = spark._jvm
    hadoop = jvm.org.apache.hadoop.fs
    path = hadoop.Path(f"{tmp_path}/other")
    file_system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    former = file_system.getConf().get("fs.permissions.umask-mode")
    file_system.getConf().set("fs.permissions.umask-mode", umask)
    try:
        file_system.create(path).close()
        write(spark, tmp_path / "lake", [message(0)])
    finally:
        file_system.getConf().set("fs.permissions.umask-mode", former)
    modes = {file.stat().st_mode for file in (tmp_path / "lake" / "Raw").rglob("*.avro*")}
    assert modes == {(tmp_path / "other").stat().st_mode}
