"""The datasets of files that a build or a query reads, as Spark's JVM lists and reads them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import DatasetError
from xskip.metadata.data_files import DataFiles
from xskip.metadata.read_profile import ReadProfile
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.temporary import temporary_folder
from xskip.protocol.file_table import FileTable, Pieces
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.java_errors import spark_errors, translate_spark_errors
from xskip.spark.bridge.locations import parse_locations
from xskip.spark.bridge.sessions import active_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ORDINAL", "PART", "Dataset", "KnownFiles", "Listing", "selected"]

#: The column that :meth:`Dataset.subset` adds: the file's position in the listing.
ORDINAL = "__xskip_file"
#: The column that a subset in parts has as well: where the part begins in the file; -1 in a result of a whole file.
PART = "__xskip_part"
#: The number of bytes up to which a single task can read a whole file.
_LARGEST_WHOLE = 256 << 20
#: A build has another round of tasks for each of this many bytes on every core.
_MIN_TASK = 64 << 20
_TASKS_PER_CORE = 4
#: The least cost of opening a file in a build, as the number of bytes that Spark reads in the same time.
_OPENING = 1 << 20
#: The number of files that go through py4j; more go through a local file. In a callback, an answer of more than 8 KB
#: waits some 40 ms for a delayed ACK.
_MAX_FILES = 40


@dataclass(frozen=True)
class Listing:
    """The files that the JVM has listed; each method fetches its result from the JVM."""

    #: The listing in the JVM (io.xskip.files.FileListing).
    java: Any
    #: The root by which Spark lists the files, and the root by which metadata names them; empty if they are the same.
    roots: tuple[str, str] | tuple[()] = ()

    @property
    def count(self) -> int:
        """Return the number of files."""
        return int(self.java.count())

    def files(self) -> DataFiles:
        """Return the names, the sizes in bytes and the modification times of all files."""
        files = self.table.files
        return replace(files, names=_renamed(files.names, *self.roots)) if self.roots else files

    @cached_property
    def table(self) -> FileTable:
        """Return the files; many of them go through a local file that the JVM writes, if it can."""
        table = self.java.table()
        if self.count > _MAX_FILES:
            with temporary_folder("files") as folder, suppress(*spark_errors(), FileNotFoundError):
                path = Path(folder) / "files"
                table.writeTo(str(path))
                return FileTable.parse(path.read_bytes())
        return FileTable.parse(base64.b64decode(table.text()))

    def paths(self, positions: npt.NDArray[np.int64]) -> list[str]:
        """Return the Hadoop paths, with scheme, of the files at some positions in the listing."""
        return _texts(self.java.paths(bytearray(positions.astype("<i8").tobytes())), len(positions))


class KnownFiles(NamedTuple):
    """The files of a snapshot, for a dataset that Spark reads without listing all directories."""

    #: The number by which the JVM knows the snapshot.
    token: int
    #: The files in the format of io.xskip.protocol.FileTable.
    files: Pieces
    #: The root of the dataset in the hook's spelling, and the root by which the snapshot names the files.
    root: str
    recorded_root: str
    #: The mask of the snapshot's files that the dataset must leave out.
    replaced: npt.NDArray[np.bool_]


class Dataset:
    """A dataset of files, which is read as the user's DataFrame reads it."""

    def __init__(self, hook: Hook, df: DataFrame) -> None:
        """Resolve the dataset of a DataFrame, which only reads the files of a dataset.

        A view with a query, or a table of another source, is a DatasetError.
        """
        java = hook.builds.dataset(df)
        kind = java.kind()
        if kind == "View":
            raise DatasetError(
                "a view has no files of its own",
                hint="index the table or path that the view reads; then queries of the view skip",
            )
        if kind == "HiveTableRelation":
            raise DatasetError(
                "Spark reads the table by its Hive SerDe, and xskip indexes only files that Spark itself reads",
                hint="set spark.sql.hive.convertMetastoreParquet and spark.sql.hive.convertMetastoreOrc to true",
            )
        if kind is not None:
            raise DatasetError(
                "xskip indexes only files that Spark itself lists and reads", found=kind,
                expected="Parquet, Avro, ORC, CSV, JSON, XML or text files",
                hint="index a table or path of such files; Delta, Iceberg and Hudi have their own data skipping",
            )  # fmt: skip
        self._hook = hook
        self._java = java
        self._spark = df.sparkSession
        self._roots: tuple[str, str] | tuple[()] = ()

    def name_files(self, location: IndexLocation) -> None:
        """Let listings name files as the metadata in a location does, which resolves symbolic links in the root."""
        self._roots = (location.listed, location.root) if location.listed else ()

    def in_session(self) -> AbstractContextManager[None]:
        """Return a context in which Spark resolves columns with the settings of the dataset's session."""
        return active_session(self._spark)

    @cached_property
    def cores(self) -> int:
        """Return the number of tasks that run at the same time."""
        return int(self._spark.sparkContext.defaultParallelism)

    def share_out(self, sizes: npt.NDArray[np.int64]) -> None:
        """Set how Spark distributes files over tasks: a task reads a whole large file, or many small files.

        ``sizes`` are those of the files that the next job reads, in bytes.
        """
        given, opening = self._packing
        total = int(sizes.sum())
        # Bloom filters of two parts of a file cannot be merged, so tasks read whole files if there are enough files
        # for all cores.
        whole = sizes.max(initial=0, where=sizes <= min(_LARGEST_WHOLE, total // (2 * self.cores)))
        most = max(given, int(whole))
        rounds = (total + len(sizes) * _OPENING) // (_MIN_TASK * self.cores) + 1
        tasks = min(rounds, _TASKS_PER_CORE) * self.cores
        # Spark counts the opening of a file as much as reading 4 MB, which would spread small files over many more
        # tasks than there are cores.
        enough = max((tasks * most - total) // len(sizes), _OPENING)
        self._spark.conf.set("spark.sql.files.maxPartitionBytes", str(most))
        self._spark.conf.set("spark.sql.files.openCostInBytes", str(min(enough, opening)))

    @cached_property
    def _packing(self) -> tuple[int, int]:
        """Return the session's bytes per task and its cost of opening a file, as :meth:`share_out` first finds them."""
        conf = self._spark._jsparkSession.sessionState().conf()
        return conf.filesMaxPartitionBytes(), conf.filesOpenCostInBytes()

    @cached_property
    def _description(self) -> dict[str, Any]:
        return dict(json.loads(self._java.description()))

    def roots(self) -> list[str]:
        """Return the root paths of the dataset, with scheme."""
        return list(self._description["roots"])

    def locations(self) -> list[IndexLocation]:
        """Return the possible locations of the metadata in the order of queries; none for several roots."""
        return parse_locations(self._description["locations"])

    def listing(self) -> Listing:
        """Return all files of the dataset, which the JVM lists once."""
        self._hook.answer_at_once()
        with translate_spark_errors(DatasetError, "cannot list the files of the dataset", ", ".join(self.roots())):
            return Listing(self._java.listing(), self._roots)

    def partition_schema(self) -> list[tuple[str, str]]:
        """Return the name of each partition column and its type as in Spark's schema JSON."""
        return [(f["name"], f["type"]) for f in json.loads(self._description["partitions"])["fields"]]

    def read_profile(self) -> ReadProfile:
        """Return how Spark reads the dataset's files, as the hook describes it for a query."""
        fields = self._profile
        return ReadProfile.of(fields["format"], fields["options"], fields["conf"], json.loads(fields["columns"]))

    def corrupt_records(self, *, alone: bool) -> str:
        """Return the SQL of an expression that is NULL unless a record is corrupt; empty if such records do not matter.

        They matter where the values of a column in them depend on the other columns that a query reads. ``alone`` says
        that a job reads only this expression.
        """
        return str(self._description["corruptOfAll" if alone else "corrupt"])

    def evaluation_settings(self) -> str:
        """Return a digest of the settings that can change results of functions."""
        return str(self._profile["evaluated"])

    @property
    def _profile(self) -> dict[str, Any]:
        return dict(json.loads(self._description["profile"]))

    def encoded(self, df: DataFrame) -> Any:
        """Return the expression that a DataFrame selects, encoded as in a filter, or None if Spark's plan does more."""
        found = self._java.expression(df._jdf)
        return None if found is None else json.loads(found)

    def timestamp_texts(self, df: DataFrame) -> tuple[tuple[str, ...], ...] | None:
        """Return the columns whose texts the expression that a DataFrame selects reads as timestamps.

        None means that the expression also reads other texts as timestamps.
        """
        found = self._java.timestampTexts(df._jdf)
        return None if found is None else tuple(tuple(names) for names in json.loads(found))

    def accumulate(
        self, rows: DataFrame, selection: Sequence[str], specification: str, schema: str, borders: bytes | None = None
    ) -> DataFrame:
        """Return a DataFrame of the kernel's results for the rows of a :meth:`subset`.

        ``selection`` is the SQL of the columns that the accumulators read: ``ORDINAL``, then their inputs.
        ``specification`` has an accumulator per line, in the form that ``io.xskip.collect.KernelFunction`` reads.
        ``schema`` is JSON. ``borders`` are those of the parts of files, for a subset in parts.
        """
        from pyspark.sql import DataFrame

        self._hook.ship_kernel(self._spark)
        packed = None if borders is None else bytearray(borders)
        return DataFrame(
            self._java.accumulate(rows._jdf, "\0".join(selection), specification, schema, packed), self._spark
        )

    def trusting(self, known: KnownFiles, partitions: str, *, own: bool) -> DataFrame:
        """Return a DataFrame that reads known files in place of the dataset's own listing.

        With ``own``, it reads the files of that listing as well. ``partitions`` are the partition columns in DDL; empty
        without partition columns.
        """
        from pyspark.sql import DataFrame

        bits = bytearray(np.packbits(known.replaced, bitorder="little").tobytes())
        files = self._hook.queries.files(known.files)
        relation = self._java.trusting(known.token, files, known.root, known.recorded_root, bits, partitions, own)
        return DataFrame(self._spark._jsparkSession.baseRelationToDataFrame(relation), self._spark)

    def subset(self, chosen: npt.NDArray[np.bool_], *, as_texts: bool = False, in_parts: bool = False) -> DataFrame:
        """Return a DataFrame that reads chosen files and adds their position in the listing as column ``ORDINAL``.

        With ``as_texts``, timestamps are read as the texts that files of CSV, JSON and XML contain. With ``in_parts``,
        there is the column ``PART`` as well, for :meth:`accumulate` with borders.
        """
        from pyspark.sql import DataFrame

        bits = np.packbits(chosen, bitorder="little").tobytes()
        if in_parts:
            return DataFrame(self._java.subsetInParts(bytearray(bits)), self._spark)
        return DataFrame(self._java.subset(bytearray(bits), as_texts), self._spark)


def selected(hook: Hook, df: DataFrame) -> Listing:
    """Return the files that the scans of a query would read, under the names by which Spark lists them."""
    with translate_spark_errors(DatasetError, "cannot plan the query", "the dataset of the query"):
        return Listing(hook.builds.selected(df))


def _renamed(names: pa.Array, root: str, other: str) -> pa.Array:
    """Replace the root at the start of names."""
    below = pc.or_(pc.starts_with(names, root.rstrip("/") + "/"), pc.equal(names, root))
    return pc.if_else(below, pc.utf8_replace_slice(names, 0, len(root), other), names)


def _texts(packed: str, count: int) -> list[str]:
    return base64.b64decode(packed).decode().split("\0") if count else []
