"""A clause over a BloomFilter gives the verdict that the filter proves, for each kind of leaf."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.filters import pack
from tests.indexes.translated import translated
from tests.reference import all_true
from xskip.clauses.clause import Mask
from xskip.errors import IndexDefinitionError, UnsupportedTypeError
from xskip.expressions.operands import Cast, Column
from xskip.expressions.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    StartsWith,
)
from xskip.indexes import BloomFilter, MinMax, index_of
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune
from xskip.types import bloom_bits
from xskip.types.datatypes import Bloom

SERVED = ["string", "binary", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz"]
FPP, NDV = "io.xskipper.index.bloom.fpp", "io.xskipper.index.bloom.ndv"


def collected(*files: list[Any] | None) -> pa.Array:
    return pa.array([None if f is None else pack(f).tolist() for f in files], pa.list_(pa.int64()))


def verdicts(leaf: Leaf, filters: pa.Array, among: np.ndarray | None = None) -> list[bool | None]:
    index, definition = BloomFilter("c"), IndexDefinition("bloomfilter", ("c",))
    table = MetadataTable(
        DataFiles.of([FileStatus(f"/{i}", 1, 1) for i in range(len(filters))]),
        {},
        {definition.key: IndexColumn(definition, Bloom(), filters)},
    )
    clause = translated(index.translate(leaf, definition, Bloom()))
    found: list[bool | None] = clause.evaluate(table, all_true(len(filters)) if among is None else among).to_pylist()
    return found


@pytest.mark.parametrize("spark_type", SERVED)
def test_equality_and_in_for_every_type(spark_type: Any) -> None:
    """[PRU-BF-1] [PRU-BF-2] [PRU-BF-4] Equality and IN are answered for every type."""
    column = Column(("c",), spark_type)
    a, b, c = (b"a", b"bcdef", "\U0001f600".encode()) if spark_type in ("string", "binary") else (0, -1, 77)
    built = BloomFilter("c").assemble([collected([a, b], [c], [])], [spark_type])
    filters = pa.array([*built.to_pylist(), None], pa.binary())
    assert verdicts(Comparison(Op.EQ, column, a), filters) == [True, False, False, None]
    assert verdicts(Comparison(Op.EQ, column, c), filters) == [False, True, False, None]
    assert verdicts(In(column, (b, c)), filters) == [True, True, False, None]
    assert verdicts(In(column, (c,), has_null=True), filters) == [False, True, False, None]
    assert verdicts(In(column, ()), filters) == [False, False, False, None]


INT = Column(("c",), "int")


@pytest.mark.parametrize(
    "leaf",
    [
        *(Comparison(op, INT, 1) for op in Op if op is not Op.EQ),
        NotIn(INT, (1,)),
        NotIn(INT, (1,), has_null=True),
        StartsWith(Column(("c",), "string"), b"a"),
        NotStartsWith(Column(("c",), "string"), b"a"),
        IsNull(INT),
        IsNotNull(INT),
        Comparison(Op.EQ, Cast(INT, "bigint"), 1),
        In(Cast(INT, "bigint"), (1, 2)),
        Comparison(Op.EQ, Column(("c",), "double"), 1.0),
        Comparison(Op.EQ, Column(("c",), "boolean"), True),
        Comparison(Op.EQ, Column(("c",), "decimal(10,2)"), Decimal("1.00")),
        In(Column(("c",), "float"), (1.0,)),
    ],
    ids=str,
)
def test_what_a_bloom_filter_does_not_answer(leaf: Any) -> None:
    """[SND-2] [SND-23] [SND-24] [PRU-BF-1]"""
    assert BloomFilter("c").translate(leaf, IndexDefinition("bloomfilter", ("c",)), Bloom()) is None


def test_filters_of_another_version_are_unknown() -> None:
    """[SND-23] [PRU-BF-2]"""
    (raw,) = BloomFilter("c").assemble([collected([1])], ["int"]).to_pylist()
    later = struct.pack(">i", 2) + raw[4:]
    assert verdicts(Comparison(Op.EQ, INT, 77_777), pa.array([raw, later, raw[:-1]], pa.binary())) == [
        False,
        None,
        None,
    ]


def test_rows_that_are_decided_are_not_looked_at() -> None:
    """[PRU-V-4]"""
    filters = BloomFilter("c").assemble([collected([1], [2], [3])], ["int"])
    assert verdicts(Comparison(Op.EQ, INT, 3), filters, np.array([False, True, True])) == [None, False, True]


def test_a_filter_is_sized_for_its_own_file_unless_the_size_is_fixed() -> None:
    """[PRU-BF-5]"""
    files = collected(list(range(1000)), [1], [])
    own = BloomFilter("c").assemble([files], ["int"]).to_pylist()
    assert [len(raw) for raw in own] == [12 + 8 * 150, 12 + 8, 12 + 8]
    fixed = BloomFilter("c", ndv=100_000).assemble([files], ["int"]).to_pylist()
    assert {raw[:12] for raw in fixed} == {struct.pack(">iii", 1, 7, 14977)}
    rough = BloomFilter("c", fpp=0.5).assemble([files], ["int"]).to_pylist()
    assert len(rough[0]) == 12 + 8 * 23


def test_sliced_lists_are_assembled_from_their_own_rows() -> None:
    files = collected([1], [2, 3], None, [4]).slice(1)
    filters = BloomFilter("c").assemble([files], ["int"])
    assert verdicts(In(INT, (1, 2)), filters) == [True, None, False]
    assert verdicts(Comparison(Op.EQ, INT, 4), filters) == [False, None, True]


def test_existing_filters_stay_and_other_values_are_unknown() -> None:
    hashes = collected(None, [2, 3], None)
    (made,) = BloomFilter("c").assemble([collected([1])], ["int"]).to_pylist()
    filters = BloomFilter("c").assemble([hashes, pa.array([made, None, None], pa.binary())], ["int"])
    assert verdicts(Comparison(Op.EQ, INT, 1), filters) == [True, False, None]
    assert verdicts(Comparison(Op.EQ, INT, 3), filters) == [False, True, None]


def test_a_null_list_over_hashes_is_not_read() -> None:
    """[PRU-BF-4] Values below a null list are ignored."""
    hidden = pa.ListArray.from_arrays(
        pa.array([0, 2, 3], pa.int32()), pa.array(pack([1, 2, 3]), pa.int64()), mask=pa.array([True, False])
    )
    plain = collected(None, [3])
    assert BloomFilter("c").assemble([hidden], ["int"]).equals(BloomFilter("c").assemble([plain], ["int"]))


def test_an_index_that_the_table_lacks_is_unknown() -> None:
    """[PRU-V-3]"""
    index, definition = BloomFilter("c"), IndexDefinition("bloomfilter", ("c",))
    clause = translated(index.translate(Comparison(Op.EQ, INT, 1), definition, Bloom()))
    table = MetadataTable(DataFiles.of([FileStatus("/x", 1, 1)]))
    assert clause.evaluate(table, all_true(1)).to_pylist() == [None]
    assert clause.expensive


@pytest.mark.parametrize("spark_type", SERVED)
def test_metadata_is_stored_as_a_bloom_filter(spark_type: Any) -> None:
    assert BloomFilter("c").storage([spark_type]) == Bloom()


@pytest.mark.parametrize(
    "spark_type",
    ["boolean", "float", "double", "decimal(10,2)", "interval day", "array<int>", "string collate UNICODE"],
)
def test_unsupported_types_are_refused(spark_type: str) -> None:
    with pytest.raises(UnsupportedTypeError) as caught:
        BloomFilter("c").storage([spark_type])
    assert str(caught.value) == (
        f"BloomFilter cannot index this type (where: column c; found: {spark_type}; "
        f"expected: one of {', '.join(SERVED)})"
    )


@pytest.mark.parametrize("fpp", [0, 1, -0.1, 1.5, float("nan"), float("inf")])
def test_invalid_rates_are_refused(fpp: Any) -> None:
    with pytest.raises(IndexDefinitionError, match=r"invalid rate .*expected: between 0 and 1"):
        BloomFilter("c", fpp=fpp)


def table_with_bounds_and_filters() -> MetadataTable:
    """Return a table of 100 files: file i has the value i in columns c and t, bounds of both, and filters of c."""
    numbers = pa.array(range(100), pa.int64())
    indexes = {}
    for name in ("c", "t"):
        index = MinMax(name)
        definition = IndexDefinition("minmax", (name,), types=("bigint",))
        values = index.assemble([numbers, numbers], ["bigint"])
        indexes[definition.key] = IndexColumn(definition, index.storage(["bigint"]), values)
    filters = BloomFilter("c").assemble([collected(*([i] for i in range(100)))], ["bigint"])
    definition = IndexDefinition("bloomfilter", ("c",), types=("bigint",))
    indexes[definition.key] = IndexColumn(definition, Bloom(), filters)
    return MetadataTable(DataFiles.of([FileStatus(f"/{i}", 1, 1) for i in range(100)]), {}, indexes)


C, T = Column(("c",), "bigint"), Column(("t",), "bigint")
ONE, LATE, EARLY = Comparison(Op.EQ, C, 7), Comparison(Op.GE, T, 90), Comparison(Op.LT, T, 20)


@pytest.mark.parametrize(
    ("predicate", "left"),
    [
        (In(C, (7, 8, 200)), [7, 8]),
        (And((ONE, EARLY)), [7]),
        (And((In(C, tuple(range(0, 100, 2))), EARLY)), list(range(0, 20, 2))),
        (And((ONE, LATE)), []),
        (Or((ONE, EARLY)), []),
        (Or((In(C, (7, 50, 95)), EARLY)), [50, 95]),
        (And((LATE, Or((In(C, (7, 95)), Comparison(Op.EQ, T, 95))))), []),
        (And((Or((In(C, (7, 95)), Comparison(Op.EQ, T, 91))), LATE)), [95]),
    ],
    ids=str,
)
def test_a_filter_is_probed_only_of_files_that_everything_cheaper_has_left(
    predicate: Any, left: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PRU-V-4]"""
    table = table_with_bounds_and_filters()
    probed: list[int] = []
    plain = bloom_bits.might_contain

    def noted(filters: pa.Array, values: list[bloom_bits.HashPair], among: Mask) -> pa.BooleanArray:
        probed.extend(np.flatnonzero(among).tolist())
        return plain(filters, values, among)

    monkeypatch.setattr(bloom_bits, "might_contain", noted)
    catalog = IndexCatalog(tuple((index.definition, index.storage) for index in table.indexes.values()))
    prune(translate(predicate, catalog), table)
    assert probed == left


