"""The hook's snapshots against plain Python: packed tables of files, look-ups by path, answers and slices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.bridge.java_snapshots import TOKEN, JavaSnapshots, SkipMask, file_table
from xskip.metadata.table import MetadataTable
from xskip.protocol.answer import Answer, Refusal, Section
from xskip.protocol.file_table import partition_texts

ALPHABET = [
    *"abcxyz019._=-",
    " ",
    "%",
    "#",
    "?",
    "+",
    "~",
    "'",
    '"',
    "\\",
    "ü",
    "é",
    "日",
    "\U0001f600",
    "\x7f",
    "\u2028",
]
PARTITIONS = [("a", 1), ("a", None), ("ü %\U0001f600", -5), (None, 2**31 - 1), ('"\\\n\x7f', 0), ("", 0)]
#: More files than two slices of a listing hold.
MANY = 18_000
File = tuple[str, int | None, int]


@pytest.fixture(scope="module")
def java(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> JavaSnapshots:
    return JavaSnapshots(session, tmp_path_factory.mktemp("listed"))


def random_name(random: np.random.Generator) -> str:
    return "".join(random.choice(ALPHABET, random.integers(1, 12)))


def random_files(random: np.random.Generator, count: int) -> list[File]:
    """Files with different names, of which some have an unknown size."""
    files: list[File] = []
    for i in range(count):
        size = None if random.random() < 0.1 else int(random.integers(0, 2**40))
        files.append((f"/lake/d{random_name(random)}/{i}{random_name(random)}", size, int(random.integers(0, 2**42))))
    return files


def random_table(random: np.random.Generator, count: int, *, partitioned: bool) -> MetadataTable:
    chosen = [PARTITIONS[i] for i in random.integers(0, len(PARTITIONS), count)] if partitioned else None
    return file_table(random_files(random, count), chosen)


def with_sizes(files: list[File]) -> list[File]:
    """The files as a file system lists them, which knows all sizes."""
    return [(name, 5 if size is None else size, time) for name, size, time in files]


@pytest.mark.parametrize("count", [0, 1, 2, 40])
@pytest.mark.parametrize("partitioned", [True, False])
def test_file_table(java: JavaSnapshots, count: int, partitioned: bool) -> None:
    """[JVM-SN-1] The hook reads the names, sizes, times and partitions that Python packs."""
    whole = random_table(np.random.default_rng(count), count + 7, partitioned=partitioned)
    table = whole.take(np.arange(3, count + 3))
    for packed in (table, MetadataTable(_sliced(whole, count).files, table.partitions)):
        read = java.table(packed)
        of, texts = partition_texts(table)
        assert read.count() == count
        assert list(read.partitionValues()) == (texts if count else [])
        rows = [(read.path(i), read.length(i), read.time(i), read.partition(i)) for i in range(count)]
        files = table.files
        sizes = files.sizes.fill_null(-1).to_pylist()
        expected = zip(files.names.to_pylist(), sizes, files.modified.to_pylist(), of.tolist(), strict=True)
        assert rows == list(expected)


def _sliced(table: MetadataTable, count: int) -> MetadataTable:
    """The same rows of a table, whose arrays do not start at the beginning of their buffers."""
    files = table.files
    columns = (files.names.slice(3, count), files.sizes.slice(3, count), files.modified.slice(3, count))
    return MetadataTable(type(files)(*columns))


def test_listing(java: JavaSnapshots) -> None:
    """[JVM-LS-1] A listing reaches Python with the names, sizes, times, paths and partition values of its files."""
    table = random_table(np.random.default_rng(1), 3000, partitioned=True)
    of, texts = partition_texts(table)
    order = np.argsort(of, kind="stable")
    listing = java.listing(table)
    packed, expected = java.packed(listing), table.files.take(order)
    assert len(packed.files()) == 3000
    assert packed.files().names.equals(expected.names)
    assert packed.files().sizes.equals(expected.sizes)
    assert packed.files().modified.equals(expected.modified)
    assert packed.table.partition_of.tolist() == of[order].tolist()
    assert java.partition_values(listing) == texts
    some = np.array([2999, 0, 7, 7])
    assert packed.paths(some) == [f"file:{expected.names[int(i)]}" for i in some]
    assert packed.paths(np.array([], np.int64)) == []


def test_empty_listing(java: JavaSnapshots) -> None:
    listing, snapshot = java.listing(file_table([])), java.snapshot(file_table([]))
    assert java.packed(listing).files().names.to_pylist() == []
    assert java.filtered(listing, snapshot, SkipMask(np.zeros(0, bool)).data).counts == [0, 0, 0, 0, 0]


@pytest.mark.parametrize("count", [1, 2, 9, 700])
def test_ordinals(java: JavaSnapshots, count: int) -> None:
    """[JVM-SN-2] A look-up finds each file of the snapshot with its size and time, in any order, and no other file."""
    random = np.random.default_rng(count)
    files = random_files(random, 4 * count)
    known, listed = files[: 3 * count], with_sizes(files)
    expected = {name: i for i, (name, _, _) in enumerate(known)} | {name: -1 for name, _, _ in files[3 * count :]}
    for i in range(count, 2 * count):  # changed files
        name, size, time = listed[i]
        if i % 2:
            listed[i], expected[name] = (name, size, time + 1), -1
        else:
            listed[i], expected[name] = (name, (size or 0) + 1, time), i if known[i][1] is None else -1
    snapshot = java.snapshot(file_table(known))
    for order in (np.arange(len(listed)), random.permutation(len(listed))):
        listing = java.listing(file_table([listed[i] for i in order]))
        assert java.ordinals(listing, snapshot, len(known)) == expected


def test_repeated_paths(java: JavaSnapshots) -> None:
    """A look-up finds the first of equal files, and the one with the listed time among files with the same path."""
    known: list[File] = [
        ("/lake/a", 1, 10),
        ("/lake/b", 1, 10),
        ("/lake/a", 1, 11),
        ("/lake/b", 1, 10),
        ("/lake/a", 2, 11),
    ]
    snapshot = java.snapshot(file_table(known))
    for name, size, time, ordinal in (
        ("a", 1, 10, 0), ("a", 1, 11, 2), ("a", 2, 11, 4), ("a", 2, 10, -1), ("b", 1, 10, 1), ("b", 1, 11, -1)
    ):  # fmt: skip
        listing = java.listing(file_table([(f"/lake/{name}", size, time)]))
        assert java.ordinals(listing, snapshot, len(known)) == {f"/lake/{name}": ordinal}


def slot_of(path_hash: int, size: int, time: int, capacity: int) -> int:
    """The slot of a file in the hash table of a snapshot, as ``FileSnapshot`` computes it."""
    mixed = (path_hash + 31 * (time + 31 * size) * 0x9E3779B97F4A7C15) % 2**64
    return (mixed ^ mixed >> 32) % capacity


def test_colliding_files(java: JavaSnapshots, spark: SparkSession) -> None:
    """Files whose hashes fall on the last slot of the table fill the slots from the first on."""
    count, capacity, size, time = 32, 64, 100, 1_700_000_000_000
    rows = spark.range(10_000).select(F.format_string("/lake/f%d", "id").alias("name"))
    hashed = rows.select("name", F.xxhash64("name")).collect()
    names = [name for name, path_hash in hashed if slot_of(path_hash, size, time, capacity) == capacity - 1]
    assert len(names) > 2 * count
    known = names[:count]
    snapshot = java.snapshot(file_table([(name, size, time) for name in known]))
    expected = dict.fromkeys(names, -1) | {name: i for i, name in enumerate(known)}
    shuffled = np.random.default_rng(5).permutation(names).tolist()
    listing = java.listing(file_table([(name, size, time) for name in shuffled]))
    assert java.ordinals(listing, snapshot, count) == expected


def test_partitions(java: JavaSnapshots) -> None:
    """[JVM-AN-2] An answer that depends on partition values keeps files that the query lists with other values."""
    random = np.random.default_rng(3)
    files = with_sizes(random_files(random, 300))
    kept_in, listed_in = ([PARTITIONS[i] for i in random.integers(0, 5, 300)] for _ in range(2))
    listed_in = [("new", 1) if i % 10 == 0 else partition for i, partition in enumerate(listed_in)]
    snapshot, table = java.snapshot(file_table(files, kept_in)), file_table(files, listed_in)
    listing, skips = java.listing(table), random.random(300) < 0.8
    for by_values in (True, False):
        data = SkipMask(skips, uses_partitions=by_values).data
        filtered = java.filtered(listing, snapshot, data, "p string, q int")
        keeps = [not s or (by_values and a != b) for s, a, b in zip(skips, kept_in, listed_in, strict=True)]
        kept = [file for file, keep in zip(files, keeps, strict=True) if keep]
        assert sorted(filtered.names) == sorted(name for name, _, _ in kept)
        listed_bytes, kept_bytes = (sum(size or 0 for _, size, _ in some) for some in (files, kept))
        assert filtered.counts == [300, listed_bytes, 300, len(kept), kept_bytes]


def test_unusable_answers(java: JavaSnapshots) -> None:
    """[JVM-AN-1] An answer for another snapshot, a short answer, and no answer at all keep every file."""
    files = with_sizes(random_files(np.random.default_rng(4), 20))
    snapshot, listing, skips = java.snapshot(file_table(files)), java.listing(file_table(files)), np.ones(20, bool)
    usable = SkipMask(skips)
    assert java.filtered(listing, snapshot, usable.data).names == []
    whole, several = Answer.bits(skips), {Section.WHOLE: b"\0" * 9, Section.SKIP: Answer.bits(skips)}
    assert java.filtered(listing, snapshot, Answer(TOKEN, 0, False, several).to_bytes()).names == []
    unusable = (
        SkipMask(skips, token=8).data, Refusal("no").to_bytes(), b"B" + usable.data[1:], usable.data[:-1],
        usable.data[:13], usable.data[:5], b"", None, Answer(TOKEN, 0, False, {}).to_bytes(),
        Answer(TOKEN, 0, False, {Section.SKIP: whole[:-1]}).to_bytes(),
        Answer(TOKEN, 0, False, {Section.WHOLE: whole}).to_bytes(),
        Answer(TOKEN, 0, False, several).to_bytes()[:30],
    )  # fmt: skip
    for data in unusable:
        filtered = java.filtered(listing, snapshot, data)
        assert filtered.names == [name for name, _, _ in files]
        assert filtered.counts[2:4] == [20, 20]
    assert java.filtered(listing, None, usable.data).counts[2:4] == [0, 20]


@pytest.fixture(scope="module")
def long_listing() -> tuple[list[File], MetadataTable]:
    """The files of a snapshot, and a table of listed files in which each seventh is not in the snapshot."""
    random = np.random.default_rng(6)
    files = [(f"/lake/p={i % 6}/{i}ü", int(random.integers(1, 2**30)), i) for i in range(MANY)]
    listed = [(f"{name}-new" if i % 7 == 0 else name, size, time) for i, (name, size, time) in enumerate(files)]
    return list(files), file_table(listed, [PARTITIONS[i % 6] for i in range(MANY)])


def test_slices(java: JavaSnapshots, long_listing: tuple[list[File], MetadataTable]) -> None:
    """Several slices of a listing give the results of a listing per directory, which is a single slice."""
    files, table = long_listing
    snapshot, listing = java.snapshot(file_table(files)), java.listing(table)
    answer = SkipMask(np.random.default_rng(7).random(MANY) < 0.5).data
    together = java.filtered(listing, snapshot, answer)
    apart = [java.filtered(listing.subList(i, i + 1), snapshot, answer) for i in range(listing.size())]
    assert together.names == [name for filtered in apart for name in filtered.names]
    assert together.counts == np.sum([filtered.counts for filtered in apart], axis=0).tolist()
    assert 0 < together.counts[3] < together.counts[2] < MANY == together.counts[0]


def test_remembered_ordinals(java: JavaSnapshots, long_listing: tuple[list[File], MetadataTable]) -> None:
    """A snapshot remembers the ordinals of the latest listing; a listing with shifted files gets its own ordinals."""
    files, table = long_listing
    snapshot, listing = java.snapshot(file_table(files)), java.listing(table)
    ordinals = {name: i for i, (name, _, _) in enumerate(files)}
    rotated = java.rotated(listing)
    whole, parts = [listing, listing], [rotated.subList(1, 6), rotated.subList(0, 5)]
    random = np.random.default_rng(9)
    for listed in (*whole, rotated, *whole, *parts, rotated):  # the rotated listing is as long as the whole one
        skips = random.random(MANY) < 0.5
        names = java.packed(listed).files().names.to_pylist()
        expected = [name for name in names if name not in ordinals or not skips[ordinals[name]]]
        assert java.filtered(listed, snapshot, SkipMask(skips).data).names == expected


def test_filled_snapshot(java: JavaSnapshots, spark: SparkSession, tmp_path: Path) -> None:
    """[JVM-SN-2] A snapshot that jobs fill has the ordinals and the partitions of a snapshot that Python packs."""
    random = np.random.default_rng(8)
    files = random_files(random, 200)
    partitions = [PARTITIONS[i] for i in random.integers(0, 5, 200)]
    table = file_table(files, partitions)
    filler = java.filler(200)
    rows = in_parquet(spark, table.take(random.permutation(200)), table, tmp_path / "rows.parquet")
    for part in ("ordinal < 90", "ordinal >= 90"):
        filler.add(rows.where(part)._jdf)
        if part == "ordinal < 90":
            with pytest.raises(Py4JJavaError, match="no job has returned the metadata of 110 files"):
                filler.register("/snapshots/filled")
    with pytest.raises(Py4JJavaError, match="a file twice"):
        filler.add(rows.where("ordinal = 7")._jdf)
    filler.register("/snapshots/filled")
    filled, packed = java.registered("/snapshots/filled"), java.snapshot(table)
    listing = java.listing(file_table(with_sizes(files), [partitions[i - 1] for i in range(200)]))
    assert java.ordinals(listing, filled, 200) == {name: i for i, (name, _, _) in enumerate(files)}
    answer = SkipMask(random.random(200) < 0.7, uses_partitions=True).data
    results = [java.filtered(listing, snapshot, answer, "p string, q int") for snapshot in (filled, packed)]
    assert results[0] == results[1]
    assert 0 < results[0].counts[3] < 200


def in_parquet(spark: SparkSession, table: MetadataTable, ordered: MetadataTable, path: Path) -> DataFrame:
    """The rows of a table as a filler reads them; a file's ordinal is its position in the ordered table."""
    of, texts = partition_texts(table)
    files = table.files
    columns = {
        "ordinal": pc.index_in(files.names, ordered.files.names),
        "path": files.names,
        "size": files.sizes.fill_null(-1),
        "time": files.modified,
        "partition": [texts[i] for i in of],
    }
    pq.write_table(pa.table(columns), path)
    hashes = ("ordinal", "xxhash64(path)", "xxhash64('xskip', path)", "size", "time", "partition")
    return spark.read.parquet(str(path)).selectExpr(*hashes)
