"""Facts that a Parquet footer does not prove are read from the data.

Classes: SND-5 and SND-6 (NULL counts that are unknown), SND-12 (no statistics), SND-13 (no NULL count), SND-14 (some
row groups without statistics), SND-15 (bounds cut short), SND-16 (milliseconds), SND-19 (decimals).
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.helpers import needs_spark_4
from tests.soundness.checking import ALL, NONE, Family
from xskip import BloomFilter, MinMax, ValueList
from xskip.spark.collect.parquet_footers import footer_statistics


def _write(root: Path, name: str, groups: list[list[Any]], kind: pa.DataType, **options: Any) -> Path:
    """Write a Parquet file with a row group for each list."""
    path = root / "plain" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("x", kind)])
    with pq.ParquetWriter(path, schema, **options) as writer:
        for values in groups:
            array = values if isinstance(values, pa.Array) else pa.array(values, kind)
            writer.write_table(pa.table([array], schema=schema), row_group_size=max(1, len(values)))
    return path


def _splice(path: Path, old: bytes, new: bytes) -> None:
    """Replace each occurrence of bytes in the footer, and correct the footer's length."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    body, footer = data[: -8 - length], data[-8 - length : -8]
    assert old in footer, "nothing to replace"
    changed = footer.replace(old, new)
    path.write_bytes(body + changed + len(changed).to_bytes(4, "little") + b"PAR1")


def _bounds(path: Path, kind: str) -> Any:
    """Return the bounds that the footer proves, or None if the data must be read."""
    found = footer_statistics(pq.read_metadata(path), [("x", kind)])
    return found and found.bounds[0]


def _made(spark: SparkSession, root: Path) -> Family:
    made = Family(spark, root)
    made.add("minmax", [MinMax("x")])
    return made


def test_no_statistics_at_all(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-12] [SND-14] The data is read if the footer has no statistics."""
    bare = _write(tmp_path, "bare", [[1, 9], [5, None]], pa.int32(), write_statistics=False)
    full = _write(tmp_path, "full", [[2, 3], [4, None]], pa.int32())
    assert _bounds(bare, "int") is None
    assert _bounds(full, "int") == (2, 4)
    _made(spark, tmp_path).check(
        "minmax",
        {"x = 9": "bare", "x = 3": ALL, "x > 4": "bare", "x is null": ALL, "x is not null": ALL, "x = 10": NONE},
    )


def test_row_groups_without_bounds(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-12] [SND-14] A row group of long strings without bounds makes the bounds of its file unknown."""
    long = "z" * 10_000
    first = _write(tmp_path, "first", [[long], ["b", "c"]], pa.string())
    last = _write(tmp_path, "last", [["b", "c"], ["a", None], [long, None]], pa.string())
    only = _write(tmp_path, "only", [[long, None]], pa.string())
    short = _write(tmp_path, "short", [["b"], [None, None], ["d"]], pa.string())
    nulls = _write(tmp_path, "nulls", [[None], [None, None]], pa.string())
    empty = _write(tmp_path, "empty", [], pa.string())
    for path in (first, last, only):
        assert any(
            not pq.read_metadata(path).row_group(g).column(0).statistics.has_min_max
            for g in range(pq.read_metadata(path).num_row_groups)
        )
        assert _bounds(path, "string") is None
    assert _bounds(short, "string") == (b"b", b"d")
    assert _bounds(nulls, "string") == _bounds(empty, "string") == (None, None)
    _made(spark, tmp_path).check(
        "minmax",
        {
            "x > 'd'": "first last only",
            "x like 'zzz%'": "first last only",
            "x = 'a'": "last",
            "x = 'c'": "first last short",
            "x <> 'b'": "first last only short",
            "x is not null": "first last only short",
            "x is null": ALL,
            "x not like 'z%'": "first last short",
        },
    )


