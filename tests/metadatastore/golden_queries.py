"""The queries of the golden datasets, with filters as the optimizer leaves them."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from xskip.expressions.predicate import Constant, Predicate
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.catalyst.filter_decoder import to_predicate

SCHEMAS = {
    "sample1": "temp double, lat double, address string, comments string",
    "sample1Na": "temp double, lat double, address string, comments string",
    "sample1Na2": "temp double, num int, address string, comments string",
    "vallist1": "temp double, address string, comments string, date date",
    "dates": "timestamp timestamp, date date, account_name string",
    "empty": "timestamp string, date date, account_name string, salary double",
    "types": "b tinyint, s smallint, i int, l bigint, f float, d double, dec9 decimal(9,2), dec18 decimal(18,4), "
    "dec38 decimal(38,10), str string, bin binary, bool boolean, dt date, ts timestamp, ntz timestamp_ntz, "
    "st struct<x: int, in: struct<y: string>>",
    "names": "`a#b` bigint, _x_ string, `Upper Case` bigint, `größe` double, `lat#_$_new` bigint, a_minmax_1 bigint",
    "partitioned": "v int, p int, q string, d date",
    "avro": "k int, s string, d double",
    "odd": "d double, s string",
}


frames: dict[str, DataFrame] = {}


def frame(spark: SparkSession, dataset: str) -> DataFrame:
    """Return a DataFrame with a dataset's schema and no rows, which the optimizer does not recognise as empty."""
    if dataset not in frames:
        frames[dataset] = spark.createDataFrame(spark.sparkContext.emptyRDD(), SCHEMAS[dataset])
    return frames[dataset]


def predicate_of(spark: SparkSession, dataset: str, sql: str) -> Predicate:
    """Return a filter as the optimizer leaves it for a scan."""
    filtered = frame(spark, dataset).filter(sql)
    plan: Any = filtered._jdf.queryExecution().optimizedPlan()
    name = plan.getClass().getSimpleName()
    if name == "LocalRelation":  # the optimizer has found that no row can match
        return Constant(False)
    if name != "Filter":
        return Constant(True)
    return to_predicate([json.loads(hook_of(spark).rule.queries().encode(spark._jsparkSession, plan.condition()))])
