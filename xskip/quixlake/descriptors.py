"""Descriptors of segments: the rows of index files, in all forms that writers have used. Rules: [QLK-DE]."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from xskip.quixlake.names import RAW, first_key_folders, split_names
from xskip.quixlake.segments import described_segments, kept
from xskip.quixlake.small_files import UnreadableFile

__all__ = [
    "DESCRIPTOR",
    "EXACT",
    "IndexFiles",
    "decisive",
    "describe",
    "paths_below",
]

#: The entry in the key-value metadata of an index file whose bounds were computed from all messages [QLK-SK-6].
EXACT = ("xskip.bounds", "exact")
_TIME = pa.timestamp("us", "UTC")
#: The columns of the document, under the names that :data:`DESCRIPTOR` gives them.
_COLUMNS = {
    "Path": "path",
    "Topic": "topic",
    "Key": "stream_key",
    "Partition": "partition",
    "TimestampStart": "start",
    "TimestampEnd": "end",
    "StartOffset": "first",
    "EndOffset": "last",
    "RecordCount": "rows",
    "FileSizeBytes": "size",
    "CreatedAt": "created",
    "DeletedAt": "deleted",
}
_FORMER = {"offsetstart": "startoffset", "offsetend": "endoffset"}
_BY_NAME = {document.lower(): name for document, name in _COLUMNS.items()}
_BELOW = r"(?s)(?:^|/)(?P<below>Raw/Topic=.*)$"
_FORMS_OF_TEXT = ("large_string", "string_view", "binary", "large_binary", "binary_view")
#: The texts in lower case that do not mark a segment as deleted.
_UNMARKED = ("", "false", "null", "none", "nan", "nat", None)
#: The columns of milliseconds, with the rounding of the times that some writers have there.
_MILLIS = {"start": pc.floor_temporal, "end": pc.ceil_temporal}
_TEXTS, _TIMES = ("path", "topic", "stream_key"), ("created", "deleted")
#: The columns of descriptors in memory. ``below`` is the path relative to the base, ``file`` the position of the index
#: file, ``exact`` its mark [QLK-SK-6], and ``former`` whether the index file has column names of a former form.
DESCRIPTOR = pa.schema(
    [(n, pa.string() if n in _TEXTS else _TIME if n in _TIMES else pa.int64()) for n in _COLUMNS.values()]
    + [("below", pa.string()), ("file", pa.int32()), ("exact", pa.bool_()), ("former", pa.bool_())]
)
#: The columns of an index file as the document defines them.
DOCUMENT = pa.schema([(document, DESCRIPTOR.field(name).type) for document, name in _COLUMNS.items()])
_CLAIMS = ("topic", "stream_key", "partition", "start", "end", "first", "last", "rows", "size")


@dataclass(frozen=True)
class IndexFiles:
    """The content of index files."""

    #: The columns are those of :data:`DESCRIPTOR`.
    descriptors: pa.Table
    #: The column ``file`` has positions in this tuple.
    paths: tuple[str, ...]
    unreadable: tuple[UnreadableFile, ...]

    @cached_property
    def decisive(self) -> pa.Table:
        """Return one row for each described segment, see :func:`decisive`."""
        return decisive(self.descriptors)

    @cached_property
    def segments(self) -> pa.Table:
        """Return the segments that the files describe, see :func:`~xskip.quixlake.segments.described_segments`."""
        return described_segments(self.decisive, self._split_paths)

    @cached_property
    def key_folders(self) -> set[tuple[str, str]]:
        """Return the folders of the described segments, see :func:`~xskip.quixlake.names.first_key_folders`."""
        return first_key_folders(self._split_paths[0].dictionary)

    @cached_property
    def _split_paths(self) -> tuple[pa.DictionaryArray, pa.Array]:
        return split_names(self.decisive["below"].combine_chunks())

    @classmethod
    def of(cls, tables: Mapping[str, pa.Table | UnreadableFile], base: str = "") -> IndexFiles:
        """Combine the results of ``read_small_files``, by path; ``base`` is the path of the lake."""
        unreadable = [table for table in tables.values() if isinstance(table, UnreadableFile)]
        descriptors, paths = list[pa.Table](), list[str]()
        for (schema, is_exact), of_form in _by_form(tables).items():
            if not _has_paths(schema):
                reason = f"no column Path among {', '.join(schema.names) or 'no columns'}"
                unreadable += [UnreadableFile(path, reason) for path in of_form]
                continue
            numbers = np.arange(len(paths), len(paths) + len(of_form), dtype=np.int32)
            files = pa.array(np.repeat(numbers, [len(table) for table in of_form.values()]))
            whole = pa.concat_tables(of_form.values()).combine_chunks()
            descriptors.append(_canonical(whole, files, is_exact=is_exact))
            paths += of_form
        joined = pa.concat_tables(descriptors or [DESCRIPTOR.empty_table()]).combine_chunks()
        found = re.search(_BELOW, base)
        if found is not None:
            # The lake lies in another lake's topic, so that the first ``Raw`` of a path is the other lake's.
            below = _from(joined["below"], f"{found['below']}/")
            joined = joined.set_column(joined.schema.get_field_index("below"), "below", below)
        return cls(joined, tuple(paths), tuple(unreadable))


def _named(column: str) -> str | None:
    """Return the name in memory of a column of an index file; None for a column that means nothing."""
    plain = column.replace("_", "").lower()
    return _BY_NAME.get(_FORMER.get(plain, plain))


def _has_paths(schema: pa.Schema) -> bool:
    return "path" in map(_named, schema.names)


def _by_form(tables: Mapping[str, pa.Table | UnreadableFile]) -> dict[tuple[pa.Schema, bool], dict[str, pa.Table]]:
    """Return the tables of index files by their schema and their mark of exact bounds."""
    forms: dict[tuple[pa.Schema, bool], dict[str, pa.Table]] = {}
    last, of_form = None, dict[str, pa.Table]()
    for path, table in tables.items():
        if not isinstance(table, UnreadableFile):
            schema = table.schema
            if last is None or not schema.equals(last, check_metadata=True):  # far faster than the hash of a schema
                last, of_form = schema, forms.setdefault((schema.remove_metadata(), _is_exact(schema)), {})
            of_form[path] = table
    return forms


def _is_exact(schema: pa.Schema) -> bool:
    return bool((schema.metadata or {}).get(EXACT[0].encode()) == EXACT[1].encode())


def _canonical(table: pa.Table, files: pa.Array, *, is_exact: bool) -> pa.Table:
    """Return the descriptors of index files of one form, whichever it is [QLK-DE-1]."""
    columns: dict[str, pa.ChunkedArray] = {}
    former = False
    for at, column in enumerate(table.column_names):
        name = _named(column)
        if name is not None and name not in columns:
            former |= column not in _COLUMNS
            values = _plain(table.column(at))
            if name in _MILLIS and pa.types.is_timestamp(values.type):
                values = _MILLIS[name](values, unit="millisecond").cast(pa.timestamp("ms", values.type.tz))
            convert = _marks if name == "deleted" else _converted
            columns[name] = convert(values, DESCRIPTOR.field(name).type)
    columns |= {"file": files, "below": paths_below(columns["path"])}
    columns |= {"exact": pa.repeat(is_exact, len(table)), "former": pa.repeat(former, len(table))}
    return pa.table([columns.get(field.name, pa.nulls(len(table), field.type)) for field in DESCRIPTOR], DESCRIPTOR)


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without a dictionary, and text in place of its bytes."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    try:
        return values.cast(pa.string()) if str(values.type) in _FORMS_OF_TEXT else values
    # Bytes that are no text stay bytes.
    except pa.ArrowException:
        return values


def _converted(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Convert a column to its type in memory; values of a type that does not fit are null."""
    # Arrow would cast booleans to the numbers 0 and 1.
    if pa.types.is_boolean(values.type):
        return pa.chunked_array([pa.nulls(len(values), kind)])
    try:
        if pa.types.is_timestamp(kind):
            # Integers are milliseconds since the Unix epoch [QLK-DE-2].
            if pa.types.is_integer(values.type):
                values = values.cast(pa.timestamp("ms"))
            values = values.cast(pa.timestamp("us", values.type.tz), safe=False)
        return values.cast(kind)
    except (pa.ArrowException, AttributeError):
        return pa.chunked_array([pa.nulls(len(values), kind)])


