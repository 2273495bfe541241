"""CHAR columns, which Spark pads when it reads or compares them, skip exactly the expected files.

Class: SND-28 (CHAR padding). The files hold padded and unpadded values, as different writers leave them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import SPARK_4, opened_files, write_once
from tests.soundness.checking import ALL, NONE, Family
from xskip import BloomFilter, Hybrid, Index, MinMax, NullCount, Prefix, SkippingIndex, TokenBloom, ValueList
from xskip.errors import IndexDefinitionError

#: Spark 3.5 adds no ``c IS NOT NULL`` to a condition on padded values, and no clause is left of one that is never TRUE.
NEVER = NONE if SPARK_4 else ALL

KINDS: dict[str, list[Index]] = {
    "minmax": [MinMax("c")],
    "valuelist": [ValueList("c")],
    "bloom": [BloomFilter("c", fpp=1e-6)],
    "hybrid": [Hybrid("c", max_values=1, fpp=1e-6)],
    "prefix": [Prefix("c", length=4)],
    "tokens": [TokenBloom("c", fpp=1e-6)],
    "nulls": [NullCount("c")],
}
FILES: dict[str, list[Any]] = {
    "ab": [("ab", 1), ("ab  ", 2)],
    "abpad": [("ab   ", 3), ("ab   ", 4)],
    "abtab": [("ab\t", 5), ("ab", 6)],
    "long": [("ab cd ef", 7), ("abcdefg", 8)],
    "z": [("z", 9), ("zz   ", 10)],
    "blank": [("", 11), ("  ", 12)],
    "null": [(None, 13), (None, 14)],
}
VALUES = "ab abpad abtab long z blank"


@dataclass
class Tables(Family):
    """Copies of files that queries read as tables with a column of type CHAR."""

    column: str = "c CHAR(5)"

    def read(self, copy: str) -> DataFrame:
        self.skipping(copy)
        return self.spark.table(self.name(copy))

    def skipping(self, copy: str) -> SkippingIndex:
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self.name(copy)} ({self.column}, i INT) USING {self.fmt} "
            f"LOCATION '{self.path(copy)}'"
        )
        return SkippingIndex.for_table(self.spark, self.name(copy))

    def name(self, copy: str) -> str:
        return f"char_{self.fmt}_{self.root.name.replace('-', '_')}_{copy}"


def filled(empty: Tables, kinds: Iterable[str], files: dict[str, list[Any]] = FILES) -> Tables:
    """Write the files and a copy for each kind of index, and return their tables."""
    write_once(empty.spark, empty.root / "plain", "c string, i int", files, empty.fmt, {})
    for kind in kinds:
        empty.add(kind, KINDS[kind])
    return empty


@pytest.fixture(scope="module")
def chars(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return filled(Tables(session, tmp_path_factory.mktemp("chars")), KINDS)


#: What each kind of index keeps of padded values.
PADDED: dict[str, dict[str, str]] = {
    "minmax": {
        "c = 'ab'": "ab abpad abtab",
        "c = 'ab   '": "ab abpad abtab",
        "'ab' = c": "ab abpad abtab",
        "c <=> 'ab'": "ab abpad abtab",
        "c = 'zz'": "z",
        "c = ''": "blank",
        "c = 'abcdefg'": "long",
        "c IN ('zz', 'y')": "z",
        "c IN ('zz', 'y', NULL)": ALL,  # Spark does not pad this list, so that it is NULL for all rows
        "c IN ('zz   ', NULL)": "z",
        "c <> 'ab'": "ab abtab long z blank",
        "NOT c IN ('ab', 'abcde')": "ab abtab long z blank",
        "c < 'ab'": "ab abtab blank",
        "c <= 'ab'": "ab abpad abtab blank",
        "c > 'ab'": "long z",
        "c >= 'ab'": "ab abpad abtab long z",
        "c > 'z'": "z",
        "c >= 'zz'": "z",
        "c BETWEEN 'ab' AND 'b'": "ab abpad abtab long",
        "c BETWEEN 'x' AND 'z'": "z",
        "c LIKE 'ab%'": "ab abpad abtab long",
        "c LIKE 'ab  %'": "ab abpad abtab",
        "c LIKE 'z   %'": "z",
        "c NOT LIKE 'ab%'": "z blank",
        "c LIKE 'z'": NEVER,  # Spark does not pad a pattern
        "startswith(c, '    ')": "blank",
        "c IS NOT NULL": VALUES,
        "c IS NULL": ALL,
    },
    "valuelist": {
        "c = 'ab'": "ab abpad abtab",
        "c <=> 'ab'": "ab abpad abtab",
        "NOT (c <=> 'ab')": ALL,
        "c = 'z'": "z",
        "c = ''": "blank",
        "c IN ('z', 'ab')": "ab abpad abtab z",
        "c <> 'ab'": "abtab long z blank",
        "c NOT IN ('ab', '')": "abtab long z",
        "c < 'ab'": "abtab blank",
        "c <= 'ab'": "ab abpad abtab blank",
        "c > 'ab'": "long z",
        "c >= 'ab'": "ab abpad abtab long z",
        "NOT (c >= 'ab')": "abtab blank",
        "c LIKE 'ab'": NEVER,
        "c LIKE 'ab   '": "ab abpad abtab",
        "c LIKE 'ab %'": "ab abpad abtab long",
        "c NOT LIKE 'ab %'": "abtab long z blank",
        "c LIKE '%z  %'": "z",
        "c LIKE '%d%'": "long",
        "upper(c) = 'AB   '": "ab abpad abtab",
        "trim(c) = 'zz'": "z",
        "length(c) = 5": "ab abpad abtab z blank",
        "coalesce(c, 'x') = 'ab   '": "ab abpad abtab",
        "c IS NOT NULL": VALUES,
    },
    "bloom": {
        "c = 'ab'": "ab abpad abtab",
        "c IN ('zz', 'y')": "z",
        "c = 'abcdefg'": ALL,  # a longer value can begin with the literal
        "c <> 'ab'": ALL,
        "c = 'q'": NONE,
    },
    "hybrid": {"c = 'ab'": "ab abpad abtab", "c = 'q'": NONE, "c IN ('z', 'y')": "z"},
    "prefix": {
        "c = 'ab'": "ab abpad abtab",
        "c > 'ab'": "ab abpad long z",  # the first bytes "ab  " stand for greater values
        "c > 'zz'": "z",
        "c LIKE 'z%'": "z",
        "c LIKE 'z   %'": "z",
        "c <= ''": "blank",
        "c <> 'abcde'": VALUES,
        "c >= 'b'": "z",
    },
    "tokens": {
        "c = 'ab'": "ab abpad abtab long",
        "c LIKE '% cd %'": "long",
        "c LIKE '%c%'": ALL,
        "c LIKE '%-q'": NONE,
        "c LIKE 'z   %'": "z",
        "c IN ('z', 'zz')": "z",
    },
    "nulls": {"c IS NULL": "null", "c IS NOT NULL": VALUES, "c = 'q'": VALUES},
}


@pytest.mark.parametrize("kind", KINDS)
def test_padding_on_reading(spark: SparkSession, chars: Tables, kind: str) -> None:
    """[SND-28] [PRU-CH-1] [PRU-CH-2] [PRU-CH-3] [PRU-CH-4] Padded values are tested against the values of files."""
    spark.conf.set("spark.sql.readSideCharPadding", "true")
    chars.check(kind, PADDED[kind])
    assert "readSidePadding" in chars.read(kind).filter("c = 'ab'")._jdf.queryExecution().optimizedPlan().toString()


def test_padding_of_comparisons(spark: SparkSession, chars: Tables) -> None:
    """[SND-28] [PRU-CH-6] Without padding on reading, Spark pads and cuts off what it compares."""
    spark.conf.set("spark.sql.readSideCharPadding", "false")
    chars._oracle.clear()
    try:
        compared = {
            "c = 'ab'": "ab abpad abtab",
            "c IN ('zz', 'y')": "z",
            "c = 'abcde'": "long",
            "c = 'q'": NONE,
            "c > 'ab'": "long z",
            "c <= 'ab'": "ab abpad abtab blank",
            "c LIKE 'ab %'": "ab abpad long",
            "c LIKE 'z%'": "z",
            "c IS NOT NULL": VALUES,
        }
        chars.check("minmax", compared)
        chars.check("valuelist", {**compared, "c <> 'abcde'": VALUES})
        chars.check("bloom", {"c = 'ab'": ALL})
        assert "rpad" in chars.read("plain").filter("c = 'ab'")._jdf.queryExecution().optimizedPlan().toString()
    finally:
        chars._oracle.clear()


def test_char_as_string(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-28] [PRU-CH-1] With ``charVarcharAsString``, and for VARCHAR, nothing is padded."""
    spark.conf.set("spark.sql.legacy.charVarcharAsString", "true")
    exact = {"c = 'ab'": "ab abtab", "c = 'ab   '": "abpad", "c >= 'z'": "z", "c LIKE 'ab  %'": "ab abpad"}
    filled(Tables(spark, tmp_path / "legacy"), ["valuelist"]).check("valuelist", exact)
    spark.conf.unset("spark.sql.legacy.charVarcharAsString")
    filled(Tables(spark, tmp_path / "varchar", column="c VARCHAR(9)"), ["valuelist"]).check("valuelist", exact)


