"""The rows of a segment in Arrow: its messages, with the columns that its name and its folder give. Rules: [QLK-AR]."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xskip.quixlake.avro_messages import MESSAGE, read_messages

__all__ = ["COLUMNS", "PLACE", "SegmentRows", "time_of"]

#: The columns that all messages of a segment share.
PLACE = {"topic": pa.string(), "stream_key": pa.string(), "date": pa.date32()}
#: The columns of a read [QLK-RD-1].
COLUMNS = pa.schema([*MESSAGE, ("time", pa.timestamp("us", "UTC")), *PLACE.items()])
#: The greatest number of milliseconds whose microseconds fit into 64 bits.
_MAX_MILLIS = (2**63 - 1) // 1000


@dataclass(frozen=True, slots=True)
class SegmentRows:
    """The columns of a segment that a read needs; some of those of :data:`COLUMNS`."""

    columns: Collection[str]

    def of(self, data: bytes, segment: Mapping[str, Any]) -> pa.Table:
        """Return the rows of a segment from the content of its file.

        ``segment`` has the topic, the stream key and the date, and under ``given`` the partition of messages that have
        none. What is no segment raises :class:`~xskip.quixlake.avro_container.SegmentDamageError`.
        """
        stored = {"timestamp" if name == "time" else name for name in self.columns}
        found, count = read_messages(data, [name for name in MESSAGE.names if name in stored])
        if "partition" in found and segment["given"] is not None:
            found["partition"] = found["partition"].fill_null(segment["given"])
        if "time" in self.columns:
            found["time"] = time_of(found["timestamp"])
        found |= {name: pa.repeat(pa.scalar(segment[name], kind), count) for name, kind in PLACE.items()}
        names = [name for name in COLUMNS.names if name in self.columns]
        return pa.table([found[name] for name in names], pa.schema([COLUMNS.field(name) for name in names]))


def time_of(timestamps: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return times of milliseconds, null where their microseconds do not fit [QLK-RD-1]."""
    fits = pc.and_(pc.greater_equal(timestamps, -_MAX_MILLIS), pc.less_equal(timestamps, _MAX_MILLIS))
    millis = pc.if_else(fits, timestamps, pa.scalar(None, pa.int64()))
    return pc.multiply(millis, 1000).cast(COLUMNS.field("time").type)
