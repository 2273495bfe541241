"""The exception class of Xskipper's API, and the translation of xskip's errors into it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from xskip.errors import IndexExistsError, MetadataNotFoundError, SettingError, XskipError
from xskip.spark.bridge.java_errors import reason, spark_errors

__all__ = ["XskipperException", "translated"]

_STATUS: dict[type[Exception], str] = {
    IndexExistsError: "Index Already Exists",
    MetadataNotFoundError: "Index Not Found",
    SettingError: "Invalid Configuration",
}


class XskipperException(Exception):  # noqa: N818 - the other API's name
    """An error of Xskipper's API.

    Attributes
    ----------
    desc : str
        The message. If an error of xskip or of Spark is the cause, a status and the message of that error.
    stackTrace : str
        The Python traceback of the cause, or an empty string if there is no cause.
    """

    def __init__(self, desc: str, stackTrace: str = "") -> None:
        super().__init__(desc)
        self.desc = desc
        self.stackTrace = stackTrace

    def __str__(self) -> str:
        return repr(self.desc)


@contextmanager
def translated(status: str) -> Iterator[None]:
    """Run the body, and raise errors of xskip and of Spark as :class:`XskipperException`.

    ``status`` is for errors whose class has no status in Xskipper's API.
    """
    known: tuple[type[Exception], ...] = (XskipError, *spark_errors())
    try:
        yield
    except known as error:
        words = _STATUS.get(type(error), status)
        raise XskipperException(f"{words}: {reason(error)}", traceback.format_exc()) from error
