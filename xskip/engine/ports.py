"""The interfaces through which the engine reaches storage, functions, jobs and the hook in the JVM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from xskip.clauses.clause import Clause
from xskip.expressions.predicate import Predicate
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.snapshot import Snapshot
from xskip.protocol.file_table import FileTable
from xskip.protocol.scan_records import UsedRequest
from xskip.pruning.prune import PruneResult

__all__ = ["Functions", "Jobs", "NoFunctions", "Platform"]


class Functions(Protocol):
    """The functions in the filters of one request, which Spark evaluates."""

    def collecting(self) -> AbstractContextManager[Iterable[Any]]:
        """Return a context manager that collects the evaluations of the body, and postpones them."""

    def evaluate(self, evaluations: Iterable[Any]) -> None:
        """Evaluate what :meth:`collecting` has collected, in one call."""

    def settings(self) -> str:
        """Return a digest of all settings of the session that waits for the request."""


class Jobs(Protocol):
    """The jobs that register and prune metadata that is too large for the process of the engine."""

    def register(self, directory: str, snapshot: Snapshot, token: int) -> None:
        """Register the files of a snapshot in the hook."""

    def prune(self, directory: str, snapshot: Snapshot, clause: Clause) -> PruneResult:
        """Decide for every file of a snapshot; raise an XskipError if the job fails."""

    def forget(self) -> None:
        """Clear the record of failed jobs, so that the next job runs at once."""


class Platform(Protocol):
    """The program around the engine. Several threads call it."""

    @property
    def jobs(self) -> Jobs:
        """Return the runner of jobs."""

    def storage(self, directory: str) -> Storage:
        """Return the access to a directory of metadata."""

    def max_metadata_bytes(self) -> int:
        """Return the number of bytes above which the metadata of an index is not loaded."""

    def functions(self, request: int) -> Functions:
        """Return the functions of a pending request."""

    def decode(self, filters: Sequence[Any], functions: Functions, *, with_conditions: bool) -> Predicate:
        """Return the predicate of the filters of a request; ``with_conditions`` if an index on a condition exists."""

    def register(self, directory: str, token: int, files: FileTable, *, has_parts: bool) -> None:
        """Register the files of a snapshot, to which the answers about the directory refer.

        ``has_parts`` says whether the answers can have ranges of files.
        """

    def unregister(self, directory: str) -> None:
        """Remove the files of a snapshot."""

    def forget_directories(self) -> None:
        """Forget which directories have an index, because this process has changed one."""

    def take_used(self, *, waits: bool) -> list[UsedRequest]:
        """Return the requests for plans whose files a query has read since the last call; wait for all that ended."""

    def count_failure(self) -> None:
        """Count a scan whose index cannot be used, in the metrics of the program."""

    def describe(self, error: BaseException) -> str:
        """Return a short description of an error, without its stack trace."""


class NoFunctions:
    """The functions of predicates without functions."""

    def collecting(self) -> AbstractContextManager[Iterable[Any]]:
        """Return a context manager that collects nothing."""
        return nullcontext(())

    def evaluate(self, evaluations: Iterable[Any]) -> None:
        """Evaluate nothing, because there are no functions."""

    def settings(self) -> str:
        """Return an empty digest."""
        return ""
