"""The segments of a topic: what listings, names and descriptors say of them. Rules: [QLK-SE] [QLK-TR]."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.data_files import DataFiles
from xskip.quixlake.names import decode_each, parse_paths

__all__ = ["SEGMENT", "described_segments", "listed_segments"]

_BOUNDS = (("first", "last"), ("start", "end"))
#: The columns of segments. ``path`` is relative to the base; ``first`` and ``last`` are offsets; ``start`` and ``end``
#: are timestamps in milliseconds; ``is_exact`` says whether the timestamps were computed from all messages; and
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
    """Return the segments among listed files, with the claims that descriptors and names make.

    Parameters
    ----------
    files : DataFiles
        Files with names relative to the base.
    descriptors : pyarrow.Table
        The result of :func:`~xskip.quixlake.descriptors.decisive`.

    Returns
    -------
    pyarrow.Table
        The columns of :data:`SEGMENT`, deleted segments included.
    """
    last = pc.struct_field(pc.extract_regex(files.names, r"(?:^|/)(?P<name>[^/]*)$"), ["name"])
    is_segment = pc.and_(pc.match_substring(last, ".avro"), pc.invert(pc.match_substring_regex(last, r"^[._]")))
    is_segment = pc.and_(is_segment, pc.match_substring_regex(files.names, "^Raw/Topic=[^/]*/Key="))
    is_segment = pc.and_(is_segment, pc.not_equal(files.sizes.fill_null(-1), 0))
    chosen = files.take(pa.array(np.flatnonzero(is_segment.to_numpy(zero_copy_only=False))))
    rows = pc.index_in(chosen.names, descriptors["below"].combine_chunks())
    return _combined(chosen, descriptors.take(rows).combine_chunks())


def described_segments(descriptors: pa.Table) -> pa.Table:
    """Return the segments that descriptors name, whether they exist or not.

    Parameters
    ----------
    descriptors : pyarrow.Table
        The result of :func:`~xskip.quixlake.descriptors.decisive`.

    Returns
    -------
    pyarrow.Table
        The columns of :data:`SEGMENT`, with null in ``modified``; deleted segments included.
    """
    table = descriptors.combine_chunks()
    names, sizes = (_array(table[name]) for name in ("below", "size"))
    return _combined(DataFiles(names, sizes, pa.nulls(len(table), pa.int64())), table)


def _combined(files: DataFiles, described: pa.Table) -> pa.Table:
    """Combine files with their descriptors, row by row; a file without descriptor has a row of nulls."""
    claims = {name: _array(described[name]) for name in described.column_names}
    parts = pc.extract_regex(files.names, "(?s)^Raw/Topic=(?P<topic>[^/]*)/(?P<below>.*)$")
    topic, below = (pc.struct_field(parts, [part]) for part in ("topic", "below"))
    table = parse_paths(below)
    named = {name: _array(table[name]) for name in table.column_names}
    is_true = pc.equal(claims["size"], files.sizes).fill_null(True)
    for name in ("partition", "rows", "first", "last", "start", "end"):
        claims[name] = pc.if_else(is_true, claims[name], pa.scalar(None, pa.int64()))
    columns = {"path": files.names, "size": files.sizes, "modified": files.modified, "date": named["date"]}
    # only an encoded folder leaves open which topic it means
    claims["topic"] = pc.if_else(pc.match_substring(topic, "%"), claims["topic"], pa.scalar(None, pa.string()))
    columns |= _places(files.names, {"topic": decode_each(topic), "stream_key": named["stream_key"]}, claims)
    columns["partition"] = _agreed(claims["partition"], named["partition"])
    for low, high in _BOUNDS:
        columns[low], columns[high] = _bounds((claims[low], claims[high]), (named[low], named[high]))
    tight = pc.and_(pc.equal(columns["start"], claims["start"]), pc.equal(columns["end"], claims["end"]))
    columns["is_exact"] = pc.and_(claims["exact"], tight).fill_null(False)
    columns |= {"rows": claims["rows"], "is_deleted": claims["is_deleted"].fill_null(False)}
    columns["descriptors"] = claims["count"].fill_null(0)
    return pa.table([columns[name] for name in SEGMENT.names], SEGMENT)


def _places(paths: pa.Array, named: dict[str, pa.Array], claims: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Return topics and stream keys: the descriptor's, else that of the folder's descriptors, else the folder's."""
    folders = pc.replace_substring_regex(paths, "/[^/]*$", "").dictionary_encode()
    of = folders.indices.to_numpy()
    places = {}
    for name, by_folder in named.items():
        coded = claims[name].dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy()
        low = np.full(len(folders.dictionary), len(coded.dictionary))
        high = np.full(len(folders.dictionary), -1)
        np.minimum.at(low, of[codes >= 0], codes[codes >= 0])
        np.maximum.at(high, of[codes >= 0], codes[codes >= 0])
        agreed = np.where(low == high, low, -1)[of]
        shared = coded.dictionary.take(pa.array(agreed, mask=agreed < 0))
        places[name] = pc.coalesce(claims[name], shared, by_folder)
    return places


def _agreed(one: pa.Array, other: pa.Array) -> pa.Array:
    """Return the value of two claims, null where both exist and differ."""
    differs = pc.not_equal(one, other).fill_null(False)
    return pc.if_else(differs, pa.scalar(None, one.type), pc.coalesce(one, other))


def _bounds(claims: tuple[pa.Array, pa.Array], named: tuple[pa.Array, pa.Array]) -> tuple[pa.Array, pa.Array]:
    """Return the bounds of a descriptor where they lie within those of the name, else bounds that contain both."""
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
