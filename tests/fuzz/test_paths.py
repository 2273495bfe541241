"""Random names of files claim bounds that contain the values of the files, and are bounds that PathBounds reads."""

from __future__ import annotations

import sys
import time
from collections import Counter
from random import Random
from typing import get_args

import pyarrow as pa
import pytest

from tests.fuzz.data import FIELDS, INTEGERS
from tests.fuzz.paths import Bounds, Claimed, Naming, naming, union
from xskip.indexes.path_pattern import PlaceKind

NAMINGS, FILES = 150, 25
_CENTRES = (0, -1, 1_585_443_600, 1_603_584_000, 1_325_239_199, 1_518_922_800, -5_000_000_000, -60_000_000_000, 2**40)


def random_bounds(random: Random, of: Claimed) -> Bounds:
    """Return bounds near changes of clocks, far in the past or future, or anywhere in the range of the type."""
    if random.random() < 0.1:
        return None
    if of.kind in INTEGERS:
        half = 2 ** (INTEGERS[of.kind] - 1)
        low = random.choice((random.randint(-half, half - 1), random.randint(-500, 500), -half, half - 1))
        return low, min(half - 1, low + random.choice((0, 0, 1, 50)))
    unit = 86_400 if of.kind == "date" else 1
    scale = 1 if of.kind == "date" else 1_000_000
    low = random.choice(_CENTRES) // unit * scale + random.randint(-3, 3) * random.choice((1, 1800 * scale))
    return low, low + random.choice((0, 0, 1, 3599, 86_400 * 10)) * random.choice((1, scale))


def claimed(named: Naming, paths: list[str], of: Claimed) -> list[tuple[int | None, int | None] | None]:
    """Return what the index of a column reads from paths, as numbers."""
    (index,) = (each for each in named.indexes if each.column == of.column)
    values = index.assemble([pa.array([f"/lake/{path}.parquet" for path in paths])], [of.kind])
    whole = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}.get(of.kind)
    low, high = ((side.view(whole) if whole else side).to_pylist() for side in values.flatten())
    return [(a, b) if fits else None for fits, a, b in zip(values.is_valid().to_pylist(), low, high, strict=True)]


def outcomes(seed: int) -> Counter[str]:
    """Return how many claims of random paths say nothing, are right, and are wrong."""
    random, found = Random(seed), Counter[str]()
    for _ in range(NAMINGS):
        named = naming(random, ())
        bounds = [{of.column: random_bounds(random, of) for of in named.columns} for _ in range(FILES)]
        paths = [named.path(random, n, each) for n, each in enumerate(bounds)]
        for of in named.columns:
            for path, each, claim in zip(paths, bounds, claimed(named, paths, of), strict=True):
                sort = _sort(each[of.column], claim)
                found[sort] += 1
                if sort == "wrong":
                    sys.stdout.write(f"{named.pattern} {path} {of}: {each[of.column]} is outside of {claim}\n")
    return found


def _sort(bounds: Bounds, claim: tuple[int | None, int | None] | None) -> str:
    if claim is None:
        return "nothing"
    low, high = claim
    if bounds is not None and ((low is not None and low > bounds[0]) or (high is not None and high < bounds[1])):
        return "wrong"
    return "right"


def test_paths_claim_bounds_of_the_values() -> None:
    """[PRU-PB-2] [PRU-PB-3] [PRU-PB-4] Claims of random paths from fixed and new seeds contain all values."""
    for seed in (1, 2, int(time.time())):
        found = outcomes(seed)
        assert not found["wrong"], f"seed {seed}"
        assert min(found["right"], found["nothing"]) > sum(found.values()) // 4


def test_paths_of_unknown_values_claim_nothing() -> None:
    """[PRU-PB-2]"""
    random = Random(3)
    for _ in range(200):
        named = naming(random, ())
        path = named.path(random, 7, None)
        assert path.endswith("n7")
        claims = [claimed(named, [path], of) for of in named.columns]
        assert claims == [[None]] * len(claims)


def test_the_fields_of_namings_vary() -> None:
    random = Random(4)
    found = [naming(random, ("i", "st.a")) for _ in range(300)]
    served = {name for name, kind in FIELDS.items() if kind in (*INTEGERS, "date", "timestamp", "timestamp_ntz")}
    assert {of.column for each in found for of in each.columns} == served - {"i", "st.a"}
    kinds = {kind for each in found for _, kind in (*each.levels, *each.places)}
    assert kinds == {*get_args(PlaceKind)} - {"week"}
    assert {len(each.levels) for each in found} >= {0, 1, 2}


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [((1, 3), (2, 9), (1, 9)), (None, (2, 9), (2, 9)), ((1, 3), None, (1, 3)), (None, None, None)],
)
def test_the_union_of_bounds(one: Bounds, other: Bounds, both: Bounds) -> None:
    assert union({"i": one}, {"i": other}) == {"i": both}
