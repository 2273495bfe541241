"""How a dataset's files were read when they were indexed: another way to read them may give other values.

Rules: specs/pruning.rst, [PRU-RD]. An index is used only where the query reads as the build did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xskip.metadata.format_rules import FORMATS, SETTINGS, ZONE, concerns, is_credential, rules_of

__all__ = ["ReadProfile", "differences", "text_of", "texts_of", "zones_differ"]

_DIGEST = "sha256:"
#: Stands for the value of an option that may be a credential.
_WITHHELD = "withheld"
#: What the hook sends in place of the content of a file that an option names.
_UNREADABLE = "unreadable"
_WITH_CORRUPT_RECORDS = ("csv", "json", "xml")
_CORRUPT_RECORD = "columnnameofcorruptrecord"
_INT96_ZONE = "spark.sql.parquet.int96TimestampConversion"
_SESSION_ZONE = "spark.sql.session.timeZone"
# Says how Parquet's columns are found; where a schema has ids, the schema's text is a part of the reading
_FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled"
_DROPPING = "with mode DROPMALFORMED a file's rows depend on the columns that a query reads"


@dataclass(frozen=True, slots=True)
class ReadProfile:
    """One way to read a dataset's files.

    Attributes
    ----------
    format : str
        Spark's short name, such as ``avro``.
    options : mapping of str to str
        Reader options that can change values, names in lower case. The values of options that xskip does not know are
        digests, and what may be a credential is withheld.
    conf : mapping of str to str
        The settings that concern the format: those of :data:`~xskip.metadata.format_rules.SETTINGS`, and digests of
        others that are set.
    schema : str
        What of the data schema decides values: all of it where columns go by position or text is parsed, else the
        columns' ids and default values where there are any.
    """

    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    schema: str = ""

    @property
    def case_sensitive(self) -> bool:
        """Return whether names are told apart by their case."""
        return self.conf.get("spark.sql.caseSensitive", "false").lower() == "true"

    @property
    def problem(self) -> str:
        """Return why no index can serve this reading, or an empty text."""
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
        """Return the column that keeps records that cannot be parsed, empty for formats that have none.

        Its values depend on the columns that a query reads.
        """
        if self.format not in _WITH_CORRUPT_RECORDS:
            return ""
        key = "spark.sql.columnNameOfCorruptRecord"
        return self.options.get(_CORRUPT_RECORD) or self.conf.get(key) or SETTINGS[key][0]

    def hidden(self) -> ReadProfile:
        """Return the reading with digests for its options and schema, whose texts can hold values of the data.

        It is compared with a query's as it was before. Records of encrypted indexes keep it.
        """
        options = {name: _digest(name, value) for name, value in self.options.items()}
        return replace(self, options=options, schema=_digest("schema", self.schema))

    def to_json(self) -> dict[str, Any]:
        """Return the reading as a record keeps it."""
        return {
            "format": self.format,
            "options": dict(sorted(self.options.items())),
            "conf": dict(sorted(self.conf.items())),
            "schema": self.schema,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> ReadProfile:
        """Return the reading of a record, without what records no longer keep.

        Raises
        ------
        ValueError, KeyError
            Something is no text, or is not there.
        """
        fmt, conf = text_of(value["format"]), texts_of(value["conf"])
        conf.pop(_FIELD_IDS, None)
        return ReadProfile(fmt, _kept(fmt, texts_of(value["options"])), conf, text_of(value["schema"]))

    @staticmethod
    def of(fmt: str, options: Mapping[str, str], conf: Mapping[str, str], schema: str) -> ReadProfile:
        """Return the reading that a relation's format, options, session settings and data schema amount to.

        Parameters
        ----------
        fmt : str
            Spark's short name, or the class of a format that a plugin declared.
        options : mapping of str to str
            All reader options.
        conf : mapping of str to str
            Values of :data:`~xskip.metadata.format_rules.SETTINGS`, and settings that begin as
            :data:`~xskip.metadata.format_rules.SETTING_PREFIXES` where they are set to something else than
            Spark's default.
        schema : str

        Examples
        --------
        >>> Reading.of("CSV", {"Header": "true", "path": "/x"}, {}, "a INT").options
        {'header': 'true'}
        """
        name = fmt.lower()
        known = {
            # EXCEPTION, a former default, refuses old dates and reads all others as CORRECTED does
            key: (conf.get(key) or default).replace("EXCEPTION", "CORRECTED")
            for key, (default, formats) in SETTINGS.items()
            if (not formats or name in formats or name not in FORMATS) and key not in (_FIELD_IDS, ZONE)
        }
        if name == "parquet" and known[_INT96_ZONE].lower() != "true":
            del known[_SESSION_ZONE]
        if conf.get(ZONE):
            known[ZONE] = conf[ZONE]
        others = {
            key: _WITHHELD if is_credential(key.lower()) else _digest(key, text)
            for key, text in conf.items()
            if concerns(name, key)
        }
        return ReadProfile(name, _kept(name, options), known | others, schema)


def text_of(value: object) -> str:
    """Return a value of JSON that is a text.

    Raises
    ------
    ValueError
        It is something else.
    """
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} in place of a text")
    return value


def texts_of(value: object) -> dict[str, str]:
    """Return a value of JSON that is an object of texts.

    Raises
    ------
    ValueError
        It is something else.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{type(value).__name__} in place of an object")
    return {key: text_of(text) for key, text in value.items()}


