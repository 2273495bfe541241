"""Reports with pictures, made without Spark."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import numpy as np
import pyarrow as pa

from xskip.expressions.intervals import Interval
from xskip.results.clause_outcomes import ClauseOutcome
from xskip.results.file_explanation import FileExplanation
from xskip.results.file_picture import Drawing, FilePicture, PicturedFiles
from xskip.results.skipping_report import ScanReport, SkippingReport

START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def report_of_days(count: int = 60, *, unindexed: int = 3) -> SkippingReport:
    """Return a report on files of two days each, of which the last sixth is read and the last one is undecided."""
    days = [START + timedelta(days=6 * i) for i in range(count)]
    classes = np.array([0] * (count - count // 6) + [1] * (count // 6 - 1) + [2] + [3] * unindexed, np.uint8)
    kind = pa.timestamp("us", "UTC")
    low = pa.array([*days, *[None] * unindexed], kind)
    high = pa.array([*(day + timedelta(days=9) for day in days), *[None] * unindexed], kind)
    after = Interval(int(datetime(2024, 11, 1, tzinfo=timezone.utc).timestamp()) * 1_000_000)
    picture = FilePicture.of(PicturedFiles(classes, low, high, after), "ts", "minmax(ts)", "timestamp", has_values=True)
    skipped = int((classes == 0).sum())
    name = "/lake/events/date=2024-01-0{}/part-00000-5f2c4a1e-2b1c-4d51-9e55-aa0f6f7d1234-c000.snappy.parquet"
    explained = tuple(
        FileExplanation(
            name.format(i), 31_234, "kept", "ts > '2024-11-01 00:00:00Z'", "minmax(ts)",
            "2024-12-01 00:00:00 … 2024-12-09 23:59:59", "the statistics admit a matching row",
        )
        for i in range(1, 4)
    )  # fmt: skip
    scan = ScanReport(
        "/lake/events", "parquet", "(ts IS NOT NULL AND ts > '2024-11-01 00:00:00Z' AND upper(city) = 'OSLO')",
        files=len(classes), kept=len(classes) - skipped, not_indexed=unindexed,
        bytes=30_000 * len(classes), kept_bytes=30_000 * (len(classes) - skipped), milliseconds=2.9,
        outcomes=(
            ClauseOutcome("ts IS NOT NULL", "minmax(ts)", 0, is_implied=True),
            ClauseOutcome("ts > ?", "minmax(ts)", skipped, 1),
        ),
        unused=(("upper(city) = ?", "there is no index on city"),), explained=explained,
        drawing=Drawing(lambda: picture),
    )  # fmt: skip
    return SkippingReport((scan,), "the query that ended at 2026-11-25 02:00:00 UTC (ID 12 on Spark's SQL page)", 0.17)
