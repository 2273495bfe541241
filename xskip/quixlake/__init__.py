"""A Quix Lake: Kafka messages in Avro segments with Parquet descriptors. Rules: specs/quixlake.rst."""

from xskip.quixlake.lake import QuixLake
from xskip.quixlake.replay import ReplayOptions
from xskip.quixlake.sink import SinkOptions

__all__ = ["QuixLake", "ReplayOptions", "SinkOptions"]
