"""The forms of expressions in the hook's encoding."""

from __future__ import annotations

import json
from typing import Any

from xskip.column_paths import columns_in
from xskip.expressions.operands import Form

__all__ = ["form_of"]


def form_of(node: Any) -> Form | None:
    """Return the form of an encoded expression, or None if the encoding does not describe the whole expression.

    >>> form_of(["Size", ["$", ["Tags"], "array<string>"], True])
    Form(text='["Size",["$",["Tags"],"array<string>"],true]',
         folded='["Size",["$",["tags"],"array<string>"],true]', columns=(('Tags',),))
    """
    text = _compact(node)
    # the hook encodes a part that it does not describe as an object with the key "?"
    return None if '{"?":' in text else Form(text, _compact(_folded(node)), tuple(columns_in(node)))


def _compact(node: Any) -> str:
    return json.dumps(node, separators=(",", ":"))


def _folded(node: Any) -> Any:
    """Return an encoded expression with the names of columns in lower case."""
    match node:
        case ["$", [*path], kind]:
            return ["$", [str(name).lower() for name in path], kind]
        case [*parts]:
            return [_folded(part) for part in parts]
        case _:
            return node
