"""The pruning of row groups of metadata files by the bounds that Parquet has. Rules: [PRU-JB]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metadatastore.samples import (
    ROOT,
    VALUES,
    files_of,
    minmax,
    record_of,
    table_of,
)
from xskip.clauses.clause import AllOf, AnyOf, Clause
from xskip.clauses.partition import PartitionClause
from xskip.engine.metadata_row_groups import RowGroups
from xskip.expressions.operands import Column
from xskip.expressions.predicate import And, ColumnComparison, Comparison, IsNotNull, IsNull, Op, Or, StartsWith
from xskip.indexes.minmax import MinMaxClause
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.metadatastore import codec
from xskip.metadatastore.codec import encode, open_file
from xskip.metadatastore.commit import LiveSnapshot
from xskip.metadatastore.snapshot import Snapshot
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune

K = Column(("k",), "int")


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "GROUP_ROWS", 2)


def snapshot_of(folder: Path, *tables: MetadataTable) -> Snapshot:
    """Return a snapshot of xskip with each table in a separate file."""
    files = []
    for i, table in enumerate(tables):
        encode(table, ROOT, folder / f"{i}")
        files.append(open_file(folder / f"{i}"))
    return Snapshot(LiveSnapshot(record_of([]), (), foreign=False), tuple(files))


def clause_of(predicate: Any, snapshot: Snapshot) -> Clause:
    kinds = {"minmax": lambda storage: storage.fields[0][1], "valuelist": lambda storage: storage.element}
    indexes = [(d, s) for d, s in snapshot.indexes if d.name in kinds]
    return translate(predicate, IndexCatalog(tuple(indexes), snapshot.partitions))


def ruled_out(snapshot: Snapshot, predicate: Any) -> list[bool]:
    found: list[bool] = RowGroups(snapshot).ruled_out(clause_of(predicate, snapshot)).tolist()
    return found


def of_k(lows: Sequence[Any], highs: Sequence[Any], unknown: Sequence[bool] | None = None) -> MetadataTable:
    return table_of(files_of(f"/f{i}" for i in range(len(lows))), [minmax("k", "int", lows, highs, unknown)])


def test_a_group_is_ruled_out_by_its_bounds(tmp_path: Path) -> None:
    """[PRU-JB-3] A group is ruled out if its least minimum and greatest maximum exclude a match."""
    snapshot = snapshot_of(tmp_path, of_k([0, 5, 10, 12], [4, 9, 11, 30]), of_k([100], [110]))
    assert ruled_out(snapshot, Comparison(Op.GT, K, 9)) == [True, False, False]
    assert ruled_out(snapshot, Comparison(Op.LT, K, 10)) == [False, True, True]
    both = (Comparison(Op.GT, K, 9), Comparison(Op.LT, K, 50))
    assert ruled_out(snapshot, And(both)) == [True, False, True]
    assert ruled_out(snapshot, Or((Comparison(Op.EQ, K, 105), Comparison(Op.EQ, K, 3)))) == [False, True, False]
    assert ruled_out(snapshot, IsNull(K)) == [False] * 3


def test_what_bounds_do_not_tell_keeps_a_group(tmp_path: Path) -> None:
    """[PRU-JB-3] A group stays if a file is unknown, or if the index is missing or has another type."""
    unknown = of_k([0, 0, 0, 0], [1, 1, 1, 1], [False, True, False, False])
    empty = of_k([None, None, 0, None], [None, None, 1, None])
    other = table_of(files_of(["/x"]), [minmax("k", "bigint", [0], [1])])
    without = table_of(files_of(["/y"]))
    snapshot = snapshot_of(tmp_path, unknown, empty, other, without)
    assert ruled_out(snapshot, Comparison(Op.GT, K, 9)) == [False, True, False, False, False, False]


def test_nan_is_above_all(tmp_path: Path) -> None:
    """[PRU-JB-3] Statistics ignore NaN, so that they prove only lower bounds of floating-point values."""
    nan = float("nan")
    d = Column(("d",), "double")
    table = table_of(files_of(["/a", "/b", "/c", "/d"]), [minmax("d", "double", [1.0, 2.0, nan, nan], [2.0, nan] * 2)])
    snapshot = snapshot_of(tmp_path, table)
    assert ruled_out(snapshot, Comparison(Op.GT, d, 5.0)) == [False, False]
    assert ruled_out(snapshot, Comparison(Op.EQ, d, nan)) == [False, False]
    assert ruled_out(snapshot, Comparison(Op.LT, d, 1.0)) == [True, False]


@pytest.mark.parametrize("length", [10, 5_000])
def test_long_strings(tmp_path: Path, length: int) -> None:
    """[PRU-JB-3] A group stays if its strings are too long for statistics."""
    s = Column(("s",), "string")
    long = "b" * length
    table = table_of(files_of(["/a", "/b"]), [minmax("s", "string", ["a", long], ["a", long])])
    snapshot = snapshot_of(tmp_path, table)
    assert ruled_out(snapshot, Comparison(Op.GT, s, b"c")) == [length == 10]
    assert ruled_out(snapshot, Comparison(Op.EQ, s, long.encode())) == [False]
    assert ruled_out(snapshot, StartsWith(s, b"bb")) == [False]


def test_partitions_are_bounds_of_their_own(tmp_path: Path) -> None:
    """[PRU-JB-3] A group has a range of partition values, unless one of them is NULL."""
    p = Column(("p",), "int")
    places = [PartitionColumn("p", "int", pa.array([1, 1, 2, 4, None, 9], pa.int32()))]
    snapshot = snapshot_of(tmp_path, table_of(files_of(f"/f{i}" for i in range(6)), [], places))
    assert ruled_out(snapshot, Comparison(Op.EQ, p, 1)) == [False, True, False]
    assert ruled_out(snapshot, Comparison(Op.EQ, p, 3)) == [True, False, False]
    assert ruled_out(snapshot, Comparison(Op.GT, p, 4)) == [True, True, False]
    assert ruled_out(snapshot, IsNull(p)) == [False] * 3
    assert ruled_out(snapshot, IsNotNull(p)) == [False] * 3


def test_partitions_stay_where_files_disagree(tmp_path: Path) -> None:
    """[PRU-JB-3] A partition column that a file lacks rules out nothing."""
    tables = [
        table_of(files_of(["/f"]), [], [PartitionColumn("p", "int", pa.array([1], pa.int32()))]),
        table_of(files_of(["/g"])),
    ]
    assert ruled_out(snapshot_of(tmp_path, *tables), Comparison(Op.EQ, Column(("p",), "int"), 7)) == [False, False]


def test_a_column_against_a_partition_column(tmp_path: Path) -> None:
    """[PRU-JB-3] Bounds of the column against the range of the partition values, on either side of the comparison."""
    places = PartitionColumn("p", "int", pa.array([6, 7, 4, 5], pa.int32()))
    bounds = of_k([0, 5, 10, 12], [4, 9, 11, 30])
    snapshot = snapshot_of(tmp_path, table_of(bounds.files, bounds.indexes.values(), [places]))
    p = Column(("p",), "int")
    assert ruled_out(snapshot, ColumnComparison(Op.LT, K, p)) == [False, True]
    assert ruled_out(snapshot, ColumnComparison(Op.LT, p, K)) == [False, False]
    assert ruled_out(snapshot, ColumnComparison(Op.EQ, p, K)) == [False, True]


def test_an_index_with_the_name_of_a_partition_column(tmp_path: Path) -> None:
    """[PRU-JB-3] The bounds of both are apart."""
    places = PartitionColumn("k", "int", pa.array([6, 7, 40, 50], pa.int32()))
    bounds = of_k([0, 5, 10, 12], [4, 9, 11, 30])
    snapshot = snapshot_of(tmp_path, table_of(bounds.files, bounds.indexes.values(), [places]))
    leaf = Comparison(Op.LT, K, 20)
    of_index, of_partition = MinMaxClause(leaf, ("minmax", ("k",))), PartitionClause(leaf, "k")
    for both in ((of_index, of_partition), (of_partition, of_index)):
        assert RowGroups(snapshot).ruled_out(AnyOf(both)).tolist() == [False, False]
        assert RowGroups(snapshot).ruled_out(AllOf(both)).tolist() == [False, True]


@pytest.mark.parametrize("kind", VALUES)
def test_bounds_of_every_type_are_those_that_rows_have(tmp_path: Path, kind: str) -> None:
    """[PRU-JB-3] A group with one file has the bounds of this file."""
    low, high, _ = VALUES[kind]
    table = table_of(files_of(["/a", "/b"]), [minmax("c", kind, [low, high], [low, high])])
    codec.GROUP_ROWS = 1  # the fixture puts it back
    snapshot = snapshot_of(tmp_path, table)
    literals = {"string": lambda v: v.encode()}
    for op in (Op.LT, Op.GT, Op.EQ):
        for value in (low, high):
            literal = literals.get(kind, lambda v: v)(value)
            predicate = Comparison(op, Column(("c",), kind), literal)
            clause = clause_of(predicate, snapshot)
            exact = prune(clause, snapshot.load()).skip.tolist()
            found = RowGroups(snapshot).ruled_out(clause).tolist()
            if kind in ("float", "double") and op is not Op.LT:
                assert all(e or not f for e, f in zip(exact, found, strict=True))
            else:
                assert found == exact


_INTS = st.one_of(st.none(), st.integers(-3, 3))


@given(
    rows=st.lists(st.tuples(_INTS, _INTS, st.booleans()), min_size=1, max_size=9),
    op=st.sampled_from(list(Op)),
    value=st.integers(-4, 4),
)
def test_no_group_is_ruled_out_that_holds_a_kept_file(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], op: Op, value: int
) -> None:
    """[PRU-JB-3] Random bounds, also missing ones, rule out no group with a needed file."""
    lows = [a if a is None or b is None else min(a, b) for a, b, _ in rows]
    highs = [b if a is None or b is None else max(a, b) for a, b, _ in rows]
    snapshot = snapshot_of(tmp_path_factory.mktemp("md"), of_k(lows, highs, [unknown for _, _, unknown in rows]))
    clause = clause_of(Comparison(op, K, value), snapshot)
    skip = prune(clause, snapshot.load()).skip
    groups = RowGroups(snapshot)
    ends = np.cumsum(groups.units.sizes)
    for out, start, end in zip(groups.ruled_out(clause), ends - groups.units.sizes, ends, strict=True):
        assert not out or skip[start:end].all()
