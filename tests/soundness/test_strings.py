"""Prefixes, patterns, escapes, UTF-8 order, collations and CHAR skip exactly the expected files.

Classes: SND-3 (a prefix is not an equality), SND-4 (LIKE with escapes, ``_`` and backslashes), SND-15 (bounds cut
short), SND-18 (UTF-16 order differs from UTF-8), SND-20 (collations), SND-28 (CHAR padding).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import assert_same_rows, index, kept, needs_spark_4, opened_files, write_once
from tests.soundness.checking import ALL, NONE, Family, family, run_all, shown_each
from xskip import BloomFilter, Index, MinMax, SkippingIndex, ValueList
from xskip.errors import UnsupportedTypeError

KINDS: dict[str, list[Index]] = {
    "minmax": [MinMax("s")],
    "valuelist": [ValueList("s")],
    "bloom": [BloomFilter("s", fpp=1e-6)],
}
FILES: dict[str, list[Any]] = {
    "abc": [("abc1",), ("abc5",), ("abc9",)],
    "abcd": [("abc",), ("abd",)],
    "under": [("foo_bar",), ("foo_",)],
    "fooo": [("fooxbar",), ("foo%",)],
    "back": [("a\\",), ("a\\b",)],
    "empty": [("",), (None,)],
}


@pytest.fixture(scope="module")
def words(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    return family(session, tmp_path_factory.mktemp("words"), "s string", FILES, KINDS)


def test_prefix_is_not_equality(spark: SparkSession, words: Family) -> None:
    """[SND-3] A prefix test reads all files with a string that starts with the prefix."""
    shared = {
        "s like 'abc%'": "abc abcd",
        "startswith(s, 'abc')": "abc abcd",
        "s like 'abc5%'": "abc",
        "s not like 'abc%'": "abcd under fooo back empty",
        "not startswith(s, 'abc')": "abcd under fooo back empty",
        "s like '%'": ALL,
        "s like 'zzz%'": NONE,
        "s like 'abc' or s = 'abd'": "abcd",
        "s not like '%bc9'": ALL,
        "substring(s, 1, 3) = 'abc'": "abc abcd",
    }
    # of a pattern that begins with a wildcard only a file of one value can be ruled out by bounds
    some = "abc abcd under fooo back"
    inside = {"s like '%bc9'": some, "s like '%bc%'": some, "s like 'a%c'": "abc abcd back"}
    bounds = {
        "s like 'abc%' and s <> 'abc'": "abc abcd",
        "s = 'abc'": "abcd",
        "s = 'abc7'": "abc abcd",
        "s like 'abc5%'": "abc abcd",
    }
    words.check("minmax", shared | inside | bounds)
    words.check("valuelist", {"s like '%bc9'": "abc", "s like '%bc%'": "abc abcd", "s like 'a%c'": "abcd"})
    words.check("valuelist", shared | {"s = 'abc'": "abcd", "s = 'abc7'": NONE, "s like 'abc%' and s <> 'abc'": "abc"})
    words.check("bloom", {"s = 'abc'": "abcd", "s like 'abc%'": ALL, "s like 'abc'": "abcd", "s not like 'abc%'": ALL})


def test_like_escapes_and_wildcards(spark: SparkSession, words: Family) -> None:
    r"""[SND-4] ``\_`` and ``\%`` are characters, ``_`` is any character, and the escape can be another character."""
    foo = "under fooo"
    cases = {
        r"s like r'foo\_%'": "under",
        r"s like r'foo\_bar'": "under",
        r"s like r'foo\%'": "fooo",
        "s like 'foo_%'": foo,
        "s like 'foo_bar'": foo,
        "s like 'foo_'": foo,
        "s like 'foo!_%' escape '!'": "under",
        "s like 'foo!%' escape '!'": "fooo",
        r"s like r'a\\'": "back",
        r"s like r'a\\%'": "back",
        r"s like r'a\\_'": "back",
        "s like ''": "empty",
    }
    lists = {"s like '_'": NONE, "s not like 'foo_%'": "abc abcd back empty"}
    bounds = {"s like '_'": "abc abcd under fooo back", "s not like 'foo_%'": ALL}
    # NOT LIKE of a whole, escaped word is an inequality; of anything with a wildcard inside, it is not known
    words.check(
        "valuelist",
        cases | lists | {r"s not like r'foo\_bar'": "abc abcd under fooo back empty", "s like 'foo_bar'": foo},
    )
    # foo_ lies between foo% and fooxbar
    wider = (r"s like r'foo\_%'", r"s like r'foo\_bar'", "s like 'foo!_%' escape '!'")
    words.check("minmax", cases | bounds | dict.fromkeys(wider, foo))
    words.check("bloom", {r"s like r'foo\_bar'": "under", "s like 'foo_bar'": ALL, r"s like r'a\\'": "back"})


def test_invalid_patterns_fail_as_without_an_index(spark: SparkSession, words: Family) -> None:
    """[SND-4] An invalid pattern fails with and without an index."""
    for copy in ("plain", "minmax"):
        with pytest.raises(Exception, match="INVALID_FORMAT"):
            words.read(copy).filter(F.col("s").like("a\\")).collect()


def test_patterns_that_are_no_literals(spark: SparkSession, words: Family) -> None:
    """[SND-4] Patterns without a literal prefix are tested only on single values and lists."""
    some = "abc abcd under fooo back"  # empty holds one value, which is asked
    cases = {"s rlike '^abc'": some, "s like any ('abc1%', 'foo_')": some, "s ilike 'ABC%'": some}
    words.check("minmax", cases | {"s like all ('abc%', '%9')": "abc abcd"})
    words.check("valuelist", {"s rlike '^abc'": "abc abcd", "s ilike 'ABC%'": "abc abcd"})


LAST = "\U0010ffff"
UNICODE = {
    # by UTF-8 bytes: z < é < U+D7FF < U+FFFD < emoji < U+10FFFF; UTF-16 has the emoji before U+FFFD
    "bmp": [("\ufffd",), ("\ud7ff",)],
    "emoji": [("\U0001f600",), ("\U0001f601",)],
    "both": [("\ud7ff",), ("\U0001f600",)],
    "accents": [("aé",), ("az",)],
    "last": [(f"p{LAST}",), (f"p{LAST}{LAST}x",)],
    "ascii": [("p",), ("pz",)],
}


@pytest.fixture(scope="module")
def unicode(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    return family(session, tmp_path_factory.mktemp("unicode"), "s string", UNICODE, KINDS)


def test_order_is_that_of_utf8(spark: SparkSession, unicode: Family) -> None:
    """[SND-18] Strings are ordered by their UTF-8 bytes."""
    shared = {
        "s > '\ufffd'": "emoji both",
        "s >= '\U0001f600'": "emoji both",
        "s < '\U0001f600'": "bmp both accents last ascii",
        "s <= '\ufffd' and s > 'q'": "bmp both",
        "s > 'az' and s < 'b'": "accents",
        "s = 'aé'": "accents",
        "s <> 'aé'": ALL,
        "s in ('\U0001f601', 'az')": "accents emoji",
        "s between 'aé' and 'aé'": "accents",
    }
    unicode.check("minmax", shared | {"s = '\ufffd'": "bmp both"})
    unicode.check("valuelist", shared | {"s = '\ufffd'": "bmp"})
    unicode.check("bloom", {"s = '\ufffd'": "bmp", "s = '\U0001f600'": "emoji both", "s = 'ae'": NONE})


def test_prefixes_at_the_end_of_unicode(spark: SparkSession, unicode: Family) -> None:
    """[SND-15] The end of the last character's prefix is not the next character, because there is none."""
    cases = {
        f"s like 'p{LAST}%'": "last",
        f"s like '{LAST}%'": NONE,
        f"s > 'p{LAST}'": "bmp emoji both last",
        f"s not like 'p{LAST}%'": "bmp emoji both accents ascii",
        "s like '\ud7ff%'": "bmp both",
        "s not like 'p%'": "bmp emoji both accents",
        "s like 'p%'": "last ascii",
    }
    unicode.check("minmax", cases)
    unicode.check("valuelist", cases)


