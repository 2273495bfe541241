"""An index can be migrated from each version to each other version. Rules: specs/metadatastore.rst, [MDS-M]."""

from __future__ import annotations

import itertools
import shutil
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from tests.helpers import Counted
from tests.metadatastore.samples import (
    FOREIGN,
    ROOT,
    Crash,
    FaultyStorage,
    array_of,
    assert_same,
    bloomfilter,
    commit,
    files_of,
    golden_directories,
    metadata_files_of,
    minmax,
    opened,
    record_of,
    rewrite,
    table_of,
    valuelist,
)
from xskip.errors import MetadataNotFoundError, MetadataVersionError, UnsupportedTypeError
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.metadatastore.codec import encode
from xskip.metadatastore.commit import find_live, publish
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.snapshot import file_versions
from xskip.metadatastore.versions import WriteOptions

DISK = LocalStorage()
NAMES = [f"{ROOT}/p={n}/f{n}" for n in range(3)]
PAIRS = list(itertools.permutations(range(5), 2))


def sample(version: int) -> MetadataTable:
    """Return a table with all three index types, and with partitions if the version supports them."""
    bloomed = bloomfilter("s", [[b"x"], [], None])
    parts = [PartitionColumn("p", "int", array_of("int", [0, 1, 2]))] if version == 4 else []
    bounds = minmax("a.b", "bigint", [1, 2, None], [5, 6, None], [False, False, True])
    return table_of(files_of(NAMES), [bounds, valuelist("s", "string", [["x"], [], None]), bloomed], parts)


def ours(md: str, scratch: Path, version: int) -> None:
    """Commit an index of xskip in a version, with two files."""
    tables = [sample(version).take(pa.array(rows)) for rows in ([0, 1], [2])]
    files = metadata_files_of(tables, scratch, WriteOptions(version))
    publish(DISK, md, None, files, record_of(entry for _, entry in files))


def content(table: MetadataTable) -> MetadataTable:
    """Return a table with sorted parameters, because lists of parameters are sorted."""
    from dataclasses import replace

    columns = [
        replace(c, definition=replace(c.definition, params=tuple(sorted(c.definition.params)), types=()))
        for c in table.indexes.values()
    ]
    return MetadataTable(table.files, table.partitions, {c.definition.key: c for c in columns})


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_every_pair(before: int, after: int, tmp_path: Path, counted: Counted) -> None:
    """[MDS-M-1] [MDS-M-2] [MDS-M-3] All 20 pairs keep every value; version 4 adds partitions from file names."""
    md = str(tmp_path / "md")
    ours(md, tmp_path / "s", before)
    record = opened(md).record
    result = Migration(DISK, md, after).run()
    assert (result.before, result.after, result.files, result.dry_run, result.problem) == (
        (before,),
        after,
        3,
        False,
        "",
    )
    assert result.columns
    now = opened(md)
    assert {version for _, version in file_versions(DISK, md)} == {after} == {now.version}
    assert now.is_ours
    assert now.record is not None
    assert record is not None
    assert (now.record.read_profile, now.record.types, now.record.root) == (
        record.read_profile,
        record.types,
        record.root,
    )
    assert now.record.number == record.number + 1
    assert_same(content(now.load()), content(sample(after)))
    counted("pairs of versions migrated", 1)


def test_back_and_forth(tmp_path: Path) -> None:
    """[MDS-M-1] A way down to version 0 and up again loses only the order of parameters."""
    md = str(tmp_path / "md")
    ours(md, tmp_path / "s", 4)
    for version in (3, 2, 1, 0, 1, 2, 3, 4):
        Migration(DISK, md, version).run()
    assert_same(content(opened(md).load()), content(sample(4)))
    assert len(list(Path(md).glob("*.parquet"))) == 2


def test_nothing_to_do(tmp_path: Path) -> None:
    """[MDS-M-1] An index of the target version stays unchanged."""
    md = str(tmp_path / "md")
    ours(md, tmp_path / "s", 4)
    before = sorted(p.name for p in Path(md).rglob("*"))
    result = Migration(DISK, md, 4).run()
    assert (result.before, result.columns) == ((4,), ())
    assert sorted(p.name for p in Path(md).rglob("*")) == before


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_dry_run_changes_nothing(before: int, after: int, tmp_path: Path) -> None:
    """[MDS-M-4] A dry run reports the changes of the actual migration."""
    md = str(tmp_path / "md")
    ours(md, tmp_path / "s", before)
    files = sorted((str(p), p.stat().st_size) for p in Path(md).rglob("*"))
    told = Migration(DISK, md, after).run(dry_run=True)
    assert told.dry_run
    assert sorted((str(p), p.stat().st_size) for p in Path(md).rglob("*")) == files
    done = Migration(DISK, md, after).run()
    assert told.columns == done.columns
    names = {f.schema.version: [i.column for i in f.schema.indexes] for f in opened(md).metadata_files}
    assert {c.after for c in told.columns if c.after and not c.after.startswith("virtual_")} <= set(names[after])


def test_what_a_migration_says(tmp_path: Path) -> None:
    """[MDS-M-4] The result has the old and the new name of each column, and the kind of change."""
    md = str(tmp_path / "md")
    ours(md, tmp_path / "s", 1)
    changes = {(c.before, c.after): c.change for c in Migration(DISK, md, 4).run(dry_run=True).columns}
    assert changes == {
        ("a.b_minmax", "a$#$b_xskipminmax_5"): "renamed",
        ("s_valuelist", "s_valuelist_1"): "renamed",
        (
            "s_bloomfilter",
            "s_bloomfilter_1",
        ): "renamed; the format of the parameters changes; the class of the Bloom filters changes",
        ("", "virtual_…"): "partition values are added, if the dataset is partitioned",
    }


