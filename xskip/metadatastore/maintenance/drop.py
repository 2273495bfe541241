"""The removal of an index from its metadata directory."""

from __future__ import annotations

import re

from xskip.errors import MetadataCorruptError, MetadataNotFoundError, XskipError
from xskip.hints import Method, Words
from xskip.metadatastore.codec import version_of
from xskip.metadatastore.commit import COMMITS, is_own_name
from xskip.metadatastore.commit_records import list_records
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.location import is_directory_name

__all__ = ["remove_index"]

_DATA = re.compile(r"[^_.].*\.parquet")
_MARK = re.compile(r"_SUCCESS|_committed_.*|_started_.*|\._SUCCESS\.crc")


def remove_index(storage: Storage, directory: str) -> int:
    """Remove the metadata of a directory, and return the number of metadata files that were in it [MDS-C-13].

    If a user chose the directory, a Parquet file that is not metadata raises MetadataCorruptError, and an encrypted
    file of another program that no key opens raises KeyNotAvailableError. Nothing has been removed then. XskipError
    means that metadata files remain.
    """
    data = _data_in(storage, directory)
    foreign = [name for name in data if not is_own_name(name)]
    if not foreign and not storage.list(f"{directory}/{COMMITS}"):
        raise MetadataNotFoundError.at(directory)
    # A directory with a digest as its name is removed with all its content. A directory that a user chose can contain
    # other files, which stay.
    is_digest = is_directory_name(directory.rstrip("/").rpartition("/")[2])
    for name in () if is_digest else foreign:
        _check(storage, f"{directory}/{name}")
    storage.remove(f"{directory}/{name}" for name in foreign)
    # records without an identity define the index; the greatest record goes last, and its removal drops the index
    begun = sorted(name for name in list_records(storage, directory) if not name.identity)
    storage.remove(name.path(directory) for name in begun)
    data = list(dict.fromkeys([*data, *_data_in(storage, directory)]))  # a concurrent commit may have added files
    if is_digest:
        storage.remove_tree(directory)
    else:
        _remove_metadata(storage, directory, data)
    _check_gone(storage, directory, data)
    return len(data)


def _data_in(storage: Storage, directory: str) -> list[str]:
    return [entry.name for entry in storage.list(directory) if _DATA.fullmatch(entry.name)]


def _remove_metadata(storage: Storage, directory: str, data: list[str]) -> None:
    """Remove metadata files, their checksums and temporary files, and all records."""
    names = [entry.name for entry in storage.list(directory)]
    hidden = tuple(f".{name}." for name in data) + tuple(f"._{name}." for name in data)  # checksums, incomplete files
    storage.remove(f"{directory}/{name}" for name in names if name in data or name.startswith(hidden))
    storage.remove_tree(f"{directory}/{COMMITS}")
    left = [entry.name for entry in storage.list(directory)]
    # The directory goes, too, if it contains nothing else but marks of writers.
    if all(_MARK.fullmatch(name) for name in left) and not storage.directories(directory):
        storage.remove_tree(directory)


def _check_gone(storage: Storage, directory: str, names: list[str]) -> None:
    left = {entry.name for entry in storage.list(directory)} & set(names)
    if left:
        raise XskipError(
            "cannot remove the index", where=directory, found=f"{len(left)} remaining files",
            hint="check whether this user may delete files there",
        )  # fmt: skip


def _check(storage: Storage, path: str) -> None:
    try:
        version_of(storage.fetch(path))
    except FileNotFoundError:  # another process has removed the file
        return
    except MetadataCorruptError as error:
        raise MetadataCorruptError(
            Words("{} removed nothing, because a Parquet file in the directory is not a metadata file", Method("drop")),
            where=path, found=error.found,
            hint="move files that are not metadata to another directory",
        ) from error  # fmt: skip
