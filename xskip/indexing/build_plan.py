"""The plan of a build: the indexes that the user requests, as metadata records them and as Spark resolves them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xskip.clauses.user_classes import method_errors
from xskip.column_paths import columns_in, join_path, split_path
from xskip.errors import IndexDefinitionError, did_you_mean
from xskip.hints import Call, Words
from xskip.indexes import Formatted, Index, index_of
from xskip.indexing.source import Source
from xskip.metadata.table import EXPRESSION, SETTINGS, IndexDefinition
from xskip.metadatastore.snapshot import Snapshot
from xskip.spark.bridge.java_errors import first_line, in_short, spark_errors
from xskip.spark.catalyst import canonical_form
from xskip.spark.catalyst.evaluator import ExprNode, decorate
from xskip.spark.catalyst.sql_safety import is_plain
from xskip.spark.collect.planned_index import PlannedIndex, value_types
from xskip.types.datatypes import Storage, from_json

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["check_options", "plan", "plan_existing", "registered"]


def plan(source: Source, indexes: Sequence[Index], known: Collection[IndexDefinition] = ()) -> tuple[PlannedIndex, ...]:
    """Resolve the requested indexes to the values that a build must collect.

    Spark tries the patterns of indexes in a query, unless their definitions are ``known``.
    """
    planned = _planned_all(source, indexes)
    for each in planned:
        if isinstance(each.index, Formatted) and not any(map(each.definition.is_same, known)):
            _check_pattern(source, each.index)
    return planned


def check_options(source: Source) -> None:
    """Raise an error if no index supports the options with which the dataset is read."""
    if source.read_profile.problem:
        raise IndexDefinitionError(
            "no index supports these options", where=source.root, found=source.read_profile.problem
        )


def _planned_all(source: Source, indexes: Sequence[Index]) -> tuple[PlannedIndex, ...]:
    check_options(source)
    if not indexes:
        raise IndexDefinitionError("the list of indexes is empty", expected="at least one index, such as MinMax('ts')")
    partitions = {name.lower() for name, _ in source.dataset.partition_schema()}
    planned = [_planned(source, index, partitions) for index in indexes]
    seen: set[object] = set()
    for each in planned:
        if each.definition.key in seen:
            raise IndexDefinitionError("the list of indexes contains the same index twice", found=str(each.definition))
        seen.add(each.definition.key)
    return tuple(planned)


def registered(source: Source, definitions: Iterable[IndexDefinition]) -> list[Index]:
    """Return the indexes of definitions; raise an error if the type of one is not registered."""
    made = [(index_of(definition), definition) for definition in definitions]
    unknown = [str(definition) for index, definition in made if index is None]
    if unknown:
        raise IndexDefinitionError(
            "the index has an index type that is not registered", where=source.root, found=", ".join(unknown),
            hint=Words("register the class, or {} with other indexes", Call("create", "[...]")),
        )  # fmt: skip
    return [index for index, _ in made if index is not None]


def plan_existing(source: Source, snapshot: Snapshot) -> tuple[PlannedIndex, ...]:
    """Resolve those indexes of a snapshot whose index type is known to the values that a build must collect."""
    indexes = [index_of(definition) for definition, _ in snapshot.indexes]
    planned = _planned_all(source, [index for index in indexes if index is not None])
    for each in planned:
        before = next(d for d, _ in snapshot.indexes if d.key == each.definition.key)
        if (before.expression, before.settings) != (each.definition.expression, each.definition.settings):
            raise IndexDefinitionError(
                "Spark resolves an expression differently than when it was indexed",
                where=str(each.definition), found=each.definition.expression or "", expected=before.expression or "",
                hint="drop the index and create it again",
            )  # fmt: skip
        if before.types and before.types != each.definition.types:
            raise IndexDefinitionError(
                "a column has another type than when it was indexed",
                where=str(each.definition), found=", ".join(each.definition.types), expected=", ".join(before.types),
                hint="drop the index and create it again",
            )  # fmt: skip
    return planned


def _planned(source: Source, index: Index, partitions: set[str]) -> PlannedIndex:
    if index.expression:
        return _planned_expression(source, index, partitions)
    found = [_resolve(source, column, partitions) for column in index.columns]
    types = tuple(kind for _, kind in found)
    spelled = tuple(join_path(path) for path, _ in found)
    names = spelled if source.read_profile.case_sensitive else tuple(name.lower() for name in spelled)
    definition = IndexDefinition(index.name, names, index.params, index.key_label, types)
    return _checked(PlannedIndex(index, spelled, definition, _storage(index, types)))


def _storage(index: Index, types: tuple[str, ...]) -> Storage:
    with method_errors(type(index), "storage"):
        return index.storage(value_types(index, types))


def _check_pattern(source: Source, index: Formatted) -> None:
    """Raise an error if Spark rejects a pattern or its group."""
    # A build would find a wrong group out at the first match only, so the probe matches an empty text.
    probe = replace(index, column="''", expression=True, pattern=f"{index.pattern}|")
    (extraction,) = probe.inputs(("''",), ("string",))
    try:
        source.df.sparkSession.sql(f"SELECT {extraction.sql}").collect()
    except spark_errors() as error:
        raise IndexDefinitionError(
            "Spark rejects the pattern of an index", where=f"column {index.column}",
            found=first_line(error).replace(probe.pattern, index.pattern),
            expected=f"a regular expression of Java with a group {index.group}",
        ) from in_short(error)  # fmt: skip


def _checked(planned: PlannedIndex) -> PlannedIndex:
    index = planned.index
    if index.of_paths:
        return planned
    with method_errors(type(index), "aggregates"):
        collects = bool(index.accumulators or list(index.aggregates([each.column for each in planned.inputs])))
    if not collects:
        raise IndexDefinitionError(
            "the index type collects no statistics", found=str(planned.definition), hint="define its aggregates"
        )
    return planned


def _planned_expression(source: Source, index: Index, partitions: set[str]) -> PlannedIndex:
    """Plan an index on an expression in Spark's resolved form; filters must have the same form."""
    (text,) = index.columns
    if not is_plain(source.df.sparkSession, text):  # metadata can hold any text: Spark may analyze plain text only
        raise _not_indexable(text)
    node, kind, texts = _expression(source, text)
    columns = {path[0].lower() for path in columns_in(node)}
    _check_whole(source, columns_in(node), text)
    form = canonical_form.form_of(node)
    # A build reads no hidden columns, and CHAR columns without padding.
    hidden = form is not None and ('["$meta",' in form.text or '"readSidePadding"' in form.text)
    if not isinstance(node, ExprNode) or node.term is None or form is None or columns & partitions or hidden:
        raise _not_indexable(text)
    # The configuration of encrypted columns separates the names of columns with these signs.
    if index.key_label is not None and any(sign in text for sign in ",;:"):
        raise IndexDefinitionError(
            "an encrypted index cannot have an expression with a comma, semicolon or colon", found=text,
            hint="write the value to a column, and index that column",
        )  # fmt: skip
    expression = form.text if source.read_profile.case_sensitive else form.folded
    params = (*index.params, (EXPRESSION, expression), (SETTINGS, source.dataset.evaluation_settings()))
    definition = IndexDefinition(index.name, (text,), params, index.key_label, (kind,))
    return _checked(PlannedIndex(index, (text,), definition, _storage(index, (kind,)), texts))


