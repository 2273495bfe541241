"""Exceptions that xskip raises, all derived from :class:`XskipError`.

Each message states what went wrong, where, what xskip found, what it expected and what the user can do, as far as these
parts are known. Messages contain neither data values nor key material.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from xskip.hints import Call, Method, Phrase, Words, joined

__all__ = [
    "ArgumentError",
    "CollectError",
    "CommitConflictError",
    "DatasetError",
    "HookVersionError",
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
    "ReplayError",
    "SettingError",
    "StorageError",
    "TableChangedError",
    "TableDamagedError",
    "TableVersionError",
    "UnsupportedTypeError",
    "XskipError",
    "did_you_mean",
    "error_text",
    "message_of",
    "or_none",
    "shown",
    "statement_of",
]

_CREATE = Call("create", "[...]")


class XskipError(Exception):
    """Base class of all errors that xskip raises.

    Parameters
    ----------
    what : str
        One sentence that states what went wrong.
    where : str, optional
        The place of the error, such as a path or a column.
    found : str, optional
        The actual value or state.
    expected : str, optional
        The value or state that xskip expected.
    hint : str, optional
        The action that the user can take.

    Examples
    --------
    >>> print(XskipError("there is no index", where="/lake/events", hint="call create() first"))
    there is no index (where: /lake/events); call create() first
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
        super().__init__(str(message_of(self)))


class ArgumentError(XskipError, TypeError, ValueError):
    """Error for an argument of another type than expected, or with a value that is none of the choices."""


class IndexDefinitionError(XskipError, ValueError):
    """Error for an index definition that is invalid or that does not fit the dataset."""


class UnsupportedTypeError(XskipError, TypeError):
    """Error for a type that an index type or a version of the metadata format does not support."""


class IndexExistsError(XskipError, ValueError):
    """Error for the creation of an index on a dataset that already has an index."""


class DatasetError(XskipError, ValueError):
    """Error for a dataset that Spark cannot read, or that xskip cannot handle, such as a view with a query."""


class PredicateError(XskipError, ValueError):
    """Error for a predicate that Spark cannot parse, that names unknown columns, or whose literals do not fit."""


class SettingError(XskipError, ValueError):
    """Error for a setting with an invalid value."""


class MetadataNotFoundError(XskipError, LookupError):
    """Error for an operation that needs an index where no index exists."""

    @classmethod
    def at(cls, where: str) -> MetadataNotFoundError:
        """Return the error for a place without an index.

        Parameters
        ----------
        where : str
            The directory of the metadata, or the dataset's root.

        Returns
        -------
        MetadataNotFoundError
        """
        return cls("there is no index", where=where, hint=Words("{} first", _CREATE))

    @classmethod
    def gone(cls, where: str) -> MetadataNotFoundError:
        """Return the error for an index that this process has built or used, and that something else has deleted.

        Parameters
        ----------
        where : str
            The directory of the metadata.

        Returns
        -------
        MetadataNotFoundError
        """
        return cls(
            "the index is gone: this process has built or used it, and it was deleted since", where=where,
            expected="an index, which an overwrite of the dataset deletes: mode(\"overwrite\"), INSERT OVERWRITE",
            hint=Words("{} again; indexes below spark.xskip.metadata.location outlive an overwrite", _CREATE),
        )  # fmt: skip

    @classmethod
    def only_elsewhere(cls, folder: str) -> MetadataNotFoundError:
        """Return the error for a dataset whose folder of indexes holds only those of other paths.

        Parameters
        ----------
        folder : str
            The folder of indexes inside the dataset.

        Returns
        -------
        MetadataNotFoundError
        """
        return cls(
            "there is no index of this path, but one of another path", where=folder,
            hint=Words(
                "{} if the dataset was moved or copied, or {}", Call("adopt"), Method("create", "[...]")
            ),
        )  # fmt: skip

    @classmethod
    def without_first_record(cls, folder: str) -> MetadataNotFoundError:
        """Return the error for a metadata directory without the first commit record, which defines the index.

        Parameters
        ----------
        folder : str
            The directory of the commit records.

        Returns
        -------
        MetadataNotFoundError
        """
        return cls(
            "there is no index, because its first commit record was removed", where=folder,
            hint=Words("restore the record from a backup, or {}", _CREATE),
        )  # fmt: skip


class IndexDeletedError(MetadataNotFoundError):
    """Error for an index that an overwrite of the dataset has deleted, and whose definition is known."""

    @classmethod
    def after(cls, where: str, time: str) -> IndexDeletedError:
        """Return the error for a metadata directory.

        Parameters
        ----------
        where : str
            The directory of the metadata.
        time : str
            When the definition was written.

        Returns
        -------
        IndexDeletedError
        """
        return cls(
            f"the dataset was overwritten since its indexes were defined ({time}), "
            "or its index was deleted in another way", where=where,
            hint=Words("{}, which builds the same index again", Call("refresh")),
        )  # fmt: skip


