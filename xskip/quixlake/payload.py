"""The decoding of payloads: JSON, Avro, Protobuf, or any expression of the column ``value``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from xskip.errors import DatasetError, PredicateError
from xskip.spark.bridge.java_errors import first_line, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Payload"]

Encoding: TypeAlias = Literal["json", "avro", "protobuf"]


@dataclass(frozen=True, slots=True)
class Payload:
    """A decoding of the bytes of ``value``.

    Attributes
    ----------
    value : {"json", "avro", "protobuf"}, str or Column, optional
        The encoding, or an SQL expression or Column that takes the place of ``value``. None keeps the bytes.
    schema : StructType or str, optional
        For JSON the schema, for Avro the schema as JSON text, and for Protobuf the full name of the message.
    descriptor : str, optional
        For Protobuf, the path of the file with the descriptor set that ``protoc --descriptor_set_out`` writes.
    """

    value: Column | str | None = None
    schema: StructType | str | None = None
    descriptor: str | None = None

    def decoded(self, frame: DataFrame) -> DataFrame:
        """Replace the column ``value`` of a DataFrame by the decoded payload.

        Parameters
        ----------
        frame : DataFrame
            A DataFrame with the BINARY column ``value``.

        Raises
        ------
        PredicateError
            If a schema or descriptor is missing, or if Spark cannot resolve the expression.
        DatasetError
            If Spark lacks the library of the encoding.
        """
        from pyspark.errors import PySparkException

        if self.value is None:
            return frame
        try:
            return frame.withColumn("value", self._column())
        except PySparkException as error:
            raise PredicateError("cannot decode the payload", found=first_line(error)) from error
        except TypeError as error:  # PySpark calls a class that is absent in the JVM
            raise DatasetError(
                f"Spark lacks the library that decodes {self.value}",
                hint=f"start Spark with the package org.apache.spark:spark-{self.value}_2.13 of its version",
            ) from error
        except spark_errors() as error:
            raise PredicateError("cannot decode the payload", found=first_line(error)) from error

    def _column(self) -> Column:
        from pyspark.sql import functions as F

        if not isinstance(self.value, str):
            assert self.value is not None
            return self.value
        match self.value:
            case "json":
                return F.from_json(F.col("value").cast("string"), self._schema("a schema such as 'temp DOUBLE'"))
            case "avro":
                from pyspark.sql.avro.functions import from_avro

                return from_avro("value", str(self._schema("the Avro schema as JSON")))
            case "protobuf":
                from pyspark.sql.protobuf.functions import from_protobuf

                name = str(self._schema("the full name of the message"))
                if self.descriptor is None:
                    raise PredicateError("Protobuf needs a descriptor", expected="the path of a descriptor set")
                return from_protobuf("value", name, self.descriptor)
            case text:
                return F.expr(text)

    def _schema(self, expected: str) -> StructType | str:
        if self.schema is None:
            raise PredicateError(f"the encoding {self.value} needs a schema", expected=expected)
        return self.schema
