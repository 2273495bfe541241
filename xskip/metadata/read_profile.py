"""Read profiles: the formats, options, settings and schemas with which Spark reads the files of datasets.

Two profiles can give different values of the same files. An index serves a query only where the query's profile agrees
with the profile of the build. Rules: [PRU-RD].
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any

from xskip.column_paths import join_path, split_path
from xskip.data_systems import DATA_SYSTEMS
from xskip.hints import Call, Phrase, Words
from xskip.metadata.reader_options import DIGEST, effective_options, is_credential, option_of
from xskip.metadata.reader_settings import FORMATS, RECORDS, SETTINGS, ZONE, concerns
from xskip.metadata.zone_names import is_same_zone

__all__ = [
    "LEGACY",
    "Columns",
    "ReadProfile",
    "differences",
    "differing_columns",
    "text_of",
    "texts_of",
    "zones_differ",
]

#: The properties of columns that decide their values: for each property the columns that have it, each with a text.
Columns = Mapping[str, Mapping[str, str]]

#: The placeholder for a value that may be a credential.
_WITHHELD = "withheld"
#: The placeholder that the hook sends for a file that an option names and that the hook cannot read.
_UNREADABLE = "unreadable"
#: The longest value that a sentence shows whole, in characters.
_MAX_SHOWN = 80
#: The values that a sentence shows without quotes.
_PLAIN = re.compile(r"\w[\w./:+-]*")
_WITH_CORRUPT_RECORDS = ("csv", "json", "xml")
_CORRUPT_RECORD = "spark.sql.columnNameOfCorruptRecord"
_INT96_ZONE = "spark.sql.parquet.int96TimestampConversion"
_SESSION_ZONE = "spark.sql.session.timeZone"
_PARSERS = "spark.sql.legacy.timeParserPolicy"
#: The name of XML's column of elements that have no column of their own.
_WILDCARD = "xs_any"
_CASE = "spark.sql.caseSensitive"
# with this setting Spark finds Parquet columns by field id; the ids are properties of columns, not settings
_FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled"
#: The property of a column whose fields a reader finds by place.
_NESTED = "nested"
#: The property of a column with structs that are null where a file lacks all fields that a query reads.
_STRUCT = "struct"
#: The property of a column with dates or times.
_TIME = "time"
#: The time zone in a record of columns without dates and times.
_NO_ZONE = "none"
#: The formats for which a record without the text of a schema proves that no column has a property.
_WITHOUT_TEXT = ("parquet", "avro", *(system.format for system in DATA_SYSTEMS))
#: The difference of a record from before records had columns.
LEGACY = Words("the record of the index does not say how its columns were read; {}, which renews it", Call("refresh"))
#: The properties that fields of structs have as well.
_OF_FIELDS = ("name", "id")
#: The property of a format of whose corrupt records a build collects nothing, as the text of the column without a name.
_CORRUPT = "corrupt"
#: The difference of a record from before the dataset had nested columns.
UNGUARDED = Words(
    "the schema has its first column with structs, arrays or maps, which changes corrupt records; {}", Call("refresh")
)
_PROPERTIES = {
    "default": "default in files that lack the column",
    "position": "place in the files",
    "name": "exact name",
    "id": "field id",
    "avro": "field of the Avro schema",
    _NESTED: "type, whose fields are found by place,",
}


@dataclass(frozen=True, slots=True)
class ReadProfile:
    """The format, options, settings and columns with which Spark reads the files of a dataset."""

    #: Spark's short name, such as ``avro``, or the class of a plugin's format, in lower case.
    format: str
    #: Reader options that can change values, names in lower case, as the reader takes them and without defaults. A
    #: digest replaces the value of an option that xskip does not know, and a placeholder replaces a value that may be a
    #: credential.
    options: Mapping[str, str] = field(default_factory=dict)
    #: The settings that concern the format: those of :data:`~xskip.metadata.reader_settings.SETTINGS`, and digests of
    #: other settings. The value of an option that replaces a setting is here.
    conf: Mapping[str, str] = field(default_factory=dict)
    #: What decides the values of single columns beside their types: for each property, such as ``default``, the text of
    #: each column that has the property. The column with the empty name stands for all columns.
    columns: Columns = field(default_factory=dict)
    #: The text of the schema in a record from before records had columns; None in other profiles.
    legacy_schema: str | None = None

    @property
    def case_sensitive(self) -> bool:
        """Return whether the names of columns are case-sensitive."""
        return self.conf.get(_CASE, "false").lower() == "true"

    @property
    def is_plain(self) -> bool:
        """Return whether neither options nor properties of columns change values, but for the time zone."""
        return not self.options and self.columns.keys() <= {_TIME}

    @property
    def problem(self) -> str:
        """Return the reason why no index can serve this profile, or an empty string."""
        for name, value in self.options.items():
            option = option_of(self.format, name)
            if option is not None and value in option.refused:
                return option.refused[value]
        for kind, values in (("option", self.options), ("setting", self.conf)):
            for name, value in values.items():
                if value == _WITHHELD:
                    return f"xskip does not know {kind} {name}, whose value may be a credential and is not recorded"
                if value == _UNREADABLE:
                    return f"the file that {kind} {name} names cannot be read"
        if self.columns.get("avro", {}).get("") == _UNREADABLE:
            return "the Avro schema that the options give cannot be read"
        return ""

    @property
    def corrupt_record(self) -> str:
        """Return the name of the column for records that Spark cannot parse; empty if the format has no such column.

        The values of this column depend on the columns that a query reads.
        """
        if self.format not in _WITH_CORRUPT_RECORDS:
            return ""
        return self.conf.get(_CORRUPT_RECORD) or SETTINGS[_CORRUPT_RECORD][0]

    def dependent(self, path: tuple[str, ...]) -> str:
        """Return why the values of a column depend on the columns that a query reads; empty if they do not.

        ``path`` has the names from the top-level column to the field, here and in all functions of this module.
        """
        if self.corrupt_record.lower() == path[0].lower():
            return "the column of corrupt records"
        if self.format == "xml" and path[0].lower() == self.options.get("wildcardcolname", _WILDCARD).lower():
            return "the column of elements without a column"
        if self._name(path[:1]) in self.columns.get(_NESTED, ()):
            return "a column whose fields Spark finds by their place among the fields that a query reads"
        if self._name(path) in self.columns.get(_STRUCT, ()):
            return "a column with structs, which are null in files that lack all fields that a query reads"
        return ""

    def hidden(self) -> ReadProfile:
        """Return a copy with digests in place of option values and of the texts of columns, which can show data.

        The copy agrees with the same profiles of queries. The records of encrypted indexes store the copy.
        """
        options = {name: _digest(name, value) for name, value in self.options.items()}
        columns = {
            kind: {name: _digest(kind, text) for name, text in texts.items()} for kind, texts in self.columns.items()
        }
        legacy = self.legacy_schema and _digest("schema", self.legacy_schema)
        return replace(self, options=options, columns=columns, legacy_schema=legacy)

    def of_columns(self, paths: Iterable[tuple[str, ...]]) -> ReadProfile:
        """Return a copy with only those properties of columns that decide the values of some columns."""
        tops = {"", *(self._name(path[:1]) for path in paths)}
        columns = {
            kind: found
            for kind, texts in self.columns.items()
            if (found := {name: text for name, text in texts.items() if _top(name) in tops})
        }
        # Without dates and times, the default time zone of the JVM cannot change a value.
        zone = {} if _TIME in columns else {ZONE: _NO_ZONE}
        return replace(self, columns={k: v for k, v in columns.items() if k != _TIME}, conf={**self.conf, **zone})

    def column_texts(self, path: tuple[str, ...]) -> dict[tuple[str, str], str]:
        """Return the text of each property and column that decides the values of a column.

        The texts are those of the column, of those around it and of its fields.
        """
        name = self._name(path)
        above = {"", *(self._name(path[:depth]) for depth in range(1, len(path) + 1))}
        return {
            (kind, column): text
            for kind, texts in self.columns.items()
            for column, text in _about(texts, above, f"{name}." if kind in _OF_FIELDS else "")
        }

    def _name(self, path: tuple[str, ...]) -> str:
        joined = join_path(path)
        return joined if self.case_sensitive else joined.lower()

    def to_json(self) -> dict[str, Any]:
        """Return the profile as the JSON object that a record stores."""
        if self.legacy_schema is not None:
            columns: dict[str, Any] = {"schema": self.legacy_schema}
        else:
            texts = {kind: dict(sorted(self.columns[kind].items())) for kind in sorted(self.columns)}
            # earlier releases compare the schema: they use the index only where no column has a property
            columns = {"schema": _digest("columns", repr(texts)) if texts else "", "columns": texts}
            if not texts and self.format in _WITHOUT_TEXT:
                del columns["columns"]
        return {
            "format": self.format,
            "options": dict(sorted(self.options.items())),
            "conf": dict(sorted(self.conf.items())),
            **columns,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> ReadProfile:
        """Return the profile that a record stores, without the options and settings that are no longer recorded.

        A value of another type raises ValueError, and a missing key raises KeyError.
        """
        fmt, conf, schema = text_of(value["format"]), texts_of(value["conf"]), text_of(value["schema"])
        conf.pop(_FIELD_IDS, None)
        options, settings = _recorded_options(fmt, texts_of(value["options"]), conf)
        # a build that passed over records has not seen all values
        incomplete = {name: conf[name] for name in RECORDS if name in conf and fmt in FORMATS}
        conf = {name: text for name, text in (conf | settings).items() if name not in RECORDS or fmt not in FORMATS}
        conf |= {name: text for name, text in incomplete.items() if text.lower() != RECORDS[name][0]}
        if "columns" not in value:
            # the text of Parquet and Avro has the defaults that files lack; that of other formats has other defaults
            proves = fmt == "text" or (fmt in _WITHOUT_TEXT and not schema)
            return ReadProfile(fmt, options, conf, legacy_schema=None if proves else schema)
        if not isinstance(value["columns"], dict):
            raise ValueError("the columns are not an object")
        columns = {text_of(kind): texts_of(texts) for kind, texts in value["columns"].items()}
        return ReadProfile(fmt, options, conf, columns)

    @staticmethod
    def of(
        fmt: str, options: Mapping[str, str], conf: Mapping[str, str], columns: Columns | None = None
    ) -> ReadProfile:
        """Return the profile of a relation's format, options, session settings and columns.

        ``options`` has all reader options. ``conf`` has the values of :data:`~xskip.metadata.reader_settings.SETTINGS`,
        and the settings with :data:`~xskip.metadata.reader_settings.SETTING_PREFIXES` whose values are not Spark's
        default. The names in ``columns`` are in the spelling of the schema.

        >>> ReadProfile.of("CSV", {"Header": "TRUE", "path": "/x", "sep": ","}, {}).options
        {'header': 'true'}
        """
        name = fmt.lower()
        known = SETTINGS if name in FORMATS else {**SETTINGS, **RECORDS}
        recorded = {
            key: _without_exceptions(conf.get(key) or default)
            for key, (default, formats) in known.items()
            if (not formats or name in formats or name not in FORMATS) and key not in (_FIELD_IDS, ZONE)
        }
        values, settings = _recorded_options(name, options, recorded)
        values = {key: text for key, text in values.items() if not _is_of_records(name, key)}
        recorded |= settings
        # Parquet's timestamps do not depend on the session's time zone, unless Spark converts INT96 timestamps.
        if name == "parquet" and recorded[_INT96_ZONE].lower() != "true":
            del recorded[_SESSION_ZONE]
        if conf.get(ZONE):
            recorded[ZONE] = conf[ZONE]
        others = {
            key: _WITHHELD if is_credential(key.lower()) else _digest(key, text)
            for key, text in conf.items()
            if concerns(name, key)
        }
        is_exact = recorded[_CASE].lower() == "true"
        texts = {
            kind: {column if is_exact else column.lower(): text for column, text in found.items()}
            for kind, found in (columns or {}).items()
        }
        return ReadProfile(name, values, recorded | others, texts)


def _about(texts: Mapping[str, str], above: Iterable[str], below: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of some columns, and of the columns whose names begin with ``below`` if it is not empty."""
    for column in above:
        if column in texts:
            yield column, texts[column]
    if below:
        yield from ((column, text) for column, text in texts.items() if column.startswith(below))


