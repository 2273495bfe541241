"""Bitmap indexes of SYMBOL columns: the rows of a piece that have a symbol. Rules: [QDB-IX]."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xskip.errors import TableDamagedError
from xskip.questdb_files.files import TableFile

__all__ = ["BitmapIndex"]

_SIGNATURE = 0xFA
# the file .k has an entry for null and then one for each key: the number of its rows and its last block in .v
_HEADER_BYTES, _ENTRY_BYTES = 64, 32
_BLOCK_VALUES_AT = 17


class BitmapIndex:
    """The bitmap index of a SYMBOL column in a native piece: the files ``.k`` and ``.v``."""

    def __init__(self, keys: Path, values: Path, top: int, rows: int) -> None:
        self._keys, self._values = keys, values
        self._top, self._rows = top, rows

    def rows_of(self, key: int | None) -> npt.NDArray[np.int64]:
        """Return the ascending positions in the piece of the rows that have a key; the key None is that of null."""
        with TableFile(self._keys, frozen=False) as keys, TableFile(self._values, frozen=False) as values:
            rows = self._listed(keys, values, 0 if key is None else key + 1)
        if key is None:
            # rows before the column top are null, and not in the index
            rows = np.concatenate([np.arange(min(self._top, self._rows)), rows])
        # later rows in the index are not committed
        rows = rows[rows < self._rows]
        if (np.diff(rows, prepend=-1) <= 0).any():
            raise self._contradiction("rows that do not ascend from 0")
        return rows

    def _listed(self, keys: TableFile, values: TableFile, entry: int) -> npt.NDArray[np.int64]:
        header = bytes(keys.read(0, _HEADER_BYTES))
        block_values, count = struct.unpack_from("<2i", header, _BLOCK_VALUES_AT)
        if header[0] != _SIGNATURE or block_values <= 0 or block_values & block_values - 1:
            raise self._contradiction(f"blocks of {block_values} rows")
        if count < 0:
            raise self._contradiction(f"{count} keys")
        if entry >= count:
            return np.empty(0, np.int64)
        place = _HEADER_BYTES + _ENTRY_BYTES * entry
        total, _, block, check, _ = struct.unpack("<qqqii", keys.read(place, _ENTRY_BYTES))
        if total < 0 or total & 0xFFFFFFFF != check & 0xFFFFFFFF:
            raise self._contradiction(f"{total} and {check} rows of a key")
        blocks = []
        while total > 0:
            # The blocks of a key are a chain from the last one, which alone can be partly full, to the first. The place
            # of the block before stands behind the values of a block.
            used = (total - 1) % block_values + 1
            blocks.append(np.frombuffer(values.read(block, 8 * used), np.int64))
            (before,) = struct.unpack("<q", values.read(block + 8 * block_values, 8))
            total -= used
            # A server adds blocks at the end of the file.
            if total > 0 and not 0 <= before <= block - 8 * (block_values + 2):
                raise self._contradiction(f"a block at {before} before the block at {block}")
            block = before
        return np.concatenate([*reversed(blocks), np.empty(0, np.int64)])

    def _contradiction(self, found: str) -> TableDamagedError:
        return TableDamagedError("a bitmap index contradicts itself", where=str(self._keys), found=found)
