"""Compaction merges many metadata files into few and changes nothing else. Rules: specs/metadatastore.rst, [MDS-C]."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.helpers import Counted
from tests.metadatastore.samples import (
    FOREIGN,
    ROOT,
    VALUES,
    Crash,
    FaultyStorage,
    array_of,
    bloomfilter,
    files_of,
    golden_directories,
    metadata_files_of,
    minmax,
    numbered_table,
    opened,
    put_foreign,
    record_of,
    replace_all,
    table_of,
    valuelist,
)
from xskip.errors import CommitConflictError, KeyNotAvailableError, MetadataCorruptError, MetadataNotFoundError
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable, PartitionColumn
from xskip.metadatastore.codec import GROUP_ROWS, decode, encode
from xskip.metadatastore.commit import Operation, find_live, publish
from xskip.metadatastore.encryption import use_kms
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.kms import LocalKms
from xskip.metadatastore.maintenance.compact import optimize
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import Snapshot, open_snapshot
from xskip.metadatastore.versions import WriteOptions
from xskip.results.operations import OptimizeResult
from xskip.types.datatypes import Opaque

DISK = LocalStorage()
LIMITS = WriteOptions()
KEYS = {label: label.encode().ljust(16, b"!") for label in ("k1", "k2", "footer")}
SKETCH = Opaque('{"type":"udt","class":"com.acme.SketchUDT","pyClass":null,"sqlType":"binary"}', pa.binary())

# partition, least value and name of eight files: what their order is by; None is NULL, or not known
ROWS = [
    (2, 5, "a"),
    (1, 7, "b"),
    (None, 1, "c"),
    (1, None, "d"),
    (1, 7, "a"),
    (2, -3, "h"),
    (1, 2, "z"),
    (None, 0, "y"),
]
ORDER = ["z2", "a7", "b7", "d", "h-3", "a5", "y0", "c1"]
WITHOUT_PARTITIONS = ["h-3", "y0", "c1", "z2", "a5", "a7", "b7", "d"]


@pytest.fixture(autouse=True)
def _no_client() -> Iterator[None]:
    yield
    use_kms(None)


def name_of(low: int | None, name: str) -> str:
    return f"{ROOT}/{name}{'' if low is None else low}"


#: Bounds in the sample are not known of all files.
OWN = frozenset({("minmax", ("a.b",))})


def sample(version: int) -> MetadataTable:
    """Return a table of eight files with all kinds of indexes, with, without and with unknown values."""
    lows = [low for _, low, _ in ROWS]
    nothing = [low is None for low in lows]
    sketch = IndexColumn(
        IndexDefinition("sketch", ("u", "w"), (("n", "1"),)), SKETCH, pa.array([b"", None, *[b"x"] * 6], pa.binary())
    )
    indexes = [
        *([sketch] if version else []),
        valuelist("s", "string", [None, [], ["x", "\U0001f600"], *[[name] for _, _, name in ROWS[3:]]]),
        minmax("a.b", "bigint", lows, [None if low is None else low + 1 for low in lows], nothing),
        minmax("t", "string", list("hgfedcba"), list("hgfedcba")),
        bloomfilter("u", [[b"x"], [], None, *[[name.encode()] for _, _, name in ROWS[3:]]]),
    ]
    partition = PartitionColumn("p", "int", array_of("int", [part for part, _, _ in ROWS]))
    files = files_of([name_of(low, name) for _, low, name in ROWS])
    sizes = pa.array([None, *range(7)], pa.int64())
    return table_of(replace(files, sizes=sizes), indexes, [partition] if version == 4 else [])


def parts(table: MetadataTable, *sizes: int) -> list[MetadataTable]:
    """Return a table cut into pieces."""
    ends = list(itertools.accumulate(sizes))
    assert ends[-1] == len(table)
    return [table.take(pa.array(range(a, b), pa.int64())) for a, b in itertools.pairwise([0, *ends])]


def put(md: str, scratch: Path, tables: Iterable[MetadataTable], write_options: WriteOptions = LIMITS) -> None:
    """Commit an index of xskip with at least one file for each table."""
    files = metadata_files_of(tables, scratch, write_options)
    record = replace(record_of(entry for _, entry in files), version=write_options.version)
    publish(DISK, md, find_live(DISK, md), files, record)


def rows_of(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return all metadata of each file as text, in any order of files, rows and columns; NaN equals NaN."""
    found = []
    for file in snapshot.metadata_files:
        table = decode(file)
        assert not any(index.is_locked for index in table.indexes.values())
        for i in range(len(table)):
            said = (
                table.files[i],
                file.schema.version,
                sorted(repr((p.name, p.type, p.values[i].as_py())) for p in table.partitions.values()),
                sorted(repr((c.definition, c.storage, c.values[i].as_py())) for c in table.indexes.values()),
            )
            found.append((table.files[i].name, repr(said)))
    return sorted(found)


