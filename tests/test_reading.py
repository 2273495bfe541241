"""How files were read when they were indexed, and what a query reads otherwise."""

from __future__ import annotations

import json

import pytest

from xskip.reading import Reading, differences, relevant_options


def parquet(**conf: str) -> Reading:
    return Reading.of("parquet", {}, {key.replace("__", "."): value for key, value in conf.items()}, "")


def test_the_same_reading_has_no_differences():
    """[PRU-RD-1]"""
    one = Reading.of("CSV", {"Header": "true", "path": "/x"}, {"spark.sql.session.timeZone": "UTC"}, "a INT")
    two = Reading.of("csv", {"header": "true", "PATH": "/y"}, {"spark.sql.session.timeZone": "UTC"}, "a INT")
    assert list(differences(one, two)) == []


def test_u31_options_that_change_values():
    """[PRU-RD-1]"""
    built = Reading.of("csv", {"nullValue": "NA", "sep": ";"}, {}, "a INT")
    asked = Reading.of("csv", {"nullValue": "-", "dateFormat": "dd"}, {}, "a INT")
    assert list(differences(built, asked)) == [
        "option dateformat was not given when the index was built",
        "option nullvalue has another value than when the index was built",
        "option sep has another value than when the index was built",
    ]


@pytest.mark.parametrize(
    "option",
    ["path", "basePath", "recursiveFileLookup", "pathGlobFilter", "modifiedAfter", "mergeSchema", "ignoreMissingFiles",
     "inferSchema", "samplingRatio"],
)  # fmt: skip
def test_options_that_choose_files_change_no_value(option):
    """[PRU-RD-1]"""
    assert relevant_options({option: "x"}) == {}


@pytest.mark.parametrize(
    "option", ["avroSchema", "nullValue", "header", "datetimeRebaseMode", "int96RebaseMode", "positionalFieldMatching"]
)
def test_u26_options_that_may_change_values_are_kept_in_lower_case(option):
    """[PRU-RD-1]"""
    assert relevant_options({option: "X"}) == {option.lower(): "X"}


def test_another_format_is_the_only_difference_named():
    """[PRU-RD-1]"""
    assert list(differences(Reading("avro", {"a": "1"}), Reading("parquet"))) == [
        "the index was built from avro and the query reads parquet"
    ]


def test_u17_rebase_modes_and_time_zones_by_format():
    """[PRU-RD-2]"""
    key = "spark.sql.parquet.datetimeRebaseModeInRead"
    assert list(differences(Reading.of("parquet", {}, {}, ""), Reading.of("parquet", {}, {key: "LEGACY"}, ""))) == [
        f"{key} has another value than when the index was built"
    ]
    assert list(differences(Reading.of("avro", {}, {}, ""), Reading.of("avro", {}, {key: "LEGACY"}, ""))) == []
    zone = {"spark.sql.session.timeZone": "Asia/Tokyo"}
    assert list(differences(Reading.of("parquet", {}, {}, ""), Reading.of("parquet", {}, zone, ""))) == []
    assert list(differences(Reading.of("json", {}, {}, "a INT"), Reading.of("json", {}, zone, "a INT"))) == [
        "spark.sql.session.timeZone has another value than when the index was built"
    ]


def test_rebase_mode_exception_reads_as_corrected():
    """[PRU-RD-2] EXCEPTION fails on old dates, and reads all others alike."""
    key = "spark.sql.parquet.datetimeRebaseModeInRead"
    one, two = (Reading.of("parquet", {}, {key: mode}, "") for mode in ("EXCEPTION", "CORRECTED"))
    assert list(differences(one, two)) == []


def test_u29_case_sensitivity_is_part_of_a_reading():
    """[PRU-RD-2]"""
    built = Reading.of("parquet", {}, {}, "")
    asked = Reading.of("parquet", {}, {"spark.sql.caseSensitive": "true"}, "")
    assert (built.case_sensitive, asked.case_sensitive) == (False, True)
    assert list(differences(built, asked)) == [
        "spark.sql.caseSensitive has another value than when the index was built"
    ]
    assert Reading("parquet", conf={"spark.sql.caseSensitive": "TRUE"}).case_sensitive


@pytest.mark.parametrize("fmt", ["csv", "json", "orc", "parquet", "avro"])
def test_u31_what_of_the_schema_decides_values_counts(fmt):
    """[PRU-RD-2]"""
    found = list(differences(Reading.of(fmt, {}, {}, "a STRING"), Reading.of(fmt, {}, {}, "a INT")))
    expected = f"the schema given to {fmt} differs from the one that the index was built with"
    assert found == [expected]


def test_a_reading_survives_its_record():
    reading = Reading.of("csv", {"sep": ";", "header": "true"}, {"spark.sql.caseSensitive": "true"}, "a INT")
    assert Reading.from_json(json.loads(json.dumps(reading.to_json()))) == reading
    assert list(reading.to_json()["options"]) == ["header", "sep"]


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "dropMalformed"])
def test_u31_rows_that_depend_on_the_columns_read(mode):
    """[PRU-RD-5]"""
    reading = Reading.of("csv", {"mode": mode}, {}, "a INT")
    assert list(differences(reading, reading)) == [
        "with mode DROPMALFORMED a file's rows depend on the columns that a query reads"
    ]


def test_u17_the_zone_counts_for_int96_only_where_it_is_converted():
    """[PRU-RD-2]"""
    zones = [{"spark.sql.session.timeZone": zone} for zone in ("UTC", "Asia/Tokyo")]
    assert Reading.of("parquet", {}, zones[0], "") == Reading.of("parquet", {}, zones[1], "")
    moved = [Reading.of("parquet", {}, z | {"spark.sql.parquet.int96TimestampConversion": "true"}, "") for z in zones]
    assert list(differences(*moved)) == ["spark.sql.session.timeZone has another value than when the index was built"]
