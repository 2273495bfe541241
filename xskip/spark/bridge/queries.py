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
from xskip.spark.bridge.packed_values import Packed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ListedFiles", "Pieces", "QueryCalls"]

#: The number of bytes above which a snapshot goes to the JVM as a local file: py4j sends bytes as text, which is slow.
_MAX_BYTES = 1 << 20
Pieces = Sequence[bytes | memoryview]


class ListedFiles:
    """The files to which the answer to a request was applied.

    Parameters
    ----------
    files : JavaObject
        The files in Java, ``io.xskip.snapshot.ListedFiles``.
    """

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
        """Return the first files that are not in the snapshot; fewer than there are if Spark has dropped the listing.

        Parameters
        ----------
        most : int
            The maximum number of files.
        """
        return [FileStatus(*each) for each in json.loads(self._files.unknown(most))]


class QueryCalls:
    """The hook's operations for queries.

    Parameters
    ----------
    calls : JavaObject
        The operations in Java, ``io.xskip.bridge.QueryCalls``.
    """

    def __init__(self, calls: Any) -> None:
        self._calls = calls

    def register(self, directory: str, token: int, files: Pieces) -> None:
        """Send the files of a snapshot to the JVM; each bit of an answer refers to the file at that position.

        Parameters
        ----------
        directory : str
            The directory of the metadata, in the hook's spelling.
        token : int
            The number of the snapshot. The JVM ignores an answer with another number.
        files : sequence of bytes-like
            The files in the format of ``io.xskip.snapshot.FileTable``, in pieces.
        """
        self._calls.register(directory, token, self.files(files))

    def files(self, files: Pieces) -> Any:
        """Return the JVM's representation of a snapshot's files.

        Many bytes go through a local file. If the JVM cannot read that file, the bytes go through py4j.

        Parameters
        ----------
        files : sequence of bytes-like
            The files in the format of ``io.xskip.snapshot.FileTable``, in pieces.

        Returns
        -------
        JavaObject
            An instance of ``io.xskip.snapshot.FileTable``.
        """
        from py4j.protocol import Py4JJavaError

        if sum(map(len, files)) > _MAX_BYTES:
            with temporary_folder("files") as folder, suppress(Py4JJavaError):
                path = Path(folder) / "files"
                with path.open("wb") as file:
                    file.writelines(files)
                return self._calls.filesFrom(str(path))
        return self._calls.files(bytearray(b"".join(files)))

    def filler(self, token: int, count: int) -> Any:
        """Return an object that registers a snapshot from the rows of a job (``io.xskip.snapshot.SnapshotFiller``).

        Parameters
        ----------
        token : int
            The number of the snapshot.
        count : int
            The number of files of the snapshot.
        """
        return self._calls.filler(token, count)

    def register_reader(
        self, spark: SparkSession, name: str, paths: Sequence[str], layout: Sequence[Sequence[int]]
    ) -> None:
        """Register a function of a session that returns the bytes of a part of the metadata files.

        Parameters
        ----------
        spark : SparkSession
            The session.
        name : str
            The name of the function. Its argument is the position of the part in ``layout``.
        paths : sequence of str
            The metadata files, in the hook's spelling.
        layout : sequence of sequence of int
            The numbers of each part in the layout that ``io.xskip.files.RangeReader`` reads.
        """
        numbers = np.array([number for part in layout for number in part], "<i8").tobytes()
        self._calls.registerReader(spark._jsparkSession, name, "\0".join(paths), bytearray(numbers), len(layout))

    def unregister(self, directory: str) -> None:
        """Remove the snapshot of a metadata directory from the JVM."""
        self._calls.unregister(directory)

    def evaluate(self, request: int, terms: Sequence[tuple[int, Packed]]) -> Packed:
        """Evaluate expressions of a pending request, all in a single call of the JVM.

        Parameters
        ----------
        request : int
            The number of the request.
        terms : sequence of (int, Packed)
            The number of each expression in the request, and the values of its column.

        Returns
        -------
        Packed
            The results of all expressions, concatenated in the order of ``terms``.
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

        Parameters
        ----------
        zone : str
            The name of the time zone.
        low, high : int
            The instants, in microseconds since the epoch.

        Returns
        -------
        int
            The greatest offset minus the least one, in microseconds; 36 hours if the hook does not compute the range.
        """
        return int(self._calls.offsetSpread(zone, low, high))

    def identity(self, function: Any) -> str:
        """Return the text by which requests distinguish a user's function from all other functions.

        Parameters
        ----------
        function : UserDefinedFunction or str
            The result of ``udf`` or ``spark.udf.register``, or the registered name of a function in Java or Scala.

        Returns
        -------
        str
            A digest of a Python function, or the name after ``java:``.
        """
        if isinstance(function, str):
            return f"java:{function}"
        return str(self._calls.identity(getattr(function, "_unwrapped", function)._judf))

    def last_scan(self) -> int:
        """Return the number of the latest request."""
        return int(self._calls.lastScanId())

    def scans_after(self, number: int) -> list[dict[str, Any]]:
        """Return the pruning counts of the requests after a request's number, oldest first, at most the last 512.

        Returns
        -------
        list of dict
            For each request: its number, dataset root, format and query, the listed, known and kept files, the listed
            and kept bytes, and the times in milliseconds (see ``io.xskip.scan.ScanRecord``).
        """
        return list(json.loads(self._calls.scansAfter(number)))

    def listed_files(self, request: int) -> ListedFiles | None:
        """Return the files to which the answer to a request was applied, or None if they are no longer known.

        Parameters
        ----------
        request : int
            The number of the request.
        """
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

    def queries_after(self, number: int, spark: SparkSession) -> list[dict[str, Any]]:
        """Return the recorded queries of a session after a number, oldest first: of the last 1,000 of all.

        Returns
        -------
        list of dict
            For each query: its number, the number of its SQL execution, the time of its end, its duration, the number
            of the latest request at its end, and its scans (see ``io.xskip.observe.QueryLog``).
        """
        return list(json.loads(self._calls.queriesAfter(number, spark._jsparkSession)))

    def latest_query(self, spark: SparkSession) -> dict[str, Any] | None:
        """Return the latest recorded query of a session, or None."""
        found = json.loads(self._calls.latestQuery(spark._jsparkSession))
        return dict(found[0]) if found else None

    def savings(self, spark: SparkSession) -> dict[str, Any]:
        """Return the sums of what the queries of a session have read and skipped.

        Returns
        -------
        dict
            The number of queries, the time of the end of the first one, and the sums of each dataset (see
            ``io.xskip.observe.SavingsLog``).
        """
        return dict(json.loads(self._calls.savings(spark._jsparkSession)))

    def take_used(self) -> list[int]:
        """Return the numbers of the requests of explanations whose files a query has read since the last call."""
        return list(json.loads(self._calls.takeUsed()))

    def session_id(self, spark: SparkSession) -> str:
        """Return the identifier of a session in the records of requests."""
        return str(self._calls.sessionId(spark._jsparkSession))

    def executed(self, df: DataFrame) -> list[dict[str, Any]]:
        """Return the scans of a DataFrame's query that ran; empty if the query did not run."""
        return list(json.loads(self._calls.executed(df._jdf)))

    def explain(self, df: DataFrame) -> dict[str, Any]:
        """List the files of every scan of a query without running the query.

        Returns
        -------
        dict
            The name of this call under ``query``, and a dict for each scan under ``scans``.
        """
        return dict(json.loads(self._calls.explain(df._jdf)))
