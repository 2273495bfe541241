"""Random names of files that claim bounds of columns, and the PathBounds indexes on these names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random
from zoneinfo import ZoneInfo

import xskip
from tests.fuzz.data import FIELDS, INTEGERS

__all__ = ["Bounds", "Claimed", "Naming", "naming", "union"]

#: The least and the greatest value of a column in a file; None if all values are NULL. Times count microseconds.
Bounds = tuple[int, int] | None
_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_TIMES = ("timestamp", "timestamp_ntz")
_ZONES = ("UTC", "Europe/Oslo", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kolkata", "America/New_York",
          "Australia/Lord_Howe", "Europe/Dublin")  # fmt: skip
_EPOCH = dt.datetime(1970, 1, 1)
_NUMBERED = (("min", "max"), ("min", "max"), ("min",), ("max",), ("value",))
_PARTS = ("year", "month", "day", "hour")
#: The last shape stands for some of its places from the first one on.
_DATED = (("period",), ("since",), ("period", "min", "max"), ("since", "max"), _PARTS)
#: Texts that fit no place. Partitions have other ones, because their names cannot be empty.
_NO_NUMBER = ("x", "", "1e3", "+1", "--1", "12345678901234567890", "\u0663")
_NO_PERIOD = ("unknown", "", "2024-02-30", "2024-13", "2023-W53", "20243", "2024-03-01T24")
_NO_PARTITION = ("unknown", "__HIVE_DEFAULT_PARTITION__", "2024-02-30", "2024-W54")
_LEVELS = "abc"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A column whose bounds paths claim, with the unit and the time zone of its index."""

    column: str
    kind: str
    unit: str
    zone: str

    def text(self, random: Random, place: str, bounds: Bounds) -> str | None:
        """Return a text that is right about the values of a file, or None if the place has no such text."""
        low, high = bounds or (random.randint(-400, 4000),) * 2
        if place in _PARTS:
            return self._part(random, place, low, high)
        if place in ("period", "since") or not self._is_number:
            return self._period(random, place, low, high)
        slack = random.choice((0, 0, 0, 1, 1000))
        least, greatest = self._number(low), self._number(high)
        if place == "value" and least != greatest:
            return None
        return _padded(random, {"min": least - slack, "max": greatest + slack, "value": least}[place])

    def contradictory(self, random: Random, place: str, bounds: Bounds) -> str | None:
        """Return a text that contradicts that of the opposite place, or None if the place has no such text."""
        low, high = bounds or (0, 0)
        if not self._is_number or place not in ("min", "max"):
            return None
        beyond = random.choice((1, 7, 10**6))
        return str(self._number(high) + beyond if place == "min" else self._number(low) - beyond)

    @property
    def _is_number(self) -> bool:
        return self.kind in INTEGERS or (self.kind in _TIMES and self.unit != "")

    def _number(self, value: int) -> int:
        return value if self.kind in INTEGERS else value * 1000 // _UNITS[self.unit]

    def _period(self, random: Random, place: str, low: int, high: int) -> str | None:
        """Return a period with all values, or one that begins before them or ends after them."""
        day = 1 if self.kind == "date" else 86_400_000_000
        slack = 0 if self.kind in INTEGERS else random.choice((0, 0, day // 24, day, 40 * day))
        match place:
            case "since" | "min":
                first = last = self._local(low - slack)
            case "max":
                first = last = self._local(high + slack)
            case _:
                first, last = self._local(low), self._local(high)
        if first is None or last is None:
            return None
        both = zip(_names(first), _names(last), strict=True)
        common = [name for name, other in both if name == other and (self.kind != "date" or "T" not in name)]
        return random.choice(common) if common else None

    def _part(self, random: Random, place: str, low: int, high: int) -> str | None:
        """Return a part of the period with all values, or None if they are of several ones."""
        first, last = self._local(low), self._local(high)
        if first is None or last is None or (self.kind == "date" and place == "hour"):
            return None
        parts = [(each.year, each.month, each.day, each.hour)[: _PARTS.index(place) + 1] for each in (first, last)]
        if parts[0] != parts[1]:
            return None
        return f"{parts[0][-1]:04}" if place == "year" else f"{parts[0][-1]:0{random.choice((1, 2))}}"

    def _local(self, value: int) -> dt.datetime | None:
        """Return the local time of a value, or None if Python's calendar lacks it."""
        try:
            match self.kind:
                case "date":
                    return _EPOCH + dt.timedelta(days=value)
                case "timestamp_ntz":
                    return _EPOCH + dt.timedelta(microseconds=value)
            micros = value if self.kind == "timestamp" else value * _UNITS[self.unit] // 1000
            moment = (_EPOCH + dt.timedelta(microseconds=micros)).replace(tzinfo=dt.timezone.utc)
            return moment.astimezone(ZoneInfo(self.zone))
        except OverflowError:
            return None


@dataclass(frozen=True, slots=True)
class Naming:
    """The way in which a program names directories and files after the values of their rows.

    Attributes
    ----------
    levels, places : tuple of (Claimed, str)
        The column and the kind of the place for each level of directories, and for each place in the file name.
    separator : str
    is_open : bool
        Whether the number of the file precedes the extension of the name. Otherwise it is a part of the extension.
    is_upper : bool
        Whether the pattern spells columns in capitals.
    """

    levels: tuple[tuple[Claimed, str], ...]
    places: tuple[tuple[Claimed, str], ...]
    separator: str
    is_open: bool
    is_upper: bool

    @property
    def pattern(self) -> str:
        """Return the pattern of the paths."""
        spelled = [(of.column.upper() if self.is_upper else of.column, kind) for of, kind in self._all]
        return self._joined([f"{{{column}:{kind}}}" for column, kind in spelled], "n*")

    @property
    def indexes(self) -> tuple[xskip.PathBounds, ...]:
        """Return an index for each column of the pattern."""
        return tuple(xskip.PathBounds(each.column, self.pattern, each.unit, each.zone) for each in self.columns)

    @property
    def columns(self) -> tuple[Claimed, ...]:
        """Return the columns of the pattern."""
        return tuple(dict.fromkeys(of for of, _ in self._all))

    def path(self, random: Random, number: int, bounds: Mapping[str, Bounds] | None) -> str:
        """Return the path of a file without extension.

        Parameters
        ----------
        random : Random
        number : int
            The number of the file.
        bounds : mapping of str to Bounds, or None
            The values of each column. If they are unknown, the path claims nothing.
        """
        wrong = {of for of in self.columns if {(of, "min"), (of, "max")} <= {*self.places} and random.random() < 0.15}
        texts = []
        for k, (of, kind) in enumerate(self._all):
            text = None
            if bounds is not None and random.random() < 0.97:
                make = of.contradictory if of in wrong else of.text
                text = make(random, kind, bounds[of.column])
            if text is None:
                text = _misfit(random, of, kind, is_partition=k < len(self.levels))
                text = text or (
                    "" if self.separator != "-" else "x"
                )  # two hyphens can be read as a separator and a sign
            texts.append(text)
        if bounds is None:
            texts[len(self.levels) :] = ["unknown"] * len(self.places)
        return self._joined(texts, f"n{number}")

    @property
    def _all(self) -> tuple[tuple[Claimed, str], ...]:
        return (*self.levels, *self.places)

    def _joined(self, texts: list[str], number: str) -> str:
        """Return a path or a pattern; a pattern has ``n*`` for the number, and omits extensions."""
        count = len(self.levels)
        levels = [f"w{_LEVELS[k]}={text}" for k, text in enumerate(texts[:count])]
        name = self.separator.join(["f", *texts[count:]])
        end = f"-{number}" if self.is_open else "" if number == "n*" else f".{number}"
        return "/".join([*levels, name + end])


def naming(random: Random, absent: Collection[str]) -> Naming:
    """Return a random naming for a dataset whose files lack some columns."""
    served = (*INTEGERS, *_TIMES, "date")
    fields = [name for name, kind in FIELDS.items() if kind in served and name not in absent]
    levels: list[tuple[Claimed, str]] = []
    places: list[tuple[Claimed, str]] = []
    has_levels = random.random() < 0.4
    for name in random.sample(fields, min(len(fields), random.choice((1, 2, 2, 3)))):
        of = Claimed(name, FIELDS[name], random.choice(("", *_UNITS)), random.choice(_ZONES))
        shapes = _NUMBERED if of.kind in INTEGERS and not of.unit else (*_NUMBERED, *_DATED)
        shape = random.choice(shapes)
        for kind in shape[: random.randint(1, len(shape))] if shape == _PARTS else shape:
            own = levels if has_levels and kind not in ("min", "max") and len(levels) < len(_LEVELS) else places
            own.append((of, kind))
    return Naming(tuple(levels), tuple(places), random.choice("_-="), random.random() < 0.7, random.random() < 0.3)


def union(one: Mapping[str, Bounds], other: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """Return bounds of the values of two files together."""
    found: dict[str, Bounds] = {}
    for name in one:
        ends = [end for side in (one[name], other[name]) if side is not None for end in side]
        found[name] = (min(ends), max(ends)) if ends else None
    return found


def _misfit(random: Random, of: Claimed, kind: str, *, is_partition: bool) -> str:
    if is_partition:
        return random.choice(_NO_PARTITION)
    return random.choice(_NO_PERIOD if kind in ("period", "since", *_PARTS) or not of._is_number else _NO_NUMBER)


def _padded(random: Random, number: int) -> str:
    return f"{number:0{random.choice((0, 0, 0, 9, 19))}}"


def _names(moment: dt.datetime) -> list[str]:
    """Return the names of the year, the month, the week, the day and the hour of a local time."""
    year, week, _ = moment.isocalendar()
    day = f"{moment.year:04}-{moment.month:02}-{moment.day:02}"
    return [day[:4], day[:7], f"{year:04}-W{week:02}", day, f"{day}T{moment.hour:02}"]
