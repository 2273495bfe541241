"""A metadata directory that xskip wrote and that is part of the repository must stay readable.

``XSKIP_WRITE_GOLDEN=1`` writes it again, which is correct only after a change of the format itself. Rules:
specs/metadatastore.rst, [MDS-V-1].
"""

from __future__ import annotations

import os
import shutil
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from tests.metadatastore.samples import array_of, bloomfilter, minmax, opened, table_of, valuelist
from xskip.metadata.data_files import DataFiles
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable, PartitionColumn
from xskip.metadatastore.commit import CommitRecord, publish
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.location import metadata_directory
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.snapshot import Snapshot
from xskip.types import bloom_bits
from xskip.types.datatypes import Array, Bloom, Opaque, Struct

ROOT = "s3a://bucket/lake/größe#1"
TABLE = "/lake/größe#1"
GOLDEN = Path(__file__).parent / "golden"
DIRECTORY = "9ce352d07bd2fc7399a910ac1860fdd77162325502491d8e3ad7fccbefa4ee96"
SKETCH = '{"type":"udt","class":"com.acme.SketchUDT","pyClass":null,"sqlType":"binary"}'


def golden_table() -> MetadataTable:
    """Return three files: one with all values, one without values, and an unknown one."""
    names = ["/lake/größe#1/p=1/a #%.parquet", "/lake/größe#1/p=1/b.parquet", "/lake/größe#1/p=2/c.parquet"]
    files = DataFiles(
        pa.array(names), pa.array([1234, None, 0], pa.int64()), pa.array([1_700_000_000_123, 1, 0], pa.int64())
    )
    unknown = [False, False, True]
    indexes = [
        minmax("k", "bigint", [-(2**63), None, None], [2**63 - 1, None, None], unknown),
        minmax("st.`x.y`", "decimal(38,10)", [Decimal("-1.5"), None, None], [Decimal("2.25"), None, None], unknown),
        minmax("t", "timestamp", [-30610224000_000000, None, None], [1_600_000_000_123456, None, None], unknown),
        valuelist("d", "date", [[-354285, 18262], [], None]),
        valuelist("s", "string", [["", "\U0001f600"], [], None]),
        bloomfilter("s", [[b"oslo", b"rome"], [], None]),
        IndexColumn(
            IndexDefinition("sketch", ("a", "b"), (("n", "1"),)),
            Opaque(SKETCH, pa.binary()),
            pa.array([b"1", b"", None], pa.binary()),
        ),
    ]
    return table_of(files, indexes, [PartitionColumn("p", "int", array_of("int", [1, 1, None]))])


def write_golden() -> None:
    shutil.rmtree(GOLDEN, ignore_errors=True)
    directory = GOLDEN / DIRECTORY
    scratch = GOLDEN / "scratch"
    scratch.mkdir(parents=True)
    files = write_files(golden_table(), TABLE, scratch, 0)
    reading = ReadProfile("avro", {"mode": "PERMISSIVE"}, {"spark.sql.caseSensitive": "false"})
    types = {"k": "bigint", "st.`x.y`": "decimal(38,10)", "t": "timestamp", "d": "date", "s": "string"}
    record = CommitRecord(0, ROOT, 4, tuple(entry for _, entry in files), reading, types, 0)
    publish(LocalStorage(), str(directory), None, files, record)
    shutil.rmtree(scratch)


@pytest.fixture
def golden() -> Snapshot:
    if os.environ.get("XSKIP_WRITE_GOLDEN"):
        write_golden()
    return opened(GOLDEN / DIRECTORY)


def test_directory(golden: Snapshot) -> None:
    """[MDS-L-1] [MDS-C-2] The directory is named by the dataset's digest, and has one file and one record."""
    assert [p.name for p in GOLDEN.iterdir()] == [DIRECTORY]
    assert metadata_directory(TABLE, str(GOLDEN)) == str(GOLDEN / DIRECTORY)
    found = sorted(str(p.relative_to(GOLDEN / DIRECTORY)) for p in (GOLDEN / DIRECTORY).rglob("*") if p.is_file())
    assert found == ["_commits/00000000000000000001.json", golden.live.names[0]]


