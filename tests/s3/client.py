"""A client with which scenarios control the S3 server by unsigned HTTP requests."""

from __future__ import annotations

import io
import json
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Server:
    """The server at a port."""

    port: int

    @property
    def endpoint(self) -> str:
        """Return the server's address."""
        return f"http://127.0.0.1:{self.port}"

    def _ask(self, method: str, path: str, data: bytes | None = None) -> bytes:
        headers = {"Content-Type": "application/octet-stream", "X-Untroubled": "yes"}
        request = urllib.request.Request(f"{self.endpoint}/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bytes(answer.read())

    def make_bucket(self, bucket: str) -> None:
        """Create a bucket."""
        self._ask("PUT", bucket)

    def put_rows(self, bucket: str, key: str, values: Sequence[int]) -> None:
        """Put a Parquet file with one column, ``x``."""
        sink = io.BytesIO()
        pq.write_table(pa.table({"x": pa.array(values, pa.int32())}), sink)
        self.put(bucket, key, sink.getvalue())

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """Put an object."""
        self._ask("PUT", f"{bucket}/{quote(key)}", content)

    def put_files(self, bucket: str, root: Path, place: str) -> None:
        """Put the files below a directory, with names below a place in the bucket."""
        for path in sorted(root.rglob("*")):
            if path.is_file():
                key = f"{place}/{path.relative_to(root).as_posix()}"
                self.put(bucket, key, path.read_bytes())

    def get(self, bucket: str, key: str) -> bytes:
        """Return an object's bytes."""
        return self._ask("GET", f"{bucket}/{key}")

    def keys(self, bucket: str, part: str = "") -> list[str]:
        """Return the keys of all objects that contain a text."""
        found = ET.fromstring(self._ask("GET", f"{bucket}?list-type=2&max-keys=1000"))
        keys = [e.text or "" for e in found.iter() if e.tag.rpartition("}")[2] == "Key"]
        return [key for key in keys if part in key and not key.endswith("/")]

    def uploads(self, bucket: str, part: str = "") -> list[tuple[str, str]]:
        """Return the keys that contain a text and the identities of all uploads that have not ended."""
        found = ET.fromstring(self._ask("GET", f"{bucket}?uploads"))
        uploads = [
            {e.tag.rpartition("}")[2]: e.text or "" for e in upload}
            for upload in found.iter() if upload.tag.endswith("}Upload")
        ]  # fmt: skip
        return [(each["Key"], each["UploadId"]) for each in uploads if part in each["Key"]]

    def start_upload(self, bucket: str, key: str) -> str:
        """Start an upload, and return its identity."""
        found = ET.fromstring(self._ask("POST", f"{bucket}/{quote(key)}?uploads", b""))
        (identity,) = [e.text or "" for e in found.iter() if e.tag.endswith("}UploadId")]
        return identity

    def abort_upload(self, bucket: str, key: str, identity: str) -> None:
        """Abort an upload."""
        self._ask("DELETE", f"{bucket}/{quote(key)}?uploadId={quote(identity)}")

    @contextmanager
    def order(self, **orders: Any) -> Iterator[None]:
        """Let the server do something in addition to S3 during the body."""
        self._ask("POST", "_control", json.dumps({k.replace("_", " "): v for k, v in orders.items()}).encode())
        try:
            yield
        finally:
            self._ask("POST", "_control", b"{}")

    def seen(self) -> list[str]:
        """Return the requests since the last order."""
        return list(json.loads(self._ask("GET", "_control")))
