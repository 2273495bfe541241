"""Paths in a Quix Lake: the folders of topics, stream keys and days, and the names of segments. Rules: [QLK-PA]."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "METADATA",
    "RAW",
    "SegmentName",
    "are_ambiguous",
    "are_named",
    "decode",
    "decode_each",
    "encode",
    "first_key_folders",
    "first_parts",
    "folder",
    "is_ambiguous",
    "is_first_of",
    "key_folder",
    "parse_paths",
    "split_names",
    "stream_key_of",
    "topic_folder",
    "topic_of",
]

RAW, METADATA = "Raw", "Metadata"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_ENCODED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\{\[\]^\x7f]""")
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")
_SINGLE_BYTE = re.compile("[\udc80-\udcff]")
#: A character that no topic of Kafka has.
_ODD_IN_TOPIC = "[^A-Za-z0-9._-]"
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TOPIC = "(?s)^Raw/Topic=(?P<topic>[^/]*)/(?P<below>.*)$"
# The key takes all folders up to the last one that begins with ``Start=``, or all folders [QLK-PA-3].
_DATED = "(?s)^Key=(?P<key>.*)/Start=(?P<start>[^/]*)(?:/.*)?$"
_UNDATED = "(?s)^Key=(?P<key>.*)$"
# eighteen digits always fit into 64 bits
_PLACES = "".join(
    rf"{before}(?P<{place}>-?[0-9]{{1,18}})"
    for before, place in (("^ts_", "start"), ("_", "end"), ("_part_", "partition"), ("_off_", "first"), ("_", "last"))
)
_NAME = "(?s)" + _PLACES + r"\.avro(?:\..*)?$"
_PATH = "(?s)/" + _PLACES[1:] + r"\.avro(?:\.[^/]*)?$"
_MIN_TEXTS = 10_000
_SUFFIXES = {"null": "", "snappy": ".snappy", "deflate": ".gzip", "zstandard": ".zstd"}


@dataclass(frozen=True, slots=True)
class SegmentName:
    """The claims in the name of a segment."""

    #: Timestamps in milliseconds since the Unix epoch.
    start: int
    end: int
    partition: int
    #: Kafka offsets.
    first: int
    last: int

    def text(self, codec: str) -> str:
        """Return the name of the file for an Avro codec.

        >>> SegmentName(1755776884034, 1755776886089, 0, 331135, 331334).text("snappy")
        'ts_1755776884034_1755776886089_part_0_off_331135_331334.avro.snappy'
        """
        places = f"ts_{self.start}_{self.end}_part_{self.partition}_off_{self.first}_{self.last}"
        return f"{places}.avro{_SUFFIXES[codec]}"


def encode(value: str | None) -> str:
    """Encode a text as the value in a folder's name [QLK-PA-7].

    >>> encode("a/b=1%"), encode(""), encode(None)
    ('a%2Fb%3D1%25', '', '__HIVE_DEFAULT_PARTITION__')
    >>> encode("__HIVE_DEFAULT_PARTITION__")
    '%5F_HIVE_DEFAULT_PARTITION__'
    """
    if value == _NULL:
        return f"%5F{value[1:]}"
    return _NULL if value is None else _ENCODED.sub(lambda found: f"%{ord(found[0]):02X}", value)


def decode(value: str) -> str | None:
    r"""Decode the value in a folder's name [QLK-PA-2].

    >>> decode("a%2Fb"), decode("100%"), decode("2024-01-01"), decode("__HIVE_DEFAULT_PARTITION__")
    ('a/b', '100%', '2024-01-01', None)
    >>> decode("%CF%80"), decode("%FC"), decode("%CF%80%C0%AF%e2%82"), decode("%25CF%2580")
    ('π', 'ü', 'πÀ¯â\x82', '%CF%80')
    """
    return None if value == _NULL else _ESCAPES.sub(_decoded, value)


def _decoded(escapes: re.Match[str]) -> str:
    """Decode adjacent escapes: valid UTF-8, and bytes that are none as the characters with their numbers."""
    text = bytes.fromhex(escapes[0].replace("%", "")).decode("utf-8", "surrogateescape")
    # UTF-8 has no surrogates, so that each surrogate stands for a byte that is not part of valid UTF-8
    return _SINGLE_BYTE.sub(lambda found: chr(ord(found[0]) - 0xDC00), text)


def topic_of(folder: str) -> str | None:
    """Return the topic that the name of a folder ``Topic=`` means."""
    return decode(folder.partition("=")[2])


