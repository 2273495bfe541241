"""Mappings of limited size. No Spark needed."""

from __future__ import annotations

from xskip.engine.bounded_map import BoundedMap


def test_the_first_entries_leave() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    assert entries.put("a", 1) == entries.put("b", 2) == []
    assert entries.put("c", 3) == ["a"]
    assert (entries.get("a"), entries.get("b"), entries.get("c")) == (None, 2, 3)


def test_an_entry_that_is_put_again_is_the_last() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        assert entries.put(key, value) == []
    assert entries.keys() == ["b", "a"]
    assert entries.put("c", 4) == ["b"]
    assert entries.get("a") == 3


def test_reading_changes_no_order() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    entries.put("a", 1)
    entries.put("b", 2)
    assert entries.get("a") == 1
    assert entries.put("c", 3) == ["a"]


def test_discarded_entries_make_room() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    entries.put("a", 1)
    entries.put("b", 2)
    entries.discard("a")
    entries.discard("x")
    assert entries.put("c", 3) == []
    assert entries.keys() == ["b", "c"]
