"""Datasets with one index each, and a check that a query opens exactly the expected files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

import xskip
from tests.helpers import _files_of, scans_of, write_once

#: In place of file names: every file of the dataset.
ALL = "*"
#: In place of file names: no file at all.
NONE = ""
_TIMES = ("date", "timestamp", "interval")


@dataclass
class Family:
    """Copies of the same files: one without an index, and one for each index.

    Attributes
    ----------
    spark : SparkSession
    root : Path
        The directory with a subdirectory for each copy; ``plain`` has no index.
    fmt : str
    options : dict of str to str
    schema : StructType or str, optional
        The schema of queries; None lets Spark infer it.
    """

    spark: SparkSession
    root: Path
    fmt: str = "parquet"
    options: dict[str, str] = field(default_factory=dict)
    schema: StructType | str | None = None
    _oracle: dict[str, tuple[list[str], set[str]]] = field(default_factory=dict)

    def path(self, copy: str) -> str:
        return str(self.root / copy)

    @property
    def names(self) -> set[str]:
        return {file.stem for file in (self.root / "plain").rglob(f"*.{self.fmt}")}

    def add(self, copy: str, indexes: Iterable[Any]) -> xskip.SkippingIndex:
        """Add a copy with these indexes, and return its index."""
        shutil.copytree(self.root / "plain", self.root / copy)
        made = self.skipping(copy)
        made.create(list(indexes))
        return made

    def skipping(self, copy: str) -> xskip.SkippingIndex:
        return xskip.SkippingIndex.for_path(
            self.spark, self.path(copy), format=self.fmt, options=self.options, schema=self.schema
        )

    def read(self, copy: str) -> DataFrame:
        reader = self.spark.read.format(self.fmt).options(**self.options)
        return (reader if self.schema is None else reader.schema(self.schema)).load(self.path(copy))

    def check(self, copy: str, cases: Mapping[str, str] | Sequence[tuple[str | Column, str]]) -> None:
        """Assert for each predicate that the named files are opened, and that the rows are those without an index."""
        cases = list(cases.items()) if isinstance(cases, Mapping) else cases
        self.ask_oracle([predicate for predicate, _ in cases])
        asked = self.read(copy)
        wrong = []
        results = run_all([asked.filter(predicate) for predicate, _ in cases])
        for (predicate, expected), (found, opened) in zip(cases, results, strict=True):
            wanted = self.names if expected == ALL else set(expected.split())
            rows, needed = self._oracle[self._key(predicate)]
            if needed - wanted:
                wrong.append(f"{predicate}: {sorted(needed - wanted)} hold matching rows, so the expectation is wrong")
            elif needed - opened:
                wrong.append(f"{predicate}: WRONGLY SKIPPED {sorted(needed - opened)}")
            elif opened != wanted:
                wrong.append(f"{predicate}: opened {sorted(opened)}, should be {sorted(wanted)}")
            if found != rows:
                wrong.append(f"{predicate}: other rows than without the index")
        assert not wrong, f"{copy}:\n" + "\n".join(wrong)

    def opened(self, copy: str, predicates: Sequence[str | Column]) -> list[set[str]]:
        """Assert that each predicate has the rows of the copy without an index, and return the files it opens."""
        self.ask_oracle(predicates)
        asked = self.read(copy)
        results = run_all([asked.filter(predicate) for predicate in predicates])
        for predicate, (found, _) in zip(predicates, results, strict=True):
            assert found == self.rows(predicate), (copy, predicate)
        return [opened for _, opened in results]

    def rows(self, predicate: str | Column) -> list[str]:
        """Return the matching rows of the copy without an index, as :func:`shown` does."""
        self.ask_oracle([predicate])
        return self._oracle[self._key(predicate)][0]

    def matching(self, predicate: str | Column) -> set[str]:
        """Return the files that hold a matching row."""
        self.ask_oracle([predicate])
        return self._oracle[self._key(predicate)][1]

    def _key(self, predicate: str | Column) -> str:
        """Return the key of a predicate's results, which depend on the session's time zone."""
        return f"{predicate} {self.spark.conf.get('spark.sql.session.timeZone')}"

    def ask_oracle(self, predicates: Sequence[str | Column]) -> None:
        """Compute the matching rows and their files with one query over the copy without an index.

        The predicates are columns of its result, so that nothing is filtered before they are evaluated.
        """
        new = [predicate for predicate in predicates if self._key(predicate) not in self._oracle]
        if not new:
            return
        matched = [(F.expr(p) if isinstance(p, str) else p).alias(f"_{i}") for i, p in enumerate(new)]
        plain = self.read("plain")
        found = plain.select(*map(F.expr, _readable(plain)), F.input_file_name(), *matched).collect()
        for i, predicate in enumerate(new):
            rows = [tuple(row)[: -len(new)] for row in found if row[f"_{i}"]]
            files = {Path(unquote(row[-1])).stem for row in rows}
            self._oracle[self._key(predicate)] = (sorted(repr(row[:-1]) for row in rows), files)


def shown(df: DataFrame) -> list[str]:
    """Return rows as sorted texts, in which NaN equals itself and -0.0 differs from 0.0."""
    return sorted(repr(tuple(row)) for row in df.selectExpr(*_readable(df)).collect())


def run(df: DataFrame) -> tuple[list[str], set[str]]:
    """Return the rows of a query as :func:`shown` does, and the files that the executed plan opened."""
    asked = df.selectExpr(*_readable(df))
    rows = sorted(repr(tuple(row)) for row in asked.collect())
    scans = scans_of(asked._jdf.queryExecution().executedPlan())
    return rows, set().union(*map(_files_of, scans))


def run_all(frames: Sequence[DataFrame]) -> list[tuple[list[str], set[str]]]:
    """Return what :func:`run` does for each of several queries of the same columns, by one query of all of them."""
    asked = together(frames, _readable(frames[0]))
    rows = rows_of_each(asked, len(frames))
    parts = _parts(asked._jdf.queryExecution().executedPlan())
    if len(parts) != len(frames):  # Spark removes a query whose filter alone shows that it has no rows
        return [run(df) for df in frames]
    opened = [set().union(*map(_files_of, scans_of(part))) for part in parts]
    return [(sorted(map(repr, found)), files) for found, files in zip(rows, opened, strict=True)]


def together(frames: Sequence[DataFrame], columns: Sequence[str] = ("*",)) -> DataFrame:
    """Return one query of several with the same columns, all in one task, with the number of the query in front."""
    return _union([df.selectExpr(str(i), *columns) for i, df in enumerate(frames)]).coalesce(1)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the union by halves: Spark analyses all children of each union that it makes."""
    half = len(frames) // 2
    return _union(frames[:half]).unionAll(_union(frames[half:])) if half else frames[0]


