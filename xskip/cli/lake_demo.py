"""Demonstration of a Quix Lake: three machines with a message each minute of three days, written by the sink."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from xskip.api.queries import last_report
from xskip.api.session import disable, enable
from xskip.cli.demo import demo_session, empty_directory
from xskip.cli.demo_page import DemoPage, DemoPart, DemoQuery, DemoStep, indexed_view
from xskip.indexes import ValueList
from xskip.quixlake import QuixLake, ReplayOptions, SinkOptions
from xskip.quixlake.selection import milliseconds
from xskip.results.render import count_text, text_table
from xskip.results.result_view import ResultView

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from xskip.quixlake.replay_targets import Message

__all__ = ["run_lake_demo"]

_TOPIC = "machines"
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.xskip.report.values": "true",
}
#: The site and the line of each machine, which is a stream key.
_MACHINES = {"press-1": ("Oslo", "1"), "press-2": ("Oslo", "2"), "oven": ("Bergen", "2")}
_MINUTES = 3 * 24 * 60
_START = milliseconds("2026-01-29")
_SCHEMA = "temp DOUBLE, status STRING"
_WINDOW = "time >= '2026-01-30 18:00' AND time < '2026-01-30 20:00'"
_STATUS = "get_json_object(string(value), '$.status')"
_QUERIES = (
    ("one machine on one day", "stream_key = 'oven' AND time >= '2026-01-31' AND time < '2026-02-01'"),
    ("the last messages of a partition", "partition = 2 AND offset >= 4300"),
    ("hot, by a field of the payload", f"{_STATUS} = 'hot'"),
)
_LEAD = (
    "Three machines sent a message each minute for three days. The sink wrote a segment for each machine and hour, "
    "with a descriptor of its keys, times and offsets. An index adds a field of the payload."
)


def run_lake_demo(directory: str) -> int:
    """Write, discover, read, index, compact and replay a lake; return 0 if the results of queries stay equal, else 1.

    The directory is a new one, or that of an earlier run, whose data the function replaces.
    """
    root = empty_directory(Path(directory).absolute())
    with demo_session("xskip lake demo", _SETTINGS) as spark:
        enable(spark)
        lake = _written(spark, root)
        _discover(lake)
        lake.read(_TOPIC).filter(_WINDOW).collect()  # warm-up before the measurements
        written = replace(lake.topics()._view(), caption="What was written")
        window = _read(spark, lake)
        indexed = _index(lake)
        queries = (window, *(_query(spark, lake, title, filtered) for title, filtered in _QUERIES))
        _compare(queries)
        is_equal = _compact(lake) and all(query.is_equal for query in queries)
        _replay(lake)
        part = DemoPart("Messages of three machines", (written, indexed), queries)
        page = DemoPage("xskip on a Quix Lake", _LEAD, (part,), _steps(lake)).save(root)
        _say(f"\nwhat was indexed, the files of all queries, and what to try next: {page}")
        return 0 if is_equal else 1


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


def _read(spark: SparkSession, lake: QuixLake) -> DemoQuery:
    """Read a window with and without skipping."""
    _title("two hours, decoded", f'lake.read("{_TOPIC}", value="json", schema=…).filter("time >= …")')
    query = _query(spark, lake, "two hours of all machines", _WINDOW)
    found = lake.read(_TOPIC, value="json", schema=_SCHEMA).filter(_WINDOW)
    hottest = max(found.select("stream_key", "value.*").collect(), key=lambda row: row.temp)
    _say(f"{query.rows} messages, the hottest of the {hottest.stream_key}: {hottest.temp} degrees\n\n{query.report}")
    return query


def _query(spark: SparkSession, lake: QuixLake, title: str, filtered: str) -> DemoQuery:
    """Read the messages that satisfy a filter without and with skipping."""
    disable(spark)
    plain, without = _timed(lake, filtered)
    enable(spark)
    found, seconds = _timed(lake, filtered)
    return DemoQuery(title, filtered, len(found), last_report(spark), seconds, without, found == plain)


def _timed(lake: QuixLake, filtered: str) -> tuple[list[Row], float]:
    selected = lake.read(_TOPIC).filter(filtered).select("time", "partition", "offset", "stream_key", "value")
    started = time.monotonic()
    found = selected.collect()
    seconds = time.monotonic() - started
    return sorted(found, key=lambda row: (row.partition, row.offset)), seconds


def _index(lake: QuixLake) -> ResultView:
    """Index the status in the payload."""
    _title("an index on a field of the payload", f'lake.index("{_TOPIC}").create([ValueList("get_json_object(…)", …)])')
    index = lake.index(_TOPIC)
    result = index.create([ValueList(_STATUS, expression=True)], progress=False)
    _say(f"indexed {result.added} segments in {result.seconds:.1f} s")
    return indexed_view(index.describe(), f"The index was built in {result.seconds:.1f} s.")


def _compare(queries: Sequence[DemoQuery]) -> None:
    _title("queries with and without skipping", "xskip.disable(spark), xskip.enable(spark)")
    rows = [
        (
            each.title,
            each.rows,
            each.files,
            each.opened,
            each.seconds,
            each.seconds_without,
            "yes" if each.is_equal else "NO",
        )
        for each in queries
    ]
    _say(text_table(("query", "messages", "segments", "read", "seconds", "without", "equal"), rows))


def _compact(lake: QuixLake) -> bool:
    """Compact the topic, and return whether it has the same messages as before."""
    _title("a compaction", f'lake.compact("{_TOPIC}", …), lake.clean("{_TOPIC}", …), lake.check("{_TOPIC}")')
    digest = "count(*)", "sum(xxhash64(timestamp, key, value, partition, offset) % 1000003)"
    before = lake.read(_TOPIC).selectExpr(*digest).collect()
    at_once = timedelta(seconds=-1)
    _say(str(lake.compact(_TOPIC, older_than=at_once)))
    removed = lake.clean(_TOPIC, older_than=at_once)
    _say(f"removed {removed} files; the check finds {count_text(len(lake.check(_TOPIC)), 'faults')}")
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


def _steps(lake: QuixLake) -> tuple[DemoStep, ...]:
    return (
        DemoStep("See what the lake holds.", f"xskip quix topics {lake.base}\nxskip quix keys {lake.base} {_TOPIC}"),
        DemoStep(
            "Read messages in a program. The filter selects the segments.",
            "import xskip\nfrom pyspark.sql import SparkSession\nfrom xskip.quixlake import QuixLake\n\n"
            "spark = xskip.configure(SparkSession.builder).getOrCreate()\nxskip.enable(spark)\n"
            f'lake = QuixLake(spark, "{lake.base}")\n'
            f"lake.read(\"{_TOPIC}\").filter(\"stream_key = 'oven' AND time >= '2026-01-31'\").show()\n"
            "print(xskip.last_report(spark))",
        ),
        DemoStep(
            "Send the messages of a machine again, twice as fast as they came.",
            "from xskip.quixlake import ReplayOptions\n\n"
            f'lake.replay("{_TOPIC}", ReplayOptions(speed=2.0), keys="oven").to(print)',
        ),
    )


def _title(what: str, call: str) -> None:
    _say(f"\n{what}: {call}\n")


def _say(text: str) -> None:
    print(text, flush=True)
