"""The data sources that Spark finds by name, and class loaders that take no jar [QDB-SP-1]."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from xskip.spark.bridge.compiler import register_sources
from xskip.spark.bridge.gateway import hook_of


def test_a_class_loader_that_takes_no_jar(spark: SparkSession) -> None:
    """[QDB-SP-1]: the source has no name, and all else works."""
    jvm: Any = spark._jvm
    thread = jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    thread.setContextClassLoader(before.getParent())
    try:
        register_sources(spark)
    finally:
        thread.setContextClassLoader(before)


def test_sessions_that_have_the_sources_write_no_jar(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    xskip.enable(spark)
    made: list[str] = []
    monkeypatch.setattr("tempfile.mkdtemp", lambda **names: made.append(names["prefix"]))
    for session in (spark, spark.newSession()):
        hook_of(session).uninstall(session)
        hook_of(session).install(session)
    assert made == []