def test_no_null_count(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-5] [SND-6] [SND-13] A missing NULL count is not 0, and a column without bounds is not all NULL."""
    bounded = _write(tmp_path, "bounded", [[5, 5, None]], pa.int32())
    # Thrift's compact protocol: fields 1 max, 2 min, 3 null_count (an i64: 0x16, its value), 5 max_value (0x28)
    _splice(bounded, b"\x16\x02\x28", b"\x38")
    nulls = _write(tmp_path, "nulls", [[None, None]], pa.int32())
    known = _write(tmp_path, "known", [[7]], pa.int32())
    statistics = pq.read_metadata(bounded).row_group(0).column(0).statistics
    assert statistics.has_min_max
    assert not statistics.has_null_count
    assert _bounds(bounded, "int") is None
    assert _bounds(nulls, "int") == (None, None)
    assert _bounds(known, "int") == (7, 7)
    _made(spark, tmp_path).check(
        "minmax",
        {
            "x is null": ALL,
            "x <=> null": ALL,
            "not (x <=> 5)": ALL,
            "x is not null": "bounded known",
            "x <> 5": "known",
            "x = 5": "bounded",
            "x not in (5, 7)": NONE,
        },
    )


def test_no_null_count_and_no_bounds(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-13] An empty struct of statistics proves nothing."""
    vague = _write(tmp_path, "vague", [["z" * 10_000, "a"]], pa.string())
    other = _write(tmp_path, "other", [["b"]], pa.string())
    statistics = pq.read_metadata(vague).row_group(0).column(0).statistics
    assert not statistics.has_min_max
    _splice(vague, b"\x36\x00", b"")
    after = pq.read_metadata(vague).row_group(0).column(0).statistics
    assert after is None or not after.has_null_count
    assert _bounds(vague, "string") is None
    assert _bounds(other, "string") == (b"b", b"b")
    _made(spark, tmp_path).check(
        "minmax", {"x = 'a'": "vague", "x > 'y'": "vague", "x is not null": ALL, "x = 'b'": ALL}
    )


LAST = "\U0010ffff"


def test_bounds_cut_short_by_parquet_mr(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-15] Spark's writer rounds a truncated upper bound up, or does not truncate it."""
    values = {
        "tail": ["prefix" + LAST * 3],
        "cut": ["prefix\ud7ffxyz", "prefiy"],
        "bytes": ["préfixe" * 3],
        "plain": ["prefiw"],
    }
    for name, texts in values.items():
        df = spark.createDataFrame([(t,) for t in texts], "x string").coalesce(1)
        df.write.option("parquet.statistics.truncate.length", "7").parquet(str(tmp_path / "staging" / name))
        (part,) = (tmp_path / "staging" / name).glob("part-*.parquet")
        (tmp_path / "plain").mkdir(exist_ok=True)
        part.rename(tmp_path / "plain" / f"{name}.parquet")
    made = _made(spark, tmp_path)
    made.check(
        "minmax",
        {
            f"x = 'prefix{LAST}{LAST}{LAST}'": "tail cut",
            f"x >= 'prefix{LAST}'": "tail cut bytes",
            "x = 'prefix\ud7ffxyz'": "tail cut",
            "x like 'pré%'": "bytes",
            "x = 'préfixepréfixepréfixe'": "bytes",
            "x not like 'prefi%'": "bytes",
            "x <> 'prefiw'": "tail cut bytes",
            "x > 'prefiy'": "bytes",
        },
    )


def test_bounds_of_unknown_writers(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-15] String bounds of unknown writers are not used, because they may truncate upper bounds."""
    cut = _write(tmp_path, "cut", [["prefixaaaa", "prefixzzzz"]], pa.string())
    number = _write(tmp_path, "whole", [["prefix"]], pa.string())
    created = pq.read_metadata(cut).created_by.encode()
    assert _bounds(cut, "string") == (b"prefixaaaa", b"prefixzzzz")
    for path in (cut, number):
        _splice(path, created, b"some-writer version 3.2.1".ljust(len(created)))
    _splice(cut, b"\x0aprefixzzzz", b"\x06prefix")
    _splice(cut, b"\x0aprefixaaaa", b"\x06prefix")
    assert pq.read_metadata(cut).row_group(0).column(0).statistics.max_raw == b"prefix"
    assert _bounds(cut, "string") is None
    made = _made(spark, tmp_path)
    made.check(
        "minmax", {"x = 'prefixzzzz'": "cut", "x > 'prefix'": "cut", "x <> 'prefix'": "cut", "x = 'prefix'": "whole"}
    )


@pytest.mark.parametrize("index", [MinMax("x"), ValueList("x"), BloomFilter("x", fpp=1e-6)], ids=lambda i: i.name)
def test_texts_that_are_no_utf8(spark: SparkSession, tmp_path: Path, index: Any) -> None:
    """[SND-15] An index on a string column with bytes that are not UTF-8 can be built and is correct."""

    def texts(*values: bytes) -> pa.Array:
        offsets = [0]
        for value in values:
            offsets.append(offsets[-1] + len(value))
        buffers = [None, pa.array(offsets, pa.int32()).buffers()[1], pa.py_buffer(b"".join(values))]
        return pa.StringArray.from_buffers(len(values), buffers[1], buffers[2])

    _write(tmp_path, "broken", [texts(b"a\xff", b"b\xc3")], pa.string())
    _write(tmp_path, "fine", [["c"]], pa.string())
    made = Family(spark, tmp_path)
    made.add("copy", [index])
    between = "broken" if isinstance(index, MinMax) else NONE  # bytes a ff .. b c3
    cases = {"x = 'c'": "fine", "x = 'bz'": between, "x = cast(x'61ff' as string)": "broken"}
    if not isinstance(index, BloomFilter):
        cases |= {"x < 'b'": "broken", "x > 'bz'": "broken fine"}
    made.check("copy", cases)


DECIMALS: dict[str, list[Decimal | None]] = {
    "neg": [Decimal("-99.99"), Decimal("-0.01")],
    "around": [Decimal("-1.00"), Decimal("1.00")],
    "pos": [Decimal("0.00"), Decimal("99.99")],
    "nulls": [None],
}


@pytest.mark.parametrize("precision", [4, 16, 30])
@pytest.mark.parametrize("as_integer", [False, True])
def test_negative_decimals(spark: SparkSession, tmp_path: Path, precision: int, as_integer: bool) -> None:
    """[SND-19] Fixed bytes are big-endian two's complement, so that -1 is above -2 and below 0."""
    kind = pa.decimal128(precision, 2)
    for name, values in DECIMALS.items():
        path = _write(tmp_path, name, [values], kind, store_decimal_as_integer=as_integer)
        known = [v for v in values if v is not None]
        assert _bounds(path, f"decimal({precision},2)") == ((min(known), max(known)) if known else (None, None))
    _made(spark, tmp_path).check(
        "minmax",
        {
            "x < 0": "neg around",
            "x > 0": "around pos",
            "x = -0.01BD": "neg around",
            "x < -1.00BD": "neg",
            "x >= 0.00BD": "around pos",
            "x = 99.99BD": "pos",
            "x is not null": "neg around pos",
        },
    )