def names_of(md: str | Path) -> list[list[str]]:
    """Return the names below the root in each metadata file, in order."""
    return [[n.rpartition("/")[2] for n in decode(f, ()).files.names.to_pylist()] for f in opened(md).metadata_files]


def listing(md: str | Path) -> list[tuple[str, bytes]]:
    return sorted((str(path), path.read_bytes()) for path in Path(md).rglob("*") if path.is_file())


def assert_nothing_to_do(md: str | Path, limits: WriteOptions = LIMITS) -> None:
    """Assert that compaction writes nothing, and that its result shows this."""
    before = listing(md)
    result = optimize(DISK, str(md), limits)
    assert listing(md) == before
    assert (result.metadata_files_before, result.bytes_before) == (result.metadata_files_after, result.bytes_after)
    assert result.metadata_files_after == len(list(Path(md).glob("*.parquet")))


@pytest.mark.parametrize("version", range(5))
def test_every_version(version: int, tmp_path: Path) -> None:
    """[MDS-C-14] [MDS-C-15] A single file contains every value in order, and the record stays."""
    md = str(tmp_path / "md")
    sizes_of_parts = (1, 2, 1, 1, 3) if version else (3, 2, 1, 1, 1)
    put(md, tmp_path / "s", parts(sample(version), *sizes_of_parts), WriteOptions(version, own=OWN))
    before = opened(md)
    known = before.load(())
    sizes = sum(file.size for file in before.record.metadata_files) if before.record else 0
    result = optimize(DISK, md, LIMITS)
    after = opened(md)
    assert rows_of(after) == rows_of(before)  # which were open all the time: a reader goes on with what it has
    assert after.load(()).files.names.to_pylist() != known.files.names.to_pylist()
    assert names_of(md) == [ORDER if version == 4 else WITHOUT_PARTITIONS]
    assert after.metadata_files[0].schema == before.metadata_files[0].schema  # the order of columns, too
    assert before.record is not None
    assert after.record is not None
    assert after.is_ours
    expected = replace(before.record, created=0, metadata_files=(), operation=Operation("optimize"))
    assert replace(after.record, number=1, created=0, metadata_files=()) == expected
    assert after.record.number == 2
    (file,) = Path(md).glob("*.parquet")
    assert (file.name,) == after.live.names
    assert replace(result, seconds=0) == OptimizeResult(md, 5, 1, 8, sizes, file.stat().st_size, 0)
    assert "5 -> 1" in str(result)
    assert_nothing_to_do(md)


def test_version_0_knows_types_by_values_alone(tmp_path: Path) -> None:
    """[MDS-C-14] [MDS-Z-4] A file with only empty lists is not merged with a file of typed lists."""
    md = str(tmp_path / "md")
    put(md, tmp_path / "s", parts(sample(0), 1, 1, 1, 1, 1, 3), WriteOptions(0))
    before = opened(md)
    optimize(DISK, md, LIMITS)
    assert rows_of(opened(md)) == rows_of(before)
    assert names_of(md) == [["a5", "b7"], ["h-3", "y0", "c1", "z2", "a7"], ["d"]]
    assert_nothing_to_do(md)


