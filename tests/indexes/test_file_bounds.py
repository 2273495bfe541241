"""The least and the greatest value of a column in each file, from the values of an index."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import POOLS, order, to_arrow
from xskip.indexes.file_bounds import bounded_type, bounds_of_files
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Array, Atomic, Bloom, Struct, arrow_type
from xskip.types.sort_keys import sort_key

BOUNDS = Struct((("min", "int"), ("max", "int")))


@pytest.mark.parametrize(
    ("name", "columns", "storage", "kind"),
    [
        ("minmax", ("a",), BOUNDS, "int"),
        ("pathbounds", ("a",), BOUNDS, "int"),
        ("gaplist", ("a",), Array("double"), "double"),
        ("valuelist", ("a",), Array("string"), "string"),
        ("formatted", ("a",), Array("string"), None),
        ("bloomfilter", ("a",), Bloom(), None),
        ("hybrid", ("a",), Struct((("values", "array<int>"), ("filter", "binary"))), None),
        ("nullcount", ("a",), Atomic("bigint"), None),
        ("minmax", ("a", "b"), BOUNDS, None),
        ("minmax", ("a",), Struct((("min", "interval day"), ("max", "interval day"))), None),
    ],
)
def test_which_indexes_have_bounds(name: Any, columns: Any, storage: Any, kind: Any) -> None:
    """[REP-P-3]"""
    assert bounded_type(IndexDefinition(name, columns), storage) == kind


def test_an_index_on_an_expression_has_no_bounds_of_a_column() -> None:
    """[REP-P-3]"""
    definition = IndexDefinition("minmax", ("size(a)",), (("io.xskip.index.expression", "size(a)"),))
    assert bounded_type(definition, BOUNDS) is None


@pytest.mark.parametrize("kind", ["int", "bigint", "double", "string", "binary", "date", "timestamp", "boolean"])
def test_bounds_of_lists_are_the_least_and_the_greatest_value(kind: str) -> None:
    """[REP-P-3]"""
    lists = st.lists(st.one_of(st.none(), st.lists(st.sampled_from(POOLS[kind]), max_size=4)), max_size=6)

    @given(lists)
    def check(files: list[list[Any] | None]) -> None:
        flat = to_arrow([value for values in files for value in values or ()], arrow_type(kind))
        ends, total = [0], 0
        for values in files:
            total += len(values or ())
            ends.append(total)
        missing = pa.array([values is None for values in files], pa.bool_())
        found = bounds_of_files(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat, mask=missing))
        for side, choose in ((found.low, min), (found.high, max)):
            expected = [choose(values, key=order) if values else None for values in files]
            assert sort_key(side).equals(sort_key(to_arrow(expected, arrow_type(kind))))

    check()


def test_bounds_of_structs() -> None:
    """[REP-P-3]"""
    rows = [{"min": 1, "max": 3}, None, {"min": None, "max": 5}, {"min": 9, "max": 2}, {"min": None, "max": None}]
    found = bounds_of_files(pa.array(rows, arrow_type(BOUNDS)))
    assert found.low.to_pylist() == [1, None, None, None, None]
    assert found.high.to_pylist() == [3, None, 5, None, None]
