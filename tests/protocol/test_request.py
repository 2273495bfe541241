"""The request of a scan, from the hook's JSON. No Spark needed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from xskip.expressions.operands import Column
from xskip.metadata.read_profile import ReadProfile
from xskip.metadatastore.location import IndexLocation
from xskip.protocol.request import FactsRequest, RequestError, RequestHeader, ScanRequest
from xskip.settings import JOB_FILES

FILTERS = [["EqualTo", ["$", ["a"], "int"], ["#", "int", 5]]]
LOCATION = {"root": "/lake/t", "directory": "/lake/t/_xskip/1", "identifier": "/lake/t"}
MEMBERS: dict[str, Any] = {
    "id": 7,
    "strict": True,
    "jobFiles": "30",
    "location": LOCATION,
    "format": "CSV",
    "options": {"Header": "true"},
    "conf": {"spark.sql.caseSensitive": "false"},
    "evaluated": "Spark 4.1.1 {}",
    "columns": '{"position":{"A":"0"}}',
    "partitions": {"p": "date"},
    "filters": FILTERS,
}
HEADER = RequestHeader(7, IndexLocation("/lake/t", "/lake/t/_xskip/1", "/lake/t"), strict=True)


def parsed(**other: Any) -> ScanRequest:
    return ScanRequest.parse(json.dumps(MEMBERS | other))


def error_of(text: str) -> RequestError:
    with pytest.raises(RequestError) as caught:
        ScanRequest.parse(text)
    return caught.value


def test_every_member_becomes_a_field() -> None:
    """[JVM-RQ-1]"""
    assert parsed() == ScanRequest(
        HEADER,
        filters=FILTERS,
        filters_text=json.dumps(FILTERS),
        facts=None,
        format="CSV",
        options={"Header": "true"},
        settings={"spark.sql.caseSensitive": "false"},
        columns='{"position":{"A":"0"}}',
        partition_types={"p": "date"},
        expression_settings="Spark 4.1.1 {}",
        job_threshold=30,
    )


def test_the_threshold_of_a_session_without_one_is_the_default() -> None:
    assert parsed(jobFiles="").job_threshold == JOB_FILES.default


def test_the_read_profile_is_that_of_the_members() -> None:
    profile = parsed().read_profile()
    assert profile == ReadProfile.of("csv", MEMBERS["options"], MEMBERS["conf"], {"position": {"A": "0"}})
    assert (profile.format, profile.options) == ("csv", {"header": "true"})


def test_members_that_the_engine_does_not_know_have_no_effect() -> None:
    """[JVM-RQ-1]"""
    assert parsed(later={"x": [1]}) == parsed()
    assert parsed(location=LOCATION | {"later": 1}) == parsed()


@pytest.mark.parametrize("name", MEMBERS)
def test_a_missing_member_is_named(name: str) -> None:
    error = error_of(json.dumps({key: value for key, value in MEMBERS.items() if key != name}))
    assert str(error) == f"the hook sent a request without a required member (where: {name})"


@pytest.mark.parametrize("name", LOCATION)
def test_a_missing_part_of_the_location_is_named(name: str) -> None:
    error = error_of(json.dumps(MEMBERS | {"location": {key: LOCATION[key] for key in LOCATION if key != name}}))
    assert str(error) == f"the hook sent a request without a required member (where: {name})"


@pytest.mark.parametrize(
    ("name", "value", "found", "expected"),
    [
        ("id", "7", "str", "int"),
        ("id", True, "bool", "int"),
        ("strict", 1, "int", "bool"),
        ("jobFiles", 30, "int", "str"),
        ("location", "/lake/t", "str", "dict"),
        ("format", None, "NoneType", "str"),
        ("options", [], "list", "dict"),
        ("conf", "", "str", "dict"),
        ("evaluated", {}, "dict", "str"),
        ("columns", None, "NoneType", "str"),
        ("partitions", [], "list", "dict"),
        ("filters", {}, "dict", "list"),
    ],
)
def test_a_member_of_another_type_is_named(name: str, value: Any, found: str, expected: str) -> None:
    text = str(error_of(json.dumps(MEMBERS | {name: value})))
    assert text.endswith(f"(where: {name}; found: {found}; expected: {expected})")


@pytest.mark.parametrize("name", ["options", "conf", "partitions"])
def test_values_of_options_settings_and_types_are_strings(name: str) -> None:
    text = str(error_of(json.dumps(MEMBERS | {name: {"k": 1}})))
    assert text.endswith("(where: k; found: int; expected: str)")


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '"x"', "\x01"])
def test_a_text_that_is_no_object_has_no_header(text: str) -> None:
    assert error_of(text).header == RequestHeader()


@pytest.mark.parametrize("name", ["id", "location", "strict"])
def test_an_error_in_the_header_has_no_header(name: str) -> None:
    assert error_of(json.dumps(MEMBERS | {name: None})).header == RequestHeader(-1, IndexLocation("", "", ""))


@pytest.mark.parametrize("name", sorted(MEMBERS.keys() - {"id", "location", "strict"}))
def test_an_error_behind_the_header_has_the_header(name: str) -> None:
    """The query of a strict session then fails with the dataset's name."""
    assert error_of(json.dumps(MEMBERS | {name: None})).header == HEADER


