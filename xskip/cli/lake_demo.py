"""Demonstration of a Quix Lake: three machines with a message each minute of three days, written by the sink."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from xskip.api.queries import last_report
from xskip.api.session import disable, enable
from xskip.cli.demo import demo_session, empty_directory
from xskip.indexes import ValueList
from xskip.quixlake import QuixLake, ReplayOptions, SinkOptions
from xskip.quixlake.selection import milliseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from xskip.quixlake.replay_targets import Message

__all__ = ["run_lake_demo"]

_TOPIC = "machines"
_SETTINGS = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4"}
#: The site and the line of each machine, which is a stream key.
_MACHINES = {"press-1": ("Oslo", "1"), "press-2": ("Oslo", "2"), "oven": ("Bergen", "2")}
_MINUTES = 3 * 24 * 60
_START = milliseconds("2026-01-29")
_SCHEMA = "temp DOUBLE, status STRING"
_WINDOW = "time >= '2026-01-30 18:00' AND time < '2026-01-30 20:00'"
_STATUS = "get_json_object(string(value), '$.status')"


def run_lake_demo(directory: str) -> int:
    """Write, discover, read, index, compact and replay a lake; return 0 if the results of queries stay equal, else 1.

    The directory is a new one, or that of an earlier run, whose data the function replaces.
    """
    root = empty_directory(Path(directory).absolute())
    with demo_session("xskip lake demo", _SETTINGS) as spark:
        enable(spark)
        lake = _written(spark, root)
        _discover(lake)
        equal = [_read(spark, lake), _index(spark, lake), _compact(lake)]
        _replay(lake)
        return 0 if all(equal) else 1


def _written(spark: SparkSession, root: Path) -> QuixLake:
    lake = QuixLake(spark, f"{root}/lake")
    messages = _messages(spark)
    # a segment for each machine and hour
    result = lake.write(messages, _TOPIC, options=SinkOptions(max_millis=3_600_000))
    lake.write(messages.filter(f"{_STATUS} = 'hot'"), "alarms")
    for machine, (site, line) in _MACHINES.items():
        lake.set_metadata(_TOPIC, machine, {"site": site, "line": line})
    _say(f"wrote {result.rows:,} messages of {len(_MACHINES)} machines as {result.segments} segments to {lake.base}")
    return lake


def _messages(spark: SparkSession) -> DataFrame:
    """Return a message of each machine for each minute."""
    machines = ", ".join(f"'{name}'" for name in _MACHINES)
    # The oven is hot for fifty minutes of the second day.
    warmer = "CASE WHEN partition = 2 AND offset BETWEEN 2520 AND 2569 THEN 30 ELSE 0 END"
    numbered = spark.range(_MINUTES * len(_MACHINES)).selectExpr(
        f"id % {len(_MACHINES)} AS partition", f"id DIV {len(_MACHINES)} AS offset"
    )
    measured = numbered.selectExpr("*", f"round(60 + 20 * sin(offset / 180) + 5 * partition + {warmer}, 1) AS temp")
    return measured.selectExpr(
        f"{_START} + 60000 * offset + 1000 * partition AS timestamp",
        f"element_at(array({machines}), CAST(partition AS INT) + 1) AS key",
        "to_json(struct(temp, IF(temp > 100, 'hot', 'ok') AS status)) AS value",
        "partition",
        "offset",
    )


def _discover(lake: QuixLake) -> None:
    _title("the topics, from descriptors", "lake.topics()")
    _say(str(lake.topics()))
    _title("the stream keys of a topic", f'lake.keys("{_TOPIC}")')
    _say(str(lake.keys(_TOPIC)))
    _title(
        "the stream keys in Oslo with messages of an evening", 'lake.find(metadata={"site": "Oslo"}, start=…, end=…)'
    )
    _say(str(lake.find(metadata={"site": "Oslo"}, start="2026-01-30 18:00", end="2026-01-30 20:00")))


def _read(spark: SparkSession, lake: QuixLake) -> bool:
    """Read a window with and without skipping, and return whether the messages are equal."""
    _title("two hours, decoded", f'lake.read("{_TOPIC}", value="json", schema=…).filter("time >= …")')
    found = _window(lake)
    report = last_report(spark)
    hottest = max(found, key=lambda row: row.temp)
    _say(f"{len(found)} messages, the hottest of the {hottest.stream_key}: {hottest.temp} degrees\n\n{report}")
    disable(spark)
    plain = _window(lake)
    enable(spark)
    return found == plain


def _window(lake: QuixLake) -> list[Row]:
    decoded = lake.read(_TOPIC, value="json", schema=_SCHEMA).filter(_WINDOW)
    return sorted(decoded.select("time", "stream_key", "offset", "value.*").collect())


def _index(spark: SparkSession, lake: QuixLake) -> bool:
    """Index the status in the payload, and return whether a query finds the same number of messages as before."""
    _title("an index on a field of the payload", f'lake.index("{_TOPIC}").create([ValueList("get_json_object(…)", …)])')
    condition = f"{_STATUS} = 'hot'"
    before = lake.read(_TOPIC).filter(condition).count()
    result = lake.index(_TOPIC).create([ValueList(_STATUS, expression=True)], progress=False)
    after = lake.read(_TOPIC).filter(condition).count()
    (scan,) = last_report(spark).scans
    _say(f"indexed {result.added} segments; the query for the status 'hot' now reads {scan.kept} of {scan.files}")
    return before == after


def _compact(lake: QuixLake) -> bool:
    """Compact the topic, and return whether it has the same messages as before."""
    _title("a compaction", f'lake.compact("{_TOPIC}", …), lake.clean("{_TOPIC}", …), lake.check("{_TOPIC}")')
    digest = "count(*)", "sum(xxhash64(timestamp, key, value, partition, offset) % 1000003)"
    before = lake.read(_TOPIC).selectExpr(*digest).collect()
    at_once = timedelta(seconds=-1)
    _say(str(lake.compact(_TOPIC, older_than=at_once)))
    removed = lake.clean(_TOPIC, older_than=at_once)
    _say(f"removed {removed} files; the check finds {len(lake.check(_TOPIC))} faults")
    return lake.read(_TOPIC).selectExpr(*digest).collect() == before


def _replay(lake: QuixLake) -> None:
    _title("half an hour of the oven at 1200 times its pace", f'lake.replay("{_TOPIC}", ReplayOptions(speed=1200), …)')
    sent: list[Message] = []
    options = ReplayOptions(speed=1200)
    replay = lake.replay(_TOPIC, options, keys="oven", start="2026-01-30 18:00", end="2026-01-30 18:30")
    result = replay.to(sent.append)
    _say(f"sent {result.messages} messages to a function in {result.seconds:.1f} s; the first and the last are")
    for message in (sent[0], sent[-1]):
        _say(f"  {message.timestamp} {message.key!r} {message.value!r}")


def _title(what: str, call: str) -> None:
    _say(f"\n{what}: {call}\n")


def _say(text: str) -> None:
    print(text, flush=True)
