"""The one family of errors.

Every message says what went wrong, where, what was found, what was expected and what to do, as far as each is
known. No message carries data values or key material.
"""

from __future__ import annotations

__all__ = [
    "CollectError",
    "CommitConflictError",
    "DatasetError",
    "IndexDefinitionError",
    "IndexDroppedError",
    "IndexExistsError",
    "JavaNotFoundError",
    "KeyNotAvailableError",
    "MetadataCorruptError",
    "MetadataNotFoundError",
    "MetadataVersionError",
    "PredicateError",
    "RecordDamagedError",
    "SettingError",
    "StorageError",
    "UnsupportedTypeError",
    "XskipError",
]


class XskipError(Exception):
    """Base of all errors that xskip raises.

    Parameters
    ----------
    what : str
        One sentence that says what went wrong.
    where, found, expected, hint : str, optional
        The place (a path, a column), what is there, what should be there, what to do now.

    Examples
    --------
    >>> print(XskipError("no index", where="/lake/events", hint="call create() first"))
    no index (where: /lake/events); call create() first
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        found: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.found = found
        self.expected = expected
        self.hint = hint
        parts = [
            f"{name}: {value}" for name, value in (("where", where), ("found", found), ("expected", expected)) if value
        ]
        message = f"{what} ({'; '.join(parts)})" if parts else what
        super().__init__(f"{message}; {hint}" if hint else message)


class IndexDefinitionError(XskipError, ValueError):
    """The index asked for cannot exist: no such column, a parameter out of range, a duplicate."""


class UnsupportedTypeError(XskipError, TypeError):
    """The column's type cannot be served by this index."""


class IndexExistsError(XskipError, ValueError):
    """The dataset has an index already."""


class DatasetError(XskipError, ValueError):
    """The dataset cannot be read, or is not made of files."""


class PredicateError(XskipError, ValueError):
    """A predicate that Spark cannot parse, or that names what the dataset lacks."""


class SettingError(XskipError, ValueError):
    """A setting has a value that it cannot have."""


class MetadataNotFoundError(XskipError, LookupError):
    """There is no index where one is needed."""

    @classmethod
    def at(cls, where: str) -> MetadataNotFoundError:
        """The error for a directory of metadata, or a dataset."""
        return cls("there is no index", where=where, hint="call create([...]) first")


class MetadataCorruptError(XskipError):
    """Metadata is there and cannot be understood."""


class RecordDamagedError(MetadataCorruptError):
    """The commit record that an index begins with is not whole."""


class MetadataVersionError(XskipError):
    """Metadata of a version that this release does not read or write."""


class KeyNotAvailableError(XskipError, LookupError):
    """Metadata is encrypted, and a key is not to be had."""


class CommitConflictError(XskipError):
    """Another writer committed first, again and again.

    Attributes
    ----------
    index : str
        The identity of the index on which the commit was to be made; empty where the index was to begin with it.
    """

    index: str = ""


class IndexDroppedError(CommitConflictError):
    """Another program dropped the index while a commit on it was prepared."""

    @classmethod
    def at(cls, where: str) -> IndexDroppedError:
        """The error for a directory of metadata."""
        return cls(
            "the index was dropped while a commit was prepared, and the commit was not made", where=where,
            hint="call refresh() on the index that is there now, or create() where there is none",
        )  # fmt: skip


class CollectError(XskipError, RuntimeError):
    """The data could not be read while an index was built."""


class StorageError(XskipError, OSError):
    """The storage of the metadata refused to list, read, write or remove."""


class JavaNotFoundError(XskipError, OSError):
    """Java is missing or older than Spark needs."""
