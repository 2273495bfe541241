"""The conversion of pyarrow's expressions to the nodes of predicates in SQL, which all indexes answer.

A node is TRUE for at least the rows for which pyarrow evaluates the expression to TRUE. What differs from SQL:

* ``is_in`` is never null. So ``~x.isin([1])`` is TRUE of nulls.
* ``is_in`` finds NaN, and tells 0.0 from -0.0, which are equal in comparisons and in Spark.
* pyarrow converts the sides of a comparison to a common type, some with a loss. A literal counts only if each value of
  the column compares with it exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.condition_reasons import Cause, OtherReason
from xskip.expressions.predicate import Op
from xskip.standalone.arrow_literals import InexactError, literal_of
from xskip.standalone.arrow_tree import Call, Field, Scalar, Tree
from xskip.standalone.sql import Both, Compared, Either, Like, Literal, Name, Node, Not, NullTest, Other
from xskip.types.datatypes import arrow_type

__all__ = ["NodeMaker", "fields_of", "has_nan", "text_of"]

_OPS = {
    "equal": Op.EQ, "not_equal": Op.NE, "less": Op.LT, "less_equal": Op.LE, "greater": Op.GT, "greater_equal": Op.GE,
}  # fmt: skip
_AND = ("and_kleene", "and")
_OR = ("or_kleene", "or")
_SIGNS = {**{name: op.value for name, op in _OPS.items()}, "and_kleene": "AND", "or_kleene": "OR"}
#: What is_in does with a null: it finds a null in a list with a null, or never.
_MATCHES_NULL, _SKIPS_NULL = 0, 1
_SHOWN_VALUES = 3
_MAX_DEPTH = 100


class _UnusableError(Exception):
    """Error for a part that no node expresses; the message is the reason."""


@dataclass(frozen=True, slots=True)
class NodeMaker:
    """A converter of expressions to nodes."""

    #: The schema of the dataset as pyarrow reads it.
    schema: pa.Schema
    #: Returns the recorded Spark type of a column: None if the index does not know the column, and an empty text if
    #: the files differ in its type.
    recorded: Callable[[tuple[str, ...]], str | None]
    partitions: frozenset[str] = frozenset()
    #: Whether the index tells columns apart whose names differ only in case.
    case_sensitive: bool = False

    def node(self, tree: Tree, *, negated: bool = False, depth: int = 0) -> Node:
        """Return the node of an expression or of its negation; a part without a node becomes ``Other``.

        ``depth`` is the number of calls around the expression.
        """
        if depth > _MAX_DEPTH:
            return Other("a part of the expression", OtherReason("the expression is nested too deeply"))
        match tree:
            case Call("invert", (child,)):
                return self.node(child, negated=not negated, depth=depth + 1)
            case Call(name) if name in (*_AND, *_OR):
                parts = _flat(tree, _AND if name in _AND else _OR)
                found = tuple(self.node(part, negated=negated, depth=depth + 1) for part in parts)
                return Both(found) if (name in _AND) != negated else Either(found)
            case Call("and_not_kleene" | "and_not", (left, right)):
                first = self.node(left, negated=negated, depth=depth + 1)
                second = self.node(right, negated=not negated, depth=depth + 1)
                return Either((first, second)) if negated else Both((first, second))
        try:
            if isinstance(tree, Call) and tree.name == "is_in" and len(tree.arguments) == 1:
                return self._is_in(tree.arguments[0], tree.options, negated=negated)
            return Not(self._leaf(tree)) if negated else self._leaf(tree)
        except (_UnusableError, InexactError) as error:
            own = {path[0] for path in fields_of(tree)}
            by_pyarrow = own and own <= self.partitions
            return Other(text_of(tree), Cause.IN_PARTITIONS if by_pyarrow else OtherReason(str(error)))

    def _leaf(self, tree: Tree) -> Node:
        match tree:
            case Field():
                return self._name(tree)
            case Scalar(value) if not value.is_valid or pa.types.is_boolean(value.type):
                return Literal("boolean", str(value).upper()) if value.is_valid else Literal("null")
            case Call(name, (left, right)) if name in _OPS:
                return self._compared(_OPS[name], left, right)
            case Call("is_valid", (column,)):
                return Not(NullTest(self._name(column)))
            case Call("is_null", (column,), options):
                return self._null_test(column, _option(options, "nan_is_null"))
            case Call("is_nan", (column,)):
                return self._is_nan(column)
            case Call("starts_with" | "match_like" as name, (column,), options):
                return self._like(name, column, options)
            case Call(name):
                raise _UnusableError(f"xskip does not use the function {name} of pyarrow")
        raise _UnusableError("the literal is no condition")

    def _compared(self, op: Op, left: Tree, right: Tree) -> Node:
        if isinstance(left, Scalar):
            if isinstance(right, Scalar):
                raise _UnusableError("the comparison has no column")
            op, left, right = op.flipped, right, left
        name, kind = self._operand(left)
        if not isinstance(right, Scalar):
            other, same = self._operand(right)
            if kind != same:
                raise _UnusableError(f"xskip does not compare {kind} with {same}")
            return Compared(op, name, other)
        if not right.value.is_valid:
            return Literal("null")
        return Compared(op, name, literal_of(right.value, kind, self._spark_type(name)))

    def _null_test(self, column: Tree, nan_is_null: object) -> Node:
        name, kind = self._operand(column)
        if nan_is_null and pa.types.is_floating(kind):
            return Either((NullTest(name), Compared(Op.EQ, name, Literal("nan", "NaN"))))
        return NullTest(name)

    def _is_nan(self, column: Tree) -> Node:
        name, kind = self._operand(column)
        if not pa.types.is_floating(kind):
            raise _UnusableError("the column has no floating-point numbers")
        return Compared(Op.EQ, name, Literal("nan", "NaN"))

    def _is_in(self, column: Tree, options: Any, *, negated: bool) -> Node:
        name, kind = self._operand(column)
        listed = _listed(options)
        if listed is None:
            raise _UnusableError("the list of values is not known")
        behavior = _option(options, "null_matching_behavior")
        has_null = listed.null_count > 0 and behavior != _SKIPS_NULL
        if has_null and behavior != _MATCHES_NULL:
            raise _UnusableError("the list holds a null")
        among = self._among(name, kind, listed, negated=negated)
        null: Node = NullTest(name)
        if negated:
            return Both((Not(null), among)) if has_null else Either((null, among))
        return Either((null, among)) if has_null else among

    def _among(self, name: Name, kind: pa.DataType, listed: Any, *, negated: bool) -> Node:
        """Return a node for ``is_in`` of a value that is not null, or for its negation."""
        spark_type = self._spark_type(name)
        equal: list[Node] = []
        inexact = ""
        for value in listed.drop_null():
            try:
                literal = literal_of(value, kind, spark_type, in_list=True)
            except InexactError as error:
                inexact = str(error)
                continue
            if negated and pa.types.is_floating(kind) and value.as_py() == 0:
                continue  # the zero of the other sign is not in the list
            equal.append(Compared(Op.EQ, name, literal))
        if inexact:
            equal.append(Other(f"some values of a list for {'.'.join(name.path)}", OtherReason(inexact)))
        found = Either(tuple(equal)) if equal else Literal("boolean", "FALSE")
        return Not(found) if negated else found

    def _like(self, function: str, column: Tree, options: Any) -> Node:
        name, kind = self._operand(column)
        pattern = _option(options, "pattern")
        if not isinstance(pattern, str) or not _is_text(kind):
            raise _UnusableError("xskip uses patterns only on columns of type string")
        if _option(options, "ignore_case") is not False:
            raise _UnusableError("xskip does not use conditions that ignore case")
        if function == "starts_with":
            escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            return Like(name, Literal("string", f"{escaped}%"))
        if "\\" in pattern:
            raise _UnusableError("xskip does not use patterns with a backslash")
        return Like(name, Literal("string", pattern))

    def _name(self, tree: Tree) -> Name:
        return self._operand(tree)[0]

    def _operand(self, tree: Tree) -> tuple[Name, pa.DataType]:
        """Return a column without casts that keep each value, and the type in which pyarrow compares it."""
        match tree:
            case Field(path):
                kind = self._kind(path)
                recorded = self.recorded(path)
                if recorded == "":
                    raise _UnusableError(f"the files hold {'.'.join(path)} with different types")
                if recorded is not None and not _is_same(recorded, kind):
                    raise _UnusableError(f"the files hold {'.'.join(path)} as {kind}, and the index as {recorded}")
                return Name(path), kind
            case Call("cast", (inner,), options):
                name, kind = self._operand(inner)
                target = options["to_type"].type if options is not None else None
                if target is None or not _keeps(kind, target):
                    raise _UnusableError(f"a cast to {target} can change values or their order")
                return name, target
            case Call(name):
                raise _UnusableError(f"xskip does not use the function {name} of pyarrow")
        raise _UnusableError("the condition has no column")

    def _kind(self, path: tuple[str, ...]) -> pa.DataType:
        """Return the type of a column in the files."""
        found: Any = pa.struct(list(self.schema))
        for part in path:
            fields = list(found) if pa.types.is_struct(found) else []
            same = [f for f in fields if f.name == part]
            alike = [f for f in fields if f.name.lower() == part.lower()]
            if len(same) != 1 or (len(alike) > 1 and not self.case_sensitive):
                raise _UnusableError(f"the dataset has no unambiguous column {'.'.join(path)}")
            found = same[0].type
        return found.value_type if pa.types.is_dictionary(found) else found

    def _spark_type(self, name: Name) -> str:
        return self.recorded(name.path) or ""


def _flat(tree: Call, names: tuple[str, ...]) -> Iterator[Tree]:
    """Yield the parts of a chain of conjunctions or disjunctions, in order."""
    waiting: list[Tree] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call) and part.name in names:
            waiting.extend(reversed(part.arguments))
        else:
            yield part


def _option(options: Any, name: str) -> object:
    """Return the value of an option of a call, or None if the call has none of this name."""
    if options is None or name not in [field.name for field in options.type]:
        return None
    return options[name].as_py()


def _listed(options: Any) -> Any:
    """Return the array of values of an ``is_in``, or None if the options have none."""
    if options is None or "value_set" not in [field.name for field in options.type]:
        return None
    found = options["value_set"]
    return found.values if isinstance(found, pa.ListScalar) else None


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _is_same(recorded: str, kind: pa.DataType) -> bool:
    """Return whether files and index have the same values: Spark's timestamps can have no zone in files."""
    if recorded == "string":
        return _is_text(kind)
    if recorded == "binary":
        return kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    if recorded in ("timestamp", "timestamp_ntz") and pa.types.is_timestamp(kind):
        return bool(kind.unit in ("ms", "us") and kind.tz in ((None, "UTC") if recorded == "timestamp" else (None,)))
    try:
        return bool(arrow_type(recorded) == kind)
    except KeyError:
        return False


