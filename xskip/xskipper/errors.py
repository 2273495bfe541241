"""The one exception of Xskipper's API."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from xskip.errors import IndexExistsError, MetadataNotFoundError, SettingError, XskipError
from xskip.spark.bridge.java_errors import spark_errors

__all__ = ["XskipperException", "translated"]

_STATUS: dict[type[Exception], str] = {
    IndexExistsError: "Index Already Exists",
    MetadataNotFoundError: "Index Not Found",
    SettingError: "Invalid Configuration",
}


class XskipperException(Exception):  # noqa: N818 - the other API's name
    """What went wrong.

    Attributes
    ----------
    desc : str
        A status, and what xskip says.
    stackTrace : str
    """

    def __init__(self, desc: str, stackTrace: str = "") -> None:
        super().__init__(desc)
        self.desc = desc
        self.stackTrace = stackTrace

    def __str__(self) -> str:
        return repr(self.desc)


@contextmanager
def translated(status: str) -> Iterator[None]:
    """Turns every error into the exception, with the status that belongs to the error or else this one."""
    known: tuple[type[Exception], ...] = (XskipError, *spark_errors())
    try:
        yield
    except known as error:
        words = _STATUS.get(type(error), status)
        raise XskipperException(f"{words}: {error}", traceback.format_exc()) from error
