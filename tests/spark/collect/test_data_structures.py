"""The accumulators of the build's kernel, each against a plain reference: random values, in every form of rows."""

from __future__ import annotations

import itertools
import math
import re
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.collect.java_structures import FORMS, Form, Kernel
from xskip.types import bloom_bits

Values = list[Any]
NUMBERS = {
    "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "decimal(9,2)": pa.decimal128(9, 2),
}  # fmt: skip
TYPES = NUMBERS | {
    "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(), "decimal(38,10)": pa.decimal128(38, 10),
}  # fmt: skip
FLOATS = ("float", "double")
HASHED = ("tinyint", "smallint", "int", "bigint", "string", "binary")
ODD_FLOATS = (0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -1.5)
TEXTS = ("", "a", "ab", "eight by", "eight by\0", "nine byte", "nine bytf", "\ufffd", "\U0001f600", "é", "two words")


@pytest.fixture
def random() -> Random:
    """A generator whose seed pytest prints with a failure."""
    seed = int(time.time())
    sys.stdout.write(f"seed {seed}\n")
    return Random(seed)


@pytest.fixture(scope="module")
def kernel(session: SparkSession) -> Kernel:
    return Kernel(session)


def value_of(random: Random, kind: str) -> Any:
    """Returns a random value of a Spark type: values that repeat, values of full range, and odd values."""
    match kind:
        case "boolean":
            return random.random() < 0.5
        case "tinyint" | "smallint" | "int" | "bigint":
            bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}[kind]
            limit = 1 << (random.randrange(bits) if random.random() < 0.5 else bits - 1)
            return random.randrange(-limit, limit)
        case "float" | "double":
            number = random.choice((random.choice(ODD_FLOATS), random.gauss(0, 1e3), float(random.randrange(9))))
            return float(np.float32(number)) if kind == "float" else number
        case "string":
            return random.choice(TEXTS) if random.random() < 0.7 else "é" * random.randrange(40)
        case "binary":
            return random.randbytes(random.choice((0, 1, 2, 7, 8, 9, 30)))
        case _:
            digits = 9 if kind == "decimal(9,2)" else 38
            unscaled = random.randrange(-(10 ** random.randrange(1, digits)), 10 ** random.randrange(1, digits))
            return Decimal(f"{unscaled}E-{2 if digits == 9 else 10}")


def files_of(random: Random, kind: str, count: int) -> list[Values]:
    """Returns the values of files with 1 to 30 rows; a few of them, or all of a file, are NULL."""
    files = []
    for _ in range(count):
        nulls = random.choice((0, 0.2, 1))
        rows = random.randrange(1, 30)
        files.append([None if random.random() < nulls else value_of(random, kind) for _ in range(rows)])
    return files


def arrow(files: Sequence[Values], kind: pa.DataType) -> list[pa.Array]:
    return [pa.array(values, kind) for values in files]


