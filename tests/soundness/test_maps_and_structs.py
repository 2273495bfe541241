"""Keys of maps, row values and structs: indexes on their parts skip exactly the expected files.

Classes: SND-6 (NULL in structs), SND-10 (NaN), SND-11 (-0.0).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.effort import cases
from tests.helpers import needs_spark_4, opened_files
from tests.soundness.checking import ALL, NONE, Family, family
from xskip import BloomFilter, Hybrid, Index, MinMax, NullCount, ValueList

MAPS: dict[str, list[Any]] = {
    "ab": [({"a": 1}, {1: "x"}), ({"b": 2}, {2: "y"})],
    "bc": [({"b": 1, "c": None}, {3: "x", 4: "z"})],
    "d": [({"d": 4}, {-5: None})],
    "empty": [({}, {}), ({}, {})],
    "null": [(None, None)],
    "mixed": [(None, None), ({"a": 9}, {9: "x"})],
}
KEYS: dict[str, list[Index]] = {
    "minmax": [MinMax("map_keys(m)", expression=True), MinMax("map_keys(n)", expression=True)],
    "valuelist": [ValueList("map_keys(m)", expression=True), ValueList("map_keys(n)", expression=True)],
    "bloom": [BloomFilter(f"map_keys({c})", fpp=1e-6, expression=True) for c in "mn"],
    "hybrid": [Hybrid(f"map_keys({c})", max_values=1, fpp=1e-6, expression=True) for c in "mn"],
}


@pytest.fixture(scope="module", params=["parquet", "avro"])
def maps(session: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Family:
    schema, fmt = "m map<string, int>, n map<int, string>", request.param
    if fmt == "avro":  # keys of Avro are strings
        files = {name: [(m, n and {str(k): v for k, v in n.items()}) for m, n in rows] for name, rows in MAPS.items()}
        made = family(
            session, tmp_path_factory.mktemp("maps"), "m map<string, int>, n map<string, string>", files, {}, fmt=fmt
        )
    else:
        made = family(session, tmp_path_factory.mktemp("maps"), schema, MAPS, {})
    return made


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_maps(spark: SparkSession, maps: Family, kind: str) -> None:
    """[PRU-EL-3] An index on the keys of a map answers each form of the question whether a map has a key."""
    maps.add(kind, KEYS[kind])
    shared = {
        "array_contains(map_keys(m), 'a')": "ab mixed",
        "map_contains_key(m, 'a')": "ab mixed",
        "map_contains_key(m, 'd')": "d",
        "map_contains_key(m, 'q')": NONE,
        "map_contains_key(m, 'a') or map_contains_key(m, 'd')": "ab d mixed",
        "map_contains_key(m, 'b') and map_contains_key(m, 'c')": "bc",
        "not map_contains_key(m, 'a')": ALL,
        "array_contains(map_keys(m), 'a') is null": ALL,
        "map_keys(m) is null": ALL,
        "get(map_keys(m), 0) = 'd'": "d",
        "array_contains(map_values(m), 4)": ALL,
        "m is null": ALL,
    }
    if maps.fmt == "parquet":
        number = {"map_contains_key(n, 4)": "bc", "map_contains_key(n, -5)": "d", "map_contains_key(n, 9)": "mixed"}
        shared |= number | {"map_contains_key(n, 1L)": ALL}
    maps.check(kind, shared)


def test_values_of_maps_and_other_arrays(spark: SparkSession, maps: Family) -> None:
    """[PRU-EL-3] Any expression of an array can have an index on its elements, and only this expression asks it."""
    maps.add("others", [ValueList("map_values(m)", expression=True), NullCount("map_keys(m)", expression=True)])
    maps.check("others", {"array_contains(map_values(m), 4)": "d", "map_contains_key(m, 'd')": ALL})


NAN = float("nan")
ROWS: dict[str, list[Any]] = {
    "one": [(1, "x", 0.5, (1, "p")), (1, "x", 0.5, (1, "p"))],
    "two": [(2, "y", 1.5, (2, "q")), (3, "z", 2.5, (3, "r"))],
    "gaps": [(1, None, -0.0, (1, None)), (1, None, -0.0, (1, None))],
    "nulls": [(None, None, None, None), (None, None, None, None)],
    "nan": [(7, "n", NAN, (None, "n")), (7, "n", NAN, (None, "n"))],
}
FIELDS: dict[str, list[Index]] = {
    "minmax": [
        *(MinMax(c) for c in ("i", "s", "d", "st.x", "st.y")),
        *(NullCount(c) for c in ("d", "s", "i", "st.x", "st.y", "st")),
    ],
    "valuelist": [
        *(ValueList(c) for c in ("i", "s", "d", "st.x", "st.y")),
        *(NullCount(c) for c in ("d", "i", "s", "st.x", "st.y")),
    ],
    "bloom": [BloomFilter(c, fpp=1e-6) for c in ("i", "s", "st.x", "st.y")],
}
NO_NULL = "cast(null as string)"
#: Conditions on rows, and the files that bounds and counts of NULL keep: the fields of rows compare NULL with NULL.
OF_ROWS = {
    "(i, s) IN ((1, 'x'), (7, 'n'))": "one nan",
    "(i, s) IN ((1, 'y'), (2, 'z'))": "two",
    "(i, s) IN ((9, 'x'))": NONE,
    "NOT ((i, s) IN ((1, 'x'), (2, 'y')))": "two gaps nulls nan",
    "NOT ((i, s) IN ((1, 'x'), (1, 'y')))": "two gaps nulls nan",
    "named_struct('i', i, 's', s) = named_struct('i', 1, 's', 'x')": "one",
    "named_struct('i', 1, 's', 'x') = named_struct('i', i, 's', s)": "one",
    f"named_struct('i', i, 's', s) = named_struct('i', 1, 's', {NO_NULL})": "gaps",
    f"named_struct('i', i, 's', s) <=> named_struct('i', 1, 's', {NO_NULL})": "gaps",
    "NOT (named_struct('i', i, 's', s) = named_struct('i', 1, 's', 'x'))": "two gaps nulls nan",
    "named_struct('i', i, 'c', 5) = named_struct('i', 1, 'c', 5)": "one gaps",
    "named_struct('i', i, 'c', 5) = named_struct('i', 1, 'c', 6)": NONE,
    "named_struct('d', d, 'i', i) = named_struct('d', double('NaN'), 'i', 7)": "nan",
    "named_struct('d', d, 'i', i) = named_struct('d', 0.0D, 'i', 1)": "gaps",
    "NOT (named_struct('d', d, 'i', i) = named_struct('d', 0.0D, 'i', 1))": "one two nulls nan",
    "named_struct('i', i, 'n', named_struct('s', s)) = named_struct('i', 1, 'n', named_struct('s', 'x'))": "one",
    "st = named_struct('x', 1, 'y', 'p')": "one",
    f"st = named_struct('x', 1, 'y', {NO_NULL})": "gaps",
    f"st = named_struct('x', {NO_NULL.replace('string', 'int')}, 'y', 'n')": "nan",
    "st <=> named_struct('x', 2, 'y', 'q')": "two",
    "st IN (named_struct('x', 1, 'y', 'p'), named_struct('x', 2, 'y', 'q'))": "one two",
    "st IN (named_struct('x', 3, 'y', 'r'), cast(null as struct<x: int, y: string>))": "two",
    "st = named_struct('x', 9, 'y', 'p')": NONE,
    "named_struct('a', st, 'i', i) = named_struct('a', named_struct('x', 1, 'y', 'p'), 'i', 1)": "one",
}


@pytest.fixture(scope="module", params=["parquet", "avro"])
def rows(session: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Family:
    schema = "i int, s string, d double, st struct<x: int, y: string>"
    return family(session, tmp_path_factory.mktemp("rows"), schema, ROWS, FIELDS, fmt=request.param)


@needs_spark_4("compares no structs of other names")
@pytest.mark.parametrize("codegen", ["NO_CODEGEN", "CODEGEN_ONLY"])
def test_rows(spark: SparkSession, rows: Family, codegen: str) -> None:
    """[SND-6] [SND-10] [SND-11] [PRU-V-11] Row values and structs compare by their fields, NULL with NULL."""
    spark.conf.set("spark.sql.codegen.factoryMode", codegen)
    spark.conf.set("spark.sql.codegen.wholeStage", str(codegen == "CODEGEN_ONLY").lower())
    rows._oracle.clear()
    rows.check("minmax", {**OF_ROWS, "(i, s) IN ((1, 'y'), (2, 'z'))": "two"})
    rows.check("valuelist", OF_ROWS)
    rows.check("bloom", {"(i, s) IN ((1, 'x'), (7, 'n'))": "one nan", "st = named_struct('x', 2, 'y', 'q')": "two"})
    rows._oracle.clear()


@needs_spark_4("compares no structs of other names")
def test_long_lists_of_rows(spark: SparkSession, rows: Family) -> None:
    """[PRU-V-11] Of a long list, each field is one of its values, and the negation is unknown."""
    many = ", ".join(f"({i}, '{'nz'[i % 2]}')" for i in range(3, 90))
    rows.check(
        "minmax",
        {
            f"(i, s) IN ({many})": "two nan",
            f"NOT ((i, s) IN ({many}))": ALL,
            f"(i, s) IN ({many}, (1, 'x'))": "one two nan",
        },
    )


def of_struct(first: str, second: str) -> Iterator[str]:
    """Yield conditions that compare a struct, or a row of its fields, with one or two structs."""
    for row in ("st", "named_struct('x', st.x, 'y', st.y)"):
        for text in (
            f"{row} = {first}",
            f"NOT ({row} = {first})",
            f"{row} <=> {first}",
            f"{row} IN ({first}, {second})",
        ):
            yield from (text, f"NOT ({text} OR st.x = 1)", f"coalesce({text}, true)")


@needs_spark_4("has no index on whole structs of Parquet")
def test_random_rows(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-6] [PRU-V-11] No file with a matching row is skipped, whatever is NULL, and the rows stay the same."""
    chance = random.Random(4)

    def field(*values: Any) -> Any:
        return chance.choice([None, *values])

    def literal() -> str:
        a, b = field(1, 2), field("'p'", "'q'")
        return f"named_struct('x', cast({'null' if a is None else a} as int), 'y', cast({b or 'null'} as string))"

    data = {f"f{n}": [(field((field(1, 2), field("p", "q"))),) for _ in range(2)] for n in range(16)}
    indexes: list[Index] = [ValueList("st.x"), ValueList("st.y"), NullCount("st.x"), NullCount("st.y"), NullCount("st")]
    made = family(spark, tmp_path, "st struct<x: int, y: string>", data, {"copy": indexes})
    skipped = 0
    rounds = cases(12)
    for _ in range(rounds):
        conditions = list(of_struct(literal(), literal()))
        made.ask_oracle(conditions)
        asked = made.read("copy")
        for condition in conditions:
            opened = opened_files(asked.filter(condition))
            assert opened >= made.matching(condition), condition
            skipped += 16 - len(opened)
    assert skipped > 1000 * rounds // 12
