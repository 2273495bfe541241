"""Functions that configure a session, and switch skipping on and off."""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xskip.api.arguments import check_builder, check_text, check_texts
from xskip.errors import ArgumentError, JavaNotFoundError, or_none
from xskip.expressions.udf import Implies, forget_function, register_implied
from xskip.indexing.sink_refreshes import listen_to_sinks, stop_listening_to_sinks
from xskip.indexing.write_answers import WriteAnswers
from xskip.metadatastore import encryption
from xskip.metadatastore.kms import KmsClient
from xskip.settings import ENABLED
from xskip.spark.bridge.packages import has_avro, spark_package
from xskip.spark.bridge.sessions import connect_error
from xskip.spark.query.spark_engine import engine_of, forget_indexes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "MINIMUM_JAVA",
    "check_java",
    "configure",
    "declare_classes",
    "disable",
    "enable",
    "is_enabled",
    "register_function",
    "use_kms",
]

_log = logging.getLogger("xskip")

_PACKAGES = "spark.jars.packages"
#: The oldest Java that Spark runs on.
MINIMUM_JAVA = 17


def configure(
    builder: SparkSession.Builder, *, extra_packages: Sequence[str] = (), avro_version: str | None = None
) -> SparkSession.Builder:
    """Add spark-avro for the installed Spark to a session builder, after a check of the Java version.

    Parameters
    ----------
    builder : SparkSession.Builder
        The builder to extend.
    extra_packages : sequence of str
        Further Maven coordinates, ``group:artifact:version``.
    avro_version : str, optional
        The version of spark-avro; None selects the version of Spark, and 4.1.1 for Spark 4.2 and 4.3, whose own
        spark-avro is not on Maven Central.

    Returns
    -------
    SparkSession.Builder
        The same builder.

    Raises
    ------
    ArgumentError
        If an argument has another type than documented.
    JavaNotFoundError
        If Java is missing or older than version 17.
    DatasetError
        If the builder is that of a Spark Connect client.

    Notes
    -----
    The package takes effect only if the builder starts the JVM. If a session without spark-avro runs already, the log
    gets a warning with the arguments to start Spark with. Under ``spark-submit`` and in the ``pyspark`` shell the JVM
    always runs already: pass spark-avro as ``--packages``.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> spark = xskip.configure(SparkSession.builder).getOrCreate()
    >>> "spark-avro" in spark.conf.get("spark.jars.packages")
    True
    """
    from pyspark.sql import SparkSession

    check_builder(builder)
    check_texts("extra_packages", extra_packages, "group:artifact:version")
    if avro_version is not None:
        check_text("avro_version", avro_version)
    if "spark.remote" in builder._options or builder._options.get("spark.api.mode") == "connect":
        raise connect_error()
    check_java()
    avro = spark_package("avro", avro_version)
    active = SparkSession.getActiveSession()
    if active is not None and hasattr(active, "_jsparkSession") and not has_avro(active):
        _log.warning(
            "configure() comes too late to add Avro, because a Spark session runs already; start Spark with "
            "--packages %s, or call configure() before the first session of the process",
            avro,
        )
    known = builder._options.get(_PACKAGES, "")
    packages = [p for p in (known, avro, *extra_packages) if p]
    return builder.config(_PACKAGES, ",".join(dict.fromkeys(packages)))


def enable(spark: SparkSession) -> None:
    """Let every query of a session skip files; further calls have no effect.

    A warning in the log names each setting of xskip that is unknown or has an invalid value.

    Parameters
    ----------
    spark : SparkSession
        The session, which can run already.

    Raises
    ------
    ArgumentError
        If the object is not a session, or the session was stopped.

    Examples
    --------
    >>> xskip.enable(spark)
    >>> df = spark.read.parquet(indexed_path).filter("city = 'oslo'")
    >>> len(df.collect()), xskip.last_report(spark).scans[0].skipped
    (2, 2)
    """
    engine = engine_of(spark)
    engine.warn_settings(engine.settings.configured(spark))
    engine.hook.connect_writes(WriteAnswers(engine).answer)
    engine.hook.install(spark)
    listen_to_sinks(engine, spark)


def disable(spark: SparkSession) -> None:
    """Let the queries of a session read all files.

    Parameters
    ----------
    spark : SparkSession
        The session.

    Examples
    --------
    >>> xskip.disable(spark)
    >>> xskip.is_enabled(spark)
    False
    """
    engine = engine_of(spark)
    engine.hook.uninstall(spark)
    stop_listening_to_sinks(engine, spark)


def is_enabled(spark: SparkSession) -> bool:
    """Return whether the queries of a session skip files.

    Parameters
    ----------
    spark : SparkSession
        The session.

    Returns
    -------
    bool
        True after :func:`enable`, unless ``spark.xskip.enabled`` is false.

    Raises
    ------
    SettingError
        If ``spark.xskip.enabled`` has an invalid value.

    Examples
    --------
    >>> xskip.enable(spark)
    >>> xskip.is_enabled(spark)
    True
    >>> spark.conf.set("spark.xskip.enabled", "false")
    >>> xskip.is_enabled(spark)
    False
    """
    engine = engine_of(spark)
    return engine.hook.is_installed(spark) and engine.settings.of(spark, ENABLED)


