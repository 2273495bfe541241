"""The settings ``spark.xskip.*`` that Python reads; what a query needs of them the hook reads while it is planned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from xskip.errors import SettingError

__all__ = [
    "BYTES_PER_FILE",
    "CHUNK_BYTES",
    "CHUNK_OBJECTS",
    "ENABLED",
    "EVALUATE",
    "FOOTERS",
    "FOOTER_KEY",
    "JOB_OBJECTS",
    "LOCATION",
    "METADATA_BYTES",
    "PLAINTEXT_FOOTER",
    "ROWS_PER_FILE",
    "Setting",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting: a session's own value counts, else the process's, else the default.

    Attributes
    ----------
    key : str
    default : T
    read : callable
        From text; None for a text that is no value.
    expected : str
        In words.
    """

    key: str
    default: T
    read: Callable[[str], T | None]
    expected: str

    def of(self, text: str | None) -> T:
        """The value that a text stands for; the default without one.

        Raises
        ------
        SettingError
            The text is no value of this setting.

        Examples
        --------
        >>> CHUNK_OBJECTS.of("2"), CHUNK_OBJECTS.of(None), ENABLED.of("False")
        (2, 10000, False)
        """
        if not text:
            return self.default
        value = self.read(text.strip())
        if value is None:
            raise SettingError("a setting has no such value", where=self.key, found=text, expected=self.expected)
        return value


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _positive(text: str) -> int | None:
    return _number(text) or None


def _flag(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


_FLAG = "true or false"
#: Do queries skip.
ENABLED = Setting("spark.xskip.enabled", default=True, read=_flag, expected=_FLAG)
#: The base location of all indexes; empty stands for each dataset's own.
LOCATION = Setting("spark.xskip.metadata.location", "", str, "a path")
#: Count what would be skipped, and read nothing of what is indexed.
EVALUATE = Setting("spark.xskip.evaluate", default=False, read=_flag, expected=_FLAG)
FOOTER_KEY = Setting("spark.xskip.encryption.footer.key", "", str, "the label of a key")
PLAINTEXT_FOOTER = Setting("spark.xskip.encryption.plaintext.footer", default=False, read=_flag, expected=_FLAG)
#: The most objects and bytes of data in one job of a build; 0 bytes stand for a share of each core.
CHUNK_OBJECTS = Setting("spark.xskip.build.chunkObjects", 10_000, _positive, "a number from 1 on")
CHUNK_BYTES = Setting("spark.xskip.build.chunkBytes", 0, _number, "a number of bytes")
#: May bounds come from the footers of Parquet files, where these vouch for them.
FOOTERS = Setting("spark.xskip.build.footers", default=True, read=_flag, expected=_FLAG)
#: The most objects and (about) the most bytes in one file of metadata.
ROWS_PER_FILE = Setting("spark.xskip.metadata.rowsPerFile", 50_000, _positive, "a number from 1 on")
BYTES_PER_FILE = Setting("spark.xskip.metadata.bytesPerFile", 128 << 20, _positive, "a number of bytes from 1 on")
#: The most bytes of an index's values in the driver, where they are more than the size of its files accounts for.
METADATA_BYTES = Setting("spark.xskip.metadata.maxBytes", 256 << 20, _positive, "a number of bytes from 1 on")
#: Metadata of more objects than these is pruned by a Spark job, and not loaded into the driver.
JOB_OBJECTS = Setting("spark.xskip.pruning.jobObjects", 2_000_000, _number, "a number of objects")
