"""Errors that the methods of user-defined index types raise, with the name of the index type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xskip.errors import IndexDefinitionError, XskipError

__all__ = ["method_errors"]


@contextmanager
def method_errors(kind: type, method: str) -> Iterator[None]:
    """Turn errors that a user's class raises in the body into errors that name the class and the method.

    Errors of xskip's own classes, and every :class:`~xskip.errors.XskipError`, pass unchanged.

    >>> with method_errors(type("Suffix", (), {"__module__": "my_types"}), "storage"):
    ...     {}["int"]
    Traceback (most recent call last):
    ...
    xskip.errors.IndexDefinitionError: storage() of a user-defined class failed (where: my_types.Suffix; found: ...
    """
    try:
        yield
    except XskipError:
        raise
    except Exception as error:
        if kind.__module__.partition(".")[0] == "xskip":
            raise
        raise IndexDefinitionError(
            f"{method}() of a user-defined class failed", where=f"{kind.__module__}.{kind.__qualname__}",
            found=f"{type(error).__name__}: {error}"[:300], hint="correct the class",
        ) from error  # fmt: skip
