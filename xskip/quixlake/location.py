"""The location of a lake: its base, and the access to its files by Spark or by pyarrow."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType

from xskip.errors import error_text
from xskip.metadata.data_files import DataFiles, table_identifier
from xskip.metadatastore.filesystem import Storage, local_path
from xskip.metadatastore.location import as_uri
from xskip.quixlake.listing import FilesBelow, cannot_list, local_files_below, visible_files
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import first_line, spark_errors
from xskip.spark.collect.relation import Listing
from xskip.standalone.store import Store

__all__ = ["LakeLocation", "arrow_location", "files_below", "list_below", "spark_location"]


@dataclass(frozen=True, slots=True)
class LakeLocation:
    """The base of a lake, and the access to its files."""

    #: The base as a URI without a slash at the end.
    uri: str
    storage: Storage
    #: Returns all files below the URI of a directory, see :func:`~xskip.quixlake.listing.local_files_below`.
    files_below: Callable[[str], FilesBelow]


def list_below(location: LakeLocation, uri: str) -> DataFiles:
    """Return the files below the URI of a directory in a lake."""
    return location.files_below(uri).files


def spark_location(hook: Hook, base: str) -> LakeLocation:
    """Return the location of a lake on any file system that Spark can reach."""
    uri = as_uri(hook.locations.resolved(hook.locations.qualified(base))).rstrip("/")
    return LakeLocation(uri, storage_for(hook, uri), partial(files_below, hook))


def files_below(hook: Hook, uri: str) -> FilesBelow:
    """Return all files below a directory: of a local disk directly, of other file systems through Hadoop's."""
    if uri.startswith(("/", "file:")):
        return local_files_below(str(local_path(uri)))
    failures: tuple[type[Exception], ...] = (OSError, *spark_errors())
    try:
        return FilesBelow(Listing(hook.builds.files().below(uri)).files())
    except failures as error:
        raise cannot_list(uri, first_line(error)) from error


def arrow_location(base: str | os.PathLike[str], filesystem: FileSystem | None) -> LakeLocation:
    """Return the location of a lake on a local disk or on a file system of pyarrow; None finds it by the path."""
    store = Store.of(base, filesystem)
    if store.filesystem is None:
        uri = as_uri(os.path.realpath(store.root)).rstrip("/")
        return LakeLocation(uri, store.storage, lambda below: local_files_below(str(local_path(below))))
    return LakeLocation(as_uri(store.root).rstrip("/"), store.storage, partial(_arrow_files_below, store))


def _arrow_files_below(store: Store, uri: str) -> FilesBelow:
    assert store.filesystem is not None
    place = store.prefix + table_identifier(uri)
    try:
        found = store.filesystem.get_file_info(FileSelector(place, allow_not_found=True, recursive=True))
    except OSError as error:
        raise cannot_list(uri, error_text(error)) from error
    paths = pa.array([each.path.removeprefix(store.prefix) for each in found], pa.string())
    sizes = [each.size if each.type is FileType.File else None for each in found]
    return FilesBelow(visible_files(paths, sizes, [each.mtime_ns or 0 for each in found]))
