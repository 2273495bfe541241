"""The compiler of the hook: Spark's own Janino compiles the ``.java`` files of ``xskip.spark`` in the driver.

If a jar on the class path contains the hook's classes, the driver uses that jar and compiles nothing.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pyspark.sql import SparkSession

__all__ = ["RULE_CLASS", "compiled", "existing_rule", "java_source", "new_rule", "rules_of", "set_rules"]

RULE_CLASS = "io.xskip.jvm.XSkipRule"


def java_source(scala_version: str) -> str:
    """Return the sources of all hook classes as a single Java text.

    Only the type of ``Seq`` in method signatures differs between Scala 2.12 and 2.13.

    Parameters
    ----------
    scala_version : str
        The version of Spark's Scala library, such as ``2.13.16``.

    Examples
    --------
    >>> "scala.collection.immutable.Seq rootPaths" in java_source("2.13.16")
    True
    """
    texts = _java_texts(resources.files("xskip.spark") / "java")
    imports = sorted({line for text in texts for line in re.findall(r"^import .*$", text, re.M)})
    bodies = [re.sub(r"^(package|import) .*$", "", text, flags=re.M) for text in texts]
    seq = "scala.collection.Seq" if scala_version.startswith("2.12") else "scala.collection.immutable.Seq"
    return "\n".join(["package io.xskip.jvm;", *imports, *bodies]).replace("@SEQ@", seq)


def _java_texts(folder: Traversable) -> list[str]:
    texts = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            texts += _java_texts(entry)
        elif entry.name.endswith(".java"):
            texts.append(entry.read_text(encoding="utf-8"))
    return texts


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
        rule = compiled(jvm).getClassLoader().loadClass(RULE_CLASS)
    return rule.getConstructors()[0].newInstance(jvm.java.util.ArrayList().toArray())


def compiled(jvm: Any) -> Any:
    """Compile the hook's classes and return the Janino compiler, which holds their bytecode and class loader."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(java_source(jvm.scala.util.Properties.versionNumberString()))
    return compiler


def rules_of(spark: SparkSession) -> list[Any]:
    """Return the optimizer rules that were added to a session."""
    rules = spark._jsparkSession.experimental().extraOptimizations()
    return [rules.apply(i) for i in range(rules.length())]


def set_rules(spark: SparkSession, rules: list[Any]) -> None:
    """Replace the optimizer rules that were added to a session."""
    jvm: Any = spark._jvm
    sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq(rules)
    getattr(spark._jsparkSession.experimental(), "extraOptimizations_$eq")(sequence)