def _top(name: str) -> str:
    return name if "." not in name else join_path(split_path(name)[:1])


def text_of(value: object) -> str:
    """Return a JSON value, or raise ValueError if it is not a string."""
    if not isinstance(value, str):
        raise ValueError(f"expected a string, found {type(value).__name__}")
    return value


def texts_of(value: object) -> dict[str, str]:
    """Return a JSON value, or raise ValueError if it is not an object of strings."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, found {type(value).__name__}")
    return {key: text_of(text) for key, text in value.items()}


def _recorded_options(
    fmt: str, options: Mapping[str, str], conf: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options that can change values, in the form that a profile stores, and the settings they replace."""
    recorded, settings = {}, {}
    for name, (option, value) in effective_options(fmt, options).items():
        if option is None:
            withheld = is_credential(name) and not value.startswith(DIGEST)
            recorded[name] = _WITHHELD if withheld else _digest(name, value)
        elif option.setting and not value.startswith(DIGEST):
            if option.setting in conf:
                settings[option.setting] = _without_exceptions(value)
        else:
            recorded[name] = value
    return recorded, settings


def _without_exceptions(value: str) -> str:
    """Return a value with CORRECTED for the former default EXCEPTION.

    EXCEPTION fails on old dates and reads all other dates as CORRECTED does. The hook joins the values of two sessions.
    """
    if "EXCEPTION" not in value:
        return value
    return " and ".join(dict.fromkeys(value.replace("EXCEPTION", "CORRECTED").split(" and ")))


