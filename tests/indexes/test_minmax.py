"""A clause over a MinMax gives the verdict that the bounds prove, for each kind of leaf."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.indexes.translated import translated
from tests.reference import all_true, to_arrow
from xskip.errors import IndexDefinitionError, UnsupportedTypeError
from xskip.expressions.operands import Cast, Column
from xskip.expressions.predicate import Comparison, In, IsNotNull, IsNull, Leaf, NotIn, NotStartsWith, Op, StartsWith
from xskip.indexes import MinMax, index_of
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.types.datatypes import Struct, arrow_type
from xskip.types.sort_keys import sort_key

NAN = float("nan")
INF = float("inf")
MISSING = "missing"  # a null struct: nothing is known


def verdicts(leaf: Leaf, bounds: list[Any], spark_type: str) -> list[bool | None]:
    """Return the verdicts on files with these ``(min, max)``."""
    index = MinMax("c")
    storage = index.storage([spark_type])
    values = index.assemble(
        [to_arrow([None if b is MISSING else b[i] for b in bounds], arrow_type(spark_type)) for i in (0, 1)],
        [spark_type],
    )
    unknown = pa.array([b is MISSING for b in bounds], pa.bool_())
    values = pa.StructArray.from_arrays(values.flatten(), fields=list(values.type), mask=unknown)
    definition = IndexDefinition("minmax", ("c",), types=(spark_type,))
    files = DataFiles.of([FileStatus(f"/{i}", 1, 1) for i in range(len(bounds))])
    table = MetadataTable(files, {}, {definition.key: IndexColumn(definition, storage, values)})
    clause = translated(index.translate(leaf, definition, storage))
    found: list[bool | None] = clause.evaluate(table, all_true(len(bounds))).to_pylist()
    return found


INT = Column(("c",), "int")
# nothing known, no value at all, only a minimum, only a maximum, one value, a range
SHAPES = [MISSING, (None, None), (5, None), (None, 5), (5, 5), (3, 7)]


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        (Comparison(Op.EQ, INT, 5), [None, False, None, None, True, True]),
        (Comparison(Op.EQ, INT, 3), [None, False, False, None, False, True]),
        (Comparison(Op.EQ, INT, 8), [None, False, None, False, False, False]),
        (Comparison(Op.NE, INT, 5), [None, False, None, None, False, True]),
        (Comparison(Op.NE, INT, 3), [None, False, True, True, True, True]),
        (Comparison(Op.LT, INT, 3), [None, False, False, None, False, False]),
        (Comparison(Op.LT, INT, 6), [None, False, True, None, True, True]),
        (Comparison(Op.LE, INT, 3), [None, False, False, None, False, True]),
        (Comparison(Op.GT, INT, 7), [None, False, None, False, False, False]),
        (Comparison(Op.GT, INT, 4), [None, False, None, True, True, True]),
        (Comparison(Op.GE, INT, 7), [None, False, None, False, False, True]),
        (In(INT, (1, 2)), [None, False, None, None, False, False]),
        (In(INT, (5, 9)), [None, False, None, None, True, True]),
        (In(INT, ()), [None, False, None, None, False, False]),
        (In(INT, (), has_null=True), [None, False, None, None, False, False]),
        (In(INT, (1,), has_null=True), [None, False, None, None, False, False]),
        (NotIn(INT, (5, 6)), [None, False, None, True, False, True]),
        (NotIn(INT, (3, 7)), [None, False, True, True, True, True]),
        (NotIn(INT, (4, 6)), [None, False, True, True, True, True]),
        (NotIn(INT, (5,), has_null=True), [None, False, False, False, False, False]),
        (NotIn(INT, (9,), has_null=True), [None, False, False, False, False, False]),
        (IsNotNull(INT), [None, False, True, True, True, True]),
        (Comparison(Op.GT, Cast(INT, "bigint"), 2**31), [None, False, None, False, False, False]),
        (Comparison(Op.EQ, Cast(INT, "decimal(12,1)"), Decimal("5.5")), [None, False, None, False, False, True]),
    ],
    ids=str,
)
def test_verdicts_by_shape_of_the_bounds(leaf: Any, expected: Any) -> None:
    """[PRU-MM-1] [PRU-MM-2] [PRU-MM-3] [PRU-MM-4] [PRU-MM-5] [PRU-MM-7] [PRU-V-3] Verdicts follow from the bounds."""
    assert verdicts(leaf, SHAPES, "int") == expected


def test_not_equal_on_minmax() -> None:
    """[SND-1] [PRU-MM-3] The bounds 1 and 9 rule out no file for <>, equal bounds do."""
    for value in (1, 5, 9):
        assert verdicts(Comparison(Op.NE, INT, value), [(1, 9), (value, value)], "int") == [True, False]


def test_not_in_with_null_on_minmax() -> None:
    """[SND-8] [PRU-MM-4] NOT IN with NULL is never TRUE."""
    assert verdicts(NotIn(INT, (1,), has_null=True), [(2, 3), MISSING], "int") == [False, None]


def test_empty_in_on_minmax() -> None:
    """[SND-9] [PRU-MM-4] IN with an empty list is never TRUE."""
    assert verdicts(In(INT, ()), [(2, 3), MISSING], "int") == [False, None]


def test_is_null_is_not_answered_by_minmax() -> None:
    """[SND-6] [PRU-MM-6]"""
    definition = IndexDefinition("minmax", ("c",))
    assert MinMax("c").translate(IsNull(INT), definition, MinMax("c").storage(["int"])) is None


def test_absent_bounds_are_not_all_null_on_minmax() -> None:
    """[SND-12] [PRU-V-3]"""
    assert verdicts(Comparison(Op.EQ, INT, 1), [MISSING, (None, None)], "int") == [None, False]
    assert verdicts(IsNotNull(INT), [MISSING, (None, None)], "int") == [None, False]


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        # bounds: [5, NaN], [NaN, NaN], [-0.0, -0.0], [-inf, inf]
        (lambda c: Comparison(Op.NE, c, 5.0), [True, True, True, True]),
        (lambda c: Comparison(Op.GT, c, 9.0), [True, True, False, True]),
        (lambda c: Comparison(Op.GT, c, INF), [True, True, False, False]),
        (lambda c: Comparison(Op.GT, c, NAN), [False, False, False, False]),
        (lambda c: Comparison(Op.GE, c, NAN), [True, True, False, False]),
        (lambda c: Comparison(Op.LT, c, NAN), [True, False, True, True]),
        (lambda c: Comparison(Op.EQ, c, NAN), [True, True, False, False]),
        (lambda c: Comparison(Op.NE, c, NAN), [True, False, True, True]),
        (lambda c: In(c, (NAN,)), [True, True, False, False]),
        (lambda c: NotIn(c, (NAN,)), [True, False, True, True]),
        (lambda c: Comparison(Op.EQ, c, 0.0), [False, False, True, True]),
        (lambda c: Comparison(Op.LT, c, 0.0), [False, False, False, True]),
        (lambda c: Comparison(Op.NE, c, 0.0), [True, True, False, True]),
        (lambda c: In(c, (0.0,)), [False, False, True, True]),
        (lambda c: NotIn(c, (0.0,)), [True, True, False, True]),
    ],
)
@pytest.mark.parametrize("spark_type", ["float", "double"])
def test_nan_zeros_and_infinities_on_minmax(leaf: Any, expected: Any, spark_type: str) -> None:
    """[SND-10] [SND-11] [SND-21] [PRU-MM-1] [PRU-V-5] Bounds with NaN, zeros and infinities are in Spark's order."""
    bounds = [(5.0, NAN), (NAN, NAN), (-0.0, -0.0), (-INF, INF)]
    assert verdicts(leaf(Column(("c",), spark_type)), bounds, spark_type) == expected


