"""The profile of a build and the profile of a query differ only in options, settings and schemas that change values."""

from __future__ import annotations

import json

import pytest

from xskip.hints import in_shell_words
from xskip.metadata.read_profile import LEGACY, ReadProfile, differences, differing_columns, zones_differ

OTHER = "has another value than when the index was built"


def parquet(**conf: str) -> ReadProfile:
    return ReadProfile.of("parquet", {}, {key.replace("__", "."): value for key, value in conf.items()})


def test_the_same_reading_has_no_differences() -> None:
    """[PRU-RD-1]"""
    one = ReadProfile.of("CSV", {"Header": "true", "path": "/x"}, {"spark.sql.session.timeZone": "UTC"})
    two = ReadProfile.of("csv", {"header": "true", "PATH": "/y"}, {"spark.sql.session.timeZone": "UTC"})
    assert list(differences(one, two)) == []


def test_options_that_change_values() -> None:
    """[SND-31] [PRU-RD-1] Each option with another value is a difference."""
    built = ReadProfile.of("csv", {"nullValue": "NA", "sep": ";"}, {})
    asked = ReadProfile.of("csv", {"nullValue": "-", "dateFormat": "dd"}, {})
    assert list(differences(built, asked)) == [
        "option dateformat was not given when the index was built",
        f"option nullvalue {OTHER}: '-' instead of NA (read with option nullvalue='NA')",
        f"option sep {OTHER}: ',' instead of ';' (read with option sep=';')",
    ]


def test_a_difference_names_both_values_and_the_fix() -> None:
    """The words of a shell have the flags; a value that is not printable has no fix to copy."""
    built = ReadProfile.of(
        "csv", {"header": "true", "nullValue": "a b", "sep": "\t"}, {"spark.sql.session.timeZone": "UTC"}
    )
    found = list(differences(built, ReadProfile.of("csv", {}, {"spark.sql.session.timeZone": "Asia/Tokyo"})))
    assert [in_shell_words(each).removeprefix("option ") for each in found] == [
        f"header {OTHER}: false instead of true (use --option header=true)",
        f"nullvalue {OTHER}: '' instead of 'a b' (use --option 'nullvalue=a b')",
        f"sep {OTHER}: ',' instead of '\\t'",
        f"spark.sql.session.timeZone {OTHER}: Asia/Tokyo instead of UTC (use --conf spark.sql.session.timeZone=UTC)",
    ]


def test_a_difference_shows_the_start_of_a_long_value() -> None:
    built = ReadProfile.of("csv", {"nullValue": "x" * 81}, {})
    (found,) = differences(built, ReadProfile.of("csv", {}, {}))
    assert found.endswith(f": '' instead of '{'x' * 80}…'")


@pytest.mark.parametrize(
    "option",
    ["path", "basePath", "recursiveFileLookup", "pathGlobFilter", "modifiedAfter", "mergeSchema", "ignoreMissingFiles",
     "inferSchema", "samplingRatio"],
)  # fmt: skip
def test_options_that_choose_files_change_no_value(option: str) -> None:
    """[PRU-RD-1]"""
    assert ReadProfile.of("csv", {option: "x"}, {}).options == {}


@pytest.mark.parametrize(
    ("fmt", "option", "given", "taken"),
    [("csv", "nullValue", "X", "X"), ("csv", "header", "True", "true"), ("csv", "unescapedQuoteHandling",
      "skip_value", "SKIP_VALUE"), ("csv", "delimiter", "\\t", "\t"), ("csv", "maxColumns", "+07", "7"),
     ("csv", "quote", "", "\0"), ("avro", "positionalFieldMatching", "TRUE", "true"), ("xml", "rowTag", "X", "X"),
     ("text", "wholetext", "TRUE", "true"), ("json", "locale", "de-DE", "de-de"),
     ("json", "mode", "failFast", "FAILFAST")],
)  # fmt: skip
def test_options_that_decide_values_are_kept_as_spark_takes_them(fmt: str, option: str, given: str, taken: str) -> None:
    """[SND-26] [PRU-RD-1]"""
    name = "sep" if option == "delimiter" else option.lower()
    assert ReadProfile.of(fmt, {option: given}, {}).options == {name: taken}


