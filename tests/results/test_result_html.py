"""Results in notebooks: each public result has the style of reports, and escapes all text."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest

import xskip
import xskip.questdb
import xskip.quixlake
from tests.results.samples import samples
from xskip.results.render import StateText, cell_text, human_bytes
from xskip.results.result_view import AdvisedValue, KeyValueView, ResultView, TableView, result_html

NASTY = "<script>alert('1')</script>&\""
#: The packages that have results.
PACKAGES = ("xskip.api.", "xskip.questdb.", "xskip.quixlake.", "xskip.results.", "xskip.standalone.opened")
#: Public classes that are no results, but places on which programs call methods.
PLACES = {"OpenedIndex", "OpenedLake", "QuixLake", "Replay", "SkippingIndex", "Table", "TopicIndex"}
#: The parts of results, which the results show.
PARTS = {
    "Advice", "Check", "ClauseOutcome", "ColumnChange", "ColumnChoice", "Commit", "DatasetSavings", "Drawing",
    "FileExplanation", "FilePicture", "IndexInfo", "IndexOverview", "LeftAdvice", "ListedIndex", "ScanSource",
    "SettingValue", "WrongStatistics",
}  # fmt: skip
SAMPLES = samples("/lake/events", "city")


@cache
def classes() -> dict[str, type]:
    """Return the classes of the packages with results, by their names."""
    names = [module.name for module in pkgutil.walk_packages(xskip.__path__, "xskip.")]
    modules = [importlib.import_module(name) for name in names if name.startswith(PACKAGES)]
    values = [value for module in modules for value in vars(module).values() if inspect.isclass(value)]
    return {each.__name__: each for each in values if each.__module__.startswith(PACKAGES)}


def functions_of(value: object) -> Iterator[Callable[..., Any]]:
    """Yield a function, or the public methods, properties and iterators of a class."""
    if inspect.isfunction(value):
        yield value
    elif inspect.isclass(value) and not issubclass(value, BaseException):
        for name, member in inspect.getmembers(value):
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if (not name.startswith("_") or name == "__iter__") and inspect.isfunction(function):
                yield function


def named_by(value: object) -> Iterator[type]:
    """Yield the classes that the functions and the fields of a value name as results."""
    texts = [str(inspect.signature(each).return_annotation) for each in functions_of(value)]
    texts += [str(each.type) for each in fields(value)] if is_dataclass(value) and hasattr(value, "_repr_html_") else []
    for name in (name for text in texts for name in re.findall(r"\w+", text)):
        if name in classes():
            yield classes()[name]


def public_results() -> set[type]:
    """Return the classes of all values that public functions and methods return, without places and parts."""
    open_values: list[object] = [getattr(p, n) for p in (xskip, xskip.quixlake, xskip.questdb) for n in p.__all__]
    found: set[type] = set()
    while open_values:
        new = set(named_by(open_values.pop())) - found
        found |= new
        open_values.extend(each for each in new if each.__name__ not in PARTS)
    return {each for each in found if each.__name__ not in PLACES | PARTS}


def test_all_public_results_have_the_style_of_reports() -> None:
    """[REP-P-10]"""
    found = {each.__name__ for each in public_results()}
    assert {"RefreshResult", "IndexStatus", "Overview", "SkippingReport", "LakeTable", "ExportResult"} <= found
    sampled = {type(each).__name__ for each in SAMPLES} | {"Watch"}  # a watch shows its report
    assert found - sampled == set(), "add a sample to tests/results/samples.py"


@pytest.mark.parametrize("result", SAMPLES, ids=lambda result: type(result).__name__)
def test_a_result_is_an_element_with_its_own_style(result: Any) -> None:
    """[REP-P-6] [REP-P-10]"""
    html = result._repr_html_()
    root = ElementTree.fromstring(html)
    assert root.get("class", "").split()[0] == "xskip-result"
    (style,) = (each.text or "" for each in root.iter("style"))
    rules = [rule for text in re.findall(r"([^{}]+)\{[^{}]*\}", style) for rule in text.split(",")]
    assert all(rule.strip().startswith(".xskip-result") for rule in rules)
    assert not re.search(r"<script|https?:|url\(|@import|src=|href=|\bid=|!important", html)


@pytest.mark.parametrize("result", samples(f"/lake/{NASTY}", NASTY), ids=lambda result: type(result).__name__)
def test_a_result_escapes_all_text(result: Any) -> None:
    """[REP-P-10]"""
    html = result._repr_html_()
    assert "<script" not in html
    texts = "".join(ElementTree.fromstring(html).itertext())
    assert NASTY in texts or NASTY not in str(result)


@pytest.mark.parametrize(
    "result", [each for each in SAMPLES if isinstance(each, KeyValueView)], ids=lambda result: type(result).__name__
)
def test_text_and_html_have_the_same_facts(result: KeyValueView) -> None:
    """[REP-P-10]"""
    view = result._view()
    assert view.caption
    assert view.facts
    words = {word.strip(",") for word in str(result).split()}
    for fact in view.facts[:20]:
        assert {word.strip(",") for word in f"{fact.name} {cell_text(fact.value)}".split()} <= words
    for advice in view.next_steps:
        assert advice in str(result)


def test_advice_follows_the_facts() -> None:
    """[REP-P-10]"""
    pairs = [("new", 3), ("up to date", AdvisedValue(StateText("no", "warning"), "call refresh()"))]
    root = ElementTree.fromstring(result_html(ResultView.of_pairs("State", pairs)))
    cells = [(row[0].text, row[1].text, row[1].get("class")) for row in root.iter("tr")]
    assert cells == [("new", "3", None), ("up to date", "no", "xs-state xs-warning")]
    (step,) = [each for each in root.iter("p") if each.get("class") == "xs-next"]
    assert "".join(step.itertext()) == "Next: call refresh()"


def test_facts_of_one_name_have_it_once_and_are_limited() -> None:
    """[REP-P-4]"""
    view = ResultView.of_pairs("Repair", [("files", 1000), *(("repaired", f"f{i}") for i in range(1000))])
    assert [each.name for each in view.facts] == ["files", "repaired", *[""] * 20]
    assert view.facts[-1].value == "… 980 more"


def test_tables_align_numbers_and_sizes_and_are_limited() -> None:
    """[REP-P-4] [REP-P-8]"""
    rows: list[list[Any]] = [["a" * 40, None, human_bytes(2048), True], *[["b", 1000, human_bytes(0), False]] * 150]
    root = ElementTree.fromstring(result_html(ResultView("T", tables=(TableView(("<n>", "k", "size", "t"), rows, 7),))))
    header, first, second = list(root.iter("tr"))[:3]
    assert [(each.text, each.get("class")) for each in header] == [
        ("<n>", None),
        ("k", "n"),
        ("size", "n"),
        ("t", None),
    ]
    assert [each.get("class") for each in first] == ["xs-long", None, "n", None]
    assert [(each.text, each.get("class")) for each in second] == [
        ("b", None), ("1,000", "n"), ("0 B", "n"), ("False", None),
    ]  # fmt: skip
    assert len(list(root.iter("tr"))) == 1 + 100
    assert "… 58 more" in "".join(root.itertext())


def test_states_keep_their_level_in_copies() -> None:
    state = StateText("no", "bad")
    for again in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert (again, again.level) == ("no", "bad")
