"""Datasets with one index each, and a check that a query opens exactly the expected files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
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
        for predicate, expected in cases:
            wanted = self.names if expected == ALL else set(expected.split())
            rows, needed = self._oracle[self._key(predicate)]
            found, opened = run(asked.filter(predicate))
            if needed - wanted:
                wrong.append(f"{predicate}: {sorted(needed - wanted)} hold matching rows, so the expectation is wrong")
            elif needed - opened:
                wrong.append(f"{predicate}: WRONGLY SKIPPED {sorted(needed - opened)}")
            elif opened != wanted:
                wrong.append(f"{predicate}: opened {sorted(opened)}, should be {sorted(wanted)}")
            if found != rows:
                wrong.append(f"{predicate}: other rows than without the index")
        assert not wrong, f"{copy}:\n" + "\n".join(wrong)

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
        found = plain.select(*_readable(plain), F.input_file_name(), *matched).collect()
        for i, predicate in enumerate(new):
            rows = [tuple(row)[: -len(new)] for row in found if row[f"_{i}"]]
            files = {Path(unquote(row[-1])).stem for row in rows}
            self._oracle[self._key(predicate)] = (sorted(repr(row[:-1]) for row in rows), files)


def shown(df: DataFrame) -> list[str]:
    """Return rows as sorted texts, in which NaN equals itself and -0.0 differs from 0.0."""
    return sorted(repr(tuple(row)) for row in df.select(*_readable(df)).collect())


def run(df: DataFrame) -> tuple[list[str], set[str]]:
    """Return the rows of a query as :func:`shown` does, and the files that the executed plan opened."""
    asked = df.select(*_readable(df))
    rows = sorted(repr(tuple(row)) for row in asked.collect())
    scans = scans_of(asked._jdf.queryExecution().executedPlan())
    return rows, set().union(*map(_files_of, scans))


def _readable(df: DataFrame) -> list[Column]:
    """Return the columns, with times as text, because Python's times end with the year 9999."""
    columns = []
    for each in df.schema.fields:
        column = F.col("`" + each.name.replace("`", "``") + "`")
        columns.append(column.cast("string") if each.dataType.simpleString().startswith(_TIMES) else column)
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
