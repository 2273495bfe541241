"""The store of a dataset without Spark: a local disk, or a file system of pyarrow."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xskip.errors import DatasetError, StorageError, error_text
from xskip.metadata.data_files import DataFiles, FileStatus, is_hidden, table_identifier
from xskip.metadatastore.filesystem import FileEntry, LocalStorage, Storage, modified_of
from xskip.metadatastore.temporary import lasting_folder
from xskip.paths import check_path

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

__all__ = ["ArrowStorage", "Store", "list_data"]

_CHECK = "check the storage and the permissions of this user, and try again"


@dataclass(frozen=True, slots=True)
class Store:
    """The store of a dataset."""

    #: The dataset's root, a URI or an absolute local path.
    root: str
    #: The file system; None for a local disk.
    filesystem: FileSystem | None = None
    #: What precedes the names of files on the file system, such as the name of a bucket.
    prefix: str = ""

    @property
    def path(self) -> str:
        """Return the path of the root without scheme and authority."""
        return table_identifier(self.root)

    @property
    def storage(self) -> Storage:
        """Return the access to the metadata."""
        return LocalStorage() if self.filesystem is None else ArrowStorage(self.filesystem, self.prefix)

    @staticmethod
    def of(path: str | os.PathLike[str], filesystem: FileSystem | None) -> Store:
        """Return the store of a dataset; without a file system, pyarrow finds it by the scheme of the path."""
        root = check_path(path)
        if re.match(r"(?!file:)[A-Za-z][\w+.-]*:/(?!/)", root):
            raise StorageError(
                "only Spark knows paths of this form", where=root, hint="name the host or bucket: s3://…"
            )
        scheme, colon, rest = root.partition("://")
        if not colon or scheme == "file":
            local = os.path.abspath(root.removeprefix("file://").removeprefix("file:"))
            return Store(local, filesystem)
        root = f"{'s3a' if scheme in ('s3', 's3n') else scheme}://{rest.rstrip('/')}"
        if filesystem is None:
            from pyarrow.fs import FileSystem

            try:
                filesystem, place = FileSystem.from_uri(
                    f"{'s3' if scheme.startswith('s3') else scheme}://{rest.rstrip('/')}"
                )
            except (OSError, ValueError, ImportError) as error:
                raise StorageError(
                    "pyarrow cannot open the file system", where=root, found=error_text(error).partition("\n")[0][:200],
                    hint="check the scheme of the path and the access to the store, or pass filesystem=",
                ) from error  # fmt: skip
            return Store(root, filesystem, place.removesuffix(table_identifier(root)))
        return Store(root, filesystem, rest.partition("/")[0])


def list_data(store: Store) -> DataFiles:
    """Return the data files below a dataset's root in the order of their names, as Spark lists them.

    Spark ignores hidden names, see :func:`is_hidden`, and empty files.
    """
    files = _below(store.path) if store.filesystem is None else _among(store.filesystem, store)
    return DataFiles.of(sorted((file for file in files if file.size > 0), key=lambda file: file.name))


def _below(directory: str) -> Iterator[FileStatus]:
    try:
        with os.scandir(directory) as entries:
            found = [entry for entry in entries if not is_hidden(entry.name, directory=True)]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DatasetError("the dataset is no directory", where=directory) from error
    except OSError as error:
        raise StorageError("cannot list the dataset", where=directory, found=error_text(error), hint=_CHECK) from error
    for entry in found:
        try:
            is_directory, stat = entry.is_dir(), entry.stat()
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not entry.is_symlink():  # it was deleted after the listing
                continue
            raise DatasetError(
                "a file of the dataset cannot be listed", where=entry.path, found=error_text(error),
                hint="restore the file, or remove the link",
            ) from error  # fmt: skip
        if is_directory:
            yield from _below(entry.path)
        elif not is_hidden(entry.name):
            yield FileStatus(_text_of(entry.path), stat.st_size, modified_of(stat.st_mtime_ns))


def _text_of(path: str) -> str:
    """Return a path as it is, or raise DatasetError if its bytes are no text."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise DatasetError(
            "the name of a file of the dataset is no UTF-8", where=os.path.dirname(path), found=ascii(path),
            hint="rename the file",
        ) from error  # fmt: skip
    return path


def _among(filesystem: FileSystem, store: Store) -> Iterator[FileStatus]:
    from pyarrow.fs import FileSelector

    base = (store.prefix + store.path).rstrip("/")
    try:
        found = filesystem.get_file_info(FileSelector(base, recursive=True))
    except OSError as error:
        raise DatasetError(
            "the dataset cannot be listed", where=store.root, found=_of_arrow(error), hint=_CHECK
        ) from error
    for info in found:
        below = info.path.removeprefix(base).strip("/")
        *directories, name = below.split("/")
        if info.is_file and not is_hidden(name) and not any(is_hidden(each, directory=True) for each in directories):
            yield FileStatus(f"{store.path.rstrip('/')}/{below}", info.size or 0, _modified(info))


def _of_arrow(error: Exception) -> str:
    """Return the cause in an error of pyarrow, whose first part repeats the path."""
    cause = " ".join(error_text(error).rpartition("Detail: ")[2].split())
    return re.sub(r"^\[errno \d+\] ", "", cause)[:300]


def _modified(info: FileInfo) -> int:
    return modified_of(info.mtime_ns) if info.mtime_ns is not None else 0


@dataclass(frozen=True, slots=True)
class ArrowStorage:
    """A storage on a file system of pyarrow, for reading; the prefix is that of :class:`Store`."""

    filesystem: FileSystem
    prefix: str

    def list(self, directory: str) -> Sequence[FileEntry]:
        """List the files of a directory."""
        return [FileEntry(i.base_name, i.size or 0, _modified(i)) for i in self._infos(directory) if i.is_file]

    def directories(self, directory: str) -> Sequence[str]:
        """List the subdirectories of a directory."""
        return [f"{directory.rstrip('/')}/{info.base_name}" for info in self._infos(directory) if not info.is_file]

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        try:
            with self.filesystem.open_input_stream(self._place(path)) as file:
                return bytes(file.read())
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageError("cannot read the file", where=path, found=_of_arrow(error), hint=_CHECK) from error

    def fetch(self, path: str) -> Path:
        """Return a local copy of a file."""
        local = lasting_folder("fetched") / path.rpartition("/")[2]
        local.write_bytes(self.read(path))
        return local

    def add(self, local: Path, path: str) -> None:
        """Raise an error, because this storage is for reading."""
        raise self._is_for_reading(path)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Raise an error, because this storage is for reading."""
        raise self._is_for_reading(path)

    def remove(self, paths: Iterable[str]) -> None:
        """Raise an error, because this storage is for reading."""
        raise self._is_for_reading(", ".join(paths))

    def remove_tree(self, directory: str) -> None:
        """Raise an error, because this storage is for reading."""
        raise self._is_for_reading(directory)

    def _place(self, path: str) -> str:
        return self.prefix + table_identifier(path)

    def _infos(self, directory: str) -> Sequence[FileInfo]:
        from pyarrow.fs import FileSelector

        try:
            selector = FileSelector(self._place(directory), allow_not_found=True)
            return list(self.filesystem.get_file_info(selector))
        except OSError as error:
            raise StorageError(
                "cannot list the directory", where=directory, found=_of_arrow(error), hint=_CHECK
            ) from error

    def _is_for_reading(self, path: str) -> StorageError:
        return StorageError("xskip changes an index only in Spark", where=path)
