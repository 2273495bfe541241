"""Bounds come from a Parquet footer only if the footer proves them."""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from pyspark.sql import SparkSession

from xskip import MinMax, SkippingIndex
from xskip.errors import CollectError
from xskip.spark.collect.parquet_footers import Bounds, footer_statistics, is_plain, served_by_footers, tail_of


def footer(table: pa.Table, **options: Any) -> pq.FileMetaData:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return pq.read_metadata(io.BytesIO(sink.getvalue()))


def footer_bounds(meta: Any, columns: Sequence[tuple[str, str]]) -> list[Bounds] | None:
    """Return the bounds of columns, or None if the footer does not prove them."""
    found = footer_statistics(meta, columns)
    return None if found is None else found.bounds


def bounds(values: pa.Array, spark_type: str, **options: Any) -> Any:
    """Return the bounds of a column x in a new file, or None if the footer does not prove them."""
    found = footer_bounds(footer(pa.table({"x": values}), **options), [("x", spark_type)])
    return None if found is None else found[0]


DAY = date(1970, 1, 1)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MS, US, NS = pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")
MS_UTC, US_UTC = pa.timestamp("ms", tz="UTC"), pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize(
    ("values", "spark_type", "expected"),
    [
        (pa.array([3, None, -128], pa.int8()), "tinyint", (-128, 3)),
        (pa.array([3, None, -32768], pa.int16()), "smallint", (-32768, 3)),
        (pa.array([3, None, -(2**31)], pa.int32()), "int", (-(2**31), 3)),
        (pa.array([2**63 - 1, None, -(2**63)], pa.int64()), "bigint", (-(2**63), 2**63 - 1)),
        (pa.array([DAY, None, date(9999, 12, 31)]), "date", (0, 2932896)),
        (pa.array([1, None, -5], MS_UTC), "timestamp", (-5000, 1000)),
        (pa.array([1, None, -5], US_UTC), "timestamp", (-5, 1)),
        (pa.array([1, None, -5], MS), "timestamp_ntz", (-5000, 1000)),
        (pa.array([1, None, -5], US), "timestamp_ntz", (-5, 1)),
        (pa.array([True, None, False]), "boolean", (False, True)),
        (pa.array([True, None]), "boolean", (True, True)),
        (pa.array(["b", None, "", "é", "\U0001f600"]), "string", (b"", "\U0001f600".encode())),
        (pa.array(["\ufffd", "\U0001f600"]), "string", ("\ufffd".encode(), "\U0001f600".encode())),
        (pa.array(["x" * 3000]), "string", (b"x" * 3000, b"x" * 3000)),
    ],
    ids=str,
)
def test_bounds_of_the_types_that_footers_serve(values: Any, spark_type: str, expected: Any) -> None:
    """[PRU-MM-9] Bounds of each supported type are correct."""
    found = bounds(values, spark_type)
    assert found == expected
    assert [type(v) for v in found] == [type(v) for v in expected]


@pytest.mark.parametrize(
    ("precision", "as_integer", "physical"),
    [(9, True, "INT32"), (18, True, "INT64"), (9, False, "FIXED_LEN_BYTE_ARRAY"), (38, False, "FIXED_LEN_BYTE_ARRAY")],
)
def test_decimals_of_each_physical_form(precision: int, as_integer: bool, physical: str) -> None:
    """[SND-19] [PRU-MM-9] Decimals have correct bounds in each physical type."""
    values = pa.array([Decimal("-1.50"), None, Decimal("2.25"), Decimal("-0.01")], pa.decimal128(precision, 2))
    meta = footer(pa.table({"x": values}), store_decimal_as_integer=as_integer)
    assert meta.row_group(0).column(0).physical_type == physical
    assert footer_bounds(meta, [("x", f"decimal({precision},2)")]) == [(Decimal("-1.50"), Decimal("2.25"))]


def test_decimals_with_all_38_digits() -> None:
    """[SND-19] [PRU-MM-9] Decimals of 38 digits have exact bounds."""
    low, high = Decimal("-" + "9" * 36 + ".99"), Decimal("9" * 36 + ".98")
    assert bounds(pa.array([high, low], pa.decimal128(38, 2)), "decimal(38,2)") == (low, high)


