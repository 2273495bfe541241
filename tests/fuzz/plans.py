"""Random plans of how a round writes its files and how its queries read them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from pyspark.sql.types import StructField, StructType

from tests.data_files import type_of
from tests.fuzz.data import COLUMNS
from tests.helpers import AVRO_V2

__all__ = ["ALL_KEYS", "Plan", "other_schema", "plan"]

_ZONES = ("UTC", "Europe/Oslo", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kolkata", "America/New_York", "+05:30")
_FORMATS = ("parquet", "parquet", "parquet", "avro", "avro", "orc", "csv", "json")
_TEXT = ("csv", "json")
_V1 = "avro,csv,json,kafka,orc,parquet,text"
_BOOLEANS = ("true", "false", "TRUE", "False")
#: Settings and reader options that decide values, or seem to; builds and queries draw them apart.
_SETTINGS_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "parquet": {
        "spark.sql.parquet.datetimeRebaseModeInRead": ("LEGACY", "CORRECTED"),
        "spark.sql.parquet.int96RebaseModeInRead": ("LEGACY", "CORRECTED"),
        "spark.sql.parquet.int96TimestampConversion": ("true", "false"),
        "spark.sql.parquet.enableVectorizedReader": ("true", "false"),
        "spark.sql.parquet.binaryAsString": ("true", "false"),
        "spark.sql.parquet.fieldId.read.enabled": ("true", "false"),
        "spark.sql.parquet.inferTimestampNTZ.enabled": ("true", "false"),
        "spark.sql.parquet.int96AsTimestamp": ("true", "false"),
        "spark.sql.parquet.recordLevelFilter.enabled": ("true", "false"),
        "spark.sql.parquet.filterPushdown": ("true", "false"),
    },
    "avro": {
        "spark.sql.avro.datetimeRebaseModeInRead": ("LEGACY", "CORRECTED"),
        "spark.sql.avro.filterPushdown.enabled": ("true", "false"),
        "avro.mapred.ignore.inputs.without.extension": ("true", "false"),
    },
    "orc": {
        "orc.force.positional.evolution": ("true", "false"), "spark.sql.orc.enableVectorizedReader": ("true", "false"),
        "spark.sql.orc.filterPushdown": ("true", "false"), "orc.schema.evolution.case.sensitive": ("true", "false"),
    },
    "csv": {
        "spark.sql.legacy.timeParserPolicy": ("LEGACY", "CORRECTED"),
        "spark.sql.csv.parser.columnPruning.enabled": ("true", "false"),
        "spark.sql.csv.filterPushdown.enabled": ("true", "false"),
        "spark.sql.columnNameOfCorruptRecord": ("bad", "_corrupt_record"),
        "spark.sql.legacy.csv.enableDateTimeParsingFallback": ("true", "false"),
        "mapreduce.input.linerecordreader.line.maxlength": ("90", "2147483647"),
    },
    "json": {
        "spark.sql.json.enablePartialResults": ("true", "false"),
        "spark.sql.json.filterPushdown.enabled": ("true", "false"),
        "spark.sql.legacy.timeParserPolicy": ("LEGACY", "CORRECTED"),
        "spark.sql.columnNameOfCorruptRecord": ("bad", "_corrupt_record"),
        "spark.sql.legacy.json.allowEmptyString.enabled": ("true", "false"),
        "spark.sql.legacy.json.enableDateTimeParsingFallback": ("true", "false"),
        "mapreduce.input.linerecordreader.line.maxlength": ("200", "2147483647"),
    },
}  # fmt: skip
#: Settings and options with which no index can be made, so that only queries draw them.
_REFUSED_SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "orc": {"orc.force.positional.evolution.level": ("9", "1")},
}
_REFUSED_OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "avro": {"positionalFieldMatching": ("TRUE", "true", "false")},
    "csv": {"mode": ("DROPMALFORMED", "dropmalformed")},
    "json": {"mode": ("DROPMALFORMED",)},
}
_OF_ANY = {
    "spark.sql.files.ignoreCorruptFiles": ("true", "false"),
    "spark.sql.files.maxPartitionBytes": ("64m", "128m"),
    "spark.sql.optimizer.nestedSchemaPruning.enabled": ("true", "false"),
}
#: Keys of Hadoop's configuration.
_HADOOP_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "parquet": {"parquet.filter.stats.enabled": ("true", "false"), "parquet.new.key": ("1",)},
    "avro": {"avro.mapred.ignore.inputs.without.extension": ("true", "TRUE", "false")},
    "orc": {
        "orc.force.positional.evolution": ("true", "false"), "orc.schema.evolution.case.sensitive": ("true", "false"),
        "orc.skip.corrupt.data": ("true", "false"), "orc.tolerate.missing.schema": ("true", "false"),
    },
    "csv": {"mapreduce.input.linerecordreader.line.maxlength": ("90", "2147483647")},
    "json": {"mapreduce.input.linerecordreader.line.maxlength": ("200", "2147483647")},
}  # fmt: skip
#: All of them.
ALL_KEYS = tuple(dict.fromkeys(key for keys in _HADOOP_OF.values() for key in keys))
_OF_TEXT: dict[str, tuple[str, ...]] = {
    "columnNameOfCorruptRecord": ("bad", "_corrupt_record"), "multiLine": _BOOLEANS, "mode": ("permissive",),
    "dateFormat": ("yyyy-MM-dd", "dd/MM/yyyy"), "timestampFormat": ("yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][XXX]",),
    "locale": ("en-US", "EN-us", "de-DE"), "timeZone": _ZONES, "lineSep": ("\n",),
    "enableDateTimeParsingFallback": ("true", "false"), "ignoreCorruptFiles": _BOOLEANS,
}  # fmt: skip
_OPTIONS_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "parquet": {
        "mergeSchema": ("true", "false"), "datetimeRebaseMode": ("LEGACY", "CORRECTED"), "newOption": ("1", "2"),
        "int96RebaseMode": ("LEGACY", "CORRECTED"), "timeZone": _ZONES, "ignoreMissingFiles": _BOOLEANS,
    },
    "avro": {
        "ignoreExtension": _BOOLEANS, "datetimeRebaseMode": ("LEGACY", "CORRECTED"), "mode": ("FAILFAST", "failfast"),
        "recursiveFieldMaxDepth": ("-1", "3"), "enableStableIdentifiersForUnionType": _BOOLEANS,
    },
    "orc": {"mergeSchema": ("true", "false"), "compression": ("zlib", "snappy")},
    "csv": {
        **_OF_TEXT,
        "nullValue": ("oslo1", "10", ""), "emptyValue": ("ab1", ""), "nanValue": ("1.5", "NaN"), "sep": (",", ";"),
        "delimiter": (",", "\t"), "header": _BOOLEANS, "quote": ('"', "'", ""), "escape": ("\\", '"'),
        "ignoreLeadingWhiteSpace": _BOOLEANS, "ignoreTrailingWhiteSpace": _BOOLEANS, "comment": ("1", ""),
        "preferDate": _BOOLEANS, "positiveInf": ("Inf", "1.5"), "negativeInf": ("-Inf",), "columnPruning": _BOOLEANS,
        "encoding": ("utf-8", "UTF8", "ISO-8859-1"), "maxColumns": ("20480", "+20480", "30000"),
        "maxCharsPerColumn": ("-1", "5000"), "inputBufferSize": ("1048576",), "samplingRatio": ("0.5",),
        "unescapedQuoteHandling": ("stop_at_delimiter", "STOP_AT_CLOSING_QUOTE", "BACK_TO_DELIMITER"),
    },
    "json": {
        **_OF_TEXT,
        "allowNonNumericNumbers": _BOOLEANS, "primitivesAsString": _BOOLEANS, "allowComments": _BOOLEANS,
        "allowSingleQuotes": _BOOLEANS, "allowNumericLeadingZeros": _BOOLEANS, "allowUnquotedFieldNames": _BOOLEANS,
        "allowBackslashEscapingAnyCharacter": _BOOLEANS, "encoding": ("UTF-8",), "prefersDecimal": _BOOLEANS,
    },
}  # fmt: skip
_WRITING = {
    "parquet": ("spark.sql.parquet.datetimeRebaseModeInWrite", "spark.sql.parquet.int96RebaseModeInWrite"),
    "avro": ("spark.sql.avro.datetimeRebaseModeInWrite",),
}
_PARTITIONS = ("i", "l", "h", "s", "s", "u", "dt", "ts")
_NOT_IN_CSV = ("x", "st", "st.a", "st.b", "st.e", "st.q.z", "arr", "m")
_WIDER = {"int": ("bigint", "double"), "smallint": ("int", "bigint"), "float": ("double",),
          "decimal(10,2)": ("decimal(20,2)", "decimal(12,4)")}  # fmt: skip
_WIDER_OF = {
    "parquet": {**_WIDER, "bigint": ("decimal(20,0)",), "date": ("timestamp_ntz",), "timestamp": ("timestamp_ntz",)},
    "avro": _WIDER,
    "orc": {**_WIDER, "date": ("timestamp",)},
    "csv": {},
    "json": {},
}


@dataclass(frozen=True, slots=True)
class Plan:
    """The way in which a round writes and reads files.

    Attributes
    ----------
    fmt : str
    settings : dict of str to str
        The settings of the session while files and indexes are created.
    asking : dict of str to str
        The settings that differ for the queries.
    partitions : tuple of str
        The partition columns, which name directories.
    own_schema : bool
        Whether the queries read with a schema of their own.
    options, asked_options : dict of str to str
        The reader options of the build and of the queries.
    zones : tuple of str
        The default time zones of the JVM for the creation of files and indexes, and for the queries.
    corrupt : str
        The column for corrupt records in formats that support it, or an empty text.
    damaged : tuple of int
        The files that are damaged before anything reads them.
    hadoop, asked_hadoop : dict of str to str
        The keys of Hadoop's configuration for the build and for the queries.
    """

    fmt: str
    settings: dict[str, str]
    asking: dict[str, str]
    partitions: tuple[str, ...]
    own_schema: bool
    options: dict[str, str]
    asked_options: dict[str, str]
    zones: tuple[str, str]
    corrupt: str
    damaged: tuple[int, ...] = ()
    hadoop: dict[str, str] = field(default_factory=dict)
    asked_hadoop: dict[str, str] = field(default_factory=dict)

    @property
    def absent(self) -> tuple[str, ...]:
        """Return the columns that no file contains."""
        return (*self.partitions, *(_NOT_IN_CSV if self.fmt == "csv" else ()))

    @property
    def schema(self) -> str:
        """Return the schema of text files in DDL, or an empty text for formats whose files contain their schema."""
        if self.fmt not in _TEXT:
            return ""
        own = {name: kind for name, kind in COLUMNS.items() if name not in self.absent}
        columns = own | ({self.corrupt: "string"} if self.corrupt else {})
        return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())

    @property
    def ansi(self) -> bool:
        return self.settings["spark.sql.ansi.enabled"] == "true"

    @property
    def served(self) -> bool:
        """Return whether queries read as the build did, so that the indexes serve them."""
        return "spark.xskip.strict" not in self.asking and not self.damaged

    @property
    def hidden(self) -> bool:
        """Return whether the source has hidden columns; sources of the second API have none."""
        return self.fmt in self.settings["spark.sql.sources.useV1SourceList"].split(",")


def plan(random: Random, files: int) -> Plan:
    """Return a random plan for a dataset with a number of files."""
    fmt = random.choice(_FORMATS)
    settings = {
        "spark.sql.session.timeZone": random.choice(_ZONES),
        "spark.sql.ansi.enabled": random.choice(("true", "false", "false", "false", "false")),
        "spark.sql.caseSensitive": random.choice(("true", *["false"] * 7)),
        "spark.sql.parquet.outputTimestampType": random.choice(("TIMESTAMP_MICROS", "INT96")),
        "spark.sql.sources.useV1SourceList": random.choice((_V1, "" if AVRO_V2 else "avro")),
    }
    partitions = random.sample(_PARTITIONS, random.choice((1, 2, 2))) if random.random() < 0.4 else []
    own = random.random() < (0.1 if fmt == "orc" else 0.3)
    asking = {"spark.sql.session.timeZone": random.choice(_ZONES)} if random.random() < 0.2 else {}
    if random.random() < 0.05:
        asking["spark.sql.caseSensitive"] = random.choice(("true", "false"))
    settings |= {key: random.choice(("LEGACY", "CORRECTED")) for key in _WRITING.get(fmt, ())}
    settings |= _drawn(random, _SETTINGS_OF[fmt] | _OF_ANY)
    options = _drawn(random, _OPTIONS_OF[fmt])
    asked = options if random.random() < 0.5 else _drawn(random, _OPTIONS_OF[fmt])
    if random.random() < 0.1:
        asked = asked | _drawn(random, _REFUSED_OPTIONS.get(fmt, {}))
    if random.random() < 0.3:
        asking |= _drawn(random, _SETTINGS_OF[fmt] | _OF_ANY | _REFUSED_SETTINGS.get(fmt, {}))
    hadoop = _drawn(random, _HADOOP_OF[fmt]) if random.random() < 0.3 else {}
    asked_hadoop = hadoop if random.random() < 0.5 else _drawn(random, _HADOOP_OF[fmt])
    zones = (random.choice(_ZONES[:-1]), random.choice(_ZONES[:-1])) if random.random() < 0.4 else ("UTC", "UTC")
    forced = {**hadoop, **settings}.get("orc.force.positional.evolution") == "true"
    by_place = fmt == "orc" and (own or forced)
    if asking or asked != options or asked_hadoop != hadoop or by_place or zones[0] != zones[1] or fmt in _TEXT:
        asking["spark.xskip.strict"] = "false"  # a reading that may have no index at all
    corrupt = random.choice(("", "_corrupt_record", "bad")) if fmt in _TEXT else ""
    own = own and fmt not in _TEXT
    damaged = tuple(random.sample(range(files), 3)) if fmt not in _TEXT and random.random() < 0.15 else ()
    if damaged:
        settings["spark.sql.files.ignoreCorruptFiles"] = "true"
        asking.pop("spark.sql.files.ignoreCorruptFiles", None)
    made = Plan(fmt, settings, asking, tuple(dict.fromkeys(partitions)), own, options, asked, zones, corrupt, damaged)
    return replace(made, hadoop=hadoop, asked_hadoop=asked_hadoop)


def _drawn(random: Random, pool: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Return a few of the names with one of their values each; often none."""
    names = random.sample(sorted(pool), min(len(pool), random.choice((0, 0, 1, 2, 3))))
    return {name: random.choice(pool[name]) for name in names}


def other_schema(random: Random, schema: StructType, fmt: str) -> StructType:
    """Return a schema that reads the same files, with reordered, fewer, more, wider and differently spelled columns."""
    fields = [_other_field(random, each, fmt) for each in schema.fields if random.random() < 0.85]
    if random.random() < 0.5:
        fields.append(StructField("extra", type_of("int")))
    random.shuffle(fields)
    return StructType(fields or schema.fields)


def _other_field(random: Random, field: StructField, fmt: str) -> StructField:
    name, kind = field.name, field.dataType
    if random.random() < 0.2:
        name = name.upper()
    if isinstance(kind, StructType):
        return StructField(name, other_schema(random, kind, fmt))
    wider = _WIDER_OF[fmt].get(kind.simpleString(), ())
    if wider and random.random() < 0.3:
        kind = type_of(random.choice(wider))
    return StructField(name, kind)
