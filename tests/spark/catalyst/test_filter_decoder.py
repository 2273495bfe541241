"""Filters in the hook's encoding are decoded into predicates, without Spark."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest

from xskip.expressions.condition_reasons import Incomparable, OtherReason, UnsupportedNode
from xskip.expressions.operands import Cast, Column, Derived, Elements, FileColumn
from xskip.expressions.predicate import (
    And,
    ColumnComparison,
    Comparison,
    Constant,
    Equivalent,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)
from xskip.spark.catalyst.filter_decoder import to_predicate
from xskip.spark.catalyst.literals import literal_value

A = ["$", ["a"], "int"]
B = ["$", ["b"], "int"]
L = ["$", ["l"], "array<int>"]
S = ["$", ["s"], "string"]
D = ["$", ["d"], "double"]
FLAG = ["$", ["f"], "boolean"]
a, s, d, f, b, w, ls = (
    Column((name,), kind)
    for name, kind in (
        ("a", "int"), ("s", "string"), ("d", "double"), ("f", "boolean"), ("b", "int"), ("w", "bigint"),
        ("l", "array<int>"),
    )
)  # fmt: skip
equal_a = Comparison(Op.EQ, a, 5)
REST = Unknown(OtherReason("xskip uses only the literal prefix of the LIKE pattern"))


def lit(kind: str, value: Any) -> list[Any]:
    return ["#", kind, value]


def five() -> list[Any]:
    return lit("int", 5)


def like(pattern: str, escape: str = "\\") -> list[Any]:
    return ["Like", S, lit("string", pattern), escape]


def predicate(node: Any) -> Predicate:
    return to_predicate(json.loads(json.dumps([node])))


@pytest.mark.parametrize(
    ("name", "op", "turned"),
    [
        ("EqualTo", Op.EQ, Op.EQ),
        ("LessThan", Op.LT, Op.GT),
        ("LessThanOrEqual", Op.LE, Op.GE),
        ("GreaterThan", Op.GT, Op.LT),
        ("GreaterThanOrEqual", Op.GE, Op.LE),
    ],
)
def test_a_literal_may_be_on_either_side_of_a_comparison(name: str, op: Any, turned: Any) -> None:
    assert predicate([name, A, five()]) == Comparison(op, a, 5)
    assert predicate([name, five(), A]) == Comparison(turned, a, 5)
    assert predicate([name, A, lit("int", None)]) == Constant(None)
    assert predicate([name, lit("int", None), A]) == Constant(None)
    assert predicate(["Not", [name, A, five()]]) == Comparison(op.negated, a, 5)
    assert predicate(["Not", [name, A, lit("int", None)]]) == Constant(None)


EQUAL = And((IsNotNull(a), Comparison(Op.EQ, a, 5)))

CASES = [
    # EqualNullSafe is never NULL
    (["EqualNullSafe", A, five()], EQUAL),
    (["EqualNullSafe", five(), A], EQUAL),
    (["Not", ["EqualNullSafe", A, five()]], Or((IsNull(a), Comparison(Op.NE, a, 5)))),
    (["EqualNullSafe", A, lit("int", None)], IsNull(a)),
    (["EqualNullSafe", lit("int", None), A], IsNull(a)),
    (["Not", ["EqualNullSafe", A, lit("int", None)]], IsNotNull(a)),
    (
        ["EqualNullSafe", ["$", ["m"], "map<int,int>"], lit("map<int,int>", None)],
        IsNull(Column(("m",), "map<int,int>")),
    ),
    (["EqualNullSafe", A, S], Unknown(Incomparable("int", "string"))),
    (
        ["EqualNullSafe", A, B],
        Or((And((IsNotNull(a), IsNotNull(b), ColumnComparison(Op.EQ, a, b))), And((IsNull(a), IsNull(b))))),
    ),
    # null tests
    (["IsNull", A], IsNull(a)),
    (["IsNotNull", A], IsNotNull(a)),
    (["Not", ["IsNull", A]], IsNotNull(a)),
    (["IsNull", five()], Constant(False)),
    (["IsNull", lit("int", None)], Constant(True)),
    (["IsNotNull", five()], Constant(True)),
    (["IsNotNull", lit("int", None)], Constant(False)),
    (["IsNull", ["$", ["x"], "array<int>"]], IsNull(Column(("x",), "array<int>"))),
    (["IsNotNull", ["$", ["x"], "string collate UTF8_LCASE"]], IsNotNull(Column(("x",), "string collate UTF8_LCASE"))),
    (
        ["IsNull", ["Cast", A, {"t": "bigint"}, None, "ANSI"]],
        Unknown(UnsupportedNode("the function or operator 'cast'")),
    ),
    # IN
    (["In", A, "int", [1, 2]], In(a, (1, 2))),
    (["In", A, "int", [1, None]], In(a, (1,), has_null=True)),
    (["In", A, "int", [None]], In(a, (), has_null=True)),
    (["In", A, "int", []], In(a, ())),
    (["Not", ["In", A, "int", [1, 2]]], NotIn(a, (1, 2))),
    (["Not", ["In", A, "int", [1, None]]], NotIn(a, (1,), has_null=True)),
    (["Not", ["In", A, "int", []]], Constant(True)),
    (["Not", ["In", A, "int", [None]]], Constant(None)),
    (["In", S, "string", ["x", None, "é"]], In(s, (b"x", "é".encode()), has_null=True)),
    (["In", A, "bigint", [1]], Unknown(Incomparable("int", "a list of bigint"))),
    (["In", ["Cast", A, {"t": "bigint"}], "bigint", [1]], In(Cast(a, "bigint"), (1,))),
    (
        ["In", ["$", ["t"], "time(6)"], "time(6)", [1]],
        Unknown(OtherReason("xskip cannot compare values of type time(6)")),
    ),
    (["In", A, [A, five()]], Unknown(UnsupportedNode("the function or operator 'in'"))),
    # prefixes
    (["StartsWith", S, lit("string", "ab")], StartsWith(s, b"ab")),
    (["StartsWith", S, lit("string", "")], StartsWith(s, b"")),
    (["StartsWith", S, lit("string", {"b64": "/w=="})], StartsWith(s, b"\xff")),
    (["StartsWith", S, lit("string", None)], Constant(None)),
    (["Not", ["StartsWith", S, lit("string", "ab")]], NotStartsWith(s, b"ab")),
    (
        ["StartsWith", ["$", ["x"], "binary"], lit("string", "a")],
        Unknown(UnsupportedNode("prefixes of type binary")),
    ),
    (["StartsWith", S, S], Unknown(UnsupportedNode("the function or operator 'starts with'"))),
    (["EndsWith", S, lit("string", "ab")], Unknown(UnsupportedNode("the function or operator 'ends with'"))),
    # LIKE, its escapes and wildcards
    (like("foo"), Comparison(Op.EQ, s, b"foo")),
    (like(""), Comparison(Op.EQ, s, b"")),
    (like("foo%"), StartsWith(s, b"foo")),
    (like("%"), StartsWith(s, b"")),
    (like("foo%%"), And((StartsWith(s, b"foo"), REST))),
    (like("foo_"), And((StartsWith(s, b"foo"), REST))),
    (like("_foo"), And((StartsWith(s, b""), REST))),
    (like("fo%o"), And((StartsWith(s, b"fo"), REST))),
    (like("%foo"), And((StartsWith(s, b""), REST))),
    (like("foo\\_%"), StartsWith(s, b"foo_")),
    (like("foo\\%"), Comparison(Op.EQ, s, b"foo%")),
    (like("foo\\%%"), StartsWith(s, b"foo%")),
    (like("foo\\\\%"), StartsWith(s, b"foo\\")),
    (like("foo\\\\"), Comparison(Op.EQ, s, b"foo\\")),
    (like("foo\\"), Unknown(OtherReason("the LIKE pattern has an escape before an ordinary character"))),
    (like("fo\\o%"), Unknown(OtherReason("the LIKE pattern has an escape before an ordinary character"))),
    (like("foo/_%", "/"), StartsWith(s, b"foo_")),
    (like("foo\\%", "/"), StartsWith(s, b"foo\\")),
    (like("100%%", "%"), Comparison(Op.EQ, s, b"100%")),
    (like("é\U0001f600%"), StartsWith(s, "é\U0001f600".encode())),
    (["Not", like("foo%")], NotStartsWith(s, b"foo")),
    (["Not", like("foo_")], Or((NotStartsWith(s, b"foo"), REST))),
    (["Not", like("foo")], Comparison(Op.NE, s, b"foo")),
    (["Like", S, lit("string", None), "\\"], Unknown(UnsupportedNode("the function or operator 'like'"))),
    (["Like", S, S, "\\"], Unknown(UnsupportedNode("the function or operator 'like'"))),
    # truth values
    (FLAG, Comparison(Op.EQ, f, True)),
    (["Not", FLAG], Comparison(Op.NE, f, True)),
    (["EqualTo", FLAG, lit("boolean", False)], Comparison(Op.EQ, f, False)),
    (lit("boolean", True), Constant(True)),
    (lit("boolean", False), Constant(False)),
    (lit("boolean", None), Constant(None)),
    (["Not", lit("boolean", None)], Constant(None)),
    # AND, OR, NOT
    (["And", FLAG, ["IsNull", A]], And((Comparison(Op.EQ, f, True), IsNull(a)))),
    (["Or", FLAG, ["IsNull", A]], Or((Comparison(Op.EQ, f, True), IsNull(a)))),
    (["Not", ["And", FLAG, ["IsNull", A]]], Or((Comparison(Op.NE, f, True), IsNotNull(a)))),
    (["Not", ["Or", FLAG, ["IsNull", A]]], And((Comparison(Op.NE, f, True), IsNotNull(a)))),
    (["Not", ["Not", FLAG]], Comparison(Op.EQ, f, True)),
    (["Not", ["Rand", 5]], Unknown(UnsupportedNode("the function or operator 'rand'"))),
    # casts
    (
        ["EqualTo", ["Cast", A, {"t": "bigint"}, "UTC", "ANSI"], lit("bigint", 2**31)],
        Comparison(Op.EQ, Cast(a, "bigint"), 2**31),
    ),
    (
        ["LessThan", lit("decimal(12,1)", "1.5"), ["Cast", A, {"t": "decimal(12,1)"}]],
        Comparison(Op.GT, Cast(a, "decimal(12,1)"), Decimal("1.5")),
    ),
    (
        ["EqualTo", ["Cast", A, {"t": "double"}], lit("double", "1.5")],
        Unknown(OtherReason("a cast of a to double can change values or their order")),
    ),
    (
        ["GreaterThan", ["Cast", S, {"t": "int"}], lit("int", 10)],
        Unknown(OtherReason("a cast of s to int can change values or their order")),
    ),
    (
        ["EqualTo", ["Cast", ["$", ["t"], "timestamp"], {"t": "date"}], lit("date", 0)],
        Unknown(OtherReason("a cast of t to date can change values or their order")),
    ),
    (
        ["GreaterThanOrEqual", ["Cast", ["$", ["x"], "date"], {"t": "timestamp"}], lit("timestamp", 0)],
        Unknown(OtherReason("a cast of x to timestamp can change values or their order")),
    ),
    (
        ["EqualTo", ["Cast", ["Cast", A, {"t": "bigint"}], {"t": "decimal(20,0)"}], lit("decimal(20,0)", "1")],
        Unknown(OtherReason("a cast of cast(a as bigint) to decimal(20,0) can change values or their order")),
    ),
    (
        ["EqualTo", ["Cast", ["Abs", A], {"t": "bigint"}], lit("bigint", 1)],
        Unknown(UnsupportedNode("the function or operator 'abs'")),
    ),
    # a literal of another type than the column's
    (["EqualTo", A, lit("bigint", 5)], Unknown(Incomparable("int", "bigint"))),
    (
        ["EqualTo", ["$", ["c"], "decimal(10,2)"], lit("decimal(10,1)", "1.5")],
        Unknown(Incomparable("decimal(10,2)", "decimal(10,1)")),
    ),
    (
        ["EqualTo", S, lit("string collate UTF8_LCASE", "x")],
        Unknown(Incomparable("string", "string collate UTF8_LCASE")),
    ),
    # collations
    (
        ["EqualTo", ["$", ["s"], "string collate UTF8_LCASE"], lit("string collate UTF8_LCASE", "x")],
        Unknown(OtherReason("xskip cannot compare values of type string collate UTF8_LCASE")),
    ),
    (
        ["StartsWith", ["$", ["s"], "string collate UNICODE"], lit("string", "x")],
        Unknown(OtherReason("xskip cannot compare values of type string collate UNICODE")),
    ),
    (
        ["Like", ["$", ["s"], "string collate UNICODE"], lit("string", "x%"), "\\"],
        Unknown(OtherReason("xskip cannot compare values of type string collate UNICODE")),
    ),
    # hidden columns
    (
        ["GreaterThan", ["$meta", ["_metadata", "file_size"], "bigint"], lit("bigint", 5)],
        Comparison(Op.GT, FileColumn("file_size", "bigint"), 5),
    ),
    (["IsNotNull", ["$meta", ["file_size"], "bigint"]], IsNotNull(FileColumn("file_size", "bigint"))),
    (
        ["IsNotNull", ["$meta", ["file_path"], "string"]],
        Unknown(UnsupportedNode("the hidden column file_path")),
    ),
    # elements of an array: of some, and never of none
    (["ArrayContains", L, five()], Comparison(Op.EQ, Elements(ls, "int"), 5)),
    (["ArrayContains", L, lit("int", None)], Constant(None)),
    (["ArrayContains", L, lit("bigint", 5)], Unknown(OtherReason("xskip cannot search for bigint in array<int>"))),
    (["Not", ["ArrayContains", L, five()]], Unknown(UnsupportedNode("conditions on all elements of an array"))),
    (
        ["LessThan", ["GetArrayItem", L, lit("int", 0), False], five()],
        Comparison(Op.LT, Elements(ls, "int", is_one=True), 5),
    ),
    (
        ["Not", ["EqualTo", ["ElementAt", L, lit("int", -1), None, False], five()]],
        Comparison(Op.NE, Elements(ls, "int", is_one=True), 5),
    ),
    (
        ["IsNull", ["GetArrayItem", L, lit("int", 0), False]],
        Unknown(UnsupportedNode("the function or operator 'get array item'")),
    ),
    (
        ["EqualNullSafe", ["GetArrayItem", L, lit("int", 0), False], five()],
        Unknown(UnsupportedNode("the operator <=> on element(l)")),
    ),
    (
        ["EqualTo", ["GetArrayItem", L, lit("int", 0), True], five()],
        Unknown(UnsupportedNode("the function or operator 'get array item'")),
    ),
    (
        ["EqualTo", ["ElementAt", L, lit("int", 0), None, False], five()],
        Unknown(UnsupportedNode("the function or operator 'element at'")),
    ),
    # two columns
    (["LessThan", A, B], ColumnComparison(Op.LT, a, b)),
    (["Not", ["LessThan", A, B]], ColumnComparison(Op.GE, a, b)),
    (
        ["GreaterThan", ["Cast", A, {"t": "bigint"}], ["$", ["w"], "bigint"]],
        ColumnComparison(Op.GT, Cast(a, "bigint"), w),
    ),
    (["LessThan", A, ["$", ["w"], "bigint"]], Unknown(Incomparable("int", "bigint"))),
    (["LessThan", A, A], Unknown(Incomparable("a", "itself"))),
    (
        ["LessThan", A, ["GetArrayItem", L, lit("int", 0), False]],
        Unknown(Incomparable("element(l)", "a column")),
    ),
    (
        ["LessThan", ["$", ["w"], "bigint"], ["$meta", ["file_size"], "bigint"]],
        Unknown(Incomparable("_metadata.file_size", "a column")),
    ),
    # row values and structs: fields compare as with <=>
    (
        ["EqualToRow", ["Row", None, [A, S]], [[five(), lit("string", None)]]],
        And((And((IsNotNull(a), equal_a)), IsNull(s))),
    ),
    (
        ["Not", ["EqualToRow", ["Row", None, [A, S]], [[five(), lit("string", None)]]]],
        Or((Or((IsNull(a), Comparison(Op.NE, a, 5))), IsNotNull(s))),
    ),
    (["EqualToRow", ["Row", A, [A]], [[five()]]], And((IsNotNull(a), And((IsNotNull(a), equal_a))))),
    (["EqualToRow", ["Row", A, [A]], [None]], Constant(None)),
    (["EqualNullSafeRow", ["Row", A, [A]], [None]], IsNull(a)),
    (["EqualNullSafeRow", ["Row", None, [A]], [None]], Constant(False)),
    (
        ["EqualToRow", ["Row", None, [["Row", None, [A]], five()]], [[None, five()]]],
        And((Constant(False), Constant(True))),
    ),
    (
        ["InRow", ["Row", None, [A]], [[five()], None]],
        Or((And((And((IsNotNull(a), equal_a)),)), Constant(None))),
    ),
    (
        ["InRow", ["Row", None, [A, ["Row", A, [A]]]], [[lit("int", k or None), [five()]] for k in range(60)]],
        And(
            (
                Or((In(a, tuple(range(1, 60))), IsNull(a))),
                Unknown(UnsupportedNode("the function or operator 'row'")),
                Unknown(OtherReason("the list has too many rows")),
            )
        ),
    ),
    (
        ["EqualToRow", ["Row", None, [["MapKeys", A]]], [[lit("array<int>", {"?": "x"})]]],
        And((Unknown(UnsupportedNode("the function or operator 'map keys'")),)),
    ),
    # NaN
    (["Not", ["IsNaN", A]], Unknown(OtherReason("xskip does not use column a in this position"))),
    # nested and dotted names
    (["EqualTo", ["$", ["x", "y.z"], "int"], five()], Comparison(Op.EQ, Column(("x", "y.z"), "int"), 5)),
    # what nobody understands
    (["EqualTo", A, ["Add", five(), ["Rand", 1]]], Unknown(UnsupportedNode("the function or operator 'add'"))),
    (
        ["EqualTo", ["Add", A, lit("int", 1)], lit("int", 3)],
        Unknown(UnsupportedNode("the function or operator 'add'")),
    ),
    # literals alone
    (["EqualTo", five(), five()], Constant(True)),
    (["LessThan", lit("double", "-0.0"), lit("double", "0.0")], Constant(False)),
    (["GreaterThan", lit("double", "NaN"), lit("double", "Infinity")], Constant(True)),
    (["EqualTo", five(), lit("int", None)], Constant(None)),
    (["EqualNullSafe", lit("int", None), five()], Constant(False)),
    (["EqualNullSafe", lit("int", None), lit("int", None)], Constant(True)),
    (["In", five(), "int", [4, None]], Constant(None)),
    (["In", five(), "int", [5, None]], Constant(True)),
    (["In", lit("int", None), "int", [4]], Constant(None)),
    (["StartsWith", lit("string", "abc"), lit("string", "ab")], Constant(True)),
    (
        ["EqualTo", lit("bigint", 5), five()],
        Unknown(OtherReason("xskip does not use a literal of type int in this position")),
    ),
    # COALESCE: on the first argument where it is not NULL, else on the others
    (
        ["EqualTo", ["Coalesce", [A, five()]], five()],
        Or((And((IsNotNull(a), equal_a)), And((IsNull(a), Constant(True))))),
    ),
    (["EqualTo", five(), ["Coalesce", [A, lit("int", 0)]]], And((IsNotNull(a), equal_a))),
    (
        ["Not", ["EqualTo", ["Coalesce", [A, lit("int", 0)]], five()]],
        Or((And((IsNotNull(a), Comparison(Op.NE, a, 5))), And((IsNull(a), Constant(True))))),
    ),
    (
        ["EqualTo", ["Coalesce", [A, lit("int", None)]], five()],
        Or((And((IsNotNull(a), equal_a)), And((IsNull(a), Constant(None))))),
    ),
    (
        ["LessThan", ["Coalesce", [A, B, lit("int", 9)]], five()],
        Or(
            (
                And((IsNotNull(a), Comparison(Op.LT, a, 5))),
                And((IsNull(a), And((IsNotNull(b), Comparison(Op.LT, b, 5))))),
            )
        ),
    ),
    (
        ["In", ["Coalesce", [A, five()]], "int", [4, None]],
        Or((And((IsNotNull(a), In(a, (4,), has_null=True))), And((IsNull(a), Constant(None))))),
    ),
    (["IsNull", ["Coalesce", [A, B]]], Or((And((IsNotNull(a), IsNull(a))), And((IsNull(a), IsNull(b)))))),
    (["Coalesce", [FLAG, lit("boolean", False)]], And((IsNotNull(f), Comparison(Op.EQ, f, True)))),
    (
        ["Not", ["Coalesce", [["EqualTo", A, five()], lit("boolean", True)]]],
        And((IsNotNull(a), Comparison(Op.NE, a, 5))),
    ),
    (
        ["EqualTo", ["Coalesce", [["Rand", 5], five()]], five()],
        Unknown(UnsupportedNode("the function or operator 'coalesce'")),
    ),
    (["InSubqueryExec", A], Unknown(UnsupportedNode("the function or operator 'in subquery exec'"))),
    (["ScalaUDF", {"?": "x"}], Unknown(UnsupportedNode("the function or operator 'scala udf'"))),
    ({"?": "x"}, Unknown(UnsupportedNode("this expression"))),
    ([], Unknown(UnsupportedNode("this expression"))),
    (None, Unknown(UnsupportedNode("this expression"))),
]


@pytest.mark.parametrize(("node", "expected"), CASES, ids=lambda part: str(part)[:80])
def test_a_filter_and_its_predicate(node: Any, expected: Any) -> None:
    """[JVM-RQ-3] [PRU-N-6] [PRU-V-6] Each encoded filter has the expected predicate."""
    assert predicate(node) == expected


def marked(node: list[Any], kind: str = "boolean", number: int = 0) -> list[Any]:
    return [*node, {"@": number, "t": kind}]


@pytest.mark.parametrize("name", ["IsNull", "IsNotNull"])
def test_null_tests_are_expressions_of_indexes(name: str) -> None:
    """[PRU-EX-5] A null test is TRUE where an index on it or on its opposite says so."""
    found = predicate(marked([name, A]))
    assert isinstance(found, Equivalent)
    column, *expressions = found.children
    assert column == (IsNull(a) if name == "IsNull" else IsNotNull(a))
    told = {
        e.operand.form.text: e.value
        for e in expressions
        if isinstance(e, Comparison) and isinstance(e.operand, Derived)
    }
    assert told == {
        '["IsNull",["$",["a"],"int"]]': name == "IsNull", '["IsNotNull",["$",["a"],"int"]]': name == "IsNotNull",
    }  # fmt: skip
    negated = predicate(["Not", marked([name, A])])
    assert isinstance(negated, Equivalent)
    assert negated.children[0] == (IsNotNull(a) if name == "IsNull" else IsNull(a))


def test_conditions_are_expressions_of_indexes() -> None:
    """[PRU-EX-5] A condition with a translation of its own is also an expression, unless its list is long."""
    found = predicate(marked(["EqualTo", A, five()]))
    assert isinstance(found, Equivalent)
    assert found.children[0] == equal_a
    assert [str(child) for child in found.children] == ["a = ?", "an expression = ?"]
    assert isinstance(predicate(marked(["In", A, "int", list(range(100))])), Equivalent)
    assert isinstance(predicate(marked(["In", A, "int", list(range(101))])), In)
    joined = predicate(marked(["And", FLAG, FLAG]))
    assert joined == And((Comparison(Op.EQ, f, True), Comparison(Op.EQ, f, True)))


def test_without_an_index_on_a_condition_there_are_no_expressions_of_conditions() -> None:
    """[PRU-EX-5] Functions stay expressions, because indexes on their values can exist."""
    plain = [marked(["EqualTo", A, five()]), marked(["IsNotNull", A]), ["Not", marked(["IsNull", A])]]
    assert to_predicate(plain, with_conditions=False) == And((equal_a, IsNotNull(a), IsNotNull(a)))
    size = marked(["Size", ["$", ["x"], "array<int>"], True], "int")
    found = to_predicate([marked(["EqualTo", size, five()])], with_conditions=False)
    assert isinstance(found, Comparison)
    assert isinstance(found.operand, Derived)


def test_a_coalesce_is_an_expression_of_indexes() -> None:
    """[PRU-EX-5] [PRU-N-8] An index on COALESCE answers beside the indexes on its arguments."""
    coalesce = marked(["Coalesce", [A, lit("int", 0)]], "int")
    found = to_predicate([["EqualTo", coalesce, five()]])
    assert isinstance(found, Equivalent)
    assert found.children[0] == And((IsNotNull(a), equal_a))
    (whole,) = found.children[1:]
    assert isinstance(whole, Comparison)
    assert isinstance(whole.operand, Derived)


def test_a_scan_with_several_filters_is_their_conjunction() -> None:
    assert to_predicate([["IsNotNull", A], ["EqualTo", A, five()]]) == And((IsNotNull(a), Comparison(Op.EQ, a, 5)))
    assert to_predicate([]) == And(())
    assert to_predicate([["IsNull", A]]) == IsNull(a)


def test_isnan_is_false_of_null() -> None:
    """[SND-10] [PRU-N-6]"""
    found = predicate(["IsNaN", D])
    assert isinstance(found, And)
    assert found.children[0] == IsNotNull(d)
    equal = found.children[1]
    assert isinstance(equal, Comparison)
    assert (equal.op, equal.operand) == (Op.EQ, d)
    assert isinstance(equal.value, float)
    assert math.isnan(equal.value)
    negated = predicate(["Not", ["IsNaN", D]])
    assert isinstance(negated, Or)
    assert negated.children[0] == IsNull(d)
    unequal = negated.children[1]
    assert isinstance(unequal, Comparison)
    assert unequal.op == Op.NE
    wide = predicate(["IsNaN", ["Cast", ["$", ["x"], "float"], {"t": "double"}]])
    assert isinstance(wide, And)
    assert wide.children[0] == IsNotNull(Cast(Column(("x",), "float"), "double"))


def test_a_like_prefix_ends_before_a_replacement_character() -> None:
    """[SND-4] LIKE reads bytes that are not UTF-8 as U+FFFD, which is no prefix of these bytes."""
    assert predicate(like("ab\ufffd_")) == And((StartsWith(s, b"ab"), REST))


@pytest.mark.parametrize(
    ("raw", "kind", "value"),
    [
        (5, "tinyint", 5),
        (-(2**63), "bigint", -(2**63)),
        (18262, "date", 18262),
        (-62135596800000000, "timestamp", -62135596800000000),
        (1, "timestamp_ntz", 1),
        (13, "interval year to month", 13),
        (86400000000, "interval day", 86400000000),
        ("1.50", "decimal(10,2)", Decimal("1.50")),
        ("-0.000000000000000000000000000000000001", "decimal(38,36)", Decimal("-1E-36")),
        ("12345678901234567890123456789012345678", "decimal(38,0)", Decimal("12345678901234567890123456789012345678")),
        ("1.5", "double", 1.5),
        ("0.10000000149011612", "float", 0.10000000149011612),
        ("Infinity", "double", math.inf),
        ("-Infinity", "float", -math.inf),
        ("é", "string", b"\xc3\xa9"),
        ({"b64": "/wA="}, "binary", b"\xff\x00"),
        ({"b64": "/wA="}, "string", b"\xff\x00"),
        (True, "boolean", True),
        (False, "boolean", False),
        (None, "int", None),
        (True, "int", None),
        (1, "boolean", None),
        (1, "time(6)", None),
        (1, "double", None),
        ("x", "binary", None),
        ({"?": "x", "s": "y"}, "string", None),
        ({"b64": "/wA="}, "int", None),
        ([1], "array<int>", None),
    ],
)
def test_literals_are_decoded_by_type(raw: Any, kind: str, value: Any) -> None:
    """[JVM-RQ-4]"""
    found = literal_value(raw, kind)
    assert found == value
    assert type(found) is type(value)


def test_minus_zero_and_nan_are_decoded() -> None:
    zero, nan = literal_value("-0.0", "double"), literal_value("NaN", "float")
    assert isinstance(zero, float)
    assert isinstance(nan, float)
    assert math.copysign(1, zero) == -1
    assert math.isnan(nan)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("binary", {"b64": "gA=="}, b"\x80"),
        ("decimal(38,18)", "-1.500000000000000000", Decimal("-1.500000000000000000")),
        ("date", -141427, -141427),
        ("timestamp", 1, 1),
        ("timestamp_ntz", -1, -1),
        ("interval day to second", 7, 7),
        ("float", "-0.0", -0.0),
    ],
)
def test_comparisons_of_each_type_are_decoded(kind: str, raw: Any, value: Any) -> None:
    column = ["$", ["c"], kind]
    assert predicate(["LessThan", column, lit(kind, raw)]) == Comparison(Op.LT, Column(("c",), kind), value)


def test_a_literal_that_is_not_held_makes_the_comparison_unknown() -> None:
    assert predicate(["EqualTo", ["$", ["c"], "binary"], lit("binary", {"?": "x"})]) == Unknown(
        UnsupportedNode("a literal of type binary")
    )
    assert predicate(["In", ["$", ["c"], "binary"], "binary", [{"?": "x"}]]) == Unknown(
        UnsupportedNode("a literal of type binary")
    )


def column(number: int, kind: str) -> Any:
    return ["$", [f"c{number}"], kind]


def test_a_coalesce_in_a_coalesce() -> None:
    """[PRU-N-8] The arguments of the inner one stand in its place, whatever their number of levels."""
    inner = left = right = column(0, "int")
    for number in range(1, 40):
        left = ["Coalesce", [left, column(number, "int")]]
    for number in reversed(range(40)):
        right = column(number, "int") if number == 39 else ["Coalesce", [column(number, "int"), right]]
    flat = to_predicate([["EqualTo", ["Coalesce", [column(n, "int") for n in range(40)]], five()]])
    assert not isinstance(flat, Unknown)
    assert to_predicate([["EqualTo", left, five()]]) == flat
    assert to_predicate([["EqualTo", right, five()]]) == flat
    assert to_predicate([["EqualTo", inner, five()]]) == Comparison(Op.EQ, Column(("c0",), "int"), 5)


def test_fallbacks_of_many_levels_or_arguments_are_unknown() -> None:
    """[PRU-N-8] Each level of a first argument triples the predicate, and each argument adds a level to it."""
    node = column(0, "boolean")
    known = []
    for number in range(1, 40):
        node = ["Coalesce", [["Not", node], column(number, "boolean")]]
        known.append(not isinstance(to_predicate([node]), Unknown))
    assert known == [True] * 4 + [False] * 35
    many = ["Coalesce", [column(number, "int") for number in range(3000)]]
    assert isinstance(to_predicate([["EqualTo", many, five()]]), Unknown)
