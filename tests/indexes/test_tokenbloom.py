"""TokenBloom skips files by words. Rules: specs/pruning.rst, [PRU-TB]."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.soundness.checking import ALL, NONE, family
from xskip import TokenBloom
from xskip.errors import UnsupportedTypeError
from xskip.indexes.tokenbloom import Part, whole_words

FILES: dict[str, list[Any]] = {
    "errors": [("ERROR disk_0 is full: retry in 5s",), ("warn; disk_1",)],
    "users": [("user ann logged in",), ("user bob-2 logged out",), (None,)],
    "wide": [("café ouvert, naïve",), ("straße\tüber",)],
    "empty": [("",), ("...",)],
    "nulls": [(None,)],
}
CASES = {
    "t = 'user ann logged in'": "users",
    "t = 'user ann'": "users",  # both words occur there, each in some row
    "t = 'ann ERROR'": NONE,
    "t in ('user ann', 'warn; disk_1')": "errors users",
    "t like 'ERROR disk%'": "errors",
    "t like 'user x%'": "users",  # x may go on
    "t like 'warn bob%'": "errors",
    "t like '% ann %'": "users",
    "t like '% an %'": NONE,
    "t like '%ann%'": ALL,  # may be a part of a word
    "t like '%disk_0 is%'": ALL,
    "t like '%disk|_0 is full%' escape '|'": "errors",
    "t like '%full:%in%5s'": ALL,  # every word may go on
    "t like '% full:%in 5s'": "errors",
    "t like '%-2 logged%'": "users",
    "contains(t, ' bob-2 ')": "users",
    "contains(t, ' bob-3 ')": NONE,
    "endswith(t, ' in')": "errors users",  # the word occurs in both
    "endswith(t, ': out')": "users",
    "endswith(t, ' nowhere')": NONE,
    "startswith(t, 'straße ')": "wide",
    "t like '% ouvert,%'": "wide",
    "t like '%é ouvert,%'": "wide",
    "t like 'caf ouvert,%'": NONE,
    "t = ''": ALL,
    "t like '%.%'": ALL,
    "not (t like '% ann %')": ALL,
    "t > 'zzz zzz'": ALL,
    "t like '% ann %' or t like '% zebra %'": "users",
    "t rlike ' ann '": ALL,
}


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_leaf(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str) -> None:
    """[PRU-TB-1] [PRU-TB-2] [PRU-TB-3] Filters read exactly the expected files, by the words that must be complete."""
    made = family(spark, tmp_path_factory.mktemp("words"), "t string", FILES, {}, fmt=fmt)
    made.add("words", [TokenBloom("t", fpp=1e-6)])
    made.check("words", CASES)


def test_ill_formed_texts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[PRU-TB-2] Bytes that are not UTF-8 belong to words, and LIKE matches them with U+FFFD."""
    made = family(spark, tmp_path_factory.mktemp("bytes"), "b binary", {"odd": [(b"ab \xff\xfe cd",)]}, {})
    target = made.root / "plain"
    spark.read.parquet(str(target)).selectExpr("cast(b as string) t").coalesce(1).write.parquet(
        str(made.root / "texts")
    )
    made.root.joinpath("plain").rename(made.root / "binary")
    made.root.joinpath("texts").rename(target)
    made.add("words", [TokenBloom("t", fpp=1e-6)])
    (only,) = made.names
    made.check("words", {
        "contains(t, cast(X'20FFFE20' as string))": only,
        "contains(t, cast(X'20FFFF20' as string))": NONE,
        "t like '_b \ufffd\ufffd c_'": only,
        "t like '_b \ufffd\ufffd xd c_'": NONE,
        "t like '% cd'": only,
        "t like '% xy'": NONE,
    })  # fmt: skip


def test_whole_words() -> None:
    """[PRU-TB-2] A word at an open end of a text may continue, so that it is not complete."""
    text = "a_1 b-ç".encode()
    assert whole_words(Part(text, is_start=True, is_end=True)) == (b"a_1", b"b", "ç".encode())
    assert whole_words(Part(text, is_start=False, is_end=False)) == (b"b",)
    assert whole_words(Part(b" a ", is_start=False, is_end=False)) == (b"a",)


def test_definitions() -> None:
    """Only string columns are accepted."""
    with pytest.raises(UnsupportedTypeError):
        TokenBloom("t").storage(["binary"])
