"""Words for nodes of the hook's encoding: names of functions, and reasons why the decoder does not use a node."""

from __future__ import annotations

import re
from typing import Any

from xskip.expressions.condition_reasons import OtherReason, Reason, UnsupportedNode
from xskip.spark.catalyst.literals import is_literal

__all__ = ["function_name", "unsupported"]

_SIGNS = {"Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "Remainder": "%", "IntegralDivide": "DIV"}


def function_name(node: Any) -> str:
    """Return the name of a function for reports: the operator of a column and a literal, or words."""
    match node:
        case [str() as name, ["$", *_], other, *_] if name in _SIGNS and is_literal(other):
            return _SIGNS[name]
        case _:
            return _words(node[0]).replace(" ", "_")


def unsupported(node: Any) -> Reason:
    """Return why the decoder does not understand a node."""
    match node:
        case ["$meta", path, _]:
            return UnsupportedNode(f"the hidden column {'.'.join(path)}")
        case ["$", path, _]:
            return OtherReason(f"xskip does not use column {'.'.join(path)} in this position")
        case ["#", kind, _]:
            return OtherReason(f"xskip does not use a literal of type {kind} in this position")
        case [str() as name, *_]:
            return UnsupportedNode(f"the function or operator '{_words(name)}'")
        case _:
            return UnsupportedNode("this expression")


def _words(name: str) -> str:
    """Return the name of a class as lower-case words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
