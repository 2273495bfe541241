"""The segments of a topic: what listings, names and descriptors say of them. Rules: [QLK-SE] [QLK-TR]."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.data_files import DataFiles
from xskip.quixlake.names import are_ambiguous, parse_paths, split_names

__all__ = ["SEGMENT", "described_segments", "kept", "listed_segments"]

SplitPaths: TypeAlias = tuple[pa.DictionaryArray, pa.Array]
_BOUNDS = (("first", "last"), ("start", "end"))
#: The columns of segments. ``path`` is relative to the base; ``modified`` changes with the file, and with the partition
#: that only a descriptor gives; ``first`` and ``last`` are offsets; ``start`` and ``end`` are timestamps in
#: milliseconds; ``is_exact`` says whether the timestamps were computed from all messages; and
#: ``descriptors`` is the number of descriptors.
SEGMENT = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modified", pa.int64()),
        ("topic", pa.string()),
        ("stream_key", pa.string()),
        ("date", pa.date32()),
        ("partition", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("is_exact", pa.bool_()),
        ("rows", pa.int64()),
        ("is_deleted", pa.bool_()),
        ("descriptors", pa.int64()),
    ]
)


def listed_segments(files: DataFiles, descriptors: pa.Table) -> pa.Table:
    """Return the segments among listed files, deleted ones included, with the claims of descriptors and names.

    The names of ``files`` are relative to the base, and ``descriptors`` those of
    :func:`~xskip.quixlake.descriptors.decisive`.
    """
    folders, names = split_names(files.names)
    # Hidden files, files without ``.avro`` and files of 0 bytes are no segments [QLK-PA-6].
    is_segment = pc.and_(pc.match_substring(names, ".avro"), pc.invert(pc.match_substring_regex(names, r"^[._]")))
    of_key = pc.match_substring_regex(folders.dictionary, "^Raw/Topic=[^/]*/Key=").take(folders.indices)
    is_segment = pc.and_(is_segment, of_key.fill_null(False))
    is_segment = pc.and_(is_segment, pc.not_equal(files.sizes.fill_null(-1), 0))
    if not pc.all(is_segment, min_count=0).as_py():
        files = files.take(pc.indices_nonzero(is_segment).cast(pa.int64()))
        folders, names = folders.filter(is_segment), names.filter(is_segment)
    rows = pc.index_in(files.names, descriptors["below"].combine_chunks())
    return _combined(files, (folders, names), descriptors.take(rows).combine_chunks())


def described_segments(descriptors: pa.Table, split_paths: SplitPaths) -> pa.Table:
    """Return the segments that decisive descriptors name, whether they exist or not, deleted ones included.

    The column ``modified`` is null.
    """
    table = descriptors.combine_chunks()
    names, sizes = (_array(table[name]) for name in ("below", "size"))
    return _combined(DataFiles(names, sizes, pa.nulls(len(table), pa.int64())), split_paths, table)


def _combined(files: DataFiles, split_paths: SplitPaths, described: pa.Table) -> pa.Table:
    """Combine files with their descriptors, row by row; a file without descriptor has a row of nulls."""
    claims = {name: _array(described[name]) for name in described.column_names}
    folders, names = split_paths
    table = parse_paths(folders, names)
    named = {name: _array(table[name]) for name in table.column_names}
    # A descriptor with another size describes a former content. Its topic, stream key and mark still count [QLK-DE-7].
    is_true = pc.equal(claims["size"], files.sizes).fill_null(True)
    for name in ("partition", "rows", "first", "last", "start", "end"):
        claims[name] = pc.if_else(is_true, claims[name], pa.scalar(None, pa.int64()))
    columns = {"path": files.names, "size": files.sizes, "date": named["date"]}
    columns["modified"] = _modified(files.modified, named["partition"], claims["partition"])
    # The topic of a descriptor counts only where the name of the folder leaves it open [QLK-DE-8].
    claims["topic"] = pc.if_else(are_ambiguous(named["folder"]), claims["topic"], pa.scalar(None, pa.string()))
    columns |= _places(folders, {name: named[name] for name in ("topic", "stream_key")}, claims)
    columns["partition"] = _agreed(claims["partition"], named["partition"])
    for low, high in _BOUNDS:
        columns[low], columns[high] = _bounds((claims[low], claims[high]), (named[low], named[high]))
    # Bounds that the name has widened are not those of the messages any more.
    tight = pc.and_(pc.equal(columns["start"], claims["start"]), pc.equal(columns["end"], claims["end"]))
    columns["is_exact"] = pc.and_(claims["exact"], tight).fill_null(False)
    columns |= {"rows": claims["rows"], "is_deleted": claims["is_deleted"].fill_null(False)}
    columns["descriptors"] = claims["count"].fill_null(0)
    return pa.table([columns[name] for name in SEGMENT.names], SEGMENT)


def kept(table: pa.Table, mask: pa.ChunkedArray | pa.Array) -> pa.Table:
    """Return the rows of a table for which a mask is true; the table itself if it is true for all."""
    return table if not mask.null_count and pc.all(mask, min_count=0).as_py() else table.filter(mask)


def _modified(modified: pa.Array, named: pa.Array, claimed: pa.Array) -> pa.Array:
    """Return modification times that change with the partition that a descriptor gives to a segment [QLK-IX-3]."""
    # The partition decides which values records without partition have, so that statistics count only for one.
    is_given = pc.and_(named.is_null(), claimed.is_valid())
    return pc.add(modified, pc.if_else(is_given, pc.add(pc.bit_wise_and(claimed, 1023), 1), 0))


def _places(
    folders: pa.DictionaryArray, named: dict[str, pa.Array], claims: dict[str, pa.Array]
) -> dict[str, pa.Array]:
    """Return topics and stream keys: the descriptor's, else that of the folder's descriptors, else the folder's."""
    of = folders.indices.to_numpy()
    places = {}
    for name, by_folder in named.items():
        coded = claims[name].dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy()
        low = np.full(len(folders.dictionary), len(coded.dictionary))
        high = np.full(len(folders.dictionary), -1)
        np.minimum.at(low, of[codes >= 0], codes[codes >= 0])
        np.maximum.at(high, of[codes >= 0], codes[codes >= 0])
        # The descriptors of a folder agree if their least and greatest values are one [QLK-SE-3].
        agreed = np.where(low == high, low, -1)[of]
        shared = coded.dictionary.take(pa.array(agreed, mask=agreed < 0))
        places[name] = pc.coalesce(claims[name], shared, by_folder)
    return places


def _agreed(one: pa.Array, other: pa.Array) -> pa.Array:
    """Return the value of two claims, null where both exist and differ."""
    differs = pc.not_equal(one, other).fill_null(False)
    return pc.if_else(differs, pa.scalar(None, one.type), pc.coalesce(one, other))


def _bounds(claims: tuple[pa.Array, pa.Array], named: tuple[pa.Array, pa.Array]) -> tuple[pa.Array, pa.Array]:
    """Return a descriptor's bounds if they lie within the name's, else bounds that contain both [QLK-TR-1]."""
    nothing = pa.scalar(None, pa.int64())
    is_valid = pc.less_equal(*claims).fill_null(False)
    low, high = (pc.if_else(is_valid, bound, nothing) for bound in claims)
    is_within = pc.and_(pc.greater_equal(low, named[0]), pc.less_equal(high, named[1])).fill_null(True)
    low = pc.if_else(is_within, low, pc.min_element_wise(low, named[0]))
    high = pc.if_else(is_within, high, pc.max_element_wise(high, named[1]))
    return pc.coalesce(low, named[0]), pc.coalesce(high, named[1])


def _array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column
