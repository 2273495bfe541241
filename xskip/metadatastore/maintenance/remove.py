"""The removal of some indexes from the metadata in one commit, without reading the data files."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from xskip.errors import IndexDefinitionError
from xskip.hints import Call, Words
from xskip.metadata.table import IndexKey, MetadataTable, index_text
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.maintenance.rewrite import Target, rewrite
from xskip.metadatastore.snapshot import Snapshot
from xskip.results.operations import RemovalResult

__all__ = ["remove_indexes"]


def remove_indexes(storage: Storage, directory: str, names: Sequence[str]) -> RemovalResult:
    """Rewrite the metadata files without some indexes, such as ``minmax(ts)``, whose case does not matter.

    IndexDefinitionError means that there is no such index, or that no index would remain. Nothing has changed then.
    """
    target = Target.open(storage, directory, "remove")
    snapshot = target.snapshot
    removed = _keys_of(snapshot, names)
    write_options = snapshot.write_options

    def without(table: MetadataTable, _: int) -> MetadataTable:
        return replace(table, indexes={key: column for key, column in table.indexes.items() if key not in removed})

    rewrite(target, replace(write_options, own=write_options.own - removed), without)
    texts = tuple(index_text(key) for key in sorted(removed))
    return RemovalResult(directory, texts, snapshot.rows, target.seconds)


def _keys_of(snapshot: Snapshot, names: Iterable[str]) -> frozenset[IndexKey]:
    present = {index_text(definition.key): definition.key for definition, _ in snapshot.indexes}
    folded = {text.casefold(): key for text, key in present.items()}
    expected = f"one of {', '.join(present)}"
    found = set()
    for name in names:
        key = folded.get(name.casefold())
        if key is None:
            raise IndexDefinitionError(
                "the dataset has no such index", found=name, expected=expected, hint=_meant(name, present)
            )
        found.add(key)
    if not found:
        raise IndexDefinitionError("the list of indexes to remove is empty", expected=expected)
    if len(found) == len(present):
        raise IndexDefinitionError(
            "no index would remain",
            found=", ".join(map(index_text, sorted(found))),
            hint=Words("{} to remove the index", Call("drop")),
        )
    return frozenset(found)


def _meant(name: str, present: Iterable[str]) -> str | None:
    """Return a hint at the index on the same column, or of the same type on a column with a similar name."""
    kind, column = _parts(name)  # without a type, the name is that of a column
    columns = {_parts(each)[1]: each for each in present if kind in ("", _parts(each)[0]) or column == _parts(each)[1]}
    similar = difflib.get_close_matches(column, columns, 1)
    return f"did you mean {columns[similar[0]]}?" if similar else None


def _parts(name: str) -> tuple[str, str]:
    """Return the type and the columns in the name of an index; a name without a type is that of a column.

    >>> _parts("MinMax(ts)"), _parts("ts")
    (('minmax', 'ts'), ('', 'ts'))
    """
    kind, _, columns = name.casefold().rpartition("(")
    return kind, columns.rstrip(")")
