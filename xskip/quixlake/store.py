"""The files of a lake: listings of its folders, and the content of its small Parquet files."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import DatasetError, StorageError, did_you_mean
from xskip.metadata.data_files import DataFiles, table_identifier
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake.compacted import Compacted, Compactions
from xskip.quixlake.custom_metadata import CURRENT, current_values, rows_of
from xskip.quixlake.custom_metadata import DOCUMENT as CUSTOM
from xskip.quixlake.descriptors import IndexFiles
from xskip.quixlake.location import LakeLocation, list_below
from xskip.quixlake.lost_segments import Uploads, lost_of_topic, paths_of
from xskip.quixlake.manifests import ManifestLog
from xskip.quixlake.names import METADATA, RAW, is_ambiguous, topic_of
from xskip.quixlake.segments import kept, listed_segments
from xskip.quixlake.small_files import State, UnreadableFile, read_small_files

__all__ = ["Described", "KeyChoice", "LakeStore"]

_INDEX_FILE = r"/index_raw_[^/]*\.parquet$"
_CUSTOM_FILE = r"/metadata_[^/]*\.parquet$"
_EITHER_FILE = r"/(?:index_raw|metadata)_[^/]*\.parquet$"
_ATTEMPTS = 5
#: The milliseconds after a modification in which a further one can leave the state of a file as it is [QLK-DE-9].
_UNSETTLED = 3_000


class Described(NamedTuple):
    """The content of the files below ``Metadata`` in one listing of topics' folders."""

    files: IndexFiles
    values: pa.Table


class KeyChoice(NamedTuple):
    """The stream keys of a read."""

    #: The names of all folders ``Key=`` that can hold segments of the stream keys.
    folders: Sequence[str]
    #: None chooses all stream keys of the folders.
    keys: Collection[str | None] | None = None


