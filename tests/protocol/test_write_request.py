"""The requests of writes, and the answers. Rules: [JVM-WR]."""

from __future__ import annotations

import json

from xskip.metadatastore.location import IndexLocation
from xskip.protocol.write_request import WritePlanAnswer, WriteRequest

LOCATION = {"root": "/lake/t", "directory": "/lake/t/_xskip/1", "identifier": "/lake/t"}
MEMBERS = {
    "question": "plan", "id": 7, "location": LOCATION, "options": {"path": "/lake/t"}, "path": "/lake/t",
    "table": None, "indexes": None, "overwrites": False,
}  # fmt: skip


def test_requests() -> None:
    """[JVM-WR-1] Only a commit has the directories whose files are gone; members with other names have no effect."""
    place = IndexLocation("/lake/t", "/lake/t/_xskip/1", "/lake/t")
    request = WriteRequest.parse(json.dumps({**MEMBERS, "later": 1}))
    assert request == WriteRequest("plan", 7, place, {"path": "/lake/t"}, "/lake/t", "", "", overwrites=False)
    commit = {**MEMBERS, "question": "commit", "overwrites": True, "removed": ["/lake/t"]}
    gone = ("/lake/t",)
    expected = WriteRequest("commit", 7, place, {"path": "/lake/t"}, "/lake/t", "", "", overwrites=True, removed=gone)
    assert WriteRequest.parse(json.dumps(commit)) == expected
    linked = {**MEMBERS, "location": {**LOCATION, "listed": "/link"}}
    assert WriteRequest.parse(json.dumps(linked)).location.listed == "/link"


def test_answers() -> None:
    """[JVM-WR-2]"""
    answer = WritePlanAnswer(("`x` AS c0",), ("x",), ("bounds:1:int:0:-4.6",)).to_bytes()
    expected = {"selection": ["`x` AS c0"], "columns": ["x"], "accumulators": ["bounds:1:int:0:-4.6"]}
    assert json.loads(answer) == expected
