"""Jars of Maven, which Spark's Ivy fetches or has in its cache."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark

__all__ = ["SPARK_JARS", "CannotFetchError", "fetch", "java_command"]

#: The folder of Spark's own jars.
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
_FETCH_SECONDS = 300
#: What Ivy needs for a single jar of an artifact that has several.
_ONE_JAR = """
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="io.xskip" module="tests"/>
  <dependencies>
    <dependency org="{group}" name="{artifact}" rev="{version}" transitive="false">
      <artifact name="{artifact}" type="jar" m:classifier="{classifier}"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


class CannotFetchError(Exception):
    """Jars that Maven does not give."""


def java_command() -> str:
    """Return the command that runs Java."""
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def fetch(group: str, artifact: str, version: str, folder: Path, *, classifier: str = "") -> list[Path]:
    """Return the jars of an artifact and of all its dependencies, which Spark's Ivy takes from Maven or from its cache.

    With a classifier, return only that jar of the artifact.

    Raises
    ------
    CannotFetchError
        If a jar cannot be had.
    """
    listed = folder / f"{artifact}.classpath"
    wanted = ["-dependency", group, artifact, version]
    if classifier:
        described = folder / f"{artifact}.xml"
        described.write_text(
            _ONE_JAR.format(group=group, artifact=artifact, version=version, classifier=classifier).strip()
        )
        wanted = ["-ivy", str(described)]
    done = subprocess.run(
        [
            *(java_command(), "-cp", str(next(SPARK_JARS.glob("ivy-*.jar"))), "org.apache.ivy.Main", "-error"),
            *(*wanted, "-confs", "default", "-types", "jar", "bundle"),
            *("-cachepath", str(listed)),
        ],
        cwd=folder, capture_output=True, text=True, check=False, timeout=_FETCH_SECONDS,
    )  # fmt: skip
    if done.returncode or not listed.exists():
        raise CannotFetchError(f"{group}:{artifact}:{version} cannot be had: {(done.stdout + done.stderr)[-500:]}")
    return [Path(path) for path in listed.read_text().strip().split(os.pathsep)]
