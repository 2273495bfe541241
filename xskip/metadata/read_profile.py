"""Read profiles: the formats, options, settings and schemas with which Spark reads the files of datasets.

Two profiles can give different values of the same files. An index serves a query only where the query's profile agrees
with the profile of the build. Rules: specs/pruning.rst, [PRU-RD].
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xskip.metadata.format_rules import FORMATS, SETTINGS, ZONE, concerns, is_credential, rules_of

__all__ = ["ReadProfile", "differences", "text_of", "texts_of", "zones_differ"]

_DIGEST = "sha256:"
#: The placeholder for a value that may be a credential.
_WITHHELD = "withheld"
#: The placeholder that the hook sends for a file that an option names and that the hook cannot read.
_UNREADABLE = "unreadable"
_WITH_CORRUPT_RECORDS = ("csv", "json", "xml")
_CORRUPT_RECORD = "columnnameofcorruptrecord"
_INT96_ZONE = "spark.sql.parquet.int96TimestampConversion"
_SESSION_ZONE = "spark.sql.session.timeZone"
# with this setting Spark finds Parquet columns by field id; the ids are in the profile's schema, not in its settings
_FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled"
_DROPPING = "with mode DROPMALFORMED a file's rows depend on the columns that a query reads"


@dataclass(frozen=True, slots=True)
class ReadProfile:
    """The format, options, settings and schema with which Spark reads the files of a dataset.

    Attributes
    ----------
    format : str
        Spark's short name, such as ``avro``, or the class of a plugin's format, in lower case.
    options : mapping of str to str
        Reader options that can change values, names in lower case. A digest replaces the value of an option that xskip
        does not know, and a placeholder replaces a value that may be a credential.
    conf : mapping of str to str
        The settings that concern the format: those of :data:`~xskip.metadata.format_rules.SETTINGS`, and digests of
        other settings.
    schema : str
        The part of the data schema that changes values: the whole schema where Spark finds columns by position or
        parses text, else the columns' field ids and default values, if any.
    """

    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    schema: str = ""

    @property
    def case_sensitive(self) -> bool:
        """Return whether the names of columns are case-sensitive."""
        return self.conf.get("spark.sql.caseSensitive", "false").lower() == "true"

    @property
    def problem(self) -> str:
        """Return the reason why no index can serve this profile, or an empty string."""
        if self.options.get("mode", "").upper() == "DROPMALFORMED":
            return _DROPPING
        for kind, values in (("option", self.options), ("setting", self.conf)):
            for name, value in values.items():
                if value == _WITHHELD:
                    return f"xskip does not know {kind} {name}, whose value may be a credential and is not recorded"
                if value == _UNREADABLE:
                    return f"the file that {kind} {name} names cannot be read"
        return ""

    @property
    def corrupt_record(self) -> str:
        """Return the name of the column for records that Spark cannot parse.

        The name is empty if the format has no such column. The values of this column depend on the columns that a query
        reads.
        """
        if self.format not in _WITH_CORRUPT_RECORDS:
            return ""
        key = "spark.sql.columnNameOfCorruptRecord"
        return self.options.get(_CORRUPT_RECORD) or self.conf.get(key) or SETTINGS[key][0]

    def hidden(self) -> ReadProfile:
        """Return a copy with digests in place of option values and the schema, which can contain values of the data.

        The copy agrees with the same profiles of queries. The records of encrypted indexes store the copy.
        """
        options = {name: _digest(name, value) for name, value in self.options.items()}
        return replace(self, options=options, schema=_digest("schema", self.schema))

    def to_json(self) -> dict[str, Any]:
        """Return the profile as the JSON object that a record stores."""
        return {
            "format": self.format,
            "options": dict(sorted(self.options.items())),
            "conf": dict(sorted(self.conf.items())),
            "schema": self.schema,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> ReadProfile:
        """Return the profile that a record stores, without the options and settings that are no longer recorded.

        Parameters
        ----------
        value : mapping
            The JSON object, as :meth:`to_json` returns it.

        Raises
        ------
        ValueError
            If a value is not a string, or not an object of strings.
        KeyError
            If a key is missing.
        """
        fmt, conf = text_of(value["format"]), texts_of(value["conf"])
        conf.pop(_FIELD_IDS, None)
        return ReadProfile(fmt, _recorded_options(fmt, texts_of(value["options"])), conf, text_of(value["schema"]))

    @staticmethod
    def of(fmt: str, options: Mapping[str, str], conf: Mapping[str, str], schema: str) -> ReadProfile:
        """Return the profile of a relation's format, options, session settings and data schema.

        Parameters
        ----------
        fmt : str
            Spark's short name, or the class of a format that a plugin declared.
        options : mapping of str to str
            All reader options.
        conf : mapping of str to str
            Values of :data:`~xskip.metadata.format_rules.SETTINGS`, and the settings with
            :data:`~xskip.metadata.format_rules.SETTING_PREFIXES` whose values are not Spark's default.
        schema : str
            The part of the data schema that changes values, or an empty string.

        Examples
        --------
        >>> ReadProfile.of("CSV", {"Header": "true", "path": "/x"}, {}, "a INT").options
        {'header': 'true'}
        """
        name = fmt.lower()
        recorded = {
            # the former default EXCEPTION fails on old dates and reads all other dates as CORRECTED does
            key: (conf.get(key) or default).replace("EXCEPTION", "CORRECTED")
            for key, (default, formats) in SETTINGS.items()
            if (not formats or name in formats or name not in FORMATS) and key not in (_FIELD_IDS, ZONE)
        }
        if name == "parquet" and recorded[_INT96_ZONE].lower() != "true":
            del recorded[_SESSION_ZONE]
        if conf.get(ZONE):
            recorded[ZONE] = conf[ZONE]
        others = {
            key: _WITHHELD if is_credential(key.lower()) else _digest(key, text)
            for key, text in conf.items()
            if concerns(name, key)
        }
        return ReadProfile(name, _recorded_options(name, options), recorded | others, schema)


def text_of(value: object) -> str:
    """Return a JSON value that must be a string.

    Raises
    ------
    ValueError
        If the value is not a string.
    """
    if not isinstance(value, str):
        raise ValueError(f"expected a string, found {type(value).__name__}")
    return value


def texts_of(value: object) -> dict[str, str]:
    """Return a JSON value that must be an object of strings.

    Raises
    ------
    ValueError
        If the value is not an object, or a member of the object is not a string.
    """
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, found {type(value).__name__}")
    return {key: text_of(text) for key, text in value.items()}


def _recorded_options(fmt: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that can change values, in the form that a profile stores."""
    rules = rules_of(fmt)
    recorded = {}
    for key, value in sorted((name.lower(), text) for name, text in options.items()):
        if rules.keeps(key):
            continue
        if key in rules.deciding or value.startswith(_DIGEST):
            recorded[key] = value
        else:
            recorded[key] = _WITHHELD if is_credential(key) else _digest(key, value)
    return recorded


