"""Xskipper's configuration: keys of the whole process, those of one instance over them, and what they mean here."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xskip.settings import (
    BYTES_PER_FILE,
    CHUNK_OBJECTS,
    EVALUATE,
    FOOTER_KEY,
    FOOTERS,
    PLAINTEXT_FOOTER,
    ROWS_PER_FILE,
    Setting,
)
from xskip.xskipper.errors import XskipperException

__all__ = ["JVM_WIDE", "LOCATION", "LOCATION_TYPE", "Entries", "bloom_parameters", "settings_of"]

_log = logging.getLogger("xskip")
_PREFIX, _LEGACY = "io.xskipper.", "spark.ibm.metaindex."
_PARQUET = f"{_PREFIX}parquet."
LOCATION = f"{_PARQUET}mdlocation"
LOCATION_TYPE = f"{_PARQUET}mdlocation.type"
_FPP, _NDV = f"{_PREFIX}index.bloom.fpp", f"{_PREFIX}index.bloom.ndv"
#: Keys that are settings of xskip under another name.
_SETTINGS: dict[str, Setting[Any]] = {
    f"{_PARQUET}index.chunksize": CHUNK_OBJECTS,
    f"{_PARQUET}maxRecordsPerMetadataFile": ROWS_PER_FILE,
    f"{_PARQUET}maxMetadataFileSize": BYTES_PER_FILE,
    f"{_PARQUET}encryption.footer.key": FOOTER_KEY,
    f"{_PARQUET}encryption.plaintext.footer": PLAINTEXT_FOOTER,
    f"{_PREFIX}index.minmax.readoptimized.parquet": FOOTERS,
    f"{_PREFIX}evaluation.enabled": EVALUATE,
}
#: Keys without effect, and why.
_WITHOUT_EFFECT = {
    f"{_PARQUET}refresh.dedup": "a refresh leaves no duplicates",
    f"{_PARQUET}filter.dedup": "duplicates are harmless",
    f"{_PREFIX}timeout": "an index is read while the query is planned",
    f"{_PREFIX}identifierclass": "objects are known by path and time, as by the default class",
    f"{_PREFIX}index.parallelism": "one Spark job collects from thousands of objects",
    f"{_PREFIX}index.minchunksize": "chunks are whole from the first",
    f"{_PREFIX}index.memoryFraction": "chunks are limited by their data, see spark.xskip.build.chunkBytes",
    f"{_PREFIX}index.minmax.readoptimized.parquet.parallelism": "footers are read by a pool of threads",
    f"{_PREFIX}index.minmax.inFilterThreshold": "lists of any length are compared value by value",
}
_KNOWN = {LOCATION, LOCATION_TYPE, _FPP, _NDV, *_SETTINGS, *_WITHOUT_EFFECT}


@dataclass(slots=True)
class Entries:
    """Keys and values as they were set; the former names of keys count like the present ones."""

    values: dict[str, str]

    def update(self, params: Mapping[str, str]) -> None:
        """Sets the keys given, and no other."""
        for key, value in params.items():
            self.set(key, value)

    def set(self, key: str, value: str) -> None:
        """Sets one key."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise XskipperException(f"Configuration keys and values are texts, not {key!r}: {type(value).__name__}")
        name = canonical(key)
        if name.startswith(_PREFIX) and name not in _KNOWN:
            _log.warning("unknown configuration key %s", key)
        if name in _WITHOUT_EFFECT:
            _log.info("%s has no effect: %s", key, _WITHOUT_EFFECT[name])
        self.values[key] = value

    def canonical(self) -> dict[str, str]:
        """The values by their present names; where both names were set, the present one counts."""
        legacy_first = sorted(self.values.items(), key=lambda entry: not entry[0].startswith(_LEGACY))
        return {canonical(key): value for key, value in legacy_first}


#: The configuration of the process, which instances have where they are not told otherwise.
JVM_WIDE = Entries({})


def canonical(key: str) -> str:
    """A key by its present name.

    >>> canonical("spark.ibm.metaindex.parquet.mdlocation")
    'io.xskipper.parquet.mdlocation'
    """
    return _PREFIX + key.removeprefix(_LEGACY) if key.startswith(_LEGACY) else key


def settings_of(conf: Mapping[str, str]) -> dict[str, str]:
    """The settings of xskip that a configuration stands for.

    >>> settings_of({"io.xskipper.parquet.index.chunksize": "5"})
    {'spark.xskip.build.chunkObjects': '5'}
    """
    return {setting.key: conf[key] for key, setting in _SETTINGS.items() if key in conf}


def bloom_parameters(params: Mapping[str, str]) -> tuple[float, int]:
    """The rate of false positives and the number of distinct values of Bloom filters.

    >>> bloom_parameters({"io.xskipper.index.bloom.fpp": "0.05"})
    (0.05, 100000)

    Raises
    ------
    XskipperException
        One of them is no such number.
    """
    texts = params.get(_FPP, "0.01"), params.get(_NDV, "100000")
    try:
        return float(texts[0]), int(texts[1])
    except ValueError as error:
        raise XskipperException(f"Bloom filters need numbers for {_FPP} and {_NDV}: {texts}") from error
