"""An S3 server on loopback that can count, refuse, hang up and wait: ``python -m tests.s3.server``.

The server prints its port. ``POST /_control`` sets its additional behaviour, and ``GET /_control`` returns the
requests.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import werkzeug.serving
from moto.moto_server.werkzeug_app import create_backend_app

_CONTENTS = re.compile(rb"<Contents>.*?</Contents>", re.DOTALL)
#: The time at which moto says that all uploads have started.
_STARTED = b"2010-11-10T20:48:33.000Z"
_KEY = re.compile(rb"<Key>(.*?)</Key>", re.DOTALL)


class Troubled:
    """A WSGI application in front of moto's application."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._seen: list[str] = []
        self._put: set[str] = set()
        self._orders: dict[str, Any] = {}
        self._number = 0

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method, path, query = environ["REQUEST_METHOD"], environ["PATH_INFO"], environ["QUERY_STRING"]
        if path == "/_control":
            return self._control(environ, start)
        if environ.get("HTTP_X_UNTROUBLED"):  # the tests' own
            return self._app(environ, start)
        with self._lock:
            self._seen.append(f"{method} {path}?{query}")
            self._number += 1
            number, orders = self._number, dict(self._orders)
        if orders.get("wait"):
            time.sleep(orders["wait"])
        if orders.get("refuse") and number % orders["refuse"] == 0:
            return self._answer(environ, start, "503 Slow Down", "SlowDown")
        if orders.get("hang up") and number % orders["hang up"] == 0:
            return self._hang_up(environ)
        if orders.get("no uploads") and query.startswith("uploads") and method == "POST":
            return self._answer(environ, start, "501 Not Implemented", "NotImplemented")
        lost = orders.get("lose") and method in ("PUT", "POST") and orders["lose"] in f"{path}?{query}"
        if lost:
            with self._lock:
                self._orders.pop("lose")
            list(self._app(environ, lambda *_: lambda _: None))
            return self._hang_up(environ)
        with self._lock:
            if method == "PUT" and "freeze" in orders:
                self._put.add(path.strip("/").partition("/")[2])
        if "freeze" in orders and method == "GET" and ("list-type" in query or "prefix" in query):
            return self._frozen(environ, start)
        if orders.get("started") and method == "GET" and query.startswith("uploads"):
            return [body.replace(_STARTED, orders["started"].encode()) for body in self._app(environ, start)]
        if method == "POST" and query.startswith("uploadId="):
            return self._completed(environ, start)
        return self._app(environ, start)

    def _control(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        with self._lock:
            if environ["REQUEST_METHOD"] == "POST":
                self._orders = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
                self._seen.clear()
                self._put.clear()
                self._number = 0
            body = json.dumps(self._seen).encode()
        start("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    @staticmethod
    def _answer(environ: dict[str, Any], start: Callable[..., Any], status: str, code: str) -> Iterable[bytes]:
        _drain(environ)
        body = b"" if environ["REQUEST_METHOD"] == "HEAD" else f"<Error><Code>{code}</Code></Error>".encode()
        start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [body]

    def _completed(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Complete an upload, or answer as S3 does that there is none, where moto fails."""
        try:
            return self._app(environ, start)
        except KeyError:
            return self._answer(environ | {"CONTENT_LENGTH": "0"}, start, "404 Not Found", "NoSuchUpload")

    @staticmethod
    def _hang_up(environ: dict[str, Any]) -> Iterable[bytes]:
        connection = environ["werkzeug.socket"]
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)  # at once; what is left of it is reset when it is closed
        raise ConnectionResetError

    def _frozen(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Return a listing without the objects that were put since the order."""
        told: list[Any] = []

        def note(*args: Any) -> Callable[[bytes], None]:
            told[:] = args
            return lambda _: None

        body = b"".join(self._app(environ, note))
        kept = _CONTENTS.sub(lambda m: b"" if _KEY.search(m[0])[1].decode() in self._put else m[0], body)  # type: ignore[index]
        headers = [(k, v) for k, v in told[1] if k.lower() != "content-length"]
        start(told[0], [*headers, ("Content-Length", str(len(kept)))])
        return [kept]


def _drain(environ: dict[str, Any]) -> None:
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))


class _Handler(werkzeug.serving.WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_expect_100(self) -> bool:
        return True  # werkzeug answers "100 Continue" itself, once more, which the SDK takes for an error

    def log_request(self, *_: object) -> None: ...

    def log_error(self, *_: object) -> None: ...


def main() -> None:
    """Serve until the process ends."""
    app = Troubled(create_backend_app("s3"))
    server = werkzeug.serving.make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
