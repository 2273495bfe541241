"""A partition column has one value, which can be NULL, for all rows of a file."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.reference import POOLS, all_true, leaf_truth, to_arrow
from xskip.clauses.partition import PartitionClause, partitions_of_names
from xskip.expressions.operands import Cast, Column
from xskip.expressions.predicate import Comparison, In, IsNotNull, IsNull, Leaf, NotIn, NotStartsWith, Op, StartsWith
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.types.datatypes import arrow_type


def verdicts(leaf: Leaf, values: list[Any], spark_type: str) -> list[bool | None]:
    files = DataFiles.of([FileStatus(f"/{i}", 1, 1) for i in range(len(values))])
    column = PartitionColumn("p", spark_type, to_arrow(values, arrow_type(spark_type)))
    table = MetadataTable(files, {"p": column})
    found: list[bool | None] = PartitionClause(leaf, "p").evaluate(table, all_true(len(values))).to_pylist()
    return found


P = Column(("p",), "int")


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        (Comparison(Op.EQ, P, 2), [False, False, True, False]),
        (Comparison(Op.NE, P, 2), [False, True, False, True]),
        (Comparison(Op.LT, P, 2), [False, True, False, False]),
        (Comparison(Op.LE, P, 2), [False, True, True, False]),
        (Comparison(Op.GT, P, 2), [False, False, False, True]),
        (Comparison(Op.GE, P, 2), [False, False, True, True]),
        (In(P, (1, 3)), [False, True, False, True]),
        (In(P, (1,), has_null=True), [False, True, False, False]),
        (In(P, ()), [False, False, False, False]),
        (NotIn(P, (1, 3)), [False, False, True, False]),
        (NotIn(P, (1,), has_null=True), [False, False, False, False]),
        (IsNull(P), [True, False, False, False]),
        (IsNotNull(P), [False, True, True, True]),
        (Comparison(Op.EQ, Cast(P, "decimal(12,1)"), Decimal("2.0")), [False, False, True, False]),
    ],
    ids=str,
)
def test_verdicts_by_value_of_the_partition(leaf: Any, expected: Any) -> None:
    """[SND-30] [PRU-PC-1] [PRU-PC-2] A leaf is tested on the partition's value, which can be NULL."""
    assert verdicts(leaf, [None, 1, 2, 3], "int") == expected


def test_prefixes_of_partition_values() -> None:
    """[PRU-PC-1] Prefix tests on partition values are exact."""
    column = Column(("p",), "string")
    values = [None, b"", b"ab", "\U0001f600".encode()]
    assert verdicts(StartsWith(column, b"a"), values, "string") == [False, False, True, False]
    assert verdicts(NotStartsWith(column, b"a"), values, "string") == [False, True, False, True]
    assert verdicts(StartsWith(column, b""), values, "string") == [False, True, True, True]


@pytest.mark.parametrize("spark_type", POOLS)
def test_every_comparison_of_every_type_is_exact(spark_type: Any) -> None:
    """[PRU-PC-1]"""
    pool, column = POOLS[spark_type], Column(("p",), spark_type)
    values = [*pool, None]
    for op in Op:
        for literal in pool:
            leaf = Comparison(op, column, literal)
            assert verdicts(leaf, values, spark_type) == [leaf_truth(leaf, v) is True for v in values], leaf


def test_partition_values_that_are_not_recorded_are_unknown() -> None:
    """[PRU-PC-3]"""
    clause = PartitionClause(IsNull(P), "p")
    table = MetadataTable(DataFiles.of([FileStatus("/x", 1, 1), FileStatus("/y", 1, 1)]))
    assert clause.evaluate(table, all_true(2)).to_pylist() == [None, None]
    assert not clause.expensive


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["p=1/f", "p=-20/g"], {"p": ("int", [1, -20])}),
        (["p=1/f", "p=3000000000/g"], {"p": ("bigint", [1, 3_000_000_000])}),
        (["p=01/f", "p=1/g"], {"p": ("string", ["01", "1"])}),
        (["p=1/f", "p=x/g"], {"p": ("string", ["1", "x"])}),
        (["p=2020-01-01/f"], {"p": ("date", [18262])}),
        (["p=2020-02-31/f"], {"p": ("string", ["2020-02-31"])}),
        (["p=__HIVE_DEFAULT_PARTITION__/f", "p=7/g"], {"p": ("int", [None, 7])}),
        (["p=__HIVE_DEFAULT_PARTITION__/f"], {"p": ("string", [None])}),
        (["p=a%3Db%2F/q=y z/f"], {"p": ("string", ["a=b/"]), "q": ("string", ["y z"])}),
        (["p=99999999999999999999/f"], {"p": ("string", ["99999999999999999999"])}),
        (["p=1/f", "q=1/g"], {}),
        (["p=1/f", "g"], {}),
        (["f", "g"], {}),
        ([], {}),
    ],
)
def test_partitions_of_names(names: Any, found: Any) -> None:
    """[MDS-M-2] [PRU-PC-1] Names of files give integers, dates or strings, if all files agree on the columns."""
    columns = partitions_of_names(pa.array([f"/lake/t/{name}" for name in names], pa.string()), "/lake/t")
    plain = {n: c.values.view(pa.int32()) if c.type == "date" else c.values for n, c in columns.items()}
    assert {name: (column.type, plain[name].to_pylist()) for name, column in columns.items()} == found
