"""Answers to requests, and what fails open. No Spark needed."""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.metadatastore.samples import ROOT
from tests.spark.query.fakes import FakeHook, put_index, request_text
from xskip.data_systems import EXTENSIONS
from xskip.engine import loaded_indexes, selection
from xskip.metadatastore import snapshot as snapshot_module
from xskip.metadatastore.snapshot import open_snapshot
from xskip.results.clause_outcomes import outcomes_of, unused_texts
from xskip.settings import JOB_FILES
from xskip.spark.catalyst.filter_decoder import to_predicate
from xskip.spark.query import spark_engine as engine_module
from xskip.spark.query.extensions import extension_answers
from xskip.spark.query.spark_engine import SparkEngine


@pytest.fixture
def fake() -> FakeHook:
    return FakeHook()


@pytest.fixture
def engine(fake: FakeHook) -> SparkEngine:
    return SparkEngine(fake.hook)


@pytest.fixture
def directory(tmp_path: Path) -> str:
    return put_index(tmp_path / "md", 0, 10)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The filters that the engine decodes."""
    filters: list[Any] = []

    def spy(nodes: Any, *arguments: Any, **keywords: Any) -> Any:
        filters.append(nodes)
        return to_predicate(nodes, *arguments, **keywords)

    monkeypatch.setattr(engine_module, "to_predicate", spy)
    return filters


@pytest.fixture(autouse=True)
def _level(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "xskip"):
        yield


def kept(answer: bytes | None) -> tuple[bool, int, list[int]]:
    """Return whether an answer used partition values, its token, and the ordinals of ten files that the scan reads."""
    assert answer is not None
    kind, uses_partitions, _, token, section, length = struct.unpack("<c?iqii", answer[:22])
    assert (kind, section, len(answer)) == (b"A", 1, 22 + length)
    bits = np.unpackbits(np.frombuffer(answer[22:], np.uint8), count=10, bitorder="little")
    return uses_partitions, token, np.flatnonzero(bits == 0).tolist()


def test_an_answer_is_a_bitmap_of_the_registered_snapshot(fake: FakeHook, engine: SparkEngine, directory: str) -> None:
    assert kept(engine.answer(request_text(directory))) == (False, fake.tokens[directory], [4, 5])


def test_the_trace_of_an_answer(engine: SparkEngine, directory: str) -> None:
    engine.answer(request_text(directory, id=3))
    trace = engine.trace(3)
    assert trace is not None
    assert trace.result is not None
    assert (trace.predicate, trace.problem, len(trace.result.skip)) == ("k = ?", "", 0)
    assert [(outcome.index, outcome.ruled_out) for outcome in outcomes_of(trace.result)] == [("minmax(k)", 8)]
    assert json.loads(trace.filters) == json.loads(request_text(directory))["filters"]
    assert engine.trace(4) is None


def test_equal_requests_are_pruned_once(engine: SparkEngine, directory: str, decoded: list[Any]) -> None:
    first = engine.answer(request_text(directory))
    assert engine.answer(request_text(directory, id=2)) == first
    assert len(decoded) == 1
    engine.answer(request_text(directory, options={"pathGlobFilter": "*"}))
    assert len(decoded) == 2


def test_a_commit_or_a_forgotten_index_is_pruned_again(
    fake: FakeHook, engine: SparkEngine, directory: str, decoded: list[Any]
) -> None:
    engine.answer(request_text(directory))
    put_index(Path(directory), 0, 9)
    assert kept(engine.answer(request_text(directory)))[:2] == (False, fake.tokens[directory])
    engine.forget(directory)
    assert kept(engine.answer(request_text(directory)))[:2] == (False, fake.tokens[directory])
    engine.forget_all()
    assert fake.tokens == {}
    assert len(decoded) == 3


def test_a_changed_index_keeps_the_names_that_were_read(
    engine: SparkEngine, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-C-23] A refresh forgets the index that it has changed, but not the names in its unchanged files."""
    engine.answer(request_text(directory))
    engine.forget(directory)
    monkeypatch.setattr(snapshot_module, "decode", None)  # nothing is decoded
    index = engine.indexes.load(directory, 100)
    assert index is not None
    assert index.snapshot.load(()).files.names.to_pylist() == [f"{ROOT}/f{n}" for n in range(10)]


