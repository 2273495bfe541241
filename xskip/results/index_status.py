"""Descriptions of an index, and its state in comparison with the present files of its dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xskip.results.render import KeyValueView, human_bytes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["IndexDescription", "IndexInfo", "IndexStatus"]


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The definition of an index: its index type, its columns with their Spark types, and its parameters.

    Attributes
    ----------
    name : str
        The name of the index type.
    columns : tuple of str
    types : tuple of str
        The Spark types of the columns.
    params : tuple of (str, str)
    bytes : int or None
        The compressed size of the statistics in the metadata files; None if it is not known, for example without the
        key of an encrypted index.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    params: tuple[tuple[str, str], ...]
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class IndexDescription(KeyValueView):
    """The description of a dataset's index.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    location : str
        The directory of the metadata.
    format : str
        The file format of the dataset.
    version : int
        The version of the metadata format.
    commit : int
        The number of the latest commit; 0 without a commit record.
    files : int
        The number of data files in the index.
    metadata_bytes : int
        The total size of the metadata files in bytes.
    partitions : tuple of str
        The partition columns, each with its Spark type.
    indexes : tuple of IndexInfo
    """

    dataset: str
    location: str
    format: str
    version: int
    commit: int
    files: int
    metadata_bytes: int
    partitions: tuple[str, ...]
    indexes: tuple[IndexInfo, ...]

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = [
            ("dataset", self.dataset),
            ("location", self.location),
            ("format", self.format),
            ("version", self.version),
            ("commit", self.commit),
            ("files", self.files),
            ("metadata", human_bytes(self.metadata_bytes)),
            ("partitions", ", ".join(self.partitions) or "none"),
        ]
        for index in self.indexes:
            typed = ", ".join(f"{c} {t}" for c, t in zip(index.columns, index.types, strict=True))
            params = ", ".join(f"{k.rpartition('.')[2]}={v}" for k, v in index.params)
            size = "" if index.bytes is None else human_bytes(index.bytes)
            pairs.append((index.name, "  ".join(filter(None, (typed, params, size)))))
        return pairs

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: a row per index, its definition as text, and its size."""
        return pa.table(
            {
                "index": [i.name for i in self.indexes],
                "columns": [", ".join(i.columns) for i in self.indexes],
                "types": [", ".join(i.types) for i in self.indexes],
                "params": [", ".join(f"{k}={v}" for k, v in i.params) for i in self.indexes],
                "bytes": pa.array([i.bytes for i in self.indexes], pa.int64()),
            }
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of :meth:`to_arrow` as a pandas DataFrame; requires pandas."""
        return self.to_arrow().to_pandas()


@dataclass(frozen=True, slots=True)
class IndexStatus(KeyValueView):
    """The state of an index in comparison with the present files of its dataset.

    Attributes
    ----------
    version : str
        CURRENT, DEPRECATED_SUPPORTED, DEPRECATED_UNSUPPORTED or TOO_NEW.
    indexed : int
        The number of data files whose metadata is in use.
    missing : int
        The number of data files without metadata, because they are new or were changed; queries read them.
    stale : int
        The number of entries in the metadata whose data files were deleted or changed.
    problem : str
        The reason why queries do not use the index; empty if they use it.
    metadata_files : tuple of (str, int)
        The metadata files, each with its version.
    unknown_paths : int
        The number of indexed data files whose paths say nothing to an index of paths (``PathBounds``); queries read
        them if no other index rules them out.
    unknown_path_examples : tuple of str
        Some of these paths, at most 10.
    """

    version: str
    indexed: int
    missing: int
    stale: int
    problem: str = ""
    metadata_files: tuple[tuple[str, int], ...] = ()
    unknown_paths: int = 0
    unknown_path_examples: tuple[str, ...] = ()

    @property
    def up_to_date(self) -> bool:
        """Return whether no file is missing or stale and queries can use the index."""
        return not (self.missing or self.stale or self.problem)

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        versions = ", ".join(map(str, sorted({v for _, v in self.metadata_files})))
        return [
            ("version", f"{self.version} ({versions or 'no metadata files'})"),
            ("files indexed", self.indexed),
            ("missing", self.missing),
            ("stale", self.stale),
            ("up to date", "yes" if self.up_to_date else "no, call refresh()"),
            *([("paths without bounds", self.unknown_paths)] if self.unknown_paths else []),
            *(("for example", path) for path in self.unknown_path_examples),
            *([("problem", self.problem)] if self.problem else []),
        ]