STR = Column(("c",), "string")


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        # bounds: ["ab", "ab"], ["abc1", "abc9"], ["a", "c"], ["z", "U+1F600"], missing, no value
        (StartsWith(STR, b"abc"), [False, True, True, False, None, False]),
        (StartsWith(STR, b"ab"), [True, True, True, False, None, False]),
        (StartsWith(STR, b""), [True, True, True, True, None, False]),
        (StartsWith(STR, "\ufffd".encode()), [False, False, False, True, None, False]),
        (StartsWith(STR, b"\xf0\x9f"), [False, False, False, True, None, False]),
        (StartsWith(STR, b"\xff"), [False, False, False, False, None, False]),
        (NotStartsWith(STR, b"abc"), [True, False, True, True, None, False]),
        (NotStartsWith(STR, b"ab"), [False, False, True, True, None, False]),
        (NotStartsWith(STR, b"a"), [False, False, True, True, None, False]),
        (NotStartsWith(STR, b""), [False, False, False, False, None, False]),
        (NotStartsWith(STR, b"\xff"), [True, True, True, True, None, False]),
        (Comparison(Op.EQ, STR, b"abc5"), [False, True, True, False, None, False]),
        (Comparison(Op.EQ, STR, "\ufffd".encode()), [False, False, False, True, None, False]),
        (Comparison(Op.GT, STR, "\ufffd".encode()), [False, False, False, True, None, False]),
        (In(STR, (b"zz", b"abc")), [False, False, True, True, None, False]),
        (NotIn(STR, (b"ab", b"abc1")), [False, True, True, True, None, False]),
    ],
    ids=str,
)
def test_strings_and_prefixes_on_minmax(leaf: Any, expected: Any) -> None:
    """[SND-3] [SND-15] [SND-18] [PRU-MM-8] Strings are compared as UTF-8 bytes, and a prefix is a range of strings."""
    bounds = [(b"ab", b"ab"), (b"abc1", b"abc9"), (b"a", b"c"), (b"z", "\U0001f600".encode()), MISSING, (None, None)]
    assert verdicts(leaf, bounds, "string") == expected


