"""The partitions that an export copies, and what becomes of the former exports of them. Rules: [QDB-CT]."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Literal, TypeAlias, get_args

from xskip.errors import PredicateError
from xskip.questdb_files.partition_names import Clock, PartitionUnit
from xskip.questdb_files.selection import ticks_of
from xskip.questdb_files.snapshot import Snapshot
from xskip.spark.questdb.cold_tier import ColdPartition, ColdTier
from xskip.spark.questdb.tier_parts import HotPartition, State, hot_partitions, state_of, unknown_state

__all__ = ["Changed", "ExportPlan", "border", "export_plan", "folder_of", "folder_units"]

#: What became of exported rows whose partition has changed, where its rows do not tell.
Changed: TypeAlias = Literal["merged", "dropped"]

_AGE = re.compile(r"\s*(\d+)\s*([smhdw])\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_FOLDERS = {
    PartitionUnit.HOUR: ("year", "month", "day", "hour"),
    PartitionUnit.DAY: ("year", "month", "day"),
    PartitionUnit.WEEK: ("year", "week"),
    PartitionUnit.MONTH: ("year", "month"),
    PartitionUnit.YEAR: ("year",),
}


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """The partitions that an export copies, and what becomes of the former exports."""

    copied: tuple[HotPartition, ...]
    #: The former exports that still count; those whose rows the table has dropped are marked.
    kept: tuple[ColdPartition, ...]
    #: The former exports of partitions that are copied again.
    replaced: tuple[ColdPartition, ...]


def border(older_than: str | timedelta | datetime) -> datetime:
    """Return the time at which a partition must have ended; a time without a zone is in UTC."""
    if isinstance(older_than, datetime):
        return older_than if older_than.tzinfo else older_than.replace(tzinfo=timezone.utc)
    try:
        age = older_than
        if isinstance(age, str):
            match = _AGE.fullmatch(age)
            age = timedelta(seconds=int(match[1]) * _SECONDS[match[2]]) if match else age
        if isinstance(age, timedelta) and age >= timedelta():
            return datetime.now(timezone.utc) - age
    except OverflowError:
        pass
    raise PredicateError(
        "the age of partitions is not a duration", where="older_than", found=repr(older_than),
        expected='a duration such as "30d", a timedelta or a datetime',
    )  # fmt: skip


def export_plan(snapshot: Snapshot, tier: ColdTier, until: datetime, changed: Changed | None) -> ExportPlan:
    """Return the plan of an export of the partitions that end before a time."""
    if changed is not None and changed not in get_args(Changed):
        raise PredicateError(
            "a change does not exist", where="changed", found=repr(changed), expected="'merged' or 'dropped'"
        )
    hot = hot_partitions(snapshot)
    end = ticks_of(until, snapshot.metadata.clock.ticks)
    open_ones = {start: partition for start, partition in hot.items() if partition.end <= end}
    kept, replaced = [], []
    for exported in tier.partitions:
        found = hot.get(exported.start)
        match _known(state_of(snapshot, tier, exported, found), changed):
            case State.DROPPED:
                kept.append(replace(exported, dropped=True))
            case State.SAME:
                kept.append(exported)
                open_ones.pop(exported.start, None)
            case State.UNKNOWN:
                raise unknown_state(snapshot, exported)
            case _ if exported.start in open_ones:
                replaced.append(exported)
            case _:
                kept.append(exported)
    # if a later export of a partition still has its rows, the partition is not copied, and its former exports stay
    kept += [exported for exported in replaced if exported.start not in open_ones]
    replaced = [exported for exported in replaced if exported.start in open_ones]
    kept.sort(key=lambda exported: exported.start)
    return ExportPlan(tuple(open_ones[start] for start in sorted(open_ones)), tuple(kept), tuple(replaced))


def folder_units(clock: Clock) -> tuple[str, ...]:
    """Return the names of the folders of a partition, such as year, month and day."""
    return _FOLDERS[clock.unit]


def folder_of(clock: Clock, start: int, prefix: str) -> str:
    """Return the folder of the files of a partition, from its start in ticks; a prefix is before the names of units.

    >>> folder_of(Clock(PartitionUnit.DAY, 1_000_000), 86_400_000_000, "")
    'year=1970/month=01/day=02'
    """
    values = re.split(r"-W|[-T]", clock.folder(start, -1))
    return "/".join(f"{prefix}{unit}={value}" for unit, value in zip(_FOLDERS[clock.unit], values, strict=True))


def runs(partitions: tuple[HotPartition, ...]) -> Iterator[tuple[int, int]]:
    """Yield the half-open ranges of time of partitions whose pieces follow each other in the table."""
    first = None
    for partition, following in zip(partitions, (*partitions[1:], None), strict=True):
        first = partition if first is None else first
        if following is None or following.pieces[0] != partition.pieces[-1] + 1:
            yield first.start, partition.end
            first = None


def _known(state: State, changed: Changed | None) -> State:
    return State(changed) if state is State.UNKNOWN and changed else state
