"""Xskipper's builder of indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from xskip.indexes import BloomFilter, Index, MinMax, ValueList
from xskip.xskipper.conf import bloom_parameters
from xskip.xskipper.errors import XskipperException, translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

__all__ = ["IndexBuilder"]

_CLASSES = "io.xskipper.index."


class _Owner(Protocol):
    """What a builder needs of the instance that it builds for."""

    def conf(self) -> dict[str, str]: ...

    def build(self, indexes: Sequence[Index], reader: DataFrameReader | None) -> DataFrame: ...


class IndexBuilder:
    """Gathers indexes, then builds them.

    Parameters
    ----------
    spark : SparkSession
    uri : str
        A path, or a table's name.
    xskipper : Xskipper
        Whose index it is.
    """

    def __init__(self, spark: SparkSession, uri: str, xskipper: _Owner) -> None:
        self.spark = spark
        self.uri = uri
        self.xskipper = xskipper
        self._indexes: list[Index] = []

    def addMinMaxIndex(self, col: str, keyMetadata: str | None = None) -> IndexBuilder:
        """Minimum and maximum of a column, encrypted where ``keyMetadata`` labels a key."""
        return self._add(lambda: MinMax(col, key_label=keyMetadata))

    def addValueListIndex(self, col: str, keyMetadata: str | None = None) -> IndexBuilder:
        """The distinct values of a column, encrypted where ``keyMetadata`` labels a key."""
        return self._add(lambda: ValueList(col, key_label=keyMetadata))

    def addBloomFilterIndex(self, col: str, keyMetadata: str | None = None) -> IndexBuilder:
        """A Bloom filter of a column, of the configured rate and size; encrypted where ``keyMetadata`` labels a key."""
        fpp, ndv = bloom_parameters(self.xskipper.conf())
        return self._add(lambda: BloomFilter(col, fpp, ndv, key_label=keyMetadata))

    def addCustomIndex(
        self, indexClass: str, cols: Sequence[str], params: Mapping[str, str], keyMetadata: str | None = None
    ) -> IndexBuilder:
        """An index by the name of its class: one of Xskipper's own, with parameters as they are recorded.

        Raises
        ------
        XskipperException
            The class is another one, which would have to run in Java.
        """
        if len(cols) == 1:
            match indexClass.removeprefix(_CLASSES):
                case "MinMaxIndex":
                    return self.addMinMaxIndex(cols[0], keyMetadata)
                case "ValueListIndex":
                    return self.addValueListIndex(cols[0], keyMetadata)
                case "BloomFilterIndex":
                    fpp, ndv = bloom_parameters(self.xskipper.conf() | dict(params))
                    return self._add(lambda: BloomFilter(cols[0], fpp, ndv, key_label=keyMetadata))
        names = ", ".join(f"{_CLASSES}{name}" for name in ("MinMaxIndex", "ValueListIndex", "BloomFilterIndex"))
        raise XskipperException(
            f"Invalid Index Type: {indexClass} on {len(cols)} columns; known are {names}, each on one column"
        )

    def build(self, reader: DataFrameReader | None = None) -> DataFrame:
        """Builds the index.

        Parameters
        ----------
        reader : DataFrameReader, optional
            How a path is read; a table needs none.

        Returns
        -------
        DataFrame
            One row: ``status``, ``new_entries_added``, ``old_entries_removed``.

        Raises
        ------
        XskipperException
            There is an index, or it cannot be built.
        """
        return self.xskipper.build(self._indexes, reader)

    def _add(self, make: Callable[[], Index]) -> IndexBuilder:
        with translated("Failed To Create Index"):
            self._indexes.append(make())
        return self
