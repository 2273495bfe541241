"""The compiler of the hook: Spark's own Janino compiles the ``.java`` files of ``xskip.spark`` in the driver.

If a jar on the class path contains the hook's classes, the driver uses that jar and compiles nothing. Other drivers
keep what they compile for later processes of the user.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
import time
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from xskip.data_systems import EXTENSIONS, system_of
from xskip.errors import HookVersionError
from xskip.metadatastore.temporary import lasting_folder
from xskip.settings import CLASSES
from xskip.spark.bridge.class_cache import HOOK, cache_folder, find_jar, store_jar

if TYPE_CHECKING:
    from importlib.abc import Traversable

    from pyspark.sql import SparkSession

__all__ = [
    "RULE_CLASS",
    "classes_jar",
    "existing_rule",
    "java_sources",
    "new_extension",
    "new_object",
    "new_rule",
    "register_sources",
    "rules_of",
    "set_rules",
    "write_jar",
]

_log = logging.getLogger("xskip")
_compiling = threading.RLock()
#: The jars of the present JVM, by its gateway and by the part of the hook.
_jars: dict[tuple[Any, str], Path] = {}

RULE_CLASS = "io.xskip.bridge.SkippingRule"
_SEQ = "import scala.collection.immutable.Seq;"
#: The folder of the classes that only the hook uses. Spark finds those in other folders by their names.
_HIDDEN = "io/"
#: The end of the name of a data source.
_SOURCE = ".DefaultSource"
#: The file by which Spark finds data sources whatever the case of their names.
_SERVICE = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
#: ``scala.Seq``, the type in the signatures of Spark's methods, is another class in Scala 2.12.
_SEQ_2_12 = "import scala.collection.Seq;"
#: A line of code that only Spark from a version on has, or, before a colon, that is followed by more code there.
_OF_VERSION = re.compile(r"^(.*)// Spark (\d+\.\d+)(?:: (.*))?\n", re.MULTILINE)


def java_sources(scala_version: str, spark_version: str) -> dict[str, str]:
    """Return the text of each source file of the hook by its path below the source root.

    >>> sources = java_sources("2.12.18", "3.5.7")
    >>> "import scala.collection.Seq;" in sources["io/xskip/rewrite/SkippingFileIndex.java"]
    True
    >>> "Option<SparkDataStream> stream" in sources["io/xskip/tasks/RangedScan.java"]
    False
    """
    texts = {}
    for path, file in _java_files():
        text = _for_spark(file.read_text(encoding="utf-8"), spark_version)
        texts[path] = text.replace(_SEQ, _SEQ_2_12) if scala_version.startswith("2.12") else text
    return texts


def _for_spark(text: str, spark_version: str) -> str:
    """Return a source without the lines that end with a later version, and with what follows an earlier one."""
    spark = _minor(spark_version)

    def line(found: re.Match[str]) -> str:
        code, version, addition = found.groups()
        if addition is None:
            return found[0] if _minor(version) <= spark else ""
        return f"{code}{addition}\n" if _minor(version) <= spark else f"{code}\n"

    return _OF_VERSION.sub(line, text)


def _minor(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


def _java_files(folder: Traversable | None = None, prefix: str = "") -> list[tuple[str, Traversable]]:
    found = []
    folder = resources.files("xskip.spark") / "java" if folder is None else folder
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


def new_extension(spark: SparkSession, rule: Any, name: str) -> Any:
    """Return the methods of an extension of the hook, and compile its classes unless the class path has them."""
    from py4j.protocol import Py4JJavaError

    system = system_of(name)
    assert system is not None
    loader = rule.getClass().getClassLoader()
    try:
        methods = loader.loadClass(system.java_class)
    except Py4JJavaError:
        methods = _loader(spark._jvm, classes_jar(spark, name), loader).loadClass(system.java_class)
    return methods.getConstructors()[0].newInstance(None)


def new_object(rule: Any, class_name: str) -> Any:
    """Return a new object of a class that the class loader of the rule finds."""
    return rule.getClass().getClassLoader().loadClass(class_name).getConstructors()[0].newInstance(None)


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
    sources = java_sources(jvm.scala.util.Properties.versionNumberString(), spark.version)
    return f"{_digest(sources)} for Spark {minor}"


def _digest(sources: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for path, text in sources.items():
        digest.update(f"{path}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def classes_jar(spark: SparkSession, part: str = HOOK) -> Path:
    """Return a jar with the classes of a part of the hook: of an extension, or all others.

    A process compiles the classes once, unless another process of the user has kept them.
    """
    with _compiling:
        gateway = spark.sparkContext._gateway
        if any(other is not gateway for other, _ in _jars):  # another JVM, whose Spark can be another
            _jars.clear()
        known = _jars.get((gateway, part))
        if known is None or not known.exists():  # another process can remove an old jar
            known = _jars[gateway, part] = _find_or_compile(spark, part)
        return known


def _find_or_compile(spark: SparkSession, part: str) -> Path:
    jvm: Any = spark._jvm
    key = _cache_key(spark)
    folder = None if key is None else cache_folder(CLASSES.of(spark.conf.get(CLASSES.key, "")))
    name = f"{part}-{key}.jar"
    if folder is not None and (kept := find_jar(folder, name)):
        return kept
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader = parent if part == HOOK else _loader(jvm, classes_jar(spark), parent)
    classes = _compile(jvm, loader, part, spark.version)
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


def _compile(jvm: Any, loader: Any, part: str, spark_version: str) -> dict[str, bytes]:
    """Return the class files of a part of the hook, which can refer to the classes of a class loader."""
    texts = java_sources(jvm.scala.util.Properties.versionNumberString(), spark_version)
    texts = {path: text for path, text in texts.items() if _part_of(path) == part}
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
    what = "its Java classes" if part == HOOK else f"its Java classes for {part}"
    _log.info("xskip compiled %s in %.1f s", what, time.monotonic() - started)
    return {name: bytes(files.get(name)) for name in sorted(files.keySet())}


def _part_of(path: str) -> str:
    """Return the part of the hook to which a source file belongs."""
    return next((system.format for system in EXTENSIONS if path.startswith(system.java_folder)), HOOK)


def write_jar(spark: SparkSession, path: str) -> None:
    """Write all classes for a session's Spark to a local jar, which replaces a file."""
    classes: dict[str, bytes] = {}
    for part in (HOOK, *(system.format for system in EXTENSIONS)):
        classes |= _class_files(classes_jar(spark, part))
    _write(spark, path, classes)


