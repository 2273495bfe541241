"""The scenarios of Spark's writes to datasets on S3 with an index."""

from __future__ import annotations

from tests.s3.bucket import Bucket, scenario
from xskip import MinMax


def _append(bucket: Bucket, start: int, mode: str = "append") -> None:
    bucket.spark.range(start, start + 10, 1, 2).selectExpr("CAST(id AS INT) AS x").write.mode(mode).parquet(bucket.path)


def _assert_known(bucket: Bucket, files: int) -> None:
    status = bucket.index.status()
    assert (status.indexed, status.missing, status.stale) == (files, 0, 0), status
    assert bucket.index.validate().wrong == ()


@scenario
def writes(bucket: Bucket) -> None:
    """Check that writes add their files to the index, as listings tell them, and that an overwrite keeps it."""
    bucket.index.create([MinMax("x")])
    for i in range(4):  # more often than xskip compares the times of files with those of a listing
        _append(bucket, 100 + 10 * i)
        _assert_known(bucket, 6 + 2 * i)
    assert len(bucket.kept("x = 100")) == 1
    _append(bucket, 500, "overwrite")
    _assert_known(bucket, 2)
    bucket.assert_nothing_left_over()


@scenario
def writes_to_a_server_in_trouble(bucket: Bucket) -> None:
    """Check that writes succeed if the server fails at times, and that a refresh mends what they could not commit."""
    bucket.index.create([MinMax("x")])
    with bucket.server.order(refuse=11, hang_up=13):
        for i in range(2):
            _append(bucket, 100 + 10 * i)
    assert bucket.spark.read.parquet(bucket.path).where("x >= 100").count() == 20
    bucket.index.refresh()
    _assert_known(bucket, 8)
