"""The compiler of the hook: Spark's own Janino compiles the ``.java`` files of ``xskip.spark`` in the driver.

If a jar on the class path contains the hook's classes, the driver uses that jar and compiles nothing. Other drivers
keep what they compile for later processes of the user.
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
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from xskip.errors import HookVersionError
from xskip.metadatastore.temporary import lasting_folder
from xskip.settings import CLASSES
from xskip.spark.bridge.class_cache import cache_folder, find_jar, store_jar

if TYPE_CHECKING:
    from importlib.abc import Traversable

    from pyspark.sql import SparkSession

__all__ = [
    "NAMED_FILES_CLASS",
    "RULE_CLASS",
    "classes_jar",
    "existing_rule",
    "java_sources",
    "new_rule",
    "new_tables",
    "register_sources",
    "rules_of",
    "set_rules",
    "write_jar",
]

_log = logging.getLogger("xskip")
_compiling = threading.RLock()
#: The jars of the present JVM, by its gateway and by whether they are for tables of QuestDB.
_jars: dict[tuple[Any, bool], Path] = {}

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
    """Return the text of each source file of the hook by its path below the source root.

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
    """Create a rule from the class on the class path, or compile the class if the class path lacks it."""
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        rule = jvm.java.lang.Class.forName(RULE_CLASS, True, loader)
    except Py4JJavaError:  # no jar on the class path contains the class
        rule = _loader(jvm, classes_jar(spark), loader).loadClass(RULE_CLASS)
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
        tables = _loader(jvm, classes_jar(spark, of_tables=True), loader).loadClass(_TABLES_CLASS)
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


def classes_jar(spark: SparkSession, *, of_tables: bool = False) -> Path:
    """Return a jar with the classes of QuestDB's tables, which most programs do not need, or with all others.

    A process compiles the classes once, unless another process of the user has kept them.
    """
    with _compiling:
        gateway = spark.sparkContext._gateway
        if any(other is not gateway for other, _ in _jars):  # another JVM, whose Spark can be another
            _jars.clear()
        known = _jars.get((gateway, of_tables))
        if known is None or not known.exists():  # another process can remove an old jar
            known = _jars[gateway, of_tables] = _find_or_compile(spark, of_tables=of_tables)
        return known


def _find_or_compile(spark: SparkSession, *, of_tables: bool) -> Path:
    jvm: Any = spark._jvm
    key = _cache_key(spark)
    folder = None if key is None else cache_folder(CLASSES.of(spark.conf.get(CLASSES.key, "")))
    name = f"{'tables' if of_tables else 'hook'}-{key}.jar"
    if folder is not None and (kept := find_jar(folder, name)):
        return kept
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader = _loader(jvm, classes_jar(spark), parent) if of_tables else parent
    classes = _compile(jvm, loader, of_tables=of_tables)
    written = None if folder is None else store_jar(folder, name, lambda path: _write(spark, path, classes))
    if written is None:
        written = lasting_folder("classes") / name
        _write(spark, str(written), classes)
    return written


def _cache_key(spark: SparkSession) -> str | None:
    """Return a digest of what the class files depend on: the sources, Spark's build, and the JVM; None if unknown."""
    jvm: Any = spark._jvm
    source = spark._jsparkSession.getClass().getProtectionDomain().getCodeSource()
    try:
        spark_jar = unquote(source.getLocation().getPath())
        status = os.stat(spark_jar)
    except (AttributeError, OSError):  # classes without a local file
        return None
    java, scala = jvm.java.lang.System.getProperty("java.vm.version"), jvm.scala.util.Properties.versionNumberString()
    parts = (_version(spark), spark.version, scala, java, spark_jar, status.st_size, status.st_mtime_ns)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def _loader(jvm: Any, jar: Path, parent: Any) -> Any:
    if not _can_read(jvm, jar):  # the JVM runs as another user, or on another machine
        util, files = jvm.org.codehaus.commons.compiler.util, jvm.java.util.HashMap()
        for name, content in _class_files(jar).items():
            files.put(name, content)
        return util.ResourceFinderClassLoader(util.resource.MapResourceFinder(files), parent)
    urls = jvm.java.lang.reflect.Array.newInstance(jvm.java.net.URL._java_lang_class, 1)
    urls[0] = jvm.java.io.File(str(jar)).toURI().toURL()
    return jvm.java.net.URLClassLoader(urls, parent)


def _can_read(jvm: Any, jar: Path) -> bool:
    return bool(jvm.java.io.File(str(jar)).canRead())


def _class_files(jar: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(jar) as opened:
        return {name: opened.read(name) for name in opened.namelist() if name.endswith(".class")}


def _compile(jvm: Any, loader: Any, *, of_tables: bool) -> dict[str, bytes]:
    """Return the class files of QuestDB's tables or all others, which can refer to the classes of a class loader."""
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
    _log.info("xskip compiled %s in %.1f s", what, time.monotonic() - started)
    return {name: bytes(files.get(name)) for name in sorted(files.keySet())}


def write_jar(spark: SparkSession, path: str) -> None:
    """Write all classes for a session's Spark to a local jar, which replaces a file."""
    _write(spark, path, _class_files(classes_jar(spark)) | _class_files(classes_jar(spark, of_tables=True)))


def _write(spark: SparkSession, path: str, classes: Mapping[str, bytes]) -> None:
    """Write class files to a jar, which replaces a file."""
    manifest = f"Manifest-Version: 1.0\r\nImplementation-Title: xskip\r\nImplementation-Version: {_version(spark)}\r\n"
    # Another process never sees a part of the jar.
    partial = f"{path}.{uuid.uuid4().hex}.tmp"
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as jar:
            jar.writestr("META-INF/MANIFEST.MF", manifest)
            if _file_of(_SOURCE_CLASS) in classes:
                jar.writestr(_SERVICE, f"{_SOURCE_CLASS}\n")
            for name, content in classes.items():
                jar.writestr(name, content)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def register_sources(spark: SparkSession) -> None:
    """Let Spark find the hook's data sources and commit protocols by their names."""
    from py4j.protocol import Py4JError, Py4JJavaError

    jvm: Any = spark._jvm
    # Spark looks for the classes of the package questdb with the application's class loader, which gets a jar with
    # these classes. If the class loader takes no jars, Spark does not find them.
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(_SOURCE_CLASS)
    except Py4JJavaError:
        path = f"{lasting_folder('sources')}/xskip-sources.jar"
        with zipfile.ZipFile(classes_jar(spark)) as classes, zipfile.ZipFile(path, "w") as jar:
            jar.writestr(_SERVICE, f"{_SOURCE_CLASS}\n")
            for found in (_SOURCE_CLASS, NAMED_FILES_CLASS):
                jar.writestr(_file_of(found), classes.read(_file_of(found)))
        with suppress(Py4JError):  # py4j does not say before the call whether an object has a method
            loader.addURL(jvm.java.io.File(path).toURI().toURL())


def _file_of(name: str) -> str:
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
