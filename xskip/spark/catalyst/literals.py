"""The decoder of Catalyst literals in the hook's encoding."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

from xskip.expressions.predicate import Value
from xskip.types.datatypes import INTEGRAL, decimal_digits

__all__ = ["is_literal", "literal_value"]


def literal_value(raw: Any, kind: str) -> Value | None:
    r"""Return the value of a literal, or None for NULL and for a literal that has no supported form.

    Parameters
    ----------
    raw : object
        The literal in the hook's encoding, parsed from JSON.
    kind : str
        The Spark type of the literal.

    Returns
    -------
    Value or None
        The value in the form that :data:`xskip.expressions.predicate.Value` describes.

    Examples
    --------
    >>> literal_value("1.50", "decimal(10,2)"), literal_value(18262, "date"), literal_value("é", "string")
    (Decimal('1.50'), 18262, b'\xc3\xa9')
    """
    match raw:
        case {"b64": str() as text}:
            return base64.b64decode(text) if kind in ("string", "binary") else None
        case str() if kind == "string":
            return raw.encode()
        case str() if kind in ("float", "double"):
            return float(raw)
        case str() if decimal_digits(kind):
            return Decimal(raw)
        case bool():
            return raw if kind == "boolean" else None
        case int() if (
            kind in INTEGRAL or kind in ("date", "timestamp", "timestamp_ntz") or kind.startswith("interval ")
        ):
            return raw
        case _:
            return None


def is_literal(node: Any) -> bool:
    """Return whether a node in the hook's encoding is a literal."""
    return isinstance(node, list) and len(node) == 3 and node[0] == "#"
