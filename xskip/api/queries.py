"""Functions that report on queries: which files their scans skipped, and why a scan read all files."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from types import TracebackType
from typing import TYPE_CHECKING, Any

from xskip.api.arguments import check_count, check_frame
from xskip.api.query_history import history_of_session
from xskip.api.report_maker import ReportMaker
from xskip.errors import ArgumentError
from xskip.results.savings import DatasetSavings, Savings
from xskip.results.skipping_report import SkippingReport
from xskip.spark.query.spark_engine import SparkEngine, engine_of
from xskip.standalone.query_history import history_without_spark, savings_in_history

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Watch", "explain", "last_report", "report", "savings", "watch"]


def last_report(spark: SparkSession) -> SkippingReport:
    """Return the report on the latest query of a session, also if the query read all files.

    A query is an execution that Spark shows on the SQL page of its user interface. Commands that read no data, such as
    ``CREATE VIEW``, and :func:`explain` are no queries. If Spark reads a format with its second data source API,
    because the format is not in ``spark.sql.sources.useV1SourceList``, ``df.explain()`` lists the files of the scans
    as ``df.rdd`` does, and the report is about these scans until another query ends.

    Parameters
    ----------
    spark : SparkSession
        The session. xskip knows its queries from the first :func:`enable` of the process on.

    Returns
    -------
    SkippingReport
        All scans of files of the query. A scan that skipped no file has the reason in ``problem``.

    Examples
    --------
    >>> spark.read.parquet(indexed_path).filter("temp > 30").count()
    1
    >>> (scan,) = xskip.last_report(spark).scans
    >>> scan.files, scan.kept, scan.skipped
    (3, 1, 2)
    >>> spark.read.parquet(path).filter("temp > 30").count()
    1
    >>> print(xskip.last_report(spark).headline)
    skipped none of 3 files: the dataset has no index below ...; the query ... took ... s
    """
    maker = ReportMaker(engine_of(spark), spark)
    queries = maker.calls
    latest = queries.latest_query(spark)
    loose = maker.outside_of_queries(-1 if latest is None else latest.last_scan)
    if loose:
        return maker.of_requests(loose)
    if latest is None:
        return SkippingReport((), note="xskip has seen no query of this session since xskip.enable(spark)")
    return maker.of_query(latest)


def report(df: DataFrame) -> SkippingReport:
    """Return the report on a DataFrame: what its query skipped, or would skip if it has not run.

    Spark runs the query of the DataFrame itself for actions such as ``collect`` and ``toPandas``. Actions such as
    ``count`` run another query, which skips the same files.

    Parameters
    ----------
    df : DataFrame
        The DataFrame.

    Returns
    -------
    SkippingReport
        All scans of files of the query.

    Examples
    --------
    >>> df = spark.read.parquet(indexed_path).filter("temp > 30")
    >>> rows = df.collect()
    >>> print(xskip.report(df).headline)
    skipped 2 of 3 files (66.7 %), ... of ..., in ... ms by minmax(temp)
    """
    check_frame(df)
    maker = ReportMaker(engine_of(df.sparkSession), df.sparkSession)
    scans = maker.calls.executed(df)
    return maker.of_scans(scans) if scans else maker.of_plan(df)


def explain(df: DataFrame, *, files: int | None = None) -> SkippingReport:
    """Return a report on what skipping would do for a query, without running the query.

    Parameters
    ----------
    df : DataFrame
        The query.
    files : int, optional
        The maximum number of files of each scan that the report explains: first those that the query would read, then
        those that it would skip, each by name. None explains no single file.

    Returns
    -------
    SkippingReport
        All scans of the query, with the reason for each scan that cannot skip files.

    Raises
    ------
    ArgumentError
        If ``df`` is not a DataFrame, or ``files`` is not a number of at least 1.

    Examples
    --------
    >>> report = xskip.explain(spark.read.parquet(path).filter("temp > 30"))
    >>> print(report.headline)
    skipped none of 3 files: the dataset has no index below spark.xskip.metadata.location, ...
    >>> (scan,) = xskip.explain(spark.read.parquet(indexed_path).filter("temp > 30"), files=2).scans
    >>> for file in scan.explained:
    ...     print(file.verdict, file.predicate, file.index, file.reason)
    kept temp > ? minmax(temp) the statistics admit a matching row
    skipped temp > ? minmax(temp) the statistics exclude every row
    """
    check_frame(df)
    check_count("files", files)
    return ReportMaker(engine_of(df.sparkSession), df.sparkSession).of_plan(df, files or 0)


def savings(
    spark: SparkSession | None = None,
    *,
    days: int | None = None,
    history: str | os.PathLike[str] | None = None,
    filesystem: FileSystem | None = None,
) -> Savings:
    """Return how many files and bytes queries have skipped: those of a session so far, or of all drivers of many days.

    The sums of a session contain each scan of files of all queries that have ended since the first :func:`enable` of
    the process, also scans without an index. :func:`explain` and ``df.rdd`` do not count. The sums over days are those
    of the query history, which counts only queries that read files.

    Parameters
    ----------
    spark : SparkSession, optional
        The session. Sums are kept for the 256 sessions that ran queries last. None needs neither Spark nor Java.
    days : int, optional
        Return the sums of the queries of all drivers in this number of last days, from the
        query history. None returns the sums of the whole history; without ``history``, those of the session's queries.
    history : str or os.PathLike, optional
        The directory of the query history. None is that of the session's ``spark.xskip.history.location``.
    filesystem : pyarrow.fs.FileSystem, optional
        Without a session, the file system of the history. None finds the file system by the path.

    Returns
    -------
    Savings
        The sums of each dataset, and of all datasets.

    Raises
    ------
    ArgumentError
        If there is neither a session nor a history, if both a session and a file system are given, if the session sets
        no history, or if ``days`` is not a number of at least 1.
    StorageError
        If the history cannot be read or, by this driver, written.

    Examples
    --------
    >>> df = spark.read.parquet(indexed_path)
    >>> before = xskip.savings(spark)
    >>> rows = df.filter("temp > 30").collect(), df.filter("city = 'oslo'").collect()
    >>> after = xskip.savings(spark)
    >>> after.queries - before.queries, after.files - before.files, after.skipped - before.skipped
    (2, 6, 4)
    """
    if spark is None:
        return savings_in_history(history_without_spark(history, filesystem), days)
    if filesystem is not None:
        raise ArgumentError("a session has its own file systems", found="spark and filesystem=", expected="one of them")
    engine = engine_of(spark)
    if days is not None or history is not None:
        return savings_in_history(history_of_session(engine, history), days)
    return _savings_of_session(engine, spark)


def _savings_of_session(engine: SparkEngine, spark: SparkSession) -> Savings:
    found = engine.hook.queries.totals(spark)
    sums: dict[str, list[int]] = {}
    for each in found.datasets:
        name = engine.hook.locations.normalized(each.dataset) if each.dataset else ""
        numbers = [each.scans, each.files, each.bytes, each.kept, each.kept_bytes, each.nanos]
        sums[name] = [a + b for a, b in zip(numbers, sums.get(name, [0] * len(numbers)), strict=True)]
    datasets = [
        DatasetSavings(name, scans, files, size, files - kept, size - kept_size, nanos / 1e6)
        for name, (scans, files, size, kept, kept_size, nanos) in sums.items()
    ]
    since = datetime.fromtimestamp(found.first_ms / 1000, timezone.utc) if found.queries else None
    return Savings(found.queries, since, tuple(sorted(datasets, key=lambda e: (-e.skipped_bytes, e.dataset))))


class Watch:
    """The reports on the queries of a session that ran in a ``with`` block, which :func:`watch` returns.

    Parameters
    ----------
    spark : SparkSession
        The session.

    Attributes
    ----------
    reports : tuple of SkippingReport
        One report for each query, in order.
    report : SkippingReport
        One report with the scans of all queries.

    Examples
    --------
    >>> with xskip.Watch(spark) as watched:
    ...     count = spark.range(3).count()
    >>> print(watched)
    no scan reads files; 1 query took ... s
    """

    def __init__(self, spark: SparkSession) -> None:
        self._maker = ReportMaker(engine_of(spark), spark)
        self._spark = spark
        self._first: tuple[int, int] | None = None
        self._reports: tuple[SkippingReport, ...] | None = None

    def __enter__(self) -> Watch:
        """Begin to watch."""
        self._maker.calls.listen()
        self._first = self._maker.calls.last_query(), self._maker.calls.last_scan()
        self._reports = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the watch, and collect the reports."""
        self._reports = self._collected()

    def _collected(self) -> tuple[SkippingReport, ...]:
        if self._first is None:
            return ()
        number, scan = self._first
        queries = self._maker.calls.queries_after(number, self._spark)
        loose = self._maker.outside_of_queries(scan)
        reports = [self._maker.of_query(query) for query in queries]
        return (*reports, self._maker.of_requests(loose)) if loose else tuple(reports)

    @property
    def reports(self) -> tuple[SkippingReport, ...]:
        """Return one report for each query: in the block, of the queries that have ended so far."""
        return self._collected() if self._reports is None else self._reports

    @property
    def report(self) -> SkippingReport:
        """Return one report with the scans of all queries."""
        reports = self.reports
        seconds: list[Any] = [each.seconds for each in reports if each.seconds is not None]
        return SkippingReport(
            tuple(scan for each in reports for scan in each.scans),
            query=f"{len(reports):,} queries" if len(reports) != 1 else "1 query",
            seconds=sum(seconds) if seconds else None,
            note="" if reports else "no query of this session ran",
        )

    def __repr__(self) -> str:
        return f"Watch({self.report.headline})"

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def watch(spark: SparkSession) -> Watch:
    """Return a context manager that collects the reports on all queries that a session runs in its block.

    Parameters
    ----------
    spark : SparkSession
        The session. Queries of other sessions that run at the same time are left out.

    Returns
    -------
    Watch
        An object with the properties ``reports`` and ``report``. It keeps at most the last 1,000 queries.

    Examples
    --------
    >>> df = spark.read.parquet(indexed_path)
    >>> with xskip.watch(spark) as watched:
    ...     rows = df.filter("temp > 30").collect(), df.filter("city = 'oslo'").collect()
    >>> [scan.skipped for scan in watched.report.scans]
    [2, 2]
    """
    return Watch(spark)
