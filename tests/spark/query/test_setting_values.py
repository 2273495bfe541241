"""Values of settings for a session. No Spark needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from tests.spark.query.fakes import FakeHook
from xskip.errors import SettingError
from xskip.settings import CHUNK_FILES
from xskip.spark.query.setting_values import SettingValues


def session(**conf: str) -> SparkSession:
    """Return a session that has only settings."""
    return cast(SparkSession, SimpleNamespace(conf=conf))


def test_a_session_comes_before_the_process_and_the_process_before_the_default() -> None:
    fake = FakeHook()
    settings = SettingValues(fake.hook)
    assert settings.of(session(), CHUNK_FILES) == CHUNK_FILES.default
    settings.set_process_wide(CHUNK_FILES.key, "7")
    assert settings.of(session(), CHUNK_FILES) == 7
    assert settings.of(session(**{CHUNK_FILES.key: "9"}), CHUNK_FILES) == 9
    settings.set_process_wide(CHUNK_FILES.key, None)
    assert settings.of(session(), CHUNK_FILES) == CHUNK_FILES.default
    assert fake.settings_wide == {CHUNK_FILES.key: None}


def test_an_invalid_value_is_an_error() -> None:
    with pytest.raises(SettingError, match="chunkFiles"):
        SettingValues(FakeHook().hook).of(session(**{CHUNK_FILES.key: "none"}), CHUNK_FILES)
