"""Where the metadata of a dataset is. Rules: specs/metadatastore.rst, [MDS-L]."""

from __future__ import annotations

import hashlib

from xskip.objects import table_identifier

__all__ = ["INDEX_DIRECTORY", "metadata_directory"]

#: Inside a dataset's root; Spark and other engines pass over names that begin with an underscore.
INDEX_DIRECTORY = "_xskip"


def metadata_directory(root: str, base: str | None) -> str:
    """The directory of a dataset's metadata.

    Parameters
    ----------
    root : str
        The dataset's root, a URI or path.
    base : str or None
        The location under which all indexes live; None stands for ``_xskip`` in the dataset itself.

    Examples
    --------
    >>> metadata_directory("s3a://b/lake/", None)[:27]
    's3a://b/lake/_xskip/2114dde'
    """
    home = f"{root.rstrip('/')}/{INDEX_DIRECTORY}" if base is None else base.rstrip("/")
    return f"{home}/{hashlib.sha256(table_identifier(root).encode()).hexdigest()}"
