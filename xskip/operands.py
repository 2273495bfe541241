"""What a predicate's leaf is about: a column, a cast of one, or a function of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = [
    "Cast",
    "Column",
    "Computed",
    "Evaluate",
    "Evaluated",
    "Operand",
    "Shape",
    "join_path",
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
    """A column cast to a type that holds each of its values exactly (:func:`xskip.datatypes.is_widening`)."""

    column: Column
    type: str

    def __str__(self) -> str:
        return f"cast({self.column} as {self.type})"


@dataclass(frozen=True, slots=True)
class Shape:
    """How a function follows the order of its column [PRU-FN].

    Attributes
    ----------
    direction : int
        1 where it never falls as the column rises, -1 where it never rises, 0 where nothing is known.
    zone : str
        It follows local time in this zone, and instants only as far as the zone's offset does not change.
    within : str
        It does so only within one ``year`` or ``month`` of a date or timestamp.
    limit : int
        It does so only for numbers from ``-limit`` to ``limit``, beyond which it overflows; 0 where it does not.
    wraps : tuple of (int, str, int)
        The parts of it that can wrap around, once: number, type and direction of each. Where a part's own ends are in
        order it has not; the whole can hide it.
    """

    direction: int = 0
    zone: str = ""
    within: str = ""
    limit: int = 0
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
    column : Column
    type : str
        Of the function's values.
    name : str
        Of the function, for reports.
    term : int
        Its number in the query's request.
    shape : Shape
    evaluate : Evaluate
    call : tuple
        Of one function of the column itself: its class in Spark and its other arguments, literals as values. Else
        empty.
    """

    column: Column
    type: str
    name: str
    term: int
    shape: Shape
    evaluate: Evaluate = field(compare=False, repr=False)
    call: tuple[object, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({self.column})"

    def __call__(self, values: pa.Array) -> Evaluated:
        """The function's values for values of the column."""
        return self.evaluate(self.term, self.type, values)


Operand = Column | Cast | Computed


def join_path(path: tuple[str, ...]) -> str:
    """A path in Spark's spelling: fields joined by dots, a name that holds a dot or backtick in backticks.

    >>> join_path(("a", "b.c"))
    'a.`b.c`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" if "." in part or "`" in part else part for part in path)


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