def _is_of_records(fmt: str, name: str) -> bool:
    option = option_of(fmt, name)
    return option is not None and option.effect == "records"


def _digest(name: str, value: str) -> str:
    """Return a digest that identifies a value; empty strings, digests and placeholders stay unchanged."""
    if not value or value.startswith(DIGEST) or value in (_WITHHELD, _UNREADABLE):
        return value
    return DIGEST + hashlib.sha256(f"{name}={value}".encode()).hexdigest()


def _same(name: str, built: str | None, queried: str | None) -> bool:
    """Return whether a recorded value, or its digest, agrees with the value of a query."""
    if built is None or queried is None:
        return built is queried
    return built == queried or (built.startswith(DIGEST) and built == _digest(name, queried))


def differences(built: ReadProfile, queried: ReadProfile, *, but_zone: bool = False) -> Iterator[str]:
    """Yield the differences between the profiles of a build and of a query that concern all columns, as sentences.

    ``but_zone`` ignores the JVM's default time zone.
    """
    if built.format != queried.format:
        yield f"the index was built from {built.format} and the query reads {queried.format}"
        return
    if queried.problem:
        yield queried.problem
    for key in sorted({*built.options, *queried.options}):
        option = option_of(queried.format, key)
        default = option.default if option else None
        before, now = built.options.get(key, default), queried.options.get(key, default)
        # None means that the record lacks the option, and that the option has no default to compare with.
        if before is None:
            yield f"option {key} was not given when the index was built"
        elif not _same(key, before, now):
            yield _another_value(f"option {key}", before, now, _option_fix(key, before))
    for key in sorted({*built.conf, *queried.conf} - {ZONE}):
        default = SETTINGS[key][0] if key in SETTINGS else RECORDS[key][0] if key in RECORDS else None
        before, now = built.conf.get(key, default), queried.conf.get(key, default)
        if before != now and not (key == _SESSION_ZONE and _has_one_zone(built, queried, key)):
            yield _another_value(key, before or None, now or None, _setting_fix(key, before))
    if zones_differ(built, queried) and not but_zone:
        yield "the default time zone of the JVM differs from when the index was built, or the build did not record it"
    if built.legacy_schema is not None:
        yield LEGACY
        return
    if _CORRUPT in queried.columns and _CORRUPT not in built.columns:
        yield UNGUARDED
    if not _same("schema", built.columns.get("schema", {}).get(""), queried.columns.get("schema", {}).get("")):
        yield f"the schema given to {built.format} differs from the one that the index was built with"