@pytest.mark.parametrize(("fmt", "padding"), [("avro", "true"), ("parquet", "true"), ("parquet", "false")])
def test_random_values(spark: SparkSession, tmp_path: Path, fmt: str, padding: str) -> None:
    """[SND-28] [PRU-CH-3] No file with a matching row is skipped, whatever characters values and literals have."""
    chance = random.Random(28)

    def text(most: int) -> str:
        return "".join(chance.choices(["\t", " ", " ", "!", "a", "é"], k=chance.randrange(most)))

    files = {f"f{n}": [(text(8) if k else None, k) for k in range(n % 3, 3)] for n in range(12)}
    cases = []
    for most in (6, 6, 8):  # Spark cuts off what it compares with a literal of more than five characters
        first, second = repr(text(most)), repr(text(most))
        cases += [f"c {op} {first}" for op in ("=", "<>", "<", "<=", ">", ">=", "<=>")]
        cases += [f"c IN ({first}, {second})", f"NOT c IN ({first}, {second})", f"startswith(c, {first})"]
    spark.conf.set("spark.sql.readSideCharPadding", padding)
    kinds = ("minmax", "valuelist", "bloom", "prefix")
    made = filled(Tables(spark, tmp_path, fmt), kinds, files)
    made.ask_oracle(cases)
    for kind in kinds:
        skipped, frame = 0, made.read(kind)
        for n, case in enumerate(cases):
            opened = opened_files(frame.filter(case))
            assert opened >= made.matching(case), (padding, kind, case)
            assert opened == made.matching(case) or n >= 20 or (kind, padding) != ("valuelist", "true"), case
            skipped += len(made.names - opened)
        assert skipped > 50 or (kind, padding) == ("bloom", "false"), kind


def test_an_expression_of_a_padded_column_is_refused(spark: SparkSession, chars: Tables) -> None:
    """[PRU-CH-7] A build reads values without padding, which expressions in queries never get."""
    spark.conf.set("spark.sql.readSideCharPadding", "true")
    with pytest.raises(IndexDefinitionError, match="cannot index this expression"):
        chars.skipping("plain").create([ValueList("upper(c)", expression=True)])
    assert not chars.skipping("plain").exists()
