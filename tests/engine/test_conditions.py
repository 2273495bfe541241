"""Advice knows the conditions of scans on columns and expressions [REP-A-1]."""

from __future__ import annotations

import pytest

from xskip.clauses.clause import Undetermined, leaves
from xskip.engine.conditions import conditions_of
from xskip.engine.selection import Selection
from xskip.expressions import Column, Comparison, Op
from xskip.expressions.condition_reasons import OtherReason
from xskip.expressions.operands import Computed, Derived, Elements, Form, Monotonicity
from xskip.expressions.predicate import And, In, IsNotNull, IsNull, NotIn, Or, Predicate, StartsWith
from xskip.metadata.table import IndexDefinition
from xskip.pruning.clause_translation import IndexCatalog
from xskip.pruning.prune import UnusedPart
from xskip.results.index_usage import Condition
from xskip.types import Struct

A, B, C = (Column((name,), "int") for name in "ABC")
TEXT = Column(("t",), "string")
BOUNDS = Struct((("min", "int"), ("max", "int")))
CATALOG = IndexCatalog(((IndexDefinition("minmax", ("b",), types=("int",)), BOUNDS),), partitions={"p": "int"})
LOWER = Form('["Lower",["$",["t"],"string"]]', '["Lower",["$",["t"],"string"]]', (("t",),))
MODULO = Form(
    '["Remainder",["$",["a"],"int"],["#","int",10]]', '["Remainder",["$",["a"],"int"],["#","int",10]]', (("a",),)
)


def computed(form: Form, direction: int = 0, name: str = "f") -> Computed:
    column = Column(form.columns[0], "int")
    return Computed(column, "int", name, 0, Monotonicity(direction), None, form=form)  # type: ignore[arg-type]


def asked(predicate: Predicate, secret: frozenset[str] = frozenset()) -> set[Condition]:
    clause = Selection.of(predicate, CATALOG).clause
    unused = [UnusedPart(leaf.predicates, leaf.reason) for leaf in leaves(clause) if isinstance(leaf, Undetermined)]
    found = conditions_of(predicate, CATALOG, unused, secret)
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.parametrize(
    ("predicate", "kinds"),
    [
        (Comparison(Op.EQ, A, 1), ("equal",)),
        (In(A, (1, 2)), ("equal",)),
        (And((Comparison(Op.GE, A, 1), Comparison(Op.LT, A, 3))), ("above", "below")),
        (And((Comparison(Op.NE, A, 1), Comparison(Op.LE, A, 3))), ("below",)),
        (NotIn(A, (1,)), ("other",)),
        (IsNull(A), ("null",)),
        (IsNotNull(A), ("other",)),
        (And((IsNotNull(A), Comparison(Op.GT, A, 1))), ("above",)),
        (Or((Comparison(Op.EQ, A, 1), Comparison(Op.EQ, B, 1))), ("other",)),
    ],
)
def test_kinds_of_conditions(predicate: Predicate, kinds: tuple[str, ...]) -> None:
    assert {each.kinds for each in asked(predicate) if each.operand == "a"} == {kinds}


def test_conditions_with_and_without_an_index_are_apart() -> None:
    found = asked(And((Comparison(Op.EQ, A, 1), Comparison(Op.GT, B, 1), StartsWith(TEXT, b"x"))))
    assert found == {
        Condition("a", ("equal",)), Condition("b", ("above",), is_answered=True), Condition("t", ("prefix",)),
    }  # fmt: skip
    # Bounds do not answer a test for NULL.
    assert asked(And((Comparison(Op.GT, B, 1), IsNotNull(B)))) == {Condition("b", ("above",), is_answered=True)}


def test_partition_columns_and_elements_of_arrays() -> None:
    assert asked(Comparison(Op.EQ, Column(("P",), "int"), 1)) == set()
    elements = Elements(Column(("tags",), "array<string>"), "string")
    assert asked(Comparison(Op.EQ, elements, b"x")) == {Condition("tags")}


def test_functions_that_follow_the_order_of_a_column_ask_for_its_ranges() -> None:
    above, below, between = Condition("a", ("above",)), Condition("a", ("below",)), Condition("a", ("above", "below"))
    for op, rising, falling in ((Op.EQ, between, between), (Op.GT, above, below), (Op.LE, below, above)):
        assert asked(Comparison(op, computed(MODULO, 1), 1)) == {rising}
        assert asked(Comparison(op, computed(MODULO, -1), 1)) == {falling}


def test_other_functions_are_operands() -> None:
    expression = Condition("lower(t)", ("equal",), is_expression=True)
    derived = Derived(LOWER, "string", OtherReason("it is not known"))
    assert asked(Comparison(Op.EQ, computed(LOWER), 1)) == {expression}
    assert asked(And((Comparison(Op.EQ, derived, b"x"), IsNotNull(TEXT)))) == {expression}
    unknown = Form('["Soundex",["$",["t"],"string"]]', "", (("t",),))
    assert asked(Comparison(Op.EQ, computed(unknown), 1)) == {Condition("t")}


def test_literals_of_expressions_can_be_left_out() -> None:
    """[REP-V-1] [REP-V-2]"""
    (found,) = asked(Comparison(Op.EQ, computed(MODULO), 1))
    assert found == Condition("(a % 10)", ("equal",), is_expression=True, column="a")
    assert found.without_values() == Condition("a")
    assert asked(Comparison(Op.EQ, computed(MODULO), 1), frozenset({"a"})) == {Condition("a")}
    assert asked(Comparison(Op.EQ, computed(LOWER), 1), frozenset({"t"})) == {
        Condition("lower(t)", ("equal",), is_expression=True)
    }
