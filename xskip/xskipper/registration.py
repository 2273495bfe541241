"""Xskipper's registration of Java plugins."""

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
    """Xskipper's own classes are there already; others cannot be loaded, which is a warning there, too."""
    if not name.startswith(_OWN):
        _log.warning("%s is not loaded: plugins in Java do not run here; their indexes stay as they are", name)


class Registration:
    """Registers plugins by the names of their classes: those of Xskipper are known, others are passed over."""

    @staticmethod
    def addMetadataFilterFactory(sparkSession: SparkSession, filterFactory: str) -> None:
        """Adds a factory of filters."""
        _register(filterFactory)

    @staticmethod
    def addIndexFactory(sparkSession: SparkSession, indexFactory: str) -> None:
        """Adds a factory of indexes."""
        _register(indexFactory)

    @staticmethod
    def addMetaDataTranslator(sparkSession: SparkSession, metadataTranslator: str) -> None:
        """Adds a translator of metadata."""
        _register(metadataTranslator)

    @staticmethod
    def addClauseTranslator(sparkSession: SparkSession, clauseTranslator: str) -> None:
        """Adds a translator of clauses."""
        _register(clauseTranslator)

    @staticmethod
    def setActiveMetadataStoreManager(sparkSession: SparkSession, metadataStoreManager: str) -> None:
        """Chooses the metadatastore, of which there is one: Parquet."""
        if metadataStoreManager.rstrip("$") != _PARQUET:
            _log.warning("there is no metadatastore %s: %s stays active", metadataStoreManager, _PARQUET)

    @staticmethod
    def getActiveMetadataStoreManagerType(sparkSession: SparkSession) -> str:
        """The name of the metadatastore's class, as Java gives it."""
        return f"{_PARQUET}$"
