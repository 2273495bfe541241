"""The hook's classes: the ``.java`` files of this package, compiled in the driver by the Janino that Spark ships.

A jar with the same classes on the class path is preferred where there is one.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RULE_CLASS", "compiled", "existing_rule", "java_source", "new_rule", "rules_of", "set_rules"]

RULE_CLASS = "io.xskip.jvm.XSkipRule"


def java_source(scala_version: str) -> str:
    """The hook's classes as one Java text, for Scala 2.12 or 2.13: only the type of Seq in signatures differs.

    >>> "scala.collection.immutable.Seq rootPaths" in java_source("2.13.16")
    True
    """
    folder = resources.files("xskip.spark") / "java"
    texts = [f.read_text() for f in sorted(folder.iterdir(), key=lambda f: f.name) if f.name.endswith(".java")]
    imports = sorted({line for text in texts for line in re.findall(r"^import .*$", text, re.M)})
    bodies = [re.sub(r"^(package|import) .*$", "", text, flags=re.M) for text in texts]
    seq = "scala.collection.Seq" if scala_version.startswith("2.12") else "scala.collection.immutable.Seq"
    return "\n".join(["package io.xskip.jvm;", *imports, *bodies]).replace("@SEQ@", seq)


def existing_rule(spark: SparkSession) -> Any:
    """The rule in a session, None where it is not."""
    found = [rule for rule in rules_of(spark) if rule.ruleName() == RULE_CLASS]
    return found[0] if found else None


def new_rule(spark: SparkSession) -> Any:
    """A rule: of the class on the class path, else of one that is compiled now."""
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        rule = jvm.java.lang.Class.forName(RULE_CLASS, True, loader)
    except Py4JJavaError:  # no jar: compile
        rule = compiled(jvm).getClassLoader().loadClass(RULE_CLASS)
    return rule.getConstructors()[0].newInstance(jvm.java.util.ArrayList().toArray())


def compiled(jvm: Any) -> Any:
    """The compiler that has compiled the classes."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(java_source(jvm.scala.util.Properties.versionNumberString()))
    return compiler


def rules_of(spark: SparkSession) -> list[Any]:
    """The optimizer rules that were added to a session."""
    rules = spark._jsparkSession.experimental().extraOptimizations()
    return [rules.apply(i) for i in range(rules.length())]


def set_rules(spark: SparkSession, rules: list[Any]) -> None:
    """Replaces the optimizer rules that were added to a session."""
    jvm: Any = spark._jvm
    sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq(rules)
    getattr(spark._jsparkSession.experimental(), "extraOptimizations_$eq")(sequence)
