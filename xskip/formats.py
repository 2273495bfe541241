"""What of a query's options and settings decides the values that Spark reads from a file, format by format.

The tables name what is known to keep values. Everything else that concerns a format makes another reading.
Rules: specs/pruning.rst, [PRU-RD].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["SETTINGS", "SETTING_PREFIXES", "ZONE", "FormatRules", "concerns", "is_credential", "rules_of"]

#: The JVM's default time zone, under the name of Java's system property.
ZONE = "user.timezone"
_TEXT = frozenset({"csv", "json", "text", "xml"})
_ALL: frozenset[str] = frozenset()
#: Session settings that decide values, by the formats that they concern (none stands for all), with Spark's default.
SETTINGS: Mapping[str, tuple[str, frozenset[str]]] = {
    "spark.sql.caseSensitive": ("false", _ALL),
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
    "avro.mapred.ignore.inputs.without.extension": ("true", frozenset({"avro"})),
    "spark.sql.orc.impl": ("native", frozenset({"orc"})),
    "orc.force.positional.evolution": ("false", frozenset({"orc"})),
    "orc.schema.evolution.case.sensitive": ("true", frozenset({"orc"})),
    "orc.tolerate.missing.schema": ("true", frozenset({"orc"})),
    "orc.proleptic.gregorian.default": ("false", frozenset({"orc"})),
    ZONE: ("", _ALL),
}
_FORMATS = ("parquet", "orc", "avro", "csv", "json", "xml", "text", "binaryfile")
#: Settings of these beginnings count where they are not Spark's default, unless they are known to keep values.
SETTING_PREFIXES = (
    "spark.sql.legacy.",
    "spark.sql.files.",
    *(f"{space}{name}." for name in _FORMATS for space in ("spark.sql.", "spark.hadoop.", "")),
)
_KEEPING = (
    "spark.sql.files.",  # which files a query reads, in parts of which size
    "spark.sql.parquet.aggregatePushdown",
    "spark.sql.parquet.cacheMetadata",
    "spark.sql.parquet.columnarReaderBatchSize",
    "spark.sql.parquet.compression.codec",
    "spark.sql.parquet.datetimeRebaseModeInWrite",
    "spark.sql.parquet.enableNestedColumnVectorizedReader",
    "spark.sql.parquet.enableVectorizedReader",
    "spark.sql.parquet.fieldId.write.enabled",
    "spark.sql.parquet.filterPushdown",
    "spark.sql.parquet.int96RebaseModeInWrite",
    "spark.sql.parquet.mergeSchema",
    "spark.sql.parquet.output.committer.class",
    "spark.sql.parquet.outputTimestampType",
    "spark.sql.parquet.pushdown.",
    "spark.sql.parquet.recordLevelFilter.enabled",
    "spark.sql.parquet.respectSummaryFiles",
    "spark.sql.parquet.writeLegacyFormat",
    "spark.sql.legacy.parquet.datetimeRebaseModeIn",  # former names of settings above, whose values are asked
    "spark.sql.legacy.parquet.int96RebaseModeIn",
    "spark.sql.legacy.avro.datetimeRebaseModeIn",
    "spark.sql.orc.aggregatePushdown",
    "spark.sql.orc.cache.stripe.details.size",
    "spark.sql.orc.columnarReaderBatchSize",
    "spark.sql.orc.columnarWriterBatchSize",
    "spark.sql.orc.compression.codec",
    "spark.sql.orc.enableNestedColumnVectorizedReader",
    "spark.sql.orc.enableVectorizedReader",
    "spark.sql.orc.filterPushdown",
    "spark.sql.orc.mergeSchema",
    "spark.sql.avro.compression.codec",
    "spark.sql.avro.datetimeRebaseModeInWrite",
    "spark.sql.avro.deflate.level",
    "spark.sql.avro.filterPushdown.enabled",
    "spark.sql.avro.xz.level",
    "spark.sql.avro.zstandard.",
    "spark.sql.csv.filterPushdown.enabled",
    "spark.sql.json.filterPushdown.enabled",
    "spark.sql.json.useUnsafeRow",
    "parquet.block.size",
    "parquet.page.size",
    "parquet.compression",
    "parquet.crypto.",
    "parquet.encryption.",
    "parquet.enable.dictionary",
    "parquet.filter.",
    "parquet.hadoop.vectored.io.enabled",
    "parquet.read.bad.record.threshold",  # a build reads every record
    "parquet.read.filter",
    "parquet.read.support.class",  # Spark sets these two for each scan
    "parquet.read.schema",
    "parquet.summary.metadata.level",
    "orc.compress",
    "orc.skip.corrupt.data",  # a build reads every record
    "orc.stripe.size",
    "spark.hadoop.parquet.block.size",
    "spark.hadoop.parquet.crypto.",
    "spark.hadoop.parquet.encryption.",
    "spark.hadoop.parquet.enable.summary-metadata",
    "spark.hadoop.parquet.summary.metadata.level",
    "spark.hadoop.orc.compress",
)

#: Options of every format that choose files, or say how Spark lists, splits or streams them.
_OF_FILES = frozenset(
    {
        "path", "paths", "basepath", "recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter",
        "ignorecorruptfiles", "ignoremissingfiles", "ignoreinvalidpartitionpaths", "maxfilespertrigger",
        "maxbytespertrigger", "latestfirst", "maxfileage", "maxcachedfiles", "discardcachedinputratio", "cleansource",
        "sourcearchivedir", "filenameonly", "allowoverwrite", "__globpaths__", "compression", "codec",
        "serialization.format",
    }
)  # fmt: skip
#: Beginnings of options that say how the bytes of files are reached, decrypted, or whose they are.
_OF_STORES = ("fs.", "dfs.", "parquet.encryption.", "parquet.crypto.", "io.xskipper.", "spark.ibm.metaindex.")
#: What Spark's ``spark.redaction.regex`` finds in names, and names of keys beside.
_CREDENTIALS = ("secret", "password", "passwd", "token", "access.key", "accesskey", "api.key", "apikey", "credential")


@dataclass(frozen=True, slots=True)
class FormatRules:
    """What the options of a format do to values.

    Attributes
    ----------
    keeping : frozenset of str
        Options that are known to keep values, beside those of all formats; names in lower case.
    deciding : frozenset of str
        Options that are known to decide values; their own values can be recorded as they are.
    """

    keeping: frozenset[str] = field(default_factory=frozenset)
    deciding: frozenset[str] = field(default_factory=frozenset)

    def keeps(self, option: str) -> bool:
        """Return whether an option, in lower case, is known to keep values.

        >>> rules_of("csv").keeps("samplingratio"), rules_of("csv").keeps("nullvalue"), rules_of("csv").keeps("new")
        (True, False, False)
        """
        return option in _OF_FILES or option in self.keeping or option.startswith(_OF_STORES)


_TIMES = {"dateformat", "timestampformat", "timestampntzformat", "timezone", "locale", "enabledatetimeparsingfallback"}
_TEXTS = {"charset", "encoding", "linesep", "multiline", "mode", "columnnameofcorruptrecord", "singlevariantcolumn"}
_INFERRING = {
    "samplingratio",
    "inferschema",
    "prefersdecimal",
    "preferdate",
    "infertimestamp",
    "extension",
    "mergeschema",
}
_RULES: Mapping[str, FormatRules] = {
    "parquet": FormatRules(
        frozenset({"mergeschema", "parquet.compression", "timezone"}),
        frozenset({"datetimerebasemode", "int96rebasemode"}),
    ),
    "orc": FormatRules(frozenset({"mergeschema", "orc.compress", "timezone"})),
    "avro": FormatRules(
        frozenset({"recordname", "recordnamespace", "mergeschema", "timezone"}),
        frozenset(
            {
                "avroschema", "avroschemaurl", "datetimerebasemode", "ignoreextension", "mode",
                "positionalfieldmatching",
                "enablestableidentifiersforuniontype", "stableidentifierprefixforuniontype", "recursivefieldmaxdepth",
            }
        ),
    ),
    "csv": FormatRules(
        frozenset(_INFERRING | {"quoteall", "escapequotes", "inputbuffersize", "maxcolumns"}),
        frozenset(
            _TIMES | _TEXTS
            | {
                "header", "sep", "delimiter", "quote", "escape", "chartoescapequoteescaping", "comment", "nullvalue",
                "emptyvalue", "nanvalue", "positiveinf", "negativeinf", "enforceschema", "columnpruning",
                "ignoreleadingwhitespace", "ignoretrailingwhitespace", "maxcharspercolumn", "unescapedquotehandling",
            }
        ),
    ),
    "json": FormatRules(
        frozenset(
            _INFERRING
            | {"primitivesasstring", "dropfieldifallnull", "useunsaferow", "pretty", "ignorenullfields"}
            | {"writenonasciicharacterascodepoint"}
        ),
        frozenset(
            _TIMES | _TEXTS
            | {
                "allowcomments", "allowunquotedfieldnames", "allowsinglequotes", "allownumericleadingzeros",
                "allownonnumericnumbers", "allowbackslashescapinganycharacter", "allowunquotedcontrolchars",
            }
        ),
    ),
    "text": FormatRules(deciding=frozenset({"linesep", "wholetext", "encoding", "charset"})),
    "xml": FormatRules(
        frozenset(_INFERRING | {"declaration", "roottag", "arrayelementname", "indent", "validatename"}),
        frozenset(
            _TIMES | _TEXTS
            | {
                "rowtag", "excludeattribute", "attributeprefix", "valuetag", "nullvalue", "ignorenamespace",
                "wildcardcolname", "ignoresurroundingspaces", "rowvalidationxsdpath", "uselegacyxmlparser",
            }
        ),
    ),
}  # fmt: skip
_UNKNOWN = FormatRules()


def rules_of(fmt: str) -> FormatRules:
    """Return the rules of a format by its short name in lower case; without options for a format that is not known."""
    return _RULES.get(fmt, _UNKNOWN)


def is_credential(option: str) -> bool:
    """Return whether an option's name, in lower case, is one under which people keep secrets.

    >>> is_credential("fs.s3a.secret.key"), is_credential("nullvalue")
    (True, False)
    """
    plain = option.replace("_", ".").replace("-", ".")
    return any(word in plain for word in _CREDENTIALS)


def concerns(fmt: str, setting: str) -> bool:
    """Return whether a setting that is set, of those in :data:`SETTING_PREFIXES`, makes another reading of a format.

    >>> concerns("avro", "spark.sql.parquet.new.setting"), concerns("parquet", "spark.sql.parquet.new.setting")
    (False, True)
    """
    if setting in SETTINGS or setting.startswith(_KEEPING):
        return False
    plain = setting.removeprefix("spark.hadoop.").removeprefix("spark.sql.")
    other = any(plain.startswith(f"{name}.") for name in _FORMATS if name != fmt)
    return not other or fmt not in _FORMATS
