"""Translation of predicates into clauses over indexes, partition columns and file attributes.

Rules: specs/pruning.rst, [PRU-V], [PRU-PC], [PRU-CC].
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xskip.clauses.clause import AllOf, Always, AnyOf, Clause, IndexClause, Undetermined
from xskip.clauses.file_attribute import FileClause
from xskip.clauses.partition import PartitionClause
from xskip.clauses.user_classes import method_errors
from xskip.column_paths import join_path
from xskip.expressions.condition_reasons import (
    AnotherType,
    MissingBounds,
    MissingIndex,
    OtherReason,
    PartialCover,
    PartitionMismatch,
    Reason,
    UnansweredCondition,
)
from xskip.expressions.operands import Call, Cast, Column, Computed, Derived, Elements, FileColumn, Form, column_of
from xskip.expressions.predicate import (
    And,
    ColumnComparison,
    Comparison,
    Constant,
    Equivalent,
    Leaf,
    Or,
    Predicate,
    Unknown,
)
from xskip.expressions.udf import implied
from xskip.indexes import Index, index_of
from xskip.metadata.table import IndexDefinition, IndexKey, PartitionKey, Requirement
from xskip.pruning.column_pair import ColumnPairClause
from xskip.types.datatypes import INTEGRAL, Array, Bloom, Opaque, Storage, Struct, atomic_name, element_of

__all__ = ["IndexCatalog", "translate", "without_columns"]

#: The column types for which other programs write Bloom filters.
_HASHED_ELSEWHERE = (*INTEGRAL, "string")
#: The index types whose metadata have the least and the greatest value, the smallest metadata first.
_WITH_BOUNDS = ("minmax", "valuelist")
#: The index types whose metadata have all distinct values.
_WITH_VALUES = ("valuelist",)
#: The index types of the metadata format. For other index types, only a commit record states the column types.
_OF_THE_FORMAT = ("minmax", "valuelist", "bloomfilter")
_Described = tuple[IndexDefinition, Storage]


def without_columns(indexes: Iterable[_Described], columns: Collection[tuple[str, ...]]) -> tuple[_Described, ...]:
    """Return the indexes whose values do not depend on columns, each given by its names from the top-level column."""
    if not columns:
        return tuple(indexes)
    return tuple((d, s) for d, s in indexes if not any(path in columns for path in d.paths))


@dataclass(frozen=True, slots=True)
class IndexCatalog:
    """The indexes and partition columns that a query can use."""

    #: The indexes, each with the type of its stored values.
    indexes: tuple[tuple[IndexDefinition, Storage], ...]
    #: The partition columns of the metadata, with their Spark types.
    partitions: Mapping[str, str] = field(default_factory=dict)
    #: The partition columns of the query's relation, with their Spark types; None stands for ``partitions``. A name in
    #: only one of the two mappings refers to different values in the query and in the metadata.
    queried: Mapping[str, str] | None = None
    case_sensitive: bool = False
    #: Whether no commit record states the types of hashed values, because another program wrote the index. The data
    #: files carry their types, so the hashed types are the column types in the query.
    untyped: bool = False
    #: The query's settings on which the values of expressions depend.
    settings: str = ""
    #: The columns whose indexes are left out, each with the reason.
    differing: Mapping[tuple[str, ...], str] = field(default_factory=dict)

    def name(self, path: tuple[str, ...]) -> str:
        """Return a column's path in Spark's spelling, in lower case unless the case of names matters."""
        joined = join_path(path)
        return joined if self.case_sensitive else joined.lower()

    @property
    def has_conditions(self) -> bool:
        """Return whether there is an index on a condition."""
        return any(d.types == ("boolean",) and d.expression is not None for d, _ in self.indexes)

    def on_column(self, name: str) -> list[_Described]:
        """Return the indexes on the column with a :meth:`name`."""
        return [(d, s) for d, s in self.indexes if d.expression is None and name in d.columns]

    def counted_column(self, column: Column) -> str | None:
        """Return the :meth:`name` under which metadata has the NULLs of a column, if the query reads it as the build.

        None stands for a partition column, a column that the query reads in another way, and one without an index.
        """
        name = self.name(column.path)
        if self.is_partition(column.path[:1]) or any(self.name(path) == name for path in self.differing):
            return None
        types = (dict(zip(d.columns, d.types, strict=False)).get(name) for d, _ in self.on_column(name))
        return name if column.type in types else None

    def bounds_of(self, column: Column) -> IndexKey | None:
        """Return the index with the least and the greatest value of a column of the files, or None."""
        return self._index_of(column, _WITH_BOUNDS)

    def values_of(self, column: Column) -> IndexKey | None:
        """Return the index with the distinct values of a column of the files, or None."""
        return self._index_of(column, _WITH_VALUES)

    def _index_of(self, column: Column, names: tuple[str, ...]) -> IndexKey | None:
        """Return the index on a column of the files that has the first of some names, or None."""
        if self.is_partition(column.path[:1]):
            return None
        of_type = [d for d, s in self.on_column(self.name(column.path)) if _same_type(column, (d, s), self)]
        return next((d.key for name in names for d in of_type if d.name == name), None)

    def on_expression(self, form: Form | None) -> list[_Described]:
        """Return the indexes on an expression that were built with the query's settings.

        The result is empty if the expression contains a partition column, or has no form (None).
        """
        usable = [(d, s) for d, s in self.indexes if d.expression is not None and d.settings == self.settings]
        if form is None or not usable or any(self.is_partition(path[:1]) for path in form.columns):
            return []
        text = form.text if self.case_sensitive else form.folded
        return [(d, s) for d, s in usable if d.expression == text]

    def reason(self, name: str) -> Reason:
        """Return why there is no usable index on the column with a :meth:`name`."""
        reasons = (OtherReason(why) for path, why in self.differing.items() if self.name(path) == name)
        return next(reasons, MissingIndex(name))

    def is_partition(self, path: tuple[str, ...]) -> bool:
        """Return whether a path names a partition column, of the query or of the metadata."""
        name = self.name(path)
        partitions = (*self.partitions, *(self.queried or ()))
        return any(self.name((partition,)) == name for partition in partitions)

    def partition_column(self, column: Column) -> str | Undetermined | None:
        """Return the name of the partition column that a column is, or None if it is no partition column."""
        name = self.name(column.path)
        partition = self._partition(name, self.partitions)
        in_query = partition if self.queried is None else self._partition(name, self.queried)
        # The values of the query and of the metadata differ if the column is a partition column only for one of them.
        if (partition is None) != (in_query is None):
            return Undetermined((), PartitionMismatch(name))
        if partition is not None and self.partitions[partition] != column.type:
            return Undetermined((), AnotherType(name, column.type, self.partitions[partition]))
        return partition

    def _partition(self, name: str, partitions: Mapping[str, str]) -> str | None:
        return next((partition for partition in partitions if self.name((partition,)) == name), None)


def translate(predicate: Predicate, catalog: IndexCatalog) -> Clause:
    """Translate a predicate into a clause; a part that no index can answer becomes Undetermined."""
    match predicate:
        case And():
            children = tuple(_conjuncts(predicate))
            return AllOf((*(translate(child, catalog) for child in children), *_joint(children, catalog)))
        case Or(children):
            return AnyOf(tuple(translate(child, catalog) for child in children))
        case Equivalent(children):
            clauses = [translate(child, catalog) for child in children]
            return _all([clause for clause in clauses if not isinstance(clause, Undetermined)]) or clauses[0]
        case Constant(value):
            return Always(value is True)
        case Unknown(reason):
            return Undetermined((predicate,), reason)
        case ColumnComparison():
            return _pair(predicate, catalog)
        case _:
            return _leaf(predicate, catalog)


def _leaf(leaf: Leaf, catalog: IndexCatalog) -> Clause:
    match leaf.operand:
        case FileColumn(name) | Computed(column=FileColumn(name)):
            return FileClause(leaf, name)
        case Derived(form, kind, reason):
            return _all(_on_expression(leaf, form, kind, catalog)) or Undetermined((leaf,), reason)
        case Computed(column=Column() as column, form=form, type=kind):
            by_expression = _on_expression(leaf, form, kind, catalog)
            by_column = _on_column(leaf, column, catalog)
            if by_expression and isinstance(by_column, Undetermined):
                return AllOf(tuple(by_expression))
            return AllOf((by_column, *by_expression)) if by_expression else by_column
        case Call() as call:
            return _of_call(leaf, call, catalog)
        case Elements(Derived() as array, kind):
            return _all(_on_elements(leaf, array, kind, catalog)) or Undetermined((leaf,), array.reason)
        case Elements(Column() as column, kind):
            return _on_column(replace(leaf, operand=Column(column.path, kind)), column, catalog, of_elements=True)
        case Column() as column:
            return _on_column(leaf, column, catalog)
        case Cast(column):
            return _on_column(leaf, column, catalog)
        case operand:
            return Undetermined((leaf,), OtherReason(f"{operand} does not contain a column"))


def _of_call(leaf: Leaf, call: Call, catalog: IndexCatalog) -> Clause:
    """Return the clause of a call, from its registered implication and from indexes that know the function."""
    clauses: list[Clause] = []
    predicate = implied(leaf) if isinstance(leaf, Comparison) else None
    if predicate is not None:
        clauses.append(translate(predicate, catalog))
    paths = [column.path for column in call.columns]
    names = tuple(map(catalog.name, paths))
    kinds = tuple(column.type for column in call.columns)
    for definition, storage in catalog.indexes:
        index = index_of(definition)
        same = (definition.columns, definition.types, definition.expression) == (names, kinds, None)
        if index is not None and index.of_calls and same and not any(map(catalog.is_partition, paths)):
            clause = _clause(index, leaf, definition, storage)
            clauses += [] if clause is None else [clause]
    unknown = Undetermined((leaf,), OtherReason(f"no registered implication of {call.name} applies"))
    return _all(clauses) or unknown


def _on_column(leaf: Leaf, column: Column, catalog: IndexCatalog, *, of_elements: bool = False) -> Clause:
    """Return the conjunction of all clauses of the indexes on a column."""
    partition_column = catalog.partition_column(column)
    if isinstance(partition_column, Undetermined):
        return replace(partition_column, predicates=(leaf,))
    if partition_column is not None:
        return PartitionClause(leaf, partition_column)
    name = catalog.name(column.path)
    on_column = catalog.on_column(name)
    if not on_column:
        return Undetermined((leaf,), catalog.reason(name))
    fitting = [index for index in on_column if _same_type(column, index, catalog)]
    fitting = [index for index in fitting if not element_of(column.type) or _is_of_elements(index) == of_elements]
    if not fitting and element_of(column.type):
        return Undetermined((leaf,), PartialCover(name, of_elements))
    if not fitting:
        return Undetermined((leaf,), AnotherType(name, column.type))
    kinds = tuple(definition.name for definition, _ in fitting)
    # A conjunction, because each index can rule out a file.
    return _all(_clauses(leaf, fitting)) or Undetermined((leaf,), UnansweredCondition(name, kinds))


def _is_of_elements(described: _Described) -> bool:
    index = index_of(described[0])
    return index is not None and index.of_elements


def _on_expression(leaf: Leaf, form: Form | None, kind: str, catalog: IndexCatalog) -> list[Clause]:
    """Return the clauses of all indexes on an expression, which answer leaves as indexes on a column do."""
    clauses: list[Clause] = []
    for definition, storage in catalog.on_expression(form):
        if definition.types == (kind,):
            clauses += _clauses(replace(leaf, operand=Column(definition.columns, kind)), [(definition, storage)])
    return clauses


def _on_elements(leaf: Leaf, array: Derived, kind: str, catalog: IndexCatalog) -> list[Clause]:
    clauses: list[Clause] = []
    for described in catalog.on_expression(array.form):
        if described[0].types == (array.type,) and _is_of_elements(described):
            clauses += _clauses(replace(leaf, operand=Column(described[0].columns, kind)), [described])
    return clauses


def _clauses(leaf: Leaf, described: Sequence[_Described]) -> list[Clause]:
    indexes = ((index_of(d), d, s) for d, s in described)
    clauses = (_clause(index, leaf, d, s) for index, d, s in indexes if index is not None)
    return [clause for clause in clauses if clause is not None]


def _clause(index: Index, leaf: Leaf, definition: IndexDefinition, storage: Storage) -> IndexClause | None:
    with method_errors(type(index), "translate"):
        clause = index.translate(leaf, definition, storage)
        if clause is not None and not hasattr(clause, "needs"):
            raise TypeError(f"it returned {clause!r:.100} instead of a clause or None")
        return clause


def _all(clauses: Sequence[Clause]) -> Clause | None:
    return AllOf(tuple(clauses)) if len(clauses) > 1 else next(iter(clauses), None)


def _pair(compared: ColumnComparison, catalog: IndexCatalog) -> Clause:
    sources: list[Requirement] = []
    for operand in (compared.left, compared.right):
        column = column_of(operand)
        if column is None:
            return Undetermined((compared,), OtherReason(f"{operand} does not contain a column"))
        partition_column = catalog.partition_column(column)
        if isinstance(partition_column, Undetermined):
            return replace(partition_column, predicates=(compared,))
        bounds = (d.key for d, s in catalog.on_column(catalog.name(column.path))
                  if d.name == "minmax" and _same_type(column, (d, s), catalog))  # fmt: skip
        source = next(bounds, None) if partition_column is None else PartitionKey(partition_column)
        if source is None:
            name = catalog.name(column.path)
            reason = catalog.reason(name)
            return Undetermined((compared,), MissingBounds(name) if isinstance(reason, MissingIndex) else reason)
        sources.append(source)
    left, right = sources
    return ColumnPairClause(compared, left, right)


def _conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    """Yield the predicates that a conjunction requires to be TRUE, with nested conjunctions flattened."""
    match predicate:
        case And(children):
            for child in children:
                yield from _conjuncts(child)
        case _:
            yield predicate


def _alternatives(conjuncts: Iterable[Predicate]) -> Iterator[Predicate]:
    """Yield the predicates of a conjunction with all translations of each condition: a match satisfies all of them."""
    for predicate in conjuncts:
        if isinstance(predicate, Equivalent):
            for child in predicate.children:
                yield from _alternatives(_conjuncts(child))
        else:
            yield predicate


def _joint(conjuncts: Sequence[Predicate], catalog: IndexCatalog) -> Iterator[Clause]:
    """Yield the clauses of indexes that prove more for several leaves together than for separate leaves."""
    by_name: dict[str, list[Leaf]] = {}
    for leaf in _alternatives(conjuncts):
        if isinstance(leaf, Constant | Unknown | ColumnComparison | And | Or | Equivalent):
            continue
        column = column_of(leaf.operand)  # no arrays: different elements can satisfy different leaves
        if column is not None and atomic_name(column.type) and catalog.partition_column(column) is None:
            by_name.setdefault(catalog.name(column.path), []).append(leaf)
    for definition, storage in catalog.indexes:
        about = [leaf for name in definition.columns for leaf in by_name.get(name, ()) if definition.expression is None]
        index = index_of(definition) if len(about) > 1 else None
        if index is not None:
            described = (definition, storage)
            typed = [x for x in about if (c := column_of(x.operand)) is not None and _same_type(c, described, catalog)]
            with method_errors(type(index), "translate_all"):
                clause = index.translate_all(typed, definition, storage)
            if clause is not None:
                yield clause


def _same_type(column: Column, described: _Described, catalog: IndexCatalog) -> bool:
    """Return whether the column had the query's type in the build, by the record and by the stored values."""
    definition, storage = described
    if definition.types and definition.types[definition.columns.index(catalog.name(column.path))] != column.type:
        return False
    index = index_of(definition)
    if definition.name not in _OF_THE_FORMAT or (index is not None and not index.keeps_values):
        return bool(definition.types)
    value_type = atomic_name(element_of(column.type) or column.type)
    match storage:
        case Struct(fields):
            return all(kind == value_type for _, kind in fields)
        case Array(element):
            return element == value_type
        case Opaque():
            return False
        case Bloom() if catalog.untyped:
            return column.type in _HASHED_ELSEWHERE
        case _:
            return bool(definition.types)