def _another_value(name: str, built: str | None, queried: str | None, fix: Phrase) -> Words:
    """Return a sentence with both values and with the fix, as far as the profiles have them."""
    what = f"{name} has another value than when the index was built"
    values = [each for each in (built, queried) if each is not None]
    if any(each in (_WITHHELD, _UNREADABLE) for each in values):
        return Words("{}, which is not recorded", what)
    if any(each.startswith(DIGEST) for each in values):
        return Words("{}, of which only a digest is recorded", what)
    both = f"{what}: {_shown(queried)} instead of {_shown(built)}"
    # a fix to copy must be the exact value on one line
    can_fix = built is not None and built.isprintable() and len(built) <= _MAX_SHOWN
    return Words("{} ({})", both, fix) if can_fix else Words("{}", both)


def _setting_fix(key: str, value: str | None) -> Phrase:
    text = f"{key}={value}"
    return Phrase(f"set {text}", f"use --conf {quote(text)}")


def _option_fix(key: str, value: str | None) -> Phrase:
    text = f"{key}={value}"
    return Phrase(f"read with option {key}={value!r}", f"use --option {quote(text)}")


def _shown(value: str | None) -> str:
    if value is None:
        return "none"
    short = value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}…"
    return short if _PLAIN.fullmatch(short) else repr(short)


