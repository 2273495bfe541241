"""Tables of the options of Spark's file readers, with their effect, their parsing and their defaults: [PRU-RD].

An option that is in no table counts as one that decides values. specs/reader-options.rst has the same tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

__all__ = ["DIGEST", "OPTIONS", "Effect", "ReaderOption", "effective_options", "is_credential", "option_of"]

#: What an option or setting changes.
#:
#: ``value``
#:     the values, so that the build and the query must agree
#: ``column``
#:     the values, column by column: the columns of the read profile contain it
#: ``records``
#:     which records the reader passes over; a build passes over none, so that its statistics hold for any choice
#: ``files``
#:     which files Spark reads; the statistics of a file hold for any choice
#: ``neutral``
#:     neither values nor records: it matters to writers, to the inference of schemas, or to the speed
Effect = Literal["value", "column", "records", "files", "neutral"]

#: The beginning of a digest that stands for a value.
DIGEST = "sha256:"
_CHARACTER_ESCAPES = {"\\t": "\t", "\\r": "\r", "\\b": "\b", "\\f": "\f", "\\\\": "\\"}
_MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")


def as_text(value: str) -> str:
    """Return a value as it is, because Spark does."""
    return value


def as_boolean(value: str) -> str:
    """Return a Boolean as Spark parses it, in any case."""
    return value.lower()


def as_integer(value: str) -> str:
    """Return a whole number without signs and zeros that change nothing."""
    return str(int(value)) if re.fullmatch(r"[+-]?[0-9]+", value) else value


def as_character(value: str) -> str:
    """Return a character; without one, Spark takes U+0000."""
    return value or "\0"


def as_separator(value: str) -> str:
    """Return a separator, which Spark takes with a backslash as well."""
    return _CHARACTER_ESCAPES.get(value, value)


def as_name(value: str) -> str:
    """Return a name that Spark takes in any case."""
    return value.upper()


def as_charset(value: str) -> str:
    """Return the name of a charset; only the names of UTF-8 are known to be of one charset."""
    return "UTF-8" if value.upper() in ("UTF-8", "UTF8") else value


def as_mode(value: str) -> str:
    """Return a parse mode; Spark takes names that it does not know for PERMISSIVE."""
    return value.upper() if value.upper() in _MODES else _MODES[0]


@dataclass(frozen=True, slots=True)
class ReaderOption:
    """An option of a reader, under its name in Spark's spelling."""

    name: str
    effect: Effect = "value"
    #: Returns one text for all texts that the reader takes for the same value.
    parse: Callable[[str], str] = as_text
    #: The value, as ``parse`` returns it, that the reader takes without the option; None if there is no such value.
    default: str | None = None
    #: The setting that the option replaces; empty if there is none.
    setting: str = ""
    #: Other names; the reader prefers ``name``.
    synonyms: tuple[str, ...] = ()
    #: The values, as ``parse`` returns them, with which no index can be right, each with the reason.
    refused: Mapping[str, str] = field(default_factory=dict)


def _neutral(*names: str) -> tuple[ReaderOption, ...]:
    return tuple(ReaderOption(name, "neutral") for name in names)


def _boolean(name: str, default: str | None = "false") -> ReaderOption:
    return ReaderOption(name, parse=as_boolean, default=default)


