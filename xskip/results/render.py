"""Rendering of tables as aligned text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.hints import in_shell_words

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

__all__ = [
    "KeyValueView",
    "ShownTable",
    "html_page",
    "html_table",
    "human_bytes",
    "part_of_bytes",
    "percentage",
    "render_html",
    "shell_text",
    "text_table",
    "time_text",
]


def human_bytes(count: float) -> str:
    """Return a number of bytes as text with a binary unit, such as ``512 B`` or ``1.5 KiB``."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        # The rounded number decides, so that no text has 1024.0 of a unit.
        if round(abs(count), 1) < 1024 or unit == "TiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("unreachable")


def part_of_bytes(part: int, whole: int) -> str:
    """Return a number of bytes with the number that it is a part of; only the whole itself looks like the whole.

    >>> part_of_bytes(2048, 8192), part_of_bytes(5 * 1024**3 - 1024, 5 * 1024**3)
    ('2.0 KiB of 8.0 KiB', 'all but 1.0 KiB of 5.0 GiB')
    """
    some, every = human_bytes(part), human_bytes(whole)
    return f"{some} of {every}" if some != every or part == whole else f"all but {human_bytes(whole - part)} of {every}"


def percentage(part: float, whole: float, decimals: int = 1) -> str:
    """Return a share in percent; only none is 0 % and only the whole is 100 %, and nothing of nothing is 0 %.

    >>> percentage(1, 3), percentage(4999, 5000), percentage(1, 5000), percentage(0, 0)
    ('33.3 %', '> 99.9 %', '< 0.1 %', '0.0 %')
    """
    share = f"{100 * part / whole if whole else 0:.{decimals}f}"
    least = 10.0**-decimals
    if part > 0 and float(share) == 0:
        return f"< {least:.{decimals}f} %"
    if part < whole and float(share) == 100:
        return f"> {100 - least:.{decimals}f} %"
    return f"{share} %"


def time_text(moment: datetime) -> str:
    """Return a time to the second with its zone, which is UTC in all texts; ``moment`` has a zone.

    >>> time_text(datetime.fromisoformat("2026-11-26T01:16:22.5+01:00"))
    '2026-11-26 00:16:22 UTC'
    """
    return f"{moment.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def text_table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as text with aligned columns; columns of numbers are right-aligned."""
    from tabulate import SEPARATING_LINE, DataRow, Line, TableFormat, tabulate

    cells = [[_text(cell) for cell in row] for row in rows]
    aligned = ["right" if _has_numbers(column) else "left" for column in zip(*rows, strict=True)]
    between = DataRow("", "  ", "")
    layout = TableFormat(None, Line("", "-", "  ", ""), None, None, between, between, 0, None)
    return tabulate(
        [headers, SEPARATING_LINE, *cells],  # tabulate would widen columns by two for its own headers
        tablefmt=layout,
        disable_numparse=True,
        colalign=aligned,
    )


def html_table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as an HTML table in which all text is escaped."""
    return render_html("table.html", headers=headers, rows=rows)


def html_page(title: str, body: str) -> str:
    """Return a complete HTML page; the title is plain text, the body is HTML."""
    return render_html("page.html", title=title, body=body)


def render_html(template: str, **values: Any) -> str:
    """Render a template of the folder ``templates``, which escapes all values."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("xskip.results"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"text": _text, "bytes": human_bytes}
    environment.tests["numeric"] = _is_number
    return environment


class KeyValueView:
    """A mixin that shows the pairs of :meth:`_pairs` as text and HTML."""

    __slots__ = ()

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return _text_of_pairs(self._pairs())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(["", ""], [(name, _text(value)) for name, value in self._pairs()])


class ShownTable:
    """A mixin that shows the columns of :meth:`_columns` as text and HTML, and converts them to Arrow and pandas."""

    __slots__ = ()

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError

    def __str__(self) -> str:
        columns = self._columns()
        return text_table(list(columns), list(zip(*columns.values(), strict=True)))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        columns = self._columns()
        return html_table(list(columns), list(zip(*columns.values(), strict=True)))

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return pa.table(self._columns())

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame; requires pandas."""
        return self.to_arrow().to_pandas()


def shell_text(result: object) -> str:
    """Return the text of a result in the words of the command line."""
    if isinstance(result, KeyValueView):  # some of the pairs are no fields
        return _text_of_pairs([(name, in_shell_words(value)) for name, value in result._pairs()])
    return str(in_shell_words(result))


def _text_of_pairs(pairs: Iterable[tuple[str, Any]]) -> str:
    from tabulate import tabulate

    cells = [(name, _text(value)) for name, value in pairs]
    return tabulate(cells, tablefmt="plain", disable_numparse=True)


def _has_numbers(column: Sequence[Any]) -> bool:
    """Return whether a column contains numbers, or None where a number is not known."""
    known = [cell for cell in column if cell is not None]
    return bool(known) and all(map(_is_number, known))


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _text(cell: Any) -> str:
    return (
        f"{cell:,}"
        if isinstance(cell, int) and not isinstance(cell, bool)
        else f"{cell:.2f}"
        if isinstance(cell, float)
        else ""
        if cell is None
        else str(cell)
    )
