"""A clause over a ValueList gives the exact verdict on the distinct values, for each kind of leaf."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.indexes.translated import translated
from tests.reference import POOLS, all_true, leaf_truth, to_arrow
from xskip.errors import IndexDefinitionError, UnsupportedTypeError
from xskip.expressions.evaluate import matches
from xskip.expressions.operands import Cast, Column
from xskip.expressions.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    NotIn,
    NotStartsWith,
    Op,
    StartsWith,
)
from xskip.indexes import ValueList, index_of
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune
from xskip.results.clause_outcomes import outcomes_of
from xskip.types.datatypes import Array, arrow_type

NAN = float("nan")


def lists_of(lists: list[list[Any] | None], spark_type: str) -> pa.Array:
    """Return an array of lists, with null for None."""
    flat = to_arrow([value for values in lists for value in values or ()], arrow_type(spark_type))
    offsets = [0]
    for values in lists:
        offsets.append(offsets[-1] + len(values or ()))
    mask = pa.array([values is None for values in lists], pa.bool_())
    made = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat, mask=mask)
    return made.cast(arrow_type(Array(spark_type)))


def verdicts(leaf: Leaf, lists: pa.Array, spark_type: str) -> list[bool | None]:
    index, definition = ValueList("c"), IndexDefinition("valuelist", ("c",), types=(spark_type,))
    storage = index.storage([spark_type])
    table = MetadataTable(
        DataFiles.of([FileStatus(f"/{i}", 1, 1) for i in range(len(lists))]),
        {},
        {definition.key: IndexColumn(definition, storage, lists)},
    )
    clause = translated(index.translate(leaf, definition, storage))
    found: list[bool | None] = clause.evaluate(table, all_true(len(lists))).to_pylist()
    return found


INT = Column(("c",), "int")
SHAPES = [None, [], [5], [3, 7], [1, 2, 3]]  # nothing known, no value at all, one value, two, three


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        (Comparison(Op.EQ, INT, 5), [None, False, True, False, False]),
        (Comparison(Op.NE, INT, 5), [None, False, False, True, True]),
        (Comparison(Op.LT, INT, 3), [None, False, False, False, True]),
        (Comparison(Op.GE, INT, 6), [None, False, False, True, False]),
        (In(INT, (4, 5, 6)), [None, False, True, False, False]),
        (In(INT, (5,), has_null=True), [None, False, True, False, False]),
        (In(INT, ()), [None, False, False, False, False]),
        (In(INT, (), has_null=True), [None, False, False, False, False]),
        (NotIn(INT, (3, 7)), [None, False, True, False, True]),
        (NotIn(INT, (1, 2, 3)), [None, False, True, True, False]),
        (NotIn(INT, (9,), has_null=True), [None, False, False, False, False]),
        (IsNotNull(INT), [None, False, True, True, True]),
        (Comparison(Op.LT, Cast(INT, "bigint"), 2), [None, False, False, False, True]),
    ],
    ids=str,
)
def test_verdicts_by_list(leaf: Any, expected: Any) -> None:
    """[PRU-VL-1] [PRU-VL-2] [PRU-VL-3] [PRU-V-3] Verdicts follow from the values of a list."""
    assert verdicts(leaf, lists_of(SHAPES, "int"), "int") == expected


def test_negated_membership_on_valuelist() -> None:
    """[SND-2] [PRU-VL-1] Negations skip a file only if no other value is in its list."""
    lists = lists_of([[1], [1, 2], [2]], "int")
    assert verdicts(NotIn(INT, (1,)), lists, "int") == [False, True, True]
    assert verdicts(Comparison(Op.NE, INT, 1), lists, "int") == [False, True, True]


def test_a_list_beyond_its_cap_is_no_list_on_valuelist() -> None:
    """[SND-22] [PRU-VL-2] A file with more values than the maximum has a null list, and stays."""
    collected = pa.array([["a"], None], pa.list_(pa.string()))
    lists = ValueList("c", max_values=1).assemble([collected], ["string"])
    column = Column(("c",), "string")
    assert verdicts(Comparison(Op.EQ, column, b"zzz"), lists, "string") == [False, None]
    assert verdicts(NotStartsWith(column, b"a"), lists, "string") == [False, None]


def test_is_null_is_not_answered_by_valuelist() -> None:
    """[SND-6] [PRU-VL-4]"""
    assert ValueList("c").translate(IsNull(INT), IndexDefinition("valuelist", ("c",)), Array("int")) is None


def test_nan_and_zeros_on_valuelist() -> None:
    """[SND-10] [SND-11] [PRU-VL-1] [PRU-V-5] NaN equals itself and is the greatest value, and both zeros are equal."""
    column = Column(("c",), "double")
    lists = lists_of([[5.0, NAN], [-0.0], [0.0], [5.0]], "double")
    assert verdicts(Comparison(Op.EQ, column, NAN), lists, "double") == [True, False, False, False]
    assert verdicts(Comparison(Op.NE, column, 5.0), lists, "double") == [True, True, True, False]
    assert verdicts(Comparison(Op.GT, column, 9.0), lists, "double") == [True, False, False, False]
    assert verdicts(In(column, (NAN,)), lists, "double") == [True, False, False, False]
    assert verdicts(Comparison(Op.EQ, column, 0.0), lists, "double") == [False, True, True, False]
    assert verdicts(In(column, (-0.0,)), lists, "double") == [False, True, True, False]
    assert verdicts(NotIn(column, (0.0,)), lists, "double") == [True, False, False, True]


def test_prefixes_on_valuelist() -> None:
    """[SND-3] [PRU-VL-1] Prefix tests on the values of a list are exact."""
    column = Column(("c",), "string")
    lists = lists_of([[b"abc1", b"abc9"], [b"ab"], [b""], ["\U0001f600".encode()], [], None], "string")
    assert verdicts(StartsWith(column, b"abc"), lists, "string") == [True, False, False, False, False, None]
    assert verdicts(StartsWith(column, b""), lists, "string") == [True, True, True, True, False, None]
    assert verdicts(NotStartsWith(column, b"abc"), lists, "string") == [False, True, True, True, False, None]
    assert verdicts(StartsWith(column, b"\xf0\x9f\x98"), lists, "string") == [False, False, False, True, False, None]
    assert verdicts(NotStartsWith(column, b""), lists, "string") == [False, False, False, False, False, None]


@pytest.mark.parametrize("spark_type", POOLS)
def test_every_comparison_of_every_type_is_exact(spark_type: Any) -> None:
    """[PRU-VL-1]"""
    pool, column = POOLS[spark_type], Column(("c",), spark_type)
    files = [[value] for value in pool] + [list(pool[:2]), list(pool[-2:]), [], None]
    lists = lists_of(files, spark_type)
    leaves: list[Leaf] = [Comparison(op, column, value) for op in Op for value in pool]
    leaves += [kind(column, pool[:2]) for kind in (In, NotIn)]
    for leaf in leaves:
        expected = [None if f is None else any(leaf_truth(leaf, v) is True for v in f) for f in files]
        assert verdicts(leaf, lists, spark_type) == expected, leaf


def test_sliced_and_taken_lists() -> None:
    """[PRU-VL-1] Slices and selections of lists give the verdicts of their rows."""
    lists = lists_of([[9], None, [1, 2], [], [3]], "int")
    leaf = Comparison(Op.EQ, INT, 3)
    assert verdicts(leaf, lists.slice(1), "int") == [None, False, False, True]
    assert verdicts(leaf, lists.take(pa.array([4, 1, 0])), "int") == [True, None, False]
    assert verdicts(leaf, lists.slice(2, 0), "int") == []


def test_a_null_list_over_values_is_not_read() -> None:
    """[PRU-VL-2] Values below a null list are ignored."""
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 4], pa.int32()), pa.array([1, 2, 3, 4], pa.int32()), mask=pa.array([True, False])
    )
    assert verdicts(Comparison(Op.EQ, INT, 1), lists, "int") == [None, False]
    assert verdicts(Comparison(Op.EQ, INT, 3), lists, "int") == [None, True]


def test_an_index_that_the_table_lacks_is_unknown() -> None:
    """[PRU-V-3]"""
    index, definition = ValueList("c"), IndexDefinition("valuelist", ("c",))
    clause = translated(index.translate(Comparison(Op.EQ, INT, 1), definition, Array("int")))
    table = MetadataTable(DataFiles.of([FileStatus("/x", 1, 1)]))
    assert clause.evaluate(table, all_true(1)).to_pylist() == [None]
    assert not clause.expensive


@pytest.mark.parametrize("cap", [0, -1])
def test_invalid_maximums_are_refused(cap: int) -> None:
    with pytest.raises(IndexDefinitionError) as caught:
        ValueList("c", max_values=cap)
    assert str(caught.value) == (f"ValueList has an invalid max_values (found: max_values={cap}; expected: 1 or more)")


@pytest.mark.parametrize("spark_type", ["array<int>", "map<int,int>", "struct<a:int>", "string collate UNICODE"])
def test_unsupported_types_are_refused(spark_type: str) -> None:
    with pytest.raises(
        UnsupportedTypeError, match=r"ValueList cannot index this type .*expected: one of boolean, "
    ) as e:
        ValueList("c").storage([spark_type])
    assert (e.value.where, e.value.found) == ("column c", spark_type)


@pytest.mark.parametrize("column", ["", "a.", "`a", "a..b"])
def test_invalid_columns_are_refused(column: str) -> None:
    with pytest.raises(IndexDefinitionError, match="put a name that holds a dot in backticks"):
        ValueList(column)


@pytest.mark.parametrize(
    ("index", "params"),
    [
        (ValueList("c"), ()),
        (ValueList("c", max_values=10_000), ()),
        (ValueList("c", max_values=7, key_label="k"), (("io.xskip.index.valuelist.maxvalues", "7"),)),
    ],
)
def test_a_definition_restores_the_index_type(index: Any, params: Any) -> None:
    assert index.params == params
    assert index_of(IndexDefinition("valuelist", index.columns, index.params, index.key_label)) == index


def test_a_definition_with_odd_parameters_is_not_used() -> None:
    for cap in ("many", "0", ""):
        odd = IndexDefinition("valuelist", ("c",), (("io.xskip.index.valuelist.maxvalues", cap),))
        assert index_of(odd) is None


def test_a_leaf_is_put_to_the_values_once_alone_and_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-V-9]"""
    asked: list[Leaf] = []

    def noted(leaf: Leaf, values: pa.Array) -> pa.BooleanArray:
        asked.append(leaf)
        return matches(leaf, values)

    monkeypatch.setattr("xskip.indexes.valuelist.matches", noted)
    definition, storage = IndexDefinition("valuelist", ("c",), types=("int",)), Array("int")
    values = pa.array([[1, 9], [4, 5], [7], None], arrow_type(storage))
    files = DataFiles.of([FileStatus(f"/{n}", 1, 1) for n in range(4)])
    table = MetadataTable(files, {}, {definition.key: IndexColumn(definition, storage, values)})
    between = And((Comparison(Op.GT, INT, 3), Comparison(Op.LT, INT, 6)))
    found = prune(translate(between, IndexCatalog(((definition, storage),))), table)
    assert found.skip.tolist() == [True, False, True, False]
    assert asked == list(between.children)
    assert [(o.predicate, o.ruled_out) for o in outcomes_of(found)] == [
        ("c > ?", 0),
        ("c < ?", 1),
        ("c > ? AND c < ?", 2),
    ]