def test_only_the_latest_decisions_are_cached(
    engine: SparkEngine, directory: str, decoded: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = engine.indexes.load(directory, 100)
    assert index is not None
    monkeypatch.setattr(index.decisions, "_size", 1)
    for value in (1, 2, 1):
        engine.answer(request_text(directory, filters=[["EqualTo", ["$", ["k"], "int"], ["#", "int", value]]]))
    assert len(decoded) == 3


def test_a_filter_that_no_metadata_answers(engine: SparkEngine, directory: str) -> None:
    assert engine.answer(request_text(directory, filters=[["EqualTo", ["$", ["x"], "int"], ["#", "int", 5]]])) is None
    trace = engine.trace(1)
    assert trace is not None
    assert trace.result is not None
    assert unused_texts(trace.result) == (("x = ?", "there is no index on x"),)


def test_a_dataset_without_an_index_is_no_problem(
    engine: SparkEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert engine.answer(request_text(str(tmp_path), strict=True)) is None
    trace = engine.trace(1)
    assert trace is not None
    assert (trace.problem, trace.result, caplog.messages) == ("", None, [])


PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "profile": ({"format": "avro"}, "the index was built from parquet and the query reads avro"),
    "malformed": (
        {"filters": None},
        "the hook sent a request with a member of another type (where: filters; found: NoneType; expected: list)",
    ),
    "setting": (
        {"jobFiles": "x"},
        f"the value of the setting is not valid (where: {JOB_FILES.key}; found: x; expected: a number of files)",
    ),
    "another dataset": (
        {"location": {"root": "/lake/other", "directory": "<directory>", "identifier": "/lake/other"}},
        f"the index belongs to another dataset, {ROOT}",
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_logged_once_and_fails_strict_queries(
    engine: SparkEngine, directory: str, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    members, problem = PROBLEMS[name]
    texts = [
        request_text(directory, id=number, strict=number == 3, **members).replace("<directory>", directory)
        for number in (1, 2, 3)
    ]
    answers = [engine.answer(text) for text in texts]
    root = json.loads(texts[0])["location"]["root"]
    assert answers == [None, None, f"E{root}: {problem}".encode()]
    assert caplog.messages == [f"the index of {root} is not used, queries read all files: {problem}"]
    assert [trace.problem for number in (1, 2, 3) if (trace := engine.trace(number))] == [problem] * 3


@pytest.mark.parametrize("text", ["", "null", "{}", '{"strict": true}'])
def test_a_request_without_a_header_reads_all_files(
    engine: SparkEngine, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    assert engine.answer(text) is None
    (message,) = caplog.messages
    assert message.startswith("the index of  is not used, queries read all files: the hook sent a request")


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, MemoryError])
def test_no_error_leaves_the_engine(
    engine: SparkEngine, directory: str, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise error("on purpose")

    monkeypatch.setattr(selection, "translate", fail)
    assert engine.answer(request_text(directory)) is None
    reason = f"E{ROOT}: {error.__name__}('on purpose')".encode()
    assert engine.answer(request_text(directory, strict=True)) == reason


def test_a_damaged_index_is_read_once(
    engine: SparkEngine, directory: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-D-6]"""
    directories = []
    (file,) = Path(directory).glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-50] + bytes(50))

    def spy(storage: Any, directory: str, *rest: Any) -> Any:
        directories.append(directory)
        return open_snapshot(storage, directory, *rest)

    monkeypatch.setattr(loaded_indexes, "open_snapshot", spy)
    assert {engine.answer(request_text(directory)) for _ in range(2)} == {None}
    assert (directories, len(caplog.messages)) == ([directory], 1)
    assert engine.indexes.directories() == []


def test_a_forgotten_index_is_warned_of_again(
    engine: SparkEngine, directory: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        engine.answer(request_text(directory, format="avro"))
        engine.forget(directory)
    assert len(caplog.messages) == 2


def test_each_extension_has_a_function_that_answers(fake: FakeHook, engine: SparkEngine) -> None:
    answers = extension_answers(fake.hook, engine.session)
    assert answers.keys() == {system.format for system in EXTENSIONS}
