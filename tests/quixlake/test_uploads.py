"""Uploads of segments, whose behaviour on a store ``tests/s3/sink_scenarios.py`` tests. Rules: [QLK-SK]."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.java_classes import JavaClasses
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake.lost_segments import identities, lost_segments
from xskip.quixlake.manifests import SEGMENTS, Manifest, batch_name
from xskip.quixlake.new_messages import NewMessages
from xskip.spark.quixlake.segments import PendingUpload

FOLDER = "Key=k/Start=1970-01-01"
DIGEST = "0123456789" * 4
NAME = f"ts_0_0_part_0_off_0_0.avro.{DIGEST}"


def manifest(*rows: dict[str, Any]) -> Manifest:
    numbers = dict.fromkeys(SEGMENTS.names[4:-1], 1)
    table = pa.Table.from_pylist([{"folder": FOLDER, "stream_key": "k"} | numbers | row for row in rows], SEGMENTS)
    return Manifest(batch_name("b"), "token", 1, 9, table)


def upload(number: int) -> dict[str, Any]:
    name = NAME.replace("_0_0.", f"_{number}_{number}.")
    return {"name": name, "upload": f"id{number} part s3a://b/a b/Raw/Topic=t/{FOLDER}/{name}"}


HIDDEN = {"hidden": "._xskip-1", "name": "ts_9_9_part_0_off_9_9.avro"}


@pytest.mark.parametrize("rows", [(upload(0), HIDDEN), (HIDDEN,), ()])
def test_manifests_hold_uploads(rows: Sequence[dict[str, Any]]) -> None:
    """[QLK-SK-12] Earlier versions read the manifest, and report a segment in an upload as lost."""
    written = manifest(*rows)
    data = written.to_bytes()
    assert Manifest.from_bytes(data).segments.equals(written.segments)
    table = pa.ipc.open_file(data).read_all()
    assert table.column_names == [*SEGMENTS.names[:-1], "replaced"]
    assert table["hidden"].to_pylist() == [row.get("hidden") or f"upload {row['upload']}" for row in rows]


def test_segments_in_uploads_are_not_lost(tmp_path: Path) -> None:
    """[QLK-SK-10] A segment is there under its name or in an upload of its own; a listing is asked for uploads only."""

    class Pending:
        def __init__(self, *pending: int) -> None:
            self.pending = pending

        def uploads(self, folder: str) -> Sequence[PendingUpload]:
            assert folder == str(tmp_path)
            return [PendingUpload(f"id{number}  s3a://b/x", 7) for number in self.pending]

    def lost(of: Manifest, *pending: int) -> list[str]:
        found: list[str] = identities(lost_segments(LocalStorage(), str(tmp_path), of, Pending(*pending))).to_pylist()
        return found

    both, three = manifest(upload(0), HIDDEN), manifest(upload(0), upload(1), HIDDEN)
    texts = [upload(number)["upload"] for number in (0, 1)]
    (tmp_path / FOLDER).mkdir(parents=True)
    assert lost(both, 0, 5) == ["._xskip-1"]
    assert lost(both) == [texts[0], "._xskip-1"]
    (tmp_path / FOLDER / "._xskip-1").touch()
    assert lost(three, 1) == [texts[0]]
    assert lost(three) == texts
    (tmp_path / FOLDER / upload(0)["name"]).touch()
    assert lost(three, 1) == []
    assert lost(three) == [texts[1]]


def test_a_digest_is_not_the_token_of_a_compaction() -> None:
    """[QLK-SK-13] A read between tokens needs no manifests for uploaded segments that no compaction has added."""
    path = f"Raw/Topic=t/{FOLDER}/{NAME}"
    assert not NewMessages.needs_manifests(pa.table({"path": [path]}))
    assert NewMessages.needs_manifests(pa.table({"path": [path, f"{path}.{'0' * 32}"]}))


def test_the_text_of_an_upload(spark: SparkSession) -> None:
    """[QLK-SK-12] Its first word identifies the upload, also where the list of uploads does not tell the parts."""
    classes = JavaClasses(spark)
    path = f"s3a://bucket/a b/100%25/{FOLDER}/{NAME}"

    def text_of(text: str) -> str:
        parsed = classes.call("quixlake.SegmentUpload", "of", text)
        return _called(parsed, "text")

    def _called(target: Any, method: str) -> str:
        found = target.getClass().getDeclaredMethod(method, classes.array([], classes._gateway.jvm.java.lang.Class))
        found.setAccessible(True)
        return str(found.invoke(target, classes.array([])))

    word, *parts = (base64.b64encode(text).decode() for text in (b"upload", b"one", b"two"))
    for text in (f"{word} {','.join(parts)} {path}", f"{word} {parts[0]} {path}", f"{word}  {path}"):
        assert text_of(text) == text


def test_a_range_of_a_file(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-12] A part can be sent again, from its mark, and does not go beyond its end."""
    file = tmp_path / "x"
    file.write_bytes(bytes(range(100)))
    java: Any = spark._jvm
    stream = JavaClasses(spark).new("files.FileRange", java.java.io.File(str(file)), 10, 20)
    assert (stream.markSupported(), stream.available(), stream.read()) == (True, 20, 10)
    stream.mark(1)
    first = bytes(stream.readAllBytes())
    assert (first, stream.read(), stream.available()) == (bytes(range(11, 30)), -1, 0)
    stream.reset()
    assert bytes(stream.readAllBytes()) == first
    stream.close()
