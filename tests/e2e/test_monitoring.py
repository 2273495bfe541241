"""A Spark program of its own shows skipping in its user interface, event log and metrics sinks."""

from __future__ import annotations

import csv
import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.programs import run

SKIPPED = "xskip: number of files skipped"
NAMES = {
    "xskip: number of files listed": "20",
    SKIPPED: "18",
    "xskip: number of skipped files that can match": "0",
    "xskip: number of indexes used": "1",
}

#: A program that runs two queries, and prints what the services of its user interface return.
PROGRAM = """
import json, sys, time
from urllib.request import urlopen
import xskip
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", 1)
builder = builder.config("spark.ui.enabled", "true").config("spark.ui.port", "0").config("spark.port.maxRetries", 100)
builder = builder.config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", sys.argv[1] + "/events")
builder = builder.config("spark.eventLog.compress", "false").config("spark.eventLog.rolling.enabled", "false")
sink = "spark.metrics.conf.*.sink."
builder = builder.config(sink + "csv.class", "org.apache.spark.metrics.sink.CsvSink")
builder = builder.config(sink + "csv.directory", sys.argv[1] + "/csv").config(sink + "csv.period", "1")
builder = builder.config(sink + "prometheusServlet.class", "org.apache.spark.metrics.sink.PrometheusServlet")
builder = builder.config(sink + "prometheusServlet.path", "/metrics/prometheus")
spark = builder.getOrCreate()
path = sys.argv[1] + "/data"
spark.range(0, 1000, numPartitions=20).write.parquet(path)
xskip.SkippingIndex.for_path(spark, path).create([xskip.MinMax("id")])
xskip.enable(spark)
found = {"reports": []}
for _ in range(2):
    assert spark.read.parquet(path).filter("id >= 925").groupBy("id").sum("id").count() == 75
    (scan,) = xskip.last_report(spark).scans
    found["reports"].append([scan.files, scan.skipped, scan.bytes, scan.skipped_bytes])
spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
address = spark.sparkContext.uiWebUrl
api = f"{address}/api/v1/applications/{spark.sparkContext.applicationId}/sql"
def get(url):
    return urlopen(url).read().decode()
for _ in range(300):
    found["listed"] = json.loads(get(api + "?details=true&length=1000"))
    last = found["listed"][-1]
    # another thread sums the metrics after the end of a query
    if last["status"] == "COMPLETED" and "xskip: number of files skipped" in json.dumps(last["nodes"]):
        break
    time.sleep(0.1)
found["sql"] = json.loads(get(api + f"/{found['listed'][-1]['id']}?details=true"))
found["page"] = get(f"{address}/SQL/execution/?id={found['sql']['id']}")
found["prometheus"] = get(f"{address}/metrics/prometheus/")
spark.stop()
with open(sys.argv[1] + "/found.json", "w") as file:
    json.dump(found, file)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with what the program has left."""
    home = tmp_path_factory.mktemp("monitoring")
    for name in ("events", "csv"):
        (home / name).mkdir()
    (home / "program.py").write_text(PROGRAM)
    run(home, sys.executable, "program.py", str(home))
    return home


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "found.json").read_text())
    assert [report[:2] for report in content["reports"]] == [[20, 18]] * 2
    return content


def metrics_of(execution: dict[str, Any]) -> dict[str, str]:
    (scan,) = (node for node in execution["nodes"] if node["nodeName"].startswith("Scan parquet"))
    return {metric["name"]: metric["value"] for metric in scan["metrics"] if metric["name"].startswith("xskip")}


def test_the_service_of_the_user_interface_has_the_metrics(found: dict[str, Any]) -> None:
    """[REP-M-1] [REP-M-2]"""
    metrics = metrics_of(found["sql"])
    assert metrics.items() >= NAMES.items()
    assert set(metrics) == {*NAMES, "xskip: size of files skipped", "xskip: time to select files"}
    queries = [each for each in found["listed"] if any("Scan parquet" in n["nodeName"] for n in each["nodes"])]
    assert [metrics_of(query)[SKIPPED] for query in queries] == ["18", "18"]


def test_the_page_of_the_query_shows_the_metrics_and_the_text(found: dict[str, Any]) -> None:
    """[REP-M-2] [REP-T-1] Spark 4.3 has the metrics of a node as JSON in its page."""
    page = html.unescape(found["page"])
    assert re.search(SKIPPED + r'(:? |","value":")18\b', page)
    assert "(xskip: 2 of 20 files, 1 index)" in page


def test_the_event_log_has_the_metrics(folder: Path) -> None:
    """[REP-M-2] The log names the metrics of a plan, and has their values before the execution ends."""
    (log,) = (path for path in (folder / "events").rglob("*") if path.is_file() and not path.name.startswith("."))
    events = [json.loads(line) for line in log.read_text().splitlines()]
    names: dict[int, str] = {}
    values: dict[int, dict[str, int]] = {}
    ended = set()
    for event in events:
        kind, number = event["Event"].rpartition(".")[2], event.get("executionId")
        if "sparkPlanInfo" in event:
            names |= names_in(event["sparkPlanInfo"])
        if kind == "SparkListenerDriverAccumUpdates":
            assert number not in ended
            known = {names[key]: value for key, value in event["accumUpdates"] if key in names}
            values.setdefault(number, {}).update(known)
        if kind == "SparkListenerSQLExecutionEnd":
            ended.add(number)
    skipped = [each for each in values.values() if each]
    assert [{name: str(each[name]) for name in NAMES} for each in skipped] == [NAMES, NAMES]
    report = json.loads((folder / "found.json").read_text())["reports"][0]
    assert {each["xskip: size of files skipped"] for each in skipped} == {report[3]}


def names_in(plan: dict[str, Any]) -> dict[int, str]:
    """Return the names of xskip's metrics in a plan, by the numbers of their accumulators."""
    own = {m["accumulatorId"]: m["name"] for m in plan["metrics"] if m["name"].startswith("xskip")}
    for child in plan["children"]:
        own |= names_in(child)
    return own


def test_sinks_have_the_counters(folder: Path, found: dict[str, Any]) -> None:
    """[REP-C-1] The CSV sink and the servlet for Prometheus."""
    skipped = sum(report[1] for report in found["reports"])
    sizes = sum(report[3] for report in found["reports"])
    expected = {"scans": 2, "files.listed": 40, "files.skipped": skipped, "bytes.skipped": sizes, "failures": 0}
    for name, value in expected.items():
        (file,) = (folder / "csv").rglob(f"*.driver.xskip.{name}.csv")
        with file.open() as lines:
            assert int(list(csv.DictReader(lines))[-1]["count"]) == value
        pattern = rf"_driver_xskip_{name.replace('.', '_')}_Count\{{[^}}]*\}} {value}\b"
        assert re.search(pattern, found["prometheus"]), name
