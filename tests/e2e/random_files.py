"""Literals of many types, and datasets of them, whose files are small and differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

__all__ = ["INTS", "POOLS", "Data", "write"]

INTS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
#: type -> SQL literals, extreme ones included; few of them, so that files share some and lack others
POOLS: dict[str, list[str]] = {
    **{
        kind: [f"CAST({v} AS {kind})" for v in (-(2**bits), -100, -1, 0, 1, 2, 3, 5, 7, 50, 99, 2**bits - 1)]
        for kind, bits in INTS.items()
    },
    "BOOLEAN": ["true", "false"],
    **{
        kind: [
            *(f"CAST('{v}' AS {kind})" for v in ("NaN", "Infinity", "-Infinity", "-0.0", "0.0", "1.5", "-1.5", "1e30")),
            *(f"CAST({v} AS {kind})" for v in (1, 2, 3, 10, 100)),
        ]
        for kind in ("FLOAT", "DOUBLE")
    },
    "STRING": [
        "''", "'a'", "'ab'", "'abc'", "'b'", "'B'", "'é'", "'zz'", "'\\uFFFD'", "'😀'", "'😀a'", "'a_b'", "'a%b'",
        "' '", "'aé'", "'\\u0000'", "'it\\'s'", "repeat('x', 300)",
    ],
    "DATE": [f"DATE'{d}'" for d in ("0001-01-01", "1582-10-04", "1582-10-15", "1969-12-31", "1970-01-01", "2020-02-29",
                                    "2024-01-01", "9999-12-31")],
    "TIMESTAMP": [f"TIMESTAMP'{t}'" for t in ("0001-01-01 00:00:00", "1850-06-01 12:00:00.123456",
                                              "1970-01-01 00:00:00", "2021-03-28 01:30:00",
                                              "2021-03-28 01:30:00.000001",
                                              "2024-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999")],
    "TIMESTAMP_NTZ": [f"TIMESTAMP_NTZ'{t}'" for t in ("0001-01-01 00:00:00", "1970-01-01 00:00:00.000001",
                                                      "2021-03-28 02:30:00", "9999-12-31 23:59:59.999999")],
    "DECIMAL(9,2)": [f"CAST({v} AS DECIMAL(9,2))" for v in ("-9999999.99", "-0.01", "0", "0.01", "1.5", "9999999.99")],
    "DECIMAL(18,4)": [f"CAST({v} AS DECIMAL(18,4))" for v in ("-99999999999999.9999", "-1", "0", "1.0001", "123.4")],
    "DECIMAL(38,10)": [f"CAST({v} AS DECIMAL(38,10))" for v in ("-9999999999999999999999999999.9999999999", "0",
                                                                "1e-10", "2.5",
                                                                "9999999999999999999999999999.9999999999")],
    "BINARY": ["X''", "X'00'", "X'7F'", "X'80'", "X'FF'", "X'FFFF'", "X'0001'"],
    "INTERVAL DAY TO SECOND": [f"INTERVAL '{v}' DAY TO SECOND" for v in ("-1 00:00:00", "0 00:00:00",
                                                                         "0 00:00:00.000001", "5 10:20:30.5",
                                                                         "106751991 04:00:54")],
    "INTERVAL YEAR TO MONTH": [f"INTERVAL '{v}' YEAR TO MONTH" for v in ("-1-1", "0-0", "0-1", "5-3", "178956970-7")],
}  # fmt: skip
#: The rows of the files as literals, the types of their columns, their partitions and their format.
Data = dict[str, Any]


def write(spark: SparkSession, root: Path, data: Data) -> str:
    """Write the files of a dataset with one Spark job, and return its path."""
    selects = []
    for number, rows in enumerate(data["files"]):
        for row in rows:
            values = [
                f"CAST({v} AS {kind}) AS c{i}" for i, (v, kind) in enumerate(zip(row, data["kinds"], strict=True))
            ]
            at = [f"CAST({data['partitions'][number]} AS INT) AS p"] if data["partitions"] else []
            selects.append(f"SELECT {number} AS __file, {', '.join(values + at)}")
    df = spark.sql(" UNION ALL ".join(selects)).coalesce(1)
    df.write.format(data["fmt"]).partitionBy("__file", *(["p"] if data["partitions"] else [])).save(
        str(root / "staging")
    )
    for part in (root / "staging").rglob("part-*"):
        names = part.relative_to(root / "staging").parts
        target = root.joinpath("data", *names[1:-1], f"{names[0].replace('__file=', 'f')}.{data['fmt']}")
        target.parent.mkdir(parents=True, exist_ok=True)
        part.rename(target)
    return str(root / "data")
