"""[PRU-PL-1] [PRU-PL-3] [PRU-PL-4] A sample of the suite that ``python -m tests.plans`` runs as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.plans.data import create_indexes, queries, register, write_tables
from tests.plans.measure import APIS, INTERPRETED, compare

#: A union of three channels with dynamic pruning, scalar and correlated subqueries, common table expressions, and joins
#: of many tables.
SAMPLE = ("tpcds5", "tpcds9", "tpcds32", "tpcds83", "tpch11", "tpch21")


@dataclass(frozen=True)
class Tables:
    """The tables of the sample below a directory, with indexes, and the queries."""

    root: Path
    texts: dict[str, str]


@pytest.fixture(scope="module")
def tables(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    every = queries()
    assert len(every) == 121
    made = Tables(tmp_path_factory.mktemp("plans"), {name: every[name] for name in SAMPLE})
    write_tables(made.root, made.texts, days=18)
    create_indexes(session, made.root, " ".join(made.texts.values()))
    return made


@pytest.mark.parametrize(("api", "adaptive"), [("v1", "true"), ("v1", "false"), ("v2", "false")])
@pytest.mark.parametrize("name", SAMPLE)
def test_no_plan_is_worse_with_indexes(spark: SparkSession, tables: Tables, name: str, api: str, adaptive: str) -> None:
    settings = INTERPRETED | {"spark.sql.sources.useV1SourceList": APIS[api], "spark.sql.adaptive.enabled": adaptive}
    settings["spark.sql.ansi.enabled"] = "false"  # some sums of the small tables are 0, by which queries divide
    for key, value in settings.items():
        spark.conf.set(key, value)
    register(spark, tables.root, "tpch" if name.startswith("tpch") else "tpcds", tables.texts[name])
    found = compare(spark, lambda: spark.sql(tables.texts[name]))
    assert not found.worse
    assert found.indexed.files <= found.plain.files
    # adaptive execution leaves no scan in a plan whose result it finds to be empty
    assert found.plain.files > 0 or adaptive == "true"
