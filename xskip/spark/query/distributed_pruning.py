"""The pruning of metadata that is too large for the driver: Spark jobs register its data files and answer queries.

A task reads a part of the metadata files and evaluates the same clauses as the driver. Rules: [PRU-JB].
"""

from __future__ import annotations

import json
import re
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from xskip.clauses.clause import Clause, IndexClause, Mask, Undetermined, leaves, map_leaves, subjects
from xskip.engine.metadata_row_groups import RowGroups
from xskip.errors import XskipError
from xskip.expressions.condition_reasons import Cause, UnreadableMetadata
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import IndexKey, MetadataTable, Requirement
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.splits import Part, parts_of
from xskip.metadatastore.temporary import lasting_folder
from xskip.protocol.file_table import partition_texts
from xskip.pruning.prune import PruneResult, UnusedPart, prune, requirements
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.java_errors import is_cancellation
from xskip.spark.bridge.sessions import clone_session
from xskip.types.datatypes import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DistributedPruner"]

_Map = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]
_READER = "xskip_part"
#: The most parts in a job that registers data files: about two million rows reach the driver's JVM at once.
_REGISTERED_PARTS = 40
#: About the least number of parts per task, because starting a task takes longer than reading a few parts.
_PARTS_PER_TASK = 4
#: The number of seconds after a failed job in which no other job runs for the same snapshot.
_RETRY_SECONDS = 60.0
_SETTINGS = {
    "spark.xskip.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",  # a part can be large
}
# the exception of a Python worker, or the last cause of a Java exception
_CAUSES = (re.compile(r"^\w[\w.]*(?:Error|Exception)\b.*", re.M), re.compile(r"(?<=^Caused by: ).*", re.M))
_REGISTERED = "ordinal int, path string, size bigint, time bigint, partition string"
_PRUNED = "part int, skip binary, outcomes string"


