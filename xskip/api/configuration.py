"""The list of all settings with their values in a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xskip.results.settings_list import SettingsList, SettingValue
from xskip.settings import PREFIX, SETTINGS, Setting, similar_key
from xskip.spark.query.spark_engine import SparkEngine, engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["settings"]


def settings(spark: SparkSession) -> SettingsList:
    """Return all settings of xskip with their values in a session, and where each value comes from.

    Parameters
    ----------
    spark : SparkSession
        The session.

    Returns
    -------
    SettingsList
        The settings, which print as a table and show as HTML in notebooks. Keys that xskip does not know are at the
        end, with a problem.

    Examples
    --------
    >>> spark.conf.set("spark.xskip.build.chunkBytes", "2g")
    >>> found = {each.key: each for each in xskip.settings(spark)}
    >>> found["spark.xskip.build.chunkBytes"].value, found["spark.xskip.build.chunkBytes"].origin
    ('2g', 'session')
    """
    engine = engine_of(spark)
    configured = engine.settings.configured(spark)
    known = [_value(engine, spark, setting, configured.get(setting.key)) for setting in SETTINGS.values()]
    return SettingsList((*known, *_unknown(spark, configured)))


def _value(engine: SparkEngine, spark: SparkSession, setting: Setting[object], text: str | None) -> SettingValue:
    origin = "default" if text is None else _origin(spark, setting.key, text)
    if not text:
        wide = engine.settings.process_wide(setting.key)
        text, origin = (wide, "process") if wide else (setting.written, "default")
    problems = [str(error) for error in (setting.error(text),) if error]
    return SettingValue(setting.key, text, setting.written, origin, setting.meaning, *problems)


def _unknown(spark: SparkSession, configured: dict[str, str]) -> Iterator[SettingValue]:
    for key in sorted(configured.keys() - SETTINGS.keys()):
        problem = "xskip has no such setting"
        hint = similar_key(key)
        problem = f"{problem}; {hint}" if hint else problem
        yield SettingValue(key, configured[key], "", _origin(spark, key, configured[key]), "", problem)


def _origin(spark: SparkSession, key: str, text: str) -> str:
    """Return whether the configuration of the Spark application or the session has set a value."""
    assert key.lower().startswith(PREFIX)
    return "SparkConf" if spark.sparkContext.getConf().get(key) == text else "session"
