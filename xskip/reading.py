"""How a dataset's files were read when they were indexed: another way to read them may give other values.

Rules: specs/pruning.rst, [PRU-RD]. An index is used only where the query reads as the build did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CONF_DEFAULTS", "UNSTABLE", "Reading", "differences", "relevant_options"]

# Reader options that choose files or speed, and never change a value
_NEUTRAL_OPTIONS = frozenset(
    {
        "path", "paths", "basepath", "recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter",
        "mergeschema", "ignoreextension", "ignorecorruptfiles", "ignoremissingfiles", "maxfilespertrigger",
        "maxbytespertrigger", "latestfirst", "maxfileage", "cleansource", "sourcearchivedir", "filenameonly",
        "inferschema", "samplingratio", "__globpaths__", "compression", "serialization.format",
    }
)  # fmt: skip
#: Properties of a Hive table with ``.parquet.`` in their names are options of Spark's reader.
_OF_INDEXES = ("io.xskipper.", "spark.ibm.metaindex.")
_TEXT = frozenset({"csv", "json", "text", "xml"})
_INT96_ZONE = "spark.sql.parquet.int96TimestampConversion"
#: Session settings that change what a file's values are, by the formats they concern, with Spark's default.
CONF_DEFAULTS: Mapping[str, tuple[str, frozenset[str]]] = {
    "spark.sql.caseSensitive": ("false", frozenset()),
    "spark.sql.session.timeZone": ("", _TEXT | {"parquet"}),
    "spark.sql.legacy.timeParserPolicy": ("CORRECTED", _TEXT),
    "spark.sql.legacy.csv.enableDateTimeParsingFallback": ("", _TEXT),
    "spark.sql.legacy.json.enableDateTimeParsingFallback": ("", _TEXT),
    "spark.sql.legacy.json.allowEmptyString.enabled": ("false", _TEXT),
    "spark.sql.json.enablePartialResults": ("true", _TEXT),
    "spark.sql.json.enableExactStringParsing": ("true", _TEXT),
    "spark.sql.csv.parser.columnPruning.enabled": ("true", _TEXT),
    "spark.sql.columnNameOfCorruptRecord": ("_corrupt_record", _TEXT),
    "spark.sql.ansi.enabled": ("", _TEXT),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("CORRECTED", frozenset({"parquet"})),
    "spark.sql.parquet.int96RebaseModeInRead": ("CORRECTED", frozenset({"parquet"})),
    "spark.sql.parquet.int96TimestampConversion": ("false", frozenset({"parquet"})),
    "spark.sql.parquet.fieldId.read.enabled": ("false", frozenset({"parquet"})),
    "spark.sql.avro.datetimeRebaseModeInRead": ("CORRECTED", frozenset({"avro"})),
    "spark.sql.orc.impl": ("native", frozenset({"orc"})),
    "orc.force.positional.evolution": ("false", frozenset({"orc"})),
}


#: Why a reading that is not stable cannot be indexed.
UNSTABLE = "with mode DROPMALFORMED a file's rows depend on the columns that a query reads"


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a dataset's files.

    Attributes
    ----------
    format : str
        Spark's short name, such as ``avro``.
    options : mapping of str to str
        Reader options that can change values, names in lower case.
    conf : mapping of str to str
        The settings of :data:`CONF_DEFAULTS` that concern the format.
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
        """Are names told apart by their case."""
        return self.conf.get("spark.sql.caseSensitive", "false").lower() == "true"

    @property
    def is_stable(self) -> bool:
        """Are a file's rows the same whichever columns a query reads; where not, see :data:`UNSTABLE`."""
        return self.options.get("mode", "").upper() != "DROPMALFORMED"

    def to_json(self) -> dict[str, Any]:
        """As a record keeps it."""
        return {
            "format": self.format,
            "options": dict(sorted(self.options.items())),
            "conf": dict(sorted(self.conf.items())),
            "schema": self.schema,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Reading:
        """The inverse of :meth:`to_json`."""
        return Reading(value["format"], dict(value["options"]), dict(value["conf"]), value["schema"])

    @staticmethod
    def of(fmt: str, options: Mapping[str, str], conf: Mapping[str, str], schema: str) -> Reading:
        """The reading that a relation's format, options, session settings and data schema amount to.

        >>> Reading.of("CSV", {"Header": "true", "path": "/x"}, {}, "a INT").options
        {'header': 'true'}
        """
        name = fmt.lower()
        concerned = {
            # EXCEPTION, a former default, refuses old dates and reads all others as CORRECTED does
            key: (conf.get(key) or default).replace("EXCEPTION", "CORRECTED")
            for key, (default, formats) in CONF_DEFAULTS.items()
            if not formats or name in formats
        }
        if name == "parquet" and concerned[_INT96_ZONE].lower() != "true":
            del concerned["spark.sql.session.timeZone"]
        return Reading(name, relevant_options(options), concerned, schema)


def relevant_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options that can change values, names in lower case."""
    lowered = {key.lower(): value for key, value in options.items()}
    return {
        key: value
        for key, value in sorted(lowered.items())
        if key not in _NEUTRAL_OPTIONS and not key.startswith(_OF_INDEXES)
    }


def differences(built: Reading, asked: Reading) -> Iterator[str]:
    """What a query reads otherwise than the build did, each as a plain sentence.

    >>> list(differences(Reading("avro"), Reading("avro", {"mode": "PERMISSIVE"})))
    ['option mode was not given when the index was built']
    """
    if built.format != asked.format:
        yield f"the index was built from {built.format} and the query reads {asked.format}"
        return
    if not asked.is_stable:
        yield UNSTABLE
    for key in sorted({*built.options, *asked.options}):
        before, now = built.options.get(key), asked.options.get(key)
        if before is None:
            yield f"option {key} was not given when the index was built"
        elif before != now:
            yield f"option {key} has another value than when the index was built"
    for key in sorted({*built.conf, *asked.conf}):
        if built.conf.get(key) != asked.conf.get(key):
            yield f"{key} has another value than when the index was built"
    if built.schema != asked.schema:
        yield f"the schema given to {built.format} differs from the one that the index was built with"
