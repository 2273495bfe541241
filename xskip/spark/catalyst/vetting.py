"""Decide by its form alone whether an expression in SQL may be given to Spark's analyzer. Rule: [PRU-EX-4].

Analysis is not harmless: it resolves the tables and paths of subqueries, loads classes for functions of a catalog, and
the optimizer evaluates in the driver what depends on no column. The parser alone does nothing of that.
"""

from __future__ import annotations

from typing import Any

from xskip.spark.bridge.java_errors import spark_errors

__all__ = ["is_plain"]

_MOST_LETTERS, _MOST_NODES, _DEEPEST = 10_000, 1_000, 100
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
#: What stands for a value that rows have.
_OF_ROWS = ("UnresolvedAttribute", "UnresolvedNamedLambdaVariable")
#: What may be without a column: what it makes is hardly larger than its text.
_SMALL = (
    "Add", "Cast", "Concat", "Divide", "Literal", "Multiply", "Subtract", "UnaryMinus", "UnaryPositive",
    "UnresolvedCollation",
)  # fmt: skip
_SMALL_FUNCTIONS = (
    "array", "bigint", "binary", "boolean", "concat", "date", "decimal", "double", "e", "float", "int", "lower",
    "make_date", "make_dt_interval", "make_interval", "make_timestamp", "make_ym_interval", "map", "named_struct", "pi",
    "smallint", "string", "struct", "timestamp", "tinyint", "to_date", "to_timestamp", "unhex", "upper",
)  # fmt: skip
#: They load classes of any name.
_REFLECTIVE = ("java_method", "reflect", "try_reflect")


def is_plain(session: Any, text: str) -> bool:
    """Return whether an expression is of Spark's own functions, without subqueries, and with a column in each of them.

    Parameters
    ----------
    session : SparkSession
    text : str
        What Spark's parser refuses counts as plain: it refuses it again, and says why.
    """
    if len(text) > _MOST_LETTERS or text.count("(") > _DEEPEST or "\0" in text:
        return False
    try:
        parsed = session._jsparkSession.sessionState().sqlParser().parseExpression(text)
    except spark_errors():
        return True
    return _Vetting(session._jvm).depends_on_rows(parsed, 0) is not None


class _Vetting:
    """One look at a parsed tree."""

    def __init__(self, jvm: Any) -> None:
        self._subquery = jvm.java.lang.Class.forName(f"{_EXPRESSIONS}.PlanExpression")
        self._builtin = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.expressions()
        self._left = _MOST_NODES

    def depends_on_rows(self, node: Any, depth: int) -> bool | None:
        """Return whether a node's value depends on a row; None where it is not plain."""
        self._left -= 1
        name = str(node.getClass().getSimpleName())
        if self._left < 0 or depth > _DEEPEST or "Identifier" in name or self._subquery.isInstance(node):
            return None
        below = node.children()
        parts = [self.depends_on_rows(below.apply(i), depth + 1) for i in range(below.size())]
        if None in parts:
            return None
        depends = name in _OF_ROWS or any(parts)
        if name == "UnresolvedFunction":
            return self._of_function(node, depends=depends)
        return depends if depends or name in _SMALL else None

    def _of_function(self, node: Any, *, depends: bool) -> bool | None:
        parts = node.nameParts()
        name = str(parts.head()).lower()
        if parts.size() > 1 or name in _REFLECTIVE or not self._builtin.contains(name):
            return None
        return depends if depends or name in _SMALL_FUNCTIONS else None
