"""Measure the time of a migration against a plain copy of the same Parquet files.

    python benchmarks/migrate.py [results.json]

The metadata describes 100,000 files with indexes of three types, and is migrated from version 1 to version 4 of the
metadata format. The copy reads each metadata file as a whole and writes it with Arrow. Each result is the median of 3
runs in one process, without Spark.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import Lines, scratch

from xskip.metadata.data_files import DataFiles
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.metadatastore.commit import CommitRecord, publish
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.versions import WriteOptions
from xskip.types import bloom_bits
from xskip.types.datatypes import Array, Bloom, Struct, arrow_type

FILES = 100_000
VALUES = 100
ROOT = "/lake/events"


def metadata() -> MetadataTable:
    """Return metadata with the bounds of a number, lists of three strings, and Bloom filters of 100 values."""
    numbers = np.arange(FILES, dtype=np.int64)
    bounds = Struct((("min", "bigint"), ("max", "bigint")))
    texts = pa.array([f"city-{i % 50}" for i in range(3 * FILES)])
    rng = np.random.default_rng(7)
    size = bloom_bits.size_for(VALUES, 0.01)
    filters = [bloom_bits.build(rng.integers(-(2**62), 2**62, VALUES), *size) for _ in range(FILES)]
    columns = [
        IndexColumn(
            IndexDefinition("minmax", ("n",)),
            bounds,
            pa.StructArray.from_arrays([pa.array(numbers), pa.array(numbers + 9)], fields=list(arrow_type(bounds))),
        ),
        IndexColumn(
            IndexDefinition("valuelist", ("city",)),
            Array("string"),
            pa.ListArray.from_arrays(pa.array(np.arange(0, 3 * FILES + 1, 3), pa.int32()), texts),
        ),
        IndexColumn(
            IndexDefinition("bloomfilter", ("user",), (("io.xskipper.index.bloom.fpp", "0.01"),)),
            Bloom(),
            pa.array(filters, pa.binary()),
        ),
    ]
    names = pa.array([f"{ROOT}/day={i % 365}/part-{i:06}.avro" for i in range(FILES)])
    files = DataFiles(names, pa.array(numbers), pa.array(numbers + 1_700_000_000_000))
    return MetadataTable(files, {}, {column.definition.key: column for column in columns})


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def copy(source: Path, target: Path) -> None:
    target.mkdir()
    for file in source.glob("*.parquet"):
        pq.write_table(pq.read_table(file), target / file.name)


def migrate(directory: Path) -> None:
    Migration(LocalStorage(), str(directory), 4).run()


def main() -> None:
    lines = Lines()
    with scratch() as folder:
        made, home = Path(folder) / "made", Path(folder) / "index"
        made.mkdir()
        files = write_files(metadata(), ROOT, made, 0, WriteOptions(1))
        record = CommitRecord(0, ROOT, 1, tuple(entry for _, entry in files), ReadProfile("avro"), {}, 0)
        publish(LocalStorage(), str(home), None, files, record)
        plain, ours = [], []
        for i in range(3):
            plain.append(timed(partial(copy, home, Path(folder) / f"copy{i}")))
            again = Path(folder) / f"index{i}"
            shutil.copytree(home, again)
            ours.append(timed(partial(migrate, again)))
        first, second = statistics.median(ours), statistics.median(plain)
        lines.add("100,000 files, 1 -> 4: migration / copy", first / second, detail=f"{first:.2f} s / {second:.2f} s")
    lines.write()


if __name__ == "__main__":
    main()