@pytest.mark.parametrize(
    ("fmt", "option", "setting"),
    [("parquet", "datetimeRebaseMode", "spark.sql.parquet.datetimeRebaseModeInRead"),
     ("parquet", "int96RebaseMode", "spark.sql.parquet.int96RebaseModeInRead"),
     ("avro", "datetimeRebaseMode", "spark.sql.avro.datetimeRebaseModeInRead"),
     ("csv", "timeZone", "spark.sql.session.timeZone"), ("json", "timeZone", "spark.sql.session.timeZone"),
     ("xml", "columnNameOfCorruptRecord", "spark.sql.columnNameOfCorruptRecord")],
)  # fmt: skip
def test_an_option_replaces_the_setting_of_its_default(fmt: str, option: str, setting: str) -> None:
    """[PRU-RD-1] The option counts as the setting does."""
    by_option, by_setting = ReadProfile.of(fmt, {option: "X"}, {}), ReadProfile.of(fmt, {}, {setting: "X"})
    assert by_option == by_setting
    assert by_option.conf[setting] == "X"
    assert len(list(differences(ReadProfile.of(fmt, {}, {setting: "Y"}), by_option))) == 1


@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc", "csv", "json", "text", "xml", "com.example.Format"])
def test_options_that_are_not_known_make_another_reading_by_a_digest(fmt: str) -> None:
    """[PRU-RD-1] The value of an unknown option is compared by its digest, and is not recorded."""
    one, two = (ReadProfile.of(fmt, {"newOption": value}, {}) for value in ("kept apart", "other"))
    assert "kept apart" not in json.dumps(one.to_json())
    assert ReadProfile.from_json(json.loads(json.dumps(one.to_json()))) == one
    assert list(differences(one, one)) == []
    assert list(differences(one, two)) == [
        "option newoption has another value than when the index was built, of which only a digest is recorded"
    ]
    assert list(differences(ReadProfile.of(fmt, {}, {}), one)) == [
        "option newoption was not given when the index was built"
    ]


@pytest.mark.parametrize(
    "option",
    ["fs.s3a.secret.key", "fs.s3a.endpoint", "fs.azure.account.key.x", "parquet.encryption.key.list",
     "parquet.encryption.kms.client.class"],
)  # fmt: skip
def test_how_a_store_is_reached_is_no_part_of_a_reading(option: str) -> None:
    """[PRU-RD-7] The profile stays the same if a secret changes."""
    assert ReadProfile.of("parquet", {option: "s3cr3t"}, {}).options == {}


@pytest.mark.parametrize(
    "option", ["password", "my.secret", "authToken", "api_key", "Credentials", "pwd", "private-key"]
)
def test_what_may_be_a_credential_is_withheld(option: str) -> None:
    """[PRU-RD-7] The effect of the option on values is unknown, so that no index serves the profile."""
    reading = ReadProfile.of("parquet", {option: "s3cr3t"}, {})
    assert "s3cr3t" not in json.dumps(reading.to_json())
    assert f"option {option.lower()}, whose value may be a credential" in reading.problem
    assert list(differences(reading, reading)) == [reading.problem]


def test_an_older_record_loses_what_records_no_longer_keep() -> None:
    """[PRU-RD-7] Reading a record removes credentials and keeps known options."""
    old = {
        "format": "csv",
        "options": {"fs.s3a.secret.key": "s3cr3t", "password": "s3cr3t", "header": "true", "custom": "s3cr3t"},
        "conf": {"spark.sql.caseSensitive": "false", "spark.sql.parquet.fieldId.read.enabled": "true"},
        "schema": "a INT",
    }
    read = ReadProfile.from_json(old)
    assert "s3cr3t" not in json.dumps(read.to_json())
    assert read.options["header"] == "true"
    asked = ReadProfile.of("csv", {"header": "true", "custom": "s3cr3t"}, {})
    assert [d for d in differences(read, asked) if "custom" in d or "header" in d] == []
    assert list(read.conf) == ["spark.sql.caseSensitive"]
    assert LEGACY in list(differences(read, asked))


