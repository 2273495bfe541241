"""Results of the operations on an index: immutable, with a text for terminals and HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from xskip.results.index_choice import IndexChoice, pairs_of
from xskip.results.render import human_bytes
from xskip.results.result_view import KeyValueView, ShownTable

__all__ = [
    "ColumnChange",
    "DropResult",
    "EnsureResult",
    "IndexList",
    "ListedIndex",
    "MigrationResult",
    "OptimizeResult",
    "Progress",
    "RefreshResult",
    "RemovalResult",
    "RotationResult",
]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a build.

    Attributes
    ----------
    chunk, chunks : int
        The number of finished jobs, and of all jobs.
    files, total : int
        The number of finished files, and of all files.
    seconds : float
        The time since the start of the build.
    """

    chunk: int
    chunks: int
    files: int
    total: int
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class RefreshResult(KeyValueView):
    """The result of a build or refresh.

    Attributes
    ----------
    added, removed, unchanged : int
        The number of files whose metadata the build added, removed or left unchanged.
    seconds : float
        The duration of the call. The first call of a process compiles xskip's Java classes, which the log states.
    failed : tuple of str
        The paths of the files that could not be read and have no metadata (``on_error="skip"``).
    reread : tuple of str
        Why a refresh read files again that have not changed: the indexed columns that are read differently than when
        they were indexed. These files count as added and as removed.
    rebuilt : bool
        Whether the index was deleted by an overwrite of the dataset, and the refresh has built the same index again.
    choice : IndexChoice or None
        The indexes that xskip has chosen, with the reason for each; None if it has chosen none.
    """

    added: int
    removed: int
    unchanged: int
    seconds: float
    failed: tuple[str, ...] = ()
    reread: tuple[str, ...] = ()
    rebuilt: bool = False
    choice: IndexChoice | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain Python values, such as for JSON."""
        return _plain(self, self.choice)

    def _caption(self) -> str:
        return "Build of the index"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = [
            *([("built again", "after an overwrite of the dataset")] if self.rebuilt else []),
            ("files added", self.added),
            ("removed", self.removed),
            ("unchanged", self.unchanged),
            ("seconds", self.seconds),
            *pairs_of(self.choice),
        ]
        pairs += [("not readable", name) for name in self.failed]
        return pairs + [("read again because", reason) for reason in self.reread]


@dataclass(frozen=True, slots=True, repr=False)
class EnsureResult(KeyValueView):
    """The result of :meth:`xskip.SkippingIndex.ensure`, or of its dry run.

    Attributes
    ----------
    dataset : str
        The dataset's root.
    indexes_added, indexes_replaced, indexes_removed : tuple of str
        The indexes that the dataset did not have, had with other parameters, or should no longer have, such as
        ``minmax(ts)``.
    added, removed, unchanged : int
        The number of files whose metadata the call added, removed or left unchanged. An unchanged file was read if an
        index was added or replaced.
    seconds : float
        The duration of the call.
    created : bool
        Whether the dataset had no index.
    failed, reread : tuple of str
        See :class:`~xskip.results.operations.RefreshResult`.
    dry_run : bool
        Whether the call changed nothing, and the result is what it would do.
    problem : str
        The reason why a dataset of a configuration file stayed as it was; else empty.
    rebuilt : bool
        Whether the index was deleted by an overwrite of the dataset, and the call has built one again, or would.
    former : str
        The path from which the dataset was moved or copied, and whose index the call has adopted, or would; else empty.
    choice : IndexChoice or None
        The indexes that xskip has chosen, with the reason for each; None if it has chosen none.
    """

    dataset: str
    indexes_added: tuple[str, ...]
    indexes_replaced: tuple[str, ...]
    indexes_removed: tuple[str, ...]
    added: int
    removed: int
    unchanged: int
    seconds: float
    created: bool = False
    failed: tuple[str, ...] = ()
    reread: tuple[str, ...] = ()
    dry_run: bool = False
    problem: str = ""
    rebuilt: bool = False
    former: str = ""
    choice: IndexChoice | None = None

    @property
    def changed(self) -> bool:
        """Return whether the call changed the index, or would change it."""
        indexes = self.indexes_added or self.indexes_replaced or self.indexes_removed
        return bool(indexes or self.added or self.removed or self.former)

    @property
    def refreshed(self) -> RefreshResult:
        """Return the changes to the files, as a build returns them."""
        return RefreshResult(
            self.added, self.removed, self.unchanged, self.seconds, self.failed, self.reread, choice=self.choice
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain Python values, such as for JSON."""
        return _plain(self, self.choice)

    def _caption(self) -> str:
        return "Changes of the index" + (" (dry run)" if self.dry_run else "")

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        indexes = {"added": self.indexes_added, "replaced": self.indexes_replaced, "removed": self.indexes_removed}
        if self.problem:
            return [("dataset", self.dataset), ("problem", self.problem)]
        rebuilt = "would build again" if self.dry_run else "built again"
        adopted = "would adopt" if self.dry_run else "adopted"
        return [
            ("dataset", self.dataset),
            *([("dry run", "nothing was changed")] if self.dry_run else []),
            *([(rebuilt, "after an overwrite of the dataset")] if self.rebuilt else []),
            *([(adopted, f"the index of {self.former}")] if self.former else []),
            *((f"indexes {what}", ", ".join(names)) for what, names in indexes.items() if names),
            ("files added", self.added),
            ("files removed", self.removed),
            ("files unchanged", self.unchanged),
            ("seconds", self.seconds),
            *pairs_of(self.choice),
            *(("not readable", name) for name in self.failed),
            *(("read again because", reason) for reason in self.reread),
        ]


