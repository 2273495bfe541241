"""The index builder of Xskipper's API."""

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
    """The methods of an Xskipper instance that an index builder calls."""

    def conf(self) -> dict[str, str]: ...

    def build(self, indexes: Sequence[Index], reader: DataFrameReader | None) -> DataFrame: ...


class IndexBuilder:
    """A collection of index definitions for one dataset, which :meth:`build` builds.

    Parameters
    ----------
    spark : SparkSession
        The session that builds the indexes.
    uri : str
        The dataset's path or table name.
    xskipper : Xskipper
        The instance that created the builder and builds the indexes.
    """

    def __init__(self, spark: SparkSession, uri: str, xskipper: _Owner) -> None:
        self.spark = spark
        self.uri = uri
        self.xskipper = xskipper
        self._indexes: list[Index] = []

    def addMinMaxIndex(self, col: str, keyMetadata: str | None = None) -> IndexBuilder:
        """Add an index of the minimum and maximum of a column.

        Parameters
        ----------
        col : str
            The column.
        keyMetadata : str, optional
            Label of the encryption key. None leaves the metadata of the index in plaintext.

        Returns
        -------
        IndexBuilder
            This builder.

        Raises
        ------
        XskipperException
            If ``col`` is not a valid column path.
        """
        return self._add(lambda: MinMax(col, key_label=keyMetadata))

    def addValueListIndex(self, col: str, keyMetadata: str | None = None) -> IndexBuilder:
        """Add an index of the distinct values of a column; see :meth:`addMinMaxIndex` for parameters and errors."""
        return self._add(lambda: ValueList(col, key_label=keyMetadata))

    def addBloomFilterIndex(self, col: str, keyMetadata: str | None = None) -> IndexBuilder:
        """Add an index of Bloom filters of a column; see :meth:`addMinMaxIndex` for parameters.

        The configuration key ``io.xskipper.index.bloom.fpp`` sets the false positive rate of the filters, and the key
        ``io.xskipper.index.bloom.ndv`` sets the number of distinct values that every filter is sized for.

        Raises
        ------
        XskipperException
            If the column path, the rate or the number is not valid.
        """
        fpp, ndv = bloom_parameters(self.xskipper.conf())
        return self._add(lambda: BloomFilter(col, fpp, ndv, key_label=keyMetadata))

    def addCustomIndex(
        self, indexClass: str, cols: Sequence[str], params: Mapping[str, str], keyMetadata: str | None = None
    ) -> IndexBuilder:
        """Add an index by the Java class name of one of Xskipper's index types.

        Parameters
        ----------
        indexClass : str
            ``MinMaxIndex``, ``ValueListIndex`` or ``BloomFilterIndex``, with or without the package
            ``io.xskipper.index.``.
        cols : sequence of str
            The columns; the three index types take exactly one column.
        params : mapping of str to str
            Parameters by their full names. Only ``BloomFilterIndex`` has parameters.
        keyMetadata : str, optional
            Label of the encryption key. None leaves the metadata of the index in plaintext.

        Returns
        -------
        IndexBuilder
            This builder.

        Raises
        ------
        XskipperException
            If the class is a different one, which would have to run in Java, or if the number of columns is not 1.
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
        """Build all added indexes.

        Parameters
        ----------
        reader : DataFrameReader, optional
            The reader, with format, options and schema, for a path. None for a table.

        Returns
        -------
        DataFrame
            One row with the columns ``status``, ``new_entries_added`` and ``old_entries_removed``. The last two columns
            are numbers of files.

        Raises
        ------
        XskipperException
            If the dataset has an index, or if the build fails.
        """
        return self.xskipper.build(self._indexes, reader)

    def _add(self, make: Callable[[], Index]) -> IndexBuilder:
        with translated("Failed To Create Index"):
            self._indexes.append(make())
        return self