class DistributedPruner:
    """A runner of pruning jobs, in a separate session in which xskip is disabled; several threads can use it."""

    def __init__(self, hook: Hook) -> None:
        from cachetools import TTLCache

        #: A session of the current application. The engine sets the session before the first job.
        self.spark: SparkSession | None = None
        self._hook = hook
        # Guards the session of the jobs, the latest row groups, and the start of a job in the JVM. A job runs after its
        # thread has released the lock.
        self._lock = threading.RLock()
        self._job_session: tuple[str, SparkSession] | None = None  # with the id of its application
        self._groups: tuple[str, RowGroups] | None = None
        self._failed: TTLCache[str, str] = TTLCache(1, _RETRY_SECONDS)  # the reason, by snapshot

    def register(self, directory: str, snapshot: Snapshot, token: int) -> None:
        """Register the data files of a snapshot in the JVM, which knows the snapshot by the number ``token``.

        The driver's Python process reads no file name. ``directory`` is in the hook's spelling.
        """
        wanted = snapshot.partition_keys
        with self._trying(snapshot):
            parts = parts_of(snapshot.metadata_files, self._groups_of(snapshot).places, wanted, has_names=True)
            filler = self._hook.queries.filler(token, snapshot.rows)
            for first in range(0, len(parts), _REGISTERED_PARTS):
                batch = parts[first : first + _REGISTERED_PARTS]
                files = self._mapped(directory, snapshot, batch, (_registering(batch, wanted), _REGISTERED))
                hashes = ("ordinal", "xxhash64(path)", "xxhash64('xskip', path)", "size", "time", "partition")
                filler.add(files.selectExpr(*hashes)._jdf)
            filler.register(directory)

    def prune(self, directory: str, snapshot: Snapshot, clause: Clause) -> PruneResult:
        """Return what :func:`xskip.pruning.prune.prune` would return for the whole snapshot without functions.

        ``directory`` is in the hook's spelling.
        """
        clause = _without_functions(clause)
        result = prune(clause, _NOTHING)
        if not result.counts:  # no leaf of the clause reads metadata
            return replace(result, skip=np.zeros(snapshot.rows, bool))
        with self._trying(snapshot):
            groups = self._groups_of(snapshot)
            out = groups.ruled_out(clause)
            has_names = any(not isinstance(leaf, Undetermined) and not leaf.needs for leaf in leaves(clause))
            left = [place for place, ruled_out in zip(groups.places, out, strict=True) if not ruled_out]
            parts = parts_of(snapshot.metadata_files, left, set(requirements(clause)), has_names=has_names)
            rows: Sequence[Any] = ()
            if parts:
                storages = {definition.key: storage for definition, storage in snapshot.indexes}
                task = _pruning(parts, _for_tasks(clause), storages, has_names=has_names)
                rows = self._mapped(directory, snapshot, parts, (task, _PRUNED)).collect()
            return _joined(result, groups.units.members(out), parts, rows)

    def forget(self) -> None:
        """Clear the record of failed jobs, so that the next job runs at once."""
        self._failed.clear()

    def _groups_of(self, snapshot: Snapshot) -> RowGroups:
        with self._lock:
            # Row groups are cached for the latest snapshot only.
            if self._groups is None or self._groups[0] != snapshot.live.identity:
                self._groups = snapshot.live.identity, RowGroups(snapshot)
            return self._groups[1]

    def _mapped(
        self,
        directory: str,
        snapshot: Snapshot,
        parts: Sequence[Part],
        task: tuple[_Map, str],
    ) -> DataFrame:
        """Return the rows of a task, a function with the schema of its rows, over parts of a snapshot's files."""
        with self._lock:
            spark = self._session()
            self._hook.ship_kernel(spark)
            paths = [f"{directory}/{name}" for name in snapshot.live.names]
            self._hook.queries.register_reader(spark, _READER, paths, [part.layout for part in parts])
            tasks = min(-(-len(parts) // _PARTS_PER_TASK), spark.sparkContext.defaultParallelism)
            read = spark.range(0, len(parts), 1, tasks).selectExpr("id", f"{_READER}(id) AS data")
            return read.mapInArrow(task[0], task[1])

    def _session(self) -> SparkSession:
        assert self.spark is not None, "the engine needs a session"
        context = self.spark.sparkContext
        if self._job_session is None or self._job_session[0] != context.applicationId:
            context.addPyFile(_package())
            self._job_session = context.applicationId, clone_session(self._hook, self.spark, _SETTINGS)
        return self._job_session[1]

    @contextmanager
    def _trying(self, snapshot: Snapshot) -> Iterator[None]:
        """Run the body, turn its failure into a single XskipError, and refuse to run again soon after a failure."""
        identity = snapshot.live.identity
        with self._lock:
            why = self._failed.get(identity)
        if why is not None:
            raise XskipError(why)
        try:
            yield
        except Exception as error:
            why = str(XskipError("the job that prunes the metadata failed", found=_cause(error)))
            if not is_cancellation(error):  # the cancellation of a query must not affect the next query
                with self._lock:
                    self._failed[identity] = why
            raise XskipError(why) from error


_NOTHING = MetadataTable(DataFiles.of([]))


def _without_functions(clause: Clause) -> Clause:
    """Return the clause with Undetermined in place of each leaf that the driver's Spark would evaluate."""

    def change(leaf: IndexClause | Undetermined) -> Clause:
        is_function = not isinstance(leaf, Undetermined) and leaf.asks_spark
        return Undetermined(subjects(leaf), Cause.FUNCTION_IN_JOB) if is_function else leaf

    return map_leaves(clause, change)


def _for_tasks(clause: Clause) -> Clause:
    """Return the clause as tasks evaluate it: without the predicates that nothing answers."""
    # the functions in them belong to the driver, and cannot be sent
    return map_leaves(clause, lambda leaf: replace(leaf, predicates=()) if isinstance(leaf, Undetermined) else leaf)


def _cause(error: Exception) -> str:
    """Return the root cause of a failed job as a single line."""
    causes = [cause for kind in _CAUSES for cause in kind.findall(str(error))[-1:]]
    return str(causes[0] if causes else f"{type(error).__name__}: {error}".splitlines()[0])


def _registering(parts: Sequence[Part], wanted: set[Requirement]) -> _Map:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, part, data in _read(parts, batches):
            table = part.table(data, wanted, has_names=True)
            of, texts = partition_texts(table)
            columns = [
                pa.array(part.ordinals, pa.int32()),
                table.files.names,
                table.files.sizes.fill_null(-1),
                table.files.modified,
                pa.array(texts, pa.string()).take(pa.array(of)),
            ]
            yield pa.record_batch(columns, ["ordinal", "path", "size", "time", "partition"])

    return run


def _pruning(parts: Sequence[Part], clause: Clause, storages: dict[IndexKey, Storage], *, has_names: bool) -> _Map:
    """Return the task that prunes parts: a skip bit for each row, and the counts of each clause's outcome."""
    wanted = requirements(clause)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, part, data in _read(parts, batches):
            table = part.table(data, wanted, has_names=has_names)
            # as in the driver's concatenation of metadata files: ignore a column of another type than in the snapshot
            usable = {key: column for key, column in table.indexes.items() if column.storage == storages[key]}
            result = prune(clause, replace(table, indexes=usable))
            outcomes = {
                "counts": [(count.ruled_out, count.unknown) for count in result.counts],
                "unreadable": {str(c.definition): c.unreadable for c in usable.values() if c.unreadable},
            }
            bits = np.packbits(result.skip, bitorder="little").tobytes()
            columns = [pa.array([number], pa.int32()), pa.array([bits], pa.binary()), pa.array([json.dumps(outcomes)])]
            yield pa.record_batch(columns, ["part", "skip", "outcomes"])

    return run


def _read(parts: Sequence[Part], batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Part, bytes]]:
    for batch in batches:
        for number, data in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            yield number, parts[number], data.as_buffer().to_pybytes()


def _joined(result: PruneResult, skip: Mask, parts: Sequence[Part], rows: Iterable[Any]) -> PruneResult:
    """Merge the row groups that statistics ruled out with the results of the tasks."""
    unread = int(skip.sum())
    sums = np.zeros((len(result.counts), 2), np.int64)
    unreadable: Counter[str] = Counter()
    # Each row group in ``parts`` was kept so far, so a file without a result of a task is kept.
    for number, bits, text in rows:
        ordinals, of_part = parts[number].ordinals, json.loads(text)
        skip[ordinals] = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(ordinals), bitorder="little")
        sums += np.reshape(of_part["counts"], (-1, 2))
        unreadable.update(of_part["unreadable"])
    pairs = zip(result.counts, sums.tolist(), strict=True)
    counts = tuple(replace(count, ruled_out=out, unknown=unknown) for count, (out, unknown) in pairs)
    notes = (UnusedPart((index,), UnreadableMetadata(files)) for index, files in unreadable.items())
    return PruneResult(skip, counts, (*result.unused, *notes), unread)


def _package() -> str:
    """Write the package to an archive, from which Python workers import it, and return the path."""
    # The process deletes the folder at its exit.
    folder = lasting_folder("package")
    path = f"{folder}/xskip-package.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, resources.files("xskip"), "xskip")
    return path


def _add(archive: zipfile.ZipFile, folder: Any, name: str) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _add(archive, entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            archive.writestr(f"{name}/{entry.name}", entry.read_bytes())
