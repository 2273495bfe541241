"""A Quix Lake: Kafka messages in Avro segments with Parquet descriptors. Rules: specs/quixlake.rst."""

from xskip.quixlake.lake import QuixLake
from xskip.quixlake.replay import ReplayOptions

__all__ = ["QuixLake", "ReplayOptions"]
