"""The configuration file of the commands, in TOML: one dataset, or a table ``[[dataset]]`` for each of many."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xskip.errors import IndexDefinitionError, did_you_mean, error_text

__all__ = ["AUTO", "read_config", "read_datasets"]

#: The text in place of a list of indexes that leaves them to xskip.
AUTO = "auto"

_DEFINITION = ("format", "options", "index", "indexes")
_DATASET = ("path", "table", "location", "at", "parts", *_DEFINITION)
_TEXTS = ("path", "table", "location", "at", "parts", "format")


def read_config(path: str | None) -> Mapping[str, Any]:
    """Return the content of a file that defines the indexes of one dataset, after a check; empty without a file."""
    if path is None:
        return {}
    config = _read(path)
    if "dataset" in config:
        raise IndexDefinitionError(
            "the configuration defines datasets of its own", where=path, found="[[dataset]] tables",
            hint="use xskip ensure --config FILE without a path",
        )  # fmt: skip
    _check(config, path, _DEFINITION)
    return config


def read_datasets(path: str) -> Sequence[Mapping[str, Any]]:
    """Return the ``[[dataset]]`` tables of a file, after a check."""
    config = _read(path)
    tables = config.get("dataset")
    if not isinstance(tables, list) or not tables or not all(isinstance(each, dict) for each in tables):
        raise IndexDefinitionError(
            "the configuration defines no dataset", where=path, found=f"the keys {', '.join(config) or 'none'}",
            expected="[[dataset]] tables with a path, or a path in the command",
        )  # fmt: skip
    _check(config, path, ("dataset",))
    names = [each.get("path", each.get("table")) for each in tables]
    twice = [name for number, name in enumerate(names) if name is not None and name in names[:number]]
    if twice:
        raise IndexDefinitionError("the configuration has a dataset twice", where=path, found=str(twice[0]))
    for number, each in enumerate(tables, 1):
        where = f"{path}, dataset {number}"
        _check(each, where, _DATASET)
        named = [key for key in ("path", "table") if key in each]
        if len(named) != 1:
            raise IndexDefinitionError(
                "a dataset has no name, or two", where=where, found=" and ".join(named) or "neither path nor table",
                expected="a path or a table",
            )  # fmt: skip
        of_paths = [key for key in ("format", "options") if key in each and "table" in each]
        if of_paths:
            raise IndexDefinitionError(
                "the catalog determines how a table is read", where=where, found=f"the key {of_paths[0]}"
            )
    return tables


def _read(path: str) -> dict[str, Any]:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        config: dict[str, Any] = toml.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise IndexDefinitionError("cannot read the configuration", where=path, found=error_text(error)) from error
    return config


def _check(config: Mapping[str, Any], where: str, keys: Sequence[str]) -> None:
    """Raise an error for a key that is unknown, or whose value has another type."""
    unknown = sorted(config.keys() - set(keys))
    if unknown:
        raise IndexDefinitionError(
            "the configuration has unknown keys", where=where, found=", ".join(unknown), expected=", ".join(keys),
            hint=did_you_mean(unknown[0], keys),
        )  # fmt: skip
    of_texts = [key for key in _TEXTS if key in config and not (isinstance(config[key], str) and config[key].strip())]
    is_auto = "path" in keys and config.get("indexes") == AUTO
    has_lists = _are(dict, config.get("index", [])) and (is_auto or _are(str, config.get("indexes", [])))
    if of_texts or not has_lists:
        raise IndexDefinitionError(
            "the configuration has a key of another type", where=where, found=", ".join(of_texts) or "index or indexes",
            expected='[[index]] tables, a list such as indexes = ["minmax(ts)"], and texts',
        )  # fmt: skip
    options = config.get("options", {})
    if not isinstance(options, dict) or not all(isinstance(value, (str, int, float)) for value in options.values()):
        raise IndexDefinitionError(
            "the configuration has a key of another type", where=where, found="options",
            expected='an [options] table with texts, such as header = "true"',
        )  # fmt: skip


def _are(kind: type, values: object) -> bool:
    return isinstance(values, list) and all(isinstance(each, kind) for each in values)