BYTES: dict[str, list[Any]] = {
    "low": [(bytearray(b"\x00"),), (bytearray(b"\x7f\xff"),)],
    "high": [(bytearray(b"\x80"),), (bytearray(b"\xff\xff"),)],
    "none": [(bytearray(b""),), (None,)],
}


def test_binary_is_unsigned(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-18] Binary values are ordered by unsigned bytes."""
    data = family(spark, tmp_path_factory.mktemp("bytes"), "s binary", BYTES, KINDS)
    shared = {
        "s > x'7fff'": "high",
        "s >= x'80'": "high",
        "s < x'80'": "low none",
        "s < x'00'": "none",
        "s = x''": "none",
        "s in (x'ffff', x'')": "high none",
        "s <> x''": "low high",
    }
    data.check("minmax", shared)
    data.check("valuelist", shared)
    data.check("bloom", {"s = x'ffff'": "high", "s = x'ff'": NONE, "s in (x'ffff', x'80')": "high", "s <> x''": ALL})


CASED = {"upper": [("ABC",), ("ABD",)], "lower": [("abc",), ("abd",)], "other": [("xyz",)]}


@needs_spark_4("has no collations")
def test_collated_comparisons_are_left_to_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-20] Bounds and hashes do not answer comparisons with a collation; Spark tests single values."""
    cased = family(spark, tmp_path_factory.mktemp("cased"), "s string", CASED, KINDS)
    cased_alike = (
        ALL if pyspark.__version__.startswith("4.0.") else "lower upper"
    )  # 4.0 does not evaluate COLLATE alone
    collated = {
        "s = 'ABC' collate UTF8_LCASE": "lower upper",
        "s collate UTF8_LCASE = 'abc'": cased_alike,
        "s collate UNICODE_CI in ('abc', 'q')": cased_alike,
        "s collate UTF8_LCASE < 'b'": cased_alike,
        "s collate UTF8_LCASE <> 'abc'": ALL,
        "startswith(s collate UTF8_LCASE, 'AB')": cased_alike,
        "s collate UTF8_LCASE like 'AB%'": cased_alike,
        "lower(s) = 'abc'": "lower upper",
    }
    for kind in ("minmax", "valuelist"):  # Spark 4.0 leaves the collation in the filter's types, 4.1 does not
        assert "lower" in opened_files(cased.read(kind).filter("s collate UTF8_BINARY = 'abc'"))
    for kind in ("minmax", "valuelist"):
        cased.check(kind, collated | {"s = 'abc'": "lower", "s > 'abc'": "lower other"})
    cased.check(
        "bloom", {"s = 'ABC' collate UTF8_LCASE": ALL, "s collate UTF8_LCASE = 'abc'": ALL, "s = 'abc'": "lower"}
    )


