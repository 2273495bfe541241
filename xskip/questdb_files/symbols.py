"""The values of SYMBOL columns: the files ``.o`` and ``.c`` in the folder of the table. Rules: [QDB-TY]."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import TableDamagedError
from xskip.questdb_files.files import TableFile
from xskip.questdb_files.text_values import split_lengths, utf16_text

__all__ = ["one_dictionary", "read_symbols"]

_HEADER_BYTES = 64


def read_symbols(offsets_path: Path, values_path: Path, count: int) -> pa.Array:
    """Return the first ``count`` values of a SYMBOL column, those that the transaction has committed, by key."""
    if count == 0:
        return pa.array([], pa.utf8())
    with TableFile(offsets_path, frozen=False) as offsets_file, TableFile(values_path, frozen=False) as values_file:
        offsets = np.frombuffer(offsets_file.read(_HEADER_BYTES, 8 * (count + 1)), np.int64)
        if offsets[0] != 0 or (np.diff(offsets) < 4).any() or (offsets % 2).any():
            raise _contradiction(offsets_path)
        stored = np.frombuffer(values_file.read(0, int(offsets[-1])), np.uint16)
        # A truncation of the table cuts .o first and .c next, and only then commits. So if the last offset is the same
        # after the values were read, the values were whole.
        (last,) = struct.unpack("<q", offsets_file.read(_HEADER_BYTES + 8 * count, 8))
    lengths = (np.diff(offsets) - 4) // 2
    stated, units = split_lengths(stored, offsets[:-1] // 2)
    if last != offsets[-1] or (stated != lengths).any():
        raise _contradiction(values_path)
    return utf16_text(units, lengths, np.ones(count, np.bool_))


def one_dictionary(arrays: Sequence[pa.Array]) -> list[pa.Array]:
    """Return SYMBOL values with the same dictionary in all arrays."""
    # native pieces have the symbols of the table, of which later reads have more; Parquet pieces have only their own
    whole = max((array.dictionary for array in arrays), key=len, default=pa.array([], pa.utf8()))
    others = [array.dictionary for array in arrays if not _begins_with(whole, array.dictionary)]
    if others:
        values = pa.chunked_array([whole, *others]).combine_chunks()
        missing = pc.filter(values, pc.invert(pc.is_in(values, value_set=whole)))
        whole = pa.concat_arrays([whole, missing.unique()])
    return [_with_dictionary(array, whole) for array in arrays]


def _with_dictionary(array: pa.Array, whole: pa.Array) -> pa.Array:
    indices = array.indices
    if len(array.dictionary) and not _begins_with(whole, array.dictionary):
        indices = pc.index_in(array.dictionary, value_set=whole).take(indices).cast(pa.int32())
    return pa.DictionaryArray.from_arrays(indices, whole, safe=False)


def _begins_with(whole: pa.Array, part: pa.Array) -> bool:
    """Return whether an array begins with another one."""
    if len(part) == 0:
        return True
    # arrays that share their bytes need no comparison of values
    if len(whole) == len(part) and whole.buffers()[1].address == part.buffers()[1].address:
        return bool(whole.offset == part.offset)
    return bool(whole.slice(0, len(part)).equals(part))


def _contradiction(path: Path) -> TableDamagedError:
    return TableDamagedError("the files with the values of a SYMBOL column contradict each other", where=str(path))