def test_a_hidden_reading_is_compared_as_before() -> None:
    """[PRU-RD-7] The records of encrypted indexes contain neither values of options nor the schema."""
    reading = ReadProfile.of("csv", {"nullValue": "n/a", "custom": "1"}, {}, {"default": {"name": "n/a"}})
    hidden = reading.hidden()
    assert "n/a" not in json.dumps(hidden.to_json())
    assert hidden.hidden() == hidden
    assert list(differences(hidden, reading)) == []
    other = ReadProfile.of("csv", {"nullValue": "-", "custom": "1"}, {}, {"default": {"name": "-"}})
    assert list(differences(hidden, other)) == [
        "option nullvalue has another value than when the index was built, of which only a digest is recorded"
    ]
    assert differing_columns(hidden, reading, [("name",)]) == {}
    assert list(differing_columns(hidden, other, [("name",)])) == [("name",)]


def test_settings_that_are_not_known_count_for_their_format() -> None:
    """[PRU-RD-2]"""
    plain = ReadProfile.of("parquet", {}, {})
    for key in ("spark.sql.parquet.newBehaviour", "spark.hadoop.parquet.new", "parquet.new", "spark.sql.legacy.new"):
        asked = ReadProfile.of("parquet", {}, {key: "true"})
        assert list(differences(plain, asked)) == [
            f"{key} has another value than when the index was built, of which only a digest is recorded"
        ]
        assert list(differences(asked, asked)) == []
    for key in ("spark.sql.orc.new", "spark.sql.parquet.columnarReaderBatchSize", "spark.sql.files.maxPartitionBytes"):
        assert list(differences(plain, ReadProfile.of("parquet", {}, {key: "1"}))) == []


@pytest.mark.parametrize("fmt", ["orc", "csv", "parquet", "avro"])
def test_the_zone_of_the_jvm(fmt: str) -> None:
    """[SND-17] [PRU-RD-8] Another zone counts for schemas with times; an unrecorded zone counts as another one."""
    built, asked = (ReadProfile.of(fmt, {}, {"user.timezone": zone}) for zone in ("UTC", "America/Los_Angeles"))
    unknown, timeless = ReadProfile.of(fmt, {}, {}), ReadProfile.of(fmt, {}, {"user.timezone": ""})
    said = "the default time zone of the JVM differs from when the index was built, or the build did not record it"
    assert list(differences(built, asked)) == [said] == list(differences(unknown, asked))
    assert list(differences(built, asked, but_zone=True)) == []
    assert list(differences(built, timeless)) == [] == list(differences(built, built))
    assert (zones_differ(built, asked), zones_differ(built, built), zones_differ(built, timeless)) == (
        True,
        False,
        False,
    )


@pytest.mark.parametrize(
    "conf",
    [{"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY"}, {"spark.sql.session.timeZone": "Asia/Tokyo"},
     {"spark.sql.ansi.enabled": "false"}, {"orc.force.positional.evolution": "true"}, {"user.timezone": "Asia/Tokyo"},
     {"spark.sql.csv.new": "1"}, {"parquet.new": "1"}],
)  # fmt: skip
def test_every_setting_counts_for_a_format_of_a_plugin(conf: dict[str, str]) -> None:
    """[PRU-RD-2] The settings that change values of a plugin's format are unknown."""
    plain, asked = (ReadProfile.of("com.example.LakeFormat", {}, each) for each in ({}, conf))
    assert len(list(differences(plain, asked))) == 1


def test_a_setting_that_may_be_a_credential_is_withheld() -> None:
    """[PRU-RD-7]"""
    reading = ReadProfile.of("csv", {}, {"spark.sql.csv.tokenizer": "s3cr3t"})
    assert "s3cr3t" not in json.dumps(reading.to_json())
    assert list(differences(reading, reading)) == [reading.problem]


@pytest.mark.parametrize("key", ["spark.sql.parquet.mergeSchemaOtherwise", "parquet.read.filters", "orc.compressors"])
def test_a_name_that_only_begins_as_a_known_one_is_not_known(key: str) -> None:
    """[PRU-RD-2]"""
    fmt = "orc" if key.startswith("orc") else "parquet"
    assert list(differences(ReadProfile.of(fmt, {}, {}), ReadProfile.of(fmt, {}, {key: "1"}))) != []