def _write(spark: SparkSession, path: str, classes: Mapping[str, bytes]) -> None:
    """Write class files to a jar, which replaces a file."""
    manifest = f"Manifest-Version: 1.0\r\nImplementation-Title: xskip\r\nImplementation-Version: {_version(spark)}\r\n"
    # Another process never sees a part of the jar.
    partial = f"{path}.{uuid.uuid4().hex}.tmp"
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as jar:
            jar.writestr("META-INF/MANIFEST.MF", manifest)
            if services := _services(name for name in _named_classes() if _file_of(name) in classes):
                jar.writestr(_SERVICE, services)
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
    # Spark looks for these classes with the application's class loader, which gets a jar with them. If the class loader
    # takes no jars, Spark does not find them.
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    named = _named_classes()
    try:
        loader.loadClass(named[0])
    except Py4JJavaError:
        path = f"{lasting_folder('sources')}/xskip-sources.jar"
        with zipfile.ZipFile(classes_jar(spark)) as classes, zipfile.ZipFile(path, "w") as jar:
            jar.writestr(_SERVICE, _services(named))
            for name in named:
                jar.writestr(_file_of(name), classes.read(_file_of(name)))
        with suppress(Py4JError):  # py4j does not say before the call whether an object has a method
            loader.addURL(jvm.java.io.File(path).toURI().toURL())


def _named_classes() -> list[str]:
    """Return the names of the classes that Spark finds by their names."""
    return [path.removesuffix(".java").replace("/", ".") for path, _ in _java_files() if not path.startswith(_HIDDEN)]


def _services(named: Iterable[str]) -> str:
    """Return the names of the data sources among classes, a line each."""
    return "".join(f"{name}\n" for name in named if name.endswith(_SOURCE))


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
