"""Texts about calls in Python, in the words of the shell."""

from __future__ import annotations

import re

__all__ = ["in_shell_words"]

_COMMANDS = "|".join(
    ("create", "refresh", "drop", "migrate", "optimize", "describe", "status", "validate", "repair", "adopt", "vacuum",
     "add", "remove", "history", "advise", "compact")
)  # fmt: skip
_CALL = re.compile(rf"\b(?:call )?({_COMMANDS})\((?:\[\.\.\.\]|\d+)?\)")
_OPTION = re.compile(r"\b(on_error|trust_listing|require_index)=('?)(\w+)\2")
_ARGUMENT = re.compile(r"^(files|sample|seed|older_than|format)(?= (?:has an invalid value|is not a ))")
_ONLY_IN_PYTHON = re.compile(r", of type (?:str|int|float)\b|, or None\b")
_AVRO = re.compile(r"\bfor Avro files, start Spark with --packages \S+")
_FORMAT = re.compile(r"\b(?:did you mean the format (\w+)\?|(check that the format is \w+)(?=;))")
_PACKAGE = re.compile(r"\bstart Spark with --packages ")
_PHRASES = {
    "call xskip.use_kms(…)": "use --kms-keys FILE",
    "register a client that has the key with xskip.use_kms(…)": "add the key to the file of --kms-keys",
    "create the index with a key_label": "create the index with --index \"TYPE(COLUMN, key_label='LABEL')\"",
    "None replays as fast as possible": "without --speed, it replays as fast as possible",
    ", or use keep_partitions=False": "",
    "pass the former path of the dataset": "name the former directory with --former",
    "first, or pass their schema": "first, or name another format with --format",
    "start Spark with the package of its file system": "name the package of its file system with --package",
    "to write indexes elsewhere, set spark.xskip.metadata.location": "to write indexes elsewhere, use --location",
    "drop() it before adopt()": "run xskip drop before xskip adopt",
    "remove() the index first": "run xskip remove first",
}


def in_shell_words(text: str) -> str:
    """Return a text about calls in Python with the commands of the shell in their place.

    >>> in_shell_words("call refresh() to bring it up to date, or build with on_error='skip'")
    'run xskip refresh to bring it up to date, or build with --on-error skip'
    >>> in_shell_words("call adopt() if the dataset was moved, or create([...])")
    'run xskip adopt if the dataset was moved, or xskip create'
    >>> in_shell_words("expected: such as valuelist(city, max_values=100)")
    'expected: such as valuelist(city, max_values=100)'
    >>> in_shell_words("older_than is not a time (found: 'soon', of type str; expected: such as '12h')")
    "--older-than is not a time (found: 'soon'; expected: such as '12h')"
    """
    for phrase, words in _PHRASES.items():
        text = text.replace(phrase, words)
    text = _CALL.sub(lambda m: f"{'run ' if m[0].startswith('call ') else ''}xskip {m[1]}", text)
    text = _OPTION.sub(lambda m: _flag(m[1]) + ("" if m[3] == "True" else f" {m[3]}"), text)
    text = _FORMAT.sub(lambda m: f"use --format {m[1]}" if m[1] else f"{m[2]}, or name another with --format", text)
    text = _ARGUMENT.sub(
        lambda m: _flag(m[1]), _PACKAGE.sub("use --package ", _AVRO.sub("for Avro files, use --avro", text))
    )
    return _ONLY_IN_PYTHON.sub("", text)


def _flag(argument: str) -> str:
    return f"--{argument.replace('_', '-')}"