@pytest.mark.parametrize("kind", VALUES)
def test_every_type_has_an_order(kind: str, tmp_path: Path) -> None:
    """[MDS-C-15] Rows are ordered by partition columns and bounds of every type, with unknown values last."""
    values = VALUES[kind]
    bounds = minmax("k", kind, [values[1], None, values[0]], [values[1], None, values[0]])
    partition = PartitionColumn("p", kind, array_of(kind, [values[0]] * 3))
    table = table_of(files_of([f"{ROOT}/{name}" for name in ("b", "a", "c")]), [bounds], [partition])
    by_partition = PartitionColumn("p", kind, array_of(kind, [values[1], None, values[0]]))
    for number, each in enumerate((table, replace(table, partitions={"p": by_partition}, indexes={}))):
        md = str(tmp_path / f"md{number}")
        put(md, tmp_path / "s", parts(each, 1, 1, 1))
        optimize(DISK, md, LIMITS)
        assert names_of(md) == [["c", "b", "a"]]


@pytest.mark.parametrize("plaintext", [True, False], ids=["plaintext footer", "encrypted footer"])
@pytest.mark.parametrize("version", [1, 4])
def test_encrypted(version: int, plaintext: bool, tmp_path: Path) -> None:
    """[MDS-C-14] [ENC-R-2] Labels stay; without a key, nothing changes and the error names the key."""
    use_kms(LocalKms(KEYS))
    labels = {"minmax": "k1", "valuelist": "k2"}
    table = sample(version)
    keyed = {
        key: replace(c, definition=replace(c.definition, key_label=labels.get(c.definition.name)))
        for key, c in table.indexes.items()
    }
    md = str(tmp_path / "md")
    put(
        md,
        tmp_path / "s",
        parts(replace(table, indexes=keyed), 3, 5),
        WriteOptions(version, "footer", plaintext, own=OWN),
    )
    before, there = opened(md), listing(md)
    use_kms(LocalKms({label: KEYS[label] for label in ("k1", "footer")}))
    with pytest.raises(KeyNotAvailableError, match="k2"):
        optimize(DISK, md, LIMITS)
    assert listing(md) == there
    use_kms(LocalKms(KEYS))
    optimize(DISK, md, LIMITS)
    after = opened(md)
    assert rows_of(after) == rows_of(before)
    assert len(after.metadata_files) == 1
    assert after.metadata_files[0].schema.encryption == before.metadata_files[0].schema.encryption
    assert after.write_options == before.write_options == WriteOptions(version, "footer", plaintext, own=OWN)
    assert after.live.names[0] not in before.live.names
    assert b"/lake/events" not in (Path(md) / after.live.names[0]).read_bytes().replace(
        b'"tableIdentifier":"/lake/events"', b""
    )
    assert_nothing_to_do(md)


def numbers(md: str | Path) -> list[list[int]]:
    return [[int(name.removeprefix("f")) for name in names] for names in names_of(md)]


