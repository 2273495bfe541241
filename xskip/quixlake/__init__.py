"""A Quix Lake: Kafka messages in Avro segments with Parquet descriptors. Rules: specs/quixlake.rst."""

from xskip.quixlake.lake import QuixLake
from xskip.quixlake.opened import OpenedLake
from xskip.quixlake.opened import open_lake as open  # noqa: A004 - the verb that users of files and tables know
from xskip.quixlake.replay import ReplayOptions
from xskip.quixlake.selection import Filters
from xskip.quixlake.sink import SinkOptions

__all__ = ["Filters", "OpenedLake", "QuixLake", "ReplayOptions", "SinkOptions", "open"]
