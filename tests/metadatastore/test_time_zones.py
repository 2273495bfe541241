"""Statistics that can differ in another time zone of the JVM are unknown there; all others stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from tests.metadatastore.samples import bloomfilter, files_of, minmax, table_of, valuelist
from xskip.metadata.table import EXPRESSION, IndexColumn
from xskip.metadatastore.time_zones import in_every_zone
from xskip.types.datatypes import Opaque

NEW, OLD = 1_700_000_000_000_000, -3_000_000_000_000_000  # 2023 and 1874


def kept(column: IndexColumn, types: tuple[str, ...] = (), expression: str = "") -> list[Any]:
    """Return the values that stay, in integers."""
    params = ((EXPRESSION, expression),) if expression else ()
    definition = replace(column.definition, types=types, params=params)
    column = replace(column, definition=definition)
    (found,) = in_every_zone(
        table_of(files_of("abcdef"[: len(column.values)]), [column]), [definition]
    ).indexes.values()
    assert found.values.type == column.values.type
    return [i for i, valid in enumerate(found.values.is_valid().to_pylist()) if valid]


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_values_from_1901_on_and_files_without_values_stay(kind: str) -> None:
    """[PRU-RD-8]"""
    lows, highs = [NEW, OLD, None, NEW, None, None], [NEW, NEW, None, NEW, OLD, NEW]
    unknown = [False, False, False, True, False, False]
    # the lower bound of the last two is not known
    assert kept(minmax("t", kind, lows, highs, unknown), (kind,)) == [0, 2, 5]
    lists: list[list[int] | None] = [[NEW], [NEW, OLD], [], None]
    assert kept(valuelist("t", kind, lists), (kind,)) == [0, 2]
    assert kept(minmax("t", kind, lows, highs, unknown)) == [0, 2, 5]


def test_other_statistics_of_timestamps_are_unknown() -> None:
    """[PRU-RD-8]"""
    filters = bloomfilter("t", [[b"x"], None])
    assert kept(filters, ("timestamp",)) == []
    assert kept(filters, ("string",)) == kept(filters) == [0]
    opaque = replace(minmax("t", "int", [1], [2]), storage=Opaque("{}", pa.int32()))
    assert kept(opaque, ("int",)) == []


def test_expressions_on_timestamps_are_unknown() -> None:
    """[PRU-RD-8]"""
    hours = minmax("hour(t)", "int", [1, 2], [3, 4])
    assert kept(hours, ("int",), '["Hour",["$",["t"],"timestamp"]]') == []
    assert kept(minmax("t", "timestamp", [NEW], [NEW]), ("timestamp",), '["f",["$",["s"],"string"]]') == []
    assert kept(hours, ("int",), '["Length",["$",["s"],"string"]]') == [0, 1]
