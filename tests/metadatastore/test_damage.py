"""Damage in a metadata file or a record of xskip is detected. Rules: [MDS-D]."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from tests.effort import seeds
from tests.metadatastore.samples import (
    ROOT,
    assert_same,
    bloomfilter,
    files_of,
    minmax,
    opened,
    put_foreign,
    record_of,
    rewrite,
    table_of,
    valuelist,
)
from xskip.errors import MetadataCorruptError, XskipError
from xskip.metadata.table import MetadataTable, Requirement
from xskip.metadatastore.codec import leaf_paths
from xskip.metadatastore.commit import CommitRecord, publish
from xskip.metadatastore.digests import footer_digest, sealed
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import open_snapshot
from xskip.metadatastore.splits import parts_of
from xskip.metadatastore.versions import WriteOptions

DISK = LocalStorage()
VERSIONS = range(5)
SEED = 7


def small_table() -> MetadataTable:
    """Return two files with bounds, a list and a filter each."""
    return table_of(
        files_of([f"{ROOT}/a", f"{ROOT}/b"]),
        [
            minmax("k", "int", [1, 1000], [5, 2000]),
            valuelist("s", "string", [["oslo", "rome"], ["bonn"]]),
            bloomfilter("s", [[b"oslo", b"rome"], [b"bonn"]]),
        ],
    )


def committed(folder: Path, write_options: WriteOptions) -> Path:
    """Commit an index with one file and one record."""
    folder.mkdir()
    files = write_files(small_table(), ROOT, folder, 0, write_options)
    publish(DISK, str(folder / "md"), None, files, record_of(entry for _, entry in files))
    return folder / "md"


def metadata_file(md: Path) -> Path:
    """Return the only metadata file."""
    (path,) = md.glob("*.parquet")
    return path


def record_file(md: Path) -> Path:
    """Return the only record."""
    (path,) = (md / "_commits").iterdir()
    return path


def rewritten(md: Path, change: dict[str, object]) -> None:
    """Change entries of the record, and update its checksum."""
    body = json.loads(record_file(md).read_bytes())
    del body["checksum"]
    record_file(md).write_bytes(sealed(json.dumps(body | change, indent=1).encode()))


def bits_of(positions: Iterable[int], random: Random) -> Iterator[tuple[int, int]]:
    """Yield one random bit of each byte."""
    return ((at, 1 << random.randrange(8)) for at in positions)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_flipped_bit_has_no_effect_or_is_an_error(version: int, tmp_path: Path) -> None:
    """[MDS-D-1] [MDS-D-2] After a bit flip in any byte, the metadata is unchanged or is not read."""
    md = committed(tmp_path / "i", WriteOptions(version))
    before = opened(md).load()
    path = metadata_file(md)
    whole = path.read_bytes()
    footer = len(whole) - pq.read_metadata(path).serialized_size - 8
    refused = 0
    positions = seeds(seeds(Random().sample(range(len(whole)), len(whole))))  # a ninth, or all
    for at, bit in bits_of(positions, Random(SEED)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        try:
            found = opened(md).load()
        except XskipError:
            refused += 1
        else:
            assert at < footer, f"byte {at}, bit {bit:#x}"
            assert_same(found, before)
    assert refused > sum(at >= footer for at in positions)


def test_a_flipped_bit_in_the_record(tmp_path: Path) -> None:
    """[MDS-D-4] After a bit flip, the record has the same content or is invalid."""
    md = committed(tmp_path / "i", WriteOptions())
    whole = record_file(md).read_bytes()
    before = CommitRecord.from_bytes(whole)
    refused = 0
    for at, bit in bits_of(range(len(whole)), Random(SEED)):
        try:
            found = CommitRecord.from_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        except MetadataCorruptError:
            refused += 1
        else:
            assert found == before, f"byte {at}, bit {bit:#x}"
    assert refused > len(whole) * 8 // 10


def test_pages_carry_checksums(tmp_path: Path) -> None:
    """[MDS-D-1] Every reader verifies the checksums of every column's pages."""
    path = metadata_file(committed(tmp_path / "i", WriteOptions()))
    whole, footer = path.read_bytes(), pq.read_metadata(path)
    for c in range(len(leaf_paths(footer))):
        chunk = footer.row_group(0).column(c)
        last = (chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size - 1
        path.write_bytes(whole[:last] + bytes([whole[last] ^ 1]) + whole[last + 1 :])
        with pytest.raises(OSError, match="CRC"):
            pq.ParquetFile(path, page_checksum_verification=True).read()
        with pytest.raises(MetadataCorruptError, match="CRC"):
            opened(path.parent).load()


def test_files_are_held_against_the_record(tmp_path: Path) -> None:
    """[MDS-D-2] [MDS-D-3] A file with another size, footer or number of rows than its record is refused."""
    md = committed(tmp_path / "i", WriteOptions())
    path = metadata_file(md)
    (entry,) = json.loads(record_file(md).read_bytes())["files"]
    for change in ({"size": entry["size"] + 1}, {"footer": "0" * 8}, {"rows": 3}):
        rewritten(md, {"files": [entry | change]})
        with pytest.raises(MetadataCorruptError, match="differs from its commit record"):
            open_snapshot(DISK, str(md))
    rewritten(md, {"files": [entry, entry]})
    with pytest.raises(MetadataCorruptError, match="damaged or incomplete"):
        CommitRecord.from_bytes(record_file(md).read_bytes())
    rewritten(md, {"files": [{key: entry[key] for key in ("name", "rows", "size")}]})  # as records were before
    assert_same(opened(md).load(), small_table())
    rewrite(path, {b"x": b"y"})
    with pytest.raises(MetadataCorruptError, match="differs from its commit record"):
        open_snapshot(DISK, str(md))


def test_a_file_of_another_index_in_the_place_of_one(tmp_path: Path) -> None:
    """[MDS-D-2] An exchanged file is refused, although its size and rows are equal."""
    one, other = committed(tmp_path / "i", WriteOptions()), committed(tmp_path / "j", WriteOptions())
    renamed = small_table()
    (written, entry), *_ = write_files(table_of(files_of([f"{ROOT}/c", f"{ROOT}/d"]), renamed.indexes.values()),
                                       ROOT, tmp_path, 0)  # fmt: skip
    assert (entry.rows, entry.size) == (2, metadata_file(one).stat().st_size)
    shutil.copyfile(written, metadata_file(one))
    with pytest.raises(MetadataCorruptError, match="differs from its commit record"):
        open_snapshot(DISK, str(one))
    assert_same(opened(other).load(), small_table())


def test_files_of_ours_beside_foreign_ones(tmp_path: Path) -> None:
    """[MDS-D-2] If the listing counts, the files of the record are still verified."""
    md = committed(tmp_path / "i", WriteOptions())
    put_foreign(md, [table_of(files_of([f"{ROOT}/x"]))])
    assert opened(md).rows == 3
    (path,) = (p for p in md.glob("*.parquet") if p.name in record_file(md).read_text())
    whole = path.read_bytes()
    path.write_bytes(whole[:-12] + bytes([whole[-12] ^ 1]) + whole[-11:])
    with pytest.raises(MetadataCorruptError, match="differs from its commit record"):
        open_snapshot(DISK, str(md))


def test_parts_are_of_the_committed_file(tmp_path: Path) -> None:
    """[MDS-D-2] [MDS-D-1] Tasks verify their parts of a file as the driver does."""
    md = committed(tmp_path / "i", WriteOptions())
    snapshot, path = opened(md), metadata_file(md)
    wanted: set[Requirement] = {("minmax", ("k",))}
    (part,) = parts_of(snapshot.metadata_files, [(0, 0)], wanted, has_names=True)
    whole = path.read_bytes()

    def table_from(data: bytes) -> MetadataTable:
        pieces = [data[-part.tail :], *(data[start : start + length] for start, length in part.ranges)]
        return part.table(len(data).to_bytes(8, "little") + b"".join(pieces), wanted, has_names=True)

    assert len(table_from(whole)) == 2
    assert part.digest == footer_digest(path)
    start, length = part.ranges[0]
    for at, what in ((len(whole) - 12, "differs from its commit record"), (start + length - 1, "CRC")):
        with pytest.raises(MetadataCorruptError, match=what):
            table_from(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
