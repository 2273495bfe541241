"""Tests of payloads in Confluent's frame, which fastavro has written."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.quixlake.lakes import offsets, skipped, write_payloads
from xskip.cli.main import main
from xskip.errors import PredicateError
from xskip.quixlake import QuixLake
from xskip.quixlake.payload import Payload


def schema(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Reading", "fields": list(fields)}


FIRST = schema({"name": "site", "type": "string"}, {"name": "temp", "type": "int"})
SECOND = schema(
    {"name": "temp", "type": "double"},
    {"name": "unit", "type": "string", "default": "C"},
    {"name": "site", "type": ["null", "string"], "default": None},
)
#: An id of which each of the four bytes matters, and which is negative as a signed number.
LAST_ID = 0xFFFE0102
SCHEMAS = {7: json.dumps(FIRST), LAST_ID: json.dumps(SECOND)}


def framed(number: int, record: dict[str, Any]) -> bytes:
    out = io.BytesIO(b"\0" + number.to_bytes(4, "big"))
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, FIRST if number == 7 else SECOND, record)
    return out.getvalue()


PAYLOADS = [
    framed(7, {"site": "a", "temp": 1}),
    framed(LAST_ID, {"temp": 2.5, "unit": "F", "site": None}),
    framed(7, {"site": "b", "temp": 3}),
    framed(LAST_ID, {"temp": 4.5, "unit": "F", "site": "c"}),
]
EXPECTED = [
    {"temp": 1.0, "unit": "C", "site": "a"},
    {"temp": 2.5, "unit": "F", "site": None},
    {"temp": 3.0, "unit": "C", "site": "b"},
    {"temp": 4.5, "unit": "F", "site": "c"},
]


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> QuixLake:
    write_payloads(tmp_path, PAYLOADS)
    return QuixLake(spark, tmp_path)


def values(lake: QuixLake, **arguments: Any) -> list[Any]:
    rows = lake.read("t", value="avro", **arguments).orderBy("offset").select("value").collect()
    return [None if row.value is None else row.value.asDict() for row in rows]


def test_schemas_are_resolved_to_that_of_the_greatest_id(lake: QuixLake) -> None:
    """[QLK-PL-2]"""
    assert values(lake, schemas=SCHEMAS) == EXPECTED
    assert values(lake, schemas=SCHEMAS, keys="k", offsets=(2, 4)) == EXPECTED[2:]
    frame = lake.read("t", value="avro", schemas=SCHEMAS)
    assert offsets(frame.filter("value.temp > 2 AND value.unit = 'F'")) == [1, 3]
    assert skipped(lake.spark, frame.filter("value.temp > 2 AND offset = 3")) == (1, 2)


def test_the_schema_of_the_reader(lake: QuixLake) -> None:
    """[QLK-PL-2]"""
    reader = schema({"name": "site", "type": ["null", "string"]}, {"name": "more", "type": "long", "default": 5})
    found = values(lake, schemas=SCHEMAS, schema=json.dumps(reader))
    assert found == [{"site": row["site"], "more": 5} for row in EXPECTED]
    with pytest.raises(Exception, match=r"missing required field|no default"):
        values(lake, schemas=SCHEMAS, schema=json.dumps(schema({"name": "new", "type": "long"})))


def test_a_function_of_the_id(lake: QuixLake) -> None:
    """[QLK-PL-2] It is called once for each id in the selected messages."""
    asked: list[int] = []

    def schema_of(number: int) -> str | None:
        asked.append(number)
        return SCHEMAS.get(number)

    assert values(lake, schemas=schema_of) == EXPECTED
    assert sorted(asked) == [7, LAST_ID]
    asked.clear()
    assert values(lake, schemas=schema_of, offsets=(0, 1)) == [{"site": "a", "temp": 1}]
    assert asked == [7]
    assert values(lake, schemas=schema_of, offsets=(50, 60), schema=SCHEMAS[7]) == []
    with pytest.raises(PredicateError, match="no message has a frame with a known schema"):
        values(lake, schemas=schema_of, offsets=(50, 60))


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"\0\0\0\0\x09\0", "0000000009"),
        (b"\x01" + PAYLOADS[0][1:], "0100000007"),
        (PAYLOADS[0][:4], "00000000"),
        (b"", "begins with the bytes"),
        (PAYLOADS[0][:6], "Malformed|MALFORMED"),
        (PAYLOADS[0][:5] + b"\xff\xff\xff\xff", "Malformed|MALFORMED"),
    ],
    ids=["unknown", "no frame", "short", "empty", "cut", "no Avro"],
)
def test_other_payloads_fail_the_query_that_decodes_them(
    spark: SparkSession, tmp_path: Path, payload: bytes, text: str
) -> None:
    """[QLK-PL-1] [QLK-PL-3] As ``from_avro`` itself does."""
    write_payloads(tmp_path, [*PAYLOADS, payload])
    lake = QuixLake(spark, tmp_path)
    for schemas in (SCHEMAS, SCHEMAS.get):
        frame = lake.read("t", value="avro", schemas=schemas)
        with pytest.raises(Exception, match=text):
            frame.collect()
        assert frame.select("offset", "time").count() == 5
        assert offsets(frame.filter("offset < 4 AND value.temp > 2")) == [1, 2, 3]
    with pytest.raises(Exception, match=r"Malformed|MALFORMED"):
        lake.read("t", value="avro", schema=SCHEMAS[LAST_ID], offsets=(4, 5)).collect()


def test_a_null_value_stays_null(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-PL-1]"""
    columns = "1L AS timestamp", "X'61' AS key", "0 AS partition", "id AS offset"
    value = f"CASE WHEN id > 0 THEN X'{PAYLOADS[0].hex()}' END AS value"
    lake = QuixLake(spark, tmp_path)
    lake.write(spark.range(2).selectExpr(*columns, value), "t")
    for schemas in (SCHEMAS, SCHEMAS.get):
        assert values(lake, schemas=schemas, schema=SCHEMAS[LAST_ID]) == [None, EXPECTED[0]]


