"""Avro containers without Spark: their records, and the reasons why bytes are no segment."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from importlib.util import find_spec
from typing import Any

import fastavro
import pytest

from xskip.errors import DatasetError
from xskip.quixlake.avro_container import Container, SegmentDamageError

SCHEMA: dict[str, Any] = {
    "type": "record", "name": "message", "fields": [
        {"name": "key", "type": {"type": "string", "avro.java.string": "String"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": ["null", {"type": "map", "values": {"type": "map", "values": "int"}}],
         "default": None},
    ],
}  # fmt: skip


def container(number: int, schema: Any = SCHEMA, record: Callable[[int], Any] | None = None, **options: Any) -> bytes:
    file = io.BytesIO()
    fastavro.writer(file, fastavro.parse_schema(schema), map(record or message, range(number)), **options)
    return file.getvalue()


def message(number: int) -> dict[str, Any]:
    at = datetime(1970, 1, 1, 0, 0, number % 60, tzinfo=timezone.utc)
    return {"key": f"k{number}", "at": at, "tags": {"a": {"b": number}} if number % 2 else None}


@pytest.mark.parametrize("interval", [1, 1 << 30], ids=["many blocks", "one block"])
@pytest.mark.parametrize("number", [0, 1, 63, 64, 200, 20_000])
def test_blocks_of_each_length(number: int, interval: int) -> None:
    """[QLK-RE-2]"""
    data = container(number, sync_interval=interval)
    for bytes_of in (data, gzip.compress(data)):
        found = list(Container.of(bytes_of).records())
        assert [each["key"] for each in found] == [f"k{i}" for i in range(number)]
        assert [each["at"] for each in found] == [i % 60 * 1000 for i in range(number)]
        pairs = [[{"key": "a", "value": [{"key": "b", "value": i}]}] if i % 2 else None for i in range(number)]
        assert [each["tags"] for each in found] == pairs


def test_bytes_that_are_no_segment() -> None:
    """[QLK-RE-6]"""
    data, ints = container(100), container(3, "int", int)
    assert len(list(Container.of(data).records())) == 100
    cases: list[tuple[bytes, str | tuple[str, ...]]] = [
        (b"", "it is not an Avro file: it is empty"),
        (b"PAR1", "it is not an Avro file: it begins with the bytes 50 41 52 31"),
        (gzip.compress(data)[:-9], "its content in gzip is damaged: "),
        (data[:30], "its header is damaged: "),
        (data.replace(b'"record"', b'"recorD"'), "its header is damaged: "),
        (ints, "its records have the type int, which is no message"),
        (data[:-20], "its content is damaged: "),
        (data[:-1] + b"?", "its content is damaged: "),
        (data + b"\x80", ("its content is damaged: ", "it ends before its content does")),  # depends on the release
    ]
    for damaged, reason in cases:
        with pytest.raises(SegmentDamageError) as error:
            list(Container.of(damaged).records())
        assert str(error.value).startswith(reason), (reason, str(error.value))


@pytest.mark.skipif(find_spec("lz4") is not None, reason="fastavro has the codec")
def test_a_codec_that_is_not_installed_is_no_damage() -> None:
    """[QLK-RE-6]"""
    data = container(3).replace(b"\x14avro.codec\x08null", b"\x14avro.codec\x06lz4")
    with pytest.raises(DatasetError) as error:
        list(Container.of(data).records())
    assert (error.value.what, error.value.hint) == (
        "fastavro lacks a codec", "install it with: pip install xskip[quix]"
    )  # fmt: skip


def test_fastavro_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = container(1)
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(DatasetError, match=r"^a lake is read without Spark by fastavro; install it with: pip"):
        Container.of(data)