def _kept(fmt: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that can change values, in the form in which a reading keeps them."""
    rules = rules_of(fmt)
    kept = {}
    for key, value in sorted((name.lower(), text) for name, text in options.items()):
        if rules.keeps(key):
            continue
        if key in rules.deciding or value.startswith(_DIGEST):
            kept[key] = value
        else:
            kept[key] = _WITHHELD if is_credential(key) else _digest(key, value)
    return kept


def _digest(name: str, value: str) -> str:
    """Return what tells a value from others without showing it; of an empty text or a digest, the value itself."""
    if not value or value.startswith(_DIGEST) or value in (_WITHHELD, _UNREADABLE):
        return value
    return _DIGEST + hashlib.sha256(f"{name}={value}".encode()).hexdigest()


def _same(name: str, built: str, asked: str) -> bool:
    """Return whether a recorded value, or its digest, is the one of a query."""
    return built == asked or (built.startswith(_DIGEST) and built == _digest(name, asked))


def differences(built: ReadProfile, asked: ReadProfile, *, but_zone: bool = False) -> Iterator[str]:
    """Yield what a query reads otherwise than the build did, each as a plain sentence.

    Parameters
    ----------
    built, asked : ReadProfile
    but_zone : bool
        Leave the JVM's time zone out.

    Examples
    --------
    >>> list(differences(Reading("avro"), Reading("avro", {"mode": "PERMISSIVE"})))
    ['option mode was not given when the index was built']
    """
    if built.format != asked.format:
        yield f"the index was built from {built.format} and the query reads {asked.format}"
        return
    if asked.problem:
        yield asked.problem
    for key in sorted({*built.options, *asked.options}):
        before, now = built.options.get(key), asked.options.get(key)
        if before is None:
            yield f"option {key} was not given when the index was built"
        elif now is None or not _same(key, before, now):
            yield f"option {key} has another value than when the index was built"
    for key in sorted({*built.conf, *asked.conf} - {ZONE}):
        default = SETTINGS[key][0] if key in SETTINGS else None
        if built.conf.get(key, default) != asked.conf.get(key, default):
            yield f"{key} has another value than when the index was built"
    if zones_differ(built, asked) and not but_zone:
        yield "the JVM's default time zone is another one than when the index was built, or was not recorded then"
    if not _same("schema", built.schema, asked.schema):
        yield f"the schema given to {built.format} differs from the one that the index was built with"


def zones_differ(built: ReadProfile, asked: ReadProfile) -> bool:
    """Return whether the JVM of the query has another default time zone than that of the build, or than is recorded.

    >>> zones_differ(Reading("orc", conf={ZONE: "UTC"}), Reading("orc", conf={ZONE: "Asia/Tokyo"}))
    True
    """
    return ZONE in asked.conf and built.conf.get(ZONE) != asked.conf[ZONE]