def order(value: Any) -> Any:
    """Returns a key in Spark's order: NaN above all numbers, both zeros equal, strings by their bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def same(kind: str, value: Any) -> Any:
    """Returns a key that is equal for values that Spark regards as equal."""
    if kind == "float" and value is not None:
        value = float(np.float32(value))
    return None if value is None else order(value)


def is_covered(ends: Sequence[Any], value: Any) -> bool:
    keys = [order(end) for end in ends]
    return any(low <= order(value) <= high for low, high in zip(keys[::2], keys[1::2], strict=True))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", TYPES)
def test_bounds(kernel: Kernel, random: Random, kind: str, form: Form) -> None:
    """[PRU-MM-1] ``LongBounds``, ``DoubleBounds`` and ``ObjectBounds``."""
    files = files_of(random, kind, 10)
    found = kernel.run([f"bounds:1:{kind}:0:0.0"], arrow(files, TYPES[kind]), form)
    for values, bounds in zip(files, found, strict=True):
        keys = [order(value) for value in values if value is not None]
        expected = [min(keys), max(keys)] if keys else [None, None]
        assert [same(kind, bound) for bound in bounds] == expected, values


def test_the_order_of_floating_point_numbers(kernel: Kernel) -> None:
    """NaN is above infinity and equal to itself; a zero of either sign is no bound beyond the other."""
    files: list[Values] = [
        [math.nan, 1.0], [math.nan, math.nan], [math.inf, math.nan, -math.inf], [0.0, -0.0], [-0.0, 0.0], [None, -0.0],
    ]  # fmt: skip
    found = kernel.run(["bounds:1:double:0:0.0"], arrow(files, pa.float64()), "rows")
    texts = [[str(bound) for bound in bounds] for bounds in found]
    assert texts[:3] == [["1.0", "nan"], ["nan", "nan"], ["-inf", "nan"]]
    assert texts[3:] == [["0.0", "0.0"], ["-0.0", "-0.0"], ["-0.0", "-0.0"]]


@pytest.mark.parametrize("form", FORMS)
def test_rows_and_nulls(kernel: Kernel, random: Random, form: Form) -> None:
    """[JVM-AC-3] ``RowCounts``: an accumulator of the elements of arrays counts NULL arrays."""
    files = files_of(random, "int", 10)
    rows = [[len(values)] + [values.count(None)] * 3 for values in files]
    specs = ["bounds:1:int:0:0.0", "values:1:int:3:0.0", "counts:1:bigint:0:0.0"]
    assert kernel.counts(specs, arrow(files, pa.int32()), form) == rows
    lists = [[None if value is None else [value, None] for value in values] for values in files]
    assert kernel.counts(["bounds:1:array<int>:0:0.0"], arrow(lists, pa.list_(pa.int32())), form) == [
        counts[:2] for counts in rows
    ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", TYPES)
def test_distinct_values_and_counts(kernel: Kernel, random: Random, kind: str, form: Form) -> None:
    """[PRU-VL-1] A list has every value once; beyond the limit it is null. The counts do not depend on values."""
    files = files_of(random, kind, 10)
    limits = (3, 40)
    specs = [*(f"values:1:{kind}:{limit}:0.0" for limit in limits), "counts:1:bigint:0:0.0"]
    for values, (*lists, nulls, rows) in zip(files, kernel.run(specs, arrow(files, TYPES[kind]), form), strict=True):
        keys = {order(value) for value in values if value is not None}
        for limit, listed in zip(limits, lists, strict=True):
            expected = sorted(keys) if len(keys) <= limit else None
            assert (None if listed is None else sorted(same(kind, value) for value in listed)) == expected, values
        assert (nulls, rows) == (values.count(None), len(values))


@pytest.mark.parametrize("form", FORMS)
def test_distinct_strings_that_start_alike(kernel: Kernel, form: Form) -> None:
    """Strings that differ only in their length, or after their first eight bytes, are distinct."""
    lengths = [["a" * length for length in range(120)] * 2]
    ends = [["nine byte" + end, "eight by" + end, "\0" * length] for length in range(12) for end in ("", "\0", "1")]
    files: list[Values] = [*lengths, list(itertools.chain(*ends))]
    found = kernel.run(["values:1:string:200:0.0"], arrow(files, pa.string()), form)
    assert [sorted(listed) for (listed,) in found] == [sorted({text.encode() for text in texts}) for texts in files]


def number_of(kind: str, value: Any) -> Any:
    """Returns a number as the kernel orders it: integers and unscaled decimals are exact."""
    return int(value.scaleb(2)) if isinstance(value, Decimal) else same(kind, value)


def gap_after(kind: str, low: Any, high: Any) -> float:
    if kind not in FLOATS:
        return float(high) - float(low)
    return math.inf if high[0] else cast(float, high[1] - low[1])


def ranges_of(kind: str, values: Values, limit: int) -> list[Any]:
    """Returns the ends of the ranges with the widest gaps; of equal gaps, the first ones remain."""
    numbers = sorted({number_of(kind, value) for value in values if value is not None})
    pairs = list(itertools.pairwise(numbers))
    gaps = [i for i, (low, high) in enumerate(pairs) if kind in FLOATS or high - low > 1]
    widest = sorted(sorted(gaps, key=lambda i: (-gap_after(kind, *pairs[i]), i))[: limit - 1])
    inner = [end for i in widest for end in pairs[i]]
    return [numbers[0], *inner, numbers[-1]] if numbers else []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_ranges_of_few_values_have_the_widest_gaps(kernel: Kernel, random: Random, kind: str, form: Form) -> None:
    """[PRU-GL-1] ``ValueRanges``."""
    for limit in (2, 3, random.randrange(4, 20)):
        files = files_of(random, kind, 8)
        found = kernel.run([f"ranges:1:{kind}:{limit}:0.0"], arrow(files, NUMBERS[kind]), form)
        for values, (ends,) in zip(files, found, strict=True):
            assert [number_of(kind, end) for end in ends] == ranges_of(kind, values, limit), (limit, values)


@pytest.mark.parametrize("kind", ["int", "bigint", "double"])
@pytest.mark.parametrize("limit", [2, 17, 1500])
def test_ranges_of_many_values(kernel: Kernel, random: Random, kind: str, limit: int) -> None:
    """[PRU-GL-1] More values than the accumulator holds at once: it closes gaps early, and covers every value."""
    spread = random.choice((1e4, 1e9))
    numbers = [random.gauss(0, spread) + random.choice((0, 1e9)) for _ in range(20_000)]
    numbers = [max(-(2.0**31), min(2.0**31 - 1, number)) for number in numbers]
    files = [numbers if kind == "double" else [int(number) for number in numbers], [random.randrange(9)]]
    found = kernel.run([f"ranges:1:{kind}:{limit}:0.0"], arrow(files, NUMBERS[kind]), "batches")
    ends = np.array(found[0][0])
    lows, highs = ends[::2], ends[1::2]
    assert 0 < len(lows) <= limit
    assert np.all(lows <= highs)
    assert np.all(highs[:-1] < lows[1:])
    values = np.array(files[0])
    assert np.all(np.isin(ends, values))
    assert np.all(values <= highs[np.searchsorted(lows, values, "right") - 1])
    assert values.min() >= lows[0]
    assert found[1][0] == files[1] * 2, "the next file has ranges of its own"


def coordinate(random: Random) -> float | None:
    """Returns a random coordinate; points gather in places, and few are odd or NULL."""
    if random.random() < 0.1:
        return random.choice((None, *ODD_FLOATS))
    return random.choice((-100.0, 0.0, 250.0)) + random.randrange(20)


def is_in_box(box: Sequence[float], point: Sequence[float | None]) -> bool:
    """Returns whether a box contains the coordinates of a point that are not NULL, and is unbounded beside NULL."""
    sides = zip(box[::2], box[1::2], point, strict=True)
    return all(
        (low == -math.inf and math.isnan(high)) if value is None else order(low) <= order(value) <= order(high)
        for low, high, value in sides
    )


@pytest.mark.parametrize("form", FORMS)
def test_boxes(kernel: Kernel, random: Random, form: Form) -> None:
    """[PRU-GB-1] ``BoundingBoxes``: every point is in a box, and few points have boxes of their own."""
    for limit in (1, 2, 8, 40):
        files: list[Values] = [
            [[coordinate(random), coordinate(random)] for _ in range(random.choice((1, 3, 10, 60)))] for _ in range(10)
        ]
        found = kernel.run([f"boxes:1:array<double>:{limit}:0.0"], arrow(files, pa.list_(pa.float64())), form)
        for points, (sides,) in zip(files, found, strict=True):
            boxes = [sides[i : i + 4] for i in range(0, len(sides), 4)]
            present = [point for point in points if point != [None, None]]
            assert len(boxes) <= limit, points
            assert all(any(is_in_box(box, point) for box in boxes) for point in present), points
            assert all(any(is_in_box(box, point) for point in present) for box in boxes), points
            known = {(order(x), order(y)) for x, y in present if x is not None and y is not None}
            if len(known) <= limit and len(present) == len(points) == sum(None not in point for point in points):
                assert sorted((order(b[0]), order(b[2])) for b in boxes) == sorted(known), points
                assert all(order(box[i]) == order(box[i + 1]) for box in boxes for i in (0, 2)), points


def test_distant_clusters_have_boxes_of_their_own(kernel: Kernel, random: Random) -> None:
    """[PRU-GB-1] The boxes that are joined first are close to each other."""
    centres = [(0.0, 0.0), (1e6, 0.0), (0.0, 1e6), (1e6, 1e6)]
    points = [[x + random.random(), y + random.random()] for x, y in centres for _ in range(50)]
    random.shuffle(points)
    ((sides,),) = kernel.run(["boxes:1:array<double>:4:0.0"], arrow([points], pa.list_(pa.float64())), "rows")
    boxes = [sides[i : i + 4] for i in range(0, len(sides), 4)]
    assert sorted((box[0] // 1, box[2] // 1) for box in boxes) == sorted(centres)
    assert all(box[1] - box[0] <= 1 and box[3] - box[2] <= 1 for box in boxes)


def hash_of(value: Any) -> bloom_bits.HashPair:
    if isinstance(value, int):
        return bloom_bits.hash_long(value)
    return bloom_bits.hash_bytes(value.encode() if isinstance(value, str) else value)


def hashes_of(values: Sequence[Any]) -> list[int]:
    pairs = {
        bloom_bits.hash_long(v)
        if isinstance(v, int)
        else bloom_bits.hash_bytes(v.encode() if isinstance(v, str) else v)
        for v in values
        if v is not None
    }
    return sorted(struct.unpack(">q", struct.pack(">ii", *pair))[0] for pair in pairs)


def words_of(values: Sequence[str | None]) -> list[bytes]:
    return [
        word for text in values if text is not None for word in re.findall(rb"[0-9A-Za-z_\x80-\xff]+", text.encode())
    ]


@dataclass(frozen=True, slots=True)
class Filters:
    """The accumulator of Bloom filters, and the hashes that its filters have."""

    kind: str
    type: str
    hashes: Callable[[Values], list[int]]
    items: int = 0
    fpp: float = 0.01

    def check(self, kernel: Kernel, files: Sequence[pa.Array], form: Form) -> None:
        """Checks that whole files have the filters that Python builds, and parts of files their distinct hashes."""
        parts = range(0, len(files), 2)
        spec = f"{self.kind}:1:{self.type}:{self.items}:{math.log(self.fpp)!r}"
        found = kernel.run([spec], files, form, split=parts)
        for i, (values, (listed, built)) in enumerate(zip(files, found, strict=True)):
            expected = self.hashes(values.to_pylist())
            if i in parts:
                assert built is None
                assert sorted(np.frombuffer(listed, "<i8").tolist()) == expected, values
            else:
                assert listed is None
                size = bloom_bits.size_for(self.items or len(expected), self.fpp)
                assert built == bloom_bits.build(np.array(expected, np.int64), *size), values


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", HASHED)
def test_bloom_filters(kernel: Kernel, random: Random, kind: str, form: Form) -> None:
    """[PRU-BF-5] ``BloomHashes``."""
    for items, fpp in ((0, 0.01), (500, 0.2)):
        files = arrow(files_of(random, kind, 10), TYPES[kind])
        Filters("hashes", kind, hashes_of, items, fpp).check(kernel, files, form)


@pytest.mark.parametrize("form", FORMS)
def test_bloom_filters_of_words(kernel: Kernel, random: Random, form: Form) -> None:
    """``WordHashes``: a word has ASCII letters, digits, underscores, and all that is not ASCII."""
    alphabet = "aB9_ -/\0.é\U0001f600"
    texts = [["".join(random.choices(alphabet, k=random.randrange(12))) for _ in range(8)] for _ in range(20)]
    files = arrow([[random.choice((None, text)) for text in file] for file in texts], pa.string())
    Filters("words", "string", lambda values: hashes_of(words_of(values)), fpp=0.05).check(kernel, files, form)


def test_elements_of_arrays(kernel: Kernel, random: Random) -> None:
    """``ArrayElements``: NULL arrays, NULL elements and empty arrays add nothing."""
    files: list[Values] = [
        [None if random.random() < 0.2 else files_of(random, "int", 1)[0] * random.randrange(2) for _ in range(5)]
        for _ in range(20)
    ]
    found = kernel.run(["bounds:1:array<int>:0:0.0"], arrow(files, pa.list_(pa.int32())), "rows")
    for arrays, bounds in zip(files, found, strict=True):
        elements = [element for array in arrays if array for element in array if element is not None]
        assert bounds == ([min(elements), max(elements)] if elements else [None, None]), arrays
