"""Access to the classes of the hook, which py4j's view of the JVM does not know by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from xskip.spark.bridge.gateway import hook_of

__all__ = ["JavaClasses"]


class JavaClasses:
    """The classes of the hook, from the class loader that compiled them. Names are relative to ``io.xskip``."""

    def __init__(self, spark: SparkSession) -> None:
        self._gateway: Any = spark.sparkContext._gateway
        self._loader = hook_of(spark).rule.getClass().getClassLoader()

    def load(self, name: str) -> Any:
        """Return a class, such as ``files.FileListing``."""
        return self._loader.loadClass(f"io.xskip.{name}")

    def new(self, name: str, *arguments: Any) -> Any:
        """Create an object with the constructor that has as many parameters, which need not be public."""
        constructors = self.load(name).getDeclaredConstructors()
        constructor = next(c for c in constructors if c.getParameterCount() == len(arguments))
        constructor.setAccessible(True)
        return constructor.newInstance(self.array(arguments))

    def call(self, name: str, method: str, *arguments: Any) -> Any:
        """Call a static method, which need not be public; no other method of the class has the name."""
        found = next(m for m in self.load(name).getDeclaredMethods() if m.getName() == method)
        found.setAccessible(True)
        return found.invoke(None, self.array(arguments))

    def field(self, name: str, field: str, of: Any = None) -> Any:
        """Return the value of a field, which need not be public: of an object, or else of the class."""
        found = self.load(name).getDeclaredField(field)
        found.setAccessible(True)
        return found.get(of)

    def array(self, values: Sequence[Any], kind: Any = None) -> Any:
        """Return a Java array with values; of objects, unless a Java type is given."""
        array = self.empty_array(len(values), kind)
        for i, value in enumerate(values):
            array[i] = value
        return array

    def empty_array(self, length: int, kind: Any = None) -> Any:
        """Return a Java array; of objects, unless a Java type is given."""
        return self._gateway.new_array(kind or self._gateway.jvm.java.lang.Object, length)