def test_not_starts_with_on_minmax_with_one_bound() -> None:
    """[SND-5] [PRU-MM-5] [PRU-MM-8] A single bound never proves that all values start with a prefix."""
    bounds = [(b"ab", None), (None, b"ab"), (b"b", None), (None, b"A")]
    assert verdicts(NotStartsWith(STR, b"ab"), bounds, "string") == [None, None, None, None]
    assert verdicts(StartsWith(STR, b"ab"), bounds, "string") == [None, None, False, False]


def test_prefixes_of_ff_bytes_on_minmax() -> None:
    """[SND-15] [PRU-MM-8] A prefix of 0xFF bytes has no upper end."""
    bounds = [(b"\xfe", b"\xfe\xff"), (b"\xff", b"\xff\xff"), (b"a", b"a\xff")]
    column = Column(("c",), "binary")
    assert verdicts(StartsWith(column, b"\xff"), bounds, "binary") == [False, True, False]
    assert verdicts(NotStartsWith(column, b"\xff"), bounds, "binary") == [True, False, True]
    assert verdicts(StartsWith(column, b"\xfe\xff"), bounds, "binary") == [True, False, False]
    assert verdicts(NotStartsWith(column, b"a\xff"), [*bounds, (b"a\xff", b"a\xff\xff")], "binary") == [
        True, True, True, False,
    ]  # fmt: skip


MANY: dict[str, tuple[tuple[Any, Any], list[Any], list[Any]]] = {
    "boolean": ((False, False), [True], [False]),
    "tinyint": ((-5, 5), [-6, 6, 127], [-6, 5]),
    "bigint": ((2**53, 2**53 + 2), [2**53 - 1, 2**53 + 3], [2**53 + 1]),
    "string": ((b"b", b"d"), [b"a", b"d0", "\U0001f600".encode()], [b"a", b"c"]),
    "binary": ((b"\x7f", b"\x80"), [b"\x7e", b"\x80\x00", b"\xff"], [b"\x7f\xff"]),
    "date": ((-10, 10), [-11, 11, 2**31 - 1], [0]),
    "timestamp": ((-1, 1), [-2, 2, 2**63 - 1], [-1]),
    "timestamp_ntz": ((-1, 1), [-2, 2, -(2**63)], [1]),
    "float": ((-1.5, 1.5), [-INF, INF, NAN], [NAN, 0.25]),
    "double": ((1.0, NAN), [0.5, -INF], [0.5, NAN]),
    "decimal(10,2)": (
        (Decimal("-1.50"), Decimal("1.50")),
        [Decimal("-1.51"), Decimal("1.51"), Decimal("99999999.99")],
        [Decimal("-0.01")],
    ),
    "decimal(38,10)": ((Decimal("-1.5"), Decimal("1.5")), [Decimal("-2"), Decimal("2")], [Decimal("1")]),
    "interval year to month": ((0, 12), [-1, 13], [12]),
    "interval day to second": ((0, 10**12), [-1, 2**63 - 1], [10**12]),
}


@pytest.mark.parametrize("spark_type", MANY)
def test_in_with_values_outside_and_inside_of_the_bounds_for_every_type(spark_type: Any) -> None:
    """[PRU-MM-4] IN is true if a value lies between the bounds."""
    bounds, outside, inside = MANY[spark_type]
    column = Column(("c",), spark_type)
    shapes = [bounds, MISSING, (None, None)]
    assert verdicts(In(column, tuple(outside)), shapes, spark_type) == [False, None, False]
    assert verdicts(In(column, tuple(inside)), shapes, spark_type) == [True, None, False]
    assert verdicts(In(column, (*outside, *inside)), shapes, spark_type) == [True, None, False]


