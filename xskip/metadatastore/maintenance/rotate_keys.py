"""Key rotation: every metadata file of an index is encrypted with new data keys, in one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xskip.errors import KeyNotAvailableError
from xskip.hints import Phrase, Words
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.filesystem import Storage
from xskip.metadatastore.maintenance.rewrite import Target, rewrite
from xskip.results.operations import RotationResult

__all__ = ["rotate_keys"]


def rotate_keys(storage: Storage, directory: str, labels: Mapping[str, str]) -> RotationResult:
    """Encrypt an index with new data keys, and optionally under new labels.

    ``labels`` has the new label for each label to replace. Other labels stay, and their master keys wrap the new data
    keys. KeyNotAvailableError means that the index is not encrypted or lacks one of the labels, or that a key is not
    available. Nothing has changed then.
    """
    target = Target.open(storage, directory, "rotate_keys")
    snapshot = target.snapshot
    write_options = snapshot.write_options
    if write_options.footer_key is None:
        label = Phrase("a key_label", "--index \"TYPE(COLUMN, key_label='LABEL')\"")
        hint = Words("create the index with {}", label)
        raise KeyNotAvailableError("the index is not encrypted", where=directory, hint=hint)
    present = {write_options.footer_key, *(d.key_label for d, _ in snapshot.indexes if d.key_label)}
    unknown = sorted(labels.keys() - present)
    if unknown:
        raise KeyNotAvailableError(
            "the index has no key with this label", found=", ".join(unknown), expected=", ".join(sorted(present))
        )

    def relabelled(table: MetadataTable, _: int) -> MetadataTable:
        columns = {
            key: replace(column, definition=replace(d, key_label=d.key_label and labels.get(d.key_label, d.key_label)))
            for key, column in table.indexes.items()
            for d in (column.definition,)
        }
        return replace(table, indexes=columns)

    footer = labels.get(write_options.footer_key, write_options.footer_key)
    # Arrow creates new data keys for each file that it writes.
    rewrite(target, replace(write_options, footer_key=footer), relabelled)
    now = tuple(sorted({labels.get(label, label) for label in present}))
    return RotationResult(directory, len(snapshot.metadata_files), now, target.seconds)
