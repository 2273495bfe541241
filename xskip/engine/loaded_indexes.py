"""The indexes in use: their snapshots, and the files that the JVM knows of each snapshot."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from dataclasses import dataclass, field

from xskip.engine.bounded_map import BoundedMap
from xskip.engine.decision import Decision
from xskip.engine.ports import Platform
from xskip.engine.warning_log import WarningLog
from xskip.errors import XskipError
from xskip.hints import Call, Words
from xskip.metadatastore.index_search import index_directories, open_indexes
from xskip.metadatastore.snapshot import KnownFiles, Snapshot, open_snapshot
from xskip.metadatastore.unreadable_indexes import UnreadableIndexes
from xskip.metadatastore.versions import rules_of
from xskip.protocol.file_table import file_table
from xskip.settings import METADATA_BYTES

__all__ = ["LoadedIndex", "LoadedIndexes", "driver_only_reason"]

_log = logging.getLogger("xskip")
_log_of_queries = logging.getLogger("xskip.queries")
_tokens = itertools.count(1)
# seconds until a query checks a directory for a new snapshot; pruning by a stale snapshot is still sound
_RECHECK_LOCAL_SECONDS = 0.0
_RECHECK_REMOTE_SECONDS = 5.0
#: The number of seconds for which an unreadable remote directory is not read again: a failure can take long.
_RETRY_SECONDS = 5.0
_MAX_INDEXES = 32
_MAX_DECISIONS = 64
#: The number of changed indexes of which the next snapshot takes over names and partition values.
_MAX_FORMER = 4


def driver_only_reason(snapshot: Snapshot) -> str:
    """Return the reason why only the driver can prune a snapshot, whatever its size, or an empty text."""
    if not snapshot.is_ours:
        return Words("another program has written the metadata; {}", Call("refresh"))
    if any(file.schema.encryption is not None for file in snapshot.metadata_files):
        return "the metadata is encrypted, and only the driver has the keys"
    if any(rules_of(file.schema.version).serialised for file in snapshot.metadata_files):
        return Words("the metadata version uses serialised objects; {}", Call("migrate"))
    return ""


def _no_decisions() -> BoundedMap[str, Decision]:
    return BoundedMap(_MAX_DECISIONS)


@dataclass(slots=True)
class LoadedIndex:
    """An index in use."""

    #: The directory of the metadata, in the hook's spelling.
    directory: str
    snapshot: Snapshot
    #: The number by which the JVM knows the snapshot.
    token: int
    #: When the directory was last checked for a new snapshot, in seconds of the monotonic clock.
    checked: float = 0.0
    #: Whether the JVM has the files of the snapshot.
    is_registered: bool = False
    #: The latest decisions by the snapshot, by the cache keys of their requests.
    decisions: BoundedMap[str, Decision] = field(default_factory=_no_decisions)


class LoadedIndexes:
    """The indexes in use, at most 32; the JVM has the files of their snapshots."""

    def __init__(self, platform: Platform, warnings: WarningLog) -> None:
        from cachetools import TTLCache

        self._platform = platform
        self._warnings = warnings
        # Guards all attributes, ``checked`` and ``is_registered`` of each LoadedIndex, and the calls that register and
        # unregister snapshots in the JVM, among them the job that registers a large snapshot. So the JVM never has an
        # older snapshot than Python. A thread that holds the lock can take the locks of the DistributedPruner, of the
        # WarningLog, of a Snapshot and of a BoundedMap. No thread takes the locks in another order.
        self._lock = threading.RLock()
        self._loaded: BoundedMap[str, LoadedIndex] = BoundedMap(_MAX_INDEXES)  # by directory
        self._former: BoundedMap[str, KnownFiles] = BoundedMap(_MAX_FORMER)  # of indexes that this process has changed
        self._changed: dict[str, None] = {}  # the directories whose index this process has changed
        self._failures = UnreadableIndexes()
        self._unreadable: TTLCache[str, str] = TTLCache(_MAX_INDEXES, _RETRY_SECONDS)  # the reason, by directory
        self._max_bytes = METADATA_BYTES.default

    def load(self, directory: str, job_threshold: int) -> LoadedIndex | None:
        """Return the index in a directory after its files are registered in the JVM, or None without an index.

        A job registers the files if there are more than ``job_threshold`` and if a job can prune the index.
        """
        wait = _RECHECK_LOCAL_SECONDS if directory.startswith("/") else _RECHECK_REMOTE_SECONDS
        with self._lock:
            loaded = self._loaded.get(directory)
            if loaded is None or time.monotonic() - loaded.checked >= wait:
                loaded = self._recheck(directory, loaded)
            if loaded is not None and not loaded.is_registered:
                self._register(loaded, job_threshold)
            return loaded

    def is_for_job(self, loaded: LoadedIndex, job_threshold: int) -> bool:
        """Return whether a job prunes an index; warn once if a large index cannot be pruned by a job."""
        if loaded.snapshot.rows <= job_threshold:
            return False
        why = driver_only_reason(loaded.snapshot)
        if why:
            self._warnings.warn_driver_only(loaded.directory, loaded.snapshot.rows, why)
        return not why

    def snapshot(self, directory: str) -> tuple[Snapshot, int] | None:
        """Return the present snapshot of a directory and its number in the JVM, or None without an index."""
        with self._lock:
            loaded = self._open(directory, self._loaded.get(directory))
        return None if loaded is None else (loaded.snapshot, loaded.token)

    def knows(self, directory: str) -> bool:
        """Return whether this process has built, changed or used an index in a directory, and has not dropped it."""
        with self._lock:
            return directory in self._changed or self._loaded.get(directory) is not None

    def forget_dropped(self, directory: str) -> None:
        """Discard that there was an index in a directory, because this process has dropped it."""
        with self._lock:
            self._changed.pop(directory, None)
            self._loaded.discard(directory)

    def directories(self) -> list[str]:
        """Return the directories of the indexes in use."""
        return self._loaded.keys()

    def list_snapshots(self, base: str | None) -> list[tuple[Snapshot, str]]:
        """Return the present snapshots with their directories, and warn of each index that cannot be read.

        ``base`` is the base location of the indexes, or a directory with datasets. None lists the indexes that this
        process has changed or used.
        """
        if base is None:
            with self._lock:
                directories = dict.fromkeys(self._loaded.keys()) | self._changed
        else:
            directories = dict.fromkeys(index_directories(self._platform.storage(base), base))
        return list(open_indexes(directories, self._platform.storage))

    def forget(self, directory: str) -> None:
        """Discard all state of a directory, whose index this process has created, changed or dropped."""
        with self._lock:
            loaded = self._loaded.get(directory)
            if loaded is not None:
                self._former.put(directory, loaded.snapshot.known_files())
                self._loaded.discard(directory)
            self._unreadable.pop(directory, None)
            self._failures.forget(directory)
            self._changed[directory] = None
            self._platform.jobs.forget()
            self._platform.unregister(directory)  # under the lock: a concurrent query registers afterwards
        self._platform.forget_directories()

    def forget_known_files(self) -> None:
        """Discard the names and partition values that the next snapshots of changed indexes would take over."""
        with self._lock:
            self._former = BoundedMap(_MAX_FORMER)

    def discard_unreadable(self, directory: str, error: BaseException) -> None:
        """Discard an index whose metadata are damaged, and do not read it until its directory changes.

        Errors that do not last have no effect.
        """
        with self._lock:
            if self._failures.remember(directory, error):
                self._loaded.discard(directory)

    def _register(self, loaded: LoadedIndex, job_threshold: int) -> None:
        if self.is_for_job(loaded, job_threshold):
            self._platform.jobs.register(loaded.directory, loaded.snapshot, loaded.token)
        else:
            table = loaded.snapshot.load(loaded.snapshot.partition_keys)
            has_parts = loaded.snapshot.has_parts
            self._platform.register(loaded.directory, loaded.token, file_table(table), has_parts=has_parts)
        loaded.is_registered = True
        record = loaded.snapshot.record if loaded.snapshot.is_ours else None
        source = f"commit {record.number}" if record else "metadata of another program"
        counts = f"{loaded.snapshot.rows:,} files, {len(loaded.snapshot.indexes):,} indexes"
        _log_of_queries.info("queries use the index in %s: %s, %s", loaded.directory, source, counts)

    def _recheck(self, directory: str, loaded: LoadedIndex | None) -> LoadedIndex | None:
        # A remote directory can take minutes to fail, so that no check follows shortly after a failed one.
        why = self._unreadable.get(directory)
        if why is not None:
            raise XskipError(why)
        try:
            present = self._open(directory, loaded)
        except Exception as error:
            if not directory.startswith("/"):
                self._unreadable[directory] = self._platform.describe(error)
            raise
        self._unreadable.pop(directory, None)
        return present

    def _open(self, directory: str, loaded: LoadedIndex | None) -> LoadedIndex | None:
        """Return the present index of a directory, which is the loaded index if nothing has changed."""
        storage = self._platform.storage(directory)
        if loaded is None:
            self._max_bytes = self._platform.max_metadata_bytes()
            self._failures.look(storage, directory, self._max_bytes)
        before = None if loaded is None else loaded.snapshot
        snapshot = open_snapshot(storage, directory, before, self._max_bytes)
        if snapshot is None:
            self._loaded.discard(directory)
            self._platform.unregister(directory)
            return None
        former = self._former.get(directory)
        if former is not None:
            snapshot.take_over(former)
            self._former.discard(directory)
        if loaded is None or snapshot is not before:
            loaded = LoadedIndex(directory, snapshot, next(_tokens))
        loaded.checked = time.monotonic()
        for evicted in self._loaded.put(directory, loaded):
            self._platform.unregister(evicted)
        return loaded
