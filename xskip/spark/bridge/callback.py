"""What the JVM calls when a query asks."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Callback"]


class Callback:
    """``java.util.function.Function`` in Python; long requests come in chunks."""

    def __init__(self, answer: Callable[[str], bytes | None]) -> None:
        self._answer = answer
        self._parts: dict[str, list[str]] = {}

    def apply(self, request: str) -> bytearray | None:
        """The answer to a request, None where it goes on or where there is none."""
        if request.startswith("\x01"):
            number, last, part = request[1:].split(":", 2)
            self._parts.setdefault(number, []).append(part)
            if last == "0":
                return None
            request = "".join(self._parts.pop(number))
        answer = self._answer(request)
        return None if answer is None else bytearray(answer)

    class Java:
        """What py4j makes of it."""

        implements = ("java.util.function.Function",)
