"""Rendering of values and tables as aligned text, and of templates as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = [
    "SizeText",
    "StateText",
    "cell_text",
    "count_text",
    "days_text",
    "html_page",
    "human_bytes",
    "is_quantity",
    "part_of_bytes",
    "percentage",
    "render_html",
    "text_of_pairs",
    "text_table",
    "time_text",
]


class SizeText(str):
    """The text of a number of bytes, which tables in HTML align like a number."""

    __slots__ = ()


class StateText(str):
    """The text of a state, which HTML marks with a colour.

    >>> StateText("not up to date", "warning").level
    'warning'
    """

    __slots__ = ("level",)

    #: How good the state is: ``good``, ``warning`` or ``bad``.
    level: str

    def __new__(cls, text: str, level: str) -> StateText:
        """Return a text with its level."""
        state = super().__new__(cls, text)
        state.level = level
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        return StateText, (str(self), self.level)


def human_bytes(count: float) -> SizeText:
    """Return a number of bytes as text with a binary unit, such as ``512 B`` or ``1.5 KiB``."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        # The rounded number decides, so that no text has 1024.0 of a unit.
        if round(abs(count), 1) < 1024 or unit == "TiB":
            return SizeText(f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}")
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


def count_text(count: int, nouns: str) -> str:
    """Return a number with what it counts, which is a regular plural.

    >>> count_text(1, "keys"), count_text(1, "queries"), count_text(1, "indexes"), count_text(1200, "files")
    ('1 key', '1 query', '1 index', '1,200 files')
    """
    if count != 1:
        return f"{count:,} {nouns}"
    noun = f"{nouns[:-3]}y" if nouns.endswith("ies") else nouns[:-2] if nouns.endswith("xes") else nouns[:-1]
    return f"1 {noun}"


def duration_text(seconds: float) -> str:
    """Return a time with its unit.

    >>> duration_text(0.25), duration_text(90)
    ('250.0 ms', '90.0 s')
    """
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def days_text(days: int) -> str:
    """Return the text of a number of last days.

    >>> days_text(1), days_text(30)
    ('the last day', 'the last 30 days')
    """
    return "the last day" if days == 1 else f"the last {days:,} days"


def text_table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as text with aligned columns; columns of numbers are right-aligned."""
    from tabulate import SEPARATING_LINE, DataRow, Line, TableFormat, tabulate

    cells = [[cell_text(cell) for cell in row] for row in rows]
    aligned = ["right" if _has_numbers(column) else "left" for column in zip(*rows, strict=True)]
    between = DataRow("", "  ", "")
    layout = TableFormat(None, Line("", "-", "  ", ""), None, None, between, between, 0, None)
    return tabulate(
        [headers, SEPARATING_LINE, *cells],  # tabulate would widen columns by two for its own headers
        tablefmt=layout,
        disable_numparse=True,
        colalign=aligned,
    )


def html_page(title: str, body: str, *, is_broad: bool = False) -> str:
    """Return a complete HTML page; the title is plain text, the body is HTML, which may be broader than a text."""
    return render_html("page.html", title=title, body=body, width=960 if is_broad else 660)


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
    environment.filters |= {"text": cell_text, "bytes": human_bytes, "quantity": count_text, "breakable": _breakable}
    environment.tests |= {"numeric": is_quantity, "state": lambda value: isinstance(value, StateText)}
    return environment


def _breakable(text: str) -> Markup:
    """Return a text as HTML in which a line can end before each slash, so that paths do not break within words.

    >>> print(_breakable("s3://lake/a&b/c"))
    s3://lake<wbr/>/a&amp;b<wbr/>/c
    """
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(?<=[^/:\s])/", "<wbr/>/", str(escape(text))))


def text_of_pairs(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return pairs of a name and a value as lines with aligned values."""
    from tabulate import tabulate

    cells = [(name, cell_text(value)) for name, value in pairs]
    return tabulate(cells, tablefmt="plain", disable_numparse=True)


def _has_numbers(column: Sequence[Any]) -> bool:
    """Return whether a column contains numbers, or None where a number is not known."""
    known = [cell for cell in column if cell is not None]
    return bool(known) and all(map(_is_number, known))


def is_quantity(cell: Any) -> bool:
    """Return whether HTML aligns a cell to the right: a number, or the text of a size."""
    return _is_number(cell) or isinstance(cell, SizeText)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def cell_text(cell: Any) -> str:
    """Return the text of a cell: numbers with separators, an empty text for None."""
    return (
        f"{cell:,}"
        if isinstance(cell, int) and not isinstance(cell, bool)
        else f"{cell:.2f}"
        if isinstance(cell, float)
        else ""
        if cell is None
        else str(cell)
    )
