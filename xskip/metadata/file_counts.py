"""The numbers of rows, and of NULLs in columns, of data files. Rule: [MDS-O-6]."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["FileCounts"]


@dataclass(frozen=True, slots=True)
class FileCounts:
    """The numbers of rows and of NULLs of many files, as columns with one row per file.

    >>> counts = FileCounts(pa.array([3, 5]), {"a": pa.array([0, None])})
    >>> other = FileCounts(pa.array([3, 4]), {"a": pa.array([0, 1]), "b": pa.array([3, 0])})
    >>> counts.agreed(other).rows.to_pylist()
    [3, None]
    >>> {name: nulls.to_pylist() for name, nulls in counts.agreed(other).nulls.items()}
    {'a': [0, None], 'b': [3, None]}
    """

    #: int64; null where unknown.
    rows: pa.Array
    #: By the name of a column as in the definitions of indexes: int64, the number of rows in which the column is NULL;
    #: null where unknown. A column that is absent is unknown for all files.
    nulls: Mapping[str, pa.Array] = field(default_factory=dict)

    @staticmethod
    def unknown(files: int) -> FileCounts:
        """Return the counts of files of which nothing is known."""
        return FileCounts(pa.nulls(files, pa.int64()))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_unknown(self) -> bool:
        """Return whether no count of any file is known."""
        return all(each.null_count == len(each) for each in (self.rows, *self.nulls.values()))

    def take(self, rows: pa.Array) -> FileCounts:
        """Return the counts of the files at the given positions; unknown at a position that is null."""
        return self._each(lambda values: values.take(rows))

    def of_columns(self, names: Collection[str]) -> FileCounts:
        """Return the counts without those of columns with other names."""
        return FileCounts(self.rows, {name: values for name, values in self.nulls.items() if name in names})

    def without(self, files: pa.Array, columns: Collection[str]) -> FileCounts:
        """Return the counts with unknown NULLs in some columns of the files at which a mask is true."""
        nothing = pa.scalar(None, pa.int64())
        nulls = {n: pc.if_else(files, nothing, v) if n in columns else v for n, v in self.nulls.items()}
        return FileCounts(self.rows, nulls)

    def without_files(self, files: pa.Array) -> FileCounts:
        """Return the counts with unknown counts of the files at which a mask is true."""
        return self._each(lambda values: pc.if_else(files, pa.scalar(None, pa.int64()), values))

    def agreed(self, other: FileCounts) -> FileCounts:
        """Return what either of two counts of the same files says; unknown where they contradict each other.

        Nothing is known of a file with two numbers of rows.
        """
        nulls = {**other.nulls, **self.nulls}
        for name in self.nulls.keys() & other.nulls.keys():
            nulls[name] = _agreed(self.nulls[name], other.nulls[name])
        merged = FileCounts(_agreed(self.rows, other.rows), nulls)
        differ = pc.not_equal(self.rows, other.rows).fill_null(False)
        return merged.without_files(differ) if differ.true_count else merged

    def plausible(self) -> FileCounts:
        """Return the counts without negative numbers, and without NULLs that exceed the rows."""
        nothing = pa.scalar(None, pa.int64())

        def kept(values: pa.Array, most: pa.Array) -> pa.Array:
            possible = pc.and_(pc.greater_equal(values, 0), pc.less_equal(values, most).fill_null(True))
            return pc.if_else(possible.fill_null(False), values, nothing)

        rows = kept(self.rows, self.rows)
        return FileCounts(rows, {name: kept(values, rows) for name, values in self.nulls.items()})

    @staticmethod
    def concat(parts: Sequence[FileCounts]) -> FileCounts:
        """Concatenate the counts of several lists of files; a column that a part lacks is unknown for its files."""
        names = list(dict.fromkeys(name for part in parts for name in part.nulls))
        nulls = {n: [part.nulls.get(n, pa.nulls(len(part), pa.int64())) for part in parts] for n in names}
        return FileCounts(
            pa.concat_arrays([pa.nulls(0, pa.int64()), *(part.rows for part in parts)]),
            {name: pa.concat_arrays(found) for name, found in nulls.items()},
        )

    def _each(self, change: Callable[[pa.Array], pa.Array]) -> FileCounts:
        return FileCounts(change(self.rows), {name: change(values) for name, values in self.nulls.items()})


def _agreed(one: pa.Array, other: pa.Array) -> pa.Array:
    differ = pc.not_equal(one, other).fill_null(False)
    return pc.if_else(differ, pa.scalar(None, pa.int64()), pc.coalesce(one, other))
