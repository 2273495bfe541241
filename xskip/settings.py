"""Settings ``spark.xskip.*`` that Python reads.

While Spark plans a query, the Java hook reads the settings that the query depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from xskip.errors import SettingError

__all__ = [
    "BYTES_PER_FILE",
    "CHUNK_BYTES",
    "CHUNK_FILES",
    "ENABLED",
    "EVALUATE",
    "FOOTERS",
    "FOOTER_KEY",
    "JOB_FILES",
    "LOCATION",
    "METADATA_BYTES",
    "PLAINTEXT_FOOTER",
    "ROWS_PER_FILE",
    "Setting",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A setting with its key, its default value and its parser.

    The value of the Spark session has priority over the value of the process. Without either value the default applies.

    Attributes
    ----------
    key : str
        The key in Spark's configuration.
    default : T
        The value of a setting that is not configured.
    read : callable
        Function that parses the configured text; returns None for an invalid text.
    expected : str
        Description of the valid values for error messages.
    """

    key: str
    default: T
    read: Callable[[str], T | None]
    expected: str

    def of(self, text: str | None) -> T:
        """Return the value that a configured text represents.

        Parameters
        ----------
        text : str or None
            The configured text; None or an empty text selects the default.

        Returns
        -------
        T
            The parsed value or the default.

        Raises
        ------
        SettingError
            If the text is not a valid value of the setting.

        Examples
        --------
        >>> CHUNK_FILES.of("2"), CHUNK_FILES.of(None), ENABLED.of("False")
        (2, 10000, False)
        """
        if not text:
            return self.default
        value = self.read(text.strip())
        if value is None:
            raise SettingError(f"invalid value for {self.key}", where=self.key, found=text, expected=self.expected)
        return value


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _positive(text: str) -> int | None:
    return _number(text) or None


def _flag(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


_FLAG = "true or false"
#: Whether queries skip files.
ENABLED = Setting("spark.xskip.enabled", default=True, read=_flag, expected=_FLAG)
#: The base location of all indexes; if it is empty, each index lies inside its dataset.
LOCATION = Setting("spark.xskip.metadata.location", "", str, "a path")
#: Whether queries only count the files that they would skip, and read no data of indexed datasets.
EVALUATE = Setting("spark.xskip.evaluate", default=False, read=_flag, expected=_FLAG)
#: The label of the key that encrypts the footers of metadata files and the data files' names.
FOOTER_KEY = Setting("spark.xskip.encryption.footer.key", "", str, "the label of a key")
#: Whether footers of encrypted metadata files are signed instead of encrypted.
PLAINTEXT_FOOTER = Setting("spark.xskip.encryption.plaintext.footer", default=False, read=_flag, expected=_FLAG)
#: The maximum number of data files in one job of a build.
CHUNK_FILES = Setting("spark.xskip.build.chunkFiles", 10_000, _positive, "a whole number of at least 1")
#: The maximum size of the data in one job of a build, in bytes; 0 selects 512 MiB per core, for 4 cores at least.
CHUNK_BYTES = Setting("spark.xskip.build.chunkBytes", 0, _number, "a number of bytes")
#: Whether a build may take bounds from the footers of Parquet files, if the footers are reliable.
FOOTERS = Setting("spark.xskip.build.footers", default=True, read=_flag, expected=_FLAG)
#: The maximum number of rows in one metadata file; each row describes one data file.
ROWS_PER_FILE = Setting("spark.xskip.metadata.rowsPerFile", 50_000, _positive, "a whole number of at least 1")
#: The approximate maximum size of one metadata file in bytes.
BYTES_PER_FILE = Setting("spark.xskip.metadata.bytesPerFile", 128 << 20, _positive, "a number of bytes of at least 1")
#: The maximum size of an index's values in the driver, in bytes. A multiple of the size of the metadata files applies
#: instead if it is greater.
METADATA_BYTES = Setting("spark.xskip.metadata.maxBytes", 256 << 20, _positive, "a number of bytes of at least 1")
#: The maximum number of data files whose metadata the driver loads; a Spark job prunes larger indexes.
JOB_FILES = Setting("spark.xskip.pruning.jobFiles", 2_000_000, _number, "a number of files")
