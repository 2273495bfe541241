"""The query history: what the queries of many drivers and days asked, and what they skipped, in small Parquet files."""