class LakeStore:
    """The files of a lake. Several threads can use a store."""

    def __init__(self, location: LakeLocation) -> None:
        #: The base as a URI, and without scheme and authority.
        self.uri = location.uri
        self.root = table_identifier(location.uri).rstrip("/")
        self.storage = location.storage
        self.compactions = Compactions(self.storage, self.uri)
        self._location = location
        self._prefix = self.uri[: len(self.uri) - len(self.root)]
        self._lock = threading.Lock()
        #: The content of small files. A file is read again only if its state has changed or was too young to tell.
        self._contents: dict[State, pa.Table | UnreadableFile] = {}
        self._index_files: tuple[dict[str, Any], IndexFiles] = {}, IndexFiles.of({})

    def all_folders(self) -> list[str]:
        """Return the names of the folders of all topics; none if the lake is empty [QLK-DI-5]."""
        found = [*dict.fromkeys(f for area in (RAW, METADATA) for f in self._folders(area, "Topic="))]
        if not found:
            self._check_base()
        return found

    def topic_folders(self) -> dict[str | None, list[str]]:
        """Return the names of the folders of each topic, by the topic that the names mean [QLK-DI-1] [QLK-DE-8]."""
        folders = self.all_folders()
        described = self._described_topics(folders)
        found: dict[str | None, list[str]] = {}
        for folder in folders:
            for topic in described.get(folder) or {topic_of(folder)}:
                found.setdefault(topic, []).append(folder)
        return found

    def folders_of(self, topic: str | None) -> list[str]:
        """Return the names of a topic's folders; a topic without a folder is an error."""
        found = self.topic_folders()
        own = found.get(topic, [])
        named = {folder for folders in found.values() for folder in folders if topic_of(folder) == topic}
        # Descriptors give other topics to segments in the folder of this name, but not to all [QLK-DE-8].
        own += [folder for folder in sorted(named.difference(own)) if self._has_undescribed(folder, topic)]
        if not own:
            names = sorted(map(str, found))
            raise DatasetError(
                "the lake has no such topic", where=self.uri, found=str(topic),
                expected=f"one of {', '.join(names[:10])}" if names else "a folder Raw/Topic=<topic>",
                hint=did_you_mean(str(topic), names),
            )  # fmt: skip
        return own

    def _described_topics(self, folders: Sequence[str]) -> dict[str, set[str | None]]:
        """Return the topics that descriptors give to the segments in folders whose names leave their topics open."""
        ambiguous = [folder for folder in folders if is_ambiguous(folder)]
        if not ambiguous:
            return {}
        segments = self.index_files(ambiguous).segments
        found: dict[str, set[str | None]] = {}
        for folder, topic in zip(*(segments[name].to_pylist() for name in ("path", "topic")), strict=True):
            found.setdefault(folder.split("/", 2)[1], set()).add(topic)
        return {folder: topics for folder, topics in found.items() if is_ambiguous(folder)}

    def _has_undescribed(self, folder: str, topic: str | None) -> bool:
        """Return whether a folder holds segments of the topic that its name means, beside those of other topics."""
        return topic in self.segments([folder])["topic"].to_pylist()

    def _check_base(self) -> None:
        """Raise an error if the folder does not exist, or if it has entries, but neither of the folders of a lake."""
        names = [*_names(self.storage.directories(self.uri)), *(each.name for each in self.storage.list(self.uri))]
        # Hidden entries do not count [QLK-DI-5].
        shown = sorted(name for name in names if not name.startswith((".", "_")))
        if shown and not {RAW, METADATA} & set(shown):
            raise DatasetError(
                "the folder is no lake", where=self.uri, found=", ".join(shown[:5]),
                expected=f"the folders {RAW} and {METADATA}", hint="name the folder of the workspace",
            )  # fmt: skip
        # A directory that does not exist is listed as empty, so that the directory above must tell.
        above, _, name = self.root.rpartition("/")
        if not names and name and name not in _names(self.storage.directories(f"{self._prefix}{above or '/'}")):
            raise DatasetError("the folder of the lake does not exist", where=self.uri, hint="check the path")

    def key_folders(self, area: str, folder: str) -> list[str]:
        """Return the names of the folders ``Key=`` in the folder of a topic."""
        return self._folders(f"{area}/{folder}", "Key=")

    def index_files(self, folders: Sequence[str]) -> IndexFiles:
        """Return the content of all index files of topics' folders."""
        return self._combined(self._contents_of(folders, _INDEX_FILE))

    def _combined(self, contents: dict[str, Any]) -> IndexFiles:
        """Return index files with these contents; the last result is remembered."""
        with self._lock:
            known, files = self._index_files
        # Contents that were not read again are the same objects.
        if known.keys() != contents.keys() or any(known[path] is not contents[path] for path in known):
            files = IndexFiles.of(contents, self.root)
            with self._lock:
                self._index_files = contents, files
        return files

    def old_index_files(self, folder: str, limit: int) -> dict[str, IndexFiles]:
        """Return the readable index files of a topic's folder, by the path of their folder relative to the base.

        The index files have not changed since ``limit``, in milliseconds since the Unix epoch.
        """
        places: dict[str, dict[str, Any]] = {}
        for path, content in self._contents_of([folder], _INDEX_FILE, limit).items():
            if not isinstance(content, UnreadableFile):
                places.setdefault(path.rpartition("/")[0], {})[path] = content
        found = {place: IndexFiles.of(contents, self.root) for place, contents in places.items()}
        return {place: files for place, files in found.items() if not files.unreadable}

    def custom_metadata(self, folders: Sequence[str]) -> tuple[pa.Table, list[UnreadableFile]]:
        """Return the current custom metadata of topics' folders, and the files that cannot be read."""
        rows, unreadable = _custom(self._contents_of(folders, _CUSTOM_FILE))
        return _current(rows), unreadable

    def custom_rows(self, folders: Sequence[str]) -> pa.Table:
        """Return all rows of custom metadata of topics' folders, current and former ones."""
        return _custom(self._contents_of(folders, _CUSTOM_FILE))[0]

    def raw_files(self, folders: Iterable[str], keys: Sequence[str] | None = None) -> DataFiles:
        """Return the files of topics' folders below ``Raw`` that count, with names relative to the base.

        ``keys`` are the names of the folders ``Key=`` to list; None lists all.
        """
        listed = [*folders]
        compacted, files = self.compactions.steady(listed, lambda: self._listed(listed, keys))
        return compacted.without_excluded(files)

    def _listed(self, folders: Sequence[str], keys: Sequence[str] | None) -> DataFiles:
        below = [f"{RAW}/{folder}" for folder in folders]
        if keys is not None:
            below = [f"{folder}/{key}" for folder in below for key in keys]
        return self._relative(_joined([list_below(self._location, f"{self.uri}/{each}") for each in below]))

    def compacted(self, folders: Iterable[str]) -> Compacted:
        """Return the compactions of topics' folders [QLK-CP-2]."""
        return self.compactions.compacted(folders)

    def lost_segments(self, folders: Iterable[str], uploads: Uploads) -> list[str]:
        """Return the paths of lost segments of topics' folders, relative to the base [QLK-SK-10]."""
        found = []
        for folder in folders:
            below, log = f"{RAW}/{folder}", ManifestLog(self.storage, f"{self.uri}/{METADATA}/{folder}")
            for _, lost in lost_of_topic(self.storage, f"{self.uri}/{below}", log, uploads):
                found += [f"{below}/{path}" for path in paths_of(lost)]
        return found

    def undecodable(self, folders: Iterable[str]) -> list[str]:
        """Return the paths below topics' folders whose names are not valid UTF-8, relative to the base."""
        if not isinstance(self.storage, LocalStorage):  # Hadoop's file systems have text for names
            return []
        places = [f"{self.uri}/{area}/{folder}" for folder in folders for area in (RAW, METADATA)]
        found = [path for place in places for path in self._location.files_below(place).undecodable]
        return [path[len(self.root) + 1 :] for path in found]

    def segments(
        self,
        folders: Sequence[str],
        choose: Callable[[Described], KeyChoice] | None = None,
        *,
        with_values: bool = False,
    ) -> pa.Table:
        """Return the segments that exist, see :func:`~xskip.quixlake.segments.listed_segments`.

        ``choose`` chooses stream keys before any segment is listed [QLK-CM-5], by custom metadata only if
        ``with_values``. None chooses all.
        """

        def look() -> tuple[DataFiles, pa.Table, KeyChoice | None]:
            if choose is None:
                return self._listed(folders, None), self.index_files(folders).decisive, None
            described = self._described(folders, with_values=with_values)
            choice = choose(described)
            return self._listed(folders, choice.folders), described.files.decisive, choice

        compacted, (files, descriptors, choice) = self.compactions.steady(folders, look)
        found = listed_segments(compacted.without_excluded(files), descriptors)
        if choice is None or choice.keys is None:
            return found
        return found.filter(pc.is_in(found["stream_key"], pa.array([*choice.keys], pa.string())))

    def _described(self, folders: Sequence[str], *, with_values: bool) -> Described:
        """Return the content of index files and, if it is needed, of custom metadata, by one listing."""
        contents = self._contents_of(folders, _EITHER_FILE if with_values else _INDEX_FILE)
        index_files = {path: content for path, content in contents.items() if re.search(_INDEX_FILE, path)}
        rows, _ = _custom({path: content for path, content in contents.items() if path not in index_files})
        return Described(self._combined(index_files), _current(rows))

    def described(self, folders: Sequence[str], *, with_values: bool = False) -> tuple[pa.Table, Described]:
        """Return the segments that descriptors name and that count, and the files below ``Metadata``.

        The segments are those of :func:`~xskip.quixlake.segments.described_segments`. Custom metadata is empty unless
        ``with_values``.
        """
        compacted, described = self.compactions.steady(
            folders, lambda: self._described(folders, with_values=with_values)
        )
        found = described.files.segments
        return (kept(found, pc.invert(compacted.excludes(found["path"]))) if len(compacted) else found), described

    def _folders(self, below: str, prefix: str) -> list[str]:
        names = _names(self.storage.directories(f"{self.uri}/{below}"))
        return [name for name in names if name.startswith(prefix)]

    def _contents_of(self, folders: Sequence[str], pattern: str, limit: int | None = None) -> dict[str, Any]:
        """Return the content of the Parquet files below ``Metadata`` whose names match, by path below the base.

        With a limit, the files are those that were modified before this time in milliseconds.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._read_once(folders, pattern, limit)
            except FileNotFoundError:  # a compaction has merged the file into others since the listing
                continue
        raise StorageError(
            "files of metadata vanish during each listing", where=f"{self.uri}/{METADATA}", hint="read the topic again"
        )

    def _read_once(self, folders: Sequence[str], pattern: str, limit: int | None) -> dict[str, Any]:
        settled = time.time() * 1000 - _UNSETTLED
        files = _joined([list_below(self._location, f"{self.uri}/{METADATA}/{folder}") for folder in folders])
        self._forget_all_but(files, folders)
        hit = pc.match_substring_regex(files.names, pattern)
        if limit is not None:
            hit = pc.and_(hit, pc.less(files.modified, limit))
        files = files.take(pc.indices_nonzero(hit).cast(pa.int64()))
        with self._lock:
            known = dict(self._contents)
        found = read_small_files(self.storage, self._prefix, files, known)
        with self._lock:
            names = {state[0] for state in found}  # former states of the files are of no use
            self._contents = {state: content for state, content in self._contents.items() if state[0] not in names}
            # A change shortly after the last one can leave the state of a file as it is [QLK-DE-9].
            self._contents |= {state: content for state, content in found.items() if (state[2] or settled) < settled}
        contents = {}
        for state, content in found.items():
            below = str(state[0])[len(self.root) + 1 :]
            contents[below] = replace(content, path=below) if isinstance(content, UnreadableFile) else content
        return contents

    def _forget_all_but(self, files: DataFiles, folders: Sequence[str]) -> None:
        """Forget the content of files below topics' folders that are not listed there any more."""
        places = tuple(f"{self.root}/{METADATA}/{folder}/" for folder in folders)
        with self._lock:
            own = [state for state in self._contents if state[0].startswith(places)]
            present = pc.is_in(pa.array([state[0] for state in own], pa.string()), files.names).to_pylist()
            for state in [state for state, is_present in zip(own, present, strict=True) if not is_present]:
                del self._contents[state]

    def _relative(self, files: DataFiles) -> DataFiles:
        names = pc.utf8_slice_codeunits(files.names, len(self.root) + 1)
        return DataFiles(names, files.sizes, files.modified)


def _custom(contents: Mapping[str, Any]) -> tuple[pa.Table, list[UnreadableFile]]:
    """Return the rows in files of custom metadata, and the files that cannot be read."""
    tables, unreadable = [CUSTOM.empty_table()], []
    for path, content in contents.items():
        rows = content if isinstance(content, UnreadableFile) else rows_of(content)
        if rows is None:
            unreadable.append(UnreadableFile(path, "no column MetadataKey"))
        elif isinstance(rows, UnreadableFile):
            unreadable.append(rows)
        else:
            tables.append(rows)
    return pa.concat_tables(tables), unreadable


def _current(rows: pa.Table) -> pa.Table:
    return current_values(rows) if len(rows) else CURRENT.empty_table()


def _joined(parts: Sequence[DataFiles]) -> DataFiles:
    if not parts:
        return DataFiles.of([])
    names, sizes, modified = (
        pa.concat_arrays([getattr(part, column) for part in parts]) for column in ("names", "sizes", "modified")
    )
    return DataFiles(names, sizes, modified)


def _names(directories: Iterable[str]) -> list[str]:
    return [path.rstrip("/").rpartition("/")[2] for path in directories]
