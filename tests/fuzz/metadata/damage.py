"""Ways in which the files of an index can be damaged."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.metadata.known import Known
from tests.metadatastore.samples import rewrite
from xskip.metadatastore.digests import footer_digest, sealed, unsealed

__all__ = ["FORGED", "WAYS", "damaged"]

Files = dict[str, bytes]
_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_SIZES = b"io.xskip.object.sizes"


def damaged(random: Random, bases: Sequence[Known], base: Known) -> tuple[str, Files]:
    """Return the name of a random way of damage, and the files of an index after this damage."""
    has_record = any(name.startswith("_commits/") for name in base.metadata_files)
    way = random.choice([*WAYS, *FORGED] if has_record else [name for name in WAYS if "signed" not in name])
    files = dict(base.metadata_files)
    {**WAYS, **FORGED}[way](random, files, random.choice(bases).metadata_files)
    return way, files


def _some(random: Random, files: Files) -> str:
    return random.choice(sorted(files))


def _data(random: Random, files: Files) -> str:
    return random.choice(sorted(name for name in files if name.endswith(".parquet")))


def _record(files: Files) -> str:
    return max(name for name in files if name.startswith("_commits/"))


def _set(files: Files, name: str, at: int, new: bytes) -> None:
    files[name] = files[name][:at] + new + files[name][at + len(new) :]


def _bits(random: Random, files: Files, other: Files) -> None:
    for _ in range(random.choice([1, 1, 1, 2, 5])):
        name = _some(random, files)
        if files[name]:
            at = random.randrange(len(files[name]))
            _set(files, name, at, bytes([files[name][at] ^ 1 << random.randrange(8)]))


def _near_pages(random: Random, files: Files, _: Files) -> None:
    """Change a byte in the first hundred bytes of a file or just before the footer, where page headers are."""
    name = _data(random, files)
    size = len(files[name])
    body = size - 8 - int.from_bytes(files[name][-8:-4], "little") if size > 8 else size
    if size:
        at = random.randrange(min(100, size)) if random.random() < 0.5 else max(0, body - 1 - random.randrange(200))
        at = min(at, size - 1)
        _set(files, name, at, bytes([random.randrange(256)]))


def _in_footer(random: Random, files: Files, other: Files) -> None:
    name = _data(random, files)
    size = len(files[name])
    length = int.from_bytes(files[name][-8:-4], "little") + 8
    for _ in range(random.choice([1, 1, 3])):
        at = size - 1 - random.randrange(min(length, size))
        _set(files, name, at, bytes([random.randrange(256)]))


def _bytes(random: Random, files: Files, _: Files) -> None:
    """Overwrite a run of bytes with zeros or with random bytes, as a bad sector does."""
    name = _some(random, files)
    length = random.choice([1, 4, 8, 64, 512])
    at = random.randrange(max(1, len(files[name])))
    new = bytes(length) if random.random() < 0.5 else random.randbytes(length)
    _set(files, name, at, new[: max(0, len(files[name]) - at)])


def _cut(random: Random, files: Files, _: Files) -> None:
    name = _some(random, files)
    files[name] = files[name][: random.randrange(len(files[name]) + 1)]


def _grown(random: Random, files: Files, _: Files) -> None:
    name = _some(random, files)
    at = random.randrange(len(files[name]) + 1)
    files[name] = files[name][:at] + random.randbytes(random.choice([1, 8, 100])) + files[name][at:]


def _lost_bytes(random: Random, files: Files, _: Files) -> None:
    name = _some(random, files)
    at = random.randrange(len(files[name]) + 1)
    files[name] = files[name][:at] + files[name][at + random.choice([1, 4, 50]) :]


def _doubled(random: Random, files: Files, _: Files) -> None:
    name = _some(random, files)
    if random.random() < 0.5:
        files[name] *= 2
    else:
        files[f"copy-of-{Path(name).name}" if random.random() < 0.5 else f"_commits/{10**6:020d}.json"] = files[name]


def _swapped(random: Random, files: Files, other: Files) -> None:
    """Replace the content of a file with that of another file, of this index or of another index."""
    name = _some(random, files)
    donors = {**{f"other/{key}": value for key, value in other.items()}, **files}
    kind = Path(name).suffix
    files[name] = donors[random.choice(sorted(key for key in donors if key.endswith(kind)))]


def _gone(random: Random, files: Files, _: Files) -> None:
    del files[_some(random, files)]


def _moved(random: Random, files: Files, _: Files) -> None:
    """Copy a block of a file over another block of the file."""
    name = _data(random, files)
    size = len(files[name])
    length = min(random.choice([16, 64, 256]), size)
    start, at = random.randrange(size - length + 1), random.randrange(size - length + 1)
    _set(files, name, at, files[name][start : start + length])


def _signed(files: Files, name: str, data: bytes, path: Path) -> None:
    """Replace a file, and update the digests in the commit record."""
    files[name] = data
    record = _record(files)
    body = json.loads(unsealed(files[record]))
    for entry in body["files"]:
        if entry["name"] == name:
            entry.update(size=len(data), footer=footer_digest(path))
    files[record] = sealed(json.dumps(body, indent=1).encode())


def _rewritten(files: Files, name: str, footer: dict[bytes, bytes | None], columns: dict[str, pa.Array]) -> None:
    if b"PARE" in files[name][-4:] or b"PAR1" not in files[name][-4:]:
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / name
        path.write_bytes(files[name])
        entries = pq.read_metadata(path).metadata or {}
        if b'"encryption"' in entries.get(_SCHEMA, b""):
            return
        rewrite(path, footer, columns)
        _signed(files, name, path.read_bytes(), path)


def _entries(files: Files, name: str) -> dict[bytes, bytes]:
    if files[name][-4:] != b"PAR1":
        return {}
    return dict(pq.read_metadata(pa.BufferReader(files[name])).metadata or {})


def _signed_bounds(random: Random, files: Files, _: Files) -> None:
    """Exchange the lower and upper bounds, with correct digests."""
    name = _data(random, files)
    if files[name][-4:] != b"PAR1":
        return
    file = pq.ParquetFile(pa.BufferReader(files[name]))
    if b'"encryption"' in (file.metadata.metadata or {}).get(_SCHEMA, b""):
        return
    table, changed = file.read(), {}
    for column in table.column_names:
        kind = table.schema.field(column).type
        if "minmax" in column and pa.types.is_struct(kind):
            low, high = table.column(column).combine_chunks().flatten()
            changed[column] = pa.StructArray.from_arrays([high, low], fields=list(kind))
    if random.random() < 0.9:
        _rewritten(files, name, {}, changed)


def _signed_streams(random: Random, files: Files, _: Files) -> None:
    """Truncate, extend or replace serialised objects, with correct digests."""
    name = _data(random, files)
    if files[name][-4:] != b"PAR1":
        return
    file = pq.ParquetFile(pa.BufferReader(files[name]))
    if b'"encryption"' in (file.metadata.metadata or {}).get(_SCHEMA, b""):
        return
    table, changed = file.read(), {}
    for column in table.column_names:
        if table.schema.field(column).type == pa.binary():
            streams = table.column(column).to_pylist()
            changed[column] = pa.array([stream and _odd(random, stream) for stream in streams], pa.binary())
    _rewritten(files, name, {}, changed)


def _odd(random: Random, stream: bytes) -> bytes:
    match random.randrange(4):
        case 0:
            return stream[: random.randrange(len(stream))]
        case 1:
            return stream + random.randbytes(3)
        case 2:
            return random.randbytes(len(stream))
        case _:
            return stream


def _signed_sizes(random: Random, files: Files, _: Files) -> None:
    name = _data(random, files)
    sizes = _entries(files, name).get(_SIZES, b"")
    new = random.choice([b"", sizes[: len(sizes) // 2], sizes + sizes, random.randbytes(20), b"eJwDAAAAAAE="])
    _rewritten(files, name, {_SIZES: new}, {})


def _text(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    match random.randrange(5):
        case 0:
            return text[:at] + text[at + random.randint(1, 30) :]
        case 1:
            return text[:at] + random.choice(list('{}[]",:0x\u0000é')) + text[at:]
        case 2:
            return text[:at]
        case 3:
            return (
                text[:at]
                + random.choice(["null", "[]", "{}", "1e999", "-1", '"x"', "[" * 2000, "9" * 5000])
                + text[at:]
            )
        case _:
            start = random.randrange(len(text) + 1)
            return text[:at] + text[start : start + random.randint(1, 60)] + text[at:]


def _tree(random: Random, node: Any) -> Any:
    """Return a JSON value with a change in one place."""
    if isinstance(node, dict) and node and random.random() < 0.9:
        key = random.choice(sorted(node))
        if random.random() < 0.1:
            return {k: v for k, v in node.items() if k != key}
        return {**node, key: _tree(random, node[key])}
    if isinstance(node, list) and node and random.random() < 0.9:
        i = random.randrange(len(node))
        if random.random() < 0.1:
            return node + [node[i]] * random.choice([1, 100])
        return [*node[:i], _tree(random, node[i]), *node[i + 1 :]]
    return random.choice([None, 0, -1, 2**70, 1.5, "", "..", "/", "struct", "a" * 3000, [], {}, [[]], {"a": 1}, True])


def _forged_schema(random: Random, files: Files, _: Files) -> None:
    name = _data(random, files)
    text = _entries(files, name).get(_SCHEMA, b"").decode(errors="replace")
    if not text:
        return
    new = _text(random, text) if random.random() < 0.5 else json.dumps(_tree(random, json.loads(text)))
    _rewritten(files, name, {_SCHEMA: new.encode()}, {})


def _forged_record(random: Random, files: Files, _: Files) -> None:
    name = _record(files)
    text = unsealed(files[name]).decode()
    if random.random() < 0.5:
        files[name] = _text(random, text).encode()
    else:
        files[name] = sealed(json.dumps(_tree(random, json.loads(text)), indent=1).encode())


def _forged_stream(random: Random, files: Files, _: Files) -> None:
    """Change single bytes of serialised objects, with correct digests."""
    name = _data(random, files)
    if files[name][-4:] != b"PAR1":
        return
    file = pq.ParquetFile(pa.BufferReader(files[name]))
    if b'"encryption"' in (file.metadata.metadata or {}).get(_SCHEMA, b""):
        return
    table, changed = file.read(), {}
    for column in table.column_names:
        if table.schema.field(column).type == pa.binary():
            streams = []
            for stream in table.column(column).to_pylist():
                at = random.randrange(len(stream)) if stream else 0
                streams.append(stream and stream[:at] + random.randbytes(1) + stream[at + 1 :])
            changed[column] = pa.array(streams, pa.binary())
    _rewritten(files, name, {}, changed)


def _without_record(random: Random, files: Files, other: Files) -> None:
    """Turn the files into those of another program, whose footers have no checksums, and then damage one."""
    for name in sorted(files):
        data = files.pop(name)
        if name.endswith(".parquet"):
            files[name.replace("-c000", "-0000").replace("-8", "-4", 1)] = data
    random.choice([_bits, _near_pages, _in_footer, _bytes, _cut, _grown, _lost_bytes])(random, files, other)


Way = Callable[[Random, Files, Files], None]
#: What happens to files, and forgeries that contradict themselves: no row may be lost.
WAYS: dict[str, Way] = {
    "bits": _bits, "near pages": _near_pages, "in the footer": _in_footer, "bytes": _bytes, "cut": _cut,
    "grown": _grown, "lost bytes": _lost_bytes, "doubled": _doubled, "swapped": _swapped, "gone": _gone,
    "moved": _moved, "signed bounds": _signed_bounds, "signed streams": _signed_streams,
    "signed sizes": _signed_sizes,
}  # fmt: skip
#: What can say anything of the values: only errors, time and memory are looked at.
FORGED: dict[str, Way] = {
    "forged schema": _forged_schema, "forged record": _forged_record, "forged stream": _forged_stream,
    "without record": _without_record,
}  # fmt: skip
