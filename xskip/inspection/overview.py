"""The overview of all indexes below a directory."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from xskip.errors import DatasetError, IndexDeletedError, XskipError
from xskip.hints import Call, Method, Phrase, Words, joined
from xskip.inspection.description import dataset_of, metadata_bytes
from xskip.metadata.data_files import table_identifier
from xskip.metadatastore.definition_copy import DefinitionCopy, has_dataset, read_copy
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.index_search import search_indexes
from xskip.metadatastore.location import INDEX_DIRECTORY, metadata_directory
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.results.index_status import IndexStatus
from xskip.results.overview import IndexOverview, Overview

__all__ = ["Survey"]

#: The indexes that are read at once: a remote store takes longer to answer than to send.
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class _Found:
    index: IndexOverview
    #: Whether the index lies inside of another dataset than its own.
    is_of_another: bool = False


@dataclass(frozen=True, slots=True)
class Survey:
    """A survey of the indexes below a directory."""

    storage: Storage
    #: Returns the state of an index; None if it is not known.
    status: Callable[[Snapshot, str, str], IndexStatus | None]
    #: Returns whether the root of a dataset exists, or may exist.
    exists: Callable[[str], bool]

    def of(self, directory: str) -> Overview:
        """Return the state of all indexes below a directory."""
        found = search_indexes(self.storage, directory)
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            read = [each for each in threads.map(self._read, found.indexes) if each is not None]
        served = {each.index.dataset for each in read if not each.is_of_another}
        # an adopted index leaves the former one, which serves nothing
        indexes = [each.index for each in read if not each.is_of_another or each.index.dataset not in served]
        indexes += (each for each in self._deleted(found.definitions) if each.dataset not in served)
        ordered = sorted(indexes, key=lambda each: (each.dataset, each.location))
        return Overview(directory, time.time_ns() // 1_000_000, tuple(ordered))

    def _read(self, directory: str) -> _Found | None:
        around = _dataset_around(directory)
        index = IndexOverview(around or directory, directory)
        try:
            snapshot = open_snapshot(self.storage, directory)
            if snapshot is None:
                return None
            index = self._describe(snapshot, directory)
            if around and _resolved(around) != _resolved(index.dataset):
                problem = Words("the index is that of {}; {}", index.dataset, _call(Call("adopt"), around))
                return _Found(
                    replace(index, dataset=around, problem=problem, fault="index of another path"), is_of_another=True
                )
            status = self.status(snapshot, index.dataset, directory)
        except DatasetError as error:
            is_gone = index.commit is not None and not self.exists(index.dataset)
            return _Found(_without_dataset(index) if is_gone else replace(index, problem=_problem(error)))
        except XskipError as error:
            return _Found(replace(index, problem=_problem(error)))
        index = replace(index, status=status, problem=status.problem if status else "")
        if status is None or status.up_to_date or index.problem:
            return _Found(index)
        # the format and options with which the index reads are in its record
        advice = (
            _call(Call("refresh"), index.dataset, *_place(index)) if status.remedy == str(Call("refresh")) else None
        )
        return _Found(replace(index, advice=Words("{}", advice) if advice else status.remedy))

    def _describe(self, snapshot: Snapshot, directory: str) -> IndexOverview:
        profile = snapshot.read_profile
        return IndexOverview(
            dataset=dataset_of(snapshot),
            location=directory,
            format=profile.format if profile else "",
            files=snapshot.rows,
            indexes=tuple(str(definition) for definition, _ in snapshot.indexes),
            metadata_bytes=metadata_bytes(snapshot, self.storage, directory),
            commit=snapshot.record.created if snapshot.record else None,
        )

    def _deleted(self, directories: tuple[str, ...]) -> Iterator[IndexOverview]:
        """Yield the indexes that were deleted with their datasets' files, and whose definitions are known."""
        for directory in directories:
            copy = read_copy(self.storage, directory)
            parent = directory.rstrip("/").rsplit("/", 2)[0]
            # a copy that was moved with its parent counts for no dataset
            if copy is None or _resolved(copy.root.rstrip("/").rpartition("/")[0]) != _resolved(parent):
                continue
            # the storage may spell the path otherwise than the copy
            beside = f"{parent}/{copy.root.rstrip('/').rpartition('/')[2]}"
            yield _gone(copy) if not has_dataset(self.storage, beside) else _overwritten(copy)


def _overwritten(copy: DefinitionCopy) -> IndexOverview:
    location = metadata_directory(copy.root, None)
    what = IndexDeletedError.after(location, copy.time).what
    # the settings of a session can lead to another index of the dataset
    drop = Phrase("at(location).drop()", shlex.join(["xskip", "drop", copy.root, "--at", location]))
    text = "{}; {}, which builds the same index again, or {}, which forgets it"
    problem = Words(text, what, _call(Call("refresh"), copy.root), drop)
    return replace(_defined(copy), problem=problem, fault="index deleted")


def _gone(copy: DefinitionCopy) -> IndexOverview:
    forget = Phrase("drop()", f"xskip drop {shlex.quote(copy.root)}")
    problem = Words("the dataset does not exist any more; {} forgets it", forget)
    return replace(_defined(copy), problem=problem, fault="dataset gone")


def _without_dataset(index: IndexOverview) -> IndexOverview:
    """Return the state of an index outside of its dataset, which is gone."""
    drop = Phrase("drop()", shlex.join(["xskip", "drop", index.dataset, *_place(index)]))
    text = "the dataset does not exist any more; {} removes its index, {} takes it over for a new path"
    return replace(index, problem=Words(text, drop, Method("adopt")), fault="dataset gone")


def _place(index: IndexOverview) -> tuple[str, ...]:
    """Return the flags that tell commands where an index is; none for an index inside its dataset."""
    if metadata_directory(index.dataset, None) == index.location:
        return ()
    base = index.location.rstrip("/").rpartition("/")[0]
    is_below_base = metadata_directory(index.dataset, base) == index.location
    return ("--location", base) if is_below_base else ("--at", index.location)


def _call(advice: Call, *words: str) -> Phrase:
    """Return the advice to call a method, or to run its command with words after it."""
    return Phrase(str(advice), f"{advice.shell} {shlex.join(words)}")


def _defined(copy: DefinitionCopy) -> IndexOverview:
    location = metadata_directory(copy.root, None)
    return IndexOverview(copy.root, location, copy.read_profile.format, indexes=tuple(map(str, copy.indexes)))


def _problem(error: XskipError) -> str:
    """Return what is wrong and what to do; the overview shows the place beside it."""
    return joined("; ", filter(None, (error.what, error.hint)))


def _dataset_around(directory: str) -> str:
    """Return the dataset around the directory of an index inside; empty for an index elsewhere."""
    parts = directory.rstrip("/").rsplit("/", 2)
    return parts[0] if parts[1:2] == [INDEX_DIRECTORY] else ""


def _resolved(root: str) -> str:
    """Return a local path without symbolic links, and the path of a URI."""
    return table_identifier(root) if "://" in root else os.path.realpath(table_identifier(root))
