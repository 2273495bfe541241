"""Java arrays for the arguments of the hook's methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["string_array"]


def string_array(gateway: Any, values: Sequence[str]) -> Any:
    """Return a Java array of strings."""
    array = gateway.new_array(gateway.jvm.java.lang.String, len(values))
    for i, value in enumerate(values):
        array[i] = value
    return array
