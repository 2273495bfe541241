"""The rows of the query history, each of which sums up equal scans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pyarrow as pa

from xskip.results.index_usage import Condition

__all__ = ["SCHEMA", "HistoryRows", "ScanKind", "ScanSums"]

_INSTANT = pa.timestamp("ms", tz="UTC")
_TEXTS = pa.list_(pa.string())
_CONDITION = pa.struct(
    [
        ("operand", pa.string()),
        ("kinds", _TEXTS),
        ("is_expression", pa.bool_()),
        ("is_answered", pa.bool_()),
        ("column", pa.string()),
    ]
)
#: The columns of the Parquet files. Rules: [REP-H-2].
SCHEMA = pa.schema(
    [
        ("dataset", pa.string()),
        ("format", pa.string()),
        ("predicate", pa.string()),
        ("problem", pa.string()),
        ("present", _TEXTS),
        ("used", _TEXTS),
        ("without_index", _TEXTS),
        ("user", pa.string()),
        ("application", pa.string()),
        ("conditions", pa.list_(_CONDITION)),
        ("first", _INSTANT),
        ("last", _INSTANT),
        ("queries", pa.int64()),
        ("scans", pa.int64()),
        ("files", pa.int64()),
        ("bytes", pa.int64()),
        ("kept", pa.int64()),
        ("kept_bytes", pa.int64()),
        ("milliseconds", pa.float64()),
        ("ruled_out", pa.list_(pa.int64())),
        ("whole_bytes", pa.int64()),
    ]
)

#: The columns that files of earlier releases lack.
_LATER_COLUMNS = frozenset(("conditions", "whole_bytes"))


@dataclass(frozen=True, slots=True)
class ScanKind:
    """What equal scans have in common."""

    dataset: str
    format: str
    #: None if it is not known, or if the history had too many different rows.
    predicate: str | None
    #: Why the scans read all files; empty without a problem.
    problem: str
    #: The texts of all indexes of the dataset, and of those that answered a condition, in order.
    present: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    #: The columns of conditions that no index answered because no index is on them, in order.
    without_index: tuple[str, ...] = ()
    user: str = ""
    application: str = ""
    #: What the scans ask of columns and expressions, in order.
    conditions: tuple[Condition, ...] = ()


#: The kind of the scans for which there is no row. Savings show an empty name as other datasets.
_OTHERS = ScanKind("", "", None, "")


@dataclass(frozen=True, slots=True)
class ScanSums:
    """The sums over equal scans."""

    #: When the first and the last query ended, in milliseconds since the epoch.
    first: int
    last: int
    #: The number of queries whose first scan is among the scans: the sum over all rows is the number of all queries.
    queries: int
    scans: int
    files: int
    bytes: int
    kept: int
    kept_bytes: int
    milliseconds: float
    #: For each index in use, the sum of the files that it ruled out.
    ruled_out: tuple[int, ...] = ()
    #: The bytes of the files all of whose rows match, of those that scans read whose rewrites lack metadata of columns.
    whole_bytes: int = 0

    def __add__(self, other: ScanSums) -> ScanSums:
        return ScanSums(
            min(self.first, other.first),
            max(self.last, other.last),
            self.queries + other.queries,
            self.scans + other.scans,
            self.files + other.files,
            self.bytes + other.bytes,
            self.kept + other.kept,
            self.kept_bytes + other.kept_bytes,
            self.milliseconds + other.milliseconds,
            tuple(a + b for a, b in zip(self.ruled_out, other.ruled_out, strict=True)),
            self.whole_bytes + other.whole_bytes,
        )


@dataclass(slots=True)
class HistoryRows:
    """Sums of scans by their kinds, with a bounded number of rows."""

    #: From this number of rows on, scans of new kinds are summed up without their predicates, and from twice the number
    #: on also without their datasets.
    most: int
    _sums: dict[ScanKind, ScanSums] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._sums)

    def __iter__(self) -> Iterator[tuple[ScanKind, ScanSums]]:
        return iter(self._sums.items())

    def add(self, kind: ScanKind, sums: ScanSums) -> None:
        """Add sums of scans of a kind."""
        if kind not in self._sums and len(self._sums) >= self.most:
            kind = replace(kind, predicate=None)
        if kind not in self._sums and len(self._sums) >= 2 * self.most:
            kind, sums = _OTHERS, replace(sums, ruled_out=())
        present = self._sums.get(kind)
        self._sums[kind] = sums if present is None else present + sums

    def update(self, rows: Iterable[tuple[ScanKind, ScanSums]]) -> None:
        """Add the rows of another part of the history."""
        for kind, sums in rows:
            self.add(kind, sums)

    def to_arrow(self) -> pa.Table:
        """Return the rows as a table with the columns of :data:`SCHEMA`."""
        rows = [_members(kind) | _members(sums) for kind, sums in self._sums.items()]
        for row in rows:
            row["conditions"] = [_stored(condition) for condition in row["conditions"]]
        return pa.Table.from_pylist(rows, SCHEMA)

    @staticmethod
    def parse(table: pa.Table) -> Iterator[tuple[ScanKind, ScanSums]]:
        """Yield the rows of a table, which can have further columns."""
        instants = {name: table[name].cast(pa.int64()) for name in ("first", "last")}
        for name, values in instants.items():
            table = table.set_column(table.schema.get_field_index(name), name, values)
        absent = _LATER_COLUMNS.difference(table.column_names)
        for row in table.select([name for name in SCHEMA.names if name not in absent]).to_pylist():
            # The first releases recorded only the columns.
            is_complete = "conditions" not in absent
            known = map(_condition, row["conditions"] or ()) if is_complete else map(Condition, row["without_index"])
            row["conditions"] = list(known)
            row["whole_bytes"] = row.get("whole_bytes") or 0
            yield _parsed(ScanKind, row), _parsed(ScanSums, row)


def _members(value: ScanKind | ScanSums) -> dict[str, Any]:
    return {each.name: _encodable(getattr(value, each.name)) for each in fields(value)}


def _stored(condition: Condition) -> dict[str, Any]:
    return {name: _encodable(getattr(condition, name)) for name in _CONDITION.names}


def _condition(members: Mapping[str, Any]) -> Condition:
    found = dict(members)
    return Condition(
        found["operand"], tuple(found["kinds"]), found["is_expression"], found["is_answered"], found["column"]
    )


def _encodable(value: Any) -> Any:
    """Return a text, or the texts of a value, without lone surrogates, which no file can have."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return tuple(_encodable(each) for each in value) if isinstance(value, tuple) else value


def _parsed(kind: Any, row: Mapping[str, Any]) -> Any:
    values = {each.name: row[each.name] for each in fields(kind)}
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
