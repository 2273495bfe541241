"""The search for intervals that contain one of many values agrees with a test of every value."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import cases
from xskip.clauses import interval_search
from xskip.clauses.interval_search import any_between

BYTES = st.builds(
    lambda stem, middle, end: stem + middle + end,
    st.sampled_from([b"", b"ab", b"http://example.org/"]),
    st.sampled_from([b"", b"\x00", b"abcdefgh", b"\xff" * 8, b"\x00" * 8]),
    st.binary(max_size=2),
)
VALUES = {
    pa.int8(): st.integers(-128, 127),
    pa.int32(): st.integers(-50, 50),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.binary(): BYTES,
    pa.large_binary(): BYTES,
    pa.decimal128(38, 2): st.integers(-(10**30), 10**30).map(lambda v: Decimal(v).scaleb(-2)),
}


def expected(lo: list[Any], hi: list[Any], wanted: list[Any]) -> list[bool | None]:
    pairs = zip(lo, hi, strict=True)
    return [None if a is None or b is None else any(a <= v <= b for v in wanted) for a, b in pairs]


@pytest.mark.parametrize("few", [0, 8])
@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_an_interval_is_found_where_trying_every_value_finds_it(
    kind: Any, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PRU-MM-4]"""
    monkeypatch.setattr(interval_search, "_FEW", few)
    monkeypatch.setattr(interval_search, "_FEW_NUMBERS", few)
    value = VALUES[kind]
    end = st.one_of(value, value, value, st.none())
    seen = {True: 0, False: 0, None: 0}

    @settings(max_examples=cases(600))
    @given(st.lists(st.tuples(end, end), max_size=8), st.lists(value, max_size=8), st.booleans())
    def check(ends: list[tuple[Any, ...]], wanted: list[Any], point: bool) -> None:
        ends = [e if None in e else (min(e), min(e) if point else max(e)) for e in ends]
        lo, hi = ([e[i] for e in ends] for i in (0, 1))
        wanted += [e for e in lo if e is not None][:1] if point else []
        # a part of an array, so that its values do not start where its buffers do
        low, high = (pa.array([None, *part], kind)[1:] for part in (lo, hi))
        found = any_between(low, high, pa.array(wanted, kind)).to_pylist()
        assert found == expected(lo, hi, wanted)
        for verdict in found:
            seen[verdict] += 1

    check()
    assert min(seen.values()) > cases(20), seen


def test_eight_bytes_that_are_the_same_do_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """[PRU-MM-4] Values that differ only after eight bytes, or only in their length, are told apart."""
    monkeypatch.setattr(interval_search, "_FEW", 2)
    wanted = [b"k-", b"k-abcdefgh5", b"k-abcdefgh7", b"k-abcdefgh", b"k-z"]
    ends = [(b"5", b"5"), (b"6", b"6"), (b"6", b"7"), (b"", b""), (b"\x00", b"4"), (b"8", b"9")]
    lo, hi = ([b"k-abcdefgh" + e[i] for e in ends] for i in (0, 1))
    assert any_between(*(pa.array(part, pa.binary()) for part in (lo, hi, wanted))).to_pylist() == [
        True, False, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_no_intervals_and_no_values(kind: Any) -> None:
    """[PRU-MM-4] Empty lists of intervals or values are valid."""
    none = pa.array([], kind)
    some = pa.nulls(2, kind)
    assert any_between(none, none, none).to_pylist() == []
    assert any_between(some, some, none).to_pylist() == [None, None]
    assert any_between(none, none, some[:0]).to_pylist() == []


def test_ten_thousand_values_of_bytes() -> None:
    """[PRU-MM-4] The search handles lists of ten thousand binary values."""
    wanted = [b"user-%07d" % number for number in range(0, 100_000, 10)]
    starts = np.random.default_rng(7).integers(0, 110_000, 500)
    lo = [b"user-%07d" % start for start in starts]
    hi = [b"user-%07d" % (start + 4) for start in starts]
    found = any_between(*(pa.array(part, pa.binary()) for part in (lo, hi, wanted))).to_pylist()
    assert found == [(start + 4) // 10 * 10 >= start and start <= 99_990 for start in starts.tolist()]
