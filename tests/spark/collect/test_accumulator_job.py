"""The protocol between Python and the build's kernel, without Spark: what Python writes, and how it reads results."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.spark.collect.kernel_reference import VALUES, Row, emit, fields, table_of
from xskip.indexes import (
    BloomFilter,
    Formatted,
    GapList,
    GeoBox,
    Hybrid,
    Index,
    MinMax,
    NullCount,
    Prefix,
    TokenBloom,
    ValueList,
)
from xskip.indexes.accumulator import Accumulator, Input
from xskip.metadata.table import IndexDefinition
from xskip.spark.collect.accumulation import Accumulation
from xskip.spark.collect.accumulator_job import AccumulatorJob
from xskip.spark.collect.file_results import FileResults
from xskip.spark.collect.planned_index import PlannedIndex, value_types
from xskip.spark.collect.relation import ORDINAL

RATE = repr(math.log(0.01))


def planned(index: Index, *types: str) -> PlannedIndex:
    definition = IndexDefinition(index.name, index.columns, index.params, None, types)
    return PlannedIndex(index, index.columns, definition, index.storage(value_types(index, types)))


def listed(element: str) -> object:
    return {"type": "array", "elementType": element, "containsNull": False}


@pytest.mark.parametrize(
    ("index", "types", "specification", "results"),
    [
        (MinMax("a"), ["int"], "bounds:1:int:0:0.0", ["integer"] * 2),
        (MinMax("a"), ["tinyint"], "bounds:1:tinyint:0:0.0", ["byte"] * 2),
        (MinMax("a"), ["decimal(38,10)"], "bounds:1:decimal(38,10):0:0.0", ["decimal(38,10)"] * 2),
        (MinMax("a"), ["date"], "bounds:1:int:0:0.0", ["integer"] * 2),
        (MinMax("a"), ["timestamp"], "bounds:1:bigint:0:0.0", ["long"] * 2),
        (MinMax("a"), ["timestamp_ntz"], "bounds:1:bigint:0:0.0", ["long"] * 2),
        (MinMax("a"), ["interval year"], "bounds:1:int:0:0.0", ["integer"] * 2),
        (MinMax("a"), ["interval hour to second"], "bounds:1:bigint:0:0.0", ["long"] * 2),
        (MinMax("a"), ["array<date>"], "bounds:1:array<int>:0:0.0", ["integer"] * 2),
        (NullCount("a"), ["map<int,string>"], "counts:1:bigint:0:0.0", ["long"] * 2),
        (ValueList("a", max_values=7), ["string"], "values:1:string:7:0.0", [listed("string")]),
        (ValueList("a", max_values=7), ["array<timestamp>"], "values:1:array<bigint>:7:0.0", [listed("long")]),
        (BloomFilter("a"), ["bigint"], f"hashes:1:bigint:0:{RATE}", ["binary"] * 2),
        (BloomFilter("a", fpp=0.5, ndv=99), ["date"], "hashes:1:int:99:-0.6931471805599453", ["binary"] * 2),
        (TokenBloom("a"), ["string"], f"words:1:string:0:{RATE}", ["binary"] * 2),
        (GapList("a", gaps=4), ["float"], "ranges:1:float:5:0.0", [listed("float")]),
        (GapList("a", gaps=4), ["decimal(9,2)"], "ranges:1:decimal(9,2):5:0.0", [listed("decimal(9,2)")]),
        (
            Hybrid("a", max_values=9), ["smallint"],
            f"values:1:smallint:9:0.0\nhashes:1:smallint:0:{RATE}", [listed("short"), "binary", "binary"],
        ),
    ],
    ids=str,
)  # fmt: skip
def test_the_text_of_an_index(index: Any, types: Any, specification: Any, results: Any) -> None:
    """[JVM-AC-1]"""
    job = AccumulatorJob.of([planned(index, *types)])
    assert job.specification == specification
    assert len(job.selection) == 2
    schema = json.loads(job.schema)
    assert schema["type"] == "struct"
    ordinal, *columns, rows = schema["fields"]
    assert ordinal == {"name": ORDINAL, "type": "integer", "nullable": True, "metadata": {}}
    assert rows == {"name": "rows", "type": listed("long"), "nullable": True, "metadata": {}}
    assert [column["type"] for column in columns] == results
    assert len({column["name"] for column in columns}) == len(columns)


def test_indexes_share_inputs() -> None:
    job = AccumulatorJob.of(
        [
            planned(MinMax("b.c"), "date"),
            planned(Prefix("s", length=3, max_values=5), "string"),
            planned(MinMax("s"), "string"),
            planned(NullCount("b.c"), "date"),
            planned(Formatted("s", "x", max_values=5), "string"),
            planned(MinMax("size(a)", expression=True), "int"),
        ]
    )
    assert job.selection == [
        ORDINAL,
        "`b`.`c` AS c0",
        "substring(CAST(`s` AS BINARY), 1, 3) AS c1",
        "`s` AS c2",
        "regexp_extract(`s`, CAST(X'78' AS STRING), 1) AS c3",
        "(size(a)) AS c4",
    ]
    assert job.specification.split("\n") == [
        "bounds:1:int:0:0.0",
        "values:2:binary:5:0.0",
        "bounds:3:string:0:0.0",
        "counts:1:bigint:0:0.0",
        "values:4:string:5:0.0",
        "bounds:5:int:0:0.0",
    ]
    names = [name for name, _ in fields(job.schema)]
    assert len(set(names)) == len(names) == 1 + 10 + 1
    assert job.counted == {"b.c": "`b`.`c`", "s": "`s`"}


def test_columns_without_accumulators_of_their_own_are_counted() -> None:
    """[JVM-AC-3] [MDS-O-6] A Boolean stands for the values, unless the kernel reads the rows of a scan."""
    job = AccumulatorJob.of([planned(GeoBox("a", "b", boxes=3), "float", "int"), planned(MinMax("b"), "int")])
    assert job.selection == [
        ORDINAL,
        "array(CAST(`a` AS DOUBLE), CAST(`b` AS DOUBLE)) AS c0",
        "`b` AS c1",
        "CASE WHEN `a` IS NOT NULL THEN true END AS c2",
    ]
    assert job.specification.split("\n") == [
        "boxes:1:array<double>:3:0.0",
        "bounds:2:int:0:0.0",
        "counts:3:bigint:0:0.0",
    ]
    results = job.results(table_of(job.schema, [(4, ([1.0, 2.0, 1.0, 2.0], 2, 2, 7, 9, [9, 8, 6, 7]))]))
    assert [len(columns) for columns in results.columns] == [1, 2]
    assert results.counts.rows.to_pylist() == [9]
    assert {name: nulls.to_pylist() for name, nulls in results.counts.nulls.items()} == {"a": [7], "b": [6]}
    alone = AccumulatorJob(((accumulation("bounds", "int"),),), {"x": "x", "y": "y"})
    assert alone.selection == [ORDINAL, "x AS c0", "y AS c1"]


def accumulation(kind: Any, spark_type: str, cap: int = 0) -> Accumulation:
    return Accumulation(Input("x", spark_type), Accumulator(kind, cap))


#: Accumulators, each with the type of its random values.
KINDS = [
    *((accumulation("bounds", kind), kind) for kind in VALUES if not kind.startswith("array")),
    (accumulation("bounds", "date"), "int"),
    (accumulation("bounds", "array<timestamp>"), "bigint"),
    (accumulation("counts", "map<int,int>"), "int"),
    *((accumulation("values", kind, 3), kind) for kind in VALUES if not kind.startswith("array")),
    (accumulation("values", "array<date>", 2), "int"),
    (accumulation("hashes", "string"), "bigint"),
    (accumulation("words", "string"), "bigint"),
    *((accumulation("ranges", kind, 3), kind) for kind in ("int", "float", "double", "decimal(9,2)")),
    (accumulation("boxes", "array<double>", 3), "array<double>"),
]


def by_file(results: FileResults) -> dict[int, str]:
    """Return the result columns of the only index of a job as text, which tells 0.0 from -0.0."""
    (columns,) = results.columns
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    files = results.ordinals.tolist()
    assert len(set(files)) == len(files)
    return dict(zip(files, map(repr, rows), strict=True))


def expected(accumulation: Accumulation, tasks: list[tuple[int, list[Any]]]) -> dict[int, str]:
    """Return the results of files as text: as if a single task had read the values of all tasks in their order."""
    files: defaultdict[int, list[list[Any]]] = defaultdict(list)
    for ordinal, values in tasks:
        files[ordinal].append(values)
    return {ordinal: repr(results_of(accumulation, parts)) for ordinal, parts in files.items()}


def results_of(accumulation: Accumulation, parts: list[list[Any]]) -> tuple[Any, ...]:
    together = [value for values in parts for value in values]
    match accumulation.accumulator.kind:
        case "hashes" | "words" if len(parts) == 1:
            return emit(accumulation, together, whole=True)
        case "hashes" | "words":
            return list(dict.fromkeys(value for value in together if value is not None)), None
        case "ranges":  # the ranges of two parts can overlap
            return ([end for values in parts for end in emit(accumulation, values, whole=False)[0]],)
        case _:
            return emit(accumulation, together, whole=False)


@pytest.mark.parametrize(
    ("accumulation", "values"), KINDS, ids=[f"{a.accumulator.kind} {a.input.type}" for a, _ in KINDS]
)
@settings(max_examples=cases(50))
@given(data=st.data(), chunk=st.integers(1, 5))
def test_results_of_several_tasks_are_those_of_one(accumulation: Any, values: Any, data: Any, chunk: Any) -> None:
    """[JVM-AC-2]"""
    part = st.tuples(st.integers(0, 4), st.lists(st.none() | VALUES[values], max_size=5))
    tasks = data.draw(st.lists(part, max_size=12))
    files = [ordinal for ordinal, _ in tasks]
    rows: list[Row] = [
        (file, (*emit(accumulation, read, whole=files.count(file) == 1), [len(read), read.count(None)]))
        for file, read in tasks
    ]
    job = AccumulatorJob(((accumulation,),), {"x": "x"})
    results = job.results(table_of(job.schema, rows, chunk))
    assert by_file(results) == expected(accumulation, tasks)
    read_of = {file: [value for other, read in tasks if other == file for value in read] for file in files}
    ordinals = results.ordinals.tolist()
    assert results.counts.rows.to_pylist() == [len(read_of[file]) for file in ordinals]
    assert results.counts.nulls["x"].to_pylist() == [read_of[file].count(None) for file in ordinals]


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_every_index_gets_its_columns(chunk: int) -> None:
    bounds, counts = accumulation("bounds", "int"), accumulation("counts", "int")
    values, hashes = accumulation("values", "int", 2), accumulation("hashes", "int")
    job = AccumulatorJob(((bounds,), (values, hashes), (counts,), (hashes, bounds)))

    def columns(tasks: list[tuple[int, list[Any]]]) -> list[list[list[Any]]]:
        rows = [(file, [emit(a, read, whole=False) for a in chain(*job.accumulations)]) for file, read in tasks]
        table = table_of(job.schema, [(file, (*chain(*results), [0] * 7)) for file, results in rows], chunk)
        return [[column.to_pylist() for column in index] for index in job.results(table).columns]

    assert columns([(7, [3, None]), (2, [5, 1, 4])]) == [
        [[3, 1], [3, 5]],
        [[[3], None], [[3], [5, 1, 4]], [None, None]],
        [[1, 0], [2, 3]],
        [[[3], [5, 1, 4]], [None, None], [3, 1], [3, 5]],
    ]
    assert columns([(7, [3, None]), (2, [5, 1]), (7, [2])]) == [
        [[1, 2], [5, 3]],
        [[[5, 1], [3, 2]], [[5, 1], [3, 2]], [None, None]],
        [[0, 1], [2, 3]],
        [[[5, 1], [3, 2]], [None, None], [1, 2], [5, 3]],
    ]


def test_the_hashes_of_a_file_that_a_task_took_for_whole_are_unknown() -> None:
    """A filter and hashes of the same file: neither covers all values."""
    hashes = accumulation("hashes", "bigint")
    job = AccumulatorJob(((hashes,),))
    rows = [(3, (*emit(hashes, [1], whole=True), [1, 0])), (3, (*emit(hashes, [2], whole=False), [1, 0]))]
    assert by_file(job.results(table_of(job.schema, rows))) == {3: "(None, None)"}


def test_results_of_no_rows() -> None:
    job = AccumulatorJob(tuple((accumulation,) for accumulation, _ in KINDS))
    results = job.results(table_of(job.schema, []))
    assert results.ordinals.tolist() == []
    assert [len(columns) for columns in results.columns] == [len(a.result_types) for a, _ in KINDS]
    assert {len(column) for columns in results.columns for column in columns} == {0}