def rows_of_each(asked: DataFrame, count: int) -> list[list[tuple[Any, ...]]]:
    """Return the rows of each query of :func:`together`."""
    found: list[list[tuple[Any, ...]]] = [[] for _ in range(count)]
    for number, *row in asked.collect():
        found[number].append(tuple(row))
    return found


def shown_each(frames: Sequence[DataFrame]) -> list[list[str]]:
    """Return what :func:`shown` does for each of several queries with the same columns."""
    asked = together(frames, _readable(frames[0]))
    return [sorted(map(repr, rows)) for rows in rows_of_each(asked, len(frames))]


def count_each(frames: Sequence[DataFrame]) -> list[int]:
    """Return the number of rows of each of several queries."""
    asked = together([df.groupBy().count() for df in frames])
    return [count for ((count,),) in rows_of_each(asked, len(frames))]


def same_rows_of_each(frames_of: Callable[[], Sequence[DataFrame]], spark: SparkSession) -> list[int]:
    """Assert that each of several queries has the same rows with skipping on and off, and return their numbers."""
    on = shown_each(frames_of())
    xskip.disable(spark)
    try:
        off = shown_each(frames_of())
    finally:
        xskip.enable(spark)
    assert on == off
    return [len(rows) for rows in on]


def _parts(plan: Any) -> list[Any]:
    """Return the plans of the queries of :func:`together` that Spark runs."""
    while plan.getClass().getSimpleName() != "UnionExec":
        if plan.children().isEmpty():
            return []
        plan = plan.children().head()
    return [plan.children().apply(i) for i in range(plan.children().length())]


def _readable(df: DataFrame) -> list[str]:
    """Return expressions of the columns, with times as text, because Python's times end with the year 9999."""
    columns = []
    for each in df.schema.fields:
        name = "`" + each.name.replace("`", "``") + "`"
        is_time = each.dataType.simpleString().startswith(_TIMES)
        columns.append(f"cast({name} as string) as {name}" if is_time else name)
    return columns


def family(
    spark: SparkSession,
    root: Path,
    schema: str,
    files: Mapping[str, Sequence[Any]],
    indexes: Mapping[str, Sequence[Any]],
    *,
    fmt: str = "parquet",
    options: dict[str, str] | None = None,
    read_schema: StructType | str | None = None,
) -> Family:
    """Write the files once, copy them for each entry of ``indexes``, and return the copies."""
    write_once(spark, root / "plain", schema, files, fmt, options)
    made = Family(spark, root, fmt, dict(options or {}), read_schema)
    for copy, wanted in indexes.items():
        made.add(copy, wanted)
    return made
