"""Tests of decoded payloads: their values, the segments that filters on them skip, and indexes on them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import needs_spark_4
from tests.quixlake.lakes import hourly, offsets, skipped, write_payloads
from tests.quixlake.protobuf_session import MESSAGE, descriptor_set
from xskip.errors import DatasetError, IndexDefinitionError, PredicateError
from xskip.quixlake import QuixLake

#: The payloads of the tests: two in each of four segments, with an absent value in two of them.
PAYLOADS: list[dict[str, Any]] = [
    {"temp": None if i % 5 == 4 else i / 2 - 1, "site": f"s{i}", "tags": [i] * (i % 3), "place": {"floor": i - 3}}
    for i in range(8)
]
JSON_SCHEMA = "temp DOUBLE, site STRING, tags ARRAY<INT>, place STRUCT<floor: BIGINT>"
AVRO_SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "temp", "type": ["null", "double"]},
        {"name": "site", "type": "string"},
        {"name": "tags", "type": {"type": "array", "items": "int"}},
        {
            "name": "place",
            "type": {"type": "record", "name": "Place", "fields": [{"name": "floor", "type": "long"}]},
        },
    ],
}


def as_json(payload: Mapping[str, Any]) -> bytes:
    return json.dumps({name: value for name, value in payload.items() if value is not None}).encode()


def as_avro(payload: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, AVRO_SCHEMA, dict(payload))
    return out.getvalue()


#: For each encoding the function that encodes a payload, the arguments of a read, and the decoder in SQL.
ENCODINGS: dict[str, tuple[Callable[[Mapping[str, Any]], bytes], dict[str, Any], str]] = {
    "json": (as_json, {"schema": JSON_SCHEMA}, f"from_json(string(value), '{JSON_SCHEMA}')"),
    "avro": (as_avro, {"schema": json.dumps(AVRO_SCHEMA)}, f"from_avro(value, '{json.dumps(AVRO_SCHEMA)}')"),
}


def values_of(frame: DataFrame) -> list[dict[str, Any]]:
    rows = frame.orderBy("offset").select("value").collect()
    return [row.value.asDict(recursive=True) for row in rows]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_decoded_payloads(spark: SparkSession, tmp_path: Path, encoding: str) -> None:
    """[QLK-RD-3] Values are equal, and filters on messages skip while filters on decoded fields select."""
    encode, arguments, _ = ENCODINGS[encoding]
    write_payloads(tmp_path, map(encode, PAYLOADS))
    frame = QuixLake(spark, str(tmp_path)).read("t", value=encoding, **arguments)
    assert values_of(frame) == PAYLOADS
    assert offsets(frame.filter("value.temp > 1")) == [5, 6, 7]
    assert offsets(frame.filter("value.temp IS NULL")) == [4]
    assert offsets(frame.filter("value.site IN ('s0', 's6') OR value.place.floor = 1")) == [0, 4, 6]
    assert offsets(frame.filter("array_contains(value.tags, 5)")) == [5]
    some = frame.filter("value.temp < 1 AND offset >= 3")
    assert offsets(some) == [3]
    assert skipped(spark, some) == (3, 4)


BROKEN = [b"", b"{", b'{"temp": 9, "site": "s', b'{"temp": "x", "site": "s9"}', b"[1]", b"null", b"\xff{}", b"{}"]
FILTERS = (
    "value.temp > 1", "value.temp IS NULL", "value.temp IS NOT NULL AND value.site > 's3'",
    "value.site IN ('s0', 's9')", "value.place.floor BETWEEN -2 AND 0", "value.temp = 9 OR value.site = 's7'",
    "NOT value.temp < 2", "value IS NULL",
)  # fmt: skip


@needs_spark_4("has no function from_avro in SQL")
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_fields_of_decoded_payloads_can_be_indexed(spark: SparkSession, tmp_path: Path, encoding: str) -> None:
    """[QLK-IX-5] [PRU-EX-3] Queries return the same rows as without an index, and skip."""
    encode, arguments, decoder = ENCODINGS[encoding]
    write_payloads(tmp_path, [*map(encode, PAYLOADS), *(BROKEN if encoding == "json" else ())])
    lake = QuixLake(spark, str(tmp_path))
    expected = {text: offsets(lake.read("t", value=encoding, **arguments).filter(text)) for text in FILTERS}
    index = lake.index("t", value=encoding, **arguments)
    wanted = [xskip.MinMax("value.temp"), xskip.ValueList("value.site"), xskip.MinMax("value.place.floor")]
    index.create([*wanted, xskip.NullCount("value.temp"), xskip.BloomFilter("key")], progress=False)
    frame = lake.read("t", value=encoding, **arguments)
    assert {text: offsets(frame.filter(text)) for text in FILTERS} == expected
    read = {text: skipped(spark, frame.filter(text))[0] for text in FILTERS[:5]}
    if encoding == "avro":
        assert read == dict(zip(FILTERS, (2, 1, 2, 1, 2), strict=False))
    assert all(kept < 8 for kept in read.values())
    same = lake.read("t").filter(f"{decoder}.temp > 1")
    assert offsets(same) == expected["value.temp > 1"]
    assert skipped(spark, same)[0] == read["value.temp > 1"]
    other = lake.read("t", value="json", schema="temp INT").filter("value.temp > 1")
    assert skipped(spark, other)[0] == skipped(spark, other)[1]


def test_decodings_that_cannot_be_indexed(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-IX-5] Options of a decoder have no form, and SQL cannot express a Column."""
    write_payloads(tmp_path, map(as_json, PAYLOADS))
    lake = QuixLake(spark, str(tmp_path))
    with_options = "from_json(string(value), 'temp DOUBLE', map('mode', 'FAILFAST')).temp"
    with pytest.raises(IndexDefinitionError, match="xskip cannot index this expression"):
        lake.index("t").create([xskip.MinMax(with_options, expression=True)], progress=False)
    with pytest.raises(PredicateError, match="no index supports this decoding of payloads"):
        lake.index("t", value="protobuf", schema="p.M").create([xskip.MinMax("value.temp")], progress=False)
    with pytest.raises(PredicateError, match="the encoding json needs a schema"):
        lake.index("t", value="json").create([xskip.MinMax("value.temp")], progress=False)
    assert not lake.index("t").exists()


