"""The settings of a session, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xskip.results.result_view import ShownTable

__all__ = ["SettingValue", "SettingsList"]


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting with its value in a session.

    Attributes
    ----------
    key : str
        The key in Spark's configuration.
    value : str
        The configured text, or the default.
    default : str
        The default as a text; empty if there is none.
    origin : {"default", "session", "SparkConf", "process"}
        Where the value comes from: the default of xskip, the session (``spark.conf.set``), the configuration of the
        Spark application, or a value for all sessions of the process.
    meaning : str
        What the setting changes.
    problem : str
        Why the setting is ignored; empty if it is valid.
    """

    key: str
    value: str
    default: str
    origin: str
    meaning: str
    problem: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class SettingsList(ShownTable):
    """The settings that :func:`xskip.settings` returns.

    Attributes
    ----------
    settings : tuple of SettingValue
    """

    settings: tuple[SettingValue, ...]

    def __len__(self) -> int:
        return len(self.settings)

    def __iter__(self) -> Iterator[SettingValue]:
        return iter(self.settings)

    def _caption(self) -> str:
        return "Settings of the session"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "key": [each.key for each in self.settings],
            "value": [each.value for each in self.settings],
            "default": [each.default for each in self.settings],
            "origin": [each.origin for each in self.settings],
            "meaning": [each.problem or each.meaning for each in self.settings],
        }
