"""Validation of the bounds that paths claim, against the rows of the files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.build.source import Source, check_reading, plan, require_own_snapshot
from xskip.errors import IndexDefinitionError
from xskip.indexes import MinMax, index_of
from xskip.metadata.data_files import compare_files
from xskip.metadata.table import IndexColumn, IndexKey, MetadataTable
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import ValidationResult, WrongBounds
from xskip.settings import CHUNK_FILES, FOOTERS
from xskip.spark.collect.collector import Collector
from xskip.spark.collect.listing import ListedFiles, list_files
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.spark.query.engine import Engine

__all__ = ["Validation"]

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Validation:
    """A comparison of the bounds from paths with the bounds of the rows, for the indexed files of a dataset.

    Attributes
    ----------
    engine : Engine
        The engine of the session's JVM.
    source : Source
        The opened dataset.
    """

    engine: Engine
    source: Source

    def run(self, sample: int | None, seed: int) -> ValidationResult:
        """Read files, and return those whose rows lie outside of the bounds that their paths claim.

        Parameters
        ----------
        sample : int or None
            The maximum number of files to read, chosen at random. None reads all files whose paths claim bounds.
        seed : int
            The seed of the random choice.

        Raises
        ------
        IndexDefinitionError
            If no index takes bounds from paths, or if the dataset is read in another way than when the index was built.
        CollectError
            If a file cannot be read.
        """
        started = time.monotonic()
        snapshot = require_own_snapshot(self.source)
        check_reading(self.source, snapshot)
        claims = snapshot.load(self._keys(snapshot))
        listed = list_files(self.source.dataset)
        _, alive = compare_files(listed.files, claims.files)
        rows = np.flatnonzero(alive & _claims_any(claims))
        if sample is not None and sample < len(rows):
            rows = np.sort(np.random.default_rng(seed).choice(rows, sample, replace=False))
        wrong = [each for part in self._parts(rows) for each in self._wrong(claims.take(pa.array(part)), listed)]
        return ValidationResult(len(rows), tuple(wrong), time.monotonic() - started)

    def _keys(self, snapshot: Snapshot) -> list[IndexKey]:
        indexes = [(definition.key, index_of(definition)) for definition, _ in snapshot.indexes]
        keys = [key for key, index in indexes if index is not None and index.of_paths]
        if not keys:
            raise IndexDefinitionError(
                "the index takes no bounds from paths", where=self.source.directory, expected="an index type PathBounds"
            )
        return keys

    def _parts(self, rows: Positions) -> Iterator[Positions]:
        most = self.engine.settings.of(self.source.df.sparkSession, CHUNK_FILES)
        return (rows[start : start + most] for start in range(0, len(rows), most))

    def _wrong(self, claims: MetadataTable, listed: ListedFiles) -> Iterator[WrongBounds]:
        """Yield the wrong bounds among the claims about some files."""
        planned = plan(self.source, [MinMax(column) for column in _columns(claims)])
        chosen = pc.index_in(claims.files.names, listed.files.names).to_numpy(zero_copy_only=False).astype(np.int64)
        actual = self._collector(listed, planned).collect(chosen)
        by_columns = {column.definition.columns: column.values for column in actual.indexes.values()}
        for claim in claims.indexes.values():
            values = by_columns[claim.definition.columns]
            for row in np.flatnonzero(_contradicts(claim.values, values)).tolist():
                yield WrongBounds(
                    claims.files.names[row].as_py(), str(claim.definition), _text(claim.values[row]), _text(values[row])
                )

    def _collector(self, listed: ListedFiles, planned: tuple[PlannedIndex, ...]) -> Collector:
        source, footers = self.source, self.engine.settings.of(self.source.df.sparkSession, FOOTERS)
        return Collector(self.engine.hook, source.dataset, listed, planned, source.reading, footers)


def _columns(claims: MetadataTable) -> list[str]:
    return list(dict.fromkeys(claim.definition.columns[0] for claim in claims.indexes.values()))


def _claims_any(claims: MetadataTable) -> npt.NDArray[np.bool_]:
    """Return which files have at least one claim."""
    found = np.zeros(len(claims), np.bool_)
    for column in claims.indexes.values():
        found |= _valid(column)
    return found


def _valid(column: IndexColumn) -> npt.NDArray[np.bool_]:
    return np.asarray(column.values.is_valid(), np.bool_)


def _contradicts(claimed: pa.StructArray, actual: pa.StructArray) -> npt.NDArray[np.bool_]:
    """Return which files have a value below the claimed lower bound or above the claimed upper bound."""
    (low, high), (least, greatest) = claimed.flatten(), actual.flatten()
    below, above = pc.less(least, low).fill_null(False), pc.greater(greatest, high).fill_null(False)
    return np.asarray(pc.or_(below, above), np.bool_)


def _text(bounds: pa.StructScalar) -> str:
    low, high = (bounds[side].as_py() for side in ("min", "max"))
    return f"{'any' if low is None else low} to {'any' if high is None else high}"
