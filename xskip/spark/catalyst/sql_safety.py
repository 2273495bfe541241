"""The check whether Spark may analyze an expression in SQL, which looks only at the parsed form. Rule: [PRU-EX-4].

Analysis has side effects: the analyzer resolves the tables and paths of subqueries and loads classes for functions of
a catalog, and the optimizer evaluates expressions without columns in the driver. The parser has none of these effects.
"""

from __future__ import annotations

from typing import Any

from xskip.spark.bridge.java_errors import spark_errors

__all__ = ["is_plain"]

_MAX_LETTERS, _MAX_NODES, _DEEPEST = 10_000, 1_000, 100
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
#: The nodes that refer to a value of a row.
_OF_ROWS = ("UnresolvedAttribute", "UnresolvedNamedLambdaVariable")
#: The nodes that are allowed without a column, because their result is hardly larger than their text.
_SMALL = (
    "Add", "Cast", "Concat", "Divide", "Literal", "Multiply", "Subtract", "UnaryMinus", "UnaryPositive",
    "UnresolvedCollation",
)  # fmt: skip
#: The functions that are allowed without a column, because their result is hardly larger than their text.
_SMALL_FUNCTIONS = (
    "array", "bigint", "binary", "boolean", "concat", "date", "decimal", "double", "e", "float", "int", "lower",
    "make_date", "make_dt_interval", "make_interval", "make_timestamp", "make_ym_interval", "map", "named_struct", "pi",
    "smallint", "string", "struct", "timestamp", "tinyint", "to_date", "to_timestamp", "unhex", "upper",
)  # fmt: skip
#: The functions that load classes of any name.
_REFLECTIVE = ("java_method", "reflect", "try_reflect")


def is_plain(session: Any, text: str) -> bool:
    """Return whether an expression in SQL has only Spark's own functions, a column in each of them, and no subquery.

    Functions and operators with a small result, such as ``pi()``, need no column. A very long or deep text counts as
    not plain.
    """
    if len(text) > _MAX_LETTERS or text.count("(") > _DEEPEST or "\0" in text:
        return False
    try:
        parsed = session._jsparkSession.sessionState().sqlParser().parseExpression(text)
    except spark_errors():
        # Spark rejects the text again when xskip uses it, and then reports the reason
        return True
    return _Vetting(session._jvm).depends_on_rows(parsed, 0) is not None


class _Vetting:
    """A walk over a parsed expression, which stops after a limited number of nodes."""

    def __init__(self, jvm: Any) -> None:
        self._subquery = jvm.java.lang.Class.forName(f"{_EXPRESSIONS}.PlanExpression")
        self._builtin = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.expressions()
        self._left = _MAX_NODES

    def depends_on_rows(self, node: Any, depth: int) -> bool | None:
        """Return whether the value of a node depends on a row, or None if the node is not plain."""
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
