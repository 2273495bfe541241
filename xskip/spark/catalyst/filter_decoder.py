"""The decoder of Catalyst filters, which turns the hook's encoding of a filter into a predicate.

``specs/jvm-protocol.rst`` defines the encoding (JVM-RQ-3): every node is an array whose first element is the class
name. A node that the decoder does not know becomes Unknown with a reason in words, and Unknown keeps files. The decoder
leaves negation to :func:`~xskip.expressions.predicate.negate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xskip.clauses.file_attribute import FILE_COLUMNS
from xskip.expressions.condition_reasons import Incomparable, OtherReason, Reason, UnsupportedNode
from xskip.expressions.like import split_like
from xskip.expressions.operands import (
    Call,
    Cast,
    Column,
    Computed,
    Derived,
    Elements,
    Evaluate,
    FileColumn,
    Operand,
    column_of,
)
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
    negate,
)
from xskip.spark.catalyst.canonical_form import form_of
from xskip.spark.catalyst.char_columns import padded_column
from xskip.spark.catalyst.evaluator import ExprNode, decorate
from xskip.spark.catalyst.literals import constant_of, is_literal, literal_value
from xskip.spark.catalyst.monotonicity import monotonicity_of
from xskip.spark.catalyst.node_names import function_name, unsupported
from xskip.types.datatypes import atomic_name, element_of, is_widening

__all__ = ["to_predicate"]

_COMPARISONS = {
    "EqualTo": Op.EQ,
    "LessThan": Op.LT,
    "LessThanOrEqual": Op.LE,
    "GreaterThan": Op.GT,
    "GreaterThanOrEqual": Op.GE,
}
#: The conditions that have one translation for the value of COALESCE and one for NULL.
_OF_FALLBACKS = (*_COMPARISONS, "EqualNullSafe", "In", "StartsWith", "IsNull", "IsNotNull")
#: The longest list of literals in an expression that is compared with the expressions of indexes.
_MAX_LIST = 100
#: The most rows of a list that are compared one by one.
_MAX_ROWS = 50
#: The most COALESCE around one another in a first argument: each one triples the conditions on it.
_MAX_NESTING = 4
#: The most arguments of a COALESCE, each of which is a level of the predicate.
_MAX_ARGUMENTS = 100
#: The number of an expression that Spark does not evaluate for Python.
_NOT_EVALUATED = -1
Node = Any


def to_predicate(
    filters: Sequence[Node], evaluate: Evaluate | None = None, *, with_conditions: bool = True
) -> Predicate:
    """Return the conjunction of a scan's filters as a predicate.

    Without ``evaluate``, only an index on the same expression can answer a filter on a function. ``with_conditions``
    says whether indexes on conditions, such as ``v IS NOT NULL``, can exist; False saves the time of their forms.
    """
    children = tuple(_predicate(decorate(node, evaluate, with_conditions=with_conditions)) for node in filters)
    return children[0] if len(children) == 1 else And(children)


def _predicate(node: Node) -> Predicate:
    """Decode a filter by its form, or as a Boolean expression that must be TRUE, or by its cases."""
    predicate = _by_fallback(node) or _by_form(node)
    if not isinstance(predicate, Unknown):
        return _with_expressions(node, predicate)
    operand = _operand(node) if _is_a(node, "UDF") else _expression(node, predicate.reason)
    cases = _by_cases(node)
    if isinstance(operand, Unknown) or operand.type != "boolean":
        return cases or predicate
    whole = Comparison(Op.EQ, operand, True)
    return whole if cases is None else Equivalent((cases, whole))


def _with_expressions(node: Node, predicate: Predicate) -> Predicate:
    """Add to a decoded condition that the condition as an expression is TRUE, which an index on it can answer."""
    if not isinstance(node, ExprNode) or node.term is None or not node.with_conditions:
        return predicate
    if isinstance(predicate, Constant):
        return predicate
    match node:
        case ["And" | "Or" | "Not", *_]:
            return predicate
        case ["In", _, _, [*values]] | ["InRow", _, [*values]] if len(values) > _MAX_LIST:
            return predicate
        case ["IsNull" | "IsNotNull" as name, child]:
            # null tests are their own opposites: an index on one of them answers both
            opposite = "IsNotNull" if name == "IsNull" else "IsNull"
            forms = [(form_of([name, child]), True), (form_of([opposite, child]), False)]
        case _:
            forms = [(form_of(node), True)]
    reason = unsupported(node)
    whole = [Comparison(Op.EQ, Derived(form, "boolean", reason), truth) for form, truth in forms if form is not None]
    return Equivalent((predicate, *whole)) if whole else predicate


def _by_fallback(node: Node) -> Predicate | None:
    """Decode a condition on COALESCE: on the first argument where it is not NULL, else on the others.

    None for other nodes, for too many levels or arguments, and if the condition on the first argument is unknown.
    """
    condition = node[1] if _is_a(node, "Not") else node
    place = _place_of_fallback(condition)
    if place is None:
        return None
    first, *others = _arguments(condition if place == 0 else condition[place])
    if _nesting(first) >= _MAX_NESTING or len(others) >= _MAX_ARGUMENTS:
        return None
    other = others[0] if len(others) == 1 else ["Coalesce", others]
    alternatives = (first, other) if place == 0 else [_rebuilt(condition, place, value) for value in (first, other)]
    on_first, on_others = map(_predicate, alternatives)
    if isinstance(on_first, Unknown):
        return None
    whole = _by_form(condition)
    # the value is that of one argument, so NOT goes to the conditions on both
    if condition is not node:
        on_first, on_others, whole = negate(on_first), negate(on_others), negate(whole)
    is_null, is_value = (_predicate(_like_marked(condition, [name, first])) for name in ("IsNull", "IsNotNull"))
    # COALESCE(a, b) is a where a is not NULL, and b where a is NULL; the negation of this predicate has the same two
    # cases
    there = And((is_value, on_first))
    found = there if on_others == Constant(False) else Or((there, And((is_null, on_others))))
    if isinstance(whole, Comparison | In | NotIn | StartsWith | NotStartsWith | IsNull | IsNotNull):
        operand = whole.operand
        if isinstance(operand, Computed | Derived) and operand.form is not None:  # an index on the COALESCE itself
            return Equivalent(
                (found, replace(whole, operand=Derived(operand.form, operand.type, unsupported(condition))))
            )
    return found


def _arguments(coalesce: Node) -> list[Node]:
    """Return the arguments of a COALESCE, with those of a COALESCE in it in its place."""
    found: list[Node] = []
    for argument in coalesce[1]:
        found += _arguments(argument) if _is_a(argument, "Coalesce") else [argument]
    return found


def _nesting(node: Node) -> int:
    """Return the greatest number of COALESCE around one another in a node."""
    if not isinstance(node, list):
        return 0
    return max(map(_nesting, node), default=0) + _is_a(node, "Coalesce")


def _place_of_fallback(node: Node) -> int | None:
    """Return which argument of a condition is a COALESCE, 0 for the condition itself, or None."""
    match node:
        case ["Coalesce", [_, _, *_]]:
            return 0
        case [str() as name, ["Coalesce", [_, _, *_], *_], *_] if name in _OF_FALLBACKS:
            return 1
        case [str() as name, _, ["Coalesce", [_, _, *_], *_], *_] if name in _OF_FALLBACKS:
            return 2
        case _:
            return None


def _rebuilt(node: Node, place: int, argument: Node) -> Node:
    return _like_marked(node, [*node[:place], argument, *node[place + 1 :]])


def _like_marked(node: Node, condition: list[Node]) -> Node:
    """Return a condition on parts of a node as an expression that Spark evaluates, if the node is one."""
    made = ExprNode(condition)
    if isinstance(node, ExprNode) and node.term is not None:
        made.term, made.type, made.with_conditions = _NOT_EVALUATED, "boolean", node.with_conditions
    return made


def _by_cases(node: Node) -> Predicate | None:
    """Decode IF or CASE as: a condition and its result are TRUE, or the last result is TRUE; None for other nodes."""
    match node:
        case ["If", condition, then, otherwise]:
            cases, last = [("", condition, then)], otherwise
        case ["CaseWhen", [*cases], last]:
            pass
        case _:
            return None
    results = [And((_predicate(condition), _predicate(then))) for _, condition, then in cases]
    last_result = Constant(None) if last is None else _predicate(last)
    # this omits that the earlier conditions are not TRUE, which only keeps more files; Unknown makes the negation
    # unknown, because a negation would turn the omission into wrong skips
    order = Unknown(OtherReason("xskip ignores the order of the conditions of a CASE"))
    return And((Or((*results, last_result)), order))


def _by_form(node: Node) -> Predicate:
    constant = constant_of(node)
    if constant is not None:
        return constant
    match node:
        case ["And", left, right]:
            return And((_predicate(left), _predicate(right)))
        case ["Or", left, right]:
            return Or((_predicate(left), _predicate(right)))
        case ["Not", child]:
            return negate(_predicate(child))
        case ["#", "boolean", bool() | None as value]:
            return Constant(value)
        case ["$", path, "boolean"]:
            return Comparison(Op.EQ, Column(tuple(path), "boolean"), True)
        case ["IsNull" | "IsNotNull" as name, child]:
            return _null_test(name, child)
        case ["IsNaN", child]:
            return _is_nan(child)
        case ["In", child, str() as kind, [*values]]:
            return _membership(child, kind, values)
        case ["EqualNullSafe", left, right]:
            return _null_safe(left, right)
        case ["EqualToRow" | "EqualNullSafeRow" as name, row, [literal]]:
            return Constant(None) if literal is None and name == "EqualToRow" else _equal_row(row, literal)
        case ["InRow", row, [*literals]]:
            return _one_of_rows(row, literals)
        case [str() as name, left, right, *_] if name in _COMPARISONS:
            return _comparison(_COMPARISONS[name], left, right)
        case ["StartsWith", child, ["#", "string", prefix]]:
            return _starts_with(child, prefix)
        case ["ArrayContains", child, ["#", str() as element, raw]]:
            array = _array(child)
            return Unknown(unsupported(node)) if array is None else _contains(array, element, raw)
        case ["Like", child, ["#", "string", str() as pattern], str() as escape]:
            return _like(node, child, pattern, escape)
        case _:
            return Unknown(unsupported(node))


def _operand(node: Node) -> Operand | Unknown:
    """Return the operand that a node describes, or Unknown with the reason why indexes cannot answer the node."""
    match node:
        case ["$", [*path], str() as kind]:
            if atomic_name(kind) is None:
                return Unknown(OtherReason(f"xskip cannot compare values of type {kind}"))
            return Column(tuple(path), kind)
        case ["$meta", [*_, str() as name], str() as kind] if name in FILE_COLUMNS:
            return FileColumn(name, kind)
        case ["GetArrayItem", child, ["#", str(), int()], False] | [
            "ElementAt",
            child,
            ["#", str(), int()],
            None,
            False,
        ]:
            # a leaf that is TRUE of this element is TRUE of some element; element_at(x, 0) fails, and so must the query
            array = _array(child)
            element = None if array is None else element_of(array.type)
            if array is None or element is None or (node[0] == "ElementAt" and node[2][2] == 0):
                return _expression(node, unsupported(node))
            return Elements(array, element, is_one=True)
        case ["UDF", str() as identity, str() as name, str() as kind, [*arguments]]:
            return _call(Call(identity, name, kind, tuple(map(_argument, arguments))))
        case ["Cast", inner, {"t": str() as target}, *_]:
            column = _operand(inner)
            if isinstance(column, Column) and is_widening(column.type, target):
                return Cast(column, target)
            if isinstance(column, Unknown):
                return _expression(node, column.reason)
            return _expression(node, OtherReason(f"a cast of {column} to {target} can change values or their order"))
        case _:
            return _expression(node, unsupported(node))


def _call(call: Call) -> Call | Unknown:
    if atomic_name(call.type) is None or any(argument is None for argument in call.arguments):
        return Unknown(OtherReason(f"the function {call.name} has arguments other than columns and literals"))
    return call


def _argument(node: Node) -> object:
    """Return the column or the literal's value in an argument of a user's function; None for NULL or any other node."""
    if is_literal(node):
        return literal_value(node[2], node[1])
    column = _operand(node)
    return column if isinstance(column, Column) else None


def _expression(node: Node, reason: Reason) -> Computed | Derived | Unknown:
    """Return a function of a single column for Spark to evaluate, an expression for an index, or Unknown."""
    if not isinstance(node, ExprNode) or node.term is None or atomic_name(node.type) is None:
        return Unknown(reason)
    column, form = _column_in(node), form_of(node)
    name = function_name(node)
    has_values = isinstance(column, Column) or (isinstance(column, FileColumn) and column.name in FILE_COLUMNS)
    if node.term >= 0 and node.evaluate is not None and has_values and column is not None and atomic_name(column.type):
        shape, call = monotonicity_of(node), _call_in(node)
        return Computed(column, node.type, name, node.term, shape, node.evaluate, call, form, node.is_total)
    return Unknown(reason) if form is None else Derived(form, node.type, reason)


def _call_in(node: Node) -> tuple[object, ...]:
    """Return a function whose arguments are a bare column and literals, such as ``("Contains", b"x")``, or ``()``."""
    match node:
        case [str() as name, child, *arguments] if _is_a(child, "$") or (
            _is_a(child, "StaticInvoke") and padded_column(child)
        ):
            name = name if _is_a(child, "$") else f"Padded{name}"
            values = [literal_value(a[2], a[1]) if is_literal(a) else a for a in arguments]
            return () if any(value is None or isinstance(value, list | dict) for value in values) else (name, *values)
        case _:
            return ()


def _column_in(node: Node) -> Column | FileColumn | None:
    """Return the first column of an expression, or None if the expression has no column."""
    match node:
        case ["$", [*path], str() as kind]:
            return Column(tuple(path), kind)
        case ["$meta", [*_, str() as name], str() as kind]:
            return FileColumn(name, kind)
        case list():
            return next((column for part in node if (column := _column_in(part)) is not None), None)
        case _:
            return None


def _null_test(name: str, child: Node) -> Predicate:
    """Decode a null test of a column of any type, because nested and collated columns have NULL like other columns."""
    padded = padded_column(child)
    if padded is not None:
        return IsNull(padded.column) if name == "IsNull" else IsNotNull(padded.column)
    match child:
        case ["$", [*path], str() as kind]:
            column = Column(tuple(path), kind)
            return IsNull(column) if name == "IsNull" else IsNotNull(column)
        case ["#", _, value]:
            return Constant((value is None) == (name == "IsNull"))
    strict = _strict_argument(child)
    if strict is not None:
        return _null_test(name, strict)
    operand = _operand(child) if _is_a(child, "$meta") else _expression(child, unsupported(child))
    if isinstance(operand, Unknown):
        return operand
    return IsNull(operand) if name == "IsNull" else IsNotNull(operand)


def _strict_argument(node: Node) -> Node | None:
    """Return the argument of a condition that is NULL exactly if the condition is, or None for other nodes."""
    match node:
        case ["Not", child] | ["StartsWith", child, ["#", "string", str()]]:
            return child
        case [str() as name, left, right, *_] if name in _COMPARISONS and is_literal(left) != is_literal(right):
            child, literal = (right, left) if is_literal(left) else (left, right)
            return None if literal[2] is None else child
        case ["In", child, _, [_, *_] as values] if None not in values:
            return child
        case _:
            return None


def _comparison(op: Op, left: Node, right: Node) -> Predicate:
    if is_literal(left):
        op, left, right = op.flipped, right, left
    padded = padded_column(left)
    if padded is not None and is_literal(right) and right[2] is not None:
        found = padded.compare(op, literal_value(right[2], right[1]))
        if found is not None:
            return found
    operand = _operand(left)
    if isinstance(operand, Unknown):
        return operand
    if not is_literal(right):
        return _compared(op, operand, _operand(right))
    _, kind, raw = right
    if raw is None:
        return Constant(None)
    if kind != operand.type:
        return Unknown(Incomparable(operand.type, kind))
    value = literal_value(raw, kind)
    if value is None:
        return Unknown(UnsupportedNode(f"a literal of type {kind}"))
    return Comparison(op, operand, value)


def _compared(op: Op, left: Operand, right: Operand | Unknown) -> Predicate:
    """Compare two columns of a row."""
    if isinstance(right, Unknown):
        return right
    for side in (left, right):
        if isinstance(side, Derived):
            return Unknown(side.reason)
        if isinstance(side, Call):
            return Unknown(Incomparable(side.name, "a column"))
        if isinstance(side, Elements | FileColumn) or (
            isinstance(side, Computed) and isinstance(side.column, FileColumn)
        ):
            return Unknown(Incomparable(str(side), "a column"))
    if left.type != right.type:
        return Unknown(Incomparable(left.type, right.type))
    # statistics relate values of different rows of one column, and say nothing of a row's value and itself
    if column_of(left) == column_of(right):
        return Unknown(Incomparable(str(column_of(left)), "itself"))
    return ColumnComparison(op, left, right)


def _array(node: Node) -> Column | Derived | None:
    """Return an array: a column, or an expression such as ``map_keys(m)`` for an index on it; None for other nodes."""
    match node:
        case ["$", [*path], str() as kind]:
            return Column(tuple(path), kind)
        case ExprNode() if node.term is not None and element_of(node.type):
            form = form_of(node)
            return None if form is None else Derived(form, node.type, unsupported(node))
        case _:
            return None


def _contains(column: Column | Derived, element: str, raw: Any) -> Predicate:
    if raw is None:
        return Constant(None)
    value = literal_value(raw, element)
    if element_of(column.type) != element or value is None:
        return Unknown(OtherReason(f"xskip cannot search for {element} in {column.type}"))
    return Comparison(Op.EQ, Elements(column, element), value)


def _equal_row(field: Node, literal: Any) -> Predicate:
    """Decode the equality of a row value or of one of its fields with a literal [PRU-V-11]."""
    match field:
        case ["Row", None, _] if literal is None:
            return Constant(False)
        case ["Row", column, _] if literal is None:
            return _null_test("IsNull", column)
        case ["Row", column, [*fields]]:
            # Spark compares fields with <=>; a row that is made of fields (``column`` is None) is never NULL; for a
            # struct column that is NULL, the result is FALSE where Spark's is NULL, so that the negation keeps more
            # files
            equal = tuple(_equal_row(part, value) for part, value in zip(fields, literal, strict=True))
            return And(equal if column is None else (_null_test("IsNotNull", column), *equal))
        case _ if is_literal(literal):
            return _predicate(["EqualNullSafe", field, literal])
        case _:
            return Unknown(unsupported(field))


def _one_of_rows(row: Node, literals: list[Any]) -> Predicate:
    """Decode ``IN`` with row values."""
    rows = [literal for literal in literals if literal is not None]
    unknown = (Constant(None),) if len(rows) < len(literals) else ()  # the list has NULL
    if len(rows) <= _MAX_ROWS:
        return Or((*(_equal_row(row, literal) for literal in rows), *unknown))
    _, _, fields = row
    # a row that equals one of the list has in each field one of the list's values of this field; other rows do, too, so
    # that Unknown must keep the negation unknown
    reaches = [_one_of_values(field, [literal[k] for literal in rows]) for k, field in enumerate(fields)]
    return And((*reaches, Unknown(OtherReason("the list has too many rows"))))


def _one_of_values(field: Node, literals: list[Any]) -> Predicate:
    if not all(map(is_literal, literals)):  # a struct
        return Unknown(unsupported(field))
    values = [value for _, _, value in literals]
    found = _predicate(["In", field, literals[0][1], [value for value in values if value is not None]])
    return Or((found, _null_test("IsNull", field))) if None in values else found


def _null_safe(left: Node, right: Node) -> Predicate:
    """Decode ``a <=> v``, which is never NULL."""
    if is_literal(left):
        left, right = right, left
    if is_literal(right) and right[2] is None:
        return _null_test("IsNull", left)
    # TRUE if and only if a is not NULL and a = v, so that the negation is a IS NULL OR a != v
    equal = _comparison(Op.EQ, left, right)
    padded = padded_column(left)
    # padding keeps NULL
    if padded is not None and is_literal(right):
        return And((IsNotNull(padded.column), equal))
    match equal:
        case Comparison(_, Elements() as operand, _):
            return Unknown(UnsupportedNode(f"the operator <=> on {operand}"))
        case Comparison(_, operand, _):
            return And((IsNotNull(operand), equal))
        case ColumnComparison(_, one, other):  # FALSE if exactly one side is NULL, TRUE if both sides are NULL
            return Or((And((IsNotNull(one), IsNotNull(other), equal)), And((IsNull(one), IsNull(other)))))
        case _:
            return equal


def _is_nan(child: Node) -> Predicate:
    operand = _operand(child)
    if isinstance(operand, Unknown) or operand.type not in ("float", "double"):
        return Unknown(unsupported(child))
    # Spark's isnan is FALSE, not NULL, for NULL
    return And((IsNotNull(operand), Comparison(Op.EQ, operand, float("nan"))))


def _membership(child: Node, kind: str, values: list[Any]) -> Predicate:
    decoded = tuple(literal_value(raw, kind) for raw in values if raw is not None)
    has_null, padded = any(raw is None for raw in values), padded_column(child)
    found = None if padded is None else padded.among(decoded, has_null=has_null)
    if found is not None:
        return found
    operand = _operand(child)
    if isinstance(operand, Unknown):
        return operand
    if kind != operand.type:
        return Unknown(Incomparable(operand.type, f"a list of {kind}"))
    if any(value is None for value in decoded):
        return Unknown(UnsupportedNode(f"a literal of type {kind}"))
    return In(operand, decoded, has_null)


def _starts_with(child: Node, prefix: Any) -> Predicate:
    padded = None if prefix is None else padded_column(child)
    found = None if padded is None else padded.starts_with(literal_value(prefix, "string"))
    if found is not None:
        return found
    operand = _operand(child)
    if isinstance(operand, Unknown):
        return operand
    if prefix is None:
        return Constant(None)
    if operand.type != "string":
        return Unknown(UnsupportedNode(f"prefixes of type {operand.type}"))
    raw = literal_value(prefix, "string")
    assert isinstance(raw, bytes)
    return StartsWith(operand, raw)


def _like(node: Node, child: Node, pattern: str, escape: str) -> Predicate:
    """Decode ``LIKE`` as its literal prefix and the whole condition, which Spark evaluates on single values."""
    prefix, rest = split_like(pattern, escape)
    if prefix is None:
        return Unknown(OtherReason("the LIKE pattern has an escape before an ordinary character"))
    if rest == "":
        return _comparison(Op.EQ, child, ["#", "string", prefix])
    # the prefix alone is weaker than the pattern, so the whole condition, or an Unknown in its place, must keep the
    # negation correct
    start, whole = _starts_with(child, prefix), _expression(node, OtherReason(""))
    if rest == "%":
        return start
    if isinstance(whole, Unknown):
        return And((start, Unknown(OtherReason("xskip uses only the literal prefix of the LIKE pattern"))))
    return And((start, Comparison(Op.EQ, whole, True))) if prefix else Comparison(Op.EQ, whole, True)


def _is_a(node: Node, name: str) -> bool:
    return isinstance(node, list) and node[:1] == [name]
