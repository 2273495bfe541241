"""A QuestDB server in a process of its own on loopback, with QuestDB's jar from Maven."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import time
import urllib.parse
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.maven import fetch, java_command
from tests.quixlake.broker import free_ports

__all__ = [
    "COUNTS_SQUASHES",
    "NEWER_VERSION",
    "VERSION",
    "Server",
    "SqlError",
    "SuspendedError",
    "running_server",
]

VERSION = os.environ.get("XSKIP_TEST_QUESTDB", "9.3.0")
#: Whether the record of a partition in ``_txn`` counts squashes.
COUNTS_SQUASHES = VERSION > "9.3.0"
#: A version that writes Parquet partitions in another way.
NEWER_VERSION = "9.3.4"
_START_SECONDS = 120
_WAIT_SECONDS = 60
_ATTEMPTS = 3
_SETTINGS = """
http.bind.to=127.0.0.1:{port}
http.min.enabled=false
pg.enabled=false
line.tcp.enabled=false
line.udp.enabled=false
telemetry.enabled=false
shared.worker.count=1
wal.apply.worker.count=1
export.worker.count=1
view.compiler.worker.count=1
mat.view.refresh.worker.count=1
{pools}
cairo.o3.partition.split.min.size=20000
cairo.writer.data.append.page.size=65536
cairo.writer.data.index.key.append.page.size=65536
cairo.writer.data.index.value.append.page.size=65536
cairo.o3.column.memory.size=65536
"""
#: The threads of a server spin a thousand times after each work before they sleep, also those of unused services.
_POOLS = "\n".join(
    f"{pool}.worker.nap.threshold=10\n{pool}.worker.sleep.threshold=100"
    for pool in ("shared", "wal.apply", "export", "view.compiler", "mat.view.refresh")
)


class SqlError(Exception):
    """A statement that the server refuses."""


class SuspendedError(Exception):
    """A table whose write-ahead log the server no longer applies."""


class _CannotStartError(Exception):
    """A server that ended before it listened, for example because another process took its port."""


@dataclass(frozen=True)
class Server:
    """A server that listens on a port, with its data below a folder."""

    root: Path
    port: int
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def database(self) -> Path:
        return self.root / "db"

    def name(self, prefix: str) -> str:
        """Return a name that no other table of the tests has."""
        return f"{prefix}_{next(self._numbers)}"

    def exec(self, *statements: str) -> None:
        """Run statements."""
        for statement in statements:
            self._answer(statement)

    def select(self, query: str) -> list[list[Any]]:
        """Return the rows of a query as JSON has them."""
        rows: list[list[Any]] = self._answer(query)["dataset"]
        return rows

    def wait(self, table: str) -> None:
        """Wait until the table contains all transactions of its write-ahead log."""
        query = f"select writerTxn, sequencerTxn, suspended from wal_tables() where name = '{table}'"
        end = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < end:
            rows = self.select(query)
            if not rows or rows[0][0] == rows[0][1]:
                return
            if rows[0][2]:
                raise SuspendedError(table)
            time.sleep(0.01)
        raise AssertionError(f"{table} is not up to date")

    def run(self, table: str, *statements: str) -> None:
        """Run statements, each after the table contains the ones before it."""
        for statement in statements:
            self.exec(statement)
            self.wait(table)

    def folder(self, table: str) -> Path:
        """Return the folder of a table."""
        ((name,),) = self.select(f"select directoryName from tables() where table_name = '{table}'")
        return self.database / str(name)

    def _answer(self, statement: str) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_WAIT_SECONDS)
        try:
            connection.request("GET", f"/exec?{urllib.parse.urlencode({'query': statement})}")
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        if "error" in answer:
            raise SqlError(f"{answer['error']}: {statement}")
        return answer


@contextmanager
def running_server(
    folder: Path, archive: Path | None = None, *, settings: str = "", version: str = VERSION, is_optimized: bool = False
) -> Iterator[Server]:
    """Run a server with its data below a folder, until the context ends.

    ``archive`` is a zip file with a database, which the server gets. ``settings`` are lines for its configuration. An
    ``is_optimized`` server starts later and answers faster.

    Raises
    ------
    CannotFetchError
        If QuestDB's jar cannot be had.
    """
    (jar,) = (p for p in fetch("org.questdb", "questdb", version, folder) if p.name.startswith("questdb"))
    for attempt in range(_ATTEMPTS):
        (port,) = free_ports(1)
        server = Server(folder / f"server-{attempt}", port)
        if archive is not None:
            with zipfile.ZipFile(archive) as zipped:
                zipped.extractall(server.database)
        process = _start(jar, server, settings, is_optimized=is_optimized)
        try:
            try:
                _wait_until_ready(server, process)
            except _CannotStartError:
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            yield server
            return
        finally:
            process.kill()
            process.wait()


def _start(jar: Path, server: Server, settings: str, *, is_optimized: bool) -> subprocess.Popen[bytes]:
    (server.root / "conf").mkdir(parents=True)
    (server.root / "conf" / "server.conf").write_text(_SETTINGS.format(port=server.port, pools=_POOLS) + settings)
    java = [java_command(), "-Dnoebug", "-Xmx512m", "-XX:+UseSerialGC"]
    java += [] if is_optimized else ["-XX:TieredStopAtLevel=1"]
    exports = ["--add-exports", "java.base/jdk.internal.math=io.questdb"]
    main = ["-p", str(jar), "-m", "io.questdb/io.questdb.ServerMain", "-d", str(server.root)]
    # the kernel ends the server with the tests, even if they are killed
    tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with (server.root / "log.txt").open("wb") as log:
        return subprocess.Popen([*tied, *java, *exports, *main], stdout=log, stderr=subprocess.STDOUT, cwd=server.root)


def _wait_until_ready(server: Server, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            server.select("select 1")
        except (OSError, http.client.HTTPException, ValueError):
            time.sleep(0.1)
        else:
            return
    raise _CannotStartError(f"the server does not listen: {(server.root / 'log.txt').read_text()[-2000:]}")
