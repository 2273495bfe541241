"""Metadata tables can be restricted to rows and concatenated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable, PartitionColumn, concat
from xskip.types.datatypes import Array, Storage, Struct, arrow_type

INTS = Struct((("min", "int"), ("max", "int")))
LONGS = Struct((("min", "bigint"), ("max", "bigint")))
MINMAX = IndexDefinition("minmax", ("a",), types=("int",))
VALUES = IndexDefinition("valuelist", ("b",))


def files(*names: str) -> DataFiles:
    return DataFiles.of([FileStatus(name, 1, 2) for name in names])


def column(definition: IndexDefinition, storage: Storage, values: list[Any]) -> IndexColumn:
    return IndexColumn(definition, storage, pa.array(values, arrow_type(storage)))


def partition(name: str, kind: str, values: list[Any]) -> PartitionColumn:
    return PartitionColumn(name, kind, pa.array(values, arrow_type(kind)))


def bounds(low: int | None, high: int | None) -> dict[str, Any]:
    return {"min": low, "max": high}


FIRST = MetadataTable(
    files("/x", "/y"),
    {"p": partition("p", "int", [1, None])},
    {
        MINMAX.key: column(MINMAX, INTS, [bounds(1, 5), None]),
        VALUES.key: column(VALUES, Array("string"), [["u"], []]),
    },
)
SECOND = MetadataTable(
    files("/z"),
    {"p": partition("p", "int", [7])},
    {MINMAX.key: column(MINMAX, INTS, [bounds(None, None)])},
)


def test_a_definition_is_known_by_name_and_columns() -> None:
    definition = IndexDefinition("minmax", ("a", "b.c"), (("x", "1"),), "label", ("int", "int"))
    assert definition.key == ("minmax", ("a", "b.c"))
    assert str(definition) == "minmax(a, b.c)"


def test_rows_are_taken_from_every_column() -> None:
    taken = FIRST.take(pa.array([1]))
    assert len(taken) == 1
    assert taken.files[0].name == "/y"
    assert taken.partitions["p"].values.to_pylist() == [None]
    assert taken.indexes[MINMAX.key].values.to_pylist() == [None]
    assert taken.indexes[VALUES.key].values.to_pylist() == [[]]


def test_tables_end_to_end_with_null_where_an_index_is_missing() -> None:
    """[PRU-V-3]"""
    both = concat([FIRST, SECOND])
    assert both.files.names.to_pylist() == ["/x", "/y", "/z"]
    assert both.partitions["p"].values.to_pylist() == [1, None, 7]
    # null (nothing known) and a struct of nulls (no value at all) stay two different things
    assert both.indexes[MINMAX.key].values.to_pylist() == [bounds(1, 5), None, bounds(None, None)]
    assert both.indexes[VALUES.key].values.to_pylist() == [["u"], [], None]
    assert both.indexes[MINMAX.key].definition == MINMAX


def test_a_partition_column_that_some_table_lacks_is_left_out_and_not_null() -> None:
    """[SND-30] [PRU-PC-3]"""
    bare = MetadataTable(files("/w"))
    assert concat([FIRST, bare]).partitions == {}
    assert concat([bare, FIRST]).partitions == {}


def test_a_partition_column_of_two_types_is_left_out() -> None:
    """[SND-30] [PRU-PC-3]"""
    other = MetadataTable(files("/w"), {"p": partition("p", "string", ["1"])})
    assert concat([FIRST, other]).partitions == {}


def test_an_index_of_two_types_is_left_out_and_the_others_stay() -> None:
    """[SND-25] [PRU-RD-3]"""
    wider = MetadataTable(files("/w"), {}, {MINMAX.key: column(MINMAX, LONGS, [bounds(1, 2)])})
    assert set(concat([FIRST, wider]).indexes) == {VALUES.key}


def test_one_table_stays_as_it_is_and_no_table_is_empty() -> None:
    assert concat([FIRST]) is FIRST
    nothing = concat([])
    assert (len(nothing), nothing.partitions, nothing.indexes) == (0, {}, {})


def test_derived_values_are_computed_once_per_table() -> None:
    made: list[str] = []
    first, other = replace(FIRST), replace(FIRST)

    def make() -> int:
        made.append("a")
        return len(made)

    assert [first.memo("a", make) for _ in range(3)] == [1, 1, 1]
    assert first.memo("b", lambda: made.append("b")) is None
    assert first.memo("b", lambda: made.append("b")) is None
    assert replace(first).memo("a", lambda: 7) == first.take(pa.array([0])).memo("a", lambda: 7) == 7
    assert made == ["a", "b"]
    assert first == other