def test_the_column_that_keeps_corrupt_records() -> None:
    """[PRU-RD-6] The profile names the column for corrupt records."""
    key = "spark.sql.columnNameOfCorruptRecord"
    assert ReadProfile.of("csv", {}, {}).corrupt_record == "_corrupt_record"
    assert ReadProfile.of("json", {}, {key: "bad"}).corrupt_record == "bad"
    assert ReadProfile.of("xml", {"columnNameOfCorruptRecord": "worse"}, {key: "bad"}).corrupt_record == "worse"
    assert ReadProfile.of("parquet", {}, {}).corrupt_record == ""


def test_another_format_is_the_only_difference_named() -> None:
    """[PRU-RD-1]"""
    assert list(differences(ReadProfile("avro", {"a": "1"}), ReadProfile("parquet"))) == [
        "the index was built from avro and the query reads parquet"
    ]


def test_rebase_modes_and_time_zones_by_format() -> None:
    """[SND-17] [PRU-RD-2] A setting counts only for the formats that it concerns."""
    key = "spark.sql.parquet.datetimeRebaseModeInRead"
    assert list(differences(ReadProfile.of("parquet", {}, {}), ReadProfile.of("parquet", {}, {key: "LEGACY"}))) == [
        f"{key} has another value than when the index was built: LEGACY instead of CORRECTED (set {key}=CORRECTED)"
    ]
    assert list(differences(ReadProfile.of("avro", {}, {}), ReadProfile.of("avro", {}, {key: "LEGACY"}))) == []
    zone = {"spark.sql.session.timeZone": "Asia/Tokyo"}
    assert list(differences(ReadProfile.of("parquet", {}, {}), ReadProfile.of("parquet", {}, zone))) == []
    assert list(differences(ReadProfile.of("json", {}, {}), ReadProfile.of("json", {}, zone))) == [
        "spark.sql.session.timeZone has another value than when the index was built: Asia/Tokyo instead of none"
    ]


def test_rebase_mode_exception_reads_as_corrected() -> None:
    """[PRU-RD-2] EXCEPTION fails on old dates, and reads all other dates as CORRECTED does."""
    key = "spark.sql.parquet.datetimeRebaseModeInRead"
    modes = ("EXCEPTION", "CORRECTED", "CORRECTED and EXCEPTION")
    one, two, both = (ReadProfile.of("parquet", {}, {key: mode}) for mode in modes)
    assert one == two == both
    legacy = ReadProfile.of("parquet", {}, {key: "EXCEPTION and LEGACY"})
    assert len(list(differences(one, legacy))) == 1


def test_a_value_with_a_repeated_word_is_a_value_of_its_own() -> None:
    """[PRU-RD-2] Only the values of two sessions with the former default are joined."""
    key = "spark.sql.columnNameOfCorruptRecord"
    one, two = (ReadProfile.of("csv", {}, {key: name}) for name in ("a", "a and a"))
    assert len(list(differences(one, two))) == 1


def test_case_sensitivity_is_part_of_a_reading() -> None:
    """[SND-29] [PRU-RD-2]"""
    built = ReadProfile.of("parquet", {}, {})
    asked = ReadProfile.of("parquet", {}, {"spark.sql.caseSensitive": "true"})
    assert (built.case_sensitive, asked.case_sensitive) == (False, True)
    assert list(differences(built, asked)) == [
        f"spark.sql.caseSensitive {OTHER}: true instead of false (set spark.sql.caseSensitive=false)"
    ]
    assert ReadProfile("parquet", conf={"spark.sql.caseSensitive": "TRUE"}).case_sensitive


def test_the_whole_schema_counts_for_formats_that_are_not_known() -> None:
    """[SND-31] [PRU-RD-2]"""
    built, asked = (
        ReadProfile.of("com.example.Format", {}, {}, {"schema": {"": ddl}}) for ddl in ("a INT", "a STRING")
    )
    assert list(differences(built, built)) == []
    assert list(differences(built, asked)) == [
        "the schema given to com.example.format differs from the one that the index was built with"
    ]