@needs_spark_4("does not read narrow numbers as wider ones")
def test_decimals_of_another_precision_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-19] Bounds of decimals with another precision come from the data."""
    path = _write(tmp_path, "narrow", [[Decimal("1.25")]], pa.decimal128(5, 2))
    assert _bounds(path, "decimal(10,2)") is None
    assert _bounds(path, "decimal(5,2)") == (Decimal("1.25"), Decimal("1.25"))
    assert _bounds(path, "int") is None
    made = Family(spark, tmp_path, schema="x decimal(10,4)")
    made.add("minmax", [MinMax("x")])
    made.check("minmax", {"x = 1.25": "narrow", "x > 1.25": NONE})


def test_milliseconds_and_other_units(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-16] Bounds in milliseconds become exact microseconds; other units are read from the data."""
    millis = _write(tmp_path, "millis", [[1_577_836_800_123]], pa.timestamp("ms", tz="UTC"))
    micros = _write(tmp_path, "micros", [[1_577_836_800_123_456]], pa.timestamp("us", tz="UTC"))
    old = _write(tmp_path, "old", [[-5_000_000_000_000_000]], pa.timestamp("us", tz="UTC"))
    assert _bounds(millis, "timestamp") == (1_577_836_800_123_000,) * 2
    assert _bounds(micros, "timestamp") == (1_577_836_800_123_456,) * 2
    assert _bounds(old, "timestamp") is None, "before 1900 calendars and zones may move it"
    assert _bounds(micros, "timestamp_ntz") is None
    assert _bounds(micros, "bigint") is None
    _made(spark, tmp_path).check(
        "minmax",
        {
            "x = timestamp'2020-01-01 00:00:00.123'": "millis",
            "x = timestamp'2020-01-01 00:00:00.123456'": "micros",
            "x > timestamp'2020-01-01 00:00:00.123'": "micros",
            "x < timestamp'2020-01-01 00:00:00'": "old",
        },
    )


def test_unsigned_and_small_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-14] Bounds of other physical or logical types are read from the data."""
    big = _write(tmp_path, "big", [[4_294_967_295]], pa.uint32())
    small = _write(tmp_path, "small", [[1]], pa.uint32())
    assert _bounds(big, "bigint") is None
    assert _bounds(small, "int") is None
    _made(spark, tmp_path).check("minmax", {"x > 2147483647": "big", "x = 1": "small", "x < 0": NONE})


def test_a_file_that_no_footer_describes(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-14] Booleans, repeated columns and mixed files of a dataset are read correctly."""
    _write(tmp_path, "yes", [[True], [True, None]], pa.bool_())
    _write(tmp_path, "no", [[False]], pa.bool_(), write_statistics=False)
    _write(tmp_path, "both", [[False], [True]], pa.bool_())
    made = _made(spark, tmp_path)
    made.check(
        "minmax",
        {"x": "yes both", "not x": "no both", "x = true": "yes both", "x <> true": "no both", "x is null": ALL},
    )
    made.check(
        "minmax", {"x in (true)": "yes both", "x <=> false": "no both", "x is not true": ALL, "x > false": "yes both"}
    )
