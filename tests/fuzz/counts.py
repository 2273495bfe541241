"""The counts of fuzzers, which add up over rounds."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

__all__ = ["Counts"]


class Counts:
    """A base of dataclasses whose fields are numbers and lists."""

    __slots__ = ()

    def add(self, other: Any) -> None:
        """Add each field of another object of the same class."""
        for field in fields(other):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
