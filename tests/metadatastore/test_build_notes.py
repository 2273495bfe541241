"""The notes of builds in commit records. Rules: [MDS-C-29]."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from xskip.metadatastore.build_notes import BuildNotes, UnreadableFile
from xskip.metadatastore.commit_records import CommitRecord

TS, CITY = ("minmax", ("ts",)), ("valuelist", ("city",))
BAD = UnreadableFile("/d/a.parquet", 1, "not a Parquet file")
RECORD = CommitRecord(1, "file:/d", 4, (), None, {}, 7)


def test_notes_return_from_a_record() -> None:
    """[MDS-C-29]"""
    notes = BuildNotes().after({TS: 1.5, CITY: 0.25}, [BAD]).after({TS: 0.5}, [BAD])
    again = CommitRecord.from_bytes(replace(RECORD, notes=notes).to_bytes()).notes
    assert again == notes
    assert (again.of(TS), again.of(CITY), again.of(("minmax", ("x",)))) == (2.0, 0.25, None)
    assert again.without([TS]).seconds == {"valuelist(city)": 0.25}


def test_the_latest_build_alone_names_unreadable_files() -> None:
    """[MDS-C-29]"""
    assert BuildNotes().after({}, [BAD]).after({}, []).unreadable == ()
    many = BuildNotes().after({}, [BAD._replace(reason="x" * 1000)] * 101).unreadable
    assert (len(many), len(many[0].reason)) == (100, 300)


def test_a_record_without_notes_stays_as_it_was() -> None:
    assert "notes" not in json.loads(RECORD.to_bytes())


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, BuildNotes()),
        ("x", BuildNotes()),
        ({"seconds": [1], "unreadable": {"name": 1}}, BuildNotes()),
        ({"seconds": {"a": "1", "b": True, "c": -1, "d": 1e999, "e": 2}}, BuildNotes({"e": 2.0})),
        ({"unreadable": [1, {}, {"name": "a", "modified": "1", "reason": ""}, BAD._asdict()]}, BuildNotes({}, (BAD,))),
    ],
)
def test_a_record_with_other_notes_is_read(written: Any, read: BuildNotes) -> None:
    """[MDS-C-29] Notes of any other form do not make a record invalid."""
    assert BuildNotes.parse(json.loads(json.dumps(written))) == read
