"""The copies of definitions that operations keep beside datasets, and that a refresh after an overwrite reads."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from xskip.errors import StorageError, XskipError
from xskip.indexing.source import Source
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.commit_records import CommitRecord, find_latest
from xskip.metadatastore.definition_copy import DefinitionCopy, find_copy, has_dataset, keep_copy, remove_copies
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.snapshot import open_snapshot
from xskip.settings import DEFINITIONS
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.spark_engine import SparkEngine

__all__ = [
    "discard_definition",
    "discard_former_definition",
    "keep_definition",
    "keep_present_definition",
]

_log = logging.getLogger("xskip")
#: How often a writer looks whether other writers have changed the index meanwhile.
_ATTEMPTS = 5


def keep_definition(
    engine: SparkEngine, source: Source, definitions: Iterable[IndexDefinition], record: CommitRecord, *, secret: bool
) -> None:
    """Keep a copy of the definition that a commit has made, unless it is secret; log an error of the copy [MDS-DC-5].

    ``record`` is that of the commit.
    """
    copy = None if secret or record.read_profile is None else _copy_of(source, definitions, record)
    with _logged(source):
        if _keep(engine, source, copy) and not _is_latest(source, record):
            _keep_present(engine, source)


def keep_present_definition(engine: SparkEngine, source: Source) -> None:
    """Keep a copy of the definition of the present index, after an operation that reads no data; log an error."""
    with _logged(source):
        _keep_present(engine, source)


def _keep_present(engine: SparkEngine, source: Source) -> None:
    for _ in range(_ATTEMPTS):
        snapshot = open_snapshot(source.storage, source.directory)
        record = snapshot.record if snapshot is not None and snapshot.is_ours else None
        if snapshot is None or record is None:
            remove_copies(source.storage, source.location)
            return
        labels = [file.schema.encryption for file in snapshot.metadata_files]
        is_secret = any(each is not None and not each.plaintext_footer for each in labels)
        copy = None if is_secret else _copy_of(source, (definition for definition, _ in snapshot.indexes), record)
        if not _keep(engine, source, copy) or _is_latest(source, record):
            return


def _keep(engine: SparkEngine, source: Source, copy: DefinitionCopy | None) -> bool:
    """Write a copy, or remove the copies of an index that has none, and return whether a copy was written."""
    if source.is_of_system:
        return False
    if copy is not None and engine.settings.of(source.df.sparkSession, DEFINITIONS):
        return keep_copy(source.storage, source.location, copy)
    remove_copies(source.storage, source.location)
    return False


def _is_latest(source: Source, record: CommitRecord) -> bool:
    """Return whether a commit is still the latest; a slower writer must not replace a later copy, or outlive a drop."""
    latest = find_latest(source.storage, source.directory)
    return latest is not None and (latest.index, latest.record.number) == (record.index, record.number)


def discard_definition(source: Source) -> bool:
    """Remove the copies of a dataset whose index is dropped, and return whether there were any; log an error."""
    was_known = find_copy(source.storage, source.location) is not None
    with _logged(source):
        remove_copies(source.storage, source.location)
    return was_known


def discard_former_definition(engine: SparkEngine, former: str) -> None:
    """Remove the copies of a root from which a dataset was moved, unless the root exists; log an error."""
    try:
        storage, location = storage_for(engine.hook, former), IndexLocation.inside(former)
        if find_copy(storage, location) is not None and not has_dataset(storage, former):
            remove_copies(storage, location)
    except (XskipError, OSError) as error:
        _log.warning("xskip cannot remove the definition of the former index of %s: %s", former, error)


def _copy_of(source: Source, definitions: Iterable[IndexDefinition], record: CommitRecord) -> DefinitionCopy:
    assert record.read_profile is not None
    plain = tuple(replace(definition, types=()) for definition in definitions)
    return DefinitionCopy(source.root, record.read_profile, record.version, plain, part_bytes=record.part_bytes)


@contextmanager
def _logged(source: Source) -> Iterator[None]:
    """Run the body, and log an error: the operation on the index has succeeded."""
    try:
        yield
    except (XskipError, OSError) as error:
        level = logging.WARNING if isinstance(error, StorageError) else logging.DEBUG
        _log.log(
            level, "xskip cannot keep the definition of the index beside %s, where it would outlive an overwrite; "
            "%s=false makes it not try: %s", source.root, DEFINITIONS.key, error,
        )  # fmt: skip
