"""The callback joins the chunks of long requests."""

from __future__ import annotations

from xskip.spark.bridge.callback import Callback


def test_chunks_are_joined_until_the_last_one_arrives() -> None:
    """[JVM-RQ-2] Chunks of two requests alternate, and a short request comes between them."""
    requests: list[str] = []

    def answer(request: str) -> bytes | None:
        requests.append(request)
        return request.encode() if "none" not in request else None

    callback = Callback(answer)
    assert callback.apply("\x017:0:{a") is None
    assert callback.apply("\x018:0:none:") is None
    assert callback.apply("short") == bytearray(b"short")
    assert callback.apply("\x017:0::b") is None
    assert callback.apply("\x018:1:1") is None
    assert callback.apply("\x017:1:c}") == bytearray(b"{a:bc}")
    assert requests == ["short", "none:1", "{a:bc}"]


def test_requests_without_a_last_chunk_are_forgotten() -> None:
    """[JVM-RQ-2] The chunks of a query that was interrupted do not stay for ever."""
    callback = Callback(str.encode)
    for number in range(100, 300):
        assert callback.apply(f"\x01{number}:0:begin ") is None
    assert len(callback._parts) == 64
    assert callback.apply("\x01299:1:end") == bytearray(b"begin end")
    assert callback.apply("\x01100:1:end") == bytearray(b"end")  # no JSON, so that the query reads all files
    assert len(callback._parts) == 63