def test_fields_whose_names_need_quotes_have_no_form(spark: SparkSession, tmp_path: Path) -> None:
    """[JVM-RQ-3] The name of a type with such a field could stand for another type."""
    write_payloads(tmp_path, map(as_json, PAYLOADS))
    index = QuixLake(spark, str(tmp_path)).index("t", value="json", schema="`temp:double,site` STRING")
    with pytest.raises(IndexDefinitionError, match="xskip cannot index this expression"):
        index.create([xskip.MinMax("value.`temp:double,site`")], progress=False)


def test_expressions_decode_payloads(spark: SparkSession, tmp_path: Path) -> None:
    write_payloads(tmp_path, map(as_json, PAYLOADS))
    lake = QuixLake(spark, str(tmp_path))
    assert offsets(lake.read("t", value="get_json_object(string(value), '$.site')").filter("value = 's3'")) == [3]
    assert offsets(lake.read("t", value=F.length("value")).filter("value > 0")) == [*range(8)]


def test_an_index_on_a_field_of_the_payload_skips(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-IX-1] [QLK-IX-5]"""
    write_payloads(tmp_path, map(as_json, PAYLOADS))
    lake = QuixLake(spark, str(tmp_path))
    site, temp = "get_json_object(string(value), '$.site')", "double(get_json_object(string(value), '$.temp'))"
    wanted = [xskip.ValueList(site, expression=True), xskip.MinMax(temp, expression=True)]
    lake.index("t").create(wanted, progress=False)
    assert skipped(spark, lake.read("t", value=site).filter("value = 's3'")) == (1, 4)
    frame = lake.read("t").filter(f"{site} IN ('s0', 's7')")
    assert offsets(frame) == [0, 7]
    assert skipped(spark, frame) == (2, 4)
    warm = lake.read("t", value=temp).filter("value > 1")
    assert offsets(warm) == [5, 6, 7]
    assert skipped(spark, warm) == (2, 4)
    # the condition on the indexed expression skips for a read that decodes everything
    both = lake.read("t").filter(f"{temp} > 1").selectExpr("offset", f"from_json(string(value), '{JSON_SCHEMA}') value")
    assert values_of(both) == PAYLOADS[5:]
    assert skipped(spark, both) == (2, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"value": "json"}, "the encoding json needs a schema"),
        ({"value": "avro"}, "the encoding avro needs a schema"),
        ({"value": "protobuf"}, "the encoding protobuf needs a schema"),
        ({"value": "protobuf", "schema": "p.M"}, "Protobuf needs a descriptor"),
        ({"value": "protobuf", "schema": "p.M", "descriptor": "/no/such.desc"}, "cannot read the descriptor set"),
        ({"value": "nothing(value)"}, "cannot decode the payload"),
        ({"value": "json", "schema": "temp NUMBER"}, "cannot decode the payload"),
        ({"value": "avro", "schema": "temp DOUBLE"}, "cannot decode the payload"),
    ],
)
def test_payloads_that_cannot_be_decoded(
    spark: SparkSession, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    hourly(tmp_path, ("a",), hours=1)
    with pytest.raises(PredicateError, match=message):
        QuixLake(spark, str(tmp_path)).read("t", **arguments)


def test_a_session_without_the_library_of_protobuf(spark: SparkSession, tmp_path: Path) -> None:
    hourly(tmp_path / "lake", ("a",), hours=1)
    descriptor = tmp_path / "reading.desc"
    descriptor.write_bytes(descriptor_set())
    with pytest.raises(DatasetError, match=r"Spark lacks the library that decodes protobuf.*spark-protobuf"):
        QuixLake(spark, str(tmp_path / "lake")).read("t", value="protobuf", schema=MESSAGE, descriptor=str(descriptor))