def _not_indexable(text: str) -> IndexDefinitionError:
    return IndexDefinitionError(
        "xskip cannot index this expression", found=text[:300],
        expected="deterministic built-in functions of Spark, each on columns of the files",
        hint="xskip cannot index functions that Spark replaces by calls of methods, such as url_decode and variant_get",
    )  # fmt: skip


def _expression(source: Source, text: str) -> tuple[object, str, tuple[tuple[str, ...], ...]]:
    """Return an SQL expression in the form of optimized filters, its Spark type, and its texts of timestamps."""
    from pyspark.sql import functions as F

    try:
        with source.dataset.in_session():
            selected = source.df.select(F.expr(text))
        node = decorate(source.dataset.encoded(selected))
        texts = source.dataset.timestamp_texts(selected) if isinstance(node, ExprNode) else ()
    except spark_errors() as error:
        raise IndexDefinitionError(
            "Spark rejects the expression", where=text, found=first_line(error)
        ) from in_short(error)  # fmt: skip
    if texts is None:
        raise IndexDefinitionError(
            "the values of an expression can depend on the day on which Spark computes them", where=text,
            found="texts that Spark reads as timestamps, where a time without a date means today",
            hint="use to_timestamp(text, format), or cast a column itself",
        )  # fmt: skip
    return node, from_json(_type_name(selected.schema.fields[0].dataType)), texts


def _resolve(source: Source, column: str, partitions: set[str]) -> tuple[tuple[str, ...], str]:
    """Return the path of a column in the spelling of the dataset, and its Spark type."""
    from pyspark.sql.types import StructType

    path = split_path(column)
    if len(path) == 1 and path[0].lower() in partitions:
        raise IndexDefinitionError(
            "a partition column needs no index", where=f"column {column}", hint="omit the index of this column"
        )
    _check_whole(source, [path], column)
    spelled: list[str] = []
    kind: object = source.df.schema
    for part in path:
        name = (
            _field_name(kind, part, case_sensitive=source.read_profile.case_sensitive)
            if isinstance(kind, StructType)
            else None
        )
        if name is None:
            raise _no_column(source, column, spelled, kind)
        assert isinstance(kind, StructType)
        spelled.append(name)
        kind = kind[name].dataType
    return tuple(spelled), from_json(_type_name(kind))


def _no_column(source: Source, column: str, above: Sequence[str], struct: object) -> IndexDefinitionError:
    from pyspark.sql.types import StructType

    if not isinstance(struct, StructType):
        return IndexDefinitionError(
            "a column without fields cannot have a nested column", found=column,
            where=f"column {join_path(tuple(above))} of {source.root}", expected="a column of type struct",
        )  # fmt: skip
    known = [join_path((*above, field.name)) for field in struct.fields]
    where = f"column {join_path(tuple(above))} of {source.root}" if above else source.root
    what = "the struct has no such field" if above else "the dataset has no such column"
    return IndexDefinitionError(
        what, found=column, where=where, expected=f"one of {', '.join(known)}", hint=did_you_mean(column, known)
    )


def _check_whole(source: Source, paths: Iterable[tuple[str, ...]], index: str) -> None:
    """Raise an error for a column whose values a build that reads few columns does not see as a query does."""
    why = next((why for path in paths if (why := source.read_profile.dependent(path))), "")
    if why:
        raise IndexDefinitionError(
            "the values of a column depend on the columns that a query reads", where=f"column {index}", found=why,
            hint="index other columns",
        )  # fmt: skip


def _field_name(struct: StructType, part: str, *, case_sensitive: bool) -> str | None:
    names = struct.fieldNames()
    if part in names:
        return part
    folded = [name for name in names if not case_sensitive and name.lower() == part.lower()]
    return folded[0] if len(folded) == 1 else None


def _type_name(kind: object) -> str:
    from pyspark.sql.types import DataType

    assert isinstance(kind, DataType)
    return kind.simpleString()
