"""Spark's schema JSON in a metadata file, which describes the file's columns and indexes. Rules: [MDS-S]."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from xskip.errors import MetadataCorruptError
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.versions import VersionRules, base_name, is_udt, own_name, params_of, rules_of
from xskip.types.datatypes import (
    Array,
    Atomic,
    Bloom,
    Opaque,
    Storage,
    Struct,
    atomic_name,
    element_of,
    from_json,
    json_field,
    to_json,
)

__all__ = [
    "OBJECT_COLUMN",
    "FileSchema",
    "IndexField",
    "Labels",
    "leaves_under",
    "parse_schema",
    "parse_version",
    "render_schema",
]

OBJECT_COLUMN = "obj_name"
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IndexField:
    """An index column of a metadata file."""

    column: str
    #: The index, under the name of its index type.
    definition: IndexDefinition
    storage: Storage
    #: Whether the file gives the index a name that only xskip knows [MDS-F-8].
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of the keys that encrypt a metadata file, but never a key [ENC-L-1]."""

    footer_key: str
    #: The encrypted Parquet leaves by the labels of their keys, as ``key:path,path;key:path``.
    column_keys: str
    #: Whether the footer is signed instead of encrypted.
    plaintext_footer: bool


@dataclass(frozen=True, slots=True)
class FileSchema:
    """The description of a metadata file in its footer."""

    version: int
    table_identifier: str
    #: The partition columns and their Spark types.
    partitions: tuple[tuple[str, str], ...]
    indexes: tuple[IndexField, ...]
    #: None if no column is encrypted.
    encryption: Labels | None = None


def render_schema(schema: FileSchema) -> str:
    """Render the schema JSON of a metadata file as Spark writes it, without spaces and without optional escapes."""
    rules = rules_of(schema.version)
    master = _master_json(schema, rules)
    fields: list[Json] = [{**json_field(OBJECT_COLUMN, "string", master), "nullable": not rules.serialised}]
    fields += [json_field(rules.partition_name(name), to_json(kind)) for name, kind in schema.partitions]
    for index in schema.indexes:
        described = _definition_json(index, schema.table_identifier, rules)
        fields.append(json_field(index.column, _storage_json(index, rules), {"index": described}))
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"), ensure_ascii=False)