def is_ambiguous(folder: str) -> bool:
    """Return whether the name of a folder ``Topic=`` leaves open which topic it means [QLK-DE-8].

    >>> is_ambiguous("Topic=csv-data"), is_ambiguous("Topic=a%20b"), is_ambiguous("Topic=a+b")
    (False, True, True)
    """
    return re.search(_ODD_IN_TOPIC, folder.partition("=")[2]) is not None


def are_ambiguous(values: pa.Array) -> pa.Array:
    """Return for each value in the name of a folder ``Topic=`` what :func:`is_ambiguous` returns."""
    return pc.match_substring_regex(values, _ODD_IN_TOPIC)


def decode_each(values: pa.Array) -> pa.Array:
    """Decode an array of values in folders' names, see :func:`decode`."""
    return _each(values, decode, pa.string())


def stream_key_of(key: bytes | None) -> str | None:
    r"""Return the stream key of messages with a Kafka key [QLK-PA-7].

    >>> stream_key_of(b"caf\xc3\xa9"), stream_key_of(b"\xff1"), stream_key_of(None)
    ('café', '\\xff1', None)
    """
    return None if key is None else key.decode("utf-8", "backslashreplace")


def folder(name: str, value: str | None) -> str:
    """Return the name of the folder of a value."""
    return f"{name}={encode(value)}"


def topic_folder(area: str, topic: str | None) -> str:
    """Return the folder of a topic, relative to the base."""
    return f"{area}/{folder('Topic', topic)}"


def key_folder(area: str, topic: str | None, stream_key: str | None) -> str:
    """Return the folder of a stream key, relative to the base.

    >>> key_folder(METADATA, "t", "a/b")
    'Metadata/Topic=t/Key=a%2Fb'
    """
    return f"{topic_folder(area, topic)}/{folder('Key', stream_key)}"


def first_key_folders(folders: pa.Array) -> set[tuple[str, str]]:
    """Return the folders of topics, and the first folders ``Key=`` in them, of folders relative to the base.

    >>> first_key_folders(pa.array(["Raw/Topic=t/Key=a/b", "Raw/Topic=t/Key=a/Start=2025-08-21"]))
    {('Topic=t', 'Key=a')}
    """
    found = pc.extract_regex(folders, "^Raw/(?P<topic>[^/]*)/(?P<key>Key=[^/]*)").drop_null()
    return set(zip(_part(found, "topic").to_pylist(), _part(found, "key").to_pylist(), strict=True))


def first_parts(keys: Collection[str | None]) -> set[str | None]:
    """Return stream keys, and what the first of several folders of a key can hold [QLK-PA-3].

    >>> sorted(first_parts({"a/b/c"}))
    ['a', 'a/b', 'a/b/c']
    """
    slashes = {key[:at] for key in keys if key is not None for at, letter in enumerate(key) if letter == "/"}
    return slashes.union(keys)


def is_first_of(name: str, parts: Collection[str | None]) -> bool:
    """Return whether a folder ``Key=`` can hold segments of stream keys with these first parts, decoded or not."""
    literal = name.partition("=")[2]
    return literal in parts or decode(literal) in parts


def split_names(paths: pa.Array) -> tuple[pa.DictionaryArray, pa.Array]:
    """Split paths into the folders, of which there are few, and the files' own names.

    >>> folders, names = split_names(pa.array(["a/b/c", "a/b/d", "e"]))
    >>> folders.to_pylist(), names.to_pylist()
    (['a/b', 'a/b', None], ['c', 'd', 'e'])
    """
    parts = pc.split_pattern(paths, "/", max_splits=1, reverse=True)
    counts = pc.list_value_length(parts).fill_null(0).to_numpy()
    # Each path has one part or, with a slash, two: its name is the last part, and its folder the one before.
    ends, texts = np.cumsum(counts), parts.flatten()
    folders = texts.take(pa.array(ends - 2, mask=counts < 2)).dictionary_encode()
    return folders, texts.take(pa.array(ends - 1, mask=counts == 0))