_DROPPING = {"DROPMALFORMED": "with mode DROPMALFORMED a file's rows depend on the columns that a query reads"}
_BY_PLACE = {
    "true": "with positionalFieldMatching a column's values depend on the columns that a query reads",
}
_MODE = ReaderOption("mode", parse=as_mode, default="PERMISSIVE", refused=_DROPPING)
_ZONE = ReaderOption("timeZone", setting="spark.sql.session.timeZone")
_CORRUPT = ReaderOption("columnNameOfCorruptRecord", setting="spark.sql.columnNameOfCorruptRecord")
_LOCALE = ReaderOption("locale", parse=str.lower, default="en-us")
_CODEC = ReaderOption("compression", "neutral", synonyms=("codec",))
_TIME_FORMATS = tuple(ReaderOption(name) for name in ("timestampFormat", "timestampNTZFormat", "timeFormat"))
_FALLBACK = _boolean("enableDateTimeParsingFallback", None)
_VARIANT = ReaderOption("singleVariantColumn")
_LINE = ReaderOption("lineSep")
_INFERRING = _neutral("samplingRatio", "inferSchema", "prefersDecimal", "inferTimestamp", "extension", "mergeSchema")
_FILES = tuple(
    ReaderOption(name, "files")
    for name in (
        "path", "paths", "basePath", "recursiveFileLookup", "pathGlobFilter", "modifiedBefore", "modifiedAfter",
        "ignoreInvalidPartitionPaths", "maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "maxFileAge",
        "maxCachedFiles", "discardCachedInputRatio", "cleanSource", "sourceArchiveDir", "fileNameOnly",
        "allowOverwrite", "__globPaths__",
    )
)  # fmt: skip
_ALL = (
    *_FILES,
    ReaderOption("ignoreCorruptFiles", "records", as_boolean, "false"),
    ReaderOption("ignoreMissingFiles", "records", as_boolean, "false"),
    *_neutral("serialization.format", "xskip.index"),
)
#: The options of each format, without those of all formats.
OPTIONS: Mapping[str, tuple[ReaderOption, ...]] = {
    "parquet": (
        ReaderOption("datetimeRebaseMode", setting="spark.sql.parquet.datetimeRebaseModeInRead"),
        ReaderOption("int96RebaseMode", setting="spark.sql.parquet.int96RebaseModeInRead"),
        *_neutral("mergeSchema", "compression", "codec", "parquet.compression", "timeZone"),
    ),
    "orc": _neutral("mergeSchema", "compression", "codec", "orc.compress", "timeZone"),
    "avro": (
        ReaderOption("avroSchema", "column"),
        ReaderOption("avroSchemaUrl", "column"),
        ReaderOption("datetimeRebaseMode", setting="spark.sql.avro.datetimeRebaseModeInRead"),
        ReaderOption("ignoreExtension", "records", as_boolean, "true"),
        ReaderOption("mode", parse=as_mode, default="FAILFAST", refused=_DROPPING),
        ReaderOption("positionalFieldMatching", parse=as_boolean, default="false", refused=_BY_PLACE),
        _boolean("enableStableIdentifiersForUnionType"),
        ReaderOption("stableIdentifierPrefixForUnionType", default="member_"),
        ReaderOption("recursiveFieldMaxDepth", parse=as_integer, default="-1"),
        *_neutral("recordName", "recordNamespace", "mergeSchema", "compression", "codec", "timeZone"),
    ),
    "csv": (
        _boolean("header"),
        ReaderOption("sep", parse=as_separator, default=",", synonyms=("delimiter",)),
        ReaderOption("encoding", parse=as_charset, default="UTF-8", synonyms=("charset",)),
        ReaderOption("quote", parse=as_character, default='"'),
        ReaderOption("escape", parse=as_character, default="\\"),
        ReaderOption("charToEscapeQuoteEscaping", default=""),
        ReaderOption("comment", parse=as_character, default="\0"),
        ReaderOption("nullValue", default=""),
        ReaderOption("emptyValue", default=""),
        ReaderOption("nanValue", default="NaN"),
        ReaderOption("positiveInf", default="Inf"),
        ReaderOption("negativeInf", default="-Inf"),
        _boolean("ignoreLeadingWhiteSpace"),
        _boolean("ignoreTrailingWhiteSpace"),
        _boolean("multiLine"),
        _boolean("enforceSchema", "true"),
        _boolean("preferDate", "true"),
        ReaderOption("columnPruning", parse=as_boolean),
        ReaderOption("maxCharsPerColumn", parse=as_integer, default="-1"),
        ReaderOption("maxColumns", parse=as_integer, default="20480"),
        ReaderOption("unescapedQuoteHandling", parse=as_name, default="STOP_AT_DELIMITER"),
        ReaderOption("inputBufferSize", parse=as_integer),
        ReaderOption("dateFormat"),
        *(_MODE, _ZONE, _CORRUPT, _LOCALE, _CODEC, *_TIME_FORMATS, _FALLBACK, _VARIANT, _LINE, *_INFERRING),
        *_neutral("quoteAll", "escapeQuotes"),
    ),
    "json": (
        _boolean("allowComments"),
        _boolean("allowUnquotedFieldNames"),
        _boolean("allowSingleQuotes", "true"),
        _boolean("allowNumericLeadingZeros"),
        _boolean("allowNonNumericNumbers", "true"),
        _boolean("allowBackslashEscapingAnyCharacter"),
        _boolean("allowUnquotedControlChars"),
        _boolean("multiLine"),
        ReaderOption("explodeEmbeddedArray"),  # the path of an array; any text, also "false", is one
        ReaderOption("encoding", synonyms=("charset",)),
        ReaderOption("dateFormat"),
        *(_MODE, _ZONE, _CORRUPT, _LOCALE, _CODEC, *_TIME_FORMATS, _FALLBACK, _VARIANT, _LINE, *_INFERRING),
        *_neutral(
            "primitivesAsString", "dropFieldIfAllNull", "useUnsafeRow", "pretty", "ignoreNullFields", "sortKeys",
            "writeNonAsciiCharacterAsCodePoint",
        ),
    ),
    "text": (
        _boolean("wholetext"),
        _LINE,
        ReaderOption("encoding", parse=as_charset, default="UTF-8"),
        _CODEC,
    ),
    "xml": (
        ReaderOption("rowTag"),
        _boolean("excludeAttribute"),
        ReaderOption("attributePrefix", default="_"),
        ReaderOption("valueTag", default="_VALUE"),
        ReaderOption("nullValue"),
        _boolean("ignoreNamespace"),
        _boolean("ignoreSurroundingSpaces", "true"),
        ReaderOption("wildcardColName", default="xs_any"),
        ReaderOption("rowValidationXSDPath"),
        ReaderOption("useLegacyXMLParser", parse=as_boolean),
        _boolean("multiLine", "true"),
        _boolean("preferDate", "true"),
        ReaderOption("encoding", parse=as_charset, default="UTF-8", synonyms=("charset",)),
        ReaderOption("dateFormat"),
        *(_MODE, _ZONE, _CORRUPT, _LOCALE, _CODEC, *_TIME_FORMATS, _VARIANT, *_INFERRING),
        *_neutral("declaration", "rootTag", "arrayElementName", "indent", "validateName"),
    ),
}  # fmt: skip
#: Prefixes of options that control access to a store or decryption, and of Xskipper's options.
_OF_STORES = ("fs.", "dfs.", "parquet.encryption.", "parquet.crypto.", "io.xskipper.", "spark.ibm.metaindex.")
#: Words that mark a credential: those of Spark's ``spark.redaction.regex``, and names of keys.
_CREDENTIALS = (
    "secret", "password", "passwd", "passphrase", "pwd", "token", "credential", "signature", "access.key", "accesskey",
    "account.key", "accountkey", "api.key", "apikey", "private.key", "privatekey",
)  # fmt: skip
_OF_A_STORE = ReaderOption("", "neutral")


