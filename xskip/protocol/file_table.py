"""Files in the binary form in which Python and the hook exchange them. Rule: [JVM-SN-1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.metadata.data_files import DataFiles

__all__ = ["FileTable", "Pieces"]

#: The bytes of a table in pieces, which need not be joined in memory.
Pieces = list[bytes | memoryview]
_HEADER = 16
_EMPTY = np.zeros(1, "<i4")


@dataclass(frozen=True, slots=True)
class FileTable:
    """Files, each with its partition. An unknown size is -1 in the message and null in ``files``."""

    files: DataFiles
    #: The partition of each file, as a position in ``partitions``.
    partition_of: npt.NDArray[np.int64]
    #: The values of each partition, as a JSON array in the hook's encoding of literals.
    partitions: list[str]

    def to_pieces(self) -> Pieces:
        """Return the message in pieces, in order."""
        names = self.files.names
        _, offsets, data = names.buffers()
        starts = np.frombuffer(offsets, "<i4")[names.offset : names.offset + len(names) + 1] if len(names) else _EMPTY
        partitions = "\0".join(self.partitions).encode()
        numbers = (self.files.sizes.fill_null(-1).to_numpy(), self.files.modified.to_numpy(), self.partition_of)
        return [
            np.array([len(names), len(partitions)], "<i8").tobytes(),
            *(np.ascontiguousarray(each, "<i8").data.cast("B") for each in numbers if len(names)),
            (starts - starts[0]).astype("<i4").tobytes(),
            memoryview(data)[starts[0] : starts[-1]] if len(names) else b"",
            partitions,
        ]

    @classmethod
    def parse(cls, message: bytes) -> FileTable:
        """Return the table of a message without a copy of its numbers and names."""
        count, length = np.frombuffer(message, "<i8", 2).tolist()
        numbers = np.frombuffer(message, "<i8", 3 * count, _HEADER).reshape(3, count)
        starts_at = _HEADER + numbers.nbytes
        names_at = starts_at + 4 * (count + 1)
        buffer = pa.py_buffer(message)
        offsets, data = buffer.slice(starts_at, names_at - starts_at), buffer.slice(names_at)
        names = pa.StringArray.from_buffers(count, offsets, data)
        names.validate(full=True)  # names of an invalid encoding would reach other libraries as text
        sizes = pa.array(numbers[0], mask=numbers[0] < 0)
        partitions = message[len(message) - length :].decode().split("\0") if length else []
        return cls(DataFiles(names, sizes, pa.array(numbers[1])), numbers[2], partitions)
