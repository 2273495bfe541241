"""Tests of custom metadata: which values count, and which stream keys a condition selects."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from xskip.quixlake.custom_metadata import CURRENT, DOCUMENT, current_values, keys_with, rows_of


def at(second: int | None) -> datetime.datetime | None:
    return None if second is None else datetime.datetime.fromtimestamp(second, datetime.timezone.utc)


def table(*rows: tuple[Any, ...]) -> pa.Table:
    values = [("t", "k", name, value, flag, at(time)) for name, value, flag, time in rows]
    return pa.Table.from_pylist([dict(zip(DOCUMENT.names, row, strict=True)) for row in values], DOCUMENT)


def values(*rows: tuple[Any, ...]) -> dict[str, str | None]:
    found = current_values(table(*rows))
    assert found.schema.equals(CURRENT)
    return dict(zip(found["name"].to_pylist(), found["value"].to_pylist(), strict=True))


def test_the_latest_value_counts() -> None:
    """[QLK-CM-1]"""
    assert values(("a", "1", "False", 1), ("a", "2", "False", 2), ("b", "3", None, None)) == {"a": "2", "b": "3"}
    assert values(("a", "1", "False", -5), ("a", "2", "False", None)) == {"a": "1"}
    assert values(("a", "1", "False", 1), ("a", None, "False", 2)) == {"a": None}
    assert values() == {}


def test_ties() -> None:
    """[QLK-CM-2]"""
    assert values(("a", "1", "False", 1), ("a", "9", "True", 1)) == {}
    assert values(("a", "10", "False", 1), ("a", "9", "False", 1), ("a", None, "False", 1)) == {"a": "9"}


def test_flags_of_deletion() -> None:
    """[QLK-CM-3]"""
    flags = ("True", "TRUE", "true", " True ")
    assert values(*((str(i), "v", flag, 1) for i, flag in enumerate(flags))) == {}
    kept = ("False", "false", "", None, "yes", "1")
    assert values(*((str(i), "v", flag, 1) for i, flag in enumerate(kept))) == {str(i): "v" for i in range(6)}
    assert values(("a", "v", "True", 1), ("a", "w", "False", 2)) == {"a": "w"}


def test_columns_in_other_forms() -> None:
    odd = pa.table({"topic": ["t"], "key": ["k"], "metadata_key": ["a"], "metadata_value": [5], "delete_flag": [True],
                    "updated_utc": [7000]})  # fmt: skip
    (row,) = (rows_of(odd) or pa.table({})).to_pylist()
    assert row == dict(zip(DOCUMENT.names, ("t", "k", "a", "5", "true", at(7)), strict=True))
    assert rows_of(pa.table({"x": [1]})) is None
    (row,) = (rows_of(pa.table({"MetadataKey": ["a"], "UpdatedUtc": [[1]]})) or pa.table({})).to_pylist()
    assert row == dict.fromkeys(DOCUMENT.names) | {"MetadataKey": "a"}


def test_columns_that_a_file_has_twice() -> None:
    """[QLK-CM-1] The first one counts, whatever its case."""
    names = ["MetadataKey", "metadata_key", "MetadataKey", "MetadataValue"]
    rows = rows_of(pa.table([pa.array([text]) for text in ("a", "b", "c", "v")], names))
    assert rows is not None
    assert rows.select(["MetadataKey", "MetadataValue"]).to_pylist() == [{"MetadataKey": "a", "MetadataValue": "v"}]


def test_conditions_select_keys() -> None:
    """[QLK-CM-5]"""
    rows = [
        ("t", "k", "site", "Oslo"),
        ("t", "k", "unit", "C"),
        ("t", "l", "site", "Rome"),
        ("t", None, "site", "Oslo"),
    ]
    current = pa.Table.from_pylist([dict(zip(CURRENT.names, row)) for row in rows], CURRENT)  # noqa: B905 - no times
    assert keys_with(current, {"site": "Oslo"}) == {("t", "k"), ("t", None)}
    assert keys_with(current, {"site": ["Oslo", "Rome"]}) == {("t", "k"), ("t", "l"), ("t", None)}
    assert keys_with(current, {"site": "Oslo", "unit": "C"}) == {("t", "k")}
    assert keys_with(current, {"site": "Bern"}) == keys_with(current, {"none": "Oslo"}) == set()


ROWS = st.tuples(st.sampled_from("ab"), st.sampled_from(["1", "2", None]), st.sampled_from(["True", "False", None]),
                 st.sampled_from([None, 1, 2]))  # fmt: skip


@given(st.lists(ROWS, max_size=8), st.randoms())
def test_the_order_of_rows_does_not_matter(rows: list[Any], random: Any) -> None:
    """[QLK-CM-1] [QLK-CM-2]"""
    expected = {}
    for name in "ab":
        own = [(-9 if t is None else t, f == "True", v is not None, v or "") for n, v, f, t in rows if n == name]
        if own and not max(own)[1]:
            expected[name] = max(own)[3] or None
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert values(*rows) == values(*shuffled) == expected
