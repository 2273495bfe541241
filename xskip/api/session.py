"""Switching skipping on and off, and making a session that can read Avro."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xskip.api.report import SkippingReport, report_of
from xskip.errors import JavaNotFoundError
from xskip.expressions.udf import Implies, forget_function, register_implied
from xskip.metadatastore import encryption
from xskip.metadatastore.encryption import KmsClient
from xskip.settings import ENABLED
from xskip.spark.query.engine import engine_of, forget_indexes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "check_java",
    "configure",
    "declare_classes",
    "disable",
    "enable",
    "explain",
    "is_enabled",
    "last_report",
    "register_function",
    "use_kms",
]

_PACKAGES = "spark.jars.packages"
_MINIMUM_JAVA = 17


def configure(
    builder: SparkSession.Builder, *, extra_packages: Sequence[str] = (), avro_version: str | None = None
) -> SparkSession.Builder:
    """Adds spark-avro for the installed Spark to a session builder, and checks Java first.

    Parameters
    ----------
    builder : SparkSession.Builder
    extra_packages : sequence of str
        More Maven coordinates, ``group:artifact:version``.
    avro_version : str, optional
        The version of spark-avro, where it is not to be Spark's own.

    Raises
    ------
    JavaNotFoundError
        Java is missing, or older than 17.
    """
    import pyspark

    check_java()
    scala = "2.12" if pyspark.__version__.startswith("3.") else "2.13"
    avro = f"org.apache.spark:spark-avro_{scala}:{avro_version or pyspark.__version__}"
    known = builder._options.get(_PACKAGES, "")
    packages = [p for p in (known, avro, *extra_packages) if p]
    return builder.config(_PACKAGES, ",".join(dict.fromkeys(packages)))


def enable(spark: SparkSession) -> None:
    """Lets every query of this session skip by itself; harmless when called again."""
    engine_of(spark).hook.install(spark)


def disable(spark: SparkSession) -> None:
    """Lets the queries of this session read everything again."""
    engine_of(spark).hook.uninstall(spark)


def is_enabled(spark: SparkSession) -> bool:
    """Do the queries of this session skip."""
    engine = engine_of(spark)
    return engine.hook.is_installed(spark) and engine.setting(spark, ENABLED)


def use_kms(client: KmsClient | None) -> None:
    """Lets this process read and write encrypted metadata with the keys of a client; None takes them away.

    Parameters
    ----------
    client : KmsClient or None
        An object with ``wrap(key, label)`` and ``unwrap(wrapped, label)``, such as :class:`xskip.LocalKms`, or a
        ``pyarrow.parquet.encryption.KmsClient``.
    """
    encryption.use_kms(client)
    forget_indexes()


def register_function(spark: SparkSession, function: Any, implies: Implies | None) -> None:
    """Says what a condition on a function of yours implies, so that queries with it can skip.

    Parameters
    ----------
    spark : SparkSession
    function : UserDefinedFunction or str
        As ``udf`` or ``spark.udf.register`` returned it: another function of the same name is another one. Of one in
        Java or Scala its registered name, which is all that tells it: say it anew where the name gets another meaning.
    implies : callable or None
        Is given each :class:`~xskip.expressions.udf.FunctionCall` of a query, ``function(arguments) op value``, and
        returns a :data:`~xskip.expressions.predicate.Predicate` that is TRUE of every row of which the call is, or None
        where it knows none. None instead of a callable takes back what was said.
    """
    engine = engine_of(spark)
    identity = engine.hook.identity(function)
    if implies is None:
        forget_function(identity)
    else:
        register_implied(identity, implies)
    engine.forget_all()


def declare_classes(spark: SparkSession, *, file_index: str | None = None, file_format: str | None = None) -> None:
    """Let queries skip in relations whose classes are not Spark's own, as a plugin for another source needs it.

    xskip looks at a relation only where the class of its file index and the class of its format are known. A class
    declared here is known in every session of the process, its subclasses are not.

    Parameters
    ----------
    spark : SparkSession
    file_index : str, optional
        The full name of a Java class that implements Spark's ``FileIndex``: the files that it lists hold exactly the
        rows of the relation.
    file_format : str, optional
        The full name of a Java class that implements Spark's ``FileFormat``: a file of it has the same rows whichever
        relation reads it. Indexes name the format by this class.

    Examples
    --------
    >>> declare_classes(spark, file_index="com.example.LakeFileIndex")  # doctest: +SKIP
    """
    rule = engine_of(spark).hook.rule
    if file_index is not None:
        rule.declareIndex(file_index)
    if file_format is not None:
        rule.declareFormat(file_format)


def last_report(spark: SparkSession) -> SkippingReport:
    """What skipping did for the latest query that asked an index."""
    engine = engine_of(spark)
    scans = engine.hook.scans_after(-1)
    latest = scans[-1]["query"] if scans else None
    return report_of(engine, [scan for scan in scans if scan["query"] == latest])


def explain(df: DataFrame) -> SkippingReport:
    """What skipping would do for a query, without running it."""
    engine = engine_of(df.sparkSession)
    before = engine.hook.last_scan()
    listed = engine.hook.explain(df)
    asked = [scan for scan in engine.hook.scans_after(before) if scan["query"] == listed["query"]]
    return report_of(engine, asked, [scan for scan in listed["scans"] if not scan["asked"]])


def check_java() -> None:
    """Says in one sentence where Spark's Java is missing or too old.

    Raises
    ------
    JavaNotFoundError
        With the command that installs one.
    """
    import os

    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    hint = "install it with: sudo apt-get install openjdk-17-jre-headless (or: brew install openjdk@17)"
    try:
        if not java:
            raise FileNotFoundError("java")
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaNotFoundError(
            "Spark needs Java 17 or newer and none was found", where=java or "PATH", hint=hint
        ) from error
    version = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    major = 0 if version is None else int(version[2] or 0) if version[1] == "1" else int(version[1])
    if major < _MINIMUM_JAVA:
        raise JavaNotFoundError("Spark needs Java 17 or newer", where=java, found=f"Java {major}", hint=hint)
