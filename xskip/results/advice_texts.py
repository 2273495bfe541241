"""The sentences of advice, from its figures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xskip.hints import Phrase, Words
from xskip.results.index_usage import ConditionKind, DatasetUsage, IndexUsage
from xskip.results.render import days_text, duration_text, human_bytes, percentage

__all__ = [
    "ColumnNeeds",
    "LayoutFigures",
    "OperandConditions",
    "RewriteFigures",
    "cost_text",
    "index_for_rewrites",
    "index_to_add",
    "index_to_measure",
    "layout_of_data",
    "order_for_first_rows",
    "order_of_data",
    "period_text",
    "use_text",
]

_SIGNS: dict[ConditionKind, str] = {
    "equal": "= or IN", "above": ">", "below": "<", "prefix": "LIKE 'x%'", "null": "IS NULL",
}  # fmt: skip

_FIRST_ROWS = "need the first rows in the order of {0}"
_NEEDS: dict[ConditionKind, str] = {
    "bounds": "compute min({0}) or max({0})", "count": "compute count({0})", "group": "group by {0}",
    "least": _FIRST_ROWS, "greatest": _FIRST_ROWS, "least_or_null": _FIRST_ROWS, "greatest_or_null": _FIRST_ROWS,
}  # fmt: skip
#: What metadata lack, by whether only numbers of NULLs are needed.
_LACKS = {True: "numbers of NULLs", False: "bounds"}


@dataclass(frozen=True, slots=True)
class OperandConditions:
    """The conditions of queries on a column or expression that no index answers."""

    operand: str
    #: The scans with a condition on it, and all scans.
    scans: int
    all_scans: int
    #: The bytes that the scans with a condition read, in a day or in this process.
    bytes: float
    #: Whether an index is on it, which answers none of the conditions or rules out no file.
    has_index: bool = False
    #: Whether all conditions are those by the keys of joins.
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class ColumnNeeds:
    """The needs that rewrites of plans have of a column."""

    column: str
    kinds: frozenset[ConditionKind]
    scans: int
    #: The bytes that the scans read, in a day or in this process.
    bytes: float

    @property
    def is_counted(self) -> bool:
        """Return whether the rewrites need nothing but the number of NULLs."""
        return self.kinds <= {"count"}


@dataclass(frozen=True, slots=True)
class RewriteFigures:
    """The bytes that an index saves for rewrites of plans, and its cost."""

    #: The bytes that they do not read with the index, in a day or in this process; None if it was not measured.
    saved: float | None = None
    #: The number of files of the trial that has measured it; 0 if the statistics of the queries suffice.
    files: int = 0
    cost: str = ""
    #: Whether a trial can measure what the index saves.
    can_measure: bool = True


@dataclass(frozen=True, slots=True)
class LayoutFigures:
    """The files that scans read in a layout of the data, and the bytes that it saves."""

    #: The scans with conditions on its columns.
    scans: int
    #: The files that they read now, and in this layout, in a day or in this process.
    files: tuple[float, float]
    #: The number of rows that have measured it.
    rows: int
    #: The bytes that they do not read, in a day or in this process.
    saved: float
    #: The call of :func:`xskip.cluster`.
    call: str = ""


def period_text(usage: DatasetUsage) -> str:
    """Return the time of the queries that count."""
    return "this process" if usage.days is None else days_text(usage.days)


def bytes_text(count: float, usage: DatasetUsage) -> str:
    """Return a number of bytes with the time that they are about."""
    return f"{human_bytes(count)} {'in this process' if usage.days is None else 'a day'}"


def cost_text(cost_bytes: int | None, seconds: float | None) -> str:
    """Return what an index costs; empty if nothing is known.

    >>> cost_text(2048, 0.25), cost_text(2048, None), cost_text(None, None)
    ('it takes 2.0 KiB of metadata and 250.0 ms of builds', 'it takes 2.0 KiB of metadata', '')
    """
    spent = "" if seconds is None else f"{duration_text(seconds)} of builds"
    size = "" if cost_bytes is None else f"{human_bytes(cost_bytes)} of metadata"
    parts = " and ".join(filter(None, (size, spent)))
    return f"it takes {parts}" if parts else ""


def use_text(use: IndexUsage, usage: DatasetUsage) -> str:
    """Return what an index that ruled out no file was asked; empty if no scan asked it.

    >>> use_text(IndexUsage(3), DatasetUsage(12))
    'ruled out no file in 3 scans of this process'
    """
    return f"ruled out no file in {use.scans:,} scans of {period_text(usage)}" if use.scans else ""


def index_to_measure(conditions: OperandConditions, usage: DatasetUsage, *, can_measure: bool) -> str:
    """Return the advice to add an index of a type that nothing has measured."""
    sentence = f"{_conditions_text(conditions, usage)}, and read {bytes_text(conditions.bytes, usage)}"
    if not can_measure:
        return f"add an index on {conditions.operand}: {sentence}"
    trial = Phrase("advise(trial=32)", "xskip advise --trial 32")
    return Words(
        "{}: {}; {} measures which type of index helps", f"add an index on {conditions.operand}", sentence, trial
    )


def index_to_add(
    index: str,
    conditions: OperandConditions,
    usage: DatasetUsage,
    saved: tuple[float, float],
    measured: tuple[int, str],
) -> str:
    """Return the advice to add an index that saves a share and bytes, with the size of the trial and the cost."""
    share, count = saved
    files, cost = measured
    return (
        f"add {index}: {_conditions_text(conditions, usage)}; in a trial of {files:,} files it rules out "
        f"{percentage(share, 1, 0)} of the bytes that they read, {bytes_text(count, usage)}"
        + (f"; {cost}" if cost else "")
    )


def order_of_data(
    conditions: OperandConditions,
    kinds: Collection[ConditionKind],
    shares: Sequence[float],
    saved: float,
    usage: DatasetUsage,
) -> str:
    """Return the advice to write data in an order; ``shares`` are those that bounds rule out now and then."""
    now, then = shares
    signs = " and ".join(_SIGNS[kind] for kind in _SIGNS if kind in kinds)
    return (
        f"write the data ordered by {conditions.operand}: for {conditions.scans:,} of {conditions.all_scans:,} scans "
        f"of {period_text(usage)}, with conditions {signs}, an index rules out {percentage(now, 1, 0)} of the files in "
        f"the present layout and {percentage(then, 1, 0)} in this order; less what other indexes no longer rule out, "
        f"this saves {bytes_text(saved, usage)}"
    )


def layout_of_data(columns: Sequence[str], lacking: Sequence[str], figures: LayoutFigures, usage: DatasetUsage) -> str:
    """Return the advice to cluster the data by columns; ``lacking`` are those without bounds in the metadata."""
    indexes = f", and add {', '.join(f'minmax({each})' for each in lacking)}" if lacking else ""
    now, then = (f"{each:,.0f}" for each in figures.files)
    which = f"{figures.scans:,} of {usage.scans:,} scans of {period_text(usage)}"
    return (
        f"write the data clustered by {' and '.join(columns)}, as {figures.call} does{indexes}: {which} with "
        f"conditions on {'it' if len(columns) == 1 else 'them'} read {now} files, and would read {then} of the same "
        f"size, as {figures.rows:,} rows of a trial show; beside the best indexes in the present layout, this saves "
        f"{bytes_text(figures.saved, usage)}"
    )


def index_for_rewrites(subject: str, needs: ColumnNeeds, usage: DatasetUsage, figures: RewriteFigures) -> str:
    """Return the advice to add an index that lets rewrites of plans read less."""
    lacks = f"{_needs_text(needs, usage)}, for which the metadata lack {_LACKS[needs.is_counted]}"
    if figures.saved is None:
        text = f"add {subject}: {lacks}, and read {bytes_text(needs.bytes, usage)}"
        trial = Phrase("advise(trial=32)", "xskip advise --trial 32")
        return Words("{}; {} measures what the index saves", text, trial) if figures.can_measure else text
    by = f"by a trial of {figures.files:,} files" if figures.files else "with the index"
    text = f"add {subject}: {lacks}; {by} they need not read {bytes_text(figures.saved, usage)}"
    return text + (f"; {figures.cost}" if figures.cost else "")


def order_for_first_rows(needs: ColumnNeeds, saved: float, usage: DatasetUsage, *, has_index: bool) -> str:
    """Return the advice to write data in the order of which queries need the first rows."""
    index = "" if has_index else f" and add minmax({needs.column})"
    return (
        f"write the data ordered by {needs.column}{index}: {_needs_text(needs, usage)}, and read "
        f"{bytes_text(needs.bytes, usage)} of files whose values overlap; in this order each of them reads one file; "
        f"less what other indexes no longer rule out, this saves {bytes_text(saved, usage)}"
    )


def _needs_text(needs: ColumnNeeds, usage: DatasetUsage) -> str:
    phrases = dict.fromkeys(_NEEDS[kind] for kind in _NEEDS if kind in needs.kinds)
    text = " or ".join(phrases).format(needs.column)
    return f"{needs.scans:,} scans of {period_text(usage)} {text}"


def _conditions_text(conditions: OperandConditions, usage: DatasetUsage) -> str:
    why = "for which its index rules out no file" if conditions.has_index else "which no index answers"
    scans = f"{conditions.scans:,} of {conditions.all_scans:,} scans of {period_text(usage)}"
    what = "compare keys of joins with" if conditions.is_key else "have a condition on"
    return f"{scans} {what} {conditions.operand}, {why}"
