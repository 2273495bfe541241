"""The hook's operations for queries: snapshots, evaluations for pending requests, and counts of finished requests."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xskip.metadata.data_files import FileStatus
from xskip.metadatastore.temporary import temporary_folder
from xskip.protocol.file_table import Pieces
from xskip.protocol.packed_values import Packed
from xskip.protocol.scan_records import (
    ExecutedScan,
    Explanation,
    QueryRecord,
    ScanRecord,
    SessionTotals,
    UsedRequest,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ListedFiles", "QueryCalls"]

#: The number of bytes above which a snapshot goes to the JVM as a local file: py4j sends bytes as text, which is slow.
_MAX_BYTES = 1 << 20


class ListedFiles:
    """The files to which the answer to a request was applied, ``io.xskip.snapshot.ListedFiles``."""

    def __init__(self, files: Any) -> None:
        self._files = files

    def ordinals(self) -> npt.NDArray[np.int32]:
        """Return the position of each file in the snapshot of the answer; -1 for a file that is not in the snapshot."""
        return np.frombuffer(base64.b64decode(self._files.ordinals()), "<i4")

    def kept(self) -> npt.NDArray[np.bool_]:
        """Return for each file whether the query reads it."""
        bits = np.frombuffer(base64.b64decode(self._files.kept()), np.uint8)
        kept: npt.NDArray[np.bool_] = np.unpackbits(bits, count=self._files.count(), bitorder="little").view(np.bool_)
        return kept

    def unknown(self, most: int) -> list[FileStatus]:
        """Return at most ``most`` files that are not in the snapshot; fewer if Spark has dropped the listing."""
        return [FileStatus(*each) for each in json.loads(self._files.unknown(most))]


class QueryCalls:
    """The hook's operations for queries, ``io.xskip.bridge.QueryCalls``."""

    def __init__(self, calls: Any) -> None:
        self._calls = calls

    def register(self, directory: str, token: int, files: Pieces, *, has_parts: bool) -> None:
        """Send the files of a snapshot to the JVM; each bit of an answer refers to the file at that position.

        The directory is in the hook's spelling. The JVM ignores an answer with another ``token``, the number of the
        snapshot. ``has_parts`` says whether the answers can have ranges of files.
        """
        self._calls.register(directory, token, self.files(files), has_parts)

    def files(self, files: Pieces) -> Any:
        """Return the JVM's representation of a snapshot's files (``io.xskip.protocol.FileTable``)."""
        from py4j.protocol import Py4JJavaError

        if sum(map(len, files)) > _MAX_BYTES:
            # If the JVM cannot read the local file, the bytes go through py4j.
            with temporary_folder("files") as folder, suppress(Py4JJavaError):
                path = Path(folder) / "files"
                with path.open("wb") as file:
                    file.writelines(files)
                return self._calls.filesFrom(str(path))
        return self._calls.files(bytearray(b"".join(files)))

    def filler(self, token: int, count: int) -> Any:
        """Return an object that registers a snapshot from the rows of a job (``io.xskip.snapshot.SnapshotFiller``)."""
        return self._calls.filler(token, count)

    def register_reader(
        self, spark: SparkSession, name: str, paths: Sequence[str], layout: Sequence[Sequence[int]]
    ) -> None:
        """Register a function of a session that returns the bytes of a part of the metadata files.

        Its argument is the position of the part in ``layout``, which has the numbers of each part in the form that
        ``io.xskip.files.RangeReader`` reads. The paths are in the hook's spelling.
        """
        numbers = np.array([number for part in layout for number in part], "<i8").tobytes()
        self._calls.registerReader(spark._jsparkSession, name, "\0".join(paths), bytearray(numbers), len(layout))

    def unregister(self, directory: str) -> None:
        """Remove the snapshot of a metadata directory from the JVM."""
        self._calls.unregister(directory)

    def evaluate(self, request: int, terms: Sequence[tuple[int, Packed]]) -> Packed:
        """Evaluate expressions of a pending request, all in a single call of the JVM.

        A term is the number of an expression in the request, and the values of its column. The results of all terms are
        concatenated in their order.
        """
        lengths = np.array([(term, len(v.states), len(v.data)) for term, v in terms], "<i8").tobytes()
        joined = (bytearray(b"".join(parts)) for parts in zip(*(values for _, values in terms), strict=True))
        results = self._calls.evaluate(request, bytearray(lengths), *joined)
        return Packed(*map(base64.b64decode, (results.states(), results.numbers(), results.bytes())))

    def settings(self, request: int) -> str:
        """Return a digest of all settings of the session that waits for a pending request."""
        return str(self._calls.settings(request))

    def offset_spread(self, zone: str, low: int, high: int) -> int:
        """Return the range of a zone's UTC offsets between two instants, extended by two days on either side.

        All numbers are microseconds, the instants since the epoch. The range is 36 hours if the hook does not compute
        it.
        """
        return int(self._calls.offsetSpread(zone, low, high))

    def identity(self, function: Any) -> str:
        """Return the text by which requests distinguish a user's function from all other functions.

        The text is a digest of a result of ``udf`` or ``spark.udf.register``. For the registered name of a function in
        Java or Scala, the text is the name after ``java:``.
        """
        if isinstance(function, str):
            return f"java:{function}"
        return str(self._calls.identity(getattr(function, "_unwrapped", function)._judf))

    def last_scan(self) -> int:
        """Return the number of the latest request."""
        return int(self._calls.lastScanId())

    def scans_after(self, number: int) -> list[ScanRecord]:
        """Return the records of the requests after a request's number, oldest first, at most the last 512."""
        return ScanRecord.parse(self._calls.scansAfter(number))

    def listed_files(self, request: int) -> ListedFiles | None:
        """Return the files to which the answer to a request was applied, or None if they are no longer known."""
        files = self._calls.listedFiles(request)
        return None if files is None else ListedFiles(files)

    def listen(self) -> None:
        """Record the queries of all sessions of the running context from now on."""
        self._calls.listen()

    def count_failure(self) -> None:
        """Count a scan whose index cannot be used, in Spark's metrics system."""
        self._calls.countFailure()

    def last_query(self) -> int:
        """Return the number of the latest recorded query, after all queries that have ended are recorded."""
        return int(self._calls.lastQuery())

    def queries_after(self, number: int, spark: SparkSession) -> list[QueryRecord]:
        """Return the recorded queries of a session after a number, oldest first: of the last 1,000 of all."""
        return QueryRecord.parse(self._calls.queriesAfter(number, spark._jsparkSession))

    def all_queries_after(self, number: int) -> list[QueryRecord]:
        """Return the recorded queries of all sessions after a number, oldest first: at most the last 1,000."""
        return QueryRecord.parse(self._calls.allQueriesAfter(number))

    def latest_query(self, spark: SparkSession) -> QueryRecord | None:
        """Return the latest recorded query of a session, or None."""
        return next(iter(QueryRecord.parse(self._calls.latestQuery(spark._jsparkSession))), None)

    def totals(self, spark: SparkSession) -> SessionTotals:
        """Return the sums of what the queries of a session have read and skipped."""
        return SessionTotals.parse(self._calls.savings(spark._jsparkSession))

    def take_used(self, *, waits: bool) -> list[UsedRequest]:
        """Return the requests for plans whose files a query has read since the last call; wait for all that ended."""
        return UsedRequest.parse(self._calls.takeUsed(waits))

    def session_id(self, spark: SparkSession) -> str:
        """Return the identifier of a session in the records of requests."""
        return str(self._calls.sessionId(spark._jsparkSession))

    def executed(self, df: DataFrame) -> list[ExecutedScan]:
        """Return the scans of a DataFrame's query that ran; empty if the query did not run."""
        return ExecutedScan.parse(self._calls.executed(df._jdf))

    def explain(self, df: DataFrame) -> Explanation:
        """List the files of every scan of a query without running the query."""
        return Explanation.parse(self._calls.explain(df._jdf))
