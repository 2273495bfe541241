"""Checks of a topic: descriptors against segments, and claims against messages. Rules: [QLK-CK]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.indexes import MinMax
from xskip.indexing.build_plan import plan
from xskip.indexing.collection import chunks_of, collect, collector_of
from xskip.indexing.reader import FrameReader
from xskip.indexing.source import open_source
from xskip.indexing.validation import sampled
from xskip.metadata.table import concat
from xskip.quixlake.compacted import Compacted
from xskip.quixlake.descriptors import IndexFiles
from xskip.quixlake.lost_segments import Uploads
from xskip.quixlake.names import RAW
from xskip.quixlake.overlaps import overlaps
from xskip.quixlake.results import LakeTable
from xskip.quixlake.segments import listed_segments
from xskip.quixlake.store import LakeStore
from xskip.quixlake.topic_dataset import TopicSource
from xskip.spark.collect.listing import list_files
from xskip.spark.query.spark_engine import engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check", "contradictions"]

_CASE = pa.schema([("case", pa.string()), ("path", pa.string()), ("detail", pa.string())])
_WRONG = pa.schema([("path", pa.string()), ("column", pa.string()), ("claimed", pa.string()), ("found", pa.string())])
#: The columns of segments that claim the least and the greatest value of a column of messages.
_CLAIMS = {"timestamp": ("start", "end"), "offset": ("first", "last"), "partition": ("partition", "partition")}
_LOST = "a committed batch lacks the segment; restore it, or call clean(abandon_lost=True)"
Case = tuple[str, str, str]


def check(store: LakeStore, folders: list[str], uploads: Uploads) -> LakeTable:
    """Return what is odd about the descriptors and segments of topics' folders [QLK-CK-1]."""
    files = store.index_files(folders)
    raw = store.raw_files(folders)
    segments = listed_segments(raw, files.decisive)
    _, unreadable = store.custom_metadata(folders)
    cases = [("unreadable", file.path, file.reason) for file in (*files.unreadable, *unreadable)]
    cases += _of_descriptors(files, segments, store.compacted(folders))
    cases += [("missing", path, "no descriptor names the segment") for path in _where(segments, "descriptors", 0)]
    cases += [
        ("deleted", path, "its descriptors are marked as deleted") for path in _where(segments, "is_deleted", True)
    ]
    odd = segments.filter(pc.is_null(segments["first"]))
    cases += [("name", path, "neither its name nor a descriptor gives offsets") for path in odd["path"].to_pylist()]
    cases += _overlapping(segments.filter(pc.invert(segments["is_deleted"])))
    # Files of 0 bytes are no segments [QLK-PA-6], so that ``segments`` lacks them.
    empty = raw.names.filter(pc.and_(pc.equal(raw.sizes, 0), pc.match_substring(raw.names, ".avro")))
    cases += [("empty", path, "the file has 0 bytes") for path in empty.to_pylist()]
    cases += [("lost", path, _LOST) for path in store.lost_segments(folders, uploads)]
    cases += [("undecodable", path, "the name is not valid UTF-8, and reads leave it out")
              for path in store.undecodable(folders)]  # fmt: skip
    rows = [dict(zip(_CASE.names, case, strict=True)) for case in sorted(cases)]
    return LakeTable("cases", pa.Table.from_pylist(rows, _CASE))


def _where(segments: pa.Table, column: str, value: object) -> list[str]:
    paths: list[str] = segments.filter(pc.equal(segments[column], value))["path"].to_pylist()
    return paths


def _overlapping(segments: pa.Table) -> Iterator[Case]:
    """Yield the segments that claim offsets of another segment of the same topic [QLK-CK-3]."""
    for topic in pc.unique(segments["topic"]).to_pylist():
        for found in overlaps(segments.filter(pc.is_in(segments["topic"], pa.array([topic], pa.string())))):
            offsets = f"offsets {found.first} to {found.last}" if found.first < found.last else f"offset {found.first}"
            verb = "holds" if found.is_certain else "can hold"
            yield (
                "overlap",
                found.path,
                f"{verb} {offsets} of {found.other} once more; read them once by distinct_offsets",
            )


