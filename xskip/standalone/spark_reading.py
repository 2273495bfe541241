"""What is known without Spark of how Spark reads the files of an index."""

from __future__ import annotations

from xskip.metadata.read_profile import ReadProfile
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.snapshot import Snapshot

__all__ = ["KNOWN_FORMATS", "problem_in_spark"]

#: The formats of whose files it is known without Spark how Spark reads them.
KNOWN_FORMATS = ("parquet", "avro")


def problem_in_spark(snapshot: Snapshot, location: IndexLocation) -> str | None:
    """Return why queries in Spark with its default settings do not use an index; an empty text if they use it.

    None means that only Spark knows: for other formats, and for files that are read with options.
    """
    recorded = snapshot.read_profile
    fmt = recorded.format if recorded else "parquet"
    if fmt not in KNOWN_FORMATS or (recorded is not None and not recorded.is_plain):
        return None
    return snapshot.reason_unusable(location, ReadProfile.of(fmt, {}, {}))
