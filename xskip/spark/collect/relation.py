"""Datasets of files as the JVM reads and lists them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import DatasetError
from xskip.metadata.objects import Objects
from xskip.metadatastore.location import IndexLocation
from xskip.spark.bridge.gateway import Hook, Pieces, places_in
from xskip.spark.bridge.packed_values import numbers_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ORDINAL", "Dataset", "KnownFiles", "Listing", "selected"]

#: The column that a subset adds: the object's position in the listing.
ORDINAL = "__xskip_object"
#: A task reads a file of up to so many bytes.
_LARGEST_WHOLE = 256 << 20
_LEAST_TASK = 64 << 20
_TASKS_PER_CORE = 4
#: What opening a file costs a build at least, in bytes of it.
_OPENING = 1 << 20


@dataclass(frozen=True, slots=True)
class Listing:
    """Files as the JVM lists them; every part is fetched when asked for."""

    java: Any

    @property
    def count(self) -> int:
        """Return the number of files."""
        return int(self.java.count())

    def objects(self) -> Objects:
        """Names, sizes and times."""
        return Objects(
            pa.array(_texts(self.java.names(), self.count), pa.string()),
            pa.array(numbers_in(self.java.sizes()), pa.int64()),
            pa.array(numbers_in(self.java.times()), pa.int64()),
        )

    def paths(self, positions: npt.NDArray[np.int64]) -> list[str]:
        """Some files as Hadoop names them."""
        return _texts(self.java.paths(bytearray(positions.astype("<i8").tobytes())), len(positions))

    def partition_of(self) -> npt.NDArray[np.int64]:
        """Each file's partition, as a position in the partitions' values."""
        return numbers_in(self.java.partitionOf())


class KnownFiles(NamedTuple):
    """The objects of a snapshot under a root, by its token; where ``replaced`` they do not count."""

    token: int
    objects: Pieces
    root: str
    replaced: npt.NDArray[np.bool_]


class Dataset:
    """A dataset of files, as a DataFrame of the user's reads it."""

    def __init__(self, hook: Hook, df: DataFrame) -> None:
        """Takes a DataFrame.

        Raises
        ------
        DatasetError
            It is something else: a view with a query, a table of another kind of source.
        """
        hook.answer_at_once()
        java = hook.rule.dataset(df._jdf)
        if not java.isOfFiles():
            raise DatasetError(
                "xskip indexes files that Spark itself lists and reads, and leaves everything else alone",
                found=java.kind(),
                expected="Parquet, Avro, ORC, CSV, JSON, XML or text files",
                hint="index the table or path with the files; tables of Delta, Iceberg and Hudi skip by themselves",
            )
        self._hook = hook
        self._java = java
        self._spark = df.sparkSession

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return int(self._spark.sparkContext.defaultParallelism)

    def share_out(self, sizes: npt.NDArray[np.int64]) -> None:
        """Settles which files a task reads, by the bytes of each: large ones whole, and of small ones many.

        Filters of parts do not join, so files are whole where there are enough for all cores. And Spark takes opening a
        file to cost as much as reading 4 MB of it, which gives small ones to many more tasks than there are cores.
        """
        given, opening = self._packing
        total = int(sizes.sum())
        whole = sizes.max(initial=0, where=sizes <= min(_LARGEST_WHOLE, total // (2 * self.cores)))
        most = max(given, int(whole))
        rounds = (total + len(sizes) * _OPENING) // (_LEAST_TASK * self.cores) + 1
        tasks = min(rounds, _TASKS_PER_CORE) * self.cores
        enough = max((tasks * most - total) // len(sizes), _OPENING)
        self._spark.conf.set("spark.sql.files.maxPartitionBytes", str(most))
        self._spark.conf.set("spark.sql.files.openCostInBytes", str(min(enough, opening)))

    @cached_property
    def _packing(self) -> tuple[int, int]:
        """How many bytes the session gives to a task, and what opening a file costs."""
        conf = self._spark._jsparkSession.sessionState().conf()
        return conf.filesMaxPartitionBytes(), conf.filesOpenCostInBytes()

    def roots(self) -> list[str]:
        """The root paths, with scheme."""
        return [str(root) for root in self._java.roots()]

    def places(self) -> list[IndexLocation]:
        """Where the metadata may be, in the order in which queries look."""
        return places_in(self._java.places())

    def listing(self) -> Listing:
        """All files; listed once."""
        return Listing(self._java.listing())

    def partition_schema(self) -> list[tuple[str, str]]:
        """The partition columns, each with its type as in schema JSON."""
        return [(f["name"], f["type"]) for f in json.loads(self._java.partitionSchemaJson())["fields"]]

    def partition_values(self) -> list[list[Any]]:
        """The values of each partition, encoded as literals are."""
        return list(json.loads(self._java.partitionValues()))

    def reading(self) -> dict[str, Any]:
        """Format, options, settings and schema, as a query would send them."""
        return dict(json.loads(self._java.reading()))

    def encoded(self, df: DataFrame) -> Any:
        """The one expression that a DataFrame selects, as a filter would have it; None where Spark plans more."""
        found = self._java.expression(df._jdf)
        return None if found is None else json.loads(found)

    def accumulate(self, rows: DataFrame, specs: Sequence[str], schema: str) -> DataFrame:
        """The rows of a subset through the kernel, as rows of a schema in JSON."""
        from pyspark.sql import DataFrame

        self._hook.ship_kernel(self._spark)
        return DataFrame(self._java.accumulate(rows._jdf, "\n".join(specs), schema), self._spark)

    def trusting(self, known: KnownFiles, partitions: str, *, own: bool) -> DataFrame:
        """The same reading of known files, with partition columns in DDL; of its own, where asked for, in addition."""
        from pyspark.sql import DataFrame

        bits = bytearray(np.packbits(known.replaced, bitorder="little").tobytes())
        objects = self._hook.objects(known.objects)
        relation = self._java.trusting(known.token, objects, known.root, bits, partitions, own)
        return DataFrame(self._spark._jsparkSession.baseRelationToDataFrame(relation), self._spark)

    def subset(self, chosen: npt.NDArray[np.bool_]) -> DataFrame:
        """The same reading of some of the files, by their position in the listing, which is column ``ORDINAL``."""
        from pyspark.sql import DataFrame

        bits = np.packbits(chosen, bitorder="little").tobytes()
        return DataFrame(self._java.subset(bytearray(bits)), self._spark)


def selected(hook: Hook, df: DataFrame) -> Listing:
    """The files that the scans of a query would read."""
    return Listing(hook.rule.selected(df._jdf))


def _texts(packed: str, count: int) -> list[str]:
    return base64.b64decode(packed).decode().split("\0") if count else []
