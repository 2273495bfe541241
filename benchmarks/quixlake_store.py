"""Measure how fast a Quix Lake is discovered on an object store, against a look into the header of every segment.

    python benchmarks/quixlake_store.py [results.json] [--scale 0.1]

The store is moto's S3 server in a process of its own on this machine, which ``tests/s3`` starts as well. The lake has
10,000 segments of 50 stream keys, so that an index file describes as many segments as in ``quixlake.py``. Moto needs
minutes to store 100,000 objects, and its listings take time that grows with the square of their number.

Discovery is ``QuixLake.keys`` by an object that remembers nothing, over Spark's S3A. The program that it is compared
with lists the segments, 1,000 with each request, and gets the first 4,096 bytes of each of them with a single request,
over connections that stay open. ``pyarrow.fs`` and S3A need two requests for each segment.

Moto itself takes most of the time: it answers about 500 requests in a second. In the second measurement each request
takes at least 20 ms, as in a store that another machine serves, and both sides use 64 threads.
"""

from __future__ import annotations

import http.client
import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode
from xml.etree import ElementTree as ET

import fastavro
from common import Lines, arguments, interleaved, run, session
from pyspark.sql import SparkSession
from quixlake import write_lake

from xskip.quixlake import QuixLake

SEGMENTS, KEYS = 10_000, 50
HEADER = 4_096
THREADS = 64
WAIT = 0.02
BUCKET = "lake"
#: Moto checks no signature, but that there is one.
SIGNED = "AWS4-HMAC-SHA256 Credential=anybody/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
ROOT = Path(__file__).parents[1]


class Client(threading.local):
    """An HTTP client with a connection for each thread.

    Parameters
    ----------
    port : int
        The port of the server on this machine.
    """

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method: str, path: str, data: bytes | None = None, **headers: str) -> bytes:
        """Send a request, and return the body of the answer."""
        common = {"Content-Type": "application/octet-stream", "Authorization": SIGNED}
        self.connection.request(method, path, data, common | headers)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {body[:200]!r}")
        return body

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys of all objects with a prefix."""
        query = {"list-type": "2", "prefix": prefix}
        while True:
            page = ET.fromstring(self.ask("GET", f"/{BUCKET}?{urlencode(query)}"))
            texts = [(element.tag.rpartition("}")[2], element.text or "") for element in page.iter()]
            yield from (text for tag, text in texts if tag == "Key")
            following = [text for tag, text in texts if tag == "NextContinuationToken"]
            if not following:
                return
            query["continuation-token"] = following[0]


@contextmanager
def server() -> Iterator[int]:
    """Start moto's server, and yield its port."""
    command = [sys.executable, "-m", "tests.s3.server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


def store_session(port: int) -> SparkSession:
    """Return a Spark session whose S3A uses the server."""
    from tests.s3.bucket import HADOOP

    settings = {
        "endpoint": f"http://127.0.0.1:{port}", "endpoint.region": "us-east-1", "path.style.access": "true",
        "connection.ssl.enabled": "false", "access.key": "anybody", "secret.key": "anything",
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }  # fmt: skip
    version = ".".join(map(str, HADOOP))
    conf = {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}
    return session([f"org.apache.hadoop:hadoop-aws:{version}"], conf)


def upload(client: Client, base: Path) -> None:
    """Put the files of a lake into the bucket."""
    client.ask("PUT", f"/{BUCKET}")

    def put(path: Path) -> None:
        key = quote(path.relative_to(base).as_posix())
        client.ask("PUT", f"/{BUCKET}/{key}", path.read_bytes(), **{"X-Untroubled": "yes"})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, [path for path in base.rglob("*") if path.is_file()]))


def open_headers(client: Client) -> int:
    """List all segments, and read the schema in the header of each; return the number of segments."""

    def headers(keys: Sequence[str]) -> None:
        for key in keys:
            head = client.ask("GET", f"/{BUCKET}/{quote(key)}", Range=f"bytes=0-{HEADER - 1}")
            fastavro.reader(io.BytesIO(head)).writer_schema  # noqa: B018 - the property parses the header

    keys = [key for key in client.keys("Raw/") if ".avro" in key]
    step = max(1, len(keys) // (4 * THREADS))
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(headers, [keys[start : start + step] for start in range(0, len(keys), step)]))
    return len(keys)


def discovery(spark: SparkSession, base: Path, lines: Lines) -> None:
    port = int(str(spark.conf.get("spark.hadoop.fs.s3a.endpoint")).rpartition(":")[2])
    client = Client(port)
    keys = max(2, int(KEYS * arguments().scale))
    hours = SEGMENTS // KEYS
    write_lake(base, keys, hours)
    upload(client, base)

    def discover() -> None:
        assert len(QuixLake(spark, f"s3a://{BUCKET}").keys("t")) == keys

    def headers() -> None:
        assert open_headers(client) == keys * hours

    def seen() -> int:
        return len(json.loads(client.ask("GET", "/_control")))

    kind = f"{keys * hours:,} segments of {keys:,} keys on S3"
    for wait in (0, WAIT):
        client.ask("POST", "/_control", json.dumps({"wait": wait}).encode())
        before = seen()
        discover()
        asked = seen() - before
        discovered, opened = interleaved([(lambda: None, discover), (lambda: None, headers)], 3, 1)
        what = f"{kind}, {wait * 1000:.0f} ms for each request" if wait else kind
        lines.ratio(f"{what}: listing with headers / discovery", opened, discovered, ">= 50")
        if not wait:
            lines.add(f"{kind}: requests of discovery", asked)


if __name__ == "__main__":
    sys.path.append(str(ROOT))
    with server() as number:
        run({"discovery": discovery}, store_session(number))