def test_a_decimal_of_another_precision_or_scale() -> None:
    """[SND-19] [PRU-MM-9] The data is read if the query's precision or scale differs."""
    values = pa.array([Decimal("1.50")], pa.decimal128(10, 2))
    for other in ("decimal(11,2)", "decimal(10,1)", "decimal(10,3)", "bigint", "double"):
        assert bounds(values, other) is None


@pytest.mark.parametrize(
    ("values", "spark_type", "options"),
    [
        (pa.array([1.0, 2.0], pa.float32()), "float", {}),
        (pa.array([1.0, 2.0], pa.float64()), "double", {}),
        (pa.array([1, 2], US_UTC), "timestamp", {"use_deprecated_int96_timestamps": True}),
        (pa.array([1, 2], NS), "timestamp_ntz", {"version": "2.6"}),
        (pa.array([b"a"], pa.binary()), "binary", {}),
        (pa.array([b"ab"], pa.binary(2)), "binary", {}),
        (pa.array([1], pa.int32()), "int", {"write_statistics": False}),
        (pa.array(["x" * 10_000, "a"]), "string", {}),  # too long for statistics, and not all null
    ],
    ids=str,
)
def test_what_a_footer_does_not_vouch_for(values: Any, spark_type: str, options: Any) -> None:
    """[SND-10] [SND-12] [SND-18] [PRU-MM-9] Some types, and missing statistics, prove no bounds."""
    assert bounds(values, spark_type, **options) is None


@pytest.mark.parametrize(
    ("values", "spark_type"),
    [
        (pa.array([1], pa.int32()), "bigint"),
        (pa.array([1], pa.int64()), "int"),
        (pa.array([1], pa.int8()), "int"),
        (pa.array([1], pa.uint8()), "tinyint"),
        (pa.array([1], pa.uint32()), "int"),
        (pa.array([1], pa.uint32()), "bigint"),
        (pa.array([1], pa.int32()), "date"),
        (pa.array([DAY]), "int"),
        (pa.array([1], pa.int64()), "timestamp"),
        (pa.array([1], US), "timestamp"),
        (pa.array([1], US_UTC), "timestamp_ntz"),
        (pa.array(["a"]), "binary"),
        (pa.array([b"a"]), "string"),
        (pa.array(["1"]), "int"),
        (pa.array([None], pa.null()), "int"),
        (pa.array([1], pa.time32("ms")), "int"),
    ],
    ids=str,
)
def test_a_column_that_is_read_as_another_type(values: Any, spark_type: str) -> None:
    """[SND-23] [SND-25] [PRU-MM-9] Footers prove no bounds of a column that is read as another type."""
    assert bounds(values, spark_type) is None


def test_all_null_and_no_rows() -> None:
    """[PRU-MM-7] [PRU-MM-9] A column with only NULL or without rows has null bounds."""
    assert bounds(pa.array([None, None], pa.int32()), "int") == (None, None)
    assert bounds(pa.array([], pa.int32()), "int") == (None, None)
    assert bounds(pa.array([None], pa.string()), "string") == (None, None)
    assert bounds(pa.array([None], US_UTC), "timestamp") == (None, None)
    assert bounds(pa.array([None], pa.decimal128(10, 2)), "decimal(10,2)") == (None, None)


def test_all_null_without_statistics_is_not_known_to_be_all_null() -> None:
    """[SND-12] [PRU-MM-9]"""
    assert bounds(pa.array([None, None], pa.int32()), "int", write_statistics=False) is None


def test_row_groups_are_merged_and_one_of_nulls_adds_nothing() -> None:
    """[SND-14] [PRU-MM-9]"""
    values = pa.array([None, None, 5, 7, None, -1, 6, 6], pa.int32())
    meta = footer(pa.table({"x": values}), row_group_size=2)
    assert meta.num_row_groups == 4
    assert footer_bounds(meta, [("x", "int")]) == [(-1, 7)]


