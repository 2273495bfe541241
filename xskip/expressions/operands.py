"""What a predicate's leaf is about: a column, a cast of one, or a function of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

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
    "Monotonicity",
    "Operand",
    "column_of",
    "columns_in",
    "folded",
    "form_of",
    "in_backticks",
    "join_path",
    "quoted",
    "split_path",
]


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of nested structs, as the query names it, and its Spark type."""

    path: tuple[str, ...]
    type: str

    def __str__(self) -> str:
        return join_path(self.path)

    @property
    def column(self) -> Column:
        """Itself."""
        return self


@dataclass(frozen=True, slots=True)
class Cast:
    """A column cast to a type that holds each of its values exactly (:func:`xskip.types.datatypes.is_widening`)."""

    column: Column
    type: str

    def __str__(self) -> str:
        return f"cast({self.column} as {self.type})"


@dataclass(frozen=True, slots=True)
class Monotonicity:
    """How a function follows the order of its column [PRU-FN].

    Attributes
    ----------
    direction : int
        1 where it never falls as the column rises, -1 where it never rises, 0 where nothing is known.
    zone : str
        It follows local time in this zone, and instants only as far as the zone's offset does not change.
    within : str
        It does so only within one ``year`` or ``month`` of a date or timestamp.
    limit : int or None
        It does so only for numbers from ``-limit`` to ``limit``, beyond which it overflows; None where it does not.
    folds : bool
        It follows the absolute value of the column.
    wraps : tuple of (int, str, int)
        The parts of it that can wrap around, once: number, type and direction of each. Where a part's own ends are in
        order it has not; the whole can hide it.
    """

    direction: int = 0
    zone: str = ""
    within: str = ""
    limit: int | None = None
    folds: bool = False
    wraps: tuple[tuple[int, str, int], ...] = ()


class Evaluated(NamedTuple):
    """A function's values, and where they could not be found; such a row may be anything."""

    values: pa.Array
    failed: npt.NDArray[np.bool_]


class Evaluate(Protocol):
    """What evaluates functions: Spark."""

    def __call__(self, term: int, kind: str, values: pa.Array) -> Evaluated:
        """The values of an expression, by its number in the query's request, for values of its column."""

    def spread(self, zone: str, low: int, high: int) -> int:
        """By how many microseconds a zone's offsets differ among themselves between two instants."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A deterministic function of one column, whose values Spark finds.

    Attributes
    ----------
    column : Column or FileColumn
    type : str
        Of the function's values.
    name : str
        Of the function, for reports.
    term : int
        Its number in the query's request.
    shape : Monotonicity
    evaluate : Evaluate
    call : tuple
        Of one function of the column itself: its class in Spark and its other arguments, literals as values. Else
        empty.
    form : str
        What it is: :func:`form_of`.
    """

    column: Column | FileColumn
    type: str
    name: str
    term: int
    shape: Monotonicity
    evaluate: Evaluate = field(compare=False, repr=False)
    call: tuple[object, ...] = ()
    form: str = ""

    def __str__(self) -> str:
        return f"{self.name}({self.column})"

    def __call__(self, values: pa.Array) -> Evaluated:
        """The function's values for values of the column."""
        return self.evaluate(self.term, self.type, values)


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of an array: a leaf about them is TRUE where it is TRUE of some element.

    Attributes
    ----------
    column : Column
        Of type ``array<...>``.
    type : str
        Of an element.
    is_one : bool
        The leaf is about one of them alone, by its place.
    """

    column: Column
    type: str
    is_one: bool = False

    def __str__(self) -> str:
        return f"element({self.column})"


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A part of Spark's hidden column ``_metadata`` that all rows of a file share, such as ``file_name``."""

    name: str
    type: str

    def __str__(self) -> str:
        return f"_metadata.{self.name}"


@dataclass(frozen=True, slots=True)
class Derived:
    """A deterministic expression that only an index of that very expression answers.

    Attributes
    ----------
    form : str
        What it is: :func:`form_of`.
    type : str
    reason : str
        Why it cannot be used where there is no such index, in a plain sentence.
    """

    form: str
    type: str
    reason: str

    def __str__(self) -> str:
        return "an expression"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a user's function.

    Attributes
    ----------
    identity : str
        Which function it is, whatever its name.
    name : str
    type : str
        Of its value.
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
        """The columns among the arguments."""
        return tuple(argument for argument in self.arguments if isinstance(argument, Column))


