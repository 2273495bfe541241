"""Access to the hook's snapshots in the JVM: tests list packed files, look them up, and apply answers.

A listing is a Java list of Spark's ``PartitionDirectory``. The files of a listing do not exist: the hook lists the
files of a packed table without a look at any directory.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.spark.java_classes import JavaClasses
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.protocol.answer import Answer, Section
from xskip.protocol.file_table import file_table as table_of
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.collect.relation import Listing

__all__ = ["Filtered", "JavaSnapshots", "Ordinals", "SkipMask", "file_table"]

Ordinals = npt.NDArray[np.int64]
TOKEN = 7


def file_table(
    files: Sequence[tuple[str, int | None, int]],
    partitions: Sequence[tuple[str | None, int | None]] | None = None,
) -> MetadataTable:
    """Return a table of files.

    Parameters
    ----------
    files : sequence of (str, int or None, int)
        The name, size and modification time of each file.
    partitions : sequence of (str or None, int or None), optional
        The values of the partition columns ``p string`` and ``q int`` of each file.
    """
    names, sizes, times = zip(*files, strict=True) if files else ((), (), ())
    listed = DataFiles(pa.array(names, pa.string()), pa.array(sizes, pa.int64()), pa.array(times, pa.int64()))
    if partitions is None:
        return MetadataTable(listed)
    p, q = zip(*partitions, strict=True) if partitions else ((), ())
    columns = (
        PartitionColumn("p", "string", pa.array(p, pa.string())),
        PartitionColumn("q", "int", pa.array(q, pa.int32())),
    )
    return MetadataTable(listed, {column.name: column for column in columns})


@dataclass(frozen=True)
class SkipMask:
    """The mask of the files to skip, the token of a snapshot, and whether the answer used partition values."""

    skips: npt.NDArray[np.bool_]
    uses_partitions: bool = False
    token: int = TOKEN

    @property
    def data(self) -> bytes:
        """Return the answer as the bytes that the hook parses."""
        return Answer(self.token, 0, self.uses_partitions, {Section.SKIP: Answer.bits(self.skips)}).to_bytes()


@dataclass(frozen=True)
class Filtered:
    """The names that an answer keeps in the order of the listing, and the counts of the answer."""

    names: list[str]
    counts: list[int]


class JavaSnapshots:
    """Snapshots in the JVM, and listings of files that do not exist."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._jvm: Any = spark._jvm
        self._hook = hook_of(spark)
        self._classes = JavaClasses(spark)
        pq.write_table(pa.table({"x": [1]}), folder / "f.parquet")
        self._relation = self._hook.builds.dataset(spark.read.parquet(str(folder)))

    def table(self, table: MetadataTable) -> Any:
        """Return the files of a table as a ``FileTable``."""
        return self._hook.queries.files(table_of(table).to_pieces())

    def snapshot(self, table: MetadataTable) -> Any:
        """Return a ``FileSnapshot`` of a table, registered as the hook registers it."""
        directory = f"/snapshots/{uuid.uuid4().hex}"
        self._hook.queries.register(directory, TOKEN, table_of(table).to_pieces(), has_parts=False)
        return self.registered(directory)

    def filler(self, count: int) -> Any:
        """Return a ``SnapshotFiller`` for a number of files."""
        return self._hook.queries.filler(TOKEN, count)

    def registered(self, directory: str) -> Any:
        """Return the ``FileSnapshot`` of a metadata directory, and unregister it."""
        snapshots = self._classes.field("snapshot.Snapshots", "snapshots")
        return snapshots.remove(directory)

    def listing(self, table: MetadataTable) -> Any:
        """Return a listing of the files of a table, as Spark lists them: a directory for each partition."""
        bits = bytearray(-(-len(table) // 8))
        ddl = "p string, q int" if table.partitions else ""
        relation = self._relation.trusting(TOKEN, self.table(table), "/lake", "/lake", bits, ddl, False)
        nothing = self._sequence(self._jvm.java.util.ArrayList())
        directories = relation.location().listFiles(nothing, nothing)
        return self._list(directories)

    def _sequence(self, values: Any) -> Any:
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(values)

    def _list(self, sequence: Any) -> Any:
        return self._jvm.java.util.ArrayList(self._jvm.scala.collection.JavaConverters.seqAsJavaList(sequence))

    def rotated(self, listing: Any) -> Any:
        """Return a listing whose first directory is the last of another."""
        rotated = self._jvm.java.util.ArrayList(listing)
        self._jvm.java.util.Collections.rotate(rotated, 1)
        return rotated

    def packed(self, listing: Any) -> Listing:
        """Return a listing as Python reads it."""
        return Listing(self._classes.new("files.FileListing", listing, self._schema("")))

    def partition_values(self, listing: Any) -> list[str]:
        """Return the values of each partition of a listing by ``p`` and ``q``."""
        return Listing(
            self._classes.new("files.FileListing", listing, self._schema("p string, q int"))
        ).table.partitions

    def _schema(self, ddl: str) -> Any:
        types = self._jvm.org.apache.spark.sql.types.StructType
        return types.fromDDL(ddl) if ddl else types()

    def filtered(self, listing: Any, snapshot: Any, answer: bytes | None, ddl: str = "") -> Filtered:
        """Apply an answer to a listing.

        Parameters
        ----------
        listing : JavaObject
            The directories of the listing.
        snapshot : JavaObject or None
            The snapshot of the index.
        answer : bytes or None
            The bytes of the answer.
        ddl : str
            The partition columns of the listing in DDL.
        """
        data = None if answer is None else bytearray(answer)
        answer = self._classes.call("protocol.Answer", "parse", data)
        parsed = self._classes.call("snapshot.PruningAnswer", "of", answer, snapshot, None, 0)
        left = self._list(parsed.filter(self._sequence(listing), self._schema(ddl)))
        return Filtered(self.packed(left).files().names.to_pylist(), list(parsed.counts().all()))

    def ordinals(self, listing: Any, snapshot: Any, count: int) -> dict[str, int]:
        """Return the ordinal of each listed file, -1 for a file that is not in the snapshot.

        Each answer skips the files with one bit set in their ordinals.

        Parameters
        ----------
        listing : JavaObject
            The directories of the listing; no two files have the same name.
        snapshot : JavaObject
            The snapshot.
        count : int
            The number of files in the snapshot.
        """
        names = self.packed(listing).files().names.to_pylist()
        unknown = set(self.filtered(listing, snapshot, SkipMask(np.ones(count, bool)).data).names)
        found = {name: -1 if name in unknown else 0 for name in names}
        for bit, skips in _masks(count):
            skipped = set(names) - set(self.filtered(listing, snapshot, SkipMask(skips).data).names)
            assert not skipped & unknown
            for name in skipped:
                found[name] |= 1 << bit
        return found


def _masks(count: int) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
    ordinals = np.arange(count)
    for bit in range(max(count - 1, 0).bit_length()):
        yield bit, (ordinals >> bit & 1).astype(bool)
