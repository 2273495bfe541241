"""How a round writes its files, and how its queries read them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from pyspark.sql.types import DataType, StructField, StructType

from tests.helpers import AVRO_V2

__all__ = ["Plan", "other_schema", "plan"]

_ZONES = ("UTC", "Europe/Oslo", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kolkata", "America/New_York", "+05:30")
_FORMATS = ("parquet", "parquet", "avro", "orc")
_V1 = "avro,csv,json,kafka,orc,parquet,text"
_PARTITIONS = ("i", "l", "h", "s", "s", "u", "dt", "ts")
_WIDER = {"int": ("bigint", "double"), "smallint": ("int", "bigint"), "float": ("double",),
          "decimal(10,2)": ("decimal(20,2)", "decimal(12,4)")}  # fmt: skip
_WIDER_OF = {
    "parquet": {**_WIDER, "bigint": ("decimal(20,0)",), "date": ("timestamp_ntz",), "timestamp": ("timestamp_ntz",)},
    "avro": _WIDER,
    "orc": {**_WIDER, "date": ("timestamp",)},
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a round writes and reads.

    Attributes
    ----------
    fmt : str
    settings : dict of str to str
        Of the session, when files and indexes are made.
    asking : dict of str to str
        What is set otherwise for the queries.
    partitions : tuple of str
        The columns that directories are named by.
    own_schema : bool
        The queries read with a schema of their own.
    """

    fmt: str
    settings: dict[str, str]
    asking: dict[str, str]
    partitions: tuple[str, ...]
    own_schema: bool

    @property
    def ansi(self) -> bool:
        return self.settings["spark.sql.ansi.enabled"] == "true"

    @property
    def hidden(self) -> bool:
        """Has the source hidden columns: those of the second API have none."""
        return self.fmt in self.settings["spark.sql.sources.useV1SourceList"].split(",")


def plan(random: Random) -> Plan:
    """A random plan."""
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
    if (fmt == "orc" and own) or "spark.sql.caseSensitive" in asking:  # a reading that may have no index at all
        asking["spark.xskip.strict"] = "false"
    return Plan(fmt, settings, asking, tuple(dict.fromkeys(partitions)), own)


def other_schema(random: Random, schema: StructType, fmt: str) -> StructType:
    """A schema that reads the same files: in another order, with less, more, wider and otherwise spelled columns."""
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