def test_record(golden: Snapshot) -> None:
    """[MDS-C-2] The record has the expected content."""
    record = golden.record
    assert record is not None
    assert golden.is_ours
    assert (record.number, record.root, record.version) == (1, "s3a://bucket/lake/größe#1", 4)
    assert [(f.rows, f.size > 0) for f in record.metadata_files] == [(3, True)]
    assert record.read_profile == ReadProfile("avro", {"mode": "PERMISSIVE"}, {"spark.sql.caseSensitive": "false"})
    assert record.created > 1_700_000_000_000


def test_schema(golden: Snapshot) -> None:
    """[MDS-N-1] [MDS-S-2] [MDS-S-4] The schema has the expected names, types and parameters."""
    assert golden.table_identifier == "/lake/größe#1"
    assert golden.partitions == {"p": "int"}
    (file,) = golden.metadata_files
    assert file.schema.version == 4
    decimal = "decimal(38,10)"
    bloom_params = (("io.xskipper.index.bloom.ndv", "10"), ("io.xskipper.index.bloom.fpp", "0.01"))
    assert [(i.column, i.storage, i.definition.params) for i in file.schema.indexes] == [
        ("k_minmax_1", Struct((("min", "bigint"), ("max", "bigint"))), ()),
        ("st$#$`x$#$y`_minmax_12", Struct((("min", decimal), ("max", decimal))), ()),
        ("t_minmax_1", Struct((("min", "timestamp"), ("max", "timestamp"))), ()),
        ("d_valuelist_1", Array("date"), ()),
        ("s_valuelist_1", Array("string"), ()),
        ("s_bloomfilter_1", Bloom(), bloom_params),
        ("a_b_sketch_1-1", Opaque(SKETCH, pa.binary()), (("n", "1"),)),
    ]
    assert [d.types for d, _ in golden.indexes] == [
        ("bigint",), (decimal,), ("timestamp",), ("date",), ("string",), ("string",), (),
    ]  # fmt: skip


def test_files(golden: Snapshot) -> None:
    """[MDS-O-1] [MDS-O-4] The files have the expected names, times and sizes."""
    table = golden.load()
    assert [(f.name, f.size, f.modified) for f in (table.files[i] for i in range(3))] == [
        ("/lake/größe#1/p=1/a #%.parquet", 1234, 1_700_000_000_123),
        ("/lake/größe#1/p=1/b.parquet", -1, 1),
        ("/lake/größe#1/p=2/c.parquet", 0, 0),
    ]
    assert table.partitions["p"].values.to_pylist() == [1, 1, None]


def test_values(golden: Snapshot) -> None:
    """[MDS-T-1] [MDS-T-2] [MDS-T-4] [MDS-T-5] The indexes have the expected values, absent and unknown ones."""
    values = {key: column.values.to_pylist() for key, column in golden.load().indexes.items()}
    none = {"min": None, "max": None}
    assert values["minmax", ("k",)] == [{"min": -9223372036854775808, "max": 9223372036854775807}, none, None]
    assert values["minmax", ("st.`x.y`",)][0] == {"min": Decimal("-1.5000000000"), "max": Decimal("2.2500000000")}
    assert values["minmax", ("t",)][0] == {
        "min": datetime(1000, 1, 1, tzinfo=timezone.utc),
        "max": datetime(2020, 9, 13, 12, 26, 40, 123456, timezone.utc),
    }
    assert values["valuelist", ("d",)] == [[date(1000, 1, 1), date(2020, 1, 1)], [], None]
    assert values["valuelist", ("s",)] == [["", "\U0001f600"], [], None]
    assert values["sketch", ("a", "b")] == [b"1", b"", None]


def test_filters(golden: Snapshot) -> None:
    """[MDS-T-3] The filters contain exactly the expected values among the tested ones."""
    import numpy as np

    filters = golden.load([("bloomfilter", ("s",))]).indexes["bloomfilter", ("s",)].values
    among = np.full(3, True)
    for value, expected in ((b"oslo", [True, False, None]), (b"bonn", [False, False, None])):
        found = bloom_bits.might_contain(filters, [bloom_bits.hash_bytes(value)], among)
        assert found.to_pylist() == expected
    assert filters[1].as_py().hex() == "000000010000000700000002" + "00" * 16