def leaves_under(columns: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Select the Parquet leaves of top-level columns, in the order of ``paths``; names of columns can contain dots.

    >>> leaves_under(["a.b"], ["a.b.min", "a.bc", "a"])
    ['a.b.min']
    """
    wanted = set(columns)
    return [path for path in paths if any(begin in wanted for begin in _beginnings(path))]


def _beginnings(path: str) -> Iterator[str]:
    """Yield the part of a path before each of its dots, then the whole path."""
    at = path.find(".")
    while at >= 0:
        yield path[:at]
        at = path.find(".", at + 1)
    yield path


def parse_schema(text: str | bytes, arrow: pa.Schema) -> FileSchema:
    """Parse the description of a metadata file that contains the Arrow columns.

    MetadataCorruptError means that the JSON is not a metadata schema, or contradicts the columns. MetadataVersionError
    means that this release does not read the version.
    """
    try:
        fields, master, version = _parts(text)
        rules = rules_of(version)
        identifier = _identifier(master, fields, rules)
        partitions, indexes, held = [], [], set(arrow.names)
        for field in fields:
            name = field["name"]
            if name not in held:
                raise MetadataCorruptError(
                    "the schema names a column that the metadata file does not contain", found=name
                )
            if "index" in field["metadata"]:
                indexes.append(_index_field(field, arrow.field(name).type))
            elif (partition := rules.partition_of(name)) is not None and _known(field["type"]):
                partitions.append((partition, from_json(field["type"])))
        encryption = _labels(master["encryption"]) if "encryption" in master else None
    except _MALFORMED as error:
        raise _not_metadata(error) from error
    return FileSchema(version, identifier, tuple(partitions), tuple(indexes), encryption)


def parse_version(text: str | bytes) -> int:
    """Parse the version in the schema JSON of a metadata file, 0 if there is none; reject JSON of anything else."""
    try:
        return _parts(text)[2]
    except _MALFORMED as error:
        raise _not_metadata(error) from error


_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, StopIteration, OverflowError, RecursionError)


def _not_metadata(error: Exception) -> MetadataCorruptError:
    lacks_names = isinstance(error, StopIteration)
    found = f"no column {OBJECT_COLUMN}" if lacks_names else f"{type(error).__name__}: {error}"
    return MetadataCorruptError("the schema is not a schema of metadata", found=found)


def _parts(text: str | bytes) -> tuple[list[Json], Json, int]:
    """Return the fields, the metadata of ``obj_name``, and the version."""
    fields = json.loads(text)["fields"]
    master = next(field["metadata"] for field in fields if field["name"] == OBJECT_COLUMN)
    return fields, master, int(master.get("version", 0))


def _master_json(schema: FileSchema, rules: VersionRules) -> Json:
    """Return the metadata of ``obj_name``, with the keys in the order of the version's programs."""
    parts: dict[str, Any] = {"version": schema.version}
    if not rules.serialised:
        parts["tableIdentifier"] = schema.table_identifier
    if schema.encryption is not None:
        labels = schema.encryption
        found = {_FOOTER_KEY: labels.footer_key, _COLUMN_KEYS: labels.column_keys}
        if labels.plaintext_footer:
            found[_PLAINTEXT] = "true"
        parts["encryption"] = {key: found[key] for key in rules.encryption_keys if key in found}
    return {key: parts[key] for key in rules.master_keys if key in parts}


_FOOTER_KEY, _COLUMN_KEYS, _PLAINTEXT = (
    "encryption.footer.key",
    "encryption.column.keys",
    "encryption.plaintext.footer",
)


def _labels(encryption: Json) -> Labels:
    return Labels(
        str(encryption[_FOOTER_KEY]), str(encryption[_COLUMN_KEYS]), str(encryption.get(_PLAINTEXT)).lower() == "true"
    )


def _identifier(master: Json, fields: Sequence[Json], rules: VersionRules) -> str:
    """Return the table identifier; version 0 stores it without its first slash in each index column."""
    if not rules.serialised:
        return str(master["tableIdentifier"])
    found = [str(field["metadata"]["index"]["tableIdentifier"]) for field in fields if "index" in field["metadata"]]
    return "/" + found[0].removeprefix("/") if found else ""


def _definition_json(index: IndexField, identifier: str, rules: VersionRules) -> Json:
    """Return the metadata of an index column, with the keys in the order of the version's programs."""
    definition = index.definition
    name = own_name(definition.name) if index.is_own else definition.name
    parts: dict[str, Any] = {"name": name, "cols": list(definition.columns)}
    if definition.params:
        parts["params"] = rules.params_json(definition.params)
    if definition.key_label is not None:
        parts["key_metadata"] = definition.key_label
    if rules.serialised:
        parts["tableIdentifier"] = identifier.removeprefix("/")
    return {key: parts[key] for key in rules.index_keys if key in parts}


def _storage_json(index: IndexField, rules: VersionRules) -> Any:
    if rules.serialises(index.definition.name) and not isinstance(index.storage, Opaque):
        return {"type": "udt", "class": rules.udt(index.definition.name), "pyClass": None, "sqlType": "binary"}
    match index.storage:
        case Atomic(name):
            return to_json(name)
        case Struct(fields):
            return {"type": "struct", "fields": [json_field(name, _kind_json(kind)) for name, kind in fields]}
        case Array(element):
            return _kind_json(f"array<{element}>")
        case Bloom():
            return {"type": "udt", "class": rules.udt("bloomfilter"), "pyClass": None, "sqlType": "binary"}
        case Opaque(text, _):
            return json.loads(text)


def _index_field(field: Json, arrow: pa.DataType) -> IndexField:
    index = field["metadata"]["index"]
    written = str(index["name"])
    definition = IndexDefinition(
        base_name(written),
        tuple(str(column) for column in index["cols"]),
        params_of(index.get("params", {})),
        None if index.get("key_metadata") is None else str(index["key_metadata"]),
    )
    storage = _parse_storage(field["type"], arrow)
    # xskip copies a known index type in an unknown form, and does not interpret its values.
    if not _fits(definition.name, storage):
        storage = _opaque(field["type"], arrow)
    return IndexField(field["name"], definition, storage, written != definition.name)


def _fits(index: str, storage: Storage) -> bool:
    """Return whether a storage is the form of a known index type; an unknown index type can have any storage."""
    match index, storage:
        case "minmax", Struct((("min", low), ("max", high))):
            return low == high
        case ("valuelist", Array()) | ("bloomfilter", Bloom()):
            return True
        case _:
            return index not in ("minmax", "valuelist", "bloomfilter")


def _opaque(kind: Any, arrow: pa.DataType) -> Opaque:
    return Opaque(json.dumps(kind, separators=(",", ":"), ensure_ascii=False), arrow)


def _parse_storage(kind: Any, arrow: pa.DataType) -> Storage:
    """Parse the type of an index column from schema JSON; a type that xskip does not know becomes opaque."""
    match kind:
        case str() if atomic_name(from_json(kind)):
            return Atomic(from_json(kind))
        case {"type": "struct", "fields": fields} if all(_kind_of(field["type"]) for field in fields):
            return Struct(tuple((field["name"], _kind_of(field["type"]) or "") for field in fields))
        case {"type": "array", "elementType": element} if _known(element):
            return Array(from_json(element))
        case {"type": "udt", "class": name, "sqlType": "binary"} if is_udt("bloomfilter", name):
            return Bloom()
        case _:
            return _opaque(kind, arrow)


def _kind_json(kind: str) -> Any:
    element = element_of(kind)
    if element is None:
        return to_json(kind)
    return {"type": "array", "elementType": to_json(element), "containsNull": True}


def _kind_of(kind: Any) -> str | None:
    """Parse the type of a struct's field from schema JSON; None if xskip does not read the type."""
    match kind:
        case {"type": "array", "elementType": element} if _known(element):
            return f"array<{from_json(element)}>"
        case _:
            return from_json(kind) if _known(kind) else None


def _known(kind: Any) -> bool:
    return isinstance(kind, str) and atomic_name(from_json(kind)) is not None
