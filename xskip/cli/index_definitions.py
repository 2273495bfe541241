"""The index types that the arguments of ``xskip create`` and a configuration file define."""

from __future__ import annotations

import argparse
import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xskip.cli.configuration_file import read_config
from xskip.cli.flags import ONE_COLUMN
from xskip.errors import IndexDefinitionError, did_you_mean
from xskip.indexes import Index, PathBounds, registered
from xskip.indexes.registry import type_of

__all__ = ["configured_indexes", "given_indexes", "wanted_indexes"]

_EXPECTED = "TYPE(COLUMN, PARAMETER=VALUE), such as valuelist(city, max_values=100)"
_ERRORS = (TypeError, ValueError)


def wanted_indexes(arguments: argparse.Namespace) -> list[Index]:
    """Return the index types, at least one, that the arguments and the configuration file define."""
    wanted = given_indexes(arguments)
    if arguments.pathbounds:
        wanted += PathBounds.of_pattern(arguments.pathbounds, unit=arguments.path_unit, zone=arguments.path_zone)
    wanted += configured_indexes(read_config(arguments.config))
    if not wanted:
        raise IndexDefinitionError(
            "no index is given", expected="at least one, such as --minmax COLUMN or --valuelist COLUMN",
            hint=f"see xskip {arguments.command} --help",
        )  # fmt: skip
    return wanted


def given_indexes(arguments: argparse.Namespace) -> list[Index]:
    """Return the index types on columns that the arguments define."""
    wanted = [_made(name, [column], {}) for name in ONE_COLUMN for column in getattr(arguments, name)]
    wanted += [_made("geobox", columns, {}) for columns in arguments.geobox]
    wanted += [_made("formatted", given, {}) for given in arguments.formatted]
    return wanted + [_parsed(text) for text in arguments.index]


def configured_indexes(config: Mapping[str, Any]) -> list[Index]:
    """Return the index types that the keys ``index`` and ``indexes`` of a checked configuration define."""
    made = [_parsed(text) for text in config.get("indexes", ())]
    for entry in config.get("index", ()):
        made += _configured(entry)
    return made


def _configured(entry: Mapping[str, Any]) -> list[Index]:
    given = dict(entry)
    if "type" not in given:
        raise IndexDefinitionError(
            "an [[index]] table has no type", found=f"the keys {', '.join(given) or 'none'}",
            expected='a key such as type = "minmax"',
        )  # fmt: skip
    name = str(given.pop("type"))
    if name == "pathbounds" and "pattern" in given and "column" not in given:
        _check_parameters(PathBounds.of_pattern, name, [], given)
        return list(PathBounds.of_pattern(given.pop("pattern"), **given))
    return [_made(name, [], given)]


def _parsed(text: str) -> Index:
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError(text)
        columns = [_column(argument) for argument in node.args]
        parameters = {str(k.arg): _value(k.value) for k in node.keywords}
    except (SyntaxError, *_ERRORS) as error:
        raise IndexDefinitionError("the index definition is not valid", found=text, expected=_EXPECTED) from error
    return _made(node.func.id, columns, parameters)


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


def _made(name: str, columns: list[str], parameters: Mapping[str, Any]) -> Index:
    kind: Any = type_of(name.lower())
    if kind is None:
        raise IndexDefinitionError(
            "the index type is not known", found=name, expected=f"one of {', '.join(registered())}",
            hint=did_you_mean(name, registered()),
        )  # fmt: skip
    _check_parameters(kind, name, columns, parameters)
    try:
        made: Index = kind(*columns, **parameters)
    except _ERRORS as error:
        if isinstance(error, IndexDefinitionError):
            raise
        raise IndexDefinitionError("the index definition is not valid", where=name, found=str(error)) from error
    return made


def _check_parameters(
    make: Callable[..., object], name: str, columns: Sequence[str], given: Mapping[str, object]
) -> None:
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
