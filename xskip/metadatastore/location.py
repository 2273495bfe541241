"""The location of a dataset's metadata. Rules: [MDS-L]."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from xskip.metadata.data_files import table_identifier

__all__ = ["INDEX_DIRECTORY", "IndexLocation", "as_uri", "is_directory_name", "metadata_directory"]

#: The folder of metadata in a dataset's root. Spark and other engines ignore names that begin with an underscore.
INDEX_DIRECTORY = "_xskip"
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class IndexLocation:
    """The location of a dataset's metadata, whether or not an index exists there."""

    #: The dataset's root, in the form in which the hook writes paths. The metadata names files by this root.
    root: str
    #: The metadata directory, in the same form.
    directory: str
    #: The table identifier in the metadata files: the path of the root, or ``db.table``.
    identifier: str
    #: The root by which Spark lists the files, if there are symbolic links in it, or an empty text.
    listed: str = ""

    @classmethod
    def inside(cls, root: str) -> IndexLocation:
        """Return the location inside a dataset, which has no base location.

        >>> location = IndexLocation.inside("file:/lake/t")
        >>> location.directory.startswith("file:/lake/t/_xskip/"), location.identifier
        (True, '/lake/t')
        """
        return cls(root, metadata_directory(root, None), table_identifier(root))

    @property
    def listed_root(self) -> str:
        """Return the root by which Spark lists the files."""
        return self.listed or self.root

    @property
    def is_among_data(self) -> bool:
        """Return whether readers of the dataset would list the metadata.

        >>> IndexLocation("/lake/t", "/lake/t/_md", "").is_among_data
        False
        >>> IndexLocation("/lake/t", "/lake/t/md", "").is_among_data
        True
        """
        root, directory = self.root.rstrip("/") + "/", self.directory.rstrip("/") + "/"
        below = directory.removeprefix(root).split("/") if directory.startswith(root) else None
        # Readers list the metadata if the directory is the root or is above the root. They also list a directory below
        # the root, unless a folder name on the path begins with an underscore or a dot.
        return root.startswith(directory) or (below is not None and not any(p.startswith(("_", ".")) for p in below))

    def is_named(self, identifier: str) -> bool:
        """Return whether metadata with an identifier can belong to the dataset.

        The identifier must be the dataset's path, or the name of its table with or without the database.

        >>> table = IndexLocation("/lake/t", "/md/t", "db.t")
        >>> path = IndexLocation("/lake/t", "/md/t", "/lake/t")
        >>> table.is_named("t"), path.is_named("/lake/u")
        (True, False)
        """
        is_table = not self.identifier.startswith("/")
        table = self.identifier.rpartition(".")[2] if is_table else self.identifier
        return identifier in (self.identifier, table_identifier(self.root), table)


def as_uri(path: str) -> str:
    """Return a path in the form in which the hook writes paths: a path without a scheme gets ``file:``."""
    return f"file:{path}" if path.startswith("/") else path


def metadata_directory(root: str, base: str | None) -> str:
    """Return the metadata directory of a dataset, or of a table with its database, named by a digest.

    It is below the base location of all indexes, or below the folder ``_xskip`` in the root if the base is None.
    """
    home = f"{root.rstrip('/')}/{INDEX_DIRECTORY}" if base is None else base.rstrip("/")
    return f"{home}/{hashlib.sha256(table_identifier(root).encode()).hexdigest()}"


def is_directory_name(name: str) -> bool:
    """Return whether :func:`metadata_directory` gives directories names of this form."""
    return _DIGEST.fullmatch(name) is not None