def _marks(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Convert times of deletion; another value marks the segment as deleted, unless it says otherwise [QLK-DE-5]."""
    found = _converted(values, kind)
    if pa.types.is_boolean(values.type):
        is_marked = values.fill_null(False)
    elif pa.types.is_string(values.type):
        is_marked = pc.invert(pc.is_in(pc.utf8_lower(values), pa.array(_UNMARKED, values.type)))
    elif pa.types.is_floating(values.type):
        is_marked = pc.invert(pc.is_nan(values)).fill_null(False)
    else:
        is_marked = pc.is_valid(values)
    # A mark without a time gets the epoch, which is not null.
    return pc.if_else(pc.and_(is_marked, pc.is_null(found)), pa.scalar(0, pa.int64()).cast(kind), found)


def decisive(descriptors: pa.Table) -> pa.Table:
    """Return one row for each described segment, with the claims that count [QLK-DE-4] [QLK-DE-5].

    The columns are ``below``, the claims and ``exact`` as in :data:`DESCRIPTOR`, ``is_deleted`` (bool) and ``count``
    (int64), the number of descriptors of the segment. Rows with a path outside of ``Raw`` are ignored.
    """
    known = kept(descriptors, pc.is_valid(descriptors["below"]))
    known = known.append_column("is_deleted", pc.is_valid(known["deleted"])).combine_chunks()
    if len(pc.unique(known["below"])) == len(known):
        ones = pa.array(np.ones(len(known), np.int64))
        return known.select(["below", *_CLAIMS, "exact", "is_deleted"]).append_column("count", ones)
    counts = known.group_by("below").aggregate([([], "count_all")])
    latest = known.take(pa.array(_latest(known)))
    claims = {claim: _coded(latest[claim]) for claim in _CLAIMS}
    flags = {flag: latest[flag].cast(pa.int8()) for flag in ("exact", "is_deleted")}
    coded = pa.table({"below": latest["below"]} | {c: codes for c, (codes, _) in claims.items()} | flags)
    wanted = [(column, how) for column in (*claims, *flags) for how in ("min", "max", "count")]
    ends = coded.group_by("below").aggregate([*wanted, ([], "count_all")])
    columns = {"below": ends["below"]}
    for claim, (_, texts) in claims.items():
        agreed = _agreed(ends, claim)
        columns[claim] = agreed if texts is None else texts.take(agreed.combine_chunks())
    # A flag holds if all descriptors that count have it.
    columns |= {flag: ends[f"{flag}_min"].cast(pa.bool_()) for flag in flags}
    positions = pc.index_in(ends["below"], counts["below"])
    return pa.table({**columns, "count": counts["count_all"].take(positions)})


def _coded(values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.Array | None]:
    """Return numbers that are equal where values are, and the texts for which they stand, if they do."""
    if not pa.types.is_string(values.type):
        return values, None
    coded = values.combine_chunks().dictionary_encode()
    return pa.chunked_array([coded.indices]), coded.dictionary


def _latest(descriptors: pa.Table) -> npt.NDArray[np.int64]:
    """Return the positions of the descriptors with the greatest ``created`` of their segment."""
    codes = pc.dictionary_encode(descriptors["below"]).combine_chunks().indices.to_numpy()
    # A null ``created`` is less than all others [QLK-DE-4].
    created = descriptors["created"].cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy()
    order = np.lexsort((created, codes))
    is_last = np.append(codes[order][1:] != codes[order][:-1], True)
    greatest = np.empty(codes.max(initial=-1) + 1, np.int64)
    greatest[codes[order][is_last]] = created[order][is_last]
    return np.flatnonzero(created == greatest[codes])


def _agreed(ends: pa.Table, column: str) -> pa.ChunkedArray:
    """Return a claim where all descriptors of a path agree, and null elsewhere [QLK-DE-4]."""
    low, high = ends[f"{column}_min"], ends[f"{column}_max"]
    # The least and the greatest value ignore nulls, so that the count shows a descriptor that claims nothing.
    agreed = pc.and_(pc.equal(low, high), pc.equal(ends[f"{column}_count"], ends["count_all"]))
    return pc.if_else(agreed.fill_null(False), low, pa.scalar(None, low.type))


def describe(rows: Iterable[Mapping[str, object]] | pa.Table, *, exact: bool) -> bytes:
    """Return an index file in the form of the document; ``exact`` marks bounds that all messages gave [QLK-SK-6]."""
    table = rows.cast(DOCUMENT) if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), DOCUMENT)
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(dict([EXACT]) if exact else None), sink)
    return sink.getvalue()


def paths_below(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the paths of descriptors relative to the base, null for a path outside of ``Raw`` [QLK-DE-3].

    >>> paths = [["s3://b/w/Raw/Topic=t/Key=k/a.avro", "Raw/Topic=t/Key=Raw/b.avro", "c.avro", None]]
    >>> paths_below(pa.chunked_array(paths)).to_pylist()
    ['Raw/Topic=t/Key=k/a.avro', 'Raw/Topic=t/Key=Raw/b.avro', None, None]
    """
    whole = paths.combine_chunks()
    below = _without_common_prefix(whole)
    if below is None:
        folders, names = split_names(whole)
        found = pc.extract_regex(folders.dictionary, _BELOW)
        below = pc.binary_join_element_wise(pc.struct_field(found, ["below"]).take(folders.indices), names, "/")
    return pa.chunked_array([below])


def _from(paths: pa.ChunkedArray, prefix: str) -> pa.ChunkedArray:
    """Return paths without a prefix, which some of them have."""
    return pc.if_else(pc.starts_with(paths, prefix), pc.utf8_slice_codeunits(paths, len(prefix)), paths)


def _without_common_prefix(paths: pa.Array) -> pa.Array | None:
    """Return paths relative to the base if the same text precedes ``Raw`` in all of them, and else None."""
    first = paths[0].as_py() if len(paths) else None
    found = re.search(_BELOW, first.rpartition("/")[0]) if first is not None else None
    if first is None or found is None:
        return None
    prefix = first[: found.start("below")]
    # The decisive ``Raw`` of the other paths is that of the first one, because all characters up to it are equal.
    is_common = pc.starts_with(paths, f"{prefix}{RAW}/Topic=").fill_null(False)
    has_name = pc.greater_equal(pc.count_substring(paths, "/"), prefix.count("/") + 2).fill_null(False)
    if not pc.all(pc.and_(is_common, has_name)).as_py():
        return None
    return pc.utf8_slice_codeunits(paths, len(prefix)) if prefix else paths
