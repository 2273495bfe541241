"""Reasons why a condition, or a part of an index, rules out no file. The text of a reason is for reports only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "AnotherType",
    "Cause",
    "Incomparable",
    "MissingBounds",
    "MissingIndex",
    "MissingKey",
    "MissingStatistics",
    "OtherReason",
    "PartialCover",
    "PartitionMismatch",
    "Reason",
    "UnansweredCondition",
    "UnreadableMetadata",
    "UnsupportedNode",
]


@dataclass(frozen=True, slots=True)
class MissingIndex:
    """No index has statistics of the column."""

    column: str

    def __str__(self) -> str:
        return f"there is no index on {self.column}"


@dataclass(frozen=True, slots=True)
class MissingBounds:
    """Two columns are compared, and no index has bounds of this one."""

    column: str

    def __str__(self) -> str:
        return f"no index has bounds of {self.column}"


@dataclass(frozen=True, slots=True)
class PartitionMismatch:
    """The column is a partition column only in the query or only in the index."""

    column: str

    def __str__(self) -> str:
        return f"{self.column} is a partition column only in the query or only in the index"


@dataclass(frozen=True, slots=True)
class AnotherType:
    """The column has another type in the query than in the index."""

    column: str
    type: str
    #: The type of a partition column in the index; None for other columns.
    partition_type: str | None = None

    def __str__(self) -> str:
        if self.partition_type is None:
            return f"column {self.column} is {self.type} in the query, but had another type when it was indexed"
        return f"partition column {self.column} was {self.partition_type} when indexed and is {self.type} in the query"


@dataclass(frozen=True, slots=True)
class PartialCover:
    """The indexes on an array describe only its elements, or only the array, and the condition is about the other."""

    column: str
    needs_elements: bool

    def __str__(self) -> str:
        return f"the indexes on {self.column} describe only {'the array' if self.needs_elements else 'elements'}"


@dataclass(frozen=True, slots=True)
class UnansweredCondition:
    """No index type on the column answers this kind of condition."""

    column: str
    index_types: tuple[str, ...]

    def __str__(self) -> str:
        return f"the index on {self.column} ({', '.join(self.index_types)}) cannot answer this condition"


@dataclass(frozen=True, slots=True)
class Incomparable:
    """xskip does not compare the two sides of a condition, which are types, columns or descriptions."""

    left: str
    right: str

    def __str__(self) -> str:
        return f"xskip cannot compare {self.left} with {self.right}"


@dataclass(frozen=True, slots=True)
class UnsupportedNode:
    """xskip does not support a kind of expression, operator, column or literal."""

    subject: str

    def __str__(self) -> str:
        return f"xskip does not support {self.subject}"


@dataclass(frozen=True, slots=True)
class UnreadableMetadata:
    """The metadata of a number of files is damaged."""

    files: int

    def __str__(self) -> str:
        return f"the metadata of {self.files:,} files cannot be read"


@dataclass(frozen=True, slots=True)
class MissingKey:
    """The key that encrypts the statistics is not available."""

    label: str | None

    def __str__(self) -> str:
        return f"its key {self.label} is not available"


@dataclass(frozen=True, slots=True)
class MissingStatistics:
    """The index has no statistics of the file, or none that can be read."""

    is_damaged: bool

    def __str__(self) -> str:
        return f"the index has no {'readable ' if self.is_damaged else ''}statistics of the file"


@dataclass(frozen=True, slots=True)
class OtherReason:
    """A reason of another part of xskip, or one about a single kind of condition."""

    text: str

    def __str__(self) -> str:
        return self.text


class Cause(Enum):
    """The reasons without parameters."""

    ADMITTED = "the statistics admit a matching row"
    EXCLUDED = "the statistics exclude every row"
    ALWAYS_TRUE = "the filter is true of every row"
    NEVER_TRUE = "the filter is true of no row"
    UNDECIDED = "the statistics of the file do not decide"
    NO_SUCH_INDEX = "the metadata have no such index"
    FUNCTION_IN_JOB = "a job that prunes the metadata does not evaluate functions"
    NO_BOUNDS_OF_ROW_GROUPS = "row groups have no bounds for this predicate"
    IN_PARTITIONS = "pyarrow evaluates this condition on the partition values"
    STALE_FILE = "the file has changed since it was indexed"
    UNKNOWN_FILE = "the index does not have the file"
    ANOTHER_SNAPSHOT = "Spark listed the file for another snapshot of the index"
    FORGOTTEN_RESULTS = "the results of a function that ruled out the file are no longer in memory"

    def __str__(self) -> str:
        return str(self.value)


Reason = (
    MissingIndex
    | MissingBounds
    | PartitionMismatch
    | AnotherType
    | PartialCover
    | UnansweredCondition
    | Incomparable
    | UnsupportedNode
    | UnreadableMetadata
    | MissingKey
    | MissingStatistics
    | OtherReason
    | Cause
)