def differing_columns(
    built: ReadProfile, queried: ReadProfile, paths: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], str]:
    """Return the columns that a query reads in another way than the build did, each with the reason."""
    found: dict[tuple[str, ...], str] = {}
    if built.legacy_schema is not None or (not built.columns and not queried.columns):
        return {path: f"column {join_path(path)} is {why}" for path in paths if (why := queried.dependent(path))}
    for path in paths:
        before, now = built.column_texts(path), queried.column_texts(path)
        kinds = {
            kind
            for kind, column in {**before, **now}
            if kind in _PROPERTIES and not _same(kind, before.get((kind, column)), now.get((kind, column)))
        }
        if kinds:
            named = " and another ".join(_PROPERTIES[kind] for kind in sorted(kinds))
            found[path] = f"column {join_path(path)} has another {named} than when the index was built"
        elif why := queried.dependent(path):
            found[path] = f"column {join_path(path)} is {why}"
    return found


def zones_differ(built: ReadProfile, queried: ReadProfile) -> bool:
    """Return whether the query's JVM has another default time zone than the build recorded.

    A build that recorded no zone differs from every zone, unless it recorded that its columns have no dates and times.
    A query without a zone differs from no build.
    """
    if ZONE not in queried.conf or built.conf.get(ZONE) in (queried.conf[ZONE], _NO_ZONE):
        return False
    return not _has_one_zone(built, queried, ZONE)


def _has_one_zone(built: ReadProfile, queried: ReadProfile, key: str) -> bool:
    """Return whether a setting names one time zone in both profiles, under any of its names, and only the zone matters.

    The reader of a plugin can show the name. Java's former parser of times looks for names of zones by the names of the
    JVM's zone and of the session's: the profiles must say that neither the build nor the query use it.
    """
    if queried.format not in FORMATS or (key == ZONE and _PARSERS not in queried.conf):
        return False
    if any("LEGACY" in each.conf.get(_PARSERS, "").upper() for each in (built, queried)):
        return False
    return is_same_zone(built.conf.get(key, ""), queried.conf.get(key, ""))
