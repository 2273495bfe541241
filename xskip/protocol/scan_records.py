"""The hook's records of what scans and queries have read. Each record has the members of the hook's JSON object."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["DatasetTotals", "ExecutedScan", "Explanation", "QueryRecord", "ScanRecord", "SessionTotals", "UsedRequest"]


@dataclass(frozen=True, slots=True)
class ScanRecord:
    """The request of a scan, and the listing to which its answer was applied (``io.xskip.scan.ScanRecord``)."""

    id: int
    root: str
    format: str
    #: The number of the SQL execution, the name of an explanation, or an empty text.
    query: str
    session: str
    listed: int
    listed_bytes: int
    #: The number of listed files that are in the snapshot of the index.
    known: int
    kept: int
    kept_bytes: int
    request_ms: float
    filter_ms: float
    #: Whether the scan reads no file at all, because ``spark.xskip.evaluate`` is true.
    evaluated: bool
    #: The name of the rewrite that left out files that the indexes keep; empty if there is none.
    rewrite: str = ""
    #: The number of files that the rewrite left out; they are not among the kept ones.
    unneeded: int = 0

    @classmethod
    def parse(cls, text: str) -> list[ScanRecord]:
        """Return the records of a JSON array."""
        return [cls(**members) for members in json.loads(text)]


@dataclass(frozen=True, slots=True)
class UsedRequest:
    """A request for a plan whose files a query has read since."""

    id: int
    #: The bytes of the files that the scan reads.
    kept_bytes: int
    #: The number of files that a rewrite has left out.
    unneeded: int

    @classmethod
    def parse(cls, text: str) -> list[UsedRequest]:
        """Return the requests of a JSON array."""
        return [cls(*members) for members in json.loads(text)]


@dataclass(frozen=True, slots=True)
class ExecutedScan:
    """A scan of files in a physical plan (``io.xskip.observe.ExecutedScan``)."""

    #: The first root path; empty if Spark's partition pruning has left none.
    path: str
    table: str
    format: str
    is_indexed: bool
    #: Whether Python has answered a request of the scan.
    is_answered: bool
    #: The listed files and bytes; 0 if the scan is answered, whose requests have the numbers.
    files: int
    bytes: int
    #: What xskip does not support in the scan; empty if nothing.
    refusal: str
    #: Why all queries of the session read all files; empty if xskip is on.
    off: str
    #: Whether Spark itself selects files by filters on partition columns.
    is_partition_filtered: bool
    #: The number of files that the scan has read, as Spark counted; -1 if the scan has not run.
    files_read: int = -1
    #: The names of the rewrites that left out files while the query ran, with commas between.
    pruned_by: str = ""
    requests: tuple[ScanRecord, ...] = ()
    #: The numbers of further requests, whose answers have not decided which files the scan lists.
    questions: tuple[int, ...] = ()
    #: The filters of a scan without an index, as JSON in the form of a request; empty without filters.
    filters: str = ""

    @classmethod
    def parse(cls, text: str) -> list[ExecutedScan]:
        """Return the scans of a JSON array."""
        return [cls.of(members) for members in json.loads(text)]

    @classmethod
    def of(cls, members: dict[str, Any]) -> ExecutedScan:
        """Return the scan of a JSON object."""
        requests = tuple(ScanRecord(**request) for request in members.pop("requests", ()))
        return cls(**members | {"questions": tuple(members.get("questions", ()))}, requests=requests)


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """A query that has ended (``io.xskip.observe.QueryRecord``)."""

    number: int
    #: The ID on Spark's SQL page.
    execution: int
    session: str
    #: The directory of the query history that the session sets; empty without one.
    history: str
    #: The number of days that the history keeps, as the session sets it; empty without one.
    history_days: str
    #: Whether the session lets reports show the values of filters.
    shows_values: bool
    #: Milliseconds since the epoch.
    ended_ms: int
    seconds: float
    #: The number of the latest request at the end of the query.
    last_scan: int
    failed: bool
    scans: tuple[ExecutedScan, ...]

    @classmethod
    def parse(cls, text: str) -> list[QueryRecord]:
        """Return the queries of a JSON array."""
        found = json.loads(text)
        return [cls(**(query | {"scans": tuple(map(ExecutedScan.of, query["scans"]))})) for query in found]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The scans of a query whose files the hook listed without running the query."""

    #: The name of the explanation in the records of the requests that it made.
    query: str
    scans: tuple[ExecutedScan, ...]

    @classmethod
    def parse(cls, text: str) -> Explanation:
        """Return the explanation of a JSON object."""
        found = json.loads(text)
        return cls(found["query"], tuple(map(ExecutedScan.of, found["scans"])))


@dataclass(frozen=True, slots=True)
class DatasetTotals:
    """The sums over the scans of a dataset, whose name is empty for all datasets beyond the first thousand."""

    dataset: str
    scans: int
    files: int
    bytes: int
    kept: int
    kept_bytes: int
    nanos: int


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """The sums over the queries of a session (``io.xskip.observe.SavingsLog``)."""

    queries: int
    #: When the first query ended, in milliseconds since the epoch; 0 without queries.
    first_ms: int
    datasets: tuple[DatasetTotals, ...]

    @classmethod
    def parse(cls, text: str) -> SessionTotals:
        """Return the sums of a JSON object."""
        found = json.loads(text)
        return cls(found["queries"], found["first_ms"], tuple(DatasetTotals(**each) for each in found["datasets"]))
