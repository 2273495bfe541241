"""Keys of maps, row values and structs: indexes on their parts skip exactly the expected files.

Classes: SND-6 (NULL in structs), SND-10 (NaN), SND-11 (-0.0).
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

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
