"""A dataset of random rows with many kinds of indexes."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.helpers import index, write_once
from xskip import BloomFilter, GapList, Hybrid, MinMax, NullCount, Prefix, SkippingIndex, ValueList

SCHEMA = (
    "i int, l bigint, d double, f float, s string, c decimal(8,2), day date, t timestamp, n timestamp_ntz, flag boolean"
)
NAMES = [part.split()[0] for part in SCHEMA.split(", ")]
START = datetime(2024, 1, 1)
FILES = 24


def row(draw: random.Random, centre: int) -> tuple[Any, ...]:
    number = centre * 10 + draw.randint(-6, 6)
    moment = START + timedelta(hours=number * 5, microseconds=draw.choice([0, 1, 500_000]))
    values: list[Any] = [
        number, number * 1_000_000_007, draw.choice([number / 4, number / 4, -0.0, math.nan]), number / 8,
        f"{chr(97 + number % 26)}{number:03d}", Decimal(number) / 4, START.date() + timedelta(days=number), moment,
        moment, number % 3 == 0,
    ]  # fmt: skip
    return tuple(None if draw.random() < 0.1 else value for value in values)


def made(spark: SparkSession, root: Path, draw: random.Random) -> SkippingIndex:
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    files = {
        f"p={i % 4}/q={'xyz'[i % 3]}/f{i}": [row(draw, draw.randint(0, FILES)) for _ in range(draw.randint(1, 5))]
        for i in range(FILES)
    }
    path = write_once(spark, root / "data", SCHEMA, files)
    kinds: list[Any] = [MinMax(name) for name in NAMES if name != "flag"]
    kinds += [ValueList("s"), ValueList("flag"), BloomFilter("i"), Prefix("s", length=2), GapList("l")]
    kinds += [NullCount(name) for name in ("d", "i", "l", "s", "c", "day")]
    return index(spark, path, [*kinds, Hybrid("day")])
