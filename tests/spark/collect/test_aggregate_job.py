"""The results of aggregates, without Spark."""

from __future__ import annotations

import pyarrow as pa

from xskip.indexes import MinMax
from xskip.metadata.table import IndexDefinition
from xskip.spark.collect.aggregate_job import AggregateJob
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.collect.relation import ORDINAL


def planned(column: str) -> PlannedIndex:
    index = MinMax(column)
    return PlannedIndex(index, index.columns, IndexDefinition("minmax", (column,)), index.storage(["int"]))


def test_every_index_gets_its_columns() -> None:
    """With more than ten indexes, the name of an index's column begins like another's."""
    job = AggregateJob(tuple(planned(f"a{i}") for i in range(12)))
    widths = [1 + i % 3 for i in range(12)]
    columns = {f"{i}_{j}": pa.array([100 * i + j, None]) for i, width in enumerate(widths) for j in range(width)}
    columns |= {f"values_{i}": pa.array([9, 7 - i % 3]) for i in range(12)}
    results = job.results(pa.table({ORDINAL: pa.array([8, 3], pa.int32()), **columns, "rows": pa.array([9, 7])}))
    assert results.ordinals.tolist() == [8, 3]
    assert [[column.to_pylist() for column in index] for index in results.columns] == [
        [[100 * i + j, None] for j in range(width)] for i, width in enumerate(widths)
    ]
    assert results.counts.rows.to_pylist() == [9, 7]
    assert {name: nulls.to_pylist() for name, nulls in results.counts.nulls.items()} == {
        f"a{i}": [0, i % 3] for i in range(12)
    }


def test_results_of_no_rows() -> None:
    job = AggregateJob((planned("a"),))
    none = pa.array([], pa.int64())
    results = job.results(pa.table({ORDINAL: none.cast(pa.int32()), "0_0": none, "rows": none, "values_0": none}))
    assert results.ordinals.tolist() == []
    assert [[len(column) for column in index] for index in results.columns] == [[0]]
