"""The index types that the arguments of ``xskip create`` and a configuration file define."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from xskip.cli.configuration_file import read_config
from xskip.cli.flags import ONE_COLUMN
from xskip.errors import IndexDefinitionError
from xskip.indexes import Index, PathBounds
from xskip.indexes.definition_text import check_parameters, make_index, parse_index

__all__ = ["configured_indexes", "given_indexes", "wanted_indexes", "wanted_or_chosen"]


def wanted_or_chosen(arguments: argparse.Namespace) -> list[Index] | None:
    """Return the indexes that the arguments define; None if ``--auto`` leaves them to xskip."""
    if not arguments.auto:
        return wanted_indexes(arguments)
    if given_indexes(arguments) or arguments.pathbounds or configured_indexes(read_config(arguments.config)):
        raise IndexDefinitionError("indexes are given together with --auto", hint="leave out --auto, or the indexes")
    return None


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
    wanted = [make_index(name, [column], {}) for name in ONE_COLUMN for column in getattr(arguments, name)]
    wanted += [make_index("geobox", columns, {}) for columns in arguments.geobox]
    wanted += [make_index("formatted", given, {}) for given in arguments.formatted]
    return wanted + [parse_index(text) for text in arguments.index]


def configured_indexes(config: Mapping[str, Any]) -> list[Index]:
    """Return the index types that the keys ``index`` and ``indexes`` of a checked configuration define."""
    made = [parse_index(text) for text in config.get("indexes", ())]
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
        check_parameters(PathBounds.of_pattern, name, [], given)
        return list(PathBounds.of_pattern(given.pop("pattern"), **given))
    return [make_index(name, [], given)]
