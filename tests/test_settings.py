"""Keys, texts and defaults of settings. No Spark needed."""

from __future__ import annotations

import pytest

from xskip.api.arguments import check_time
from xskip.errors import ArgumentError, SettingError, did_you_mean
from xskip.settings import (
    BYTES_PER_FILE,
    CHUNK_BYTES,
    CHUNK_FILES,
    DISCOVERY_SECONDS,
    ENABLED,
    LOCATION,
    PLACES,
    PREFIX,
    SETTINGS,
    problems_of,
    seconds_of,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("12b", 12),
        ("3k", 3 << 10),
        ("128m", 128 << 20),
        ("5MB", 5 << 20),
        (" 2g ", 2 << 30),
        ("1t", 1 << 40),
    ],
)
def test_sizes_have_the_form_of_spark_s(text: str, size: int) -> None:
    assert BYTES_PER_FILE.of(text) == CHUNK_BYTES.of(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60", 60), ("60s", 60), ("500ms", 0.5), ("2min", 120), ("2m", 120), ("1H", 3600), ("1d", 86400), ("0", 0)],
)
def test_times_have_the_form_of_spark_s(text: str, seconds: float) -> None:
    assert DISCOVERY_SECONDS.of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["-1", "1.5g", "12x", "m", "1 m", "1gib", "٣", "true"])
def test_other_texts_are_no_sizes_or_times(text: str) -> None:
    for setting in (BYTES_PER_FILE, CHUNK_BYTES, DISCOVERY_SECONDS):
        with pytest.raises(SettingError) as caught:
            setting.of(text)
        assert (caught.value.where, caught.value.found) == (setting.key, text)
        assert caught.value.expected == setting.expected


@pytest.mark.parametrize("text", ["3", "0", "1.5h", "soon", "", "-1h", "1h 5min", "9999999999d"])
def test_durations_have_a_unit(text: str) -> None:
    assert seconds_of(text) is None
    with pytest.raises(ArgumentError, match="older_than is not a time with a unit"):
        check_time("older_than", text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("500ms", 0.5), (" 30min ", 1800), ("2H", 7200), ("1d", 86400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == check_time("older_than", text) == pytest.approx(seconds)


def test_places_are_pairs_of_absolute_paths_and_names() -> None:
    text = " /lake/events = /md/events ,s3a://b/p=1=s3a://b/md/a=b, shop.orders=file:/md/orders"
    assert PLACES.of(text) == {
        "/lake/events": "/md/events", "s3a://b/p=1": "s3a://b/md/a=b", "shop.orders": "file:/md/orders",
    }  # fmt: skip
    assert PLACES.of("") == {}
    for wrong in ("/a", "/a=b", "a=/b", "a/b=/c", "/a=/b,", "/a=/b,/a=/c", ",", "=/b", "db.=/b", "~/a=/b"):
        assert PLACES.error(wrong) is not None, wrong


@pytest.mark.parametrize("text", ["md", "./md", "../md", "~/md", "s3a:md", "$HOME/md"])
def test_a_base_location_is_absolute(text: str) -> None:
    with pytest.raises(SettingError, match=r"an absolute path such as /md or s3a://bucket/md"):
        LOCATION.of(text)
    assert [LOCATION.of(path) for path in ("/md", "file:/md", "hdfs://n/md", " /md ")][-1] == "/md"


def test_limits() -> None:
    assert CHUNK_BYTES.of("0") == 0
    for setting in (BYTES_PER_FILE, CHUNK_FILES):
        assert "0" in str(setting.error("0"))


def test_the_text_of_a_default_is_the_default() -> None:
    for key, setting in SETTINGS.items():
        assert key == setting.key
        assert key.startswith(PREFIX)
        assert setting.meaning
        assert setting.of(setting.written) == setting.default


def test_problems_name_the_key_what_was_found_and_what_is_expected() -> None:
    configured = {
        "spark.xskip.metadata.locaton": "/md",
        "spark.xskip.strict": "maybe",
        "spark.xskip.enabled": "false",
        "spark.XSKIP.evaluate": "true",
        "spark.xskip.quite.other": "1",
        "spark.sql.shuffle.partitions": "many",
    }
    assert [str(problem) for problem in problems_of(configured)] == [
        "xskip has no such setting (found: spark.XSKIP.evaluate); did you mean spark.xskip.evaluate?",
        "xskip has no such setting (found: spark.xskip.metadata.locaton); did you mean spark.xskip.metadata.location?",
        "xskip has no such setting (found: spark.xskip.quite.other); xskip.settings(spark) lists all settings",
        "the value of the setting is not valid (where: spark.xskip.strict; found: maybe; expected: true or false)",
    ]
    assert list(problems_of({ENABLED.key: "TRUE"})) == []


def test_only_similar_names_are_hints() -> None:
    assert did_you_mean("positon.lat", ["position.lat", "ts"]) == "did you mean position.lat?"
    assert did_you_mean("x", ["position.lat", "ts"]) is None
