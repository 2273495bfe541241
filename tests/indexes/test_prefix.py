"""Prefix skips files by prefixes of strings. Rules: specs/pruning.rst, [PRU-PX]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.indexes.written import lists_of
from tests.soundness.checking import ALL, NONE, family
from xskip import Index, Prefix
from xskip.errors import IndexDefinitionError, UnsupportedTypeError

SCHEMA = "s string, b binary"
FILES: dict[str, list[Any]] = {
    "abc": [("abcd", b"\x01\xff"), ("abce", b"\x01\xff\x00"), ("abcd", None)],
    "ab": [("ab", b"\x01"), (None, b"")],
    "b": [("bcd", b"\xff\xff\xff\xff"), ("bce", b"\xff\xff\xff")],
    "wide": [("é€", b"\x02"), ("\U0001f600", b"\x02"), ("\ufffdx", b"\x02")],
    "nulls": [(None, None)],
    "many": [(f"{n:03}", bytes([n, n, n])) for n in range(9)],
}
CASES = {
    "s = 'abcd'": "abc many",
    "s = 'abcx'": "abc many",  # begins as one does
    "s = 'ab'": "ab many",
    "s = 'abx'": "many",
    "s in ('zz', 'bcd', 'ab')": "ab b many",
    "s in ('zz', null)": "many",
    "s like 'a%'": "abc ab many",
    "s like 'abcdefg%'": "abc many",
    "s like 'abz%'": "many",
    "s like 'bc%' and s like '%d'": "b many",
    "s not like 'ab%'": "b wide many",
    "s not like 'abcd%'": "abc ab b wide many",
    "s < 'ab'": "many",
    "s <= 'ab'": "ab many",
    "s < 'abcd'": "abc ab many",
    "s > 'bce'": "b wide many",
    "s > 'bcf'": "wide many",
    "s >= 'é'": "wide many",
    "s <> 'ab'": "abc b wide many",
    "s not in ('ab')": "abc b wide many",
    "s not in ('ab', null)": NONE,
    "s not in ('ab', 'zz')": "abc b wide many",
    "s not in ('abc', 'abcd')": "abc ab b wide many",  # prefixes of three bytes have other continuations
    "s not in ('ab', 'zz', null)": NONE,
    "s is not null": "abc ab b wide many",
    "s is null": ALL,
    "s <=> 'ab'": "ab many",
    "not (s > 'ab')": "ab many",
    "b = X'01ff'": "abc many",
    "b = X'01'": "ab many",
    "b = X''": "ab many",
    "b > X'ffffff'": "b many",
    "b >= X'ffffffffff'": "b many",
    "b between X'02' and X'03'": "wide many",
    "upper(s) = 'AB'": "abc ab b wide many",  # a function is not answered, but that s is not NULL
}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_leaf(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str) -> None:
    """[PRU-PX-1] [PRU-PX-2] [PRU-PX-3] Filters read exactly the expected files, by prefixes of three bytes."""
    made = family(spark, tmp_path_factory.mktemp("prefix"), SCHEMA, FILES, {}, fmt=fmt)
    index = made.add("prefix", [Prefix(c, length=3, max_values=8) for c in ("s", "b")])
    made.check("prefix", CASES)
    found = lists_of(index, "prefix", "s")
    assert found["abc"] == {b"abc"}
    assert found["wide"] == {"é€".encode()[:3], "\U0001f600".encode()[:3], "\ufffd".encode()}
    assert found["many"] is None
    assert found["nulls"] == set()


def test_lengths(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[PRU-PX-1] A length of one byte works, and a length beyond every string gives a list of values."""
    made = family(spark, tmp_path_factory.mktemp("lengths"), SCHEMA, FILES, {})
    made.add("one", [Prefix("s", length=1)])
    made.add("whole", [Prefix("s", length=100)])
    made.check(
        "one", {"s = 'abx'": "abc ab", "s like 'b%'": "b", "s >= 'c'": "wide", "s <> 'ab'": "abc ab b wide many"}
    )
    made.check("whole", {"s = 'abx'": NONE, "s = 'bcd'": "b", "s like 'abc%'": "abc", "s > 'bcd'": "b wide"})


def test_definitions() -> None:
    """Invalid definitions are refused."""
    builds: tuple[Callable[[], Index], ...] = (
        lambda: Prefix("s", length=0),
        lambda: Prefix("s", max_values=0),
        lambda: Prefix(""),
    )
    for build in builds:
        with pytest.raises(IndexDefinitionError):
            build()
    with pytest.raises(UnsupportedTypeError, match="Prefix cannot index this type"):
        Prefix("s").storage(["int"])