def test_one_row_group_without_bounds_spoils_the_file() -> None:
    """[SND-14] [PRU-MM-9]"""
    meta = footer(pa.table({"x": ["a", "b", "y" * 10_000, "c"]}), row_group_size=2)
    assert [meta.row_group(i).column(0).statistics.has_min_max for i in range(2)] == [True, False]
    assert footer_bounds(meta, [("x", "string")]) is None


def test_decimals_are_compared_as_numbers_across_row_groups() -> None:
    """[SND-14] [PRU-MM-9]"""
    values = pa.array([Decimal("1.00"), Decimal("-1.00"), Decimal("200.00"), Decimal("-300.00")], pa.decimal128(20, 2))
    meta = footer(pa.table({"x": values}), row_group_size=1)
    assert footer_bounds(meta, [("x", "decimal(20,2)")]) == [(Decimal("-300.00"), Decimal("200.00"))]


@pytest.mark.parametrize(
    ("writer", "trusted"),
    [
        ("parquet-cpp-arrow version 26.0.1", True),
        ("parquet-cpp-arrow version 12.0.0", True),
        ("parquet-cpp-arrow version 11.0.0", False),
        ("parquet-cpp-arrow version 9.0.0", False),
        ("parquet-mr version 1.10.1 (build a89df8f)", True),
        ("parquet-mr version 1.15.2 (build 859eac1)", True),
        ("parquet-mr version 2.0.0", True),
        ("parquet-mr version 1.9.0", False),
        ("parquet-mr version 1.8.1", False),
        ("parquet-mr version 1.1.0", False),
        ("parquet-cpp-arrow version 0.17.1", False),
        ("parquet-cpp version 1.5.1-SNAPSHOT", False),
        ("impala version 3.4.0", False),
        ("parquet-rs version 53.0.0", False),
        ("x parquet-mr version 1.15.2", False),
        ("", False),
        (None, False),
    ],
)
def test_string_bounds_of_writers_that_keep_them_whole(writer: Any, trusted: bool) -> None:
    """[SND-15] [PRU-MM-9] String bounds are used only from writers that do not truncate them."""
    meta = footer(pa.table({"x": ["a", "b"], "i": pa.array([1, 2], pa.int32())}))

    class Written:
        """The same footer by another writer."""

        created_by = writer
        schema, num_rows, num_row_groups, row_group = meta.schema, meta.num_rows, meta.num_row_groups, meta.row_group

    assert footer_bounds(Written(), [("x", "string")]) == ([(b"a", b"b")] if trusted else None)
    assert footer_bounds(Written(), [("i", "int")]) == [(1, 2)]


def test_an_absent_null_count_is_not_zero() -> None:
    """[SND-13] [PRU-MM-9]"""
    meta = footer(pa.table({"x": pa.array([1, 2], pa.int32())}))

    class Statistics:
        has_null_count, null_count, has_min_max, min_raw, max_raw = False, 0, True, 1, 2

    class Chunk:
        num_values, statistics = 2, Statistics()

    class Group:
        num_rows = 2

        def column(self, position: int) -> Chunk:
            assert position == 0
            return Chunk()

    class Footer:
        created_by, schema, num_rows, num_row_groups = meta.created_by, meta.schema, 2, 1

        def row_group(self, group: int) -> Group:
            assert group == 0
            return Group()

    assert footer_bounds(Footer(), [("x", "int")]) is None
    Statistics.has_null_count = True
    assert footer_bounds(Footer(), [("x", "int")]) == [(1, 2)]
    Statistics.has_min_max = False
    assert footer_bounds(Footer(), [("x", "int")]) is None


@pytest.mark.parametrize(
    ("first", "trusted"), [(date(1582, 10, 14), False), (date(1582, 10, 15), True), (date(1, 1, 1), False)]
)
def test_dates_before_the_gregorian_calendar(first: Any, trusted: bool) -> None:
    """[SND-17] [PRU-MM-9] The data is read if a date is before the Gregorian calendar."""
    found = bounds(pa.array([first, date(2020, 1, 1)]), "date")
    assert found == (((first - DAY).days, 18262) if trusted else None)


