"""The hook's operations for writes: what tasks collect of the rows that they write, and the files that they leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.metadatastore.temporary import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["IndexedWrite", "WriteCalls"]


class WriteCalls:
    """The hook's operations for writes, ``io.xskip.bridge.WriteCalls``."""

    def __init__(self, calls: Any) -> None:
        self._calls = calls

    def set_callback(self, callback: Any) -> None:
        """Register the function that plans and commits the statistics of writes."""
        self._calls.setCallback(callback)

    def write(self, number: int) -> IndexedWrite:
        """Return the write of a request that is being answered."""
        return IndexedWrite(self._calls.write(number))


class IndexedWrite:
    """A write to a dataset with an index, ``io.xskip.write.IndexedWrite``."""

    def __init__(self, java: Any) -> None:
        self._java = java

    def session(self) -> Any:
        """Return the session of the write in the JVM."""
        return self._java.session()

    def format(self) -> str:
        """Return the short name of the format of the files."""
        return str(self._java.format())

    def columns(self, spark: SparkSession) -> DataFrame:
        """Return a DataFrame over no files with the written columns; ``spark`` is the session of the write."""
        from pyspark.sql import DataFrame

        return DataFrame(spark._jsparkSession.baseRelationToDataFrame(self._java.relation()), spark)

    def partitions(self) -> list[tuple[str, object]]:
        """Return the partition columns of the written files as Spark would read them: names, and types as in JSON."""
        return [(field["name"], field["type"]) for field in json.loads(self._java.written().partitions())["fields"]]

    def listing(self, partitions: str) -> Any:
        """Return the written files (``io.xskip.files.FileListing``), with partition columns of a schema in JSON."""
        return self._java.written().listing(partitions)

    def results(self, schema: str) -> pa.Table:
        """Return the results of the files with rows, with columns of a schema in JSON."""
        with temporary_folder("write") as folder:
            path = Path(folder) / "results.arrow"
            self._java.written().writeResults(schema, str(path))
            with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
                return stream.read_all()
