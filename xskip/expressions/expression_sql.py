"""The SQL of expressions in the hook's encoding, by which users define indexes on them."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from xskip.column_paths import in_backticks
from xskip.expressions.operands import Form

__all__ = ["ExpressionSql", "expression_sql"]

_MAX_CHARACTERS = 2000
_SIGNS = {
    "Add": "+", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^", "Divide": "/", "IntegralDivide": "DIV",
    "Multiply": "*", "Remainder": "%", "Subtract": "-",
}  # fmt: skip
#: The functions with a fixed number of arguments, by the names of their classes. Further members of a class, such as
#: that of the ANSI mode, are settings of the session.
_FUNCTIONS = {
    "Abs": ("abs", 1), "Ascii": ("ascii", 1), "Crc32": ("crc32", 1), "DayOfMonth": ("day", 1),
    "DayOfWeek": ("dayofweek", 1), "DayOfYear": ("dayofyear", 1), "GetJsonObject": ("get_json_object", 2),
    "Hour": ("hour", 1), "InitCap": ("initcap", 1), "Length": ("length", 1), "Lower": ("lower", 1),
    "MapKeys": ("map_keys", 1), "MapValues": ("map_values", 1), "Md5": ("md5", 1), "Minute": ("minute", 1),
    "Month": ("month", 1), "Pmod": ("pmod", 2), "Quarter": ("quarter", 1), "RegExpExtract": ("regexp_extract", 3),
    "Reverse": ("reverse", 1), "Second": ("second", 1), "Sha1": ("sha1", 1), "Size": ("size", 1),
    "StringTrim": ("trim", 1), "StringTrimLeft": ("ltrim", 1), "StringTrimRight": ("rtrim", 1),
    "Substring": ("substring", 3), "SubstringIndex": ("substring_index", 3), "Upper": ("upper", 1),
    "WeekDay": ("weekday", 1), "WeekOfYear": ("weekofyear", 1), "Year": ("year", 1),
}  # fmt: skip
_OF_LISTS = {"Coalesce": "coalesce", "Concat": "concat", "Murmur3Hash": "hash", "XxHash64": "xxhash64"}
_INTEGERS = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L"}


class ExpressionSql(NamedTuple):
    """An expression in SQL."""

    text: str
    #: Whether the text has literals, which are values of filters.
    has_values: bool


def expression_sql(form: Form) -> ExpressionSql | None:
    """Return an expression in SQL, or None if it has a part that this module does not know.

    Spark can resolve the text to another expression, for example in a session with other settings: who indexes the
    text compares the forms.

    >>> expression_sql(Form('["Lower",["$",["City name"],"string"]]', "", ()))
    ExpressionSql(text='lower(`City name`)', has_values=False)
    >>> expression_sql(Form('["Remainder",["$",["a"],"int"],["#","int",10],["NumericEvalContext","ANSI"]]', "", ()))
    ExpressionSql(text='(a % 10)', has_values=True)
    """
    if len(form.text) > _MAX_CHARACTERS:
        return None
    literals: list[object] = []
    text = _sql(json.loads(form.text), literals)
    if text is None or len(text) > _MAX_CHARACTERS:
        return None
    return ExpressionSql(text, bool(literals))


def _sql(node: Any, literals: list[object]) -> str | None:
    match node:
        case ["$", [*path], str()]:
            return ".".join(part if re.fullmatch(r"[A-Za-z_]\w*", part) else in_backticks(part) for part in path)
        case ["#", str() as kind, value]:
            literals.append(value)
            return _literal(kind, value)
        case ["Cast", child, {"t": str() as kind}, *_]:
            return _called("CAST({} AS " + kind + ")", [child], literals)
        case ["GetMapValue", child, key, *_]:
            return _called("{}[{}]", [child, key], literals)
        case [str() as name, left, right, *_] if name in _SIGNS:
            return _called("({} " + _SIGNS[name] + " {})", [left, right], literals)
        case [str() as name, [*arguments], *_] if name in _OF_LISTS and arguments:
            return _called(f"{_OF_LISTS[name]}({', '.join(['{}'] * len(arguments))})", arguments, literals)
        case [str() as name, *arguments] if name in _FUNCTIONS:
            function, count = _FUNCTIONS[name]
            return _called(f"{function}({', '.join(['{}'] * count)})", arguments[:count], literals)
        case _:
            return None


def _called(template: str, arguments: list[Any], literals: list[object]) -> str | None:
    """Return a call, or None if an argument is not known."""
    texts = [text for each in arguments if (text := _sql(each, literals)) is not None]
    return template.format(*texts) if len(texts) == len(arguments) == template.count("{}") else None


def _literal(kind: str, value: Any) -> str | None:
    match value:
        case bool() if kind == "boolean":
            return str(value).upper()
        case int() if kind in _INTEGERS and not isinstance(value, bool):
            return f"{value}{_INTEGERS[kind]}" if value >= 0 else f"({value}{_INTEGERS[kind]})"
        case str() if kind == "string" and not re.search(r"[\\'\x00-\x1f]", value):
            return f"'{value}'"
        case _:
            return None