def test_another_program_s_index_stays_its_own(tmp_path: Path) -> None:
    """[MDS-M-5] A migration records no read profile for metadata of another program."""
    md = tmp_path / "md"
    md.mkdir()
    for version in (1, 3):  # files of several versions
        encode(
            sample(version).take(pa.array([version // 2])), ROOT, md / FOREIGN.format(version), WriteOptions(version)
        )
    assert Migration(DISK, str(md), 4).run().before == (1, 3)
    now = opened(md)
    assert not now.is_ours
    assert not now.live.foreign
    assert now.record is not None
    assert now.record.read_profile is None
    assert_same(content(now.load()), content(sample(4).take(pa.array([0, 1]))))


@pytest.mark.parametrize("mode", [{"after": False}, {"after": True}])
@pytest.mark.parametrize("dead", [True, False])
def test_a_migration_that_dies(mode: dict[str, bool], dead: bool, tmp_path: Path, counted: Counted) -> None:
    """[MDS-M-3] After a crash at any call, the old or the new index is complete; a second run finishes."""
    outcomes = []
    for k in itertools.count(1):
        md = str(tmp_path / f"md{k}")
        ours(md, tmp_path / "s", 2)
        faulty = FaultyStorage(k, dead=dead, **mode)
        with suppress(Crash):
            Migration(faulty, md, 4).run()
        if faulty.calls < k:
            break
        version = opened(md).version
        assert_same(content(opened(md).load()), content(sample(version)))
        outcomes.append(version)
        Migration(DISK, md, 4).run()
        assert_same(content(opened(md).load()), content(sample(4)))
    assert outcomes == sorted(outcomes)
    assert outcomes.count(2) >= 5
    assert outcomes.count(4) >= 2
    counted("fault points of a migration survived", len(outcomes))


def test_types_that_the_target_lacks(tmp_path: Path) -> None:
    """[MDS-M-3] A type that the target version lacks raises an error, and the index stays."""
    md = str(tmp_path / "md")
    commit(DISK, md, tmp_path / "s", [table_of(files_of(NAMES[:1]), [minmax("n", "timestamp_ntz", [1], [2])])])
    with pytest.raises(UnsupportedTypeError, match="version 0"):
        Migration(DISK, md, 0).run()
    assert opened(md).version == 4
    assert len(list(Path(md).glob("*.parquet"))) == 1


@pytest.mark.parametrize("target", [-1, 5])
def test_targets_that_do_not_exist(target: int, tmp_path: Path) -> None:
    """[MDS-V-3] [MDS-M-3] An unknown target version raises an error."""
    md = str(tmp_path / "md")
    ours(md, tmp_path / "s", 4)
    with pytest.raises(MetadataVersionError, match=f"version {target} "):
        Migration(DISK, md, target).run()


def test_an_index_of_a_newer_release(tmp_path: Path) -> None:
    """[MDS-V-3] [MDS-M-3] An index of a newer version is refused and stays unchanged."""
    md = tmp_path / "md"
    md.mkdir()
    path = md / FOREIGN.format(0)
    encode(sample(4), ROOT, path)
    import pyarrow.parquet as pq

    key = b"org.apache.spark.sql.parquet.row.metadata"
    rewrite(path, {key: pq.read_metadata(path).metadata[key].replace(b'"version":4', b'"version":9')})
    assert file_versions(DISK, str(md)) == ((path.name, 9),)
    with pytest.raises(MetadataVersionError, match=r"version 9 .*TOO_NEW.*use a newer xskip"):
        Migration(DISK, str(md), 4).run()
    assert [p.name for p in md.iterdir()] == [path.name]


def test_no_index(tmp_path: Path) -> None:
    """[MDS-M-3] A migration without an index raises an error."""
    with pytest.raises(MetadataNotFoundError):
        Migration(DISK, str(tmp_path), 4).run()


def test_goldens_keep_every_value(shared: Path, tmp_path: Path, counted: Counted) -> None:
    """[MDS-M-1] [MDS-M-2] Each golden directory keeps its values, and so its verdicts, in each version."""
    migrated = lacking = 0
    for number, directory in enumerate(golden_directories(shared)):
        before = opened(directory)
        for target in range(5):
            md = tmp_path / f"{number}-{target}"
            shutil.copytree(directory, md)
            try:
                Migration(DISK, str(md), target).run()
            except UnsupportedTypeError:
                assert target == 0
                lacking += 1
                continue
            after, known = content(opened(md).load()), content(before.load())
            assert after.files == known.files
            for key, column in known.indexes.items():
                now = after.indexes[key]
                same = repr(now.values.to_pylist()) == repr(column.values.to_pylist()) or target == 0  # NaN is NaN
                assert same, (directory, target, key)
                assert now.values.null_count >= column.values.null_count
            migrated += 1
    assert migrated + lacking == 5 * 153
    assert lacking <= 5
    counted("goldens migrated to a version with every value", migrated)


def test_find_live_after_a_migration(tmp_path: Path) -> None:
    """[MDS-M-3] The files of the former version are removed, and the record names only the new files."""
    md = str(tmp_path / "md")
    ours(md, tmp_path / "s", 3)
    old = set(opened(md).live.names)
    Migration(DISK, md, 4).run()
    live = find_live(DISK, md)
    assert live is not None
    assert not old & set(live.names)
    assert {p.name for p in Path(md).glob("*.parquet")} == set(live.names)
