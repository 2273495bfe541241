"""The index type Formatted: the distinct results of a regular expression on a column's strings, per file.

Rules: specs/pruning.rst, [PRU-FM]. The metadata is a list as in a ValueList, of the values that Spark's
``regexp_extract`` returns.
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
from xskip.indexes.accumulator import Accumulator, Input
from xskip.indexes.argument_checks import check_at_least_one, unsupported
from xskip.indexes.base import OneColumn, Parameter
from xskip.indexes.omissions import lists_omit
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Array, Storage

__all__ = ["Formatted", "FormattedClause"]


@dataclass(frozen=True, slots=True)
class Formatted(OneColumn):
    r"""An index of the results of a regular expression, for ``regexp_extract(column, pattern, group) = ...``.

    Parameters
    ----------
    column : str
        A column of strings, or a struct field such as ``a.b``. Put a name that contains a dot in backticks.
    pattern : str
        A Java regular expression, not empty. Queries must use exactly the same pattern.
    group : int
        The number of the group to index; 0 is the whole match.
    max_values : int
        The maximum length of a list, at least 1. The index never skips a file with more distinct values.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Whether ``column`` is an SQL expression such as ``size(tags)``, which queries must contain in the same form.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path, ``pattern`` is empty, or a number is out of range.

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
        Parameter("pattern", "io.xskip.index.formatted.pattern", str, is_always_recorded=True),
        Parameter("group", "io.xskip.index.formatted.group", int, is_always_recorded=True),
        Parameter("max_values", "io.xskip.index.formatted.maxvalues", int),
    )

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        check_at_least_one(self, "max_values")
        if not self.pattern or self.group < 0:
            raise IndexDefinitionError(
                "Formatted needs a pattern and a valid group",
                found=f"pattern={self.pattern!r}, group={self.group}",
                expected="such as r'^(\\w+)/' and 1",
            )

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return the accumulator of at most ``max_values`` distinct values."""
        return (Accumulator("values", self.max_values),)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return an array of strings."""
        if types[0] != "string":
            raise unsupported("Formatted", self.column, types[0], ("string",))
        return Array("string")

    def inputs(self, columns: Sequence[str], types: Sequence[str]) -> Sequence[Input]:
        """Return one input: the results of ``regexp_extract`` on the column."""
        pattern = f"CAST(X'{self.pattern.encode().hex()}' AS STRING)"  # backslash escapes depend on the session
        return [Input(f"regexp_extract({self.source(columns[0])}, {pattern}, {self.group})", "string")]

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether a value is missing from the stored list, see :meth:`OneColumn.omits`."""
        return lists_omit(stored, actual, self.max_values)

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> FormattedClause | None:
        """Return a clause for a leaf about the same pattern and group of the column, or None for any other leaf."""
        match leaf.operand:
            case Computed(call=("RegExpExtract", bytes() as pattern, int() as group)):
                # the results of another pattern say nothing about the leaf
                same = (pattern, group) == (self.pattern.encode(), self.group)
                return FormattedClause(leaf, definition.key) if same else None
            case _:
                return None


@dataclass(frozen=True, slots=True)
class FormattedClause(ValuesClause):
    """A clause that tests leaves against every value of a list."""

    def matching(self, leaf: Leaf, parts: pa.Array) -> pa.BooleanArray:
        """Return, for each result of the regular expression, whether the leaf is TRUE for the result."""
        # the list has every result in the file, so a leaf that holds for none of them holds for no row [PRU-FM-1]
        return holds(leaf, parts)
