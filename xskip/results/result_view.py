"""Results as text and as HTML: facts and tables, which both forms share, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.hints import in_shell_words
from xskip.results.render import cell_text, is_quantity, render_html, text_of_pairs, text_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AdvisedValue",
    "KeyValueView",
    "ResultView",
    "ShownResult",
    "ShownTable",
    "TableView",
    "result_html",
    "shell_text",
]

#: The number of rows that a table has in HTML, and the number of facts of one name.
_MOST_ROWS, _MOST_OF_A_NAME = 100, 20


@dataclass(frozen=True, slots=True)
class AdvisedValue:
    """A value of a fact with what to do about it.

    >>> str(AdvisedValue(1200, "call refresh()"))
    '1,200, call refresh()'
    """

    value: Any
    advice: str

    def __str__(self) -> str:
        return f"{cell_text(self.value)}, {self.advice}"


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, as HTML shows it; the name is empty if it is that of the fact before."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class TableView:
    """A table, of which HTML shows the first rows."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Any]]
    #: The number of further rows, which neither form shows.
    more: int = 0

    @property
    def shown_rows(self) -> Sequence[Sequence[Any]]:
        """Return the rows that HTML shows."""
        return self.rows[:_MOST_ROWS]

    @property
    def more_rows(self) -> int:
        """Return the number of the other rows."""
        return max(0, len(self.rows) - _MOST_ROWS) + self.more

    def is_number(self, column: int) -> bool:
        """Return whether a column has numbers or sizes, or None where one is not known."""
        known = [row[column] for row in self.rows if row[column] is not None]
        return bool(known) and all(map(is_quantity, known))


@dataclass(frozen=True, slots=True)
class ResultView:
    """A result, as HTML shows it."""

    #: What the result is.
    caption: str
    #: A sentence with the most important figures; empty if the facts say all.
    lead: str = ""
    facts: tuple[Fact, ...] = ()
    tables: tuple[TableView, ...] = ()
    remarks: tuple[str, ...] = ()
    #: What to do next.
    next_steps: tuple[str, ...] = ()

    @property
    def is_broad(self) -> bool:
        """Return whether the result has a table that needs more than the width of a text."""
        return any(len(table.headers) > 4 for table in self.tables)

    @staticmethod
    def of_pairs(caption: str, pairs: Sequence[tuple[str, Any]], tables: Iterable[TableView] = ()) -> ResultView:
        """Return the view of facts, in which the advice of values follows at the end."""
        advice = (value.advice for _, value in pairs if isinstance(value, AdvisedValue))
        return ResultView(
            caption, facts=tuple(_facts(pairs)), tables=tuple(tables), next_steps=tuple(dict.fromkeys(advice))
        )


def _facts(pairs: Iterable[tuple[str, Any]]) -> Iterator[Fact]:
    for name, group in groupby(pairs, itemgetter(0)):
        values = [value.value if isinstance(value, AdvisedValue) else value for _, value in group]
        for position, value in enumerate(values[:_MOST_OF_A_NAME]):
            yield Fact("" if position else name, value)
        if len(values) > _MOST_OF_A_NAME:
            yield Fact("", f"… {len(values) - _MOST_OF_A_NAME:,} more")


def result_html(view: ResultView) -> str:
    """Return a result as an HTML element ``div`` with its style."""
    return render_html("result.html", view=view)


class ShownResult:
    """A mixin for results, which notebooks show as HTML in the style of reports."""

    __slots__ = ()

    def _view(self) -> ResultView:
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return result_html(self._view())


class KeyValueView(ShownResult):
    """A mixin that shows the pairs of :meth:`_pairs` as text and HTML."""

    __slots__ = ()

    def _caption(self) -> str:
        """Return what the result is; only HTML shows it."""
        raise NotImplementedError

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return text_of_pairs(self._pairs())

    def _view(self) -> ResultView:
        return ResultView.of_pairs(self._caption(), self._pairs())


class ShownTable(ShownResult):
    """A mixin that shows the columns of :meth:`_columns` as text and HTML, and converts them to Arrow and pandas."""

    __slots__ = ()

    def _caption(self) -> str:
        """Return what the result is; only HTML shows it."""
        raise NotImplementedError

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError

    def _table(self) -> TableView:
        """Return the table that people read."""
        columns = self._columns()
        return TableView(list(columns), list(zip(*columns.values(), strict=True)))

    def _lead(self) -> str:
        """Return a line above the table; the line alone stands for a table without rows."""
        return ""

    def __str__(self) -> str:
        table, lead = self._table(), self._lead()
        rows = "" if lead and not table.rows else text_table(table.headers, table.rows)
        return "\n".join(filter(None, [lead, rows, f"… {table.more:,} more" if table.more else ""]))

    def _view(self) -> ResultView:
        table, lead = self._table(), self._lead()
        return ResultView(self._caption(), lead, tables=(table,) if table.rows or not lead else ())

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return pa.table(self._columns())

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame; requires pandas."""
        return self.to_arrow().to_pandas()


def shell_text(result: object) -> str:
    """Return the text of a result in the words of the command line."""
    if isinstance(result, KeyValueView):  # some of the pairs are no fields
        return text_of_pairs([(name, in_shell_words(value)) for name, value in result._pairs()])
    return str(in_shell_words(result))
