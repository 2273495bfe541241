"""Validation: the statistics of files are collected again from their rows, and compared with the metadata.

.. code-block:: text

    1    collect every index again, for all files or for a random sample, and their parts at the recorded borders
    2    where the comparison cannot decide, collect exact values of these files
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.indexes import Index, MinMax
from xskip.indexes.omissions import differ
from xskip.indexing.build_plan import plan, plan_existing
from xskip.indexing.collection import chunks_of, collect, collector_of
from xskip.indexing.part_validation import WrongParts, borders_of_parts
from xskip.indexing.source import Source, check_reading, require_collected
from xskip.metadata.data_files import compare_files, count_changed
from xskip.metadata.table import IndexKey, MetadataTable
from xskip.results.validation import ValidationResult, WrongStatistics
from xskip.spark.collect.listing import ListedFiles, list_files
from xskip.spark.collect.part_layout import Borders
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["Validation", "sampled"]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Validation:
    """A comparison of the metadata with the rows, for the indexed files of a dataset."""

    engine: SparkEngine
    source: Source

    def run(self, sample: int | None, seed: int, names: Collection[str] | None = None) -> ValidationResult:
        """Read files, and return those whose metadata leave out a row.

        ``sample`` is the maximum number of files to read, chosen at random; None reads all files that the index knows.
        ``names`` are the files to choose from; None means all.
        """
        started = time.monotonic()
        snapshot = require_collected(self.source)
        check_reading(self.source, snapshot)
        snapshot.demand_keys()
        planned = plan_existing(self.source, snapshot)
        stored = snapshot.load()
        listed = list_files(self.source.dataset)
        fresh, alive = compare_files(listed.files, stored.files)
        chosen = alive if names is None else alive & _are_in(stored.files.names, names)
        rows = sampled(np.flatnonzero(chosen), sample, seed)
        wrong = tuple(self._wrong(stored.take(pa.array(rows)), listed, planned))
        known = {each.definition.key for each in planned}
        unchecked = tuple(str(d) for d, _ in snapshot.indexes if d.key not in known)
        gone = np.flatnonzero(~alive)
        changed = count_changed(listed.files.take(pa.array(fresh)), stored.files.take(pa.array(gone)))
        seconds = time.monotonic() - started
        return ValidationResult(len(rows), wrong, seconds, len(fresh), len(gone), unchecked, changed)

    def _wrong(
        self, stored: MetadataTable, listed: ListedFiles, planned: Sequence[PlannedIndex]
    ) -> Iterator[WrongStatistics]:
        """Yield the statistics that the rows contradict."""
        on_rows = self._on_rows(planned)
        distinct = tuple({each.definition.key: each for each in on_rows.values()}.values())
        for table, chosen in self._chunks(stored, listed):
            borders = borders_of_parts(table.parts, chosen, listed.sizes)
            actual = self._collect(listed, distinct, chosen, borders)
            yield from _wrong_counts(table, actual)
            if actual.parts is not None:
                yield from WrongParts(table, actual.parts, _omitted, _text).found(planned)
            for each in planned:
                values = actual.indexes[on_rows[each.definition.key].definition.key].values
                found = _omitted(each.index, table.indexes[each.definition.key].values, values)
                found = self._decided(each, table, listed, chosen, found)
                yield from _contradictions(each, table, values, found)

    def _on_rows(self, planned: Sequence[PlannedIndex]) -> Mapping[IndexKey, PlannedIndex]:
        """Return for each index the index to collect from rows: bounds, if the index is computed from paths."""
        of_paths = [each for each in planned if each.index.of_paths]
        columns = dict.fromkeys(each.index.columns[0] for each in of_paths)
        bounds = {each.columns: each for each in plan(self.source, [MinMax(c) for c in columns])} if columns else {}
        return {each.definition.key: bounds[each.columns] if each.index.of_paths else each for each in planned}

    def _chunks(self, stored: MetadataTable, listed: ListedFiles) -> Iterator[tuple[MetadataTable, Rows]]:
        """Yield parts of the metadata with the positions of their files in the listing."""
        chosen = pc.index_in(stored.files.names, listed.files.names).to_numpy(zero_copy_only=False).astype(np.int64)
        start = 0
        for chunk in chunks_of(self.engine, self.source, listed, chosen):
            yield stored.take(pa.array(np.arange(start, start + len(chunk)))), chunk
            start += len(chunk)

    def _collect(
        self, listed: ListedFiles, planned: Sequence[PlannedIndex], chosen: Rows, borders: Borders
    ) -> MetadataTable:
        """Collect statistics from rows, never from footers or from other claims."""
        collector = collector_of(self.engine, self.source, listed, tuple(planned))
        return collect(replace(collector, footers=False, claims=None, borders=borders), chosen)

    def _decided(
        self, planned: PlannedIndex, table: MetadataTable, listed: ListedFiles, chosen: Rows, found: pa.BooleanArray
    ) -> pa.BooleanArray:
        """Compare with exact values where a comparison is undecided."""
        make = getattr(planned.index, "exact", None)
        exact: Index | None = make() if make is not None and found.null_count else None
        if exact is None:
            return found
        some = np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))
        (better,) = plan(self.source, [exact])
        actual = self._collect(listed, (better,), chosen[some], Borders()).indexes[better.definition.key].values
        again = _omitted(planned.index, table.indexes[planned.definition.key].values.take(pa.array(some)), actual)
        merged: list[bool | None] = found.to_pylist()
        for row, verdict in zip(some.tolist(), again.to_pylist(), strict=True):
            merged[row] = verdict
        return pa.array(merged, pa.bool_())


def sampled(positions: Rows, sample: int | None, seed: int) -> Rows:
    """Return at most ``sample`` positions, chosen at random, in their order; None returns all."""
    if sample is None or sample >= len(positions):
        return positions
    return np.sort(np.random.default_rng(seed).choice(positions, sample, replace=False))


def _are_in(names: pa.Array, chosen: Collection[str]) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.is_in(names, pa.array(list(chosen), pa.string())).to_numpy(zero_copy_only=False)
    return found


def _omitted(index: Index, stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
    omits = getattr(index, "omits", differ)  # an index type of a user need not have the method
    found: pa.BooleanArray = omits(stored, actual)
    return found


def _contradictions(
    planned: PlannedIndex, table: MetadataTable, actual: pa.Array, found: pa.BooleanArray
) -> Iterator[WrongStatistics]:
    stored = table.indexes[planned.definition.key].values
    for row, verdict in enumerate(found.to_pylist()):
        if verdict is not False:
            name = table.files.names[row].as_py()
            claimed, rows = _text(stored[row]), _text(actual[row])
            if claimed == rows:
                rows += f", {_difference(stored[row].as_py(), actual[row].as_py())}"
            yield WrongStatistics(name, str(planned.definition), claimed, rows, is_certain=verdict is True)


def _wrong_counts(table: MetadataTable, actual: MetadataTable) -> Iterator[WrongStatistics]:
    """Yield the numbers of rows and NULLs that the rows contradict."""
    if table.counts is None or actual.counts is None:
        return
    claimed = {"rows": table.counts.rows, **{f"NULLs of {name}": each for name, each in table.counts.nulls.items()}}
    found = {"rows": actual.counts.rows, **{f"NULLs of {name}": each for name, each in actual.counts.nulls.items()}}
    for what in [each for each in claimed if each in found]:
        differ_in = pc.not_equal(claimed[what], found[what]).fill_null(False)
        for row in np.flatnonzero(differ_in.to_numpy(zero_copy_only=False)).tolist():
            name = table.files.names[row].as_py()
            yield WrongStatistics(name, f"number of {what}", str(claimed[what][row]), str(found[what][row]))


def _difference(claimed: Any, actual: Any) -> str:
    """Return how statistics differ whose texts do not differ."""
    if isinstance(claimed, dict) and isinstance(actual, dict):
        claimed, actual = claimed.get("values"), actual.get("values")
    if isinstance(claimed, list) and isinstance(actual, list):
        missing = sum(value not in claimed for value in actual)
        if missing:
            return f"{missing} of them not in the metadata"
    return "with other bits" if isinstance(claimed, bytes) else "with other content"


def _text(value: Any) -> str:
    """Return a short text of the statistics of one file: bounds and counts, or the size of lists and filters."""
    found = value.as_py()
    if found is None:
        return "unknown"
    if isinstance(found, dict):
        return _struct_text(found)
    if isinstance(found, list):
        return _count_of(found)
    return f"a filter of {len(found)} bytes" if isinstance(found, bytes) else "a value"


def _count_of(values: Sequence[Any]) -> str:
    return f"{len(values)} value{'' if len(values) == 1 else 's'}"


def _struct_text(found: Mapping[str, Any]) -> str:
    match found:
        case {"min": low, "max": high}:
            return f"{'any' if low is None else low} to {'any' if high is None else high}"
        case {"nulls": nulls, "rows": rows}:
            return f"{nulls} NULL of {rows} rows"
        case {"values": values, "filter": bits}:
            return _count_of(values) if values is not None else f"a filter of {len(bits or b'')} bytes"
        case _:
            return "a value"