def parse_paths(folders: pa.DictionaryArray, names: pa.Array) -> pa.Table:
    """Return what the paths of files, relative to the base, say; null where a path says nothing.

    The columns are ``folder`` (the undecoded value in the folder of the topic), ``topic``, ``stream_key``, ``date``
    (date32), ``name`` (the file's own name; null outside of all folders ``Key=``), and as int64 ``start``, ``end``,
    ``partition``, ``first`` and ``last``.
    """
    topics = pc.extract_regex(folders.dictionary, _TOPIC)
    topic, below = _part(topics, "topic"), _part(topics, "below")
    dated, undated = pc.extract_regex(below, _DATED), pc.extract_regex(below, _UNDATED)
    keys = pc.coalesce(_part(dated, "key"), _part(undated, "key"))
    by_folder = {"folder": topic, "topic": decode_each(topic), "stream_key": decode_each(keys)}
    by_folder |= {"date": _each(_part(dated, "start"), _day, pa.date32())}
    columns = {name: values.take(folders.indices) for name, values in by_folder.items()}
    if keys.null_count or folders.null_count:
        has_key = keys.is_valid().take(folders.indices).fill_null(False)
        names = pc.if_else(has_key, names, pa.scalar(None, pa.string()))
    # A split takes a third of the time of a regular expression.
    start, end, partition, first, last = _plain_places(names) or _all_places(names)
    start, end = _ordered(start, end)
    first, last = _ordered(first, last)
    numbers = {"start": start, "end": end, "partition": partition, "first": first, "last": last}
    return pa.table(columns | {"name": names} | numbers)


def are_named(paths: pa.Array) -> pa.Array:
    """Return for each path whether the name of the file is that of a segment [QLK-PA-5].

    >>> are_named(pa.array(["a/ts_1_2_part_0_off_3_4.avro.gzip", "a/ts_1_2_part_0_off_3.avro"])).to_pylist()
    [True, False]
    """
    return pc.match_substring_regex(paths, _PATH)


def _plain_places(names: pa.Array) -> list[pa.Array] | None:
    """Return the five numbers in names, or None if a name has another form or a minus sign."""
    words = _columns(names, "_", 8)
    ending = _columns(words[7], ".", 2, max_splits=1) if words else None
    if not words or not ending:
        return None
    constants = all(pc.all(pc.equal(words[at], word)).as_py() for at, word in ((0, "ts"), (3, "part"), (5, "off")))
    if not constants or not all(text.partition(".")[0] == "avro" for text in pc.unique(ending[1]).to_pylist()):
        return None
    texts = [words[1], words[2], words[4], words[6], ending[0]]
    for each in texts:  # eighteen digits always fit into 64 bits
        if pc.max(pc.binary_length(each)).as_py() > 18 or not pc.all(pc.ascii_is_decimal(each)).as_py():
            return None
    return [each.cast(pa.int64()) for each in texts]


def _columns(texts: pa.Array, separator: str, count: int, max_splits: int | None = None) -> list[pa.Array] | None:
    """Return the parts of texts, position by position, or None if a text has another number of parts."""
    parts = pc.split_pattern(texts, separator, max_splits=max_splits)
    if not len(texts) or texts.null_count or not pc.all(pc.equal(pc.list_value_length(parts), count)).as_py():
        return None
    words = parts.flatten()
    return [words.take(pa.array(np.arange(at, len(words), count))) for at in range(count)]


def _all_places(names: pa.Array) -> list[pa.Array]:
    """Return the five numbers in names, null in names that say nothing."""
    places = _extracted(names, _NAME)
    return [_part(places, place).cast(pa.int64()) for place in ("start", "end", "partition", "first", "last")]


def _extracted(texts: pa.Array, pattern: str) -> pa.Array:
    """Return the groups of a regular expression in many texts; several threads match."""
    cores = os.cpu_count() or 1
    step = max(-(-len(texts) // cores), _MIN_TEXTS)
    slices = [texts.slice(start, step) for start in range(0, max(len(texts), 1), step)]
    with ThreadPoolExecutor(cores) as pool:
        return pa.concat_arrays(pool.map(lambda part: pc.extract_regex(part, pattern), slices))


def _part(found: pa.Array, name: str) -> pa.Array:
    return pc.struct_field(found, [name])


def _ordered(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return two bounds, null where they contradict each other [QLK-PA-5]."""
    valid = pc.less_equal(low, high)
    nothing = pa.scalar(None, pa.int64())
    return pc.if_else(valid, low, nothing), pc.if_else(valid, high, nothing)


def _each(texts: pa.Array, function: Callable[[str], object], kind: pa.DataType) -> pa.Array:
    """Apply a function to each distinct text."""
    encoded = texts.dictionary_encode()
    results = pa.array([function(text) for text in encoded.dictionary.to_pylist()], kind)
    return results.take(encoded.indices)


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:  # no day of the calendar
        return None
