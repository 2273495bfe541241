"""The conditions of a scan on columns and expressions, for advice on indexes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from xskip.clauses.clause import Undetermined, leaves
from xskip.column_paths import join_path
from xskip.expressions.condition_reasons import MissingIndex, Reason, UnansweredCondition
from xskip.expressions.expression_sql import expression_sql
from xskip.expressions.operands import Cast, Column, Computed, Derived, Elements, Form, Operand, column_of
from xskip.expressions.predicate import (
    And,
    ColumnComparison,
    Comparison,
    Constant,
    Equivalent,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    Op,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import UnusedPart
from xskip.results.index_usage import Condition, ConditionKind

__all__ = ["conditions_of", "conditions_without_index"]

#: The most leaves of a predicate that count. Longer predicates are made by programs, and one operand is in many leaves.
_MAX_LEAVES = 500
_KINDS: dict[Op, ConditionKind] = {
    Op.EQ: "equal", Op.NE: "other", Op.GT: "above", Op.GE: "above", Op.LT: "below", Op.LE: "below",
}  # fmt: skip
_OPPOSITES: dict[ConditionKind, ConditionKind] = {"above": "below", "below": "above"}


def conditions_of(
    predicate: Predicate, catalog: IndexCatalog, unused: Iterable[UnusedPart], secret: Collection[str] = ()
) -> tuple[Condition, ...]:
    """Return what a scan asks of columns and expressions: at most two conditions of each, with and without an index.

    ``unused`` are the parts of the predicate that no index answers. ``secret`` are columns, in lower case, whose values
    nothing shows.
    """
    found = list(islice(_leaves(predicate), _MAX_LEAVES))
    reasons = {_key(leaf): part.reason for part in unused for leaf in part.subjects if not isinstance(leaf, str)}
    conditions = _ConditionSet(catalog, reasons, frozenset(secret))
    # Spark adds the test for NULL to each other condition.
    tested = {
        column for leaf, _ in found if not isinstance(leaf, IsNotNull) for column in conditions.columns(leaf.operand)
    }
    for leaf, is_required in found:
        if not isinstance(leaf, IsNotNull) or tested.isdisjoint(conditions.columns(leaf.operand)):
            conditions.add(leaf, is_required=is_required)
    return tuple(conditions.found())


def conditions_without_index(predicate: Predicate) -> tuple[Condition, ...]:
    """Return what a scan of a dataset without an index asks of columns and expressions, without values."""
    catalog = IndexCatalog(())
    parts = (leaf for leaf in leaves(translate(predicate, catalog)) if isinstance(leaf, Undetermined))
    found = conditions_of(predicate, catalog, (UnusedPart(part.predicates, part.reason) for part in parts))
    return tuple(dict.fromkeys(condition.without_values() for condition in found))


@dataclass(frozen=True, slots=True)
class _Operand:
    """A column or expression that conditions are on, and whether an index answers them."""

    operand: str
    is_expression: bool = False
    is_answered: bool = False
    column: str = ""


@dataclass(frozen=True, slots=True)
class _ConditionSet:
    catalog: IndexCatalog
    #: Why no index answers a leaf, by the keys of leaves.
    reasons: dict[object, Reason]
    secret: frozenset[str]
    _kinds: dict[_Operand, set[ConditionKind]] = field(default_factory=dict)

    def found(self) -> Iterator[Condition]:
        """Yield the conditions."""
        for each, kinds in self._kinds.items():
            known = kinds - {"other"} or kinds
            yield Condition(each.operand, tuple(sorted(known)), each.is_expression, each.is_answered, each.column)

    def columns(self, operand: Operand) -> frozenset[str]:
        """Return the names of the columns in an operand."""
        match operand:
            case Derived(form) | Elements(column=Derived(form)) | Computed(form=Form() as form):
                return frozenset(map(self.catalog.name, form.columns))
            case Elements(column=Column() as column):
                return frozenset((self.catalog.name(column.path),))
            case _:
                found = column_of(operand)
                return frozenset() if found is None else frozenset((self.catalog.name(found.path),))

    def add(self, leaf: Leaf, *, is_required: bool) -> None:
        """Add a leaf. One inside of an OR asks nothing that an index on its operand alone can decide."""
        found, kinds = self._operand(leaf)
        if found is not None:
            self._kinds.setdefault(found, set()).update(kinds if is_required else ("other",))

    def _operand(self, leaf: Leaf) -> tuple[_Operand | None, tuple[ConditionKind, ...]]:
        reason, kind = self.reasons.get(_key(leaf)), _kind(leaf)
        # Other reasons are about an index that exists.
        is_answered = not isinstance(reason, MissingIndex | UnansweredCondition)
        match leaf.operand:
            case Column(path) | Cast(Column(path)) if not self.catalog.is_partition(path):
                if reason is None or not is_answered:
                    return _Operand(self.catalog.name(path), is_answered=is_answered), (kind,)
            case Elements(column=Column(path)) if not self.catalog.is_partition(path):
                if reason is None or not is_answered:
                    return _Operand(self.catalog.name(path), is_answered=is_answered), ("other",)
            case Computed(column=Column(path), shape=shape, form=form) if not self.catalog.is_partition(path):
                if shape.direction:  # bounds of the column answer it
                    kinds = _of_monotone(kind, shape.direction)
                    if reason is None or not is_answered:
                        return _Operand(self.catalog.name(path), is_answered=is_answered), kinds
                elif not is_answered:
                    found = self._of_expression(form) or _Operand(self.catalog.name(path))
                    return found, (kind if found.is_expression else "other",)
            case Derived(form):
                expression = self._of_expression(form)
                return expression, (kind if expression and expression.is_expression else "other",)
        return None, ()

    def _of_expression(self, form: Form | None) -> _Operand | None:
        """Return the expression as an operand, or None if it has an index or no text."""
        if form is None or not form.columns or self.catalog.on_expression(form):
            return None
        sql = expression_sql(form)
        if sql is None or any(self.catalog.is_partition(path[:1]) for path in form.columns):
            return None
        if not sql.has_values:
            return _Operand(sql.text, is_expression=True)
        column = join_path(form.columns[0])
        if self._is_secret(form):
            return _Operand(column)
        return _Operand(sql.text, is_expression=True, column=column)

    def _is_secret(self, form: Form) -> bool:
        names = (".".join(path[: end + 1]).lower() for path in form.columns for end in range(len(path)))
        return not self.secret.isdisjoint(names)


def _leaves(predicate: Predicate) -> Iterator[tuple[Leaf, bool]]:
    """Yield the leaves of a predicate, each with whether a row that matches must satisfy it."""
    left = [(predicate, True)]  # no recursion, because programs make deep predicates
    while left:
        node, is_required = left.pop()
        match node:
            case And(children) | Equivalent(children):
                left += [(child, is_required) for child in reversed(children)]
            case Or(children):
                left += [(child, is_required and len(children) == 1) for child in reversed(children)]
            case ColumnComparison() | Constant() | Unknown():
                pass
            case _:
                yield node, is_required


def _key(leaf: object) -> object:
    """Return what equal conditions on an operand have in common; values do not count."""
    operand = getattr(leaf, "operand", None)
    if isinstance(operand, Elements) and isinstance(operand.column, Column):
        operand = Column(operand.column.path, operand.type)  # as the translation names it
    return type(leaf), getattr(leaf, "op", None), operand


def _kind(leaf: Leaf) -> ConditionKind:
    match leaf:
        case Comparison(op):
            return _KINDS[op]
        case In():
            return "equal"
        case StartsWith():
            return "prefix"
        case IsNull():
            return "null"
        case _:
            return "other"


def _of_monotone(kind: ConditionKind, direction: int) -> tuple[ConditionKind, ...]:
    """Return the kinds of conditions on the column of a monotone function: one of its values is a range of the column.

    >>> _of_monotone("equal", 1), _of_monotone("above", -1)
    (('above', 'below'), ('below',))
    """
    if kind == "equal":
        return "above", "below"
    return (_OPPOSITES.get(kind, kind),) if direction < 0 else (kind,)