def test_a_reading_survives_its_record() -> None:
    reading = ReadProfile.of(
        "csv", {"sep": ";", "header": "true"}, {"spark.sql.caseSensitive": "true"}, {"position": {"A": "0"}}
    )
    assert ReadProfile.from_json(json.loads(json.dumps(reading.to_json()))) == reading
    assert list(reading.to_json()["options"]) == ["header", "sep"]


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "dropMalformed"])
def test_rows_that_depend_on_the_columns_read(mode: str) -> None:
    """[SND-31] [PRU-RD-5] A profile with mode DROPMALFORMED agrees with no profile."""
    reading = ReadProfile.of("csv", {"mode": mode}, {})
    assert list(differences(reading, reading)) == [
        "with mode DROPMALFORMED a file's rows depend on the columns that a query reads"
    ]


def test_the_zone_counts_for_int96_only_where_it_is_converted() -> None:
    """[SND-17] [PRU-RD-2]"""
    zones = [{"spark.sql.session.timeZone": zone} for zone in ("UTC", "Asia/Tokyo")]
    assert ReadProfile.of("parquet", {}, zones[0]) == ReadProfile.of("parquet", {}, zones[1])
    moved = [ReadProfile.of("parquet", {}, z | {"spark.sql.parquet.int96TimestampConversion": "true"}) for z in zones]
    assert list(differences(*moved)) == [
        f"spark.sql.session.timeZone {OTHER}: Asia/Tokyo instead of UTC (set spark.sql.session.timeZone=UTC)"
    ]


_OF_ZERO = [
    "Z", "UT", "GMT", "UCT", "GMT0", "Zulu", "Universal", "Greenwich", "Etc/UTC", "Etc/GMT", "Etc/UCT", "Etc/GMT0",
    "Etc/GMT+0", "Etc/GMT-0", "Etc/Zulu", "Etc/Universal", "Etc/Greenwich", "+00:00", "-00:00", "+0", "+00", "+0000",
    "+000000", "+00:00:00", "+0:00", "+00:0", "UTC+0", "UTC-0", "GMT+0", "GMT+00:00", "UT+00:00",
]  # fmt: skip


@pytest.mark.parametrize("key", ["spark.sql.session.timeZone", "user.timezone"])
@pytest.mark.parametrize("name", _OF_ZERO)
def test_names_of_the_offset_zero_are_one_zone(key: str, name: str) -> None:
    """[PRU-RD-2] [PRU-RD-8] Either side can have the name, and the record keeps it."""
    one, other = (ReadProfile.of("csv", {}, {key: zone}) for zone in ("UTC", name))
    assert list(differences(one, other)) == [] == list(differences(other, one))
    assert other.to_json()["conf"][key] == name


@pytest.mark.parametrize("key", ["spark.sql.session.timeZone", "user.timezone"])
@pytest.mark.parametrize(
    "name", ["Europe/London", "Africa/Abidjan", "Etc/GMT+1", "+00:01", "UTC+1", "+01:00", "-00:00:01", "WET", "utc", ""]
)
def test_other_names_are_other_zones(key: str, name: str) -> None:
    """[PRU-RD-2] [PRU-RD-8]"""
    one, other = (ReadProfile.of("csv", {}, {key: zone}) for zone in ("UTC", name))
    assert len(list(differences(other, one))) == 1
    assert list(differences(other, other)) == []


@pytest.mark.parametrize("key", ["spark.sql.session.timeZone", "user.timezone"])
def test_names_of_one_zone_count_where_a_reader_uses_them(key: str) -> None:
    """[PRU-RD-2] A plugin's reader can, and Java's former parser does."""
    for fmt, conf in (("plugin", {}), ("csv", {"spark.sql.legacy.timeParserPolicy": "legacy"})):
        one, other = (ReadProfile.of(fmt, {}, {key: zone, **conf}) for zone in ("UTC", "Etc/UTC"))
        assert len(list(differences(one, other))) == 1


def test_the_name_of_the_zone_of_the_jvm_counts_where_the_parser_is_not_known() -> None:
    """[PRU-RD-8] An expression of an index on Parquet can parse with Java's former parser."""
    one, other = (ReadProfile.of("parquet", {}, {"user.timezone": zone}) for zone in ("UTC", "Etc/UTC"))
    assert (zones_differ(one, other), zones_differ(other, other)) == (True, False)