@pytest.mark.parametrize(
    ("first", "trusted"),
    [
        (datetime(1899, 12, 31, 23, 59, 59, tzinfo=timezone.utc), False),
        (datetime(1850, 1, 1, tzinfo=timezone.utc), False),
        (datetime(1900, 1, 3, tzinfo=timezone.utc), True),
    ],
)
def test_timestamps_before_zone_offsets_were_whole(first: Any, trusted: bool) -> None:
    """[SND-17] [PRU-MM-9] The data is read if a timestamp with a time zone is before 1900."""
    micros = int((first - EPOCH).total_seconds()) * 1_000_000
    assert bounds(pa.array([micros, 0], US_UTC), "timestamp") == ((micros, 0) if trusted else None)
    assert bounds(pa.array([micros // 1000, 0], MS_UTC), "timestamp") == ((micros, 0) if trusted else None)
    assert bounds(pa.array([micros, 0], US), "timestamp_ntz") == (micros, 0)  # without a zone, nothing is rebased


def test_milliseconds_near_the_end_of_time_do_not_overflow() -> None:
    """[SND-16] [PRU-MM-9]"""
    assert bounds(pa.array([0, 2**63 - 1], MS), "timestamp_ntz") in (None, (0, (2**63 - 1) * 1000))


NESTED = pa.table(
    {
        "st": pa.array([{"x": 1, "in": {"y": "a"}}, None, {"x": None, "in": None}]),
        "list": pa.array([[1, 2], [], None], pa.list_(pa.int64())),
        "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "A": pa.array([1, 2, 3], pa.int64()),
    }
)


def test_leaves_of_structs() -> None:
    """[PRU-MM-9] Leaves of structs have bounds."""
    assert footer_bounds(footer(NESTED), [("st.x", "bigint"), ("st.in.y", "string"), ("A", "bigint")]) == [
        (1, 1), (b"a", b"a"), (1, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "spark_type"),
    [
        ("st", "struct<x:bigint>"),
        ("list", "bigint"),
        ("list.list.element", "bigint"),
        ("map.key_value.value", "bigint"),
        ("map.key_value.key", "string"),
        ("st.z", "bigint"),
        ("a", "bigint"),
        ("nowhere", "bigint"),
    ],
)
def test_repeated_leaves_and_columns_that_the_file_lacks(column: str, spark_type: str) -> None:
    """[SND-14] [PRU-MM-9] Footers prove no bounds of repeated or missing columns."""
    assert footer_bounds(footer(NESTED), [(column, spark_type)]) is None


def test_one_column_without_bounds_sends_the_whole_file_to_the_data() -> None:
    """[PRU-MM-9]"""
    assert footer_bounds(footer(NESTED), [("A", "bigint"), ("st.z", "bigint")]) is None
    assert footer_bounds(footer(NESTED), []) == []


def test_a_name_in_backticks_is_left_to_the_data() -> None:
    """[SND-29] [PRU-MM-9]"""
    meta = footer(pa.table({"a.b": pa.array([1], pa.int32()), "c d": pa.array([2], pa.int32())}))
    assert footer_bounds(meta, [("`a.b`", "int")]) is None
    assert footer_bounds(meta, [("c d", "int")]) == [(2, 2)]


@pytest.mark.parametrize("struct_first", [True, False])
def test_a_dotted_name_beside_a_field_of_the_same_path(struct_first: bool) -> None:
    """[SND-29] [PRU-MM-9] Two leaves with the same path a.b cannot be told apart by the path."""
    field = {"a": pa.array([{"b": 1}, {"b": 2}], pa.struct([("b", pa.int32())]))}
    dotted = {"a.b": pa.array([100, 200], pa.int32())}
    meta = footer(pa.table(field | dotted if struct_first else dotted | field))
    assert footer_bounds(meta, [("a.b", "int")]) in (None, [(1, 2)])


@pytest.mark.parametrize(
    ("spark_type", "served"),
    [("int", True), ("decimal(38,18)", True), ("timestamp_ntz", True), ("string", True), ("boolean", True),
     ("float", False), ("double", False), ("binary", False), ("interval day to second", False), ("array<int>", False)],
)  # fmt: skip
def test_types_that_footers_can_ever_vouch_for(spark_type: str, served: bool) -> None:
    """[PRU-MM-9] Only some types can have bounds from footers."""
    assert served_by_footers(spark_type) is served


class PlainKms(pe.KmsClient):  # type: ignore[misc]  # Arrow has no types
    """A KMS client that does not encrypt the keys."""

    def __init__(self, configuration: object) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, label: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, label: str) -> bytes:
        return base64.b64decode(wrapped)


def partly_encrypted(path: Path) -> None:
    """Write a file with a plaintext footer, an encrypted column a and a plaintext column b."""
    settings = pe.EncryptionConfiguration(footer_key="footer", column_keys={"column": ["a"]}, plaintext_footer=True)
    factory = pe.CryptoFactory(PlainKms)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), settings)
    table = pa.table({"a": pa.array([1, 2], pa.int64()), "b": pa.array([3, 4], pa.int64())})
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("columns", [1, 3000])
def test_the_tail_of_a_file_contains_the_footer(tmp_path: Path, columns: int) -> None:
    table = pa.table({f"column {i}": [i] for i in range(columns)})
    pq.write_table(table, tmp_path / "plain.parquet")
    tail = tail_of(str(tmp_path / "plain.parquet"))
    assert (tmp_path / "plain.parquet").read_bytes().endswith(tail)
    footer = pq.read_metadata(pa.BufferReader(b"PAR1" + tail))
    assert (footer.num_columns, is_plain(footer, tail)) == (columns, True)
    (tmp_path / "short").write_bytes(b"no")
    (tmp_path / "other").write_bytes(b"no such format at all")
    assert (tail_of(str(tmp_path / "short")), tail_of(str(tmp_path / "other"))) == (b"", b"")


