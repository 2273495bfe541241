"""The compiler of the hook: Spark's own Janino compiles the ``.java`` files of ``xskip.spark`` in the driver.

If a jar on the class path contains the hook's classes, the driver uses that jar and compiles nothing.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
import uuid
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from xskip.errors import HookVersionError
from xskip.metadatastore.temporary import lasting_folder

if TYPE_CHECKING:
    from importlib.abc import Traversable

    from pyspark.sql import SparkSession

__all__ = [
    "NAMED_FILES_CLASS",
    "RULE_CLASS",
    "compiled",
    "compiled_tables",
    "existing_rule",
    "java_sources",
    "new_rule",
    "new_tables",
    "register_sources",
    "rules_of",
    "set_rules",
    "write_classes",
    "write_jar",
]

_log = logging.getLogger("xskip")
#: The cache of a function runs it twice if two threads call it at once.
_compiling = threading.RLock()

RULE_CLASS = "io.xskip.bridge.SkippingRule"
_SEQ = "import scala.collection.immutable.Seq;"
_SOURCE_CLASS = "questdb.DefaultSource"
#: The commit protocol of writers that choose the names of their files with the option ``mapreduce.output.basename``.
NAMED_FILES_CLASS = "questdb.NamedFiles"
#: The file by which Spark finds the data source whatever the case of its name.
_SERVICE = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
_TABLES = "io/xskip/questdb/"
_TABLES_CLASS = "io.xskip.questdb.TableRelations"
#: ``scala.Seq``, the type in the signatures of Spark's methods, is another class in Scala 2.12.
_SEQ_2_12 = "import scala.collection.Seq;"


def java_sources(scala_version: str) -> dict[str, str]:
    """Return the sources of the hook's classes.

    Parameters
    ----------
    scala_version : str
        The version of Spark's Scala library, such as ``2.13.16``.

    Returns
    -------
    dict of str to str
        The text of each source file, by the path of the file below the source root.

    Examples
    --------
    >>> "import scala.collection.Seq;" in java_sources("2.12.18")["io/xskip/rule/SkippingFileIndex.java"]
    True
    """
    texts = {}
    for path, file in _java_files(resources.files("xskip.spark") / "java", ""):
        text = file.read_text(encoding="utf-8")
        texts[path] = text.replace(_SEQ, _SEQ_2_12) if scala_version.startswith("2.12") else text
    return texts


def _java_files(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _java_files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".java"):
            found.append((prefix + entry.name, entry))
    return found


def existing_rule(spark: SparkSession) -> Any:
    """Return the hook's rule from a session's optimizer rules, or None if the session does not have the rule."""
    found = [rule for rule in rules_of(spark) if rule.ruleName() == RULE_CLASS]
    return found[0] if found else None


def new_rule(spark: SparkSession) -> Any:
    """Create a rule from the class on the class path, or compile the class if the class path lacks it.

    Raises
    ------
    HookVersionError
        If a jar on the class path contains the classes of another version of xskip, or for another Spark.
    """
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        rule = jvm.java.lang.Class.forName(RULE_CLASS, True, loader)
    except Py4JJavaError:  # no jar on the class path contains the class
        rule = _loader(jvm, compiled(jvm), loader).loadClass(RULE_CLASS)
    else:
        _check_version(spark, rule)
    return rule.getConstructors()[0].newInstance(jvm.java.util.ArrayList().toArray())


def new_tables(spark: SparkSession, rule: Any) -> Any:
    """Return the methods for tables of QuestDB, and compile their classes unless the class path has them."""
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark._jvm
    loader = rule.getClass().getClassLoader()
    try:
        tables = loader.loadClass(_TABLES_CLASS)
    except Py4JJavaError:
        tables = _loader(jvm, compiled_tables(jvm), loader).loadClass(_TABLES_CLASS)
    return tables.getConstructors()[0].newInstance(jvm.java.util.ArrayList().toArray())


def _check_version(spark: SparkSession, rule: Any) -> None:
    """Raise an error if a class on the class path was not compiled from this package's sources for this Spark."""
    found, expected = rule.getPackage().getImplementationVersion(), _version(spark)
    if found != expected:
        raise HookVersionError(
            "a jar on the class path contains the hook of another version of xskip, or for another Spark",
            where=str(rule.getProtectionDomain().getCodeSource().getLocation()),
            found=found,
            expected=expected,
            hint="write the jar again with 'python -m xskip jar', or remove it from the class path",
        )


def _version(spark: SparkSession) -> str:
    """Return the version of the hook's classes: the digest of their sources, and the Spark that they are for."""
    jvm: Any = spark._jvm
    minor = ".".join(spark.version.split(".")[:2])
    return f"{_digest(java_sources(jvm.scala.util.Properties.versionNumberString()))} for Spark {minor}"


