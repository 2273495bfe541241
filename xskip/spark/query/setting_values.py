"""The settings ``spark.xskip.*`` of sessions and of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from xskip.errors import SettingError
from xskip.settings import Setting, problems_of
from xskip.spark.bridge.gateway import Hook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SettingValues"]

T = TypeVar("T")


class SettingValues:
    """The settings of sessions, with values of the process for the sessions that do not set a key themselves."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._process_wide: dict[str, str] = {}

    def of(self, spark: SparkSession, setting: Setting[T]) -> T:
        """Return the value of a setting for a session, or raise SettingError for an invalid one."""
        return setting.of(spark.conf.get(setting.key, None) or self._process_wide.get(setting.key))

    def or_default(self, spark: SparkSession, setting: Setting[T]) -> T:
        """Return the value of a setting for a session, or the default in place of an invalid value."""
        try:
            return self.of(spark, setting)
        except SettingError:
            return setting.default

    def configured(self, spark: SparkSession) -> dict[str, str]:
        """Return the keys ``spark.xskip.*`` and values that a session sets, or the Spark application for it."""
        return self._hook.settings_of(spark)

    def check(self, spark: SparkSession) -> None:
        """Raise SettingError if a session sets a key that xskip does not know, or an invalid value."""
        for error in problems_of(self.configured(spark)):
            raise error

    def process_wide(self, key: str) -> str | None:
        """Return the value for sessions that do not set a key themselves, or None."""
        return self._process_wide.get(key)

    def set_process_wide(self, key: str, value: str | None) -> None:
        """Set a value for all sessions that do not set the key themselves; None removes the value."""
        if value is None:
            self._process_wide.pop(key, None)
        else:
            self._process_wide[key] = value
        self._hook.set_process_wide(key, value)
