"""The writers of commits: the user, the application and the versions of a process, as commit records name them."""

from __future__ import annotations

import getpass
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from xskip.release import VERSION

__all__ = ["Writer", "declare_application", "present_writer"]

_MAX_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Writer:
    """The program that made a commit, for people. No reader decides anything by it."""

    user: str = ""
    #: The name and the identity of the application of Spark; empty outside of Spark.
    application: str = ""
    #: The versions of xskip and of Spark.
    xskip: str = ""
    spark: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the writer as the JSON object that a record stores."""
        named = {"user": self.user, "application": self.application, "xskip": self.xskip, "spark": self.spark}
        return {name: _shown(text) for name, text in named.items() if text}

    @staticmethod
    def parse(body: Any) -> Writer:
        """Parse the entry of a record; what is no text counts as unknown."""
        known = body if isinstance(body, dict) else {}
        texts = {name: _shown(text) for name in Writer.__slots__ if isinstance(text := known.get(name), str)}
        return Writer(**texts)


def _shown(text: str) -> str:
    """Return a text without what a terminal takes for a command, and not longer than a record may have it."""
    return "".join(each if each.isprintable() else "?" for each in text[:_MAX_CHARACTERS])


#: What the process has declared of its application.
_declared = Writer()


def declare_application(user: str, application: str, spark: str) -> None:
    """Set what the commits of this process name from now on."""
    global _declared  # noqa: PLW0603 - a process has one application of Spark
    _declared = Writer(user, application, "", spark)


def present_writer() -> Writer:
    """Return the writer of the commits of this process."""
    user = _declared.user
    if not user:
        with suppress(OSError, KeyError, ImportError):  # a container can have a user without a name
            user = getpass.getuser()
    return Writer(user, _declared.application, VERSION, _declared.spark)
