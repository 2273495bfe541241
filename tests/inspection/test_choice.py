"""Choices from measured columns, a workload and a budget, without Spark [REP-CH]."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest

from tests.filters import made
from xskip.inspection.bound_spread import RuledOut
from xskip.inspection.candidates import Candidate, Collected, MeasuredOperand, measured
from xskip.inspection.choice import Chooser, PresentIndex, SampledColumn
from xskip.metadata.table import IndexDefinition
from xskip.results.index_choice import ColumnChoice
from xskip.results.index_usage import Condition, ConditionKind, ConditionUsage
from xskip.results.workload import Workload, uses_by_column

FILES = 100
_NOTHING = Workload()


def candidate(kind: str, size: float, shares: Mapping[ConditionKind, float] | None = None) -> Candidate:
    return Candidate(kind, shares or {}, size, 0.01)


def column(name: str, *candidates: Candidate, values: float | None = None, **flags: bool) -> SampledColumn:
    bounds = RuledOut(0.0, 0.0) if any(each.index_type == "minmax" and each.shares for each in candidates) else None
    return SampledColumn(name, MeasuredOperand(candidates, bounds), values, **flags)


def ordered(name: str, share: float = 0.9, size: float = 10) -> SampledColumn:
    shares: dict[ConditionKind, float] = {"equal": share, "above": share / 2, "below": share / 2}
    return column(name, candidate("minmax", size, shares))


def keys(name: str, size: float = 1000, share: float = 0.98) -> SampledColumn:
    return column(name, candidate("minmax", 10, {"equal": 0.01}), candidate("bloomfilter", size, {"equal": share}))


def workload(*conditions: tuple[str, tuple[ConditionKind, ...]], scans: int = 10, history: bool = True) -> Workload:
    uses = uses_by_column([(Condition(name, kinds), ConditionUsage(scans, 1000 * scans)) for name, kinds in conditions])
    return Workload(scans * len(conditions), uses, is_complete=history)


def choose(
    *columns: SampledColumn, asked: Workload = _NOTHING, budget: int = 10**6, sample: int = 16, present: str = ""
) -> list[ColumnChoice]:  # fmt: skip
    known = [PresentIndex(IndexDefinition(*_parsed(text)), 50) for text in present.split()]
    return list(Chooser(columns, asked, FILES, sample, budget, known).choices())


def _parsed(text: str) -> tuple[str, tuple[str, ...]]:
    name, _, name_of_column = text.removesuffix(")").partition("(")
    return name, (name_of_column,)


def short(choices: list[ColumnChoice]) -> list[tuple[str, str, str]]:
    return [(each.action, each.subject, each.reason) for each in choices]


def test_the_best_index_of_each_column() -> None:
    """[REP-CH-2] Bounds, lists, prefixes, filters and words where they rule out enough, and numbers of NULLs."""
    found = choose(
        ordered("ts"),
        column(
            "city", candidate("minmax", 10, {"equal": 0.2}), candidate("valuelist", 30, {"equal": 0.8}), values=3,
            has_nulls=True,
        ),
        column(
            "url", candidate("prefix", 50, {"prefix": 0.7, "equal": 0.7}), candidate("bloomfilter", 900, {"equal": 0.7})
        ),
        keys("user"),
        column(
            "msg", candidate("tokenbloom", 300, {"words": 0.5}), candidate("bloomfilter", 9, {"equal": 1.0}),
            has_words=True,
        ),
        column("noise", candidate("minmax", 10, {"equal": 0.05})),
        SampledColumn("props", None),
    )  # fmt: skip
    assert short(found) == [
        ("add", "minmax(ts)", "rules_out"), ("add", "minmax(city)", "rules_out"),
        ("add", "valuelist(city)", "rules_out"), ("add", "prefix(url)", "rules_out"),
        ("add", "tokenbloom(msg)", "rules_out"), ("add", "bloomfilter(user)", "rules_out"),
        ("add", "nullcount(city)", "nulls"), ("none", "noise", "alike"), ("none", "props", "unsupported"),
    ]  # fmt: skip
    (first, *_) = found
    assert (first.share, first.cost_bytes) == (0.9, 1000)
    assert first.cost_seconds == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("size", "kind"), [(100, "valuelist"), (199, "valuelist"), (201, "bloomfilter"), (2000, "bloomfilter")]
)
def test_a_list_may_be_twice_as_large_as_a_filter(size: int, kind: str) -> None:
    options = candidate("valuelist", size, {"equal": 0.9}), candidate("bloomfilter", 100, {"equal": 0.9})
    found = choose(column("k", *options, values=5000))
    assert short(found) == [("add", f"{kind}(k)", "rules_out")]


@pytest.mark.parametrize(("budget", "rate"), [(100_000, None), (99_999, 0.05), (60_000, 0.1), (40_000, 0.25)])
def test_filters_keep_to_the_budget(budget: int, rate: float | None) -> None:
    """[REP-CH-3] A filter with more false positives is smaller: -log(rate) / log(2)^2 bits per value."""
    (found,) = choose(keys("user"), budget=budget)
    assert (found.action, found.fpp) == ("add", rate)
    assert found.cost_bytes is not None
    assert found.cost_bytes <= budget
    assert found.share == pytest.approx(0.98 if rate is None else 0.98 * (1 - rate))


@pytest.mark.parametrize(
    ("budget", "chosen"),
    [
        (40_000, [("add", "valuelist(k)", None)]), (30_000, [("add", "bloomfilter(k)", None)]),
        (25_000, [("add", "bloomfilter(k)", 0.05)]), (8_500, [("add", "prefix(k)", None)]),
        (1_000, [("none", "valuelist(k)", None), ("add", "minmax(k)", None)]),
    ],
)  # fmt: skip
def test_a_smaller_index_of_another_type(budget: int, chosen: list[tuple[str, str, float | None]]) -> None:
    """[REP-CH-3] The best one that keeps to the budget; one that rules out next to nothing never takes its place."""
    options = (
        candidate("valuelist", 400, {"equal": 0.95}), candidate("bloomfilter", 300, {"equal": 0.9}),
        candidate("prefix", 80, {"prefix": 0.3}), candidate("minmax", 5, {"equal": 0.05}),
    )  # fmt: skip
    found = choose(column("k", *options, values=500), budget=budget)
    assert [(each.action, each.subject, each.fpp) for each in found] == chosen


def test_an_index_beyond_the_budget_is_named() -> None:
    found = choose(keys("user"), ordered("ts"), budget=20_000)
    assert short(found) == [("add", "minmax(ts)", "rules_out"), ("none", "bloomfilter(user)", "budget")]
    assert "97.7 KiB of metadata would exceed the budget" in found[1].text


def test_what_queries_ask_comes_first() -> None:
    """[REP-CH-3] The larger filter on an asked column comes before the smaller one on another column."""
    few = workload(("order", ("equal",)), scans=5)
    assert short(choose(keys("user", 500), keys("order", 1000), budget=100_000)) == [
        ("add", "bloomfilter(user)", "rules_out"), ("add", "bloomfilter(order)", "rules_out")
    ]  # fmt: skip
    found = choose(keys("user", 500), keys("order", 1000), asked=few, budget=101_000)
    assert short(found) == [("add", "bloomfilter(order)", "rules_out"), ("none", "bloomfilter(user)", "budget")]
    assert found[0].scans == 5
    assert found[0].saved_bytes == pytest.approx(4900)


def test_columns_without_conditions_get_no_filter() -> None:
    """[REP-CH-2] With ten or more recorded scans; bounds and short lists cost next to nothing."""
    city = column("city", candidate("valuelist", 30, {"equal": 0.8}), values=3)
    found = choose(ordered("ts"), city, keys("user"), keys("order"), asked=workload(("order", ("equal",))))
    assert short(found) == [
        ("add", "minmax(ts)", "rules_out"), ("add", "bloomfilter(order)", "rules_out"),
        ("add", "valuelist(city)", "rules_out"), ("none", "user", "not_queried"),
    ]  # fmt: skip


def test_an_index_must_answer_the_recorded_conditions() -> None:
    """A filter answers no range; what queries ask of the column decides, and not what they could ask."""
    found = choose(ordered("ts"), keys("user"), asked=workload(("user", ("above",))))
    assert short(found)[-1] == ("none", "user", "not_answered")
    words = column("msg", candidate("tokenbloom", 300, {"words": 0.5}), has_words=True)
    assert short(choose(words, asked=workload(("msg", ("other",))))) == [("add", "tokenbloom(msg)", "rules_out")]


def test_bounds_for_rewrites() -> None:
    """MinMax is worth what ORDER BY with LIMIT need not read."""
    operand = MeasuredOperand((candidate("minmax", 10, {"equal": 0.01}),), unread={"least": 0.9})
    found = choose(SampledColumn("price", operand), asked=workload(("price", ("least",))))
    assert short(found) == [("add", "minmax(price)", "rules_out")]
    assert found[0].saved_bytes == pytest.approx(9000)


def test_numbers_of_nulls_that_queries_ask() -> None:
    deleted = column("deleted", candidate("minmax", 10, {"equal": 0.0}), candidate("nullcount", 5), has_nulls=True)
    found = choose(deleted, ordered("ts"), asked=workload(("deleted", ("null",))))
    assert ("add", "nullcount(deleted)", "nulls") in short(found)


def test_too_few_files() -> None:
    """[REP-CH-4] Bounds and short lists, of 16 columns at most, and nothing of texts."""
    columns = [ordered(f"c{i}") for i in range(20)]
    text = column("msg", candidate("minmax", 10), has_words=True)
    few = column("k", candidate("minmax", 9), candidate("valuelist", 9), values=100)
    many = column("m", candidate("minmax", 9), candidate("valuelist", 9), values=101)
    assert short(choose(text, few, many, sample=3)) == [
        ("add", "minmax(k)", "few_files"), ("add", "valuelist(k)", "few_files"), ("add", "minmax(m)", "few_files"),
        ("none", "msg", "few_files"),
    ]  # fmt: skip
    assert sum(each.action == "add" for each in choose(*columns, sample=3)) == 16


def test_no_index_rules_out_files() -> None:
    """[REP-CH-4] Bounds answer aggregates."""
    assert short(choose(column("noise", candidate("minmax", 10, {"equal": 0.05})))) == [
        ("add", "minmax(noise)", "aggregates")
    ]


def test_no_index_fits_the_budget() -> None:
    """[REP-CH-4] What exceeds the budget is no index, and gets no numbers of NULLs."""
    user = column("user", candidate("valuelist", 5000, {"equal": 0.9}), values=9, has_nulls=True)
    noise = column("noise", candidate("minmax", 10, {"equal": 0.01}))
    assert short(choose(user, noise, budget=100)) == [
        ("none", "valuelist(user)", "budget"), ("add", "minmax(noise)", "aggregates")
    ]  # fmt: skip


def test_the_last_index_stays() -> None:
    """[REP-CH-5] A revision leaves no dataset without an index."""
    noise = column("noise", candidate("minmax", 10, {"equal": 0.01}))
    assert short(choose(noise, present="minmax(noise)")) == [("keep", "minmax(noise)", "last")]


def test_what_stays_and_what_goes() -> None:
    """[REP-CH-5] What has ruled out files stays, and what rules out a twentieth; what rules out nothing goes."""
    columns = (
        ordered("ts"), ordered("half", 0.06), column("noise", candidate("minmax", 10, {"equal": 0.01})), keys("user"),
        column("luck", candidate("minmax", 10, {"equal": 0.01})),
    )  # fmt: skip
    present = "minmax(ts) minmax(half) minmax(noise) minmax(luck) nullcount(noise) bloomfilter(user) geobox(gone)"
    asked = Workload(0, {}, frozenset({"minmax(luck)"}), is_complete=True)
    assert short(choose(*columns, present=present, asked=asked)) == [
        ("keep", "minmax(ts)", "rules_out"), ("keep", "minmax(half)", "rules_out"),
        ("remove", "minmax(noise)", "alike"), ("keep", "minmax(luck)", "useful"),
        ("keep", "nullcount(noise)", "nulls"), ("keep", "bloomfilter(user)", "rules_out"),
        ("keep", "geobox(gone)", "unmeasured"),
    ]  # fmt: skip


@pytest.mark.parametrize(("history", "action"), [(True, "remove"), (False, "keep")])
def test_only_a_history_removes_what_no_query_asks(history: bool, action: str) -> None:
    """[REP-CH-5] Other drivers can ask what those of this process do not."""
    asked = workload(("ts", ("above",)), ("range", ("above",)), history=history)
    found = short(
        choose(ordered("ts"), keys("user"), keys("range"), present="bloomfilter(user) bloomfilter(range)", asked=asked)
    )
    assert found[0] == (action, "bloomfilter(user)", "not_queried")
    assert found[1] == (action, "bloomfilter(range)", "rules_out" if action == "keep" else "not_answered")


def test_a_present_index_counts() -> None:
    """An index that rules out as much keeps another one out, and present indexes count for the budget."""
    city = column(
        "k", candidate("valuelist", 30, {"equal": 0.9}), candidate("bloomfilter", 40, {"equal": 0.9}), values=2000
    )
    assert short(choose(city, present="bloomfilter(k)")) == [("keep", "bloomfilter(k)", "rules_out")]
    found = choose(keys("user"), keys("order"), present="bloomfilter(user)", budget=50)
    assert short(found) == [("keep", "bloomfilter(user)", "rules_out"), ("none", "bloomfilter(order)", "budget")]


def test_indexes_that_no_choice_has_made() -> None:
    """[REP-CH-5] Those with keys, parameters or expressions, those of other types, and those of a data system."""
    noise = column("noise", candidate("minmax", 10, {"equal": 0.01}))
    given = PresentIndex(IndexDefinition("minmax", ("noise",)), 9, is_of_choice=False)
    assert short(list(Chooser((noise,), _NOTHING, FILES, 16, 10**6, [given]).choices())) == [
        ("keep", "minmax(noise)", "given")
    ]


def test_what_is_not_measured_stays() -> None:
    """[REP-CH-5] Unknown bounds and filters, lists that are too long, columns that the choice has left out."""
    some = column("a", candidate("minmax", 10), candidate("bloomfilter", 9), candidate("tokenbloom", 9))
    found = choose(some, ordered("ts"), present="minmax(a) bloomfilter(a) tokenbloom(a) valuelist(a) minmax(gone)")
    assert {each.subject: (each.action, each.reason) for each in found if each.action != "add"} == {
        f"{name}(a)": ("keep", "unmeasured") for name in ("minmax", "bloomfilter", "tokenbloom", "valuelist")
    } | {"minmax(gone)": ("keep", "unmeasured")}


def test_conditions_of_other_kinds_tell_nothing() -> None:
    """Elements of arrays, conditions in an OR, and !=: an index is judged by its values, and saves nothing known."""
    asked = workload(("ts", ("other",)), ("tags", ("other",)))
    tags = column("tags", candidate("minmax", 10, {"equal": 0.5}))
    found = choose(ordered("ts"), tags, present="minmax(tags)", asked=asked)
    assert short(found) == [("keep", "minmax(tags)", "rules_out"), ("add", "minmax(ts)", "rules_out")]
    assert [(each.scans, each.saved_bytes, each.saved_share) for each in found] == [(10, None, None)] * 2


def test_one_recorded_query_is_a_query() -> None:
    """[REP-CH-5] A column with one or two recorded scans keeps its index, and gets no new one."""
    asked = workload(("ts", ("above",)), scans=20)
    few = workload(("user", ("equal",)), scans=1)
    both = Workload(21, {**asked.uses, **few.uses}, is_complete=True)
    (user, *_) = choose(keys("user"), ordered("ts"), present="bloomfilter(user)", asked=both)
    assert (user.action, user.reason) == ("keep", "rules_out")
    assert ("none", "user", "not_queried") in short(choose(keys("user"), ordered("ts"), asked=both))


def test_a_second_choice_changes_nothing() -> None:
    """[REP-CH-5] Of a dataset whose files no index tells apart, also with NULLs; of few files, by columns."""
    noise = column("noise", candidate("minmax", 10, {"equal": 0.01}), candidate("nullcount", 1), has_nulls=True)
    first = [each.subject for each in choose(noise) if each.action == "add"]
    assert first == ["minmax(noise)", "nullcount(noise)"]
    again = choose(noise, present=" ".join(first))
    assert short(again) == [("keep", "minmax(noise)", "last"), ("keep", "nullcount(noise)", "nulls")]
    many = [ordered(f"c{i}") for i in range(40)]
    first = [each.subject for each in choose(*many, sample=3) if each.action == "add"]
    assert {each.action for each in choose(*many, sample=3, present=" ".join(first))} == {"keep", "none"}


def test_texts_of_words_alone_get_bounds() -> None:
    """[REP-CH-4] As a last resort."""
    text = column("msg", candidate("minmax", 10), has_words=True)
    assert short(choose(text)) == [("add", "minmax(msg)", "aggregates")]


def test_a_column_with_an_encrypted_index_gets_no_other() -> None:
    secret = column("ssn", candidate("bloomfilter", 10, {"equal": 1.0}), has_nulls=True, is_secret=True)
    found = choose(secret, ordered("ts"), asked=workload(("ssn", ("equal", "null"))))
    assert short(found) == [("add", "minmax(ts)", "rules_out"), ("none", "ssn", "encrypted")]


def test_words_are_measured_by_filters_of_words() -> None:
    """Every word is in one of four files, or in all."""
    texts = [f"the log{i} line" for i in range(4)]
    bounds = pa.StructArray.from_arrays([pa.array(texts), pa.array(texts)], ["min", "max"])
    filters = pa.array([made([word.encode() for word in text.split()], 0.0001) for text in texts], pa.binary())
    found = measured({"minmax": Collected(bounds, 0), "tokenbloom": Collected(filters, 0)}, 4, 0.01)
    # of the six words, four are in one file each, and two in all: (4 * 3 + 0) / (6 * 4)
    shares = {each.index_type: each.shares for each in found.candidates}
    assert shares["tokenbloom"] == {"words": pytest.approx(0.5)}