@needs_spark_4("has no collations")
def test_a_schema_with_a_collation(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[SND-20] The index of a column does not serve queries that read the column with a collation."""
    cased = family(spark, tmp_path_factory.mktemp("schema"), "s string", CASED, KINDS)
    cased.schema = "s string collate UTF8_LCASE"
    for kind in KINDS:
        cased.check(kind, {"s = 'abc'": ALL, "s in ('ABC', 'q')": ALL, "s is not null": ALL, "s like 'ab%'": ALL})
    for wanted in KINDS.values():
        with pytest.raises(UnsupportedTypeError, match="cannot index this type"):
            cased.skipping("plain").create(wanted)


@pytest.mark.parametrize("padding", ["true", "false"])
def test_char_by_table_and_by_path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, padding: str) -> None:
    """[SND-28] A table's reader may pad CHAR(5), and a path's reader never does."""
    root = tmp_path_factory.mktemp("char")
    padded = family(spark, root, "c string", {"ab": [("ab",)], "abc": [("abc  ",)], "z": [("z",), ("zz   ",)]}, {})
    for by in ("path", "table"):
        padded.add(by, [MinMax("c"), ValueList("c"), BloomFilter("c", fpp=1e-6)])
    spark.conf.set("spark.sql.readSideCharPadding", padding)
    spark.sql(f"CREATE TABLE chars (c CHAR(5)) USING parquet LOCATION '{padded.path('table')}'")
    index = SkippingIndex.for_table(spark, "chars")
    index.drop()
    index.create([MinMax("c"), ValueList("c"), BloomFilter("c", fpp=1e-6)])
    predicates = (
        "c = 'ab'",
        "c = 'ab   '",
        "c = 'abc'",
        "c in ('ab', 'q')",
        "c <> 'ab'",
        "c like 'ab%'",
        "c > 'abc'",
    )
    found = run_all([spark.table("chars").filter(predicate) for predicate in predicates])
    xskip.disable(spark)
    plain = shown_each([spark.table("chars").filter(predicate) for predicate in predicates])
    xskip.enable(spark)
    for predicate, (on, opened), off in zip(predicates, found, plain, strict=True):
        assert on == off, predicate
        held = {name for name in ("ab", "abc") if {repr((name,)), repr((name.ljust(5),))} & set(off)}
        assert opened >= held, predicate
    for path in ("path", "table"):
        padded.check(
            path, {"c = 'ab'": "ab", "c = 'ab   '": NONE, "c = 'abc  '": "abc", "c > 'z'": "z", "c = 'abc'": NONE}
        )


@contextmanager
def language(spark: SparkSession, name: str) -> Iterator[None]:
    """Run the body with another default language of the JVM."""
    jvm: Any = spark._jvm
    locale = jvm.java.util.Locale
    before = locale.getDefault()
    locale.setDefault(locale.forLanguageTag(name))
    try:
        yield
    finally:
        locale.setDefault(before)


def test_lower_case_follows_the_language_of_the_jvm(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-20] [PRU-FN-8] Turkish has a small letter for I without a dot. French has the rules of English."""
    path = write_once(spark, tmp_path / "data", "s string", {"turkish": [("ÇIKIŞ",)], "other": [("abc",)]})
    query = "lower(s) = lower('ÇIKIŞ')"
    with language(spark, "tr"):
        index(spark, path, [ValueList("lower(s)", expression=True), ValueList("s")])
        assert kept(spark, path, query) == {"turkish"}
    with language(spark, "fr"):
        assert_same_rows(lambda: spark.read.parquet(path).filter(query), spark)
        assert "turkish" in kept(spark, path, query)