def test_in_with_a_thousand_values_finds_the_gaps() -> None:
    """[PRU-MM-4]"""
    wanted = tuple(range(0, 10_000, 10))
    bounds = [(1, 9), (1, 10), (9_991, 20_000), (-5, -1), (15, 25), (-(2**31), 2**31 - 1)]
    assert verdicts(In(INT, wanted), bounds, "int") == [False, True, False, False, True, True]


def test_an_index_that_the_table_lacks_is_unknown() -> None:
    """[PRU-V-3]"""
    index, definition = MinMax("c"), IndexDefinition("minmax", ("c",))
    clause = translated(index.translate(Comparison(Op.EQ, INT, 1), definition, index.storage(["int"])))
    table = MetadataTable(DataFiles.of([FileStatus("/x", 1, 1)] * 2))
    assert clause.evaluate(table, all_true(2)).to_pylist() == [None, None]
    assert not clause.expensive


def test_keys_of_a_column_are_made_once_for_all_leaves_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[pa.DataType] = []

    def noted(values: pa.Array) -> pa.Array:
        made.append(values.type)
        return sort_key(values)

    monkeypatch.setattr("xskip.clauses.bounds.sort_key", noted)
    index, definition = MinMax("c"), IndexDefinition("minmax", ("c",), types=("int",))
    values = index.assemble([pa.array([1, 5]), pa.array([4, None])], ["int"])
    column = IndexColumn(definition, index.storage(["int"]), values)
    table = MetadataTable(DataFiles.of([FileStatus("/x", 1, 1)] * 2), {}, {definition.key: column})
    wide = Cast(INT, "bigint")
    found = [
        translated(index.translate(Comparison(op, operand, 4), definition, column.storage))
        .evaluate(table, all_true(2))
        .to_pylist()
        for operand in (INT, wide)
        for op in Op
    ]
    assert made == [pa.int32()] * 2 + [pa.int64()] * 2
    assert found[:6] == found[6:]
    assert found[:6] == [verdicts(Comparison(op, INT, 4), [(1, 4), (5, None)], "int") for op in Op]


def test_a_table_without_files_has_no_verdicts() -> None:
    assert verdicts(In(INT, (1,)), [], "int") == []
    assert verdicts(Comparison(Op.NE, INT, 1), [], "int") == []


def test_metadata_is_stored_as_a_struct_of_bounds() -> None:
    assert MinMax("c").storage(["int"]) == Struct((("min", "int"), ("max", "int")))
    assert MinMax("c").storage(["interval hour to second"]) == Struct(
        (
            ("min", "interval day to second"),
            ("max", "interval day to second"),
        )
    )


def test_assembled_bounds_keep_a_struct_of_nulls_for_a_file_without_values() -> None:
    """[PRU-MM-7]"""
    values = MinMax("c").assemble([pa.array([1, None]), pa.array([2, None])], ["bigint"])
    assert values.to_pylist() == [{"min": 1, "max": 2}, {"min": None, "max": None}]
    assert values.null_count == 0


@pytest.mark.parametrize("spark_type", ["array<int>", "map<int,int>", "variant", "interval", "string collate UNICODE"])
def test_unsupported_types_are_refused(spark_type: str) -> None:
    with pytest.raises(UnsupportedTypeError) as caught:
        MinMax("a.`b.c`").storage([spark_type])
    assert str(caught.value) == (
        f"MinMax cannot index this type (where: column a.`b.c`; found: {spark_type}; expected: one of boolean, tinyint,"
        " smallint, int, bigint, float, double, string, binary, date, timestamp, timestamp_ntz, decimal,"
        " interval year to month, interval day to second)"
    )
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("column", ["", "a.", "`a", "a..b"])
def test_invalid_columns_are_refused(column: str) -> None:
    with pytest.raises(IndexDefinitionError, match="put a name that holds a dot in backticks"):
        MinMax(column)


def test_a_definition_restores_the_index_type() -> None:
    index = MinMax("a.`b.c`", key_label="k1")
    definition = IndexDefinition(index.name, index.columns, index.params, index.key_label)
    assert definition.params == ()
    assert index_of(definition) == index
    assert index_of(IndexDefinition("minmax", ("a", "b"))) is None
    assert index_of(IndexDefinition("no such index", ("a",))) is None
