"""The compiler of the hook: Spark's own Janino compiles the ``.java`` files of ``xskip.spark`` in the driver.

If a jar on the class path contains the hook's classes, the driver uses that jar and compiles nothing.
"""

from __future__ import annotations

import zipfile
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Traversable

    from pyspark.sql import SparkSession

__all__ = ["RULE_CLASS", "compiled", "existing_rule", "java_sources", "new_rule", "rules_of", "set_rules", "write_jar"]

RULE_CLASS = "io.xskip.bridge.SkippingRule"
_SEQ = "import scala.collection.immutable.Seq;"
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
    >>> "import scala.collection.Seq;" in java_sources("2.12.18")["io/xskip/hook/SkippingFileIndex.java"]
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
        util = jvm.org.codehaus.commons.compiler.util
        finder = util.resource.MapResourceFinder(compiled(jvm))
        rule = util.ResourceFinderClassLoader(finder, loader).loadClass(RULE_CLASS)
    return rule.getConstructors()[0].newInstance(jvm.java.util.ArrayList().toArray())


def compiled(jvm: Any) -> Any:
    """Compile the hook's classes.

    Returns
    -------
    py4j.java_gateway.JavaObject
        A ``java.util.Map`` from the path of each class file to the bytes of the file.
    """
    resource, janino = jvm.org.codehaus.commons.compiler.util.resource, jvm.org.codehaus.janino
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    sources, files = resource.MapResourceFinder(), jvm.java.util.HashMap()
    texts = java_sources(jvm.scala.util.Properties.versionNumberString())
    units = jvm.java.lang.reflect.Array.newInstance(resource.Resource._java_lang_class, len(texts))
    for i, (path, text) in enumerate(texts.items()):
        sources.addResource(path, bytearray(text, "utf-8"))
        units[i] = sources.findResource(path)
    compiler = janino.Compiler(sources, janino.ClassLoaderIClassLoader(loader))
    compiler.setSourceCharset(jvm.java.nio.charset.StandardCharsets.UTF_8)
    compiler.setClassFileCreator(resource.MapResourceCreator(files))
    compiler.setClassFileFinder(resource.MapResourceFinder(files))
    compiler.compile(units)
    return files


def write_jar(jvm: Any, path: str) -> None:
    """Compile the hook's classes and write the class files to a jar."""
    files = compiled(jvm)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        for name in sorted(files.keySet()):
            jar.writestr(name, bytes(files.get(name)))


def rules_of(spark: SparkSession) -> list[Any]:
    """Return the optimizer rules that were added to a session."""
    rules = spark._jsparkSession.experimental().extraOptimizations()
    return [rules.apply(i) for i in range(rules.length())]


def set_rules(spark: SparkSession, rules: list[Any]) -> None:
    """Replace the optimizer rules that were added to a session."""
    jvm: Any = spark._jvm
    sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq(rules)
    getattr(spark._jsparkSession.experimental(), "extraOptimizations_$eq")(sequence)
