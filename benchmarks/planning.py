"""What does an index add to the planning of one query, for how many objects?

    python benchmarks/planning.py [results.json]

1,000, 100,000 and 1,000,000 objects that need not exist: a listing made in the JVM, and metadata with bounds of eight
columns and a Bloom filter of one, of which a query asks two columns. Times are those that the hook itself measures
inside the query's planning, medians of 9 new queries after 2 that do not count.

warm: the index is in memory. "known": the same relation is asked again, as with a table or a DataFrame that is kept;
"anew": every query lists its files anew, as ``spark.read`` does. cold: as in a new session, nothing of the index is in
memory but what the system keeps of its files. Selective: 1 object in 100 is read; open: every one.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import Lines, scratch, session
from predicate import START, TYPES, column, filters
from pyspark.sql import DataFrame, SparkSession

import xskip
from xskip.metadata import MetadataTable
from xskip.metadatastore.commit import Record, publish
from xskip.metadatastore.snapshot import write_files
from xskip.objects import Objects
from xskip.source import form_of
from xskip.spark.jvm import hook_of
from xskip.spark.scan import forget_indexes

LIMITS = {1_000: (5, 0), 100_000: (50, 150), 1_000_000: (250, 1500)}
RUNS = 9
SCHEMA = "n int, id bigint, ts timestamp, temp double, day date, city string, user string, price decimal(10,2)"
SELECTIVE = "ts < timestamp_micros({start} + 300000000000 + {i}) AND city >= 'city-0000000'"
OPEN = "ts > timestamp_micros({start} - {i}) AND city >= 'city-0000000'"


def described(root: str, objects: int) -> MetadataTable:
    """Metadata of so many objects: bounds of eight columns, and a Bloom filter."""
    names = pa.array([f"{root}/part-{i:08d}.parquet" for i in range(objects)])
    times = pa.array(np.full(objects, 1_700_000_000_000))
    indexes = [*(column(name, objects) for name in TYPES), filters(objects)]
    known = Objects(names, pa.array(np.full(objects, 100)), times)
    return MetadataTable(known, {}, {index.definition.key: index for index in indexes})


@dataclass(frozen=True)
class Bench:
    """Datasets that need not exist."""

    spark: SparkSession
    compiler: Any
    folder: Path

    def relation(self, root: str, objects: int, *, anew: bool) -> tuple[DataFrame, Any]:
        """A DataFrame of so many files, and its listing."""
        jvm: Any = self.spark._jvm
        kind = self.compiler.getClassLoader().loadClass("bench.Listing")
        arguments = jvm.java.util.ArrayList()
        for each in (f"file:{root}", objects, anew):
            arguments.add(each)
        listing = kind.getConstructors()[0].newInstance(arguments.toArray())
        real = self.spark.read.parquet(root)._jdf.queryExecution().analyzed().relation()
        df = self.spark._jsparkSession.baseRelationToDataFrame(getattr(listing, "in")(real))
        return DataFrame(df, self.spark), listing

    def dataset(self, objects: int) -> str:
        """A dataset with metadata of so many objects."""
        root = str(self.folder / f"of-{objects}")
        self.spark.createDataFrame([], SCHEMA).write.parquet(root)
        table = described(root, objects)
        engine, source = xskip.SkippingIndex.for_path(self.spark, root)._open()
        form = form_of(self.spark, engine, 4)
        with tempfile.TemporaryDirectory() as local:
            files = write_files(table, source.place.identifier, Path(local), 0, form)
            entries = tuple(entry for _, entry in files)
            record = Record(0, source.root, 4, entries, source.reading, TYPES, 0)
            publish(source.storage, source.directory, None, files, record)
        engine.forget(source.directory)
        return root


def added(df: DataFrame, listing: Any, predicate: str, *, cold: bool = False) -> tuple[float, str]:
    """Milliseconds that a query of this kind spends in the index, and where, in words."""
    hook = hook_of(df.sparkSession)
    asked, filtered = [], []
    for i in range(RUNS + 2):
        listing.refresh()
        if cold:
            forget_indexes()
        before = hook.last_scan()
        hook.explain(df.filter(predicate.format(start=START, i=i)))
        (scan,) = hook.scans_after(before)
        assert scan["known"] == scan["listed"], scan
        asked.append(scan["asked_ms"])
        filtered.append(scan["filtered_ms"])
    whole = statistics.median(a + f for a, f in zip(asked[2:], filtered[2:], strict=True))
    parts = (
        f"{statistics.median(asked[2:]):.1f} ms in Python, {statistics.median(filtered[2:]):.1f} ms over the listing"
    )
    return whole, f"{parts}, {scan['kept']:,} read"


def main() -> None:
    lines = Lines()
    with scratch() as folder:
        spark = session()
        xskip.enable(spark)
        jvm: Any = spark._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        scala_212 = jvm.scala.util.Properties.versionNumberString().startswith("2.12")
        seq = "scala.collection.Seq" if scala_212 else "scala.collection.immutable.Seq"
        compiler.cook((Path(__file__).parent / "Listing.java").read_text().replace("@SEQ@", seq))
        bench = Bench(spark, compiler, Path(folder))
        for objects, (warm, cold) in LIMITS.items():
            root = bench.dataset(objects)
            for way in ("known", "anew"):
                df, listing = bench.relation(root, objects, anew=way == "anew")
                for name, predicate in (("selective", SELECTIVE), ("open", OPEN)):
                    time, detail = added(df, listing, predicate)
                    what = f"{objects:,} objects, warm, {way}, {name}"
                    lines.add(what, time, unit=" ms", limit=f"<= {warm}", detail=detail)
            if cold:
                time, detail = added(df, listing, SELECTIVE, cold=True)
                lines.add(f"{objects:,} objects, cold", time, unit=" ms", limit=f"<= {cold}", detail=detail)
        spark.stop()
    lines.write()


if __name__ == "__main__":
    main()
