"""Warnings that the log has once. No Spark needed."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from xskip.engine import warning_log
from xskip.engine.warning_log import WarningLog
from xskip.metadatastore.location import IndexLocation

PLACE = IndexLocation("/lake/t", "/md/t", "/lake/t")


@pytest.fixture(autouse=True)
def _level(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "xskip"):
        yield


def test_a_problem_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    log = WarningLog()
    for problem in ("it is busy", "it is busy", "it is closed"):
        log.warn_unused(PLACE, problem)
    head = "the index of /lake/t is not used, queries read all files: "
    assert caplog.messages == [f"{head}it is busy", f"{head}it is closed"]


def test_words_with_digits_make_no_other_problem(caplog: pytest.LogCaptureFixture) -> None:
    log = WarningLog()
    for number in ("7F1A", "7F2A"):
        log.warn_unused(PLACE, f"the store is busy (request {number})")
    assert len(caplog.messages) == 1


def test_each_dataset_has_its_warnings(caplog: pytest.LogCaptureFixture) -> None:
    log = WarningLog()
    log.warn_unused(PLACE, "it is busy")
    log.warn_unused(IndexLocation("/lake/u", "/md/t", "/lake/u"), "it is busy")
    assert len(caplog.messages) == 2


def test_a_large_index_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    log = WarningLog()
    for rows in (1000, 2000):
        log.warn_driver_only("/md/t", rows, "it is encrypted")
    assert caplog.messages == ["the driver prunes 1,000 files by the metadata in /md/t: it is encrypted"]


def test_forgotten_warnings_are_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    log = WarningLog()
    other = IndexLocation("/lake/u", "/md/u", "/lake/u")
    for place in (PLACE, other):
        log.warn_unused(place, "it is busy")
    log.forget(PLACE.directory)
    for place in (PLACE, other):
        log.warn_unused(place, "it is busy")
    assert [message.split()[3] for message in caplog.messages] == ["/lake/t", "/lake/u", "/lake/t"]


def test_a_full_log_starts_over(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warning_log, "_MAX_WARNINGS", 2)
    log = WarningLog()
    for problem in ("a", "b", "c", "a"):
        log.warn_unused(PLACE, problem)
    assert len(caplog.messages) == 4
