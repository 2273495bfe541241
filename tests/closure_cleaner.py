"""A replacement of Spark's cleaner of closures in tests, which takes up to a quarter of the time of the JVM.

Before each operation on an RDD, Spark reads the bytes of the class that has its closure, looks for a ``return`` there,
and serializes the closure. It removes nothing from closures that are not of a REPL.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from zipfile import ZipFile

import pyspark

__all__ = ["closure_cleaner_options"]

_NAME = "SparkClosureCleaner$"
_PACKAGE = "org/apache/spark/util"
#: What the cleaner returns: nothing before Spark 4.3, and the closure from there on.
_RESULTS = (("void", ""), ("Object", "return closure;"))
#: The class of Spark 4. Spark 3.5 has another one, and does not load this.
_SOURCE = """
package org.apache.spark.util;

public final class SparkClosureCleaner$ {
    public static final SparkClosureCleaner$ MODULE$ = new SparkClosureCleaner$();

    public %s clean(Object closure, boolean checkSerializable, boolean cleanTransitively) {
        %s
    }

    public boolean clean$default$2() {
        return true;
    }

    public boolean clean$default$3() {
        return true;
    }
}
"""


def closure_cleaner_options(folder: Path) -> str:
    """Return the Java options of drivers with the replacement; without a compiler, they keep Spark's own class.

    The jar is in ``folder``. Its classes come before those of the class path.
    """
    kind, statement = _RESULTS[tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 3)]
    jar = folder / f"closure-cleaner-{kind}.jar"
    compiler = shutil.which("javac")
    if not jar.exists() and compiler is None:
        return ""
    if not jar.exists():
        with tempfile.TemporaryDirectory(dir=folder) as home:
            source = Path(home) / f"{_NAME}.java"
            source.write_text(_SOURCE % (kind, statement))
            subprocess.run([str(compiler), "-d", home, source], check=True)
            with ZipFile(Path(home) / jar.name, "w") as archive:
                archive.write(Path(home) / _PACKAGE / f"{_NAME}.class", f"{_PACKAGE}/{_NAME}.class")
            os.replace(Path(home) / jar.name, jar)
    return f'"-Xbootclasspath/a:{jar}"'
