"""The output of the commands as text and as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict

from xskip.hints import in_shell_words
from xskip.results.result_view import shell_text

__all__ = ["show"]


def show(arguments: argparse.Namespace, result: object) -> None:
    """Print a result of the API, a tuple of results, or a mapping, as text or as JSON."""
    if arguments.output in ("html", "prometheus"):
        print(getattr(in_shell_words(result), f"to_{arguments.output}")(), end="")
    elif arguments.output == "json":
        print(json.dumps(_plain(in_shell_words(result)), indent=1, default=str))
    elif isinstance(result, Mapping):
        print("\n".join(f"{name}  {_text(value)}" for name, value in result.items()))
    elif isinstance(result, tuple):
        print("\n\n".join(map(shell_text, result)) or "no index")
    else:
        print(shell_text(result))


def _text(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _plain(result: object) -> object:
    for name in ("to_dict", "to_json"):
        if convert := getattr(result, name, None):
            return convert()
    match result:
        case Mapping():
            return dict(result)
        case tuple():
            return [_plain(each) for each in result]
        case _:
            return asdict(result)  # type: ignore[call-overload]