def _digest(sources: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for path, text in sources.items():
        digest.update(f"{path}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def compiled(jvm: Any) -> Any:
    """Compile the hook's classes, but for those of QuestDB's tables, once for each JVM.

    Returns
    -------
    py4j.java_gateway.JavaObject
        A ``java.util.Map`` from the path of each class file to the bytes of the file.
    """
    with _compiling:
        return _compiled(jvm)


def compiled_tables(jvm: Any) -> Any:
    """Compile the classes of QuestDB's tables, which most programs do not need, once for each JVM.

    Returns
    -------
    py4j.java_gateway.JavaObject
        A ``java.util.Map`` from the path of each class file to the bytes of the file.
    """
    with _compiling:
        return _compiled_tables(jvm)


@lru_cache(maxsize=1)  # the driver loads the classes, and the first build sends the same classes to executors
def _compiled(jvm: Any) -> Any:
    return _compile(jvm, jvm.java.lang.Thread.currentThread().getContextClassLoader(), of_tables=False)


@lru_cache(maxsize=1)
def _compiled_tables(jvm: Any) -> Any:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return _compile(jvm, _loader(jvm, compiled(jvm), loader), of_tables=True)


def _loader(jvm: Any, files: Any, parent: Any) -> Any:
    """Return a class loader of class files."""
    util = jvm.org.codehaus.commons.compiler.util
    return util.ResourceFinderClassLoader(util.resource.MapResourceFinder(files), parent)


def _compile(jvm: Any, loader: Any, *, of_tables: bool) -> Any:
    """Compile the classes of QuestDB's tables or all others, which can refer to the classes of a class loader."""
    texts = java_sources(jvm.scala.util.Properties.versionNumberString())
    texts = {path: text for path, text in texts.items() if path.startswith(_TABLES) == of_tables}
    resource, janino = jvm.org.codehaus.commons.compiler.util.resource, jvm.org.codehaus.janino
    sources, files = resource.MapResourceFinder(), jvm.java.util.HashMap()
    units = jvm.java.lang.reflect.Array.newInstance(resource.Resource._java_lang_class, len(texts))
    for i, (path, text) in enumerate(texts.items()):
        sources.addResource(path, bytearray(text, "utf-8"))
        units[i] = sources.findResource(path)
    compiler = janino.Compiler(sources, janino.ClassLoaderIClassLoader(loader))
    compiler.setSourceCharset(jvm.java.nio.charset.StandardCharsets.UTF_8)
    compiler.setClassFileCreator(resource.MapResourceCreator(files))
    compiler.setClassFileFinder(resource.MapResourceFinder(files))
    started = time.monotonic()
    compiler.compile(units)
    what = "the classes for tables of QuestDB" if of_tables else "its Java classes"
    _log.info(
        "xskip compiled %s in %.1f s; the jar that 'xskip jar' writes saves this", what, time.monotonic() - started
    )
    return files


def write_jar(spark: SparkSession, path: str) -> None:
    """Compile all classes for a session's Spark, and write the class files to a jar, which replaces a file.

    Parameters
    ----------
    spark : SparkSession
    path : str
        The local path of the jar.
    """
    write_classes(spark, path, compiled(spark._jvm), compiled_tables(spark._jvm))


def write_classes(spark: SparkSession, path: str, *maps: Any) -> None:
    """Write class files to a jar, which replaces a file.

    Parameters
    ----------
    spark : SparkSession
    path : str
        The local path of the jar.
    *maps : py4j.java_gateway.JavaObject
        Results of :func:`compiled` and :func:`compiled_tables`.
    """
    manifest = f"Manifest-Version: 1.0\r\nImplementation-Title: xskip\r\nImplementation-Version: {_version(spark)}\r\n"
    partial = f"{path}.{uuid.uuid4().hex}.tmp"
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as jar:
            jar.writestr("META-INF/MANIFEST.MF", manifest)
            if any(files.containsKey(_file_of(_SOURCE_CLASS)) for files in maps):
                jar.writestr(_SERVICE, f"{_SOURCE_CLASS}\n")
            for files in maps:
                for name in sorted(files.keySet()):
                    jar.writestr(name, bytes(files.get(name)))
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def register_sources(spark: SparkSession) -> None:
    """Let Spark find the hook's data sources and commit protocols by their names.

    Spark looks for the classes of the package ``questdb`` with the application's class loader, which gets a jar with
    these classes. If the class loader takes no jars, Spark does not find them.
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(_SOURCE_CLASS)
    except Py4JJavaError:
        path = f"{lasting_folder('sources')}/xskip-sources.jar"
        with zipfile.ZipFile(path, "w") as jar:
            jar.writestr(_SERVICE, f"{_SOURCE_CLASS}\n")
            for found in (_SOURCE_CLASS, NAMED_FILES_CLASS):
                jar.writestr(_file_of(found), bytes(compiled(jvm).get(_file_of(found))))
        with suppress(Py4JError):  # py4j does not say before the call whether an object has a method
            loader.addURL(jvm.java.io.File(path).toURI().toURL())


def _file_of(name: str) -> str:
    """Return the path in a jar of a class."""
    return f"{name.replace('.', '/')}.class"


def rules_of(spark: SparkSession) -> list[Any]:
    """Return the optimizer rules that were added to a session."""
    rules = spark._jsparkSession.experimental().extraOptimizations()
    return [rules.apply(i) for i in range(rules.length())]


def set_rules(spark: SparkSession, rules: list[Any]) -> None:
    """Replace the optimizer rules that were added to a session."""
    jvm: Any = spark._jvm
    sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq(rules)
    getattr(spark._jsparkSession.experimental(), "extraOptimizations_$eq")(sequence)
