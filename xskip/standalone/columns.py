"""The columns of a dataset, with which those in a predicate are compared. Rules: [STA-CO].

No record of an index has the schema of the dataset. If a predicate names a column that the index does not know, the
schema is read from the footers of two data files: of the first by name, and of the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.partition import texts_of_names
from xskip.column_paths import join_path
from xskip.errors import PredicateError, XskipError, did_you_mean
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.snapshot import Snapshot
from xskip.standalone.avro_header import header_schema
from xskip.standalone.layout import schema_of_file, with_partitions
from xskip.standalone.sql import Both, Compared, Either, Like, Name, Node, Not, NullTest
from xskip.standalone.store import Store

__all__ = ["Columns", "Mention", "mentions_in"]

Path = tuple[str, ...]
#: Columns that engines add to those of the files, and words that stand for values.
_OF_ENGINES = frozenset([
    "_metadata", "filename", "file_name", "file_path", "file_row_number", "file_index", "rowid", "__filename",
    "__fragment_index", "__batch_index", "__last_in_fragment", "current_date", "current_time", "current_timestamp",
    "localtime", "localtimestamp", "current_user", "session_user", "user", "current_catalog", "current_schema",
    "current_database", "current_role", "now", "today",
])  # fmt: skip
_MAX_NAMES = 10


class Mention(NamedTuple):
    """A column in a predicate, and the text of the column with which it is compared, or an empty text."""

    path: Path
    compared: str = ""


def mentions_in(node: Node) -> Iterator[Mention]:
    """Yield the columns in a parsed predicate.

    >>> from xskip.standalone.sql import parse
    >>> list(mentions_in(parse("city = Oslo")))
    [Mention(path=('city',), compared=''), Mention(path=('Oslo',), compared='city')]
    """
    match node:
        case Both(children) | Either(children):
            for child in children:
                yield from mentions_in(child)
        case Not(child):
            yield from mentions_in(child)
        case Compared(_, left, right):
            if isinstance(left, Name):
                yield Mention(left.path)
            if isinstance(right, Name):
                yield Mention(right.path, join_path(left.path) if isinstance(left, Name) else "")
        case NullTest(name) | Like(name):
            yield Mention(name.path)
        case Name(path):
            yield Mention(path)


@dataclass(frozen=True)
class Columns:
    """The columns of a dataset."""

    store: Store
    format: str
    #: All files of the dataset.
    listed: DataFiles
    snapshot: Snapshot

    @property
    def case_sensitive(self) -> bool:
        """Return whether the index tells names apart that differ only in case."""
        return self.snapshot.read_profile is not None and self.snapshot.read_profile.case_sensitive

    @cached_property
    def indexed(self) -> tuple[str, ...]:
        """Return the names of the columns that the index knows: partition columns and indexed ones."""
        indexed = (d.columns for d, _ in self.snapshot.indexes if d.expression is None)
        return tuple(dict.fromkeys((*self.snapshot.partitions, *(name for names in indexed for name in names))))

    @cached_property
    def schema(self) -> pa.Schema | None:
        """Return the schema of the dataset with its partition columns; None if it is not known."""
        return self._read[0]

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Return the indexed columns, for hints at similar names, if the schema of the dataset is not known."""
        return self.indexed if self._names is None else ()

    @property
    def problem(self) -> str:
        """Return why the schema is not known; empty if it is known."""
        return self._read[1]

    @property
    def doubted(self) -> frozenset[str]:
        """Return the columns that do not have the same type in the files that were read."""
        return self._read[2]

    @cached_property
    def _read(self) -> tuple[pa.Schema | None, str, frozenset[str]]:
        found, problem = [], "the dataset has no files"
        for row in self._chosen():
            try:
                found.append(schema_of_file(self.store, self.format, self.listed.slice(row, 1)))
            except XskipError as error:
                problem = str(error)
        if not found:
            return None, problem, frozenset()
        first, *others = found
        doubted = set()
        for other in others:
            for field in other:
                at = first.get_field_index(field.name)
                if at >= 0 and first.field(at).type != field.type:
                    doubted.add(field.name)
                elif field.name not in first.names:
                    first = first.append(field)
        return with_partitions(first, self.snapshot), "", frozenset(doubted)

    def _chosen(self) -> list[int]:
        """Return the positions of the first file and of the newest."""
        if not len(self.listed):
            return []
        newest = pc.index(self.listed.modified, pc.max(self.listed.modified)).as_py()
        return sorted({0, newest})

    def check_sql(self, predicate: str, node: Node) -> None:
        """Raise an error if the schema is known, and a predicate in SQL names a column that it lacks."""
        known = {self._folded(name) for name in self.indexed}
        missing = [m for m in mentions_in(node) if self._folded(join_path(m.path)) not in known]
        missing = [m for m in missing if m.path[0].lower() not in _OF_ENGINES]
        schema = self._names if missing else None
        if schema is not None:
            self._check(predicate, [m for m in missing if not self._has(schema, m.path)], schema)

    def check_fields(self, predicate: str, paths: Iterable[Path]) -> None:
        """Raise an error if the schema is known, and an expression of pyarrow names a column that it lacks."""
        schema = self.schema
        if schema is not None:
            # pyarrow knows columns by their exact names.
            missing = [p for p in paths if p[0] not in schema.names and p[0] not in _OF_ENGINES]
            self._check(predicate, [Mention(path) for path in missing], schema)

    @cached_property
    def _names(self) -> pa.Schema | None:
        """Return a schema with the names of all columns; that of Avro has no types, and comes from a header."""
        if self.format != "avro":
            return self.schema
        try:
            found = [header_schema(self.store, self.listed.names[row].as_py()) for row in self._chosen()]
        except (XskipError, OSError, ValueError, LookupError, TypeError):
            return None
        if not found:
            return None
        fields = {field.name: field for schema in reversed(found) for field in schema}
        return with_partitions(pa.schema(list(fields.values())), self.snapshot)

    def _folded(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()

    def _has(self, schema: pa.Schema, path: Path) -> bool:
        """Return whether a schema has a column; what is inside of maps and arrays counts as present."""
        found = pa.struct(list(schema))
        for position, part in enumerate(path):
            if not pa.types.is_struct(found):
                return True
            fields = [field for field in found if self._folded(field.name) == self._folded(part)]
            if not fields:
                return position == 0 and self._is_partition(part)
            found = fields[0].type
        return True

    def _is_partition(self, name: str) -> bool:
        """Return whether the directories of the first file have values of a column."""
        (texts,) = texts_of_names(self.listed.names.slice(0, 1), self.store.path)
        return self._folded(name) in map(self._folded, texts)

    def _check(self, predicate: str, missing: list[Mention], schema: pa.Schema) -> None:
        if not missing:
            return
        (path, compared), names = missing[0], schema.names
        found = join_path(path)
        shown = [*names[:_MAX_NAMES], *(["…"] if len(names) > _MAX_NAMES else [])]
        similar = did_you_mean(found, names)
        quotes = f"put a text in quotes: {compared} = '{found}'" if compared else None
        hint = f"{similar.rstrip('?')}, or {quotes}" if similar and quotes else similar or quotes
        raise PredicateError(
            "the dataset has no such column", where=predicate, found=found, expected=f"one of {', '.join(shown)}",
            hint=hint,
        )  # fmt: skip
