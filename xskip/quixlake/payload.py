"""The decoding of payloads: JSON, Avro, Protobuf, or any expression of the column ``value``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xskip.column_paths import in_backticks, split_path
from xskip.errors import DatasetError, PredicateError, did_you_mean
from xskip.hints import Words
from xskip.indexes import Index, OneColumn
from xskip.quixlake.confluent import Schemas, check_schemas, framed_avro, schemas_of
from xskip.spark.bridge.java_errors import first_line, spark_errors
from xskip.spark.bridge.packages import spark_package, with_package

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Payload"]

_ENCODINGS = ("json", "avro", "protobuf")
#: The end of the names of Spark's errors for functions whose library is absent.
_NOT_LOADED = "NOT_LOADED_SQL_FUNCTIONS_UNUSABLE"


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
        For Protobuf, the local path of the file with the descriptor set that ``protoc --descriptor_set_out`` writes.
    schemas : mapping of int to str, or callable, optional
        For Avro in Confluent's frame, the schemas as JSON texts by their ids; ``schema`` is then that of the reader.
    """

    value: Column | str | None = None
    schema: StructType | str | None = None
    descriptor: str | None = None
    schemas: Schemas | None = None

    def __post_init__(self) -> None:
        check_schemas(self.schemas)
        if self.schemas is not None and self.value != "avro":
            raise PredicateError("schemas are those of Avro", found=f"value={self.value!r}", expected="value='avro'")

    def decoded(self, frame: DataFrame) -> DataFrame:
        """Replace the BINARY column ``value`` of a DataFrame by the decoded payload."""
        from pyspark.errors import PySparkException

        if self.value is None:
            return frame
        # The job that reads the ids fails as other queries on the segments do.
        known = {} if self.schemas is None else schemas_of(frame, self.schemas)
        try:
            return frame.withColumn("value", self._column(known))
        except PySparkException as error:
            if _NOT_LOADED in str(error):
                raise self._lacks_library() from error
            is_unknown = isinstance(self.value, str) and self.value not in _ENCODINGS
            hint = did_you_mean(str(self.value), _ENCODINGS) if is_unknown else None
            raise PredicateError("cannot decode the payload", found=first_line(error), hint=hint) from error
        except OSError as error:  # PySpark reads the file in Python
            raise PredicateError(
                "cannot read the descriptor set", where=self.descriptor, found=str(error), expected="a local file"
            ) from error
        except TypeError as error:  # PySpark calls a class that is absent in the JVM
            raise self._lacks_library() from error
        except spark_errors() as error:
            raise PredicateError("cannot decode the payload", found=first_line(error)) from error

    def on_bytes(self, index: Index) -> Index:
        """Return an index on the decoded payload as an index on an expression of the bytes [QLK-IX-5].

        An index on other columns, or on an expression, is returned unchanged.

        >>> from xskip import MinMax
        >>> Payload("json", "temp DOUBLE").on_bytes(MinMax("value.temp")).columns
        ("from_json(string(value), 'temp DOUBLE').`temp`",)
        """
        if self.value is None or not isinstance(index, OneColumn) or index.expression:
            return index
        column, *fields = split_path(index.column)
        if column != "value":
            return index
        text = "".join([self._sql(), *(f".{in_backticks(name)}" for name in fields)])
        return replace(index, column=text, expression=True)

    def _sql(self) -> str:
        match self.value:
            case "json":
                return f"from_json(string(value), {self._schema_literal('a schema such as temp DOUBLE')})"
            case "avro" if self.schemas is None:
                return f"from_avro(value, {self._schema_literal('the Avro schema as JSON')})"
            case str(text) if text not in ("avro", "protobuf"):
                return f"({text})"
            # SQL cannot express a Column, Avro in frames has a decoder for each schema, and that of Protobuf reads a
            # file when Spark analyzes it.
            case other:
                raise PredicateError(
                    "no index supports this decoding of payloads", found=str(other),
                    expected="json, avro, or an SQL expression",
                )  # fmt: skip

    def _schema_literal(self, expected: str) -> str:
        schema = self._schema(expected)
        text = schema if isinstance(schema, str) else schema.json()
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def _lacks_library(self) -> DatasetError:
        return DatasetError(
            f"Spark lacks the library that decodes {self.value}",
            hint=Words("{}", with_package(spark_package(str(self.value)))),
        )

    def _column(self, known: Mapping[int, str]) -> Column:
        """Return the decoded column; ``known`` has the schemas of Confluent's frames."""
        from pyspark.sql import functions as F

        if not isinstance(self.value, str):
            assert self.value is not None
            return self.value
        match self.value:
            case "json":
                return F.from_json(F.col("value").cast("string"), self._schema("a schema such as 'temp DOUBLE'"))
            case "avro" if self.schemas is not None:
                return framed_avro(known, None if self.schema is None else str(self.schema))
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
