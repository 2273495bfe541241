"""The flags of the commands, each with a sentence."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "COLUMN_FLAGS",
    "COMMON",
    "DATASET",
    "INDEX_FLAGS",
    "ONE_COLUMN",
    "Flag",
    "add_flag",
    "count",
    "directory",
    "duration",
    "key_value",
    "number",
    "parts_of",
    "place",
    "whole_number",
]


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag or an argument of a command."""

    #: One name without dashes is an argument.
    names: tuple[str, ...]
    text: str
    #: Further arguments of ``add_argument``.
    options: Mapping[str, Any] = field(default_factory=dict)


def add_flag(parser: argparse.ArgumentParser, flag: Flag) -> None:
    """Add a flag or an argument to the parser of a command."""
    parser.add_argument(*flag.names, help=flag.text, **flag.options)


def key_value(text: str) -> str:
    """Return a text of the form ``KEY=VALUE``; raise an error for any other text."""
    key, sign, _ = text.partition("=")
    if not sign or not key:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, found {text!r}")
    return text


def whole_number(text: str) -> int:
    """Return a text as a whole number; raise an error for any other text."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, found {text!r}") from None


def count(text: str) -> int:
    """Return a text as a whole number of at least 1; raise an error for any other text."""
    found = whole_number(text)
    if found < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text!r}")
    return found


def duration(text: str) -> str:
    """Return a time with its unit, such as ``12h``, as it is; raise an error for any other text."""
    from xskip.settings import seconds_of

    if seconds_of(text) is None:
        raise argparse.ArgumentTypeError(f"expected a time with its unit, such as 30min, 12h or 1d, found {text!r}")
    return text


def number(text: str) -> float:
    """Return a text as a number; raise an error for any other text."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, found {text!r}") from None


def directory(text: str) -> str:
    """Return the name of a directory; raise an error for an empty text, such as an unset variable of the shell."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected a directory, found {text!r}")
    return text


def place(text: str) -> str:
    """Return the name of a directory as an absolute path, which is the same in every process.

    >>> place("s3a://bucket/md"), place("/md"), place("md") == os.path.abspath("md")
    ('s3a://bucket/md', '/md', True)
    """
    from xskip.settings import is_absolute

    return text if is_absolute(directory(text)) else os.path.abspath(text)


def _pair(name: str, text: str) -> Flag:
    return Flag((name,), text, {"action": "append", "default": [], "metavar": "KEY=VALUE", "type": key_value})


COMMON = (
    Flag(("--output",), "print the result as text or as JSON", {"choices": ("text", "json"), "default": "text"}),
    Flag(
        ("--json",), "print the result as JSON, and an error as well",
        {"dest": "output", "action": "store_const", "const": "json"},
    ),
    _pair("--conf", "set a setting of Spark; can be repeated"),
    Flag(
        ("--package",), "let Spark load a Maven package; can be repeated",
        {"action": "append", "default": [], "metavar": "GROUP:ARTIFACT:VERSION"},
    ),
    Flag(("--kms-keys",), "take master keys from a JSON file of labels and keys in base 64", {"metavar": "FILE"}),
    Flag(("--verbose",), "show what Spark logs", {"action": "store_true"}),
)  # fmt: skip

DATASET = (
    Flag(("path",), "the root directory of the dataset", {"type": directory}),
    Flag(
        ("--format",), "the file format: parquet, avro, orc, csv or json (default: that of the index, else parquet)",
    ),
    _pair("--option", "set an option of Spark's reader; can be repeated"),
    Flag(
        ("--location",), "the base location of the indexes (default: inside the dataset)",
        {"metavar": "DIRECTORY", "type": place},
    ),
    Flag(("--at",), "the directory of this index's metadata", {"metavar": "DIRECTORY", "type": place}),
    *COMMON,
)  # fmt: skip

#: The flags for index types on one column that need no parameters, and the conditions that they serve.
ONE_COLUMN = {
    "minmax": "store bounds of a column, for =, <, > and IN on ordered data",
    "valuelist": "store the values of a column with few values per file, for =, IN and LIKE",
    "bloomfilter": "store a Bloom filter of a column, for = and IN on many values",
    "nullcount": "store the number of NULLs in a column, for IS NULL and IS NOT NULL",
    "prefix": "store the prefixes of a column of long strings, for LIKE 'x%%', = and ranges",
    "hybrid": "store the values of a column, or a Bloom filter where a file has many",
    "gaplist": "store bounds with gaps of a column, for numbers and times in clusters",
    "tokenbloom": "store a Bloom filter of the words of a column of text, for LIKE '%% word %%'",
}

_MANY: Mapping[str, Any] = {"action": "append", "default": []}
#: The flags for index types on columns.
COLUMN_FLAGS = (
    *(
        Flag((f"--{name}",), f"{text}; can be repeated", {**_MANY, "metavar": "COLUMN"})
        for name, text in ONE_COLUMN.items()
    ),
    Flag(
        ("--geobox",), "store boxes of the points of two columns; can be repeated",
        {**_MANY, "nargs": 2, "metavar": ("X", "Y")},
    ),
    Flag(
        ("--formatted",), "store what group 1 of a regular expression finds in a column; can be repeated",
        {**_MANY, "nargs": 2, "metavar": ("COLUMN", "PATTERN")},
    ),
    Flag(
        ("--index",),
        "an index type with parameters, such as \"valuelist(city, max_values=100)\" or, for an expression, "
        "\"minmax('size(tags)', expression=True)\"; can be repeated",
        {**_MANY, "metavar": "TYPE(…)"},
    ),
)  # fmt: skip
INDEX_FLAGS = (
    *COLUMN_FLAGS,
    Flag(
        ("--config",), "take the indexes, the format and the reader options from a TOML file", {"metavar": "FILE"},
    ),
    Flag(("--pathbounds",), "take bounds from file names, such as ts_{ts:min}_{ts:max}", {"metavar": "PATTERN"}),
    Flag(
        ("--path-unit",), "the unit of the numbers in names: s, ms, us or ns",
        {"choices": ("", "s", "ms", "us", "ns"), "default": "", "metavar": "UNIT"},
    ),
    Flag(("--path-zone",), "the time zone of periods in names (default: %(default)s)", {"default": "UTC"}),
)  # fmt: skip


def parts_of(text: str) -> str | None:
    """Return the size of parts that a flag or a configuration file states; None for ``none``."""
    return None if text.strip().lower() == "none" else text
