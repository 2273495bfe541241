"""The index type PathBounds: bounds of a column that the paths of files contain.

Rules: specs/pruning.rst, [PRU-PB]. The metadata is a struct of ``min`` and ``max`` as in a MinMax index. A null struct
means that the path says nothing about the file; one null field means that the path contains only the other bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import IndexClause
from xskip.errors import IndexDefinitionError
from xskip.expressions.predicate import Leaf
from xskip.indexes.argument_checks import unsupported
from xskip.indexes.base import OneColumn, Parameter
from xskip.indexes.minmax import MinMaxClause
from xskip.indexes.omissions import bounds_omit
from xskip.indexes.path_pattern import PathPattern, Place, PlaceKind
from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import BITS, INTEGRAL, Storage, Struct, arrow_type
from xskip.types.masks import Mask, from_mask, to_mask
from xskip.types.periods import instants, local_period

__all__ = ["PathBounds"]

_TIMES = ("timestamp", "timestamp_ntz")
_SERVED = (*INTEGRAL, "date", *_TIMES)
#: The number of nanoseconds in each unit.
_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
#: The text before each part of the name of a period, in the order of the parts.
_SEPARATORS: dict[PlaceKind, str] = {"month": "-", "week": "-W", "day": "-", "hour": "T"}
_MICROSECOND = 1_000
_DAY = 86_400_000_000
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PathBounds(OneColumn):
    """An index of bounds that the paths of files contain, which a build computes without opening a file.

    The pattern describes the last components of a path. It contains places in braces, and ``*`` for any text within a
    component. ``{{`` and ``}}`` stand for braces. A file name can have extensions that the pattern omits. These places
    are possible:

    - ``{column:min}``, ``{column:max}``: a lower bound, an upper bound.
    - ``{column}``: the value that all rows have.
    - ``{column:period}``: the period that contains the values of all rows.
    - ``{column:since}``: the period whose start is a lower bound.
    - ``{column:year}``, ``{column:month}``, ``{column:day}``, ``{column:hour}``, ``{column:week}``: the parts of the
      period that contains the values of all rows, as in ``year={ts:year}/month={ts:month}/day={ts:day}/*``.

    Places of kind ``period`` and ``since`` hold a year, month, ISO week, day or hour: ``2024``, ``2024-03``,
    ``2024-W09``, ``2024-03-01``, ``2024-03-01T14``. Parts hold numbers such as ``3`` or ``03``. The other places hold
    whole numbers; for dates, and for timestamps without a unit, they also hold periods. Queries trust the paths: a
    path whose bounds are wrong loses rows. A path that does not fit the pattern, or whose bounds contradict each
    other, says nothing, and queries read the file.

    Parameters
    ----------
    column : str
        A column of integers, dates or timestamps, or a struct field such as ``a.b``. Put a name that contains a dot in
        backticks.
    pattern : str
        The pattern, with at least one place of the column.
    unit : {"", "s", "ms", "us", "ns"}
        What numbers count since 1970-01-01 in UTC: the numbers in paths if the column has timestamps, the values of the
        column if it has integers and the paths contain periods. An empty string means that there are no such numbers.
    zone : str
        The time zone of the periods in paths, for timestamps and for integers with a unit.
    key_label : str, optional
        Label of the key that encrypts the metadata of this index. None leaves the metadata in plaintext.
    expression : bool
        Always false: a path has no bounds of an expression.

    Raises
    ------
    IndexDefinitionError
        If ``column`` is not a valid column path, the pattern is invalid or has no place of the column, the unit or the
        time zone is unknown, or ``expression`` is true.

    Examples
    --------
    >>> PathBounds("ts", "events_{ts:min}_{ts:max}", unit="ms").columns
    ('ts',)
    """

    pattern: str = ""
    unit: str = ""
    zone: str = "UTC"
    name: ClassVar[str] = "pathbounds"
    of_paths: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("pattern", "io.xskip.index.pathbounds.pattern", str, is_always_recorded=True),
        Parameter("unit", "io.xskip.index.pathbounds.unit", str),
        Parameter("zone", "io.xskip.index.pathbounds.zone", str),
    )

    def __post_init__(self) -> None:
        OneColumn.__post_init__(self)
        if self.expression:
            raise IndexDefinitionError("a path has no bounds of an expression", found=self.column)
        if not self.pattern:
            raise IndexDefinitionError(
                "PathBounds needs a column and a pattern", found=f"PathBounds({self.column!r})",
                expected="such as PathBounds('ts', '{ts:min}_{ts:max}')",
            )  # fmt: skip
        if not PathPattern.parse(self.pattern).places(self.column):
            raise IndexDefinitionError(
                "the pattern of paths has no place of the column", where=f"column {self.column}", found=self.pattern
            )
        if self.unit not in ("", *_UNITS):
            raise IndexDefinitionError(
                "PathBounds has an unknown unit", found=repr(self.unit), expected=f"one of {', '.join(_UNITS)}"
            )
        try:
            ZoneInfo(self.zone)
        except (ValueError, OSError, KeyError) as error:  # ZoneInfoNotFoundError is a KeyError
            raise IndexDefinitionError(
                "PathBounds has an unknown time zone", found=repr(self.zone), expected="such as 'Europe/Prague'"
            ) from error

    @classmethod
    def of_pattern(cls, pattern: str, *, unit: str = "", zone: str = "UTC") -> tuple[PathBounds, ...]:
        """Return an index for each column of a pattern.

        Parameters
        ----------
        pattern : str
            The pattern.
        unit : {"", "s", "ms", "us", "ns"}
            The unit of all columns that need one.
        zone : str
            The time zone of the periods in paths.

        Returns
        -------
        tuple of PathBounds
            The indexes, in the order of the columns in the pattern.

        Raises
        ------
        IndexDefinitionError
            If the pattern, the unit or the time zone is invalid.

        Examples
        --------
        >>> [index.column for index in xskip.PathBounds.of_pattern("part_{partition}_off_{offset:min}_{offset:max}")]
        ['partition', 'offset']
        """
        return tuple(cls(column, pattern, unit, zone) for column in PathPattern.parse(pattern).columns)

    def storage(self, types: Sequence[str]) -> Storage:
        """Return a struct of ``min`` and ``max``, both of the column's type."""
        if types[0] not in _SERVED:
            raise unsupported("PathBounds", self.column, types[0], _SERVED)
        return Struct((("min", types[0]), ("max", types[0])))

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        """Compute a struct of ``min`` and ``max`` from each path of a file, null where the path says nothing."""
        kind = arrow_type(self.storage(types))
        claims = list(self._claims(results[0], types[0]))
        lows = [claim.low for claim in claims if claim.place.has_low]
        highs = [claim.high for claim in claims if claim.place.has_high]
        # each place gives bounds of all values, so the greatest lower and the least upper bound hold, too [PRU-PB-3]
        low, high = (np.maximum.reduce(lows) if lows else None), (np.minimum.reduce(highs) if highs else None)
        # one place that does not fit, a bound that the type cannot hold, or bounds that contradict each other: the path
        # says nothing
        fits = np.logical_and.reduce([claim.fits for claim in claims])
        for side in (low, high):
            if side is not None:
                fits &= _within(side, types[0])
        if low is not None and high is not None:
            fits &= low <= high
        sides = [_stored(side, fits, kind[0].type) for side in (low, high)]
        return pa.StructArray.from_arrays(sides, fields=list(kind), mask=from_mask(~fits))

    def omits(self, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
        """Return whether a value lies outside of the bounds in the path, see :meth:`OneColumn.omits`."""
        return bounds_omit(stored, actual)

    def translate(self, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
        """Return a clause for any leaf except ``IS NULL`` on the column itself."""
        return MinMaxClause.of(leaf, definition)

    def _claims(self, paths: pa.Array, kind: str) -> Iterator[_Claim]:
        """Yield what each place of the column says about each path."""
        pattern = PathPattern.parse(self.pattern)
        is_number = kind in INTEGRAL or (kind in _TIMES and self.unit != "")
        found = pc.extract_regex(paths.cast(pa.string()), pattern.regex(self.column, is_number=is_number))
        parts: dict[PlaceKind, pa.Array] = {}
        for i, place in enumerate(pattern.places(self.column)):
            texts = pc.struct_field(found, i)
            if place.is_part:
                parts[place.kind] = texts
            elif is_number and not place.holds_period:
                yield _Claim(place, *self._from_numbers(texts, kind))
            else:
                yield _Claim(place, *self._from_periods(texts, kind))
        if parts:
            yield _Claim(Place(self.column, "period"), *self._from_periods(_joined(parts), kind))

    def _from_numbers(self, texts: pa.Array, kind: str) -> tuple[Numbers, Numbers, Mask]:
        """Return the least and the greatest value that numbers stand for, and which numbers are valid."""
        signs = np.where(to_mask(pc.starts_with(texts, "-")), -1, 1)
        digits = pc.utf8_ltrim(texts, "-").fill_null("0").cast(pa.uint64()).to_numpy(zero_copy_only=False)
        unit = _UNITS[self.unit] if kind in _TIMES else _MICROSECOND  # an integer stands for itself
        fits = to_mask(texts.is_valid()) & (digits <= np.uint64(_most(unit)))
        numbers = np.where(fits, digits, 0).astype(np.int64) * signs
        if unit < _MICROSECOND:
            low = high = numbers // (_MICROSECOND // unit)
        else:  # writers round times down to the unit: an upper bound includes all times within it [PRU-PB-3]
            width = unit // _MICROSECOND
            low = numbers * width
            high = low + (width - 1)
        return low, high, fits

    def _from_periods(self, texts: pa.Array, kind: str) -> tuple[Numbers, Numbers, Mask]:
        """Return the least and the greatest value in periods, and which names are those of periods."""
        encoded = texts.dictionary_encode()
        known = [self._in_period(name, kind) if name is not None else None for name in encoded.dictionary.to_pylist()]
        # the last entry stands for paths without a text
        ends = np.array([interval or (0, 0) for interval in (*known, None)], np.int64)
        there = np.array([interval is not None for interval in (*known, None)], np.bool_)
        positions = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
        return ends[positions, 0], ends[positions, 1], there[positions]

    def _in_period(self, name: str, kind: str) -> tuple[int, int] | None:
        """Return the least and the greatest value of a type in a period, or None without such values."""
        period = local_period(name)
        if period is None or (kind in INTEGRAL and not self.unit):
            return None
        start, end = instants(period, ZoneInfo(self.zone) if kind not in ("date", "timestamp_ntz") else None)
        if kind == "date":
            # ``end`` is the first moment after the period, so the last value in it is one unit less
            return start // _DAY, (end - 1) // _DAY
        if kind in _TIMES:
            return start, end - 1
        unit = _UNITS[self.unit]
        low, high = start * _MICROSECOND // unit, (end * _MICROSECOND - 1) // unit
        return (low, high) if low >= -(2**63) and high < 2**63 else None


@dataclass(frozen=True, slots=True)
class _Claim:
    """The bounds that one place gives for many paths."""

    place: Place
    #: The least and the greatest value that the text in each path stands for.
    low: Numbers
    high: Numbers
    #: Whether the text in each path stands for any value.
    fits: Mask


def _joined(parts: Mapping[PlaceKind, pa.Array]) -> pa.Array:
    """Return the names of periods whose parts are texts."""
    names = parts["year"]
    for kind, before in _SEPARATORS.items():
        if kind in parts:
            names = pc.binary_join_element_wise(names, pc.utf8_lpad(parts[kind], 2, "0"), before)
    return names


def _most(unit: int) -> int:
    """Return the greatest number of a unit of at least a microsecond whose microseconds fit into int64."""
    return (2**63 - 1) // max(unit // _MICROSECOND, 1) - 1


def _within(numbers: Numbers, kind: str) -> Mask:
    bits = BITS.get(kind, 32 if kind == "date" else 64)
    within: Mask = (numbers >= -(2 ** (bits - 1))) & (numbers <= 2 ** (bits - 1) - 1)
    return within


def _stored(numbers: Numbers | None, there: Mask, kind: pa.DataType) -> pa.Array:
    """Return numbers as values of a type, null where they are absent; without numbers, all values are null."""
    if numbers is None:
        return pa.nulls(len(there), kind)
    width = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}[kind.bit_width]
    return pa.array(np.where(there, numbers, 0).astype(width), mask=~there).view(kind)
