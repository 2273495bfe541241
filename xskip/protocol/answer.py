"""The answer to a request of the hook, in sections. Rules: specs/jvm-protocol.rst, [JVM-AN]."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

__all__ = ["Answer", "Refusal", "Section"]


class Section(IntEnum):
    """The sections of an answer, by their numbers in the message."""

    #: A bit for each file: the file certainly holds no matching row.
    SKIP = 1
    #: A bit for each unit that is left: all rows of the unit certainly match.
    WHOLE = 2
    #: An integer for each unit that is left: the number of rows; -1 if it is unknown.
    ROWS = 3
    #: The ranges of the files that can hold matching rows.
    RANGES = 4
    #: An int64 for each file: the number of bytes that the query needs of the file.
    SIZES = 5
    #: The bounds, NULLs and distinct values of columns in the units that are left, see ``xskip.engine.column_facts``.
    COLUMNS = 6
    #: For each predicate of the request two bits for each unit that is left: no row satisfies it, and all rows do.
    PREDICATES = 7
    #: The ranges of the units of each file that is left, if files have several.
    UNITS = 8


#: The numbers of bytes of a packed integer.
_WIDTHS = (0, 1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the request of a scan: the results of the statistics for each file of a snapshot."""

    #: The number by which the hook knows the snapshot.
    token: int
    #: The number of indexes whose statistics the answer is based on, for texts.
    indexes: int
    #: Whether the answer holds only for files with the partition values of the snapshot.
    uses_partitions: bool
    sections: Mapping[Section, bytes]

    @staticmethod
    def bits(mask: npt.NDArray[np.bool_]) -> bytes:
        """Return the content of a section with a bit for each file, the lowest bit of each byte first."""
        return np.packbits(mask, bitorder="little").tobytes()

    @staticmethod
    def integers(values: npt.NDArray[np.int64]) -> bytes:
        """Return integers in the form of [JVM-AN-5].

        >>> Answer.integers(np.array([7, 7, 7])).hex(" ")
        '00 07 00 00 00 00 00 00 00'
        >>> Answer.integers(np.array([-1, 3])).hex(" ")
        '01 ff ff ff ff ff ff ff ff 00 04'
        """
        least, greatest = (int(values.min()), int(values.max())) if len(values) else (0, 0)
        width = next(width for width in _WIDTHS if greatest - least < 1 << 8 * width)
        header = struct.pack("<Bq", width, least)
        if not width:
            return header
        # unsigned differences do not overflow, as signed ones would
        differences = values.view(np.uint64) - np.uint64(least % (1 << 64))
        return header + bytes(differences.astype(f"<u{width}").tobytes())

    def to_bytes(self) -> bytes:
        """Return the message."""
        header = b"A" + struct.pack("<?iq", self.uses_partitions, self.indexes, self.token)
        parts = (struct.pack("<ii", number, len(content)) + content for number, content in self.sections.items())
        return header + b"".join(parts)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer that makes a query fail: of a scan in strict mode, or of a table that cannot be described."""

    reason: str

    def to_bytes(self) -> bytes:
        """Return the message."""
        return b"E" + self.reason.encode()