def test_encrypted_columns_under_a_plaintext_footer(tmp_path: Path) -> None:
    """A footer with encrypted columns is not used, because Arrow would abort the process."""
    partly_encrypted(tmp_path / "locked.parquet")
    tail = tail_of(str(tmp_path / "locked.parquet"))
    assert not is_plain(pq.read_metadata(pa.BufferReader(b"PAR1" + tail)), tail)


def test_a_build_over_encrypted_columns(spark: SparkSession, tmp_path: Path) -> None:
    """The bounds of the plaintext columns come from their data."""
    partly_encrypted(tmp_path / "locked.parquet")
    made = SkippingIndex.for_path(spark, str(tmp_path), schema="a long, b long")
    assert made.create([MinMax("b")]).added == 1
    assert len(made.files("b > 4")) == 0
    with pytest.raises(CollectError, match=r"locked\.parquet"):
        SkippingIndex.for_path(spark, str(tmp_path), schema="a long, b long").at(f"{tmp_path}/_other").create(
            [MinMax("a")]
        )


#: A file of Arrow 10.0.1: a dictionary column in two batches, of which the footer has the bounds a and b of the first.
_OF_ARROW_10 = (
    "eNqdUcFOAjEQnS5kQzYciGFwm/TAhQ0HQDjgwcTDlIgQIcJ6MB4XQlYPCO4im/gRHv0SP8OPslNWiVcn7Ztp5817STujsIdFbGJz"
    "giWEEwABABHDgmHN8IaAVay20MMKuuiqc2iKhS8i03PMLpw6hU8IPoTCsuxXwJW+SBFqXu1dmBVMgtJxRLaMH6ADBirI41iUrT74"
    "brp8XK0j7pQbjlFowESZds2TSqp/qzPLC0omVQGk8ssUhrf3Fwcz/0uccfSJY06HuCHKSMc0JIppENs7rYmuuNjPDD+zVM0wzKtr"
    "ojHRA+mMpnweHvW0Duc/dBr9scrL0ZSrMfuR9bHZXg5sjll3/DtzRzlvnqvauAS/vo2Sl9fVrr3cbttRkmyy+n6VpE+b53qv2+l2"
    "elLxm6bmW2fm678BtkJjsg=="
)


