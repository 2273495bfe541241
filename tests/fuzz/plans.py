"""Random plans of how a round writes its files and how its queries read them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from pyspark.sql.types import DataType, StructField, StructType

from tests.fuzz.data import COLUMNS
from tests.helpers import AVRO_V2

__all__ = ["Plan", "other_schema", "plan"]

_ZONES = ("UTC", "Europe/Oslo", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kolkata", "America/New_York", "+05:30")
_FORMATS = ("parquet", "parquet", "parquet", "avro", "avro", "orc", "csv", "json")
_TEXT = ("csv", "json")
_V1 = "avro,csv,json,kafka,orc,parquet,text"
#: Settings and reader options that decide values, or seem to; builds and queries draw them apart.
_SETTINGS_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "parquet": {
        "spark.sql.parquet.datetimeRebaseModeInRead": ("LEGACY", "CORRECTED"),
        "spark.sql.parquet.int96RebaseModeInRead": ("LEGACY", "CORRECTED"),
        "spark.sql.parquet.int96TimestampConversion": ("true", "false"),
        "spark.sql.parquet.enableVectorizedReader": ("true", "false"),
        "spark.sql.parquet.binaryAsString": ("true", "false"),
        "spark.sql.parquet.fieldId.read.enabled": ("true", "false"),
    },
    "avro": {"spark.sql.avro.datetimeRebaseModeInRead": ("LEGACY", "CORRECTED")},
    "orc": {"orc.force.positional.evolution": ("true", "false")},
    "csv": {
        "spark.sql.legacy.timeParserPolicy": ("LEGACY", "CORRECTED"),
        "spark.sql.csv.parser.columnPruning.enabled": ("true", "false"),
    },
    "json": {"spark.sql.json.enablePartialResults": ("true", "false")},
}
_OF_ANY = {
    "spark.sql.files.ignoreCorruptFiles": ("true", "false"),
    "spark.sql.files.maxPartitionBytes": ("64m", "128m"),
}
_OPTIONS_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "parquet": {
        "mergeSchema": ("true", "false"), "datetimeRebaseMode": ("LEGACY", "CORRECTED"), "newOption": ("1", "2"),
    },
    "avro": {"ignoreExtension": ("true", "false"), "datetimeRebaseMode": ("LEGACY", "CORRECTED")},
    "orc": {"mergeSchema": ("true", "false")},
    "csv": {
        "nullValue": ("oslo1", "10", ""), "emptyValue": ("ab1",), "nanValue": ("1.5",),
        "ignoreLeadingWhiteSpace": ("true",), "dateFormat": ("yyyy-MM-dd", "dd/MM/yyyy"), "comment": ("1",),
        "columnNameOfCorruptRecord": ("bad", "_corrupt_record"),
    },
    "json": {
        "dateFormat": ("yyyy-MM-dd", "dd/MM/yyyy"), "allowNonNumericNumbers": ("true", "false"),
        "columnNameOfCorruptRecord": ("bad", "_corrupt_record"), "primitivesAsString": ("true", "false"),
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
    if random.random() < 0.3:
        asking |= _drawn(random, _SETTINGS_OF[fmt] | _OF_ANY)
    zones = (random.choice(_ZONES[:-1]), random.choice(_ZONES[:-1])) if random.random() < 0.4 else ("UTC", "UTC")
    by_place = fmt == "orc" and (own or settings.get("orc.force.positional.evolution") == "true")
    if asking or asked != options or by_place or zones[0] != zones[1] or fmt in _TEXT:
        asking["spark.xskip.strict"] = "false"  # a reading that may have no index at all
    corrupt = random.choice(("", "_corrupt_record", "bad")) if fmt in _TEXT else ""
    own = own and fmt not in _TEXT
    damaged = tuple(random.sample(range(files), 3)) if fmt not in _TEXT and random.random() < 0.15 else ()
    if damaged:
        settings["spark.sql.files.ignoreCorruptFiles"] = "true"
        asking.pop("spark.sql.files.ignoreCorruptFiles", None)
    return Plan(fmt, settings, asking, tuple(dict.fromkeys(partitions)), own, options, asked, zones, corrupt, damaged)


def _drawn(random: Random, pool: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Return a few of the names with one of their values each; often none."""
    names = random.sample(sorted(pool), min(len(pool), random.choice((0, 0, 1, 2))))
    return {name: random.choice(pool[name]) for name in names}


def other_schema(random: Random, schema: StructType, fmt: str) -> StructType:
    """Return a schema that reads the same files, with reordered, fewer, more, wider and differently spelled columns."""
    fields = [_other_field(random, each, fmt) for each in schema.fields if random.random() < 0.85]
    if random.random() < 0.5:
        fields.append(StructField("extra", DataType.fromDDL("int")))
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
        kind = DataType.fromDDL(random.choice(wider))
    return StructField(name, kind)