def test_a_value_is_hashed_once_for_all_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    plain = bloom_bits.hash_long
    filters = BloomFilter("c").assemble([collected(*([i] for i in range(50)))], ["bigint"])

    def noted(value: int) -> bloom_bits.HashPair:
        hashed.append(value)
        return plain(value)

    monkeypatch.setattr(bloom_bits, "hash_long", noted)
    found = verdicts(In(C, tuple(range(40, 1_000))), filters)
    assert found[40:] == [True] * 10
    assert hashed == list(range(40, 1_000))


@pytest.mark.parametrize("block", [1, 7, 1 << 16])
def test_many_values_of_many_filters_are_found_as_each_of_one(block: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-BF-1] The verdicts do not depend on the size of the blocks in which filters are probed."""
    monkeypatch.setattr(bloom_bits, "_PROBES", block)
    files = [list(range(start, start + 1 + start % 5)) for start in range(0, 300, 10)]
    filters = BloomFilter("c", fpp=1e-6).assemble([collected(*files)], ["bigint"])
    wanted = tuple(range(0, 150, 4))
    one_by_one = [verdicts(Comparison(Op.EQ, C, value), filters) for value in wanted]
    assert verdicts(In(C, wanted), filters) == [any(found) for found in zip(*one_by_one, strict=True)]
    assert {True, False} == {*verdicts(In(C, wanted), filters)}


@pytest.mark.parametrize("ndv", [0, -1])
def test_invalid_numbers_of_values_are_refused(ndv: int) -> None:
    with pytest.raises(IndexDefinitionError, match=r"invalid ndv .*expected: 1 or more"):
        BloomFilter("c", ndv=ndv)


@pytest.mark.parametrize("column", ["", "a.", "`a", "a..b"])
def test_invalid_columns_are_refused(column: str) -> None:
    with pytest.raises(IndexDefinitionError, match="put a name that holds a dot in backticks"):
        BloomFilter(column)


@pytest.mark.parametrize(
    ("index", "params"),
    [
        (BloomFilter("c"), ((FPP, "0.01"),)),
        (BloomFilter("c", fpp=1e-05, ndv=12), ((NDV, "12"), (FPP, "1e-05"))),
        (BloomFilter("a.b", key_label="k"), ((FPP, "0.01"),)),
    ],
)
def test_a_definition_restores_the_index_type(index: Any, params: Any) -> None:
    assert index.params == params
    assert index_of(IndexDefinition("bloomfilter", index.columns, index.params, index.key_label)) == index


def test_a_definition_with_odd_parameters_is_not_used() -> None:
    for params in (((FPP, "2"),), ((FPP, "x"),), ((NDV, "0"),), ((NDV, "1.5"),)):
        assert index_of(IndexDefinition("bloomfilter", ("c",), params)) is None
