"""Copies of tables of a running server."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["copy_table"]


def copy_table(folder: Path, to: Path) -> Path:
    """Copy a table without its WAL, which the server removes in the background once it is applied.

    Parameters
    ----------
    folder : Path
        The folder of the table, to which nobody writes.
    to : Path
        A folder that does not exist.

    Returns
    -------
    Path
        The folder of the copy.
    """
    return Path(shutil.copytree(folder, to, ignore=shutil.ignore_patterns("wal[0-9]*")))
