"""Reads of byte ranges of the files of a table. Rules: [QDB-RD]."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from xskip.errors import TableDamagedError

__all__ = ["CHECKPOINT_HINT", "FileStamp", "TableFile"]

CHECKPOINT_HINT = "read a checkpoint (CHECKPOINT CREATE), or a copy of a stopped server"
_MAX_BYTES_OF_ONE_READ = 1 << 30
#: Twice the longest tick of the clock with which Linux stamps files.
_TICK_NANOSECONDS = 20_000_000


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The identity of a file and the time of its last change."""

    inode: int
    #: In nanoseconds since the Unix epoch.
    modified: int
    #: Whether a later write gives the file another stamp: a write in the same tick of the system's clock does not.
    settled: bool = field(default=True, compare=False)

    @classmethod
    def of(cls, path: str) -> FileStamp:
        """Return the stamp of a file."""
        status = os.stat(path)
        settled = time.time_ns() - status.st_mtime_ns > _TICK_NANOSECONDS
        return cls(status.st_ino, status.st_mtime_ns, settled)


class TableFile:
    """A file of a table, open for reads of byte ranges; ``frozen`` means that no server writes to it."""

    def __init__(self, path: Path, *, frozen: bool) -> None:
        self.path = path
        self._whole: pa.Buffer | None = None
        # Files that a server may write are copied [QDB-RD-5]. If a file is cut, pread gives a short read and an error,
        # and a mapped file ends the process with a signal. A mapped page also shows what a server writes later.
        if frozen and os.stat(path).st_size:
            with pa.memory_map(str(path)) as mapped:
                self._whole = mapped.read_buffer()
        self._descriptor = os.open(path, os.O_RDONLY)

    def __enter__(self) -> TableFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    @property
    def size(self) -> int:
        """Return the size of the file in bytes."""
        return os.fstat(self._descriptor).st_size

    def read(self, start: int, length: int) -> pa.Buffer:
        """Return a range of bytes, or raise an error if the file ends before the range does."""
        # no memory is taken for a range that a damaged file invents
        available = self.size if self._whole is None else self._whole.size
        if length < 0 or start < 0 or start + length > available:
            raise self._short(start, length)
        if self._whole is not None:
            return self._whole.slice(start, length)
        buffer = pa.allocate_buffer(length)
        view = memoryview(buffer).cast("B") if length else memoryview(b"")
        done = 0
        while done < length:
            count = os.preadv(self._descriptor, [view[done : done + _MAX_BYTES_OF_ONE_READ]], start + done)
            if count == 0:
                raise self._short(start, length)
            done += count
        return buffer

    def _short(self, start: int, length: int) -> TableDamagedError:
        return TableDamagedError(
            "a file of a table ends before the rows that the transaction has committed",
            where=str(self.path), found=f"{self.size:,} bytes", expected=f"bytes {start:,} to {start + length:,}",
            hint=CHECKPOINT_HINT,
        )  # fmt: skip
