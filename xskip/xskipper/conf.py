"""Xskipper's configuration keys, and the settings of xskip that correspond to the keys.

The configuration of a dataset overrides the configuration of the process.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xskip.settings import (
    BYTES_PER_FILE,
    CHUNK_FILES,
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
#: The configuration keys that correspond to settings of xskip.
_SETTINGS: dict[str, Setting[Any]] = {
    f"{_PARQUET}index.chunksize": CHUNK_FILES,
    f"{_PARQUET}maxRecordsPerMetadataFile": ROWS_PER_FILE,
    f"{_PARQUET}maxMetadataFileSize": BYTES_PER_FILE,
    f"{_PARQUET}encryption.footer.key": FOOTER_KEY,
    f"{_PARQUET}encryption.plaintext.footer": PLAINTEXT_FOOTER,
    f"{_PREFIX}index.minmax.readoptimized.parquet": FOOTERS,
    f"{_PREFIX}evaluation.enabled": EVALUATE,
}
#: The configuration keys without effect, with the reason that the log shows.
_WITHOUT_EFFECT = {
    f"{_PARQUET}refresh.dedup": "a refresh leaves no duplicates",
    f"{_PARQUET}filter.dedup": "duplicates are harmless",
    f"{_PREFIX}timeout": "an index is read while the query is planned",
    f"{_PREFIX}identifierclass": "files are known by path and time, as by the default class",
    f"{_PREFIX}index.parallelism": "one Spark job collects from thousands of files",
    f"{_PREFIX}index.minchunksize": "chunks are whole from the first",
    f"{_PREFIX}index.memoryFraction": "chunks are limited by their data, see spark.xskip.build.chunkBytes",
    f"{_PREFIX}index.minmax.readoptimized.parquet.parallelism": "footers are read by a pool of threads",
    f"{_PREFIX}index.minmax.inFilterThreshold": "lists of any length are compared value by value",
}
_KNOWN = {LOCATION, LOCATION_TYPE, _FPP, _NDV, *_SETTINGS, *_WITHOUT_EFFECT}


@dataclass(slots=True)
class Entries:
    """Configuration keys and values, as they were set.

    A key can have its present name ``io.xskipper.…`` or its former name ``spark.ibm.metaindex.…``.

    Attributes
    ----------
    values : dict of str to str
        The values by the names that were used to set them.
    """

    values: dict[str, str]

    def update(self, params: Mapping[str, str]) -> None:
        """Set several keys, as :meth:`set` does."""
        for key, value in params.items():
            self.set(key, value)

    def set(self, key: str, value: str) -> None:
        """Set one key, and log an unknown key or a key without effect.

        Raises
        ------
        XskipperException
            If the key or the value is not a string.
        """
        if not isinstance(key, str) or not isinstance(value, str):
            raise XskipperException(f"Configuration keys and values are texts, not {key!r}: {type(value).__name__}")
        name = canonical(key)
        if name.startswith(_PREFIX) and name not in _KNOWN:
            _log.warning("unknown configuration key %s", key)
        if name in _WITHOUT_EFFECT:
            _log.info("%s has no effect: %s", key, _WITHOUT_EFFECT[name])
        self.values[key] = value

    def canonical(self) -> dict[str, str]:
        """Return the values by present names; a value set by the present name overrides that of the former name."""
        legacy_first = sorted(self.values.items(), key=lambda entry: not entry[0].startswith(_LEGACY))
        return {canonical(key): value for key, value in legacy_first}


#: The configuration of the process, which the configuration of a dataset can override.
JVM_WIDE = Entries({})


def canonical(key: str) -> str:
    """Return the present name of a configuration key.

    >>> canonical("spark.ibm.metaindex.parquet.mdlocation")
    'io.xskipper.parquet.mdlocation'
    """
    return _PREFIX + key.removeprefix(_LEGACY) if key.startswith(_LEGACY) else key


def settings_of(conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of xskip that correspond to a configuration.

    >>> settings_of({"io.xskipper.parquet.index.chunksize": "5"})
    {'spark.xskip.build.chunkFiles': '5'}
    """
    return {setting.key: conf[key] for key, setting in _SETTINGS.items() if key in conf}


def bloom_parameters(params: Mapping[str, str]) -> tuple[float, int]:
    """Return the false positive rate and the number of distinct values for Bloom filters, by default 0.01 and 100000.

    >>> bloom_parameters({"io.xskipper.index.bloom.fpp": "0.05"})
    (0.05, 100000)
    """
    texts = params.get(_FPP, "0.01"), params.get(_NDV, "100000")
    try:
        return float(texts[0]), int(texts[1])
    except ValueError as error:
        raise XskipperException(f"Bloom filters need numbers for {_FPP} and {_NDV}: {texts}") from error
