"""Reads of a lake without Spark, as tables of Arrow. Rules: [QLK-AR]."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.arrow_filters import columns_of_filter, rows_of_filter, skipped_by_guarantees
from xskip.errors import DatasetError
from xskip.quixlake.arrow_rows import COLUMNS, PLACE, SegmentRows, time_of
from xskip.quixlake.avro_container import SegmentDamageError
from xskip.quixlake.names import parse_paths, split_names
from xskip.quixlake.new_messages import Part, is_fulfilled, undecided, within
from xskip.quixlake.ranges import NONE
from xskip.quixlake.selected_rows import arrow_condition
from xskip.quixlake.selection import Selection
from xskip.quixlake.topic_segments import TopicSegments

__all__ = ["ArrowRead"]

#: The number of segments that are fetched while one is decoded.
_AHEAD = 8
#: The characters that Java escapes in the path of a URI; spaces and controls also beyond ASCII.
_ESCAPED = re.compile(
    r"[^A-Za-z0-9_.!~'()*;/:@&=+$,\xa1-\U0010ffff-]|[\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
_Mask = npt.NDArray[np.bool_]
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ArrowRead:
    """A read of a selection of a topic's messages."""

    listing: TopicSegments
    selection: Selection
    #: Some of the columns of :data:`~xskip.quixlake.arrow_rows.COLUMNS`.
    columns: Sequence[str]
    #: An expression of pyarrow that holds for all rows, or None.
    expression: Any = None

    @property
    def schema(self) -> pa.Schema:
        """Return the columns of the result."""
        return pa.schema([COLUMNS.field(name) for name in self.columns])

    def segments(self) -> pa.Table:
        """Return the segments to open in the order of their URIs.

        Of those that ``is_read``, the messages are a part of the result. Those that are ``compared`` can have the same
        offsets. ``given`` is the partition of messages that have none [QLK-RE-3].
        """
        return self._opened()[0]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the messages of each segment, in the order of the segments' URIs."""
        for table in self._tables():
            yield from table.to_batches()

    def _opened(self) -> tuple[pa.Table, list[Part]]:
        """Return the segments to open, see :meth:`segments`, and the part of each."""
        if self.selection.distinct_offsets:
            found, parts, masks = self.listing.compared(self.selection)
            is_read = (masks.alone | masks.beside) & ~self._skipped(found)
            # A segment without the selected offsets has no copy of a selected message [QLK-RD-6].
            compared = masks.compared & _mask(self.selection.of_copies.fits(found))
            compared &= np.array([part.is_needed or bool(part.old) for part in parts], np.bool_)
        else:
            found, parts, fits = self.listing.chosen(self.selection)
            rows = np.flatnonzero(_mask(fits))
            found, parts = found.take(pa.array(rows)).combine_chunks(), [parts[row] for row in rows.tolist()]
            is_read = ~self._skipped(found)
            compared = np.zeros(len(found), np.bool_)
        paths = found["path"].combine_chunks()
        named = parse_paths(*split_names(paths))["partition"]
        found = found.append_column("given", pc.coalesce(named, found["partition"]))
        found = found.append_column("is_read", pa.array(is_read)).append_column("compared", pa.array(compared))
        keys = pa.array([_in_uri(path) for path in paths.to_pylist()], pa.string())
        order = np.asarray(pc.sort_indices(keys).to_numpy(), np.int64)
        order = order[(is_read | compared)[order]]
        return found.take(pa.array(order)), [parts[row] for row in order.tolist()]

    def _tables(self) -> Iterator[pa.Table]:
        opened, parts = self._opened()
        both = [*zip(opened.to_pylist(), parts, strict=True)]
        copies = _Copies()
        # What the first token has counts before the copies that came later [QLK-TK-5].
        for _, part, table in self._decoded([each for each in both if each[0]["compared"] and each[1].old]):
            copies.removed(within(table, part.old))
        for segment, part, table in self._decoded([each for each in both if each[1].is_needed]):
            found = within(table, part.new or NONE)
            if self.selection.distinct_offsets:
                found = (copies if segment["compared"] else _Copies()).removed(found)
            if segment["is_read"]:
                yield self._selected(found, f"{self.listing.store.uri}/{segment['path']}")

    def _decoded(self, segments: list[tuple[dict[str, Any], Part]]) -> Iterator[tuple[dict[str, Any], Part, pa.Table]]:
        """Yield segments with their parts and all their messages."""
        has_checks = any(part.checks for _, part in segments)
        rows = SegmentRows(self._needed() | ({"timestamp"} if has_checks else frozenset()))
        uri = self.listing.store.uri
        for (segment, part), data in _ahead(lambda each: self._fetched(each[0]), segments):
            if part.new is None:
                raise undecided(f"{uri}/{segment['path']}")
            try:
                table = rows.of(data, segment)
            except SegmentDamageError as error:
                raise DatasetError(
                    "a segment cannot be read", where=f"{uri}/{segment['path']}", found=str(error)
                ) from error
            if any(not is_fulfilled(check, table) for check in part.checks):
                raise undecided(f"{uri}/{segment['path']}")
            yield segment, part, table

    def _needed(self) -> frozenset[str]:
        found = {*self.columns, *(each.column for each in self.selection.conditions)}
        if self.expression is not None:
            found.update(columns_of_filter(self.expression, COLUMNS))
        if self.selection.since is not None or self.selection.until is not None:
            found.add("offset")
        return frozenset({*found, "partition", "offset"} if self.selection.distinct_offsets else found)

    def _fetched(self, segment: dict[str, Any]) -> bytes:
        uri = f"{self.listing.store.uri}/{segment['path']}"
        try:
            return self.listing.store.storage.read(uri)
        except FileNotFoundError as error:
            raise DatasetError(
                "a segment was removed after its listing", where=uri, hint="read the topic again"
            ) from error

    def _selected(self, table: pa.Table, uri: str) -> pa.Table:
        conditions = self.selection.conditions
        if conditions:
            table = table.filter(reduce(pc.and_kleene, (arrow_condition(each, table) for each in conditions)))
        if self.expression is not None:
            table = rows_of_filter(self.expression, table, where=uri)
        return table.select(self.columns)

    def _skipped(self, segments: pa.Table) -> _Mask:
        """Return which segments hold no row for which the expression is TRUE, by what they claim."""
        if self.expression is None:
            return np.zeros(len(segments), np.bool_)
        return skipped_by_guarantees(self.expression, COLUMNS, _guarantees(segments, self.selection))


