"""The settings ``spark.xskip.*``.

While Spark plans a query, the Java hook reads the settings that the query depends on: :data:`STRICT`,
:data:`DISCOVERY_SECONDS`, :data:`ENABLED`, :data:`EVALUATE`, :data:`LOCATION`, :data:`PLACES`, and those of planning.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from xskip.errors import SettingError

__all__ = [
    "AGGREGATES",
    "BYTES_PER_FILE",
    "CHOICE_BUDGET",
    "CHOICE_FILES",
    "CHUNK_BYTES",
    "CHUNK_FILES",
    "DEFINITIONS",
    "DISCOVERY_SECONDS",
    "ENABLED",
    "EVALUATE",
    "FOOTERS",
    "FOOTER_KEY",
    "HISTORY",
    "HISTORY_DAYS",
    "JOB_FILES",
    "JOINS",
    "LIMIT",
    "LOCATION",
    "METADATA_BYTES",
    "PLACES",
    "PLAINTEXT_FOOTER",
    "PREFIX",
    "RANGES",
    "REPORT_VALUES",
    "ROWS_PER_FILE",
    "SETTINGS",
    "STATISTICS",
    "STRICT",
    "SUBQUERIES",
    "TOP_K",
    "WRITES",
    "Setting",
    "bytes_of",
    "is_absolute",
    "problems_of",
    "seconds_of",
    "similar_key",
]

#: The beginning of the keys of all settings.
PREFIX = "spark.xskip."

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A setting with its key, its default value and its parser.

    The value of the Spark session has priority over the value of the process. Without either value the default applies.
    """

    key: str
    default: T
    #: Parses the configured text; returns None for an invalid text.
    read: Callable[[str], T | None]
    #: Description of the valid values for error messages.
    expected: str
    #: What the setting changes, for listings of the settings.
    meaning: str
    #: The default as users write it, if this differs from the text of the value.
    default_text: str = ""

    @property
    def written(self) -> str:
        """Return the default value as a text: ``true``, ``128m``; empty for a mapping."""
        if isinstance(self.default, Mapping):
            return ""
        return self.default_text or (str(self.default).lower() if isinstance(self.default, bool) else str(self.default))

    def error(self, text: str) -> SettingError | None:
        """Return the error of :meth:`of` for a text, or None if the text is valid."""
        try:
            self.of(text)
        except SettingError as error:
            return error
        return None

    def of(self, text: str | None) -> T:
        """Return the value of a configured text, or raise SettingError; None and an empty text select the default.

        >>> BYTES_PER_FILE.of("64m"), DISCOVERY_SECONDS.of("2min"), CHUNK_FILES.of(None)
        (67108864, 120.0, 10000)
        """
        if not text:
            return self.default
        value = self.read(text.strip())
        if value is None:
            raise SettingError(
                "the value of the setting is not valid", where=self.key, found=text, expected=self.expected
            )
        return value


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _positive(text: str) -> int | None:
    return _number(text) or None


def _share(text: str) -> float | None:
    """Return a share above 0, at most 1, of a text such as ``0.5%`` or ``0.005``; None for any other text."""
    with suppress(ValueError):
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        return share if 0 < share <= 1 else None
    return None


