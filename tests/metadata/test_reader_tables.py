"""The tables of options and settings have all that Spark's own classes look at, with Spark's defaults.

The tests ask the classes of the Spark that runs. Rules: specs/pruning.rst, [PRU-RD], and specs/reader-options.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import SPARK_4
from tests.metadata.spark_classes import names_of_settings, spark_jars
from xskip.metadata.reader_options import OPTIONS, option_of
from xskip.metadata.reader_settings import COUNTED, FORMATS, RECORDS, SETTING_PREFIXES, SETTINGS, setting_effect

SPEC = Path(__file__).parents[2] / "specs" / "reader-options.rst"
CLASSES = {
    "csv": "org.apache.spark.sql.catalyst.csv.CSVOptions",
    "json": "org.apache.spark.sql.catalyst.json.JSONOptions",
    "text": "org.apache.spark.sql.execution.datasources.text.TextOptions",
    "parquet": "org.apache.spark.sql.execution.datasources.parquet.ParquetOptions",
    "orc": "org.apache.spark.sql.execution.datasources.orc.OrcOptions",
    "avro": "org.apache.spark.sql.avro.AvroOptions",
    **({"xml": "org.apache.spark.sql.catalyst.xml.XmlOptions"} if SPARK_4 else {}),
}
#: Members that tell two objects apart or that hold the text of an option, not what the reader takes.
_OWN = {"parameters", "hashCode", "toString", "conf", "compressionCodec", "compressionCodecClassName"}
#: The encoding of lines, which the reader of text uses for ``lineSeparatorInRead`` alone. The text for empty values,
#: which the reader takes as ``emptyValueInRead``.
_OWN_OF = {"text": {"encoding"}, "csv": {"emptyValue"}}


def load(spark: SparkSession, name: str) -> Any:
    jvm: Any = spark._jvm
    return jvm.java.lang.Class.forName(name, True, jvm.java.lang.Thread.currentThread().getContextClassLoader())


def companion(spark: SparkSession, name: str) -> Any:
    return load(spark, f"{name}$").getField("MODULE$").get(None)


def members(iterable: Any) -> Iterator[Any]:
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()


@pytest.mark.parametrize("fmt", CLASSES)
def test_every_option_of_sparks_classes_is_in_the_table(spark: SparkSession, fmt: str) -> None:
    """[PRU-RD-14]"""
    names = [str(name) for name in members(companion(spark, CLASSES[fmt]).getAllOptions())]
    assert len(names) > 2
    assert [name for name in names if option_of(fmt, name.lower()) is None] == []
    spelled = {n for option in OPTIONS[fmt] for n in (option.name, *option.synonyms)}
    known = {name.lower() for name in names}
    assert [name for name in names if name.lower() in {s.lower() for s in spelled} and name not in spelled] == []
    assert known & {option.name.lower() for option in OPTIONS[fmt]}


def taken(spark: SparkSession, fmt: str, options: dict[str, str]) -> dict[str, str]:
    """Return what an object of Spark's class of options has made of options, as texts by the members' names."""
    jvm: Any = spark._jvm
    given = {"rowTag": "r", **options} if fmt == "xml" else options
    scala = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(given)
    arguments: list[Any] = {
        "csv": [scala, True, "UTC", "_corrupt_record"], "json": [scala, "UTC", "_corrupt_record"],
        "xml": [scala, "UTC", "_corrupt_record", True], "text": [scala],
        "parquet": [scala, spark._jsparkSession.sessionState().conf()],
        "orc": [scala, spark._jsparkSession.sessionState().conf()],
        "avro": [scala, spark.sparkContext._jsc.hadoopConfiguration()],
    }[fmt]  # fmt: skip
    made = new_object(spark, load(spark, CLASSES[fmt]), arguments)
    found = {}
    for method in made.getClass().getMethods():
        name = method.getName()
        if (
            method.getParameterCount() == 0
            and re.fullmatch(r"[a-z]\w*", name)
            and not name.endswith("InWrite")
            and name not in {*_OWN, *_OWN_OF.get(fmt, ())}
        ):
            kind = method.getReturnType().getName()
            if kind in ("boolean", "int", "char", "double", "java.lang.String", "scala.Option") or "Mode" in kind:
                found[name] = str(method.invoke(made, None))
    return found


def new_object(spark: SparkSession, kind: Any, arguments: list[Any]) -> Any:
    """Call the shortest public constructor that takes an immutable map, with Scala's defaults after the arguments."""
    gateway: Any = spark.sparkContext._gateway
    found = [c for c in kind.getConstructors() if c.getParameterTypes()[0].getName().endswith("immutable.Map")]
    constructor = min(
        (c for c in found if c.getParameterCount() >= len(arguments)), key=lambda c: int(c.getParameterCount())
    )
    array = gateway.new_array(gateway.jvm.java.lang.Object, constructor.getParameterCount())
    for i in range(len(array)):
        default = f"$lessinit$greater$default${i + 1}"
        array[i] = arguments[i] if i < len(arguments) else kind.getMethod(default, None).invoke(None, None)
    return constructor.newInstance(array)


