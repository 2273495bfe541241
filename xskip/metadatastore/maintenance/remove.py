"""The removal of some indexes from the metadata in one commit, without reading the data files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from xskip.errors import IndexDefinitionError, did_you_mean
from xskip.metadata.table import IndexKey, MetadataTable
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.maintenance.rewrite import Target, rewrite
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import RemovalResult

__all__ = ["remove_indexes"]


def remove_indexes(storage: Storage, directory: str, names: Sequence[str]) -> RemovalResult:
    """Rewrite the metadata files without some indexes.

    Parameters
    ----------
    storage : Storage
    directory : str
        The metadata directory.
    names : sequence of str
        The indexes, such as ``minmax(ts)``, without regard to case.

    Returns
    -------
    RemovalResult

    Raises
    ------
    IndexDefinitionError
        If there is no such index, or if no index would remain. Nothing has changed.
    MetadataNotFoundError
        If there is no index.
    MetadataCorruptError
        If the index cannot be read, or if another program has added files to the index.
    KeyNotAvailableError
        If the index is encrypted and a key is not available.
    CommitConflictError
        If another writer committed first. Nothing has changed.
    """
    target = Target.open(storage, directory, "remove")
    snapshot = target.snapshot
    removed = _keys_of(snapshot, names)
    form = snapshot.form

    def without(table: MetadataTable, _: int) -> MetadataTable:
        return replace(table, indexes={key: column for key, column in table.indexes.items() if key not in removed})

    rewrite(target, replace(form, own=form.own - removed), without)
    texts = tuple(_text(key) for key in sorted(removed))
    return RemovalResult(directory, texts, snapshot.rows, target.seconds)


def _keys_of(snapshot: Snapshot, names: Iterable[str]) -> frozenset[IndexKey]:
    present = {_text(definition.key): definition.key for definition, _ in snapshot.indexes}
    folded = {text.casefold(): key for text, key in present.items()}
    expected = f"one of {', '.join(present)}"
    found = set()
    for name in names:
        key = folded.get(name.casefold())
        if key is None:
            raise IndexDefinitionError(
                "the dataset has no such index", found=name, expected=expected, hint=did_you_mean(name, present)
            )
        found.add(key)
    if not found:
        raise IndexDefinitionError("the list of indexes to remove is empty", expected=expected)
    if len(found) == len(present):
        raise IndexDefinitionError(
            "no index would remain", found=", ".join(map(_text, sorted(found))), hint="call drop() to remove the index"
        )
    return frozenset(found)


def _text(key: IndexKey) -> str:
    name, columns = key
    return f"{name}({', '.join(columns)})"
