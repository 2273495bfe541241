"""Operands of leaves: a column, a cast of a column, or a function of columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from xskip.column_paths import join_path
from xskip.expressions.condition_reasons import Reason

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = [
    "Call",
    "Cast",
    "Column",
    "Computed",
    "Derived",
    "Elements",
    "Evaluate",
    "Evaluated",
    "FileColumn",
    "Form",
    "Monotonicity",
    "Operand",
    "column_of",
]


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of nested structs.

    Attributes
    ----------
    path : tuple of str
        The names of the column and of the nested fields, as the query spells them.
    type : str
        The Spark type by its catalog name.

    Examples
    --------
    >>> print(Column(("s", "a.b"), "bigint"))
    s.`a.b`
    """

    path: tuple[str, ...]
    type: str

    def __str__(self) -> str:
        return join_path(self.path)

    @property
    def column(self) -> Column:
        """Return this column, like the attribute ``column`` of other operands."""
        return self


@dataclass(frozen=True, slots=True)
class Cast:
    """The cast of a column to a type that holds each value exactly (:func:`xskip.types.datatypes.is_widening`)."""

    column: Column
    type: str

    def __str__(self) -> str:
        return f"cast({self.column} as {self.type})"


@dataclass(frozen=True, slots=True)
class Monotonicity:
    """The relation between the order of a function's values and the order of its column [PRU-FN]."""

    #: 1 if the function never falls as the column rises, -1 if it never rises, 0 if nothing is known.
    direction: int = 0
    #: The time zone whose local time the function follows, else empty: such a function follows instants only while the
    #: offset of the zone does not change.
    zone: str = ""
    #: ``year`` or ``month`` if ``direction`` holds only within one such period of a date or timestamp, else empty.
    within: str = ""
    #: ``direction`` holds from ``-limit`` to ``limit``, because the function overflows beyond; None means no limit.
    limit: int | None = None
    #: Whether the function follows the absolute value of the column.
    folds: bool = False
    #: The parts of the function that can wrap around once, or become NaN: number, type and direction of each part. If
    #: the ends of a part are in order, the part has not wrapped around; the whole function can hide a wrapped part.
    wraps: tuple[tuple[int, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """The identity of an expression: expressions with equal texts are equal."""

    text: str
    #: The text with the names of columns in lower case; ``text`` has them as the query spells them.
    folded: str
    #: The paths of the columns in the expression, including repeats.
    columns: tuple[tuple[str, ...], ...]


class Evaluated(NamedTuple):
    """The values of a function, of the Arrow type of its result."""

    values: pa.Array
    #: True where Spark could not evaluate the function: such a value may be anything.
    failed: npt.NDArray[np.bool_]


class Evaluate(Protocol):
    """An evaluator of functions, which Spark implements."""

    def __call__(self, term: int, kind: str, values: pa.Array) -> Evaluated:
        """Return the values of an expression, by its number in the query's request, for values of its column."""

    def spread(self, zone: str, low: int, high: int) -> int:
        """Return how much a zone's offsets differ from each other between two instants; all in microseconds."""


#: The names of functions of a column and a literal that people write between both.
_SIGNS = ("+", "-", "*", "/", "%", "DIV")


@dataclass(frozen=True, slots=True)
class Computed:
    """A deterministic function of one column, which Spark evaluates.

    Attributes
    ----------
    column : Column or FileColumn
        The only column of the function.
    type : str
        The Spark type of the function's values.
    name : str
        The name of the function, for reports, or the operator between a column and a literal, such as ``%``.
    term : int
        The number of the function in the query's request.
    shape : Monotonicity
        How the function follows the order of the column.
    evaluate : Evaluate
        The evaluator of the function.
    call : tuple
        The function's class in Spark and its other arguments, with literals as values, if the function takes the column
        itself and literals. The class has ``Padded`` before it if Spark pads the column, which is of type CHAR. Else
        empty.
    form : Form or None
        The form of the function; None if no form identifies the function.
    is_total : bool
        Whether the function is known to be NULL for no value of the column but NULL.

    Examples
    --------
    An index type recognizes a function by its call, here of ``endswith(name, '.csv')``:

    >>> name = Column(("name",), "string")
    >>> operand = Computed(name, "boolean", "endswith", 0, Monotonicity(), None, call=("EndsWith", b".csv"))
    >>> match operand:
    ...     case Computed(call=("EndsWith", bytes() as end)):
    ...         print(operand, end)
    endswith(name) b'.csv'
    """

    column: Column | FileColumn
    type: str
    name: str
    term: int
    shape: Monotonicity
    evaluate: Evaluate = field(compare=False, repr=False)
    call: tuple[object, ...] = ()
    form: Form | None = None
    is_total: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        if self.name in _SIGNS:
            return f"{self.column} {self.name} ?"
        return f"{self.name}({self.column})"

    def __call__(self, values: pa.Array) -> Evaluated:
        """Return the function's values for values of the column."""
        return self.evaluate(self.term, self.type, values)


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of an array; a leaf over elements is TRUE where it is TRUE of at least one element.

    Attributes
    ----------
    column : Column or Derived
        The column, or the expression, of type ``array<...>``.
    type : str
        The Spark type of an element.
    is_one : bool
        True if the leaf is about a single element at a given position.
    """

    column: Column | Derived
    type: str
    is_one: bool = False

    def __str__(self) -> str:
        return f"element({self.column})"


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A field of Spark's hidden column ``_metadata`` that all rows of a file share, such as ``file_name``."""

    name: str
    type: str

    def __str__(self) -> str:
        return f"_metadata.{self.name}"


@dataclass(frozen=True, slots=True)
class Derived:
    """A deterministic expression that only an index on the same expression answers."""

    form: Form
    type: str
    #: Why the expression cannot be used without such an index.
    reason: Reason

    def __str__(self) -> str:
        return "an expression"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a user-defined function.

    Attributes
    ----------
    identity : str
        The identity of the function: its code in Python, or its registered name in Java or Scala.
    name : str
        The name of the function, for reports.
    type : str
        The Spark type of the result.
    arguments : tuple
        Columns, and literals as :data:`xskip.expressions.predicate.Value`.
    """

    identity: str
    name: str
    type: str
    arguments: tuple[object, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(a) if isinstance(a, Column) else '?' for a in self.arguments)})"

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns among the arguments."""
        return tuple(argument for argument in self.arguments if isinstance(argument, Column))


Operand = Column | Cast | Computed | Elements | FileColumn | Derived | Call


def column_of(operand: Operand) -> Column | None:
    """Return the column that has one value per row and that an operand is about, or None for other operands."""
    match operand:
        case Column():
            return operand
        case Cast(column) | Computed(column=column) if isinstance(column, Column):
            return column
        case _:
            return None