def test_a_footer_of_an_arrow_that_forgets_batches(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-15] [PRU-MM-9] The bounds of strings come from the data."""
    file = tmp_path / "data" / "f.parquet"
    file.parent.mkdir()
    file.write_bytes(zlib.decompress(base64.b64decode(_OF_ARROW_10)))
    statistics = pq.read_metadata(file).row_group(0).column(0).statistics
    assert (statistics.min, statistics.max) == ("a", "b")
    SkippingIndex.for_path(spark, str(file.parent)).create([MinMax("s")])
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")  # Spark, too, would skip the row group
    rows = spark.read.parquet(str(file.parent)).filter("s > 'l'").collect()
    assert sorted(row.s for row in rows) == ["m", "z"]


class Altered:
    """A footer with the given properties in place of its own."""

    def __init__(self, meta: pq.FileMetaData, **changes: Any) -> None:
        self._meta, self._changes = meta, changes

    def __getattr__(self, name: str) -> Any:
        return self._changes[name] if name in self._changes else getattr(self._meta, name)


def nulls(meta: Any, column: str = "x") -> Any:
    """Return the number of rows and of NULLs of a column, each None if unknown."""
    found = footer_statistics(meta, [(column, "int")])
    return found and (found.rows, *found.nulls)


def test_rows_and_nulls() -> None:
    """[MDS-O-6] All row groups count, also those without a value."""
    values = pa.array([1, None, None, None, 5, 6, None], pa.int32())
    assert nulls(footer(pa.table({"x": values}), row_group_size=2)) == (7, 4)
    assert nulls(footer(pa.table({"x": values[1:4]}))) == (3, 3)
    assert nulls(footer(pa.table({"x": values[:0]}))) == (0, 0)


@pytest.mark.parametrize(
    ("writer", "of_column", "of_field"),
    [
        ("parquet-mr version 1.8.1 (build 1)", True, True),
        ("parquet-mr version 1.15.2 (build 1)", True, True),
        ("parquet-cpp-arrow version 26.0.1", True, False),
        ("parquet-cpp-arrow version 12.0.0", True, False),
        ("parquet-cpp-arrow version 11.0.0", False, False),
        ("parquet-cpp-arrow version 9.0.0", False, False),
        ("parquet-rs version 53.0.0", False, False),
        ("", False, False),
        (None, False, False),
    ],
)
def test_nulls_of_writers_that_count_each(writer: Any, of_column: bool, of_field: bool) -> None:
    """[MDS-O-6] [SND-15] Bounds need less of a writer than numbers of NULLs."""
    structs = pa.array([{"f": 1}, None, {"f": None}], pa.struct([("f", pa.int32())]))
    meta = Altered(footer(pa.table({"x": pa.array([1, None, 3], pa.int32()), "st": structs})), created_by=writer)
    assert nulls(meta) == (3, 1 if of_column else None)
    assert nulls(meta, "st.f") == (3, 2 if of_field else None)


def test_footers_that_contradict_themselves_have_no_counts() -> None:
    """[MDS-O-6]"""
    meta = footer(pa.table({"x": pa.array([1, None, 3], pa.int32())}))
    group = meta.row_group(0)
    assert nulls(Altered(meta, num_rows=4)) == (None, 1)
    chunk = group.column(0)

    def of(rows: int, count: int, values: int = 3) -> Any:
        statistics = Altered(chunk.statistics, null_count=count)
        changed = Altered(chunk, statistics=statistics, num_values=values)
        return nulls(
            Altered(meta, num_rows=rows, row_group=lambda _: Altered(group, num_rows=rows, column=lambda _: changed))
        )

    assert of(3, 1) == (3, 1)
    assert of(3, 3) == (3, None), "there is a value"
    assert of(3, -1) == (3, None)
    assert of(4, 1) == (4, None), "a row without a value and without NULL"
