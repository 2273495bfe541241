"""A Quix Lake: Kafka messages in Avro segments with Parquet descriptors. Rules: specs/quixlake.rst."""
