"""The copies of definitions that builds keep beside datasets, and that builds after an overwrite read."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from xskip.errors import StorageError
from xskip.indexing.source import Source
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.definition_copy import keep_copy, remove_copies
from xskip.metadatastore.snapshot import open_snapshot
from xskip.metadatastore.versions import WriteOptions
from xskip.settings import DEFINITIONS
from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["keep_definition", "keep_present_definition"]

_log = logging.getLogger("xskip")


def keep_definition(
    engine: SparkEngine, source: Source, definitions: Iterable[IndexDefinition], write_options: WriteOptions
) -> None:
    """Keep a copy of the definition of an index beside its dataset, unless its names are secret; warn if that fails."""
    if source.is_of_system:
        return
    is_secret = write_options.footer_key is not None and not write_options.plaintext_footer
    try:
        if is_secret:
            remove_copies(source.storage, source.location)
        elif engine.settings.of(source.df.sparkSession, DEFINITIONS):
            fmt = source.read_profile.format
            keep_copy(source.storage, source.location, fmt, write_options.version, tuple(definitions))
    except (StorageError, OSError) as error:
        _log.warning(
            "xskip cannot keep the definition of the index beside %s, where it would outlive an overwrite; "
            "%s=false makes it not try: %s", source.root, DEFINITIONS.key, error,
        )  # fmt: skip


def keep_present_definition(engine: SparkEngine, source: Source) -> None:
    """Keep a copy of the definition of the present index, after an operation that reads no data."""
    snapshot = open_snapshot(source.storage, source.directory)
    if snapshot is not None:
        keep_definition(engine, source, (definition for definition, _ in snapshot.indexes), snapshot.write_options)
