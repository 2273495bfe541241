"""Tokens as texts: bytes with a name, a version and a digest, in letters, digits, ``-`` and ``_``."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from dataclasses import dataclass

from xskip.errors import PredicateError, shown

__all__ = ["TokenForm"]

_TEXT = re.compile(r"([a-z]+)([0-9]{1,9})-([A-Za-z0-9_-]*)")
_DIGEST_BYTES = 8
_MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class TokenForm:
    """The form of the tokens of one kind of data, whose name the tokens begin with."""

    name: str
    version: int
    #: What returns such a token.
    origin: str

    def text(self, data: bytes) -> str:
        """Return a token with data."""
        packed = zlib.compress(data)
        digest = hashlib.blake2b(packed, digest_size=_DIGEST_BYTES).digest()
        return f"{self.name}{self.version}-{base64.urlsafe_b64encode(digest + packed).decode().rstrip('=')}"

    def data(self, text: object, argument: str, where: str) -> bytes:
        """Return the data of a token, which is the value of an argument of a read of some place."""
        found = _TEXT.fullmatch(text.strip()) if isinstance(text, str) else None  # as read from a file
        if found is None or found[1] != self.name:
            raise PredicateError(
                f"{argument} is no token of this kind of data", where=where, found=shown(text)[:60],
                expected=f"a text that {self.origin} has returned",
            )  # fmt: skip
        if (version := int(found[2])) != self.version:
            newer = "use the release that made the token, or a newer one"
            raise PredicateError(
                f"{argument} is a token of another release", where=where, found=f"version {version}",
                expected=f"version {self.version}",
                hint=newer if version > self.version else "read everything once, and go on with a new token",
            )  # fmt: skip
        try:
            return _unpacked(found[3])
        except (ValueError, zlib.error, binascii.Error) as error:
            raise self.damaged(argument, where) from error

    def damaged(self, argument: str, where: str) -> PredicateError:
        """Return the error of a token that is not as it was made."""
        return PredicateError(
            f"{argument} is a damaged token", where=where, expected=f"the whole text that {self.origin} has returned"
        )


def _unpacked(text: str) -> bytes:
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    digest, packed = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if hashlib.blake2b(packed, digest_size=_DIGEST_BYTES).digest() != digest:
        raise ValueError("a digest that differs")
    return zlib.decompressobj().decompress(packed, _MAX_BYTES)