def _keeps(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a cast keeps each value, so that comparisons with a literal stay exact."""
    if source == target or (_is_text(source) and _is_text(target)):
        return True
    if pa.types.is_signed_integer(source):
        wider = pa.types.is_signed_integer(target) and target.bit_width > source.bit_width
        # A double holds each integer of 32 bits.
        return bool(wider or (target == pa.float64() and source.bit_width <= 32))
    return bool(source == pa.float32() and target == pa.float64())


def fields_of(tree: Tree) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the columns in an expression."""
    waiting: list[Tree] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Field):
            yield part.path
        elif isinstance(part, Call):
            waiting.extend(reversed(part.arguments))


def has_nan(tree: Tree) -> bool:
    """Return whether an expression has the literal NaN."""
    waiting: list[Tree] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call):
            waiting.extend(part.arguments)
        elif isinstance(part, Scalar) and _is_nan(part.value):
            return True
    return False


def _is_nan(value: Any) -> bool:
    return bool(pa.types.is_floating(value.type) and value.is_valid and math.isnan(value.as_py()))


def text_of(tree: Tree, depth: int = 0) -> str:
    """Return the text of an expression for people, without calls deeper than a few.

    >>> text_of(Call("greater", (Call("abs", (Field(("s", "a")),)), Scalar(pa.scalar(5)))))
    'abs(s.a) > 5'
    """
    match tree:
        case Field(path):
            return ".".join(path)
        case Scalar(value):
            return f"'{value}'" if _is_text(value.type) and value.is_valid else _shown(value, str)
    parts = [text_of(part, depth + 1) if depth < 5 else "…" for part in tree.arguments]
    if len(parts) == 2 and tree.name in _SIGNS:
        text = f"{parts[0]} {_SIGNS[tree.name]} {parts[1]}"
        return f"({text})" if depth else text
    values = _listed(tree.options)
    pattern = _option(tree.options, "pattern")
    if values is not None:
        shown = [_shown(value, lambda v: repr(v.as_py())) for value in values[:_SHOWN_VALUES]]
        parts += [*shown, *(["…"] if len(values) > _SHOWN_VALUES else [])]
    if isinstance(pattern, str):
        parts.append(f"'{pattern}'")
    return f"{tree.name}({', '.join(parts)})"


def _shown(value: Any, text: Callable[[Any], str]) -> str:
    """Return the text of a value of pyarrow, in pyarrow's own form if Python has no such value."""
    try:
        return text(value)
    except (pa.ArrowException, OverflowError, ValueError):
        return str(pc.scalar(value))
