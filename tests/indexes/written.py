"""Functions that return the metadata of an index by the names of the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xskip
from tests.helpers import metadata


def written(index: xskip.SkippingIndex, name: str, *columns: str) -> dict[str, Any]:
    """Return the metadata of an index by the names of the files, without extension."""
    table = metadata(index)
    values = table.indexes[name, columns].values.to_pylist()
    return dict(zip((Path(n).stem for n in table.files.names.to_pylist()), values, strict=True))


def lists_of(index: xskip.SkippingIndex, name: str, *columns: str) -> dict[str, set[Any] | None]:
    """Return the lists of an index as sets by the names of the files; None stands for a null list."""
    found = written(index, name, *columns)
    return {file: None if values is None else set(values) for file, values in found.items()}
