"""Registration of Java plugins, as in Xskipper's API."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Registration"]

_log = logging.getLogger("xskip")
_OWN = ("io.xskipper.search.filters.", "io.xskipper.index.", "io.xskipper.metadatastore.parquet.")
_PARQUET = "io.xskipper.metadatastore.parquet.Parquet"


def _register(name: str) -> None:
    """Log a warning if a class is not one of Xskipper's own, because xskip cannot load Java plugins."""
    if not name.startswith(_OWN):
        _log.warning("%s is not loaded: plugins in Java do not run here; their indexes stay as they are", name)


class Registration:
    """Static methods that accept the class names of Java plugins.

    The plugins of Xskipper itself need no registration. xskip cannot load other plugins: a method that receives the
    class name of another plugin logs a warning, and the indexes of that plugin stay unchanged.
    """

    @staticmethod
    def addMetadataFilterFactory(sparkSession: SparkSession, filterFactory: str) -> None:
        """Accept the class name of a metadata filter factory."""
        _register(filterFactory)

    @staticmethod
    def addIndexFactory(sparkSession: SparkSession, indexFactory: str) -> None:
        """Accept the class name of an index factory."""
        _register(indexFactory)

    @staticmethod
    def addMetaDataTranslator(sparkSession: SparkSession, metadataTranslator: str) -> None:
        """Accept the class name of a metadata translator."""
        _register(metadataTranslator)

    @staticmethod
    def addClauseTranslator(sparkSession: SparkSession, clauseTranslator: str) -> None:
        """Accept the class name of a clause translator."""
        _register(clauseTranslator)

    @staticmethod
    def setActiveMetadataStoreManager(sparkSession: SparkSession, metadataStoreManager: str) -> None:
        """Accept the class name of the Parquet metadatastore, and log a warning for any other class name."""
        if metadataStoreManager.rstrip("$") != _PARQUET:
            _log.warning("there is no metadatastore %s: %s stays active", metadataStoreManager, _PARQUET)

    @staticmethod
    def getActiveMetadataStoreManagerType(sparkSession: SparkSession) -> str:
        """Return the Java class name of the Parquet metadatastore, with the ``$`` of a Scala object."""
        return f"{_PARQUET}$"
