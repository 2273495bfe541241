"""Spark's evaluation of expressions without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pyarrow.compute as pc

from xskip.protocol.packed_values import Packed, pack, unpack
from xskip.spark.bridge.gateway import Hook


class FakeEvaluation:
    """A hook whose expression with the number n adds n to its column, and that notes its calls.

    Attributes
    ----------
    calls : list of list of (int, int)
        For each call the numbers of the expressions, each with the number of its values.
    digest : str
        The digest of the session's settings.
    """

    def __init__(self, kind: str = "int") -> None:
        self.queries = self
        self.calls: list[list[tuple[int, int]]] = []
        self.digest = "digest"
        self._kind = kind

    def evaluate(self, request: int, terms: Sequence[tuple[int, Packed]]) -> Packed:
        self.calls.append([(term, len(values.states)) for term, values in terms])
        results = [pack(pc.add(unpack(self._kind, values).values, term)) for term, values in terms]
        return Packed(*(b"".join(parts) for parts in zip(*results, strict=True)))

    def settings(self, request: int) -> str:
        return self.digest

    @property
    def hook(self) -> Hook:
        """Return this object with the type of a hook."""
        return cast(Hook, self)