def _plain(result: RefreshResult | EnsureResult, choice: IndexChoice | None) -> dict[str, Any]:
    return {**asdict(replace(result, choice=None)), "choice": None if choice is None else choice.to_dict()}


@dataclass(frozen=True, slots=True, repr=False)
class DropResult(KeyValueView):
    """The result of a drop: the directory of the metadata, and the number of metadata files in it.

    ``only_definition`` says that the index was deleted before, with its dataset, and that only the copy of its
    definition was left. ``former`` has the removed directories of former places of the dataset.
    """

    location: str
    metadata_files: int
    only_definition: bool = False
    former: tuple[str, ...] = ()

    def _caption(self) -> str:
        return "Removal of the index"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("dropped", self.location),
            ("metadata files", self.metadata_files),
            *([("definition", "forgotten; there was no index")] if self.only_definition else []),
            *(("former index", path) for path in self.former),
        ]


@dataclass(frozen=True, slots=True, repr=False)
class RemovalResult(KeyValueView):
    """The result of removing indexes: the directory, the removed indexes, and the number of data files."""

    location: str
    removed: tuple[str, ...]
    files: int
    seconds: float

    def _caption(self) -> str:
        return "Removal of indexes"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("location", self.location),
            ("removed", ", ".join(self.removed)),
            ("files", self.files),
            ("seconds", self.seconds),
        ]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A change to a column of the metadata by a migration; a name is empty where the column does not exist."""

    before: str
    after: str
    change: str


@dataclass(frozen=True, slots=True, repr=False)
class MigrationResult(KeyValueView):
    """The result of a migration, or of its dry run.

    Attributes
    ----------
    location : str
        The directory of the metadata.
    before : tuple of int
        The versions of the metadata files before the migration.
    after : int
        The target version.
    files : int
        The number of data files in the index.
    seconds : float
        The duration of the migration.
    dry_run : bool
        Whether the migration only reported the changes.
    columns : tuple of ColumnChange
    problem : str
        The reason why an index stayed unchanged in a migration of several indexes; else empty.
    """

    location: str
    before: tuple[int, ...]
    after: int
    files: int
    seconds: float
    dry_run: bool = False
    columns: tuple[ColumnChange, ...] = ()
    problem: str = ""

    def _caption(self) -> str:
        return "Migration of the metadata" + (" (dry run)" if self.dry_run else "")

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("location", self.location),
            ("version", f"{', '.join(map(str, self.before)) or 'none'} -> {self.after}"),
            ("files", self.files),
            ("seconds", self.seconds),
            *([("dry run", "nothing was changed")] if self.dry_run else []),
            *((c.before or c.after, f"{c.after or 'gone'}: {c.change}") for c in self.columns),
            *([("problem", self.problem)] if self.problem else []),
        ]


@dataclass(frozen=True, slots=True, repr=False)
class RotationResult(KeyValueView):
    """The result of a key rotation: the directory, the number of encrypted metadata files, and the key labels."""

    location: str
    metadata_files: int
    labels: tuple[str, ...]
    seconds: float

    def _caption(self) -> str:
        return "Rotation of the keys"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("location", self.location),
            ("metadata files", self.metadata_files),
            ("labels", ", ".join(self.labels)),
            ("seconds", self.seconds),
        ]


@dataclass(frozen=True, slots=True, repr=False)
class OptimizeResult(KeyValueView):
    """The result of merging metadata files; the numbers before and after are equal if there was nothing to merge.

    Attributes
    ----------
    location : str
        The directory of the metadata.
    metadata_files_before, metadata_files_after : int
        The number of metadata files.
    files : int
        The number of data files in the index.
    bytes_before, bytes_after : int
        The total size of all metadata files in bytes.
    seconds : float
    """

    location: str
    metadata_files_before: int
    metadata_files_after: int
    files: int
    bytes_before: int
    bytes_after: int
    seconds: float

    def _caption(self) -> str:
        return "Merge of the metadata files"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        return [
            ("location", self.location),
            ("metadata files", f"{self.metadata_files_before:,} -> {self.metadata_files_after:,}"),
            ("metadata", f"{human_bytes(self.bytes_before)} -> {human_bytes(self.bytes_after)}"),
            ("files", self.files),
            ("seconds", self.seconds),
        ]


@dataclass(frozen=True, slots=True)
class ListedIndex:
    """An entry of an index list: the dataset, the metadata directory, the number of data files, and the indexes."""

    dataset: str
    location: str
    files: int
    indexes: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class IndexList(ShownTable):
    """The indexes that :func:`xskip.list_indexes` returns, one entry for each dataset."""

    indexes: tuple[ListedIndex, ...]

    def __len__(self) -> int:
        return len(self.indexes)

    def __iter__(self) -> Iterator[ListedIndex]:
        return iter(self.indexes)

    def _caption(self) -> str:
        return "Indexes"

    def _lead(self) -> str:
        return "" if self.indexes else "no index"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "dataset": [i.dataset for i in self.indexes],
            "files": [i.files for i in self.indexes],
            "indexes": [", ".join(i.indexes) for i in self.indexes],
            "location": [i.location for i in self.indexes],
        }