def test_a_json_payload_that_cannot_be_parsed_has_null_fields(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-PL-1]"""
    write_payloads(tmp_path, [b'{"temp": 5}', b"{"])
    rows = QuixLake(spark, tmp_path).read("t", value="json", schema="temp INT").orderBy("offset").collect()
    assert [row.value.temp for row in rows] == [5, None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"schemas": {}}, "schemas has no schema"),
        ({"schemas": "x"}, "schemas has an invalid value"),
        ({"schemas": {"7": SCHEMAS[7]}}, "the id of a schema is invalid"),
        ({"schemas": {-1: SCHEMAS[7]}}, "the id of a schema is invalid"),
        ({"schemas": {1 << 32: SCHEMAS[7]}}, "the id of a schema is invalid"),
        ({"schemas": {7: FIRST}}, "a schema is not a text"),
        ({"schemas": lambda _: FIRST}, "a schema is not a text"),
        ({"schemas": {7: "{"}}, "cannot decode the payload"),
        ({"schemas": SCHEMAS, "value": "json", "schema": "x INT"}, "schemas are those of Avro"),
        ({"schemas": SCHEMAS, "value": None}, "schemas are those of Avro"),
    ],
)
def test_wrong_arguments(lake: QuixLake, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PredicateError, match=message):
        lake.read("t", **{"value": "avro", **arguments})


@pytest.mark.parametrize("error", [TimeoutError("no answer"), TypeError("odd"), KeyError(7)])
def test_an_error_of_the_function_names_the_id(lake: QuixLake, error: Exception) -> None:
    """[QLK-PL-2]"""

    def schema_of(number: int) -> str:
        raise error

    with pytest.raises(PredicateError, match=rf"the function of the schemas failed.* id \d+.*{type(error).__name__}"):
        lake.read("t", value="avro", schemas=schema_of)


def test_an_empty_selection_has_the_schema_of_the_reader(lake: QuixLake) -> None:
    """[QLK-PL-2]"""
    empty: dict[str, Any] = {"value": "avro", "schemas": SCHEMAS.get, "offsets": (1000, 1001)}
    assert lake.read("t", schema=SCHEMAS[LAST_ID], **empty).collect() == []
    with pytest.raises(PredicateError, match=r"no message has a frame with a known schema .*expected: schema="):
        lake.read("t", **empty)


def test_the_command_line(
    lake: QuixLake, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    file = tmp_path / "schemas.json"
    file.write_text(json.dumps({"7": FIRST, str(LAST_ID): json.dumps(SECOND)}))
    call = ("quix", "read", lake.base, "t", "--value", "avro", "--output", "json", "--schemas")
    assert main((*call, str(file))) == 0
    assert [row["value"] for row in json.loads(capsys.readouterr().out)] == EXPECTED
    for text in ("[1]", "{", '{"a": 1}'):
        file.write_text(text)
        assert main((*call, str(file))) == 2
        assert "the file has no schemas by their ids" in capsys.readouterr().out


def test_frames_cannot_be_indexed(lake: QuixLake) -> None:
    """[QLK-IX-5]"""
    with pytest.raises(PredicateError, match="no index supports this decoding of payloads"):
        Payload("avro", SCHEMAS[7], schemas=SCHEMAS).on_bytes(xskip.MinMax("value.temp"))