def _of_descriptors(files: IndexFiles, segments: pa.Table, compacted: Compacted) -> Iterator[Case]:
    """Yield the cases of descriptors that have no segment, or several, or claim what is not so."""
    described = files.decisive
    # The listing lacks the segments that compactions exclude, so that their descriptors would seem stale.
    described = described.filter(pc.invert(compacted.excludes(described["below"])))
    rows = pc.index_in(described["below"], segments["path"].combine_chunks())
    for path in described.filter(pc.is_null(rows))["below"].to_pylist():
        yield "stale", path, "a descriptor names a segment that does not exist"
    sizes = segments["size"].take(rows)
    differs = pc.not_equal(described["size"], sizes).fill_null(False)
    for row, size in zip(described.filter(differs).to_pylist(), sizes.filter(differs).to_pylist(), strict=True):
        yield "size", row["below"], f"the descriptor says {row['size']:,} bytes, the file has {size:,}"
    for row in described.filter(pc.greater(described["count"], 1)).to_pylist():
        yield "doubled", row["below"], f"{row['count']} descriptors name the segment"
    former = files.descriptors.filter(files.descriptors["former"])
    for file in pc.unique(former["file"]).to_pylist():
        yield "former", files.paths[file], "the index file has column names of a former form"
    outside = files.descriptors.filter(pc.is_null(files.descriptors["below"]))
    for path, file in zip(outside["path"].to_pylist(), outside["file"].to_pylist(), strict=True):
        yield "outside", files.paths[file], f"a descriptor names {path}, which is not below {RAW}"


def contradictions(spark: SparkSession, source: TopicSource, sample: int | None, seed: int) -> LakeTable:
    """Read segments, and return the claims that their messages contradict [QLK-CK-2].

    ``sample`` is the maximum number of segments to read, chosen at random by ``seed``; None reads all.
    """
    segments = source.segments()
    segments = segments.take(pa.array(sampled(np.arange(len(segments)), sample, seed))).combine_chunks()
    found = _bounds_of(spark, source, segments) if len(segments) else {}
    rows = []
    for column, (least, greatest) in found.items():
        low, high = _CLAIMS[column]
        wrong = pc.or_(pc.less(least, segments[low]), pc.greater(greatest, segments[high])).fill_null(False)
        columns = (segments["path"], segments[low], segments[high], least, greatest)
        for path, *numbers in zip(*(values.filter(wrong).to_pylist() for values in columns), strict=True):
            claimed, actual = (f"{a} to {b}" if a != b else str(a) for a, b in (numbers[:2], numbers[2:]))
            rows.append({"path": path, "column": column, "claimed": claimed, "found": actual})
    rows.sort(key=lambda row: (row["path"], row["column"]))
    return LakeTable("wrong claims", pa.Table.from_pylist(rows, _WRONG))


def _bounds_of(
    spark: SparkSession, source: TopicSource, segments: pa.Table
) -> dict[str, tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    """Read the bounds of the columns that claims concern from the messages of segments."""
    engine = engine_of(spark)
    opened = open_source(spark, engine, FrameReader(f"topic {source.topic}", lambda s: source.rows(s, segments)))
    listed = list_files(opened.dataset)
    collector = collector_of(engine, opened, listed, plan(opened, [MinMax(column) for column in _CLAIMS]))
    table = concat(collect(collector, chunk) for chunk in chunks_of(engine, opened, listed, np.arange(len(listed))))
    below = pc.utf8_slice_codeunits(table.files.names, len(source.store.root) + 1)
    values = {column.definition.columns[0]: column.values for column in table.indexes.values()}
    rows = pc.index_in(segments["path"], below)
    sides = {name: [pc.struct_field(bounds, side).take(rows) for side in (0, 1)] for name, bounds in values.items()}
    return {name: (least, greatest) for name, (least, greatest) in sides.items()}