Operand = Column | Cast | Computed | Elements | FileColumn | Derived | Call


def column_of(operand: Operand) -> Column | None:
    """The column whose values, one in each row, an operand is about; None where it is about something else.

    >>> str(column_of(Cast(Column(("a",), "int"), "bigint"))), column_of(FileColumn("file_size", "bigint"))
    ('a', None)
    """
    match operand:
        case Column():
            return operand
        case Cast(column) | Computed(column=column) if isinstance(column, Column):
            return column
        case _:
            return None


def form_of(node: Any) -> str:
    """An encoded expression as one text: two with the same text are the same expression; empty where it tells in part.

    >>> form_of(["Size", ["$", ["tags"], "array<string>"], True])
    '["Size",["$",["tags"],"array<string>"],true]'
    """
    text = json.dumps(node, separators=(",", ":"))
    return "" if '{"?":' in text else text


def columns_in(node: Any) -> Iterator[tuple[str, ...]]:
    """The paths of the columns of an encoded expression, repeats included.

    >>> list(columns_in(["Subtract", ["$", ["a"], "int"], ["$", ["s", "b"], "int"]]))
    [('a',), ('s', 'b')]
    """
    match node:
        case ["$", [*path], _]:
            yield tuple(map(str, path))
        case [*parts]:
            for part in parts:
                yield from columns_in(part)
        case _:
            return


def folded(form: str) -> str:
    """A form with the names of columns in lower case.

    >>> folded('["Upper",["$",["S"],"string"],"A"]')
    '["Upper",["$",["s"],"string"],"A"]'
    """
    return form_of(_folded(json.loads(form))) if form else ""


def _folded(node: Any) -> Any:
    match node:
        case ["$", [*path], kind]:
            return ["$", [str(name).lower() for name in path], kind]
        case [*parts]:
            return [_folded(part) for part in parts]
        case _:
            return node


def join_path(path: tuple[str, ...]) -> str:
    """A path in Spark's spelling: fields joined by dots, a name that holds a dot or backtick in backticks.

    >>> join_path(("a", "b.c"))
    'a.`b.c`'
    """
    return ".".join(in_backticks(part) if "." in part or "`" in part else part for part in path)


def quoted(text: str) -> str:
    """A path in Spark's spelling as SQL has it, whatever its names are.

    >>> quoted("a.`b.c`.d e")
    '`a`.`b.c`.`d e`'
    """
    return ".".join(map(in_backticks, split_path(text)))


def in_backticks(name: str) -> str:
    """One name as SQL has it, whatever it is.

    >>> in_backticks("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def split_path(text: str) -> tuple[str, ...]:
    """The fields of a path in Spark's spelling; the inverse of :func:`join_path`.

    Raises
    ------
    ValueError
        A name is empty, or a backtick is not closed.

    Examples
    --------
    >>> split_path("a.`b.c`.d e")
    ('a', 'b.c', 'd e')
    """
    parts: list[str] = []
    rest = text
    while True:
        if rest.startswith("`"):
            name, rest = _quoted(rest, text)
        else:
            name, dot, tail = rest.partition(".")
            rest = dot + tail
        if not name:
            raise ValueError(f"a column path with an empty name: {text!r}")
        parts.append(name)
        if not rest:
            return tuple(parts)
        if not rest.startswith("."):
            raise ValueError(f"a column path with text after a closing backtick: {text!r}")
        rest = rest[1:]


def _quoted(rest: str, text: str) -> tuple[str, str]:
    """The name in backticks at the start of ``rest``, and what follows it."""
    end = 1
    while True:
        end = rest.find("`", end)
        if end < 0:
            raise ValueError(f"a column path with an open backtick: {text!r}")
        if rest[end + 1 : end + 2] != "`":
            return rest[1:end].replace("``", "`"), rest[end + 1 :]
        end += 2
