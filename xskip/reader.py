"""A dataset as a user names it: files under a path, or a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xskip.errors import DatasetError
from xskip.source import first_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["PathReader", "Reader", "TableReader"]


@dataclass(frozen=True, slots=True)
class PathReader:
    """Reads the files under a path, as ``spark.read`` does with the same format, options and schema."""

    path: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    schema: StructType | str | None = None

    @property
    def lower_options(self) -> dict[str, str]:
        """The options by names in lower case, for Spark does not tell their cases apart."""
        return {name.lower(): value for name, value in self.options.items()}

    def __call__(self, session: SparkSession) -> DataFrame:
        """The dataset in a session.

        Raises
        ------
        DatasetError
            Spark cannot read it.
        """
        return self.load(session, self.path)

    def load(self, session: SparkSession, *paths: str, **options: str) -> DataFrame:
        """Paths read in the same way, with further options."""
        reader = session.read.format(self.format).options(**{**self.options, **options})
        chosen = reader if self.schema is None else reader.schema(self.schema)
        return _opened(lambda: chosen.load(paths[0] if len(paths) == 1 else list(paths)), self.path)


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reads a table of the catalog, as it is now."""

    table: str

    def __call__(self, session: SparkSession) -> DataFrame:
        """The table in a session.

        Raises
        ------
        DatasetError
            Spark cannot read it.
        """

        def opened() -> DataFrame:
            session.catalog.refreshTable(self.table)
            return session.table(self.table)

        return _opened(opened, self.table)


Reader = PathReader | TableReader


def _opened(read: Callable[[], DataFrame], name: str) -> DataFrame:
    """Spark's reading of a dataset, or one clear error."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return read()
    except (Py4JError, PySparkException) as error:
        raise DatasetError("the dataset cannot be read", where=name, found=first_line(error)) from error