@pytest.mark.parametrize("fmt", CLASSES)
def test_the_defaults_are_sparks(spark: SparkSession, fmt: str) -> None:
    """[PRU-RD-14] With an option's default, and with its synonyms, Spark's class has what it has without options."""
    plain = taken(spark, fmt, {})
    assert len(plain) > 2 or fmt == "orc"
    known = {str(name).lower() for name in members(companion(spark, CLASSES[fmt]).getAllOptions())}
    defaults = {
        name: option.default.replace("\0", "")
        for option in OPTIONS[fmt]
        if option.default is not None
        for name in (option.name, *option.synonyms)
        if name.lower() in known
    }
    assert defaults or fmt in ("parquet", "orc")
    assert {name: value for name, value in defaults.items() if taken(spark, fmt, {name: value}) != plain} == {}


def test_every_setting_of_sparks_readers_is_in_a_table(spark: SparkSession) -> None:
    """[PRU-RD-14]"""
    conf = companion(spark, "org.apache.spark.sql.internal.SQLConf")
    location = load(spark, CLASSES["avro"]).getProtectionDomain().getCodeSource().getLocation().getPath()
    entries = [getattr(conf, name)() for name in names_of_settings([*spark_jars(), Path(location)]) if name != "MODULE"]
    keys = {str(entry.key()) for entry in entries if hasattr(entry, "key")}
    assert {"spark.sql.caseSensitive", "spark.sql.parquet.int96RebaseModeInRead"} <= keys
    assert "spark.sql.avro.datetimeRebaseModeInRead" in keys
    assert len(keys) > 80
    assert sorted(key for key in keys if setting_effect(key) is None) == []


def test_settings_that_count_where_they_are_set_reach_the_profile() -> None:
    """[PRU-RD-2]"""
    assert [name for name in COUNTED if not name.startswith(SETTING_PREFIXES)] == []


def test_builds_pass_over_no_record() -> None:
    """[PRU-RD-9]: the JVM sets every option and setting that decides which records a reader passes over."""
    java = Path(xskip.__file__).parent / "spark" / "java" / "io" / "xskip" / "collect" / "StrictReadOptions.java"
    strict = dict(re.findall(r'options\.put\("([^"]+)", "([^"]+)"\)', java.read_text()))
    options = {o.name: o for known in OPTIONS.values() for o in known if o.effect == "records"}
    assert {*options, *RECORDS} <= strict.keys()
    # with the extensions of files, a reader passes over none where the option is true
    assert {name: strict[name] for name in RECORDS} == {name: value for name, (value, _) in RECORDS.items()}
    assert {name: strict[name] for name in options} == {name: option.default for name, option in options.items()}


def test_the_specification_has_the_tables() -> None:
    """[PRU-RD-14]"""
    rows = re.findall(r"^   \* - (\S+)\n     - ``([^`]+)``(?:, ``([^`]+)``)?\n     - (\w+)", SPEC.read_text(), re.M)
    written = {(fmt, name, synonym, effect) for fmt, name, synonym, effect in rows}
    options = {
        (fmt, option.name, "".join(option.synonyms), option.effect) for fmt in OPTIONS for option in OPTIONS[fmt]
    }
    assert options <= written
    settings = {(name, effect) for fmt, name, _, effect in rows if (fmt, name) not in {(f, n) for f, n, *_ in options}}
    expected = {(name, "value") for name in (*SETTINGS, *COUNTED)} | {(name, "records") for name in RECORDS}
    assert expected <= settings
    assert {fmt for fmt, *_ in rows} <= {*FORMATS, "all", "text-like"}
