"""Tests of the paths in a Quix Lake."""

from __future__ import annotations

import datetime
import re
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xskip.quixlake import names
from xskip.quixlake.names import (
    SegmentName,
    decode,
    encode,
    first_parts,
    is_first_of,
    key_folder,
    parse_paths,
    split_names,
    stream_key_of,
)

NAME = "ts_1755776884034_1755776886089_part_0_off_331135_331334.avro"
PLACES = {"start": 1755776884034, "end": 1755776886089, "partition": 0, "first": 331135, "last": 331334}
NOTHING = dict.fromkeys(PLACES)
DAY = datetime.date(2025, 8, 21)


def parsed(path: str) -> dict[str, Any]:
    table = parse_paths(*split_names(pa.array([f"Raw/Topic=t/{path}"])))
    row: dict[str, Any] = table.drop_columns(["folder", "topic"]).to_pylist()[0]
    return row


def test_the_layout_of_the_document() -> None:
    """[QLK-PA-1] [QLK-PA-5]"""
    found = parsed(f"Key=B/Start=2025-08-21/{NAME}.snappy")
    assert found == {"stream_key": "B", "date": DAY, "name": f"{NAME}.snappy"} | PLACES
    assert key_folder("Metadata", "csv-data", "B") == "Metadata/Topic=csv-data/Key=B"


@pytest.mark.parametrize(
    ("folder", "key"),
    [
        ("a%2Fb", "a/b"), ("100%", "100%"), ("%zz", "%zz"), ("10", "10"), ("2024-01-01", "2024-01-01"), ("", ""),
        ("a b#c", "a b#c"), ("naïve", "naïve"), ("%25", "%"), ("a=b", "a=b"),
        ("__HIVE_DEFAULT_PARTITION__", None),
        # UTF-8, as most tools write it
        ("caf%C3%A9", "café"), ("caf%c3%a9", "café"), ("%CF%80%CE%BB", "πλ"), ("π%CE%BB", "πλ"),
        ("%F0%9F%98%80%20x", "😀 x"), ("e%CC%81", "e\u0301"), ("a+b%2B", "a+b+"), ("%EF%BB%BFx", "\ufeffx"),
        ("%25C3%25A9", "%C3%A9"), ("cafÃ©", "cafÃ©"), ("%F4%8F%BF%BF", "\U0010ffff"),
        # bytes that are no UTF-8: alone, cut off, overlong, surrogates, beyond the last character
        ("%FC", "ü"), ("na%EFve", "naïve"), ("%C3", "Ã"), ("%C3x%A9", "Ãx©"), ("%C3¼", "Ã¼"), ("%A9%C3", "©Ã"),
        ("%C0%AF", "À¯"), ("%E2%82", "â\x82"), ("%ED%A0%80", "í\xa0\x80"), ("%F4%90%80%80", "ô\x90\x80\x80"),
        ("%CF%80%FF%CE%BB%C3", "πÿλÃ"), ("%FF%FE", "ÿþ"), ("%C3%", "Ã%"), ("%C3%A", "Ã%A"),
    ],
)  # fmt: skip
def test_folders_are_decoded(folder: str, key: str | None) -> None:
    """[QLK-PA-2] [QLK-PA-4]"""
    assert decode(folder) == key
    assert parsed(f"Key={folder}/Start=2025-08-21/{NAME}")["stream_key"] == key


@pytest.mark.parametrize(
    ("path", "key", "day"),
    [
        (f"Key=a/b/Start=2025-08-21/{NAME}", "a/b", DAY),
        (f"Key=a/Start=x/Start=2025-08-21/{NAME}", "a/Start=x", DAY),
        (f"Key=a/Start=2025-08-21/b/{NAME}", "a", DAY),
        (f"Key=a/Start=x/b/Start=2025-08-21/c/Started=1/{NAME}", "a/Start=x/b", DAY),
        (f"Key=a/Start=2025-08-21/Start=x/b/{NAME}", "a/Start=2025-08-21", None),
        (f"Key=a/Start=2025-08-21//{NAME}", "a", DAY),
        (f"Key=a//Start=2025-08-21/{NAME}", "a/", DAY),
        (f"Key=/Start=2025-08-21/{NAME}", "", DAY),
        (f"Key=a/{NAME}", "a", None),
        (f"Key=a/Start=yesterday/{NAME}", "a", None),
        (f"Key=a/Start=2025-8-21/{NAME}", "a", None),
        (f"Key=a/Start=2025-W34-4/{NAME}", "a", None),
        (f"Key=a/Start=2025-02-29/{NAME}", "a", None),
        (f"Key=a/Start=2024-02-29/{NAME}", "a", datetime.date(2024, 2, 29)),
        (f"Key=a/_b/.c/Start=2025-08-21/{NAME}", "a/_b/.c", DAY),
        (f"Key=a\nb/Start=2025-08-21/{NAME}", "a\nb", DAY),
    ],
)
def test_a_stream_key_can_span_folders(path: str, key: str, day: datetime.date | None) -> None:
    """[QLK-PA-3] [QLK-PA-6]"""
    assert parsed(path) == {"stream_key": key, "date": day, "name": NAME} | PLACES


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("ts_-5_7_part_-1_off_0_0.avro", {"start": -5, "end": 7, "partition": -1, "first": 0, "last": 0}),
        ("ts_8_7_part_3_off_1_2.avro.gzip", NOTHING | {"partition": 3, "first": 1, "last": 2}),
        ("ts_7_8_part_3_off_2_1.avro.gzip", NOTHING | {"partition": 3, "start": 7, "end": 8}),
        ("ts_7_8_part_3_off_2_1.parquet", NOTHING),
        ("ts_7_8_part_3_off_1_2.avro2", NOTHING),
        ("ts_7_8_part_3_off_1_12345678901234567890.avro", NOTHING),
        ("ts_7_8_part_3_off_1_2_.avro", NOTHING),
        ("ts_+7_8_part_3_off_1_2.avro", NOTHING),
        ("0000.avro", NOTHING),
        ("xts_7_8_part_3_off_1_2.avro", NOTHING),
    ],
)
def test_a_name_that_differs_claims_nothing(name: str, claims: dict[str, int | None]) -> None:
    """[QLK-PA-5]"""
    assert parsed(f"Key=a/Start=2025-08-21/{name}") == {"stream_key": "a", "date": DAY, "name": name} | claims


