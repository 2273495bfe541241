"""Functions that build Bloom filters from values and look up values in filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tests.reference import all_true
from xskip.types import bloom_bits

ONE_LONG = bytes.fromhex("00000001 00000002 00000001".replace(" ", ""))  # version 1, 2 hash functions, 1 word


def hashes(value: int | bytes) -> bloom_bits.HashPair:
    return bloom_bits.hash_bytes(value) if isinstance(value, bytes) else bloom_bits.hash_long(value)


def pack(values: list[Any]) -> np.ndarray:
    return np.array([h1 << 32 | h2 & 0xFFFFFFFF for h1, h2 in map(hashes, values)], np.int64)


def made(values: list[Any], fpp: float = 0.01, ndv: int | None = None) -> bytes:
    return bloom_bits.build(pack(values), *bloom_bits.size_for(len(values) if ndv is None else ndv, fpp))


def asked(filters: Sequence[bytes | None], *values: int | bytes) -> list[bool | None]:
    found: list[bool | None] = bloom_bits.might_contain(
        pa.array(filters, pa.binary()), [hashes(v) for v in values], all_true(len(filters))
    ).to_pylist()
    return found
