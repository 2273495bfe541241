"""The operations that tell the state of an index: exists, describe, status, advise."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from xskip.api.advised_changes import apply_advice
from xskip.api.arguments import check_count
from xskip.api.index_choices import choose_indexes
from xskip.api.query_history import history_of_session
from xskip.api.report_maker import shows_values
from xskip.api.upkeep import IndexUpkeep
from xskip.errors import IndexDeletedError, MetadataVersionError
from xskip.indexing.source import Source, require_collected, require_snapshot
from xskip.indexing.trial import TrialRun
from xskip.inspection.advise import advise
from xskip.inspection.description import describe
from xskip.inspection.file_comparison import compare_with_files, status_without_snapshot
from xskip.inspection.proposals import columns_to_order, operands_to_measure
from xskip.metadatastore.commit import find_live
from xskip.results.advice import AdviceList
from xskip.results.index_status import IndexDescription, IndexStatus
from xskip.settings import HISTORY
from xskip.spark.collect.listing import list_files
from xskip.standalone.query_history import no_history, usage_in_history

if TYPE_CHECKING:
    from xskip.metadatastore.snapshot import Snapshot
    from xskip.results.index_choice import IndexChoice
    from xskip.results.index_usage import DatasetUsage
    from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["IndexInspection"]

#: The directory of a query history, or False for the scans of this process, and a number of last days.
_Period = tuple[str | os.PathLike[str] | Literal[False] | None, int | None]


@dataclass(frozen=True, slots=True)
class IndexInspection(IndexUpkeep):
    """The base of :class:`xskip.SkippingIndex` with the operations that tell the state of an index.

    Attributes
    ----------
    name : str
        The path or table, as the user gave it.
    """

    def exists(self) -> bool:
        """Return whether the dataset has an index.

        Returns
        -------
        bool
            Whether the directory of the metadata holds an index.

        Raises
        ------
        MetadataCorruptError
            If the commit records of the index are damaged.
        """
        _, source = self._open()
        return find_live(source.storage, source.directory) is not None

    def describe(self, *, history: str | os.PathLike[str] | None = None, days: int | None = None) -> IndexDescription:
        """Return the description of the index: its location, version, size, partition columns and index definitions.

        For each index, the description has the size of its statistics, the time that builds have spent on it, and how
        many scans in this process have used it. The counts begin anew if the set of indexes changes, and do not include
        :func:`xskip.explain` and :meth:`xskip.SkippingIndex.files`.

        Parameters
        ----------
        history : str or os.PathLike, optional
            The directory of the query history. None is that of ``spark.xskip.history.location``.
        days : int, optional
            Count the scans of all drivers in this number of last days, 30 by default, from the query history. Without
            ``history`` and ``days``, the scans in this process count.

        Returns
        -------
        IndexDescription
            The description, which prints as text, shows as HTML in notebooks and converts to an Arrow table.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        """
        engine, source = self._open()
        snapshot = require_snapshot(source)
        usage = _usage(engine, source, snapshot, (history, days))
        return describe(snapshot, source.storage, source.location, usage, source.read_profile.format)

    def status(self) -> IndexStatus:
        """Return the state of the index in comparison with the present files of the dataset.

        Returns
        -------
        IndexStatus
            The numbers of indexed, missing and stale files, and the reason why queries do not use the index, if any.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        """
        _, source = self._open()
        return _status(source)

    def choose(self) -> IndexChoice:
        """Return the indexes that xskip would choose for the dataset, with the reason for each, without building them.

        xskip reads a sample of the files: bounds suit columns that order or cluster the files, lists of values columns
        with few values in each file, filters columns with many values, prefixes and words texts. An index is chosen if
        it rules out at least a tenth of the files for a value of the column. With ten or more recorded scans, columns
        in their conditions come first, and columns without conditions get no filters: the scans of the query history of
        the session, or of this process, since the dataset has had an index. All indexes together keep to the budget
        ``spark.xskip.choice.budget``, 0.5 % of the size of the data by default. ``spark.xskip.choice.files`` limits the
        sample, to 16 files by default.

        With an index, the choice says what :meth:`refresh` with ``auto="revise"`` would add and remove.

        Returns
        -------
        IndexChoice
            One row for each index and for each column without one. ``indexes`` has the chosen indexes, such as for
            :meth:`create`.

        Raises
        ------
        IndexDefinitionError
            If no index supports the reader options, or if another program built the index.
        CollectError
            If a file of the sample cannot be read.

        Examples
        --------
        >>> choice = xskip.SkippingIndex.for_path(spark, path).choose()
        >>> choice.sample, [each.subject for each in choice if each.is_chosen]
        (3, ['minmax(city)', 'valuelist(city)', 'minmax(temp)', 'valuelist(temp)'])
        """
        engine, source = self._open()
        present = find_live(source.storage, source.directory) is not None
        return choose_indexes(engine, source, require_collected(source) if present else None)

    def advise(
        self,
        *,
        history: str | os.PathLike[str] | Literal[False] | None = None,
        days: int | None = None,
        trial: int | None = None,
    ) -> AdviceList:
        """Return advice on the indexes, from their statistics and from queries.

        The advice names indexes that rule out next to nothing, indexes that another one replaces, indexes that no query
        uses, columns and expressions that queries filter without an index, and an order of the data. Bounds are judged
        by their spread: by the files that they rule out for values in the range of the data, on average. Bloom filters,
        and statistics without their key, are judged by queries alone. An index that has ruled out files for a query is
        never to be removed. :meth:`~xskip.results.advice.AdviceList.apply` adds and removes indexes, but removes none
        that only the scans of this process do not need.

        A trial chooses the type of a new index by what it rules out, and tells how many bytes less the queries read:
        of each query that filters the column or expression, the share of the files that the index rules out in the
        trial. Files that other indexes keep are taken to be ruled out in the same share as all files. With a history,
        the bytes are those of a day.

        The advice also names columns of which aggregates, groups and first rows need metadata, so that queries need not
        read the data. For ``min``, ``max`` and ``count`` it tells without a trial what an index saves.

        Parameters
        ----------
        history : str or os.PathLike or False, optional
            The directory of the query history. None is that of ``spark.xskip.history.location``; if the session does
            not set it, the scans in this process count. With False, they count in any case.
        days : int, optional
            Count the scans of all drivers in this number of last days, 30 by default, from the query history.
        trial : int, optional
            Read at most so many files, spread evenly over the dataset, and measure indexes on the columns and
            expressions that queries filter without one. Nothing is written. None reads no data.

        Returns
        -------
        AdviceList
            One sentence with its evidence for each piece of advice.

        Raises
        ------
        MetadataNotFoundError
            If there is no index.
        ArgumentError
            If there are ``days`` without a query history.
        IndexDefinitionError
            If another program built the index, or if the dataset is read in another way than when the index was built,
            so that no trial can tell what an index would rule out.
        CollectError
            If a file of the trial cannot be read.

        Examples
        --------
        >>> print(xskip.SkippingIndex.for_path(spark, indexed_path).advise())
        no advice: nothing tells against the indexes
        """
        check_count("trial", trial)
        engine, source = self._open()
        snapshot = require_snapshot(source)
        if history is None and days is None:
            history = engine.settings.of(engine.session(), HISTORY) or None
        usage = _usage(engine, source, snapshot, (history, days))
        if not shows_values(engine, self._spark):
            usage = usage.without_values()
        measured = None
        if trial is not None:
            current = usage.among(str(definition) for definition, _ in snapshot.indexes)
            columns = columns_to_order(snapshot, current)
            measured = TrialRun(engine, source).run(operands_to_measure(snapshot, current), trial, columns)
        return replace(advise(snapshot, source.root, usage, measured), _apply=partial(apply_advice, self))


def _usage(engine: SparkEngine, source: Source, snapshot: Snapshot, period: _Period) -> DatasetUsage:
    """Return how queries have used an index: those of a history and its last days, or of this process."""
    history, days = period
    if history is False and days is not None:
        raise no_history("leave out history=False")
    if history is False or (history is None and days is None):
        return engine.usage(source.directory)
    return usage_in_history(history_of_session(engine, history), source.root, snapshot, days)


def _status(source: Source) -> IndexStatus:
    """Return the state of an index in comparison with the present files of its dataset."""
    try:
        snapshot = require_snapshot(source)
    except (IndexDeletedError, MetadataVersionError) as error:
        return status_without_snapshot(error, source.storage, source.directory, lambda: len(list_files(source.dataset)))
    problem = snapshot.reason_unusable(source.location, source.read_profile) or source.unfound
    return compare_with_files(snapshot, list_files(source.dataset).files, problem)
