"""Predicates are translated into clauses, whose verdicts agree with an exact oracle over random data."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pruning.cases import (
    BLOOMED,
    Case,
    cases,
    collected,
    defined,
    distinct,
    files,
    leaves,
    rows_of,
    translated,
)
from tests.reference import POOLS, leaf_truth, order, truth
from xskip import MinMax
from xskip.clauses.clause import AllOf, Always, AnyOf, Clause, Undetermined
from xskip.clauses.index_clause import ColumnClause
from xskip.clauses.partition import PartitionClause
from xskip.column_paths import split_path
from xskip.expressions.condition_reasons import (
    AnotherType,
    MissingIndex,
    OtherReason,
    PartitionMismatch,
    UnansweredCondition,
)
from xskip.expressions.operands import Call, Cast, Column
from xskip.expressions.predicate import (
    And,
    ColumnComparison,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    Unknown,
    negate,
)
from xskip.indexes import registry
from xskip.metadata.table import IndexDefinition, IndexKey, MetadataTable, PartitionColumn, PartitionKey
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import UnusedPart, prune, requirements
from xskip.results.clause_outcomes import ClauseOutcome, outcomes_of, unused_texts
from xskip.types.datatypes import Array, Bloom, Storage, Struct

# --- filter => clause, as text ------------------------------------------------------------------------------------

FIXTURE = (Path(__file__).with_name("translations.txt")).read_text().splitlines()
LINES = [line for line in FIXTURE if line and not line.startswith("#")]
HEADS = [line.split() for line in LINES if " => " not in line]
CASES = [tuple(part.strip() for part in line.split(" => ", 1)) for line in LINES if " => " in line]
TOKEN = re.compile(
    r"\s*(unknown\([^)]*\)|'[^']*'|-?\d+(?:\.\d+)?|(?:`[^`]*`|\w+)(?:\.(?:`[^`]*`|\w+))*|<=|>=|!=|[=<>(),])"
)


AVAILABLE = IndexCatalog(
    tuple(defined(*head[1:]) for head in HEADS if head[0] == "index"),
    {head[1]: head[2] for head in HEADS if head[0] == "partition"},
)
TYPES = {head[-2].lower(): head[-1] for kind in ("index", "partition", "column") for head in HEADS if head[0] == kind}


class FilterText:
    """A recursive-descent parser of the fixture's filters."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = TOKEN.findall(text)
        assert "".join(self.tokens).replace(" ", "") == text.replace(" ", ""), text

    def peek(self, *words: str) -> bool:
        return [t.upper() for t in self.tokens[: len(words)]] == list(words)

    def accept(self, *words: str) -> bool:
        found = self.peek(*words)
        if found:
            del self.tokens[: len(words)]
        return found

    def next(self) -> str:
        return self.tokens.pop(0)

    def whole(self) -> Predicate:
        found = self.any_of()
        assert not self.tokens, self.tokens
        return found

    def any_of(self) -> Predicate:
        parts = [self.all_of()]
        while self.accept("OR"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def all_of(self) -> Predicate:
        parts = [self.single()]
        while self.accept("AND"):
            parts.append(self.single())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def single(self) -> Predicate:
        if self.accept("NOT"):
            return negate(self.single())
        if self.accept("("):
            found = self.any_of()
            assert self.accept(")")
            return found
        for word, value in (("TRUE", True), ("FALSE", False), ("NULL", None)):
            if self.accept(word):
                return Constant(value)
        if self.tokens[0].startswith("unknown("):
            return Unknown(OtherReason(self.next()[len("unknown(") : -1]))
        return self.leaf()

    def leaf(self) -> Predicate:
        if re.fullmatch(r"-?\d.*|'.*'", self.tokens[0]):
            raw, op, operand = self.next(), Op(self.next()), self.operand()
            return Comparison(op.flipped, operand, self.value(raw))
        operand = self.operand()
        if self.accept("IS", "NULL"):
            return IsNull(operand)
        if self.accept("IS", "NOT", "NULL"):
            return IsNotNull(operand)
        if self.accept("NOT", "LIKE"):
            return NotStartsWith(operand, self.value(self.next())[:-1])
        if self.accept("LIKE"):
            return StartsWith(operand, self.value(self.next())[:-1])
        if self.accept("NOT", "IN"):
            return negate(self.members(operand))
        if self.accept("IN"):
            return self.members(operand)
        return Comparison(Op(self.next()), operand, self.value(self.next()))

    def members(self, operand: Cast | Column) -> In:
        assert self.accept("(")
        raw = []
        while not self.accept(")"):
            raw.append(self.next())
            self.accept(",")
        return In(operand, tuple(self.value(r) for r in raw if r != "NULL"), has_null="NULL" in raw)

    def operand(self) -> Cast | Column:
        if self.accept("CAST"):
            assert self.accept("(")
            column = self.operand()
            assert isinstance(column, Column)
            assert self.accept("AS")
            kind = self.next()
            assert self.accept(")")
            return Cast(column, kind)
        name = self.next()
        return Column(split_path(name), TYPES.get(name.lower(), "int"))

    def value(self, raw: str) -> Any:
        return raw[1:-1].encode() if raw.startswith("'") else float(raw) if "." in raw else int(raw)


def key_of(clause: Clause) -> IndexKey | str:
    """Return the index or the partition column that a clause about one leaf reads."""
    assert isinstance(clause, ColumnClause | PartitionClause)
    return clause.requires


def described(clause: Clause, *, inner: bool = False) -> str:
    match clause:
        case AllOf(children) | AnyOf(children):
            joined = (" & " if isinstance(clause, AllOf) else " | ").join(described(c, inner=True) for c in children)
            return f"({joined})" if inner else joined
        case Always(verdict):
            return str(verdict).upper()
        case Undetermined(_, reason):
            return f"? ({reason})"
        case _:
            assert isinstance(clause, ColumnClause | PartitionClause)
            asked = clause.requires
            name = f"partition({asked})" if isinstance(asked, str) else f"{asked[0]}({', '.join(asked[1])})"
            return f"{name}: {clause.leaf}"


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_translation(text: Any, expected: Any) -> None:
    """[PRU-V-7] [PRU-N-4] [PRU-MM-6] [PRU-VL-4] [PRU-BF-1] [PRU-PC-1] Filters become the expected clauses."""
    assert described(translate(FilterText(text).whole(), AVAILABLE)) == expected


def test_the_fixture_has_cases() -> None:
    assert len(CASES) > 40


# --- names, types, requirements -----------------------------------------------------------------------------------

INT = Column(("a",), "int")
BIG = Column(("a",), "bigint")


def clause_of(predicate: Predicate, *indexes: tuple[IndexDefinition, Storage], **other: Any) -> Clause:
    return translate(predicate, IndexCatalog(indexes, **other))


def test_names_are_told_apart_by_case_only_where_the_session_does() -> None:
    """[SND-29] [PRU-V-7]"""
    upper = Comparison(Op.EQ, Column(("A",), "int"), 1)
    assert key_of(clause_of(upper, defined("minmax", "a", "int"))) == ("minmax", ("a",))
    sensitive = clause_of(upper, defined("minmax", "a", "int"), case_sensitive=True)
    assert sensitive == Undetermined((upper,), MissingIndex("A"))
    both = (defined("minmax", "a", "int"), defined("minmax", "A", "int"))
    assert key_of(clause_of(upper, *both, case_sensitive=True)) == ("minmax", ("A",))


def test_partition_names_and_case() -> None:
    """[SND-29] [PRU-V-7] The names of partition columns are case-sensitive only if the session is."""
    leaf = IsNull(Column(("REGION",), "string"))
    assert key_of(clause_of(leaf, partitions={"Region": "string"})) == "Region"
    sensitive = clause_of(leaf, partitions={"Region": "string"}, case_sensitive=True)
    assert sensitive == Undetermined((leaf,), MissingIndex("REGION"))


def test_a_partition_column_is_asked_before_an_index_of_the_same_name() -> None:
    """[SND-29] [PRU-PC-4]"""
    found = clause_of(Comparison(Op.EQ, INT, 1), defined("minmax", "a", "int"), partitions={"a": "int"})
    assert key_of(found) == "a"


def test_a_dotted_name_is_not_a_field() -> None:
    """[SND-29] [PRU-V-7]"""
    dotted, nested = Column(("a.b",), "int"), Column(("a", "b"), "int")
    both = (defined("minmax", "`a.b`", "int"), defined("minmax", "a.b", "int"))
    assert key_of(clause_of(Comparison(Op.EQ, dotted, 1), *both)) == ("minmax", ("`a.b`",))
    assert key_of(clause_of(Comparison(Op.EQ, nested, 1), *both)) == ("minmax", ("a.b",))


def test_a_partition_column_whose_type_differs() -> None:
    """[SND-30] [PRU-RD-3] A partition column is not used if its recorded type differs from the query's type."""
    leaf = Comparison(Op.EQ, Column(("p",), "string"), b"1")
    found = clause_of(leaf, partitions={"p": "int"})
    assert found == Undetermined((leaf,), AnotherType("p", "string", "int"))
    assert str(found.reason) == "partition column p was int when indexed and is string in the query"


@pytest.mark.parametrize(
    ("definition", "storage"),
    [
        (IndexDefinition("minmax", ("a",), types=("int",)), Struct((("min", "int"), ("max", "int")))),
        (IndexDefinition("minmax", ("a",)), Struct((("min", "int"), ("max", "int")))),
        (IndexDefinition("valuelist", ("a",), types=("int",)), Array("int")),
        (IndexDefinition("valuelist", ("a",)), Array("int")),
        (IndexDefinition("bloomfilter", ("a",), types=("int",)), Bloom()),
        (IndexDefinition("bloomfilter", ("a",)), Bloom()),
    ],
    ids=lambda part: f"{part.name}-{'typed' if part.types else 'untyped'}" if hasattr(part, "types") else "",
)
def test_a_column_whose_type_differs(definition: Any, storage: Any) -> None:
    """[SND-23] [SND-25] [SND-31] [PRU-RD-3] [PRU-RD-4] An index of another type is not used."""
    found = clause_of(Comparison(Op.EQ, BIG, 1), (definition, storage))
    assert found == Undetermined((Comparison(Op.EQ, BIG, 1),), AnotherType("a", "bigint"))
    assert str(found.reason) == "column a is bigint in the query, but had another type when it was indexed"
    same = clause_of(Comparison(Op.EQ, INT, 1), (definition, storage))
    assert isinstance(same, Undetermined) == (storage == Bloom() and not definition.types)


def test_an_interval_is_of_its_own_unit_range_where_that_is_recorded() -> None:
    """[PRU-RD-3]"""
    definition, storage = defined("minmax", "a", "interval day")
    hours = Comparison(Op.EQ, Column(("a",), "interval hour"), 1)
    days = Comparison(Op.EQ, Column(("a",), "interval day"), 1)
    assert key_of(clause_of(days, (definition, storage))) == definition.key
    assert isinstance(clause_of(hours, (definition, storage)), Undetermined)
    assert key_of(clause_of(hours, (IndexDefinition("minmax", ("a",)), storage))) == definition.key


def test_one_index_of_the_right_type_is_enough() -> None:
    """[PRU-RD-3]"""
    found = clause_of(Comparison(Op.EQ, BIG, 1), defined("minmax", "a", "int"), defined("valuelist", "a", "bigint"))
    assert key_of(found) == ("valuelist", ("a",))


def test_an_index_of_a_kind_that_is_not_known_is_passed_over() -> None:
    """[PRU-V-7]"""
    foreign = (IndexDefinition("geo", ("a",), types=("int",)), Struct((("min", "int"), ("max", "int"))))
    found = clause_of(Comparison(Op.EQ, INT, 1), foreign)
    assert found == Undetermined((Comparison(Op.EQ, INT, 1),), UnansweredCondition("a", ("geo",)))
    assert str(found.reason) == "the index on a (geo) cannot answer this condition"
    beside = clause_of(Comparison(Op.EQ, INT, 1), foreign, defined("minmax", "a", "int"))
    assert key_of(beside) == ("minmax", ("a",))


def test_an_index_over_two_columns_answers_for_neither() -> None:
    """[PRU-V-7]"""
    pair = (IndexDefinition("minmax", ("a", "b"), types=("int", "int")), Struct((("min", "int"), ("max", "int"))))
    found = clause_of(Comparison(Op.EQ, INT, 1), pair)
    assert found == Undetermined((Comparison(Op.EQ, INT, 1),), UnansweredCondition("a", ("minmax",)))
    assert str(found.reason) == "the index on a (minmax) cannot answer this condition"


def test_requirements_are_what_the_questions_read() -> None:
    predicate = And(
        (
            Comparison(Op.EQ, INT, 1),
            Or((IsNull(Column(("p",), "int")), Unknown(OtherReason("why")))),
            Constant(True),
            Comparison(Op.EQ, Column(("z",), "int"), 1),
        )
    )
    clause = clause_of(
        predicate, defined("minmax", "a", "int"), defined("valuelist", "a", "int"), defined("minmax", "other", "int"),
        partitions={"p": "int", "q": "int"},
    )  # fmt: skip
    assert requirements(clause) == {("minmax", ("a",)), ("valuelist", ("a",)), PartitionKey("p")}
    assert requirements(Always(True)) == frozenset()


# --- the outcome --------------------------------------------------------------------------------------------------


def test_the_outcome_names_what_each_clause_ruled_out_and_what_could_not_be_used() -> None:
    """[PRU-V-2]"""
    minmax = collected("minmax", "a", "int", [[1, 2], [5], [None], None])
    table = MetadataTable(files(4), {"p": PartitionColumn("p", "int", pa.array([1, 1, 1, 2], pa.int32()))}, minmax)
    catalog = IndexCatalog(tuple((c.definition, c.storage) for c in minmax.values()), {"p": "int"})
    why = Unknown(OtherReason("a function"))
    predicate = And((Comparison(Op.GT, INT, 2), Comparison(Op.EQ, Column(("p",), "int"), 1), why, why))
    result = prune(translate(predicate, catalog), table)
    assert result.skip.tolist() == [True, False, True, True]
    outcomes = (ClauseOutcome("a > ?", "minmax(a)", 2), ClauseOutcome("p = ?", "partition(p)", 1))
    assert outcomes_of(result) == outcomes
    assert result.unused == (UnusedPart((why,), OtherReason("a function")),)
    assert unused_texts(result) == (("?", "a function"),)


def test_conditions_that_differ_only_in_values_are_reported_once() -> None:
    """[PRU-V-2]"""
    either = Or((Comparison(Op.EQ, INT, 1), Comparison(Op.EQ, INT, 2)))
    result = prune(translate(either, IndexCatalog(())), MetadataTable(files(2)))
    assert unused_texts(result) == (("a = ?", "there is no index on a"),)


def test_the_outcome_counts_the_kept_files_whose_statistics_are_unknown() -> None:
    """[PRU-V-2]"""
    minmax = collected("minmax", "a", "int", [[1, 2], [5], [None], None, None])
    table = MetadataTable(files(5), {"p": PartitionColumn("p", "int", pa.array([1, 1, 1, 2, 1], pa.int32()))}, minmax)
    catalog = IndexCatalog(tuple((c.definition, c.storage) for c in minmax.values()), {"p": "int"})
    predicate = And((Comparison(Op.GT, INT, 2), Comparison(Op.EQ, Column(("p",), "int"), 1)))
    result = prune(translate(predicate, catalog), table)
    assert result.skip.tolist() == [True, False, True, True, False]
    assert [(each.ruled_out, each.unknown) for each in result.counts] == [(2, 1), (1, 0)]


def test_or_across_a_partition_and_a_data_column() -> None:
    """[SND-7] [SND-30] [PRU-V-1] An OR skips a file only if both columns rule the file out."""
    minmax = collected("minmax", "a", "int", [[1], [1], [9], [9], None])
    table = MetadataTable(files(5), {"p": PartitionColumn("p", "int", pa.array([1, 2, 1, 2, 2], pa.int32()))}, minmax)
    catalog = IndexCatalog(tuple((c.definition, c.storage) for c in minmax.values()), {"p": "int"})
    either = Or((Comparison(Op.EQ, INT, 9), Comparison(Op.EQ, Column(("p",), "int"), 1)))
    assert prune(translate(either, catalog), table).skip.tolist() == [False, True, False, False, False]
    open_leg = Or((Comparison(Op.EQ, INT, 9), Comparison(Op.EQ, Column(("b",), "int"), 1)))
    assert prune(translate(open_leg, catalog), table).skip.tolist() == [False] * 5


@pytest.mark.parametrize(("value", "skips"), [(True, False), (False, True), (None, True)])
def test_a_constant_filter(value: Any, skips: bool) -> None:
    """[PRU-V-8] Constants that are not TRUE skip all files."""
    result = prune(translate(Constant(value), IndexCatalog(())), MetadataTable(files(2)))
    assert result.skip.tolist() == [skips, skips]


def test_an_unknown_filter_keeps_everything() -> None:
    """[SND-33] [PRU-V-2]"""
    result = prune(translate(Unknown(OtherReason("rand")), IndexCatalog(())), MetadataTable(files(2)))
    assert (result.skip.tolist(), unused_texts(result)) == ([False, False], (("?", "rand"),))


def test_no_files() -> None:
    """[SND-36] A table without files gives an empty mask."""
    minmax = collected("minmax", "a", "int", [])
    clause = clause_of(In(INT, (1, 2)), defined("minmax", "a", "int"))
    assert prune(clause, MetadataTable(files(0), {}, minmax)).skip.tolist() == []


# --- the exact oracle ---------------------------------------------------------------------------------------------


def skipped(case: Case) -> list[bool]:
    found: list[bool] = prune(*translated(case)).skip.tolist()
    return found


def test_no_file_with_a_matching_row_is_skipped() -> None:
    """[SND-42] [PRU-V-2] Random indexes and predicates agree with brute force over random rows."""
    seen = {"skipped": 0, "kept with a match": 0, "files": 0}

    @settings(max_examples=500)
    @given(cases())
    def check(case: Case) -> None:
        for skip, data in zip(skipped(case), case.data, strict=True):
            match = any(truth(case.predicate, row) is True for row in data)
            assert not (skip and match)
            seen["files"] += 1
            seen["skipped"] += skip
            seen["kept with a match"] += match

    check()
    assert seen["skipped"] > seen["files"] / 20, seen
    assert seen["kept with a match"] > seen["files"] / 20, seen


@st.composite
def single_leaves(draw: st.DrawFn) -> tuple[str, Any, list[list[Any]]]:
    kind = draw(st.sampled_from(list(POOLS)))
    return kind, draw(leaves("a", kind)), draw(st.lists(rows_of(kind), min_size=1, max_size=6))


def kept_by(index: str, kind: str, leaf: Any, data: list[list[Any]]) -> list[bool]:
    indexes = collected(index, "a", kind, data)
    catalog = IndexCatalog(tuple((c.definition, c.storage) for c in indexes.values()))
    table = MetadataTable(files(len(data)), {}, indexes)
    kept: list[bool] = (~prune(translate(leaf, catalog), table).skip).tolist()
    return kept


def assert_kept_exactly(index: str, could_match: Callable[[Any, list[Any]], bool]) -> None:
    seen = {True: 0, False: 0}

    @settings(max_examples=800)
    @given(single_leaves())
    def check(case: tuple[str, Any, list[list[Any]]]) -> None:
        kind, leaf, data = case
        if isinstance(leaf, IsNull):
            return
        expected = [could_match(leaf, rows) for rows in data]
        assert kept_by(index, kind, leaf, data) == expected
        for keep in expected:
            seen[keep] += 1

    check()
    assert min(seen.values()) > 50, seen


def test_what_a_valuelist_keeps_of_a_leaf_is_exactly_what_holds_a_match() -> None:
    """[PRU-VL-1]"""
    assert_kept_exactly("valuelist", lambda leaf, rows: any(leaf_truth(leaf, v) is True for v in rows))


def some_value_between_could_match(leaf: Any, low: Any, high: Any) -> bool:
    """Return whether a value in [low, high] matches, in an order without gaps, by a test of the decisive values."""
    wanted: dict[type, Callable[[], Any]] = {
        Comparison: lambda: [leaf.value],
        In: lambda: leaf.values,
        NotIn: lambda: leaf.values,
    }
    tried = wanted.get(type(leaf), list)()
    tried = [low, high, *tried, *([leaf.prefix] if isinstance(leaf, (StartsWith, NotStartsWith)) else [])]
    if any(leaf_truth(leaf, v) for v in tried if order(low) <= order(v) <= order(high)):
        return True
    # a value in the gap between low and high may be in no list
    return isinstance(leaf, NotIn) and not leaf.has_null and order(low) < order(high)


def test_what_minmax_keeps_of_a_leaf_is_exactly_what_could_match_between_the_bounds() -> None:
    """[PRU-MM-1]"""

    def between_bounds(leaf: Any, rows: list[Any]) -> bool:
        ordered = sorted(distinct(rows), key=order)
        return bool(ordered) and some_value_between_could_match(leaf, ordered[0], ordered[-1])

    assert_kept_exactly("minmax", between_bounds)


def test_what_a_bloom_filter_keeps_holds_every_match() -> None:
    """[PRU-BF-1]"""
    seen = {True: 0, False: 0}

    @settings(max_examples=800)
    @given(single_leaves())
    def check(case: tuple[str, Any, list[list[Any]]]) -> None:
        kind, leaf, data = case
        if kind not in BLOOMED:
            return
        for keep, rows in zip(kept_by("bloomfilter", kind, leaf, data), data, strict=True):
            assert keep or not any(leaf_truth(leaf, v) is True for v in rows)
            seen[keep] += 1

    check()
    assert min(seen.values()) > 20, seen


@pytest.mark.parametrize(("metadata", "query"), [({"p": "int"}, {}), ({}, {"p": "int"})])
def test_a_partition_column_of_one_side_alone_answers_nothing(metadata: Any, query: Any) -> None:
    """[SND-30] [PRU-PC-5]"""
    minmax = (IndexDefinition("minmax", ("p",), types=("int",)), Struct((("min", "int"), ("max", "int"))))
    leaf = Comparison(Op.EQ, Column(("p",), "int"), 1)
    clause = translate(leaf, IndexCatalog((minmax,), metadata, query))
    assert clause == Undetermined((leaf,), PartitionMismatch("p"))
    assert key_of(translate(leaf, IndexCatalog((minmax,), {"p": "int"}, {"p": "int"}))) == "p"


@pytest.mark.parametrize(
    ("metadata", "query", "reason"),
    [
        ({"p": "int"}, {}, PartitionMismatch("p")),
        ({}, {"p": "int"}, PartitionMismatch("p")),
        ({"p": "bigint"}, {"p": "bigint"}, AnotherType("p", "int", "bigint")),
    ],
)
def test_a_comparison_with_such_a_partition_column_answers_nothing(metadata: Any, query: Any, reason: Any) -> None:
    """[SND-30] [PRU-PC-5]"""
    described = [
        (IndexDefinition("minmax", (name,), types=("int",)), Struct((("min", "int"), ("max", "int")))) for name in "ap"
    ]
    pair = ColumnComparison(Op.LT, Column(("a",), "int"), Column(("p",), "int"))
    clause = translate(pair, IndexCatalog(tuple(described), metadata, query))
    assert clause == Undetermined((pair,), reason)


def test_a_comparison_with_something_else_than_a_column_answers_nothing() -> None:
    described = IndexDefinition("minmax", ("a",), types=("int",)), Struct((("min", "int"), ("max", "int")))
    call = Call("key", "f", "int", (Column(("a",), "int"),))
    pair = ColumnComparison(Op.LT, Column(("a",), "int"), call)
    clause = translate(pair, IndexCatalog((described,)))
    assert clause == Undetermined((pair,), OtherReason("f(a) does not contain a column"))


@dataclass(frozen=True, slots=True)
class OfCalls(MinMax):
    """An index with the bounds of the results of a function."""

    name: ClassVar[str] = "ofcalls"
    of_calls: ClassVar[bool] = True

    def translate(self, leaf: Any, definition: IndexDefinition, storage: Any) -> Any:
        return MinMax("x").translate(replace(leaf, operand=Column(("x",), "int")), definition, storage)


def test_an_index_answers_calls_with_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-CU-1]"""
    monkeypatch.setattr(registry, "_TYPES", {**registry._TYPES, "ofcalls": OfCalls})
    definition = IndexDefinition("ofcalls", ("a",), types=("int",))
    described = definition, Struct((("min", "int"), ("max", "int")))

    def asked(kind: str, **catalog: Any) -> Any:
        leaf = Comparison(Op.EQ, Call("key", "f", "int", (5, Column(("A",), kind))), 7)
        return translate(leaf, IndexCatalog((described,), **catalog))

    assert asked("int").needs == (definition.key,)
    unknown = OtherReason("no registered implication of f applies")
    for clause in (
        asked("bigint"), asked("int", partitions={"a": "int"}), asked("int", queried={"a": "int"}),
        asked("int", case_sensitive=True),
    ):  # fmt: skip
        assert isinstance(clause, Undetermined)
        assert clause.reason == unknown