def test_a_path_outside_of_the_folders_of_keys_has_no_name() -> None:
    """[QLK-PA-1]"""
    assert parsed("_xskip/a.parquet") == dict.fromkeys(("stream_key", "date", "name")) | NOTHING
    assert parse_paths(*split_names(pa.array([], pa.string()))).num_rows == 0


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_encoding_and_decoding_are_inverse(key: str) -> None:
    """[QLK-PA-7]"""
    encoded = encode(key)
    assert "/" not in encoded
    assert not re.search(r"""[\x00-\x1f"#'*:=?\\{\[\]^\x7f]""", encoded)
    assert decode(encoded) == (None if key == "__HIVE_DEFAULT_PARTITION__" else key)


@given(st.binary())
def test_the_stream_key_of_any_bytes_is_text(key: bytes) -> None:
    """[QLK-PA-7]"""
    found = stream_key_of(key)
    assert found is not None
    assert found.encode() == key or "\\x" in found


@given(st.lists(st.integers(-(10**17), 10**17), min_size=2, max_size=2), st.integers(-1, 10**6))
def test_names_that_are_written_are_parsed(bounds: list[int], partition: int) -> None:
    """[QLK-PA-5]"""
    low, high = sorted(bounds)
    for codec in ("null", "snappy", "deflate", "zstandard"):
        name = SegmentName(low, high, partition, low, high).text(codec)
        found = parsed(f"Key=k/Start=2025-08-21/{name}")
        assert [found[place] for place in PLACES] == [low, high, partition, low, high]


def test_names_of_the_usual_form_need_no_regular_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    """[QLK-PA-5]"""
    monkeypatch.setattr(names, "_all_places", None)
    assert parsed(f"Key=B/Start=2025-08-21/{NAME}.snappy") == {"stream_key": "B", "date": DAY} | PLACES | {
        "name": f"{NAME}.snappy"
    }


NUMBERS = st.one_of(
    st.integers(-3, 10**19).map(str), st.sampled_from(["", "-0", "007", "+1", " 1", "1 ", "0x1", "\u0661", "1.5", "-"])
)
ENDINGS = st.sampled_from(
    [".avro", ".avro.snappy", ".avro.a_b", ".avro\n", ".avro.x\ny", ".avrox", "avro", ".Avro", ""]
)


@st.composite
def odd_names(draw: st.DrawFn) -> str:
    """Return a name of which at most one part differs from the usual form."""
    parts = ["ts", "1", "2", "part", "3", "off", "4", "5", ".avro.snappy"]
    at = draw(st.integers(-1, 8))
    if at >= 0:
        odd = st.sampled_from(["ts", "TS", "part", "", "off_", "x"])
        parts[at] = draw(ENDINGS if at == 8 else odd if at in (0, 3, 5) else NUMBERS)
    return "_".join(parts[:8]) + parts[8]


@given(st.lists(odd_names(), min_size=1, max_size=4))
def test_both_ways_to_parse_names_agree(texts: list[str]) -> None:
    """[QLK-PA-5] The faster way takes the usual form alone, and only if all names have it."""
    found = names._plain_places(pa.array(texts))
    expected = names._all_places(pa.array(texts))
    assert found is None or [each.to_pylist() for each in found] == [each.to_pylist() for each in expected]
    if all(
        re.fullmatch(r"ts_\d{1,18}_\d{1,18}_part_\d{1,18}_off_\d{1,18}_\d{1,18}\.avro(\.[a-z]*)?", t, re.A)
        for t in texts
    ):
        assert found is not None


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["", "/", "/%&=+äπ"]))
def test_names_that_tools_percent_encode(text: str, safe: str) -> None:
    """[QLK-PA-2] Whatever they encode beside the percent sign."""
    if text != "__HIVE_DEFAULT_PARTITION__":
        escaped = quote(text, safe=safe.replace("%", ""))
        assert decode(escaped) == decode(re.sub("%..", lambda found: found[0].lower(), escaped)) == text


@given(st.binary())
def test_escapes_of_any_bytes(data: bytes) -> None:
    """[QLK-PA-2] Text if they are UTF-8 as a whole, and always the same characters as one by one where they are not."""
    escaped = "".join(f"%{byte:02X}" for byte in data)
    found = decode(escaped)
    assert found is not None
    try:
        assert found == data.decode()
    except UnicodeDecodeError:
        assert any(chr(byte) in found for byte in data if byte >= 0x80)
    assert decode(encode(found)) == found
    assert decode("x".join(f"%{byte:02X}" for byte in data)) == "x".join(map(chr, data))


def test_the_first_folder_of_a_percent_encoded_key() -> None:
    """[QLK-PA-2] [QLK-PA-3]"""
    assert is_first_of("Key=%CF%80", first_parts({"π/b"}))
    assert is_first_of("Key=%cf%80%2Fb", first_parts({"π/b"}))
    assert not is_first_of("Key=%CF%80", first_parts({"Ï\x80"}))
