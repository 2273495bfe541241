"""The packed form of values between Python and Spark: every type, NULL, and values that Spark fails to compute."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.metadatastore.samples import VALUES, array_of
from tests.spark.java_classes import JavaClasses
from xskip.protocol.packed_values import Packed, pack, parted, unpack
from xskip.types.datatypes import arrow_type


class Evaluator:
    """An ``ExpressionEvaluator`` that numbers expressions over the columns of a relation."""

    def __init__(self, spark: SparkSession, columns: str) -> None:
        self._spark = spark
        self._columns = columns
        self._classes = JavaClasses(spark)
        self._java = self._classes.new("catalyst.ExpressionEvaluator", spark._jsparkSession.sessionState().conf())

    def number(self, text: str) -> int:
        """Number an expression, which the analyzer has resolved and the optimizer has not simplified."""
        df = self._spark.createDataFrame([], self._columns).selectExpr(f"{text} AS x")
        alias = df._jdf.queryExecution().analyzed().expressions().head()
        encoded = str(self._classes.call("catalyst.ExpressionEncoder", "encode", alias.child(), self._java))
        return int(encoded.rpartition('{"@":')[2].partition(",")[0])

    def evaluate(self, asked: Sequence[tuple[int, Packed]]) -> Packed:
        """Evaluate numbered expressions for packed values of their columns, in a single call."""
        parts = np.array([(number, len(v.states), len(v.data)) for number, v in asked], "<i8").tobytes()
        states, numbers, data = (b"".join(pieces) for pieces in zip(*(v for _, v in asked), strict=True))
        longs = [self._classes.call("common.Bytes", "longs", bytearray(each)) for each in (parts, numbers)]
        found = self._java.evaluate(longs[0], bytearray(states), longs[1], bytearray(data))
        return Packed(*map(base64.b64decode, (found.states(), found.numbers(), found.bytes())))


def random_values(random: np.random.Generator, kind: str, count: int) -> pa.Array:
    """Random values of a Spark type, of which a third are the samples of the type."""
    target = arrow_type(kind)
    samples = VALUES[kind]
    values = [samples[i] for i in random.integers(0, len(samples), count)]
    for i in np.flatnonzero(random.random(count) < 0.67):
        values[i] = _random_value(random, target)
    return array_of(kind, values)


def _random_value(random: np.random.Generator, target: pa.DataType) -> Any:
    if pa.types.is_boolean(target):
        return bool(random.random() < 0.5)
    if pa.types.is_floating(target):
        bits = random.integers(0, 2**target.bit_width, dtype=np.uint64).astype(f"<u{target.bit_width // 8}")
        return float(bits.view(f"<f{target.bit_width // 8}"))
    if pa.types.is_decimal(target):
        digits = int(random.integers(1, target.precision + 1))
        return Decimal(int.from_bytes(random.bytes(16), "big") % 10**digits).scaleb(-target.scale)
    if pa.types.is_string(target):
        return "".join(random.choice(["a", "ü", "日", "\U0001f600", "\x00", "\n"], random.integers(0, 9)))
    if pa.types.is_binary(target):
        return random.bytes(int(random.integers(0, 9)))
    bits = target.bit_width
    return int(random.integers(-(2 ** (bits - 1)), 2 ** (bits - 1)))


@pytest.mark.parametrize("kind", VALUES)
def test_round_trip(spark: SparkSession, kind: str) -> None:
    """[JVM-EV-2] Values pass through an expression that returns its argument, and come back with equal bits."""
    evaluator = Evaluator(spark, f"c {kind}")
    number = evaluator.number("coalesce(c)")
    for count in (0, 1, 500):
        values = random_values(np.random.default_rng(count), kind, count)
        found, failed = unpack(kind, evaluator.evaluate([(number, pack(values))]))
        assert not failed.any()
        assert found.is_null().equals(values.is_null())
        if pa.types.is_floating(values.type):
            for a, b in zip(found.to_pylist(), values.to_pylist(), strict=True):
                assert repr(a) == repr(b)  # -0.0 is not 0.0, and nan is nan
        else:
            assert found.equals(values)


def test_several_expressions(spark: SparkSession) -> None:
    """[JVM-EV-1] A call evaluates several expressions, whose results follow one another."""
    random = np.random.default_rng(2)
    kinds = ["string", "int", "binary", "decimal(38,10)", "double", "string"]
    names = "abcdef"
    evaluator = Evaluator(spark, ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True)))
    numbers = [evaluator.number(f"coalesce({name})") for name in names]
    assert numbers == list(range(6))
    columns = [random_values(random, kind, int(random.integers(0, 50))) for kind in kinds]
    order = [4, 1, 0, 5, 3, 2]
    found = evaluator.evaluate([(numbers[i], pack(columns[i])) for i in order])
    results = parted(found, [kinds[i] for i in order], [len(columns[i]) for i in order])
    for i, packed in zip(order, results, strict=True):
        expected, value = columns[i], unpack(kinds[i], packed).values
        assert repr(value.to_pylist()) == repr(expected.to_pylist())


def test_failures(spark: SparkSession) -> None:
    """[JVM-EV-2] A value that Spark fails to compute is marked, and the values after it are right."""
    evaluator = Evaluator(spark, "s string, i int")
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        numbers = [evaluator.number("cast(s AS int)"), evaluator.number("concat(s, 'ü')"), evaluator.number("7 % i")]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))
    texts, divisors = pa.array(["1", "x", None, "", "-3"]), pa.array([0, 4, None, -2], pa.int32())
    asked = [(numbers[0], pack(texts)), (numbers[1], pack(texts)), (numbers[2], pack(divisors))]
    parsed, joined, rest = parted(evaluator.evaluate(asked), ["int", "string", "int"], [5, 5, 4])
    assert unpack("int", parsed).values.to_pylist() == [1, None, None, None, -3]
    assert unpack("int", parsed).failed.tolist() == [False, True, False, True, False]
    assert unpack("string", joined).values.to_pylist() == ["1ü", "xü", None, "ü", "-3ü"]
    assert unpack("int", rest).values.to_pylist() == [None, 3, None, 1]
    assert unpack("int", rest).failed.tolist() == [True, False, False, False]