def shuffled(count: int, seed: int = 7) -> MetadataTable:
    """Return the files ``f<n>`` with bounds n to n + 1 in random order."""
    rows = list(range(count))
    random.Random(seed).shuffle(rows)
    return numbered_table(0, count).take(pa.array(rows))


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        (WriteOptions(rows_per_file=100), [100]),
        (WriteOptions(rows_per_file=99), [50, 50]),
        (WriteOptions(rows_per_file=30), [25, 25, 25, 25]),
        (WriteOptions(rows_per_file=1), [1] * 100),
        (WriteOptions(bytes_per_file=1), [1] * 100),
        (WriteOptions(bytes_per_file=numbered_table(0, 100).nbytes // 2 + 99), [50, 50]),
        (WriteOptions(rows_per_file=9, bytes_per_file=numbered_table(0, 100).nbytes // 3), [9] * 11 + [1]),
    ],
)
def test_limits(limits: WriteOptions, sizes: list[int], tmp_path: Path) -> None:
    """[MDS-C-10] [MDS-C-15] The result has few files within the limits, with separate ranges."""
    md = str(tmp_path / "md")
    put(md, tmp_path / "s", parts(shuffled(100), *[1, 5, 14] * 5))
    before = rows_of(opened(md))
    result = optimize(DISK, md, limits)
    assert rows_of(opened(md)) == before
    assert [len(each) for each in numbers(md)] == sizes
    assert list(itertools.chain(*numbers(md))) == list(range(100))
    assert (result.metadata_files_before, result.metadata_files_after) == (15, len(sizes))
    record = opened(md).record
    assert record is not None
    assert [entry.rows for entry in record.metadata_files] == sizes
    assert result.bytes_after == sum(path.stat().st_size for path in Path(md).glob("*.parquet"))
    assert_nothing_to_do(md, limits)


def test_a_file_with_too_many_rows(tmp_path: Path) -> None:
    """[MDS-C-10] [MDS-C-14] A file above the limit is split."""
    md = str(tmp_path / "md")
    put(md, tmp_path / "s", [shuffled(100)])
    assert_nothing_to_do(md)
    assert optimize(DISK, md, WriteOptions(rows_per_file=40)).metadata_files_after == 3
    assert [len(each) for each in numbers(md)] == [34, 34, 32]
    assert_nothing_to_do(md, WriteOptions(rows_per_file=40))


def test_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-15] The rows in memory take at most the bytes of a file, rounded to whole files."""
    md = str(tmp_path / "md")
    put(md, tmp_path / "s", parts(shuffled(100), 50, 50))
    held = []

    def counted(table: MetadataTable, *arguments: Any) -> Any:
        held.append(len(table))
        return write_files(table, *arguments)

    monkeypatch.setattr("xskip.metadatastore.maintenance.compact.write_files", counted)
    optimize(DISK, md, WriteOptions(rows_per_file=9, bytes_per_file=numbered_table(0, 100).nbytes // 3))
    assert held == [27, 27, 27, 19]
    assert list(itertools.chain(*numbers(md))) == list(range(100))


def statistics(md: str | Path) -> list[list[tuple[int, int, int]]]:
    """Return, for each row group of each file, its rows, and the least and greatest minimum of k."""
    found = []
    for file in opened(md).metadata_files:
        groups = [file.footer.row_group(i) for i in range(file.footer.num_row_groups)]
        columns = [[g.column(i) for i in range(g.num_columns)] for g in groups]
        low = [next(c.statistics for c in each if c.path_in_schema == "k_minmax_1.min") for each in columns]
        found.append([(g.num_rows, s.min, s.max) for g, s in zip(groups, low, strict=True)])
    return found


def test_row_groups_can_be_told_apart(tmp_path: Path) -> None:
    """[MDS-C-15] The statistics of row groups do not overlap, so that a reader needs few row groups."""
    md = str(tmp_path / "md")
    put(md, tmp_path / "s", parts(shuffled(12_000), 3000, 8000, 1000))
    assert [len(groups) for groups in statistics(md)] == [1, 2, 1]
    assert all(least < 100 and greatest > 11_900 for (_, least, greatest), *_ in statistics(md))
    optimize(DISK, md, LIMITS)
    assert statistics(md) == [[(5000, 0, 4999), (5000, 5000, 9999), (2000, 10_000, 11_999)]]
    assert opened(md).rows == 12_000
    assert_nothing_to_do(md)
    put(md, tmp_path / "s", [shuffled(GROUP_ROWS + 1)])  # one file, whose row groups cannot be told apart
    assert optimize(DISK, md, LIMITS).metadata_files_before == 1
    assert statistics(md) == [[(5000, 0, 4999), (1, 5000, 5000)]]
    put(md, tmp_path / "s", [shuffled(GROUP_ROWS)])  # of one row group the order does not matter
    assert_nothing_to_do(md)


def test_a_row_group_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-15] A row group above the limit is split, although its rows are in order."""
    md = tmp_path / "md"
    with monkeypatch.context() as patch:
        patch.setattr("xskip.metadatastore.codec.GROUP_ROWS", 10**6)
        put_foreign(md, [numbered_table(0, 6000)])
    assert statistics(md) == [[(6000, 0, 5999)]]
    optimize(DISK, str(md), LIMITS)
    assert statistics(md) == [[(5000, 0, 4999), (1000, 5000, 5999)]]
    assert_nothing_to_do(md)


def test_files_of_other_schemas_stay_apart(tmp_path: Path) -> None:
    """[MDS-C-14] Files with different columns, types or versions are not merged."""
    one, two, three, four = parts(sample(4), 2, 2, 2, 2)
    wider = minmax("a.b", "int", [1, 2], [1, 2])  # another type
    unlike = {"plain": two, "fewer": replace(two, indexes={k: two.indexes[k] for k in list(two.indexes)[:1]})}
    unlike["typed"] = replace(two, indexes={**two.indexes, wider.definition.key: wider})
    unlike["no partitions"] = replace(two, partitions={})
    columns = [two.indexes[key] for key in reversed(list(two.indexes))]
    unlike["reversed"] = replace(two, indexes={c.definition.key: c for c in columns})
    for name, other in unlike.items():
        md = tmp_path / name
        put_foreign(md, [one, other, three])
        encode(replace(four, partitions={}), ROOT, md / FOREIGN.format(3), WriteOptions(2))
        before = rows_of(opened(md))
        result = optimize(DISK, str(md), LIMITS)
        joined = name in ("plain", "reversed")  # the order of columns says nothing
        assert rows_of(opened(md)) == before, name
        assert (result.metadata_files_before, result.metadata_files_after) == (4, 2 if joined else 3), name
        assert {file.schema.version for file in opened(md).metadata_files} == {2, 4}
        assert_nothing_to_do(md)


def test_what_footers_may_have_told_proves_nothing_afterwards(tmp_path: Path) -> None:
    """[MDS-C-14] [MDS-F-3] A file with only bounds is not merged with a file that has other indexes."""
    bounds, more = parts(numbered_table(0, 4), 2, 2)
    listed = valuelist("s", "string", [["a"], ["b"]])
    md = tmp_path / "md"
    put_foreign(md, [bounds, replace(more, indexes={**more.indexes, listed.definition.key: listed}), bounds])
    key = ("minmax", ("k",))
    before = opened(md).load_proven([key], ReadProfile("parquet")).indexes[key].values
    assert before.null_count == 6
    assert optimize(DISK, str(md), LIMITS).metadata_files_after == 2
    after = opened(md)
    assert not after.is_ours
    assert after.load_proven([key], ReadProfile("parquet")).indexes[key].values.null_count == 6


def test_another_program_s_metadata_stay_its_own(tmp_path: Path) -> None:
    """[MDS-C-14] [MDS-M-5] The record has no read profile, and none of the old files stays."""
    md = tmp_path / "md"
    put_foreign(md, parts(sample(4), 1, 1, 1, 5))
    before = rows_of(opened(md))
    optimize(DISK, str(md), LIMITS)
    after = opened(md)
    assert rows_of(after) == before
    assert (after.is_ours, after.live.foreign, len(after.metadata_files)) == (False, False, 1)
    assert after.record is not None
    assert (after.record.read_profile, after.record.number) == (None, 1)
    assert_nothing_to_do(md)


def test_goldens(shared: Path, tmp_path: Path, counted: Counted) -> None:
    """[MDS-C-14] A single file of Xskipper stays unchanged, and its pieces are merged."""
    joined = 0
    for number, directory in enumerate(golden_directories(shared)):
        whole, md = tmp_path / f"{number}-whole", tmp_path / str(number)
        shutil.copytree(directory, whole)
        assert_nothing_to_do(whole)
        (file,) = opened(whole).metadata_files
        pieces = [decode(file).take(pa.array(range(start, file.rows, 3), pa.int64())) for start in range(3)]
        md.mkdir()
        for each, piece in enumerate(pieces):
            encode(piece, file.schema.table_identifier, md / FOREIGN.format(each), WriteOptions(file.schema.version))
        before = opened(md)
        result = optimize(DISK, str(md), LIMITS)
        after = opened(md)
        assert rows_of(after) == rows_of(before), directory
        assert (result.metadata_files_before, result.files) == (3, file.rows)
        if file.schema.version:  # version 0 knows types by values alone
            assert result.metadata_files_after == 1, directory
            assert [n for n, _ in rows_of(after)] == [n for n, _ in rows_of(opened(whole))]
            assert after.metadata_files[0].schema == replace(file.schema, encryption=None), directory
        assert after.table_identifier == file.schema.table_identifier
        assert not after.is_ours
        assert_nothing_to_do(md)
        joined += result.metadata_files_after < result.metadata_files_before
    counted("goldens joined from pieces with every value", joined)


def test_another_program_has_added(tmp_path: Path) -> None:
    """[MDS-C-14] [MDS-M-5] After another program has added files, compaction demands a refresh()."""
    md = tmp_path / "md"
    put(str(md), tmp_path / "s", [numbered_table(0, 2), numbered_table(2, 4)])
    encode(numbered_table(4, 6), ROOT, md / FOREIGN.format(0))
    before = listing(md)
    with pytest.raises(MetadataCorruptError, match="refresh"):
        optimize(DISK, str(md), LIMITS)
    assert listing(md) == before


def test_no_index(tmp_path: Path) -> None:
    """[MDS-C-14] Compaction without an index raises an error."""
    with pytest.raises(MetadataNotFoundError):
        optimize(DISK, str(tmp_path), LIMITS)


def test_no_files(tmp_path: Path) -> None:
    """[MDS-C-10] [MDS-C-14] Files without rows become one file, which keeps the index definitions."""
    md = str(tmp_path / "md")
    put(md, tmp_path / "s", parts(sample(4).take(pa.array([], pa.int64())), 0, 0))
    before = opened(md)
    result = optimize(DISK, md, LIMITS)
    assert (result.metadata_files_before, result.metadata_files_after, result.files) == (2, 1, 0)
    assert opened(md).indexes == before.indexes
    assert opened(md).partitions == before.partitions
    assert_nothing_to_do(md)


class Racing(LocalStorage):
    """A storage on which another writer commits while files are added."""

    def __init__(self, md: str, scratch: Path) -> None:
        self._md, self._scratch, self._raced = md, scratch, False

    def add(self, local: Path, path: str) -> None:
        if not self._raced:
            self._raced = True
            replace_all(DISK, self._md, self._scratch, [numbered_table(7, 9)])
        super().add(local, path)


def test_another_writer_is_faster(tmp_path: Path) -> None:
    """[MDS-C-7] [MDS-C-14] The other writer's snapshot stays, without files of the slower writer."""
    md = str(tmp_path / "md")
    put(md, tmp_path / "s", parts(shuffled(10), 4, 6))
    with pytest.raises(CommitConflictError):
        optimize(Racing(md, tmp_path / "s"), md, LIMITS)
    assert numbers(md) == [[7, 8]]
    assert len(list(Path(md).glob("*.parquet"))) == 1


def test_a_reader_goes_on(tmp_path: Path) -> None:
    """[MDS-C-11] [MDS-C-14] A reader can read the old snapshot to its end, and a new reader sees the same files."""
    md = str(tmp_path / "md")
    put(md, tmp_path / "s", parts(shuffled(10), 4, 6))
    old = opened(md)
    optimize(DISK, md, LIMITS)
    names: Sequence[str] = old.load().files.names.to_pylist()
    assert names != sorted(names)
    new = open_snapshot(DISK, md, old)
    assert new is not None
    assert new is not old
    assert new.load().files.names.to_pylist() == sorted(names)


@pytest.mark.parametrize("mode", [{"after": False}, {"after": True}])
@pytest.mark.parametrize("dead", [True, False])
def test_one_that_dies(mode: dict[str, bool], dead: bool, tmp_path: Path, counted: Counted) -> None:
    """[MDS-C-3] [MDS-C-14] After a crash at any call, a snapshot is complete, and a second run finishes."""
    outcomes = []
    expected = None
    for k in itertools.count(1):
        md = str(tmp_path / f"md{k}")
        put(md, tmp_path / "s", parts(shuffled(10), 4, 1, 5))
        expected = expected or rows_of(opened(md))
        faulty = FaultyStorage(k, dead=dead, **mode)
        with suppress(Crash):
            optimize(faulty, md, WriteOptions(rows_per_file=5))
        if faulty.calls < k:
            break
        assert rows_of(opened(md)) == expected, f"call {k}"
        outcomes.append(len(opened(md).metadata_files))
        optimize(DISK, md, WriteOptions(rows_per_file=5))
        assert numbers(md) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
        assert rows_of(opened(md)) == expected
    assert outcomes == sorted(outcomes, reverse=True)
    assert outcomes.count(3) >= 5
    assert outcomes.count(2) >= 2
    assert set(outcomes) == {2, 3}
    counted("fault points of a commit survived", len(outcomes))
