"""Files in the binary form in which Python and the hook exchange them. Rule: [JVM-SN-1]."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import MetadataTable

__all__ = ["FileTable", "Pieces", "file_table", "partition_texts"]

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


def file_table(table: MetadataTable) -> FileTable:
    """Return the files of a table that has the partition columns of the snapshot."""
    return FileTable(table.files, *partition_texts(table))


def partition_texts(table: MetadataTable) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return the partition of each file, and the values of each partition as a JSON array in the hook's encoding."""
    # The hook prunes by partition values only if a text equals the text of the query's own listing. A text that
    # differs from the hook's encoding of equal values therefore only keeps files. A read without listing parses the
    # texts.
    rows: list[tuple[str, ...]] = [()]
    of = np.zeros(len(table), np.int64)
    for column in table.partitions.values():
        values = column.values.dictionary_encode(null_encoding="encode")
        words = _encoded(values.dictionary)
        codes = pa.array(of * len(words) + values.indices.to_numpy()).dictionary_encode()
        of = codes.indices.to_numpy().astype(np.int64)
        rows = [(*rows[code // len(words)], words[code % len(words)]) for code in codes.dictionary.to_pylist()]
    return of, [f"[{','.join(row)}]" for row in rows]


def _encoded(values: pa.Array) -> list[str]:
    kind = values.type
    if pa.types.is_date32(kind):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.view(pa.int64())
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return ["null" if v is None else json.dumps(str(v)) for v in values.to_pylist()]
    elif pa.types.is_binary(kind):
        return ["null" if v is None else f'{{"b64":"{b64encode(v).decode()}"}}' for v in values.to_pylist()]
    return [json.dumps(v) for v in values.to_pylist()]
