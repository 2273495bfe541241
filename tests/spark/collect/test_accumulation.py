"""The results of accumulators: hashes as numbers, and the merge of the results of parts of a file."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.collect.kernel_reference import arrow_of
from xskip.indexes.accumulator import Accumulator, Input
from xskip.spark.collect.accumulation import Accumulation

NAN, INF = math.nan, math.inf
FAR = Decimal(10) ** 27


def accumulation(kind: Any, spark_type: str, cap: int = 0) -> Accumulation:
    return Accumulation(Input("x", spark_type), Accumulator(kind, cap))


@pytest.mark.parametrize(
    ("spark_type", "rows", "bounds"),
    [
        ("int", [(5, 9), (None, None), (-3, 7)], (-3, 9)),
        ("int", [(None, None), (None, None)], (None, None)),
        ("double", [(1.0, 2.0), (NAN, NAN)], (1.0, NAN)),
        ("double", [(NAN, NAN), (NAN, NAN)], (NAN, NAN)),
        ("double", [(-INF, 1.0), (NAN, NAN), (0.0, INF)], (-INF, NAN)),
        ("double", [(-0.0, -0.0), (0.0, 0.0)], (-0.0, -0.0)),
        ("float", [(0.0, 0.0), (-0.0, -0.0), (None, None)], (0.0, 0.0)),
        ("boolean", [(True, True), (False, True)], (False, True)),
        ("string", [("\ufffd", "\ufffd"), ("\U0001f600", "\U0001f600")], ("\ufffd", "\U0001f600")),
        ("string", [("", "b"), ("a", "ab")], ("", "b")),
        ("binary", [(b"\x80", b"\xff"), (b"\x7f", b"\x7f")], (b"\x7f", b"\xff")),
        ("decimal(38,0)", [(-FAR, FAR), (Decimal(-1), FAR + 1)], (-FAR, FAR + 1)),
        ("date", [(-700000, -700000), (19000, 19001)], (-700000, 19001)),
    ],
    ids=str,
)  # fmt: skip
def test_bounds_merge_in_the_order_of_spark(spark_type: str, rows: Any, bounds: Any) -> None:
    assert merged(accumulation("bounds", spark_type), rows) == as_text([(bound,) for bound in bounds])


@pytest.mark.parametrize(
    ("given", "rows", "results"),
    [
        (accumulation("counts", "int"), [(1, 4), (0, 2), (3, 3)], (4, 9)),
        (accumulation("values", "int", 3), [([1, 2],), ([2],), ([3, 1],)], ([1, 2, 3],)),
        (accumulation("values", "int", 2), [([1, 2],), ([2],), ([3, 1],)], (None,)),
        (accumulation("values", "int", 3), [([1],), (None,)], (None,)),
        (accumulation("values", "int", 3), [([],), ([],)], ([],)),
        (accumulation("values", "double", 3), [([NAN, 0.0],), ([0.0, INF, NAN],)], ([NAN, 0.0, INF],)),
        (accumulation("values", "string", 3), [(["", "é"],), (["é"],)], (["", "é"],)),
        (accumulation("values", "array<date>", 3), [([7],), ([-7],)], ([7, -7],)),
        (accumulation("ranges", "int", 1), [([1, 5],), ([],), ([3, 9],)], ([1, 5, 3, 9],)),
        (accumulation("ranges", "double", 2), [([-INF, 0.0, NAN, NAN],), ([1.0, 1.0],)],
         ([-INF, 0.0, NAN, NAN, 1.0, 1.0],)),
        (accumulation("boxes", "array<double>", 1), [([-INF, NAN, 0.0, 1.0],), ([2.0, 3.0, 4.0, 5.0],)],
         ([-INF, NAN, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0],)),
        (accumulation("hashes", "string"), [([1, 2], None), ([2, -3], None)], ([1, 2, -3], None)),
        (accumulation("words", "string"), [([], None), ([4], None)], ([4], None)),
        (accumulation("hashes", "string"), [(None, b"filter"), ([2], None)], (None, None)),
    ],
)  # fmt: skip
def test_results_of_parts_merge(given: Any, rows: Any, results: Any) -> None:
    assert merged(given, rows) == as_text([(result,) for result in results])


@pytest.mark.parametrize("kind", ["hashes", "words"])
def test_the_filter_of_a_whole_file_stays(kind: Any) -> None:
    given = accumulation(kind, "string")
    columns = columns_of(given, [(None, b"one"), ([1], None), ([2], None), (None, b"two")])
    hashes, filters = given.merge(columns, [(0, 1), (1, 3), (3, 4)])
    assert hashes.to_pylist() == [None, [1, 2], None]
    assert filters.to_pylist() == [b"one", None, b"two"]


@pytest.mark.parametrize("kind", ["hashes", "words"])
def test_hashes_become_numbers(kind: Any) -> None:
    numbers = [[], [1, -1], None, [2**63 - 1, -(2**63), 0], [7]]
    packed = [None if n is None else b"".join(v.to_bytes(8, "little", signed=True) for v in n) for n in numbers]
    filters = pa.chunked_array([[None, None, b"filter", None, None]], pa.binary())
    whole = pa.array(packed, pa.binary())
    for start in range(len(packed) + 1):
        hashes = pa.chunked_array([whole[start:], whole[:start], whole[:0]])
        decoded, same = accumulation(kind, "string").decode([hashes, filters])
        assert decoded.type == pa.list_(pa.int64())
        assert decoded.to_pylist() == numbers[start:] + numbers[:start]
        assert same is filters


def test_other_results_stay_as_they_are() -> None:
    for kind, count in (("bounds", 2), ("counts", 2), ("values", 1), ("ranges", 1), ("boxes", 1)):
        columns = [pa.chunked_array([[1]]) for _ in range(count)]
        assert accumulation(kind, "bigint").decode(columns) == columns


def columns_of(accumulation: Accumulation, rows: Any) -> list[pa.Array]:
    """Return the decoded result columns of rows."""
    is_hashed = accumulation.accumulator.kind in ("hashes", "words")
    kinds = [pa.list_(pa.int64()), pa.binary()] if is_hashed else map(arrow_of, accumulation.result_types)
    return [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]


def merged(accumulation: Accumulation, rows: Any) -> list[str]:
    """Return the merged result columns of a file between two others, which have the same first row."""
    columns = columns_of(accumulation, [rows[0], *rows, rows[0]])
    end = 1 + len(rows)
    merged = [column.to_pylist() for column in accumulation.merge(columns, [(0, 1), (1, end), (end, end + 1)])]
    return as_text([(column[1],) for column in merged])


def as_text(values: Any) -> list[str]:
    """Return values as texts, which tell 0.0 from -0.0 and take NaN for equal to itself."""
    return [repr(value) for value in values]
