"""The callback through which the JVM sends a scan's request to Python."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Callback"]

# the JVM sends a request from each of 17 threads at most
_MAX_UNFINISHED = 64


class Callback:
    """An implementation of ``java.util.function.Function`` that answers the hook's requests, which are JSON texts."""

    def __init__(self, answer: Callable[[str], bytes | None]) -> None:
        self._answer = answer
        self._parts: dict[str, list[str]] = {}

    def apply(self, request: str) -> bytearray | None:
        """Answer a request, or store a chunk of a long request until its last chunk arrives.

        A chunk is U+0001, the request's number, ``:``, ``1`` for the last chunk or ``0`` for any other, ``:``, and a
        text. The result is None if more chunks follow, or if the request has no answer. A request that gets no last
        chunk, because a query ended, is forgotten after many others.
        """
        if request.startswith("\x01"):
            number, last, part = request[1:].split(":", 2)
            self._parts.setdefault(number, []).append(part)
            if last == "0":
                for oldest in [*self._parts][:-_MAX_UNFINISHED]:
                    self._parts.pop(oldest, None)
                return None
            request = "".join(self._parts.pop(number))
        answer = self._answer(request)
        return None if answer is None else bytearray(answer)

    class Java:
        """The declaration from which py4j learns the Java interface of the callback."""

        implements = ("java.util.function.Function",)