def test_an_invalid_threshold_is_the_error_of_the_setting() -> None:
    error = error_of(json.dumps(MEMBERS | {"jobFiles": "many"}))
    assert error.header == HEADER
    assert str(error) == (
        "the value of the setting is not valid (where: spark.xskip.pruning.jobFiles; found: many; "
        "expected: a number of files)"
    )


@pytest.mark.parametrize(
    "other",
    [
        {"filters": []},
        {"options": {}},
        {"conf": {}},
        {"partitions": {}},
        {"evaluated": "Spark 4.1.1 {spark.sql.ansi.enabled=true}"},
        {"jobFiles": "31"},
    ],
    ids=str,
)
def test_whatever_changes_the_decision_changes_the_cache_key(other: dict[str, Any]) -> None:
    assert parsed(**other).cache_key() != parsed().cache_key()


def test_the_cache_key_is_that_of_every_session_and_scan() -> None:
    assert parsed(id=8, strict=False).cache_key() == parsed().cache_key()


def test_filters_with_an_object_that_the_hook_does_not_encode() -> None:
    text = ["#", "string", '"?":']
    assert not parsed(filters=[["EqualTo", ["$", ["s"], "string"], text]]).is_partly_encoded
    assert parsed(filters=[["Other", ["$", ["s"], "string"], {"?": "org.example.State"}]]).is_partly_encoded
    assert parsed().filters_text == json.dumps(FILTERS)


def test_facts() -> None:
    """[JVM-RQ-1]"""
    facts = parsed(facts={"whole": FILTERS, "columns": [["$", ["A", "b"], "int"]]}).facts
    assert facts == FactsRequest(FILTERS, (Column(("A", "b"), "int"),))
    keys = {parsed(facts={"whole": whole, "columns": []}).cache_key() for whole in ([], FILTERS)}
    assert len(keys | {parsed().cache_key()}) == 3
    with_predicate = parsed(facts={"whole": [], "columns": [], "predicates": FILTERS})
    assert with_predicate.facts == FactsRequest([], (), FILTERS)
    assert with_predicate.cache_key() not in keys
    with pytest.raises(RequestError, match="another type"):
        parsed(facts={"whole": 3, "columns": []})


def test_what_a_rewrite_needs() -> None:
    """[JVM-RQ-6]"""
    columns = [["$", ["a"], "int"], ["$", ["b"], "int"]]
    with_needs = parsed(facts={"whole": [], "columns": columns, "needs": ["count,bounds", "group"], "rows": 3})
    assert with_needs.facts is not None
    assert (with_needs.facts.needs, with_needs.facts.rows) == ((("bounds", "count"), ("group",)), 3)
    others = [parsed(facts={"whole": [], "columns": columns}), parsed(rewrite="join"), parsed()]
    assert len({each.cache_key() for each in (with_needs, *others)}) == 4
    assert [each.is_of_plan for each in others] == [True, True, False]