def use_kms(client: KmsClient | None) -> None:
    """Set the client whose keys encrypt and decrypt metadata in this process.

    Parameters
    ----------
    client : KmsClient or None
        An object with ``wrap(key, label)`` and ``unwrap(wrapped, label)``, such as :class:`xskip.LocalKms`, or a
        ``pyarrow.parquet.encryption.KmsClient``. None removes the client.

    Examples
    --------
    >>> xskip.use_kms(xskip.LocalKms({"footer": bytes(16), "k1": bytes(16)}))
    >>> xskip.use_kms(None)
    """
    if not (client is None or hasattr(client, "wrap") or hasattr(client, "wrap_key")):
        raise ArgumentError(
            "the object is no client of a key management service", found=f"an object of type {type(client).__name__}",
            expected=or_none("an object with the methods wrap and unwrap"),
        )  # fmt: skip
    encryption.use_kms(client)
    forget_indexes()


def register_function(spark: SparkSession, function: Any, implies: Implies | None) -> None:
    """Register what a condition on a user's function implies, so that queries with the function can skip files.

    Parameters
    ----------
    spark : SparkSession
        A session of the process; the registration holds for all sessions.
    function : UserDefinedFunction or str
        The object that ``udf`` or ``spark.udf.register`` returned; another function of the same name is not meant. For
        a function in Java or Scala, its registered name. The name is the only identity of such a function: register the
        implication again when the name gets another meaning.
    implies : callable or None
        A function that receives each :class:`~xskip.expressions.udf.FunctionCall` of a query, ``function(arguments) op
        value``. It returns a :data:`~xskip.expressions.predicate.Predicate` that is TRUE for every row for which the
        call is TRUE, or None if it knows no such predicate. None instead of a function removes the registration.

    Examples
    --------
    The margin of one degree allows for rounding.

    >>> from pyspark.sql import functions as F
    >>> from xskip.expressions import Comparison, Op
    >>> to_celsius = F.udf(lambda fahrenheit: (fahrenheit - 32) / 1.8, "double")
    >>> def implies(call):
    ...     (column,) = call.arguments
    ...     return Comparison(Op.GT, column, call.value * 1.8 + 31) if call.op is Op.GT else None
    >>> xskip.register_function(spark, to_celsius, implies)
    >>> df = spark.read.parquet(indexed_path).filter(to_celsius("temp") > 1)
    >>> xskip.explain(df).scans[0].skipped
    2
    >>> xskip.register_function(spark, to_celsius, None)
    """
    if not isinstance(function, str) and not hasattr(getattr(function, "_unwrapped", function), "_judf"):
        raise ArgumentError(
            "the object is no function of Spark", found=f"an object of type {type(function).__name__}",
            expected="the result of udf or spark.udf.register, or the registered name of a function in Java or Scala",
        )  # fmt: skip
    if implies is not None and not callable(implies):
        raise ArgumentError(
            "implies is no function",
            found=f"an object of type {type(implies).__name__}",
            expected=or_none("a function"),
        )
    engine = engine_of(spark)
    identity = engine.hook.queries.identity(function)
    if implies is None:
        forget_function(identity)
    else:
        register_implied(identity, implies)
    engine.forget_all()


def declare_classes(spark: SparkSession, *, file_index: str | None = None, file_format: str | None = None) -> None:
    """Let queries skip in relations whose classes are not Spark's, such as the relations of a plugin.

    xskip handles a relation only if it knows the class of the relation's file index and the class of its file format. A
    declared class is known in every session of the process. Its subclasses are not.

    Parameters
    ----------
    spark : SparkSession
        A session of the process.
    file_index : str, optional
        The full name of a Java class that implements Spark's ``FileIndex``; None declares no file index. The files that
        it lists must hold exactly the rows of the relation.
    file_format : str, optional
        The full name of a Java class that implements Spark's ``FileFormat``; None declares no file format. A file of
        the format must have the same rows in every relation. Indexes record the format by the name of this class.

    Examples
    --------
    >>> xskip.declare_classes(spark, file_index="com.example.LakeFileIndex")
    """
    for name, value in (("file_index", file_index), ("file_format", file_format)):
        if value is not None:
            check_text(name, value)
    engine_of(spark).hook.declare_classes(file_index, file_format)


def check_java() -> None:
    """Check that Spark's Java is installed and of version 17 or later, or raise JavaNotFoundError."""
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
            "Spark needs Java 17 or newer, and no Java was found", where=java or "PATH", hint=hint
        ) from error
    version = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    major = 0 if version is None else int(version[2] or 0) if version[1] == "1" else int(version[1])
    if major < MINIMUM_JAVA:
        raise JavaNotFoundError("Spark needs Java 17 or newer", where=java, found=f"Java {major}", hint=hint)
