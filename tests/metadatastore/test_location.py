"""Tables have identifiers and metadata directories. Rules: specs/metadatastore.rst, [MDS-O] and [MDS-L]."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from xskip.metadatastore.location import IndexLocation, metadata_directory


def test_directory_under_a_base() -> None:
    """[MDS-L-1] The directory is the base and the SHA-256 of the identifier."""
    digest = hashlib.sha256(b"/lake/events").hexdigest()
    assert metadata_directory("s3a://b/lake/events/", "s3a://md/base/") == f"s3a://md/base/{digest}"
    assert metadata_directory("/lake/events", "/md") == f"/md/{digest}"


def test_directory_in_the_dataset() -> None:
    """[MDS-L-2] Without a base, the directory is in the dataset's root under a name that readers ignore."""
    digest = hashlib.sha256(b"/lake/events").hexdigest()
    assert metadata_directory("s3a://b/lake/events/", None) == f"s3a://b/lake/events/_xskip/{digest}"
    assert metadata_directory("/lake/events", None) == f"/lake/events/_xskip/{digest}"


def test_identifier_is_hashed_as_utf8() -> None:
    """[MDS-L-1] The digest is that of the UTF-8 bytes, as in Java's getBytes("UTF-8")."""
    digest = "6f7aa183b57391588cd2c5e2d524a698d2667351539fa4fe0625408db7bdc6db"
    assert metadata_directory("/lake/größe \U0001f600", "/md") == f"/md/{digest}"


def test_identifiers_of_a_dataset() -> None:
    """[MDS-L-6] Its path and the name of its table. The end of a path is not the name of a table."""
    names = ("/lake/events.parquet", "parquet", "db.events", "events", "db", "/lake/events", "")
    path = IndexLocation("file:/lake/events.parquet", "/md/x", "/lake/events.parquet")
    assert [name for name in names if path.is_named(name)] == ["/lake/events.parquet"]
    table = IndexLocation("file:/lake/events.parquet", "/md/x", "db.events")
    assert [name for name in names if table.is_named(name)] == ["/lake/events.parquet", "db.events", "events"]


def test_directories_of_foreign_metadata(shared: Path) -> None:
    """[MDS-L-1] [MDS-O-3] Directories of other programs in version 4 have the names that xskip expects."""
    import pyarrow.parquet as pq

    key = b"org.apache.spark.sql.parquet.row.metadata"
    found = sorted((shared / "fixtures/xskipper/parquet_version_tests/end_to_end/version=4").glob("*/*/*.parquet"))
    for file in found:
        text = pq.read_metadata(file).metadata[key]
        identifier = json.loads(text)["fields"][0]["metadata"]["tableIdentifier"]
        assert metadata_directory(f"file:{identifier}", "/md") == f"/md/{file.parent.name}"
    assert len(found) == 29


def test_directories_of_the_real_program(shared: Path) -> None:
    """[MDS-L-1] [MDS-O-3] All directories of Xskipper 1.6.0 have the names that xskip expects, also encrypted ones."""
    cases = json.loads((shared / "fixtures/xskipper-1.6.0/cases.json").read_text())
    written = [case for case in cases if "metadata" in case]
    for case in written:
        assert metadata_directory(case["original_root"], "/md") == f"/md/{Path(case['metadata']).name}"
    assert len(written) == 37