def _guarantees(segments: pa.Table, selection: Selection) -> list[Any]:
    """Return a condition for each segment that is TRUE of all its messages."""
    start, end = selection.times_of(segments)
    bounds = {"offset": (segments["first"], segments["last"]), "timestamp": (start, end)}
    bounds |= {"time": (time_of(start), time_of(end)), "partition": (segments["partition"], segments["partition"])}
    parts: list[list[Any]] = [[] for _ in range(len(segments))]
    for name, sides in bounds.items():
        column = pc.field(name)
        for part, least, greatest in zip(parts, *sides, strict=True):
            # Bounds say nothing of nulls.
            part.extend([(column >= least) | column.is_null()] if least.is_valid else [])
            part.extend([(column <= greatest) | column.is_null()] if greatest.is_valid else [])
    for name in PLACE:
        column = pc.field(name)
        for part, value in zip(parts, segments[name], strict=True):
            part.append(column == value if value.is_valid else column.is_null())
    return [reduce(and_, part) for part in parts]


class _Copies:
    """The offsets of the messages that were read so far, by partition [QLK-RD-5]."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()

    def removed(self, table: pa.Table) -> pa.Table:
        """Return the messages of a segment without those whose offset a message before them has."""
        kept = []
        for place in zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True):
            kept.append(None in place or place not in self._seen)
            self._seen.add(place)
        return table if all(kept) else table.filter(pa.array(kept, pa.bool_()))


def _mask(values: pa.ChunkedArray) -> _Mask:
    return np.asarray(values.combine_chunks().to_numpy(zero_copy_only=False), np.bool_)


def _in_uri(path: str) -> str:
    """Return a path as Java writes it in a URI: Spark compares segments by their URIs.

    >>> _in_uri("Key=a b%2F/é#.avro")
    'Key=a%20b%252F/é%23.avro'
    """
    return _ESCAPED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), path)


def _ahead(fetch: Callable[[S], T], items: Sequence[S]) -> Iterator[tuple[S, T]]:
    """Yield items with what is fetched for each, in order; some are fetched in threads before they are needed."""
    with ThreadPoolExecutor(_AHEAD) as pool:
        waiting: deque[tuple[S, Future[T]]] = deque()
        try:
            for item in items:
                waiting.append((item, pool.submit(fetch, item)))
                if len(waiting) > _AHEAD:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            for _, future in waiting:
                future.cancel()