def _flag(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


#: Suffixes of Spark's sizes and times, and their numbers of bytes and of seconds.
_BYTES = {"": 1, "b": 1} | {f"{unit}{b}": 1 << 10 * power for power, unit in enumerate("kmgtp", 1) for b in ("", "b")}
_SECONDS = {"": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 999_999_999 * _SECONDS["d"]  # that of timedelta
_QUANTITY = re.compile(r"(\d+)([a-z]*)", re.ASCII)


def _quantity(text: str, units: Mapping[str, float]) -> float | None:
    found = _QUANTITY.fullmatch(text.lower())
    return int(found[1]) * units[found[2]] if found and found[2] in units else None


def _bytes(text: str) -> int | None:
    found = _quantity(text, _BYTES)
    return None if found is None else int(found)


def bytes_of(text: str) -> int | None:
    """Return the number of bytes of a text such as ``8MB`` or ``64k``, or None if it is no size."""
    return _bytes(text.strip())


def _some_bytes(text: str) -> int | None:
    return _bytes(text) or None


def seconds_of(text: str) -> float | None:
    """Return a duration in seconds from Spark's form of times, or None for any other text and without a unit.

    >>> seconds_of("2h"), seconds_of("90min"), seconds_of("3"), seconds_of("soon")
    (7200.0, 5400.0, None, None)
    """
    number = text.strip()
    found = None if number.isdecimal() else _seconds(number)
    return None if found is None or found > _LONGEST else found


def _seconds(text: str) -> float | None:
    # a number without a unit counts seconds, as the key of the setting says
    return _quantity(text, _SECONDS)


_PLACE = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?/")
_PAIR = re.compile(r"\s*([^\s=].*?)\s*=\s*((?:[A-Za-z][A-Za-z0-9+.-]*:)?/.*?)\s*")
_NAME = re.compile(r"[^/:.]+\.[^/:.]+")


def is_absolute(path: str) -> bool:
    """Return whether a path such as ``/md`` or ``s3a://bucket/md`` names the same directory in every process."""
    return _PLACE.match(path) is not None


def _directory(text: str) -> str | None:
    return text if is_absolute(text) else None


def _places(text: str) -> Mapping[str, str] | None:
    """Return directories by paths or names of tables, from a text such as ``/lake/events=/md/events, db.t=/md/t``."""
    pairs = [_PAIR.fullmatch(part) for part in text.split(",")]
    found = {pair[1]: pair[2] for pair in pairs if pair and (is_absolute(pair[1]) or _NAME.fullmatch(pair[1]))}
    return found if len(found) == len(pairs) else None


_FLAG = "true or false"
_AT_LEAST_ONE = "a whole number of at least 1"
_SIZE = "a size of at least one byte, such as 128m or 134217728"

ENABLED = Setting("spark.xskip.enabled", default=True, read=_flag, expected=_FLAG, meaning="queries skip files")
LOCATION = Setting(
    "spark.xskip.metadata.location", "", _directory, "an absolute path such as /md or s3a://bucket/md",
    "the base location of all indexes; if it is empty, each index lies inside its dataset",
)  # fmt: skip
PLACES: Setting[Mapping[str, str]] = Setting(
    "spark.xskip.metadata.places", MappingProxyType({}), _places,
    "datasets and absolute directories, such as /lake/events=/md/events, shop.orders=/md/orders",
    "the directories of the indexes of single datasets, by paths or by names of tables with their database",
)  # fmt: skip
DISCOVERY_SECONDS = Setting(
    "spark.xskip.discovery.seconds", 60.0, _seconds, "a time such as 60s, 2min or a number of seconds",
    "how long xskip remembers that a directory has no index", "60s",
)  # fmt: skip
STRICT = Setting(
    "spark.xskip.strict", default=False, read=_flag, expected=_FLAG,
    meaning="a query fails with an error if it cannot use an index",
)  # fmt: skip
EVALUATE = Setting(
    "spark.xskip.evaluate", default=False, read=_flag, expected=_FLAG,
    meaning="queries only count the files that they would skip, and read no data of indexed datasets",
)  # fmt: skip
FOOTER_KEY = Setting(
    "spark.xskip.encryption.footer.key", "", str, "the label of a key",
    "the label of the key that encrypts the footers of metadata files and the names of data files",
)  # fmt: skip
PLAINTEXT_FOOTER = Setting(
    "spark.xskip.encryption.plaintext.footer", default=False, read=_flag, expected=_FLAG,
    meaning="footers of encrypted metadata files are signed instead of encrypted",
)  # fmt: skip
REPORT_VALUES = Setting(
    "spark.xskip.report.values", default=False, read=_flag, expected=_FLAG,
    meaning="reports show the values of filters and the bounds of files",
)  # fmt: skip
HISTORY = Setting(
    "spark.xskip.history.location", "", _directory, "an absolute path such as /md/history or s3a://bucket/history",
    "the directory in which drivers record what their queries asked and skipped; if it is empty, they record nothing",
)  # fmt: skip
HISTORY_DAYS = Setting(
    "spark.xskip.history.days", 30, _positive, _AT_LEAST_ONE,
    "the number of days after which records of the query history are removed",
)  # fmt: skip
CHUNK_FILES = Setting(
    "spark.xskip.build.chunkFiles", 10_000, _positive, _AT_LEAST_ONE,
    "the maximum number of data files in one job of a build",
)  # fmt: skip
CHUNK_BYTES = Setting(
    "spark.xskip.build.chunkBytes", 0, _bytes, "a size such as 2g or a number of bytes",
    "the maximum size of the data in one job of a build; 0 selects 512 MiB per core, for 4 cores at least",
)  # fmt: skip
FOOTERS = Setting(
    "spark.xskip.build.footers", default=True, read=_flag, expected=_FLAG,
    meaning="a build takes bounds from the footers of Parquet files if the footers are reliable",
)  # fmt: skip
ROWS_PER_FILE = Setting(
    "spark.xskip.metadata.rowsPerFile", 50_000, _positive, _AT_LEAST_ONE,
    "the maximum number of data files that one metadata file describes",
)  # fmt: skip
BYTES_PER_FILE = Setting(
    "spark.xskip.metadata.bytesPerFile", 128 << 20, _some_bytes, _SIZE,
    "the approximate maximum size of one metadata file", "128m",
)  # fmt: skip
DEFINITIONS = Setting(
    "spark.xskip.metadata.definitions", default=True, read=_flag, expected=_FLAG,
    meaning="beside a dataset with its index inside, a small file keeps the definition, which outlives an overwrite",
)  # fmt: skip
METADATA_BYTES = Setting(
    "spark.xskip.metadata.maxBytes", 256 << 20, _some_bytes, _SIZE,
    "the maximum memory for an index's values in the driver, or 32 times the size of its files if that is more", "256m",
)  # fmt: skip
STATISTICS = Setting(
    "spark.xskip.planning.statistics", default=True, read=_flag, expected=_FLAG,
    meaning="Spark plans joins by the size of the files that are left, and not by that of all files",
)  # fmt: skip
LIMIT = Setting(
    "spark.xskip.planning.limit", default=True, read=_flag, expected=_FLAG,
    meaning="LIMIT reads files that match wholly until they have enough rows, and no other file",
)  # fmt: skip
JOINS = Setting(
    "spark.xskip.planning.joins", default=True, read=_flag, expected=_FLAG,
    meaning="bounds and broadcast keys of one side of a join leave out files of the other side",
)  # fmt: skip
SUBQUERIES = Setting(
    "spark.xskip.planning.subqueries", default=True, read=_flag, expected=_FLAG,
    meaning="values of scalar subqueries in filters leave out files while the query runs",
)  # fmt: skip
TOP_K = Setting(
    "spark.xskip.planning.topK", default=True, read=_flag, expected=_FLAG,
    meaning="ORDER BY with LIMIT, max_by and ranks leave out files whose rows come after enough rows of other files",
)  # fmt: skip
AGGREGATES = Setting(
    "spark.xskip.planning.aggregates", default=True, read=_flag, expected=_FLAG,
    meaning="metadata answer counts, minimums and maximums of files that match wholly",
)  # fmt: skip
RANGES = Setting(
    "spark.xskip.planning.ranges", default=True, read=_flag, expected=_FLAG,
    meaning="scans read only the parts of large Avro and Parquet files that can hold a matching row",
)  # fmt: skip
WRITES = Setting(
    "spark.xskip.writes.enabled", default=True, read=_flag, expected=_FLAG,
    meaning="writes to an indexed dataset collect the statistics of the files, and commit them after the files",
)  # fmt: skip
CHOICE_BUDGET = Setting(
    "spark.xskip.choice.budget", 0.005, _share, "a share such as 0.5% or 0.005",
    "the share of the size of the data that the metadata of the indexes that xskip chooses may have", "0.5%",
)  # fmt: skip
CHOICE_FILES = Setting(
    "spark.xskip.choice.files", 16, _positive, _AT_LEAST_ONE,
    "the maximum number of data files that xskip reads to choose indexes",
)  # fmt: skip
JOB_FILES = Setting(
    "spark.xskip.pruning.jobFiles", 2_000_000, _number, "a number of files",
    "the number of data files above which a Spark job prunes instead of the driver",
)  # fmt: skip
CLASSES = Setting(
    "spark.xskip.classes.folder", "", str, "a folder that only you can write to, or off",
    "the folder that keeps compiled classes for later processes, by default ~/.cache/xskip/classes; off keeps none",
)  # fmt: skip

#: All settings by their keys.
SETTINGS: Mapping[str, Setting[Any]] = {
    each.key: each
    for each in (
        ENABLED, LOCATION, PLACES, STRICT, EVALUATE, REPORT_VALUES, DISCOVERY_SECONDS, STATISTICS, LIMIT, TOP_K,
        AGGREGATES, JOINS, SUBQUERIES, RANGES, WRITES, JOB_FILES, METADATA_BYTES, ROWS_PER_FILE, BYTES_PER_FILE,
        CHUNK_FILES, CHUNK_BYTES, FOOTERS, CHOICE_BUDGET, CHOICE_FILES, FOOTER_KEY, PLAINTEXT_FOOTER, DEFINITIONS,
        CLASSES, HISTORY, HISTORY_DAYS,
    )
}  # fmt: skip


#: The least similarity of an unknown key and the key of a setting that a hint names.
_SIMILAR = 0.7


def similar_key(key: str) -> str | None:
    """Return a hint at the setting whose key is most similar to an unknown key, or None.

    >>> similar_key(PREFIX + "Strickt"), similar_key(PREFIX + "locaton"), similar_key(PREFIX + "foo")
    ('did you mean spark.xskip.strict?', 'did you mean spark.xskip.metadata.location?', None)
    """
    keys = {name.removeprefix(PREFIX).lower(): name for name in SETTINGS}
    last_parts = {name.rpartition(".")[2]: full for name, full in reversed(keys.items())}  # the first one counts
    for names in (keys, last_parts):
        if similar := difflib.get_close_matches(key[len(PREFIX) :].lower(), names, 1, _SIMILAR):
            return f"did you mean {names[similar[0]]}?"
    return None


def problems_of(configured: Mapping[str, str]) -> Iterator[SettingError]:
    """Yield an error for each key ``spark.xskip.*`` that no setting has, and for each invalid value."""
    for key in sorted(key for key in configured if key.lower().startswith(PREFIX)):
        setting = SETTINGS.get(key)
        if setting is None:
            hint = similar_key(key) or "xskip.settings(spark) lists all settings"
            yield SettingError("xskip has no such setting", found=key, hint=hint)
        elif (error := setting.error(configured[key])) is not None:
            yield error
