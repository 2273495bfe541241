"""A Quix Lake: Kafka messages in Avro segments with Parquet descriptors. Rules: specs/quixlake.rst."""

from xskip.quixlake.lake import QuixLake

__all__ = ["QuixLake"]
