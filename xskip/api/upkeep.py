"""The operations on an existing index that read data again: validate, repair, add."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xskip.api.arguments import check_build, check_count, check_indexes, check_seed
from xskip.api.maintenance import IndexMaintenance
from xskip.indexes import Index
from xskip.indexing.additional_indexes import Extension
from xskip.indexing.builder import OnError
from xskip.indexing.progress import ProgressOption
from xskip.indexing.repair import Repair
from xskip.indexing.validation import Validation
from xskip.results.operations import RefreshResult
from xskip.results.validation import RepairResult, ValidationResult

__all__ = ["IndexUpkeep"]


@dataclass(frozen=True, slots=True)
class IndexUpkeep(IndexMaintenance):
    """The base of :class:`xskip.SkippingIndex` with the operations that compare the metadata with the data.

    Attributes
    ----------
    name : str
        The path or table, as the user gave it.
    """

    def validate(self, *, sample: int | None = None, seed: int = 0) -> ValidationResult:
        """Read files again, and compare the metadata of all indexes with the rows.

        The metadata of a file are wrong if they leave out a row: if a value lies outside of the bounds or is missing
        from the list or filter. Queries then lose rows of the file. Wrong bounds in the paths of files
        (:class:`xskip.PathBounds`) remain until the file is renamed; :meth:`repair` makes all other metadata anew.

        Parameters
        ----------
        sample : int, optional
            The maximum number of files to read, chosen at random. None reads all files that the index knows.
        seed : int
            The seed of the random choice.

        Returns
        -------
        ValidationResult
            The number of files, and the statistics that the rows contradict.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        IndexDefinitionError
            If another program built the index, or if the dataset is read in another way than when the index was built.
        KeyNotAvailableError
            If the key of an index is not available.
        CollectError
            If a file cannot be read.
        """
        check_count("sample", sample)
        check_seed(seed)
        engine, source = self._open()
        return Validation(engine, source).run(sample, seed)

    def repair(self, *, progress: ProgressOption = None, on_error: OnError = "raise") -> RepairResult:
        """Validate the metadata of all files, and make the metadata of wrong, new, changed and deleted files anew.

        All changes are one commit. The metadata of all other files stay unchanged.

        Parameters
        ----------
        progress : bool or callable, optional
            See :meth:`xskip.SkippingIndex.create`.
        on_error : {"raise", "skip"}
            Whether a file that cannot be read stops the repair, or stays without metadata. The validation stops in any
            case.

        Returns
        -------
        RepairResult
            The repaired files, and the statistics that are still wrong.

        Raises
        ------
        MetadataNotFoundError, IndexDefinitionError, KeyNotAvailableError, CollectError
            As :meth:`validate`.
        CommitConflictError
            If other writers committed first in every attempt; nothing has changed.
        """
        started = time.monotonic()
        check_build(progress, on_error)
        result = Repair(self._check_settings(), self._spark, self._reader, progress, on_error).run()
        return replace(result, seconds=time.monotonic() - started)

    def add(
        self, indexes: Sequence[Index], *, progress: ProgressOption = None, on_error: OnError = "raise"
    ) -> RefreshResult:
        """Add indexes to an existing index in one commit.

        The statistics of the present indexes stay. The operation collects the added indexes for all files, and all
        indexes for new and changed files. The version of the metadata format and the keys stay, too.

        Parameters
        ----------
        indexes : sequence of Index
            The indexes to add, such as ``[BloomFilter("user_id")]``.
        progress : bool or callable, optional
            See :meth:`xskip.SkippingIndex.create`.
        on_error : {"raise", "skip"}
            Whether a file that cannot be read stops the operation, or stays without metadata.

        Returns
        -------
        RefreshResult
            The numbers of new, deleted and unchanged files, and the files that could not be read.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        IndexExistsError
            If the dataset already has one of the indexes; nothing has changed.
        IndexDefinitionError, UnsupportedTypeError
            If an index definition is invalid for the dataset, or another program has built the index.
        KeyNotAvailableError
            If the key of an index is not available; nothing has changed.
        CollectError
            If a file cannot be read; nothing has changed.
        CommitConflictError
            If other writers committed first in every attempt; nothing has changed.

        Examples
        --------
        >>> index = xskip.SkippingIndex.for_path(spark, indexed_path)
        >>> index.add([xskip.BloomFilter("city")]).unchanged
        3
        >>> [info.name for info in index.describe().indexes]
        ['minmax', 'valuelist', 'bloomfilter']
        """
        started = time.monotonic()
        wanted = check_indexes(indexes)
        check_build(progress, on_error)
        engine = self._check_settings()
        result = Extension(engine, self._spark, self._reader, progress, on_error).run(wanted)
        return replace(result, seconds=time.monotonic() - started)
