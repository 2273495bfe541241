"""Indexes as texts, such as ``valuelist(city, max_values=100)``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from xskip.errors import IndexDefinitionError, did_you_mean
from xskip.indexes.index_type import Index
from xskip.indexes.registry import registered, type_of

__all__ = ["check_parameters", "make_index", "parse_index", "parse_indexes", "text_of"]

_EXPECTED = "TYPE(COLUMN, PARAMETER=VALUE), such as valuelist(city, max_values=100)"
_ERRORS = (TypeError, ValueError)


def parse_index(text: str) -> Index:
    """Return the index that a text defines; raise IndexDefinitionError for any other text.

    >>> parse_index("valuelist(city, max_values=100)").max_values
    100
    """
    indexes = parse_indexes(text)
    if len(indexes) != 1:
        raise IndexDefinitionError("the index definition is not valid", found=text, expected=_EXPECTED)
    return indexes[0]


def parse_indexes(text: str) -> list[Index]:
    """Return the indexes that a text with commas between defines; raise IndexDefinitionError for any other text.

    >>> [index.name for index in parse_indexes("minmax(ts), bloomfilter(user)")]
    ['minmax', 'bloomfilter']
    """
    try:
        body = ast.parse(text.strip(), mode="eval").body
        calls = [_call(node) for node in (body.elts if isinstance(body, ast.Tuple) else [body])]
    except (SyntaxError, *_ERRORS) as error:
        raise IndexDefinitionError("the index definition is not valid", found=text, expected=_EXPECTED) from error
    return [make_index(name, columns, parameters) for name, columns, parameters in calls]


def text_of(index: Index) -> str:
    """Return the text from which :func:`parse_index` makes an equal index.

    >>> from xskip import BloomFilter
    >>> text_of(BloomFilter("user id", fpp=0.1)), parse_index(text_of(BloomFilter("user id", fpp=0.1))).fpp
    ("bloomfilter(column='user id', fpp=0.1)", 0.1)
    """
    kind: Any = type(index)
    if not is_dataclass(kind):
        raise IndexDefinitionError(
            "the index type has no text", found=kind.__qualname__, expected="a dataclass, as OneColumn is"
        )
    given = {field.name: getattr(index, field.name) for field in fields(kind) if field.init}
    defaults = {field.name: field.default for field in fields(kind)}
    arguments = [f"{name}={value!r}" for name, value in given.items() if value != defaults[name]]
    return f"{index.name}({', '.join(arguments)})"


def _call(node: ast.expr) -> tuple[str, list[str], dict[str, object]]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError("no call")
    return node.func.id, [_column(each) for each in node.args], {str(k.arg): _value(k.value) for k in node.keywords}


def _column(node: ast.expr) -> str:
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node)
    value = ast.literal_eval(node)
    if not isinstance(value, str):
        raise ValueError("no column")
    return value


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Name) and node.id in ("true", "false"):
        return node.id == "true"
    return ast.literal_eval(node)


def make_index(name: str, columns: list[str], parameters: Mapping[str, Any]) -> Index:
    """Return an index of a registered type; raise IndexDefinitionError for other types and parameters."""
    kind: Any = type_of(name.lower())
    if kind is None:
        raise IndexDefinitionError(
            "the index type is not known", found=name, expected=f"one of {', '.join(registered())}",
            hint=did_you_mean(name, registered()),
        )  # fmt: skip
    check_parameters(kind, name, columns, parameters)
    try:
        made: Index = kind(*columns, **parameters)
    except _ERRORS as error:
        if isinstance(error, IndexDefinitionError):
            raise
        raise IndexDefinitionError("the index definition is not valid", where=name, found=str(error)) from error
    return made


def check_parameters(
    make: Callable[..., object], name: str, columns: Sequence[str], given: Mapping[str, object]
) -> None:
    """Raise IndexDefinitionError unless a function takes columns and parameters."""
    signature = inspect.signature(make)
    known = list(signature.parameters)
    unknown = sorted(given.keys() - set(known))
    if unknown:
        raise IndexDefinitionError(
            f"{name} has no such parameter", found=unknown[0], expected=f"one of {', '.join(known)}",
            hint=did_you_mean(unknown[0], known),
        )  # fmt: skip
    try:
        signature.bind(*columns, **given)
    except TypeError as error:
        raise IndexDefinitionError(
            f"{name} has other parameters", found=str(error), expected=f"{name}({', '.join(known)})"
        ) from error