class MetadataCorruptError(XskipError):
    """Error for metadata that exists but is damaged or cannot be decoded."""


class RecordDamagedError(MetadataCorruptError):
    """Error for an incomplete first commit record of an index."""


class MetadataVersionError(XskipError):
    """Error for a version of the metadata format that this release does not read or write."""


class KeyNotAvailableError(XskipError, LookupError):
    """Error for encrypted metadata without an available key, and for a key label that the index does not have."""


class CommitConflictError(XskipError):
    """Error for a commit that failed because another writer committed first.

    Attributes
    ----------
    index : str
        The identity of the index that the commit extends; empty if the commit creates the index.
    """

    index: str = ""


class IndexDroppedError(CommitConflictError):
    """Error for a commit on an index that another program dropped before the commit."""

    @classmethod
    def at(cls, where: str) -> IndexDroppedError:
        """Return the error for a metadata directory whose index was dropped.

        Parameters
        ----------
        where : str
            The directory of the metadata.

        Returns
        -------
        IndexDroppedError
        """
        return cls(
            "the index was dropped before this commit", where=where,
            hint=Words("{} on the new index, or {} if there is no index", Call("refresh"), Method("create")),
        )  # fmt: skip


class CollectError(XskipError, RuntimeError):
    """Error for data that Spark could not read while xskip built an index."""


class ReplayError(XskipError, RuntimeError):
    """Error for a replay that its target refuses, or whose state does not fit."""


class StorageError(XskipError, OSError):
    """Error for a storage that refused to list, read, write or remove files."""


class HookVersionError(XskipError, RuntimeError):
    """Error for a jar with Java classes of another version of xskip, or compiled for another Spark."""


class JavaNotFoundError(XskipError, OSError):
    """Error for a Java runtime that is missing or older than Spark requires."""


class TableDamagedError(XskipError):
    """Error for files of a QuestDB table that are missing, short, or that contradict each other."""


class TableVersionError(XskipError):
    """Error for a QuestDB table whose files have a format that this release does not read."""


class TableChangedError(XskipError, RuntimeError):
    """Error for a QuestDB table that a server changed during every attempt to read one transaction of it."""


def did_you_mean(found: str, known: Iterable[str]) -> str | None:
    """Return a hint at the known name that is most similar to a name, or None if no name is similar.

    Parameters
    ----------
    found : str
        The unknown name.
    known : iterable of str
        The names that exist.

    Examples
    --------
    >>> did_you_mean("Citty", ["city", "temp"])
    'did you mean city?'
    """
    folded = {name.lower(): name for name in known}
    similar = difflib.get_close_matches(found.lower(), folded, 1)
    return f"did you mean {folded[similar[0]]}?" if similar else None


def error_text(error: Exception) -> str:
    """Return what an error says; an error of the operating system without its number and path.

    >>> error_text(FileNotFoundError(2, "No such file or directory", "a.toml"))
    'No such file or directory'
    """
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def statement_of(error: XskipError) -> Words:
    """Return what an error says without its hint.

    >>> statement_of(MetadataNotFoundError.at("/lake/events"))
    'there is no index (where: /lake/events)'
    """
    named = (("where", error.where), ("found", error.found), ("expected", error.expected))
    parts = [Words("{}: {}", name, part) for name, part in named if part]
    return Words("{} ({})", error.what, joined("; ", parts)) if parts else Words("{}", error.what)


def message_of(error: XskipError) -> Words:
    """Return what an error says with its hint, which is the text of the error.

    >>> message_of(MetadataNotFoundError.at("/lake/events")).shell
    'there is no index (where: /lake/events); run xskip create first'
    """
    statement = statement_of(error)
    return Words("{}; {}", statement, error.hint) if error.hint else statement


def shown(value: object) -> str:
    """Return a short text of an argument; the words of Python name its type.

    >>> shown(5), shown(None), shown([5])
    ('5, of type int', 'None', 'an object of type list')
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, (str, int, float)):
        return Words("{:.100}{}", repr(value), Phrase(f", of type {type(value).__name__}", ""))
    return f"an object of type {type(value).__name__}"


def or_none(expected: str) -> Words:
    """Return what an argument is expected to be, if Python can also pass None.

    >>> or_none("a number"), or_none("a number").shell
    ('a number, or None', 'a number')
    """
    return Words("{}{}", expected, Phrase(", or None", ""))
