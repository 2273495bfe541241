"""Validation of the bounds that paths claim, against the rows of the files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.build.collection import chunks_of, collect, collector_of
from xskip.build.planning import plan
from xskip.build.source import Source, check_reading, require_own_snapshot
from xskip.errors import IndexDefinitionError
from xskip.expressions.evaluate import to_mask
from xskip.indexes import MinMax, keys_of_paths
from xskip.metadata.data_files import compare_files
from xskip.metadata.table import IndexKey, MetadataTable
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import ValidationResult, WrongBounds
from xskip.spark.collect.listing import ListedFiles, list_files
from xskip.spark.query.engine import Engine

__all__ = ["Validation", "sampled"]


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
        rows = sampled(np.flatnonzero(alive & _claims_any(claims)), sample, seed)
        wrong = tuple(self._wrong(claims.take(pa.array(rows)), listed))
        return ValidationResult(len(rows), wrong, time.monotonic() - started)

    def _keys(self, snapshot: Snapshot) -> list[IndexKey]:
        keys = keys_of_paths(definition for definition, _ in snapshot.indexes)
        if not keys:
            raise IndexDefinitionError(
                "the index takes no bounds from paths", where=self.source.directory, expected="an index type PathBounds"
            )
        return keys

    def _wrong(self, claims: MetadataTable, listed: ListedFiles) -> Iterator[WrongBounds]:
        """Yield the claims that the rows contradict."""
        planned = plan(self.source, [MinMax(column) for column in _columns(claims)])
        collector = collector_of(self.engine, self.source, listed, planned)
        chosen = pc.index_in(claims.files.names, listed.files.names).to_numpy(zero_copy_only=False).astype(np.int64)
        start = 0
        for chunk in chunks_of(self.engine, self.source, listed, chosen):
            rows = np.arange(start, start + len(chunk))
            start += len(chunk)
            yield from _contradictions(claims.take(pa.array(rows)), collect(collector, chunk))


def sampled(positions: npt.NDArray[np.int64], sample: int | None, seed: int) -> npt.NDArray[np.int64]:
    """Return some positions, chosen at random, in their order.

    Parameters
    ----------
    positions : numpy.ndarray of int64
    sample : int or None
        The maximum number of positions; None returns all.
    seed : int
        The seed of the random choice.
    """
    if sample is None or sample >= len(positions):
        return positions
    return np.sort(np.random.default_rng(seed).choice(positions, sample, replace=False))


def _contradictions(claims: MetadataTable, actual: MetadataTable) -> Iterator[WrongBounds]:
    """Yield the claims about files that the bounds of the files' rows contradict."""
    by_columns = {column.definition.columns: column.values for column in actual.indexes.values()}
    for claim in claims.indexes.values():
        values = by_columns[claim.definition.columns]
        for row in np.flatnonzero(_contradicts(claim.values, values)).tolist():
            yield WrongBounds(
                claims.files.names[row].as_py(), str(claim.definition), _text(claim.values[row]), _text(values[row])
            )


def _columns(claims: MetadataTable) -> list[str]:
    return list(dict.fromkeys(claim.definition.columns[0] for claim in claims.indexes.values()))


def _claims_any(claims: MetadataTable) -> npt.NDArray[np.bool_]:
    """Return which files have at least one claim."""
    found = np.zeros(len(claims), np.bool_)
    for column in claims.indexes.values():
        found |= to_mask(column.values.is_valid())
    return found


def _contradicts(claimed: pa.StructArray, actual: pa.StructArray) -> npt.NDArray[np.bool_]:
    """Return which files have a value below the claimed lower bound or above the claimed upper bound."""
    (low, high), (least, greatest) = claimed.flatten(), actual.flatten()
    return to_mask(pc.or_kleene(pc.less(least, low), pc.greater(greatest, high)))


def _text(bounds: pa.StructScalar) -> str:
    low, high = (bounds[side].as_py() for side in ("min", "max"))
    return f"{'any' if low is None else low} to {'any' if high is None else high}"
