"""The metadata files of a snapshot that a commit keeps, and the rows that it writes anew."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.metadata.table import MetadataTable
from xskip.metadatastore.commit import RecordedFile
from xskip.metadatastore.portable_forms import is_portable
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.versions import WriteOptions

__all__ = ["remaining_files"]

# More than _MAX_SMALL metadata files with fewer rows than _SMALL_ROWS are written anew as one.
_SMALL_ROWS = 10_000
_MAX_SMALL = 16


def remaining_files(
    snapshot: Snapshot, alive: npt.NDArray[np.bool_], write_options: WriteOptions
) -> tuple[list[RecordedFile], MetadataTable | None]:
    """Return the metadata files that stay unchanged, and the remaining rows of the others; None without such rows.

    ``alive`` says for each data file whether its row stays.
    """
    assert snapshot.record is not None
    rows, size = min(_SMALL_ROWS, write_options.rows_per_file // 2), write_options.bytes_per_file // 4
    small = [entry for entry in snapshot.record.metadata_files if entry.rows < rows and entry.size < size]
    crowded = {entry.name for entry in small} if len(small) > _MAX_SMALL else set()
    kept, replaced, left = [], [], []
    start = 0
    for entry, file in zip(snapshot.record.metadata_files, snapshot.metadata_files, strict=True):
        stays = alive[start : start + file.rows]
        start += file.rows
        # A metadata file is replaced if it has rows of deleted data files, if it is one of many small files, or if
        # other programs could misread it.
        portable = is_portable(file.schema, file.footer.metadata, write_options)
        if stays.all() and len(stays) and entry.name not in crowded and portable:
            kept.append(entry)
        else:
            replaced.append(file)
            left.append(stays)
    remaining = np.flatnonzero(np.concatenate(left)) if left else np.zeros(0, np.int64)
    if not len(remaining):
        return kept, None
    # a snapshot of the replaced files alone, so that no other file is read
    return kept, Snapshot(snapshot.live, tuple(replaced)).load().take(pa.array(remaining))
