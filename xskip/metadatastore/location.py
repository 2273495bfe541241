"""Where the metadata of a dataset is. Rules: specs/metadatastore.rst, [MDS-L]."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from xskip.metadata.objects import table_identifier

__all__ = ["INDEX_DIRECTORY", "IndexLocation", "as_uri", "metadata_directory"]

#: Inside a dataset's root; Spark and other engines pass over names that begin with an underscore.
INDEX_DIRECTORY = "_xskip"


@dataclass(frozen=True, slots=True)
class IndexLocation:
    """Where the metadata of a dataset is, or may be.

    Attributes
    ----------
    root : str
        The dataset's root, as the hook names paths.
    directory : str
        Of the metadata, named alike.
    identifier : str
        The table identifier in the metadata's files: the root's path, or ``db.table``.
    """

    root: str
    directory: str
    identifier: str

    @property
    def is_among_data(self) -> bool:
        """Would readers of the dataset find the metadata: in its root, above it, or below it under a plain name.

        >>> Place("/lake/t", "/lake/t/_md", "").is_among_data, Place("/lake/t", "/lake/t/md", "").is_among_data
        (False, True)
        """
        root, directory = self.root.rstrip("/") + "/", self.directory.rstrip("/") + "/"
        below = directory.removeprefix(root).split("/") if directory.startswith(root) else None
        return root.startswith(directory) or (below is not None and not any(p.startswith(("_", ".")) for p in below))

    def is_named(self, identifier: str) -> bool:
        """Can metadata with this identifier be of the dataset: its path, or its table's name with or without database.

        >>> Place("/lake/t", "/md/t", "db.t").is_named("t"), Place("/lake/t", "/md/t", "/lake/t").is_named("/lake/u")
        (True, False)
        """
        path = table_identifier(self.root)
        return identifier in (self.identifier, path, self.identifier.rpartition(".")[2])


def as_uri(path: str) -> str:
    """A path as the hook names it, with the scheme that such names lack: ``file:`` for those without one.

    >>> as_uri("/md/a"), as_uri("s3a://b/md")
    ('file:/md/a', 's3a://b/md')
    """
    return f"file:{path}" if path.startswith("/") else path


def metadata_directory(root: str, base: str | None) -> str:
    """The directory of a dataset's metadata.

    Parameters
    ----------
    root : str
        The dataset's root, a URI or path, or a table's name with its database.
    base : str or None
        The location under which all indexes live; None stands for ``_xskip`` in the dataset itself.

    Examples
    --------
    >>> metadata_directory("s3a://b/lake/", None)[:27]
    's3a://b/lake/_xskip/2114dde'
    """
    home = f"{root.rstrip('/')}/{INDEX_DIRECTORY}" if base is None else base.rstrip("/")
    return f"{home}/{hashlib.sha256(table_identifier(root).encode()).hexdigest()}"