def _digest(name: str, value: str) -> str:
    """Return a digest that identifies a value without revealing the value.

    Empty strings, digests and placeholders are returned unchanged.
    """
    if not value or value.startswith(_DIGEST) or value in (_WITHHELD, _UNREADABLE):
        return value
    return _DIGEST + hashlib.sha256(f"{name}={value}".encode()).hexdigest()


def _same(name: str, built: str, queried: str) -> bool:
    """Return whether a recorded value, or its digest, agrees with the value of a query."""
    return built == queried or (built.startswith(_DIGEST) and built == _digest(name, queried))


def differences(built: ReadProfile, queried: ReadProfile, *, but_zone: bool = False) -> Iterator[str]:
    """Yield the differences between the profiles of a build and of a query, as plain sentences.

    Parameters
    ----------
    built : ReadProfile
        The profile of the build.
    queried : ReadProfile
        The profile of the query.
    but_zone : bool
        True ignores the JVM's default time zone.

    Examples
    --------
    >>> list(differences(ReadProfile("avro"), ReadProfile("avro", {"mode": "PERMISSIVE"})))
    ['option mode was not given when the index was built']
    """
    if built.format != queried.format:
        yield f"the index was built from {built.format} and the query reads {queried.format}"
        return
    if queried.problem:
        yield queried.problem
    for key in sorted({*built.options, *queried.options}):
        before, now = built.options.get(key), queried.options.get(key)
        if before is None:
            yield f"option {key} was not given when the index was built"
        elif now is None or not _same(key, before, now):
            yield f"option {key} has another value than when the index was built"
    for key in sorted({*built.conf, *queried.conf} - {ZONE}):
        default = SETTINGS[key][0] if key in SETTINGS else None
        if built.conf.get(key, default) != queried.conf.get(key, default):
            yield f"{key} has another value than when the index was built"
    if zones_differ(built, queried) and not but_zone:
        yield "the default time zone of the JVM differs from when the index was built, or the build did not record it"
    if not _same("schema", built.schema, queried.schema):
        yield f"the schema given to {built.format} differs from the one that the index was built with"


def zones_differ(built: ReadProfile, queried: ReadProfile) -> bool:
    """Return whether the query's JVM has another default time zone than the build recorded.

    A build that recorded no zone differs from every zone. A query without a zone differs from no build.

    Parameters
    ----------
    built : ReadProfile
        The profile of the build.
    queried : ReadProfile
        The profile of the query.

    Examples
    --------
    >>> zones_differ(ReadProfile("orc", conf={ZONE: "UTC"}), ReadProfile("orc", conf={ZONE: "Asia/Tokyo"}))
    True
    """
    return ZONE in queried.conf and built.conf.get(ZONE) != queried.conf[ZONE]
