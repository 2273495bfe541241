"""The files that a query must read, for any query engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.errors import ArgumentError, did_you_mean, or_none, shown
from xskip.metadata.data_files import DataFiles, table_identifier
from xskip.paths import check_path
from xskip.results.read_ranges import bytes_of, ranges_of
from xskip.results.render import count_text, part_of_bytes, text_table
from xskip.results.result_view import ResultView, ShownResult, TableView
from xskip.results.scan_source import ScanSource

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow.dataset

__all__ = ["FileList"]

#: The number of files that the text shows.
_SHOWN = 10
_AUTHORITY = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?")


@dataclass(frozen=True, slots=True, repr=False)
class FileList(ShownResult):
    """The files that a query must read, in the order of their names.

    Iteration yields the paths.

    Attributes
    ----------
    files : DataFiles
        The names, sizes and modification times of the files.
    total : int
        The number of files in the dataset.
    total_bytes : int
        The total size of the dataset's files in bytes.
    source : ScanSource
        How other engines read the files.
    unused : tuple of (str, str)
        The parts of the predicate that the index could not use, each with the reason.
    problem : str
        The reason why the index was not used at all; empty if the index was used.
    ranges : pyarrow.Array or None
        For each file the ranges of bytes that the query must read, a list of structs with ``start`` and ``length``
        (int64), or null for the whole file; None if the query must read all files whole. Avro blocks belong to the
        range in which the marker before them begins, and row groups of Parquet to the range with their middle.
    """

    files: DataFiles
    total: int
    total_bytes: int
    source: ScanSource = field(repr=False)
    unused: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    ranges: pa.Array | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __repr__(self) -> str:
        parts = [self.problem, f"{len(self.unused):,} of the conditions not used" if self.unused else ""]
        return f"FileList({'; '.join(filter(None, (self._summary(), *parts)))})"

    def __str__(self) -> str:
        shown = self._rows(_SHOWN)
        more = len(self) - len(shown)
        lines = [self._summary(), *([text_table(_HEADERS, shown)] if shown else [])]
        return "\n".join([*lines, *([f"… and {more:,} more"] if more else []), *self._remarks()])

    def _view(self) -> ResultView:
        shown = self._rows(_SHOWN)
        tables = (TableView(_HEADERS, shown, more=len(self) - len(shown)),) if shown else ()
        return ResultView(
            "Files that the query must read", self._summary(), tables=tables, remarks=tuple(self._remarks())
        )

    @property
    def names(self) -> list[str]:
        """Return the paths of the files, without scheme and authority."""
        return list(self.files.names.to_pylist())

    @property
    def paths(self) -> list[str]:
        """Return the paths of the files, with the scheme and the authority of their store; local paths have neither."""
        remote = _AUTHORITY.match(self.source.root)
        store = remote[0] if remote else ""
        return [store + name for name in self.names]

    def listing(self) -> pa.Table:
        """Return a table of the files with the columns ``name``, ``size`` and ``modified``."""
        modified = self.files.modified.cast(pa.timestamp("ms", "UTC"))
        return pa.table({"name": self.files.names, "size": self.files.sizes, "modified": modified})

    def to_pyarrow(self) -> pyarrow.dataset.Dataset:
        """Return the files as a dataset of pyarrow, which opens a file only in a scan.

        The schema is that of the whole dataset, with the partition columns, also if no file is left. Files without one
        of the columns have nulls there. A scan finds columns by exact names. Of a Parquet file with ranges, whose
        footer is read at once, a scan reads only the row groups in the ranges.

        Returns
        -------
        pyarrow.dataset.Dataset
            The rows of the files. Only some of the rows match the predicate, so filter again.

        Raises
        ------
        DatasetError
            If pyarrow does not read files of this format, or a column has a type without an equivalent in Arrow.
        """
        return self.source.dataset(self.files.names, self.ranges)

    def to_polars(self) -> pl.LazyFrame:
        """Return the files as a lazy frame of Polars, which reads them when it is collected; requires polars.

        See :meth:`to_pyarrow`. Polars also reads Avro, file by file.

        Returns
        -------
        polars.LazyFrame
            The rows of the files. Only some of the rows match the predicate, so filter again.

        Raises
        ------
        DatasetError
            If polars is not installed, or does not read files of this format or type.
        """
        from xskip.results.polars_scan import scan_polars

        return scan_polars(self.source, self.files.names, self.ranges)

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Return the files as a relation of DuckDB, which reads them when it runs; requires duckdb.

        See :meth:`to_pyarrow`.

        Parameters
        ----------
        connection : duckdb.DuckDBPyConnection, optional
            The connection of the relation; None takes DuckDB's default connection.

        Returns
        -------
        duckdb.DuckDBPyRelation
            The rows of the files. Only some of the rows match the predicate, so filter again.

        Raises
        ------
        ArgumentError
            If the connection is not one of DuckDB.
        DatasetError
            If duckdb is not installed, or pyarrow does not read files of this format.
        """
        from xskip.results.scan_source import engine_module

        module: Any = engine_module("duckdb")
        if connection is not None and not isinstance(connection, module.DuckDBPyConnection):
            expected = or_none("duckdb.connect()")
            raise ArgumentError("connection is not one of DuckDB", found=shown(connection), expected=expected)
        rows = self.to_pyarrow()
        # a method of DuckDB scans an Arrow dataset with projections and filters pushed down
        default = module.default_connection  # a function since DuckDB 1.2
        relation: duckdb.DuckDBPyRelation = (connection or (default() if callable(default) else default)).from_arrow(
            rows
        )
        return relation

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Read the files into a DataFrame of pandas; requires pandas.

        Parameters
        ----------
        columns : sequence of str, optional
            The columns to read; None reads all.

        Returns
        -------
        pandas.DataFrame
            The rows of the files. Only some of the rows match the predicate, so filter again.

        Raises
        ------
        ArgumentError
            If the columns are not a list of columns of the dataset.
        DatasetError
            If pandas is not installed, or pyarrow does not read files of this format.
        """
        from xskip.results.scan_source import engine_module

        rows = self.to_pyarrow()
        engine_module("pandas")
        chosen = None if columns is None else _known_columns(columns, rows.schema.names)
        return rows.to_table(columns=chosen).to_pandas()

    def to_spark(self, spark: Any, *, root: str | None = None) -> Any:
        """Return the files as a DataFrame of a session, such as a client of Spark Connect, which needs no xskip.

        The schema is that of the whole dataset, with the partition columns, also if no file is left.

        Parameters
        ----------
        spark : SparkSession
            The session.
        root : str, optional
            The root of the dataset as the session names it, such as ``s3a://bucket/events`` for a list of files below
            ``s3://bucket/events``. None takes the root of the list.

        Returns
        -------
        pyspark.sql.DataFrame
            The rows of the files. Only some of the rows match the predicate, so filter again.

        Raises
        ------
        ArgumentError
            If the session is not a session, or the root is no path.
        DatasetError
            If Spark does not read files of this format by their paths, or the schema is not known.

        Examples
        --------
        >>> files = xskip.SkippingIndex.for_path(spark, indexed_path).files("temp > 30")
        >>> files.to_spark(spark).filter("temp > 30").count()
        1
        """
        from xskip.results.spark_scan import scan_spark

        if root is None:
            return scan_spark(self.source, spark, self.paths, self.source.root)
        base, own = check_path(root, "root").rstrip("/"), table_identifier(self.source.root).rstrip("/")
        return scan_spark(self.source, spark, [base + name.removeprefix(own) for name in self.names], base)

    def to_json(self) -> Mapping[str, Any]:
        """Return the list as an object that the module ``json`` can write."""
        rows = self.listing().to_pylist()
        files = [{**row, "modified": row["modified"].isoformat(timespec="milliseconds")} for row in rows]
        for i in range(len(self) if self.ranges is not None else 0):
            ranges = ranges_of(self.ranges, i)
            files[i] |= {} if ranges is None else {"ranges": ranges}
        return {
            "files": files,
            "total": self.total,
            "total_bytes": self.total_bytes,
            "unused": [{"predicate": predicate, "reason": reason} for predicate, reason in self.unused],
            "problem": self.problem,
        }

    def _summary(self) -> str:
        size = part_of_bytes(bytes_of(self.files.sizes, self.ranges), self.total_bytes)
        return f"{len(self):,} of {count_text(self.total, 'files')}, {size}"

    def _remarks(self) -> list[str]:
        unused = [f"not used: {predicate}: {reason}" for predicate, reason in self.unused]
        return [*([f"the index was not used: {self.problem}"] if self.problem else []), *unused]

    def _rows(self, most: int) -> list[list[Any]]:
        listed = self.listing().slice(0, most).to_pylist()
        return [[row["name"], row["size"], f"{row['modified']:%Y-%m-%d %H:%M:%S}"] for row in listed]


_HEADERS = ("name", "bytes", "modified (UTC)")


def _known_columns(columns: object, known: Sequence[str]) -> list[str]:
    """Return columns to read as a list; raise an error for anything else, and for unknown columns."""
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        raise ArgumentError("columns is not a list of texts", found=shown(columns), expected="such as ['temp']")
    chosen = list(columns)
    unknown = next((each for each in chosen if each not in known), None)
    if unknown is not None:
        raise ArgumentError(
            "the dataset has no such column", found=str(unknown), expected=f"one of {', '.join(known)}",
            hint=did_you_mean(str(unknown), known),
        )  # fmt: skip
    return chosen