@cache
def _by_name(fmt: str) -> Mapping[str, ReaderOption]:
    options = (*_ALL, *_neutral("compression", "codec"), *OPTIONS.get(fmt, ()))
    return {name.lower(): option for option in options for name in (option.name, *option.synonyms)}


def option_of(fmt: str, name: str) -> ReaderOption | None:
    """Return an option of a format by their names in lower case, or None if the option is not known."""
    return _OF_A_STORE if name.startswith(_OF_STORES) else _by_name(fmt).get(name)


def effective_options(fmt: str, options: Mapping[str, str]) -> dict[str, tuple[ReaderOption | None, str]]:
    """Return the options that can change values as the reader takes them, by their names in lower case.

    An option with its default value is left out, and so is one that a synonym overrules.

    >>> found = effective_options("csv", {"header": "TRUE", "delimiter": ",", "path": "/x"})
    >>> {name: value for name, (_, value) in found.items()}
    {'header': 'true'}
    """
    found: dict[str, tuple[ReaderOption | None, str]] = {}
    for given, text in sorted((name.lower(), text) for name, text in options.items()):
        option = option_of(fmt, given)
        if option is None:
            found[given] = None, text
        elif option.effect in ("value", "records", "column"):
            name = option.name.lower()
            # The preferred name replaces a synonym, in whatever order the two come.
            if given == name or name not in found:
                found[name] = option, text if text.startswith(DIGEST) else option.parse(text)
    return {name: (option, text) for name, (option, text) in found.items() if option is None or text != option.default}


def is_credential(option: str) -> bool:
    """Return whether the value of an option may be a credential, judged by the option's name in lower case.

    >>> is_credential("fs.s3a.secret.key"), is_credential("nullvalue")
    (True, False)
    """
    plain = option.replace("_", ".").replace("-", ".")
    return any(word in plain for word in _CREDENTIALS)
