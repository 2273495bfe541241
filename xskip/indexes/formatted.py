"""Formatted: the distinct values of a part of a column's strings in each object, which a regular expression cuts out.

Rules: specs/pruning.rst, [PRU-FM]. The list is as that of a ValueList, of what Spark's ``regexp_extract`` returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from xskip.clauses.index_clause import ValuesClause
from xskip.errors import IndexDefinitionError
from xskip.expressions.evaluate import holds
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import Leaf
from xskip.indexes.base import Accumulator, Input, OneColumn, Parameter, check_at_least_one, unsupported
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Array, Storage

__all__ = ["Formatted", "FormattedClause"]


@dataclass(frozen=True, slots=True)
class Formatted(OneColumn):
    r"""What a regular expression finds in a column's strings: for ``regexp_extract(column, pattern, group) = ...``.

    Parameters
    ----------
    column : str
        A column of strings, or a field such as ``a.b``; a name that holds a dot goes in backticks.
    pattern : str
        A regular expression of Java's; queries must use the very same.
    group : int
        The group that is kept; 0 is all that was found.
    max_values : int
        An object with more distinct values has no list, and is always read.
    key_label : str, optional
        Label of the key that encrypts this index.

    Examples
    --------
    >>> Formatted("agent", r"^(\w+)/").params
    (('io.xskip.index.formatted.pattern', '^(\\w+)/'), ('io.xskip.index.formatted.group', '1'))
    """

    pattern: str = ""
    group: int = 1
    max_values: int = 10_000
    name: ClassVar[str] = "formatted"
    keeps_values: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("pattern", "io.xskip.index.formatted.pattern", str, is_always_told=True),
        Parameter("group", "io.xskip.index.formatted.group", int, is_always_told=True),
        Parameter("max_values", "io.xskip.index.formatted.maxvalues", int),
    )

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        check_at_least_one(self, "max_values")
        if not self.pattern or self.group < 0:
            raise IndexDefinitionError(
                "Formatted without a pattern, or with an impossible group",
                found=f"pattern={self.pattern!r}, group={self.group}",
                expected="such as r'^(\\w+)/' and 1",
            )

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Distinct values up to the cap."""
        return (Accumulator("values", self.max_values),)

    def storage(self, types: Sequence[str]) -> Storage:
        """An array of strings."""
        if types[0] != "string":
            raise unsupported("Formatted", self.column, types[0], ("string",))
        return Array("string")

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """What is found in the strings."""
        pattern = f"CAST(X'{self.pattern.encode().hex()}' AS STRING)"  # whatever a session makes of backslashes
        return [Input(f"regexp_extract({self.source(columns[0])}, {pattern}, {self.group})", "string")]

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> FormattedClause | None:
        """A leaf about the same part of the column."""
        match leaf.operand:
            case Computed(call=("RegExpExtract", bytes() as pattern, int() as group)):
                same = (pattern, group) == (self.pattern.encode(), self.group)
                return FormattedClause(leaf, definition.key) if same else None
            case _:
                return None


@dataclass(frozen=True, slots=True)
class FormattedClause(ValuesClause):
    """Leaves asked of every value of the list."""

    def matching(self, leaf: Leaf, parts: pa.Array) -> pa.BooleanArray:
        """Is the leaf TRUE of the value."""
        return holds(leaf, parts)
