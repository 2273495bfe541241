"""Schemas are written and parsed as Spark's schema JSON. Rules: specs/metadatastore.rst, [MDS-S] and [MDS-V]."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xskip.errors import MetadataCorruptError, MetadataVersionError
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.codec import open_file
from xskip.metadatastore.schema import FileSchema, IndexField, parse_schema, render_schema
from xskip.types.datatypes import Array, Bloom, Opaque, Struct

KEY = b"org.apache.spark.sql.parquet.row.metadata"
BLOOM_UDT = "io.xskipper.metadatastore.parquet.ParquetBaseClauseTranslator$BloomFilterMetaDataTypeUDT"
MASTER = {"tableIdentifier": "/lake/t", "version": 4}


def field(name: str, kind: Any, metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def text_of(*fields: Any, master: Any = MASTER) -> str:
    listed = [field("obj_name", "string", master), *fields]
    return json.dumps({"type": "struct", "fields": listed}, separators=(",", ":"), ensure_ascii=False)


def arrow_of(*names: str) -> pa.Schema:
    return pa.schema([pa.field("obj_name", pa.string()), *(pa.field(name, pa.int32()) for name in names)])


def test_rendered_text() -> None:
    """[MDS-S-1] [MDS-S-2] [MDS-S-3] [MDS-P-1] The JSON is as expected byte for byte, without spaces."""
    minmax = IndexField(
        "a_minmax_1", IndexDefinition("minmax", ("a",), (), "k1"), Struct((("min", "bigint"), ("max", "bigint")))
    )
    params = (("io.xskipper.index.bloom.fpp", "0.01"), ("x", "é"))
    bloom = IndexField("b_bloomfilter_1", IndexDefinition("bloomfilter", ("b",), params), Bloom())
    schema = FileSchema(4, "/lake/ü", (("p", "int"), ("q", "string")), (minmax, bloom))
    assert render_schema(schema) == (
        '{"type":"struct","fields":['
        '{"name":"obj_name","type":"string","nullable":true,"metadata":{"tableIdentifier":"/lake/ü","version":4}},'
        '{"name":"virtual_p","type":"integer","nullable":true,"metadata":{}},'
        '{"name":"virtual_q","type":"string","nullable":true,"metadata":{}},'
        '{"name":"a_minmax_1","type":{"type":"struct","fields":['
        '{"name":"min","type":"long","nullable":true,"metadata":{}},'
        '{"name":"max","type":"long","nullable":true,"metadata":{}}]},"nullable":true,'
        '"metadata":{"index":{"name":"minmax","key_metadata":"k1","cols":["a"]}}},'
        '{"name":"b_bloomfilter_1","type":{"type":"udt",'
        '"class":"io.xskipper.metadatastore.parquet.ParquetBaseClauseTranslator$BloomFilterMetaDataTypeUDT",'
        '"pyClass":null,"sqlType":"binary"},"nullable":true,"metadata":{"index":{"name":"bloomfilter",'
        '"params":{"io.xskipper.index.bloom.fpp":"0.01","x":"é"},"cols":["b"]}}}]}'
    )


def test_parse_is_the_inverse() -> None:
    """[MDS-S-2] [MDS-S-3] A rendered schema can be parsed."""
    schema = FileSchema(
        4,
        "/lake/t",
        (("p", "decimal(9,2)"), ("virtual_p", "date")),
        (
            IndexField("a", IndexDefinition("minmax", ("`x.y`.z",)), Struct((("min", "tinyint"), ("max", "tinyint")))),
            IndexField("b", IndexDefinition("valuelist", ("v",), (("k", "1:2"),), "label"), Array("smallint")),
            IndexField("virtual_c", IndexDefinition("bloomfilter", ("virtual_c", "d")), Bloom()),
        ),
    )
    arrow = arrow_of("virtual_p", "virtual_virtual_p", "a", "b", "virtual_c")
    assert parse_schema(render_schema(schema), arrow) == schema


def test_keys_in_any_order() -> None:
    """[MDS-S-3] Keys are parsed in any order; columns without ``index`` and prefix are ignored."""
    index = {"cols": ["a"], "name": "valuelist", "params": {"y": "2", "x": "1"}}
    text = text_of(
        field("a_valuelist_1", {"type": "array", "elementType": "long", "containsNull": False}, {"index": index}),
        field("something", "string", {"else": 1}),
    )
    parsed = parse_schema(text, arrow_of("a_valuelist_1", "something"))
    assert parsed.partitions == ()
    (found,) = parsed.indexes
    assert found == IndexField(
        "a_valuelist_1", IndexDefinition("valuelist", ("a",), (("y", "2"), ("x", "1"))), Array("bigint")
    )


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "udt", "class": "com.acme.SketchUDT", "pyClass": None, "sqlType": "binary"},
        {"type": "udt", "class": BLOOM_UDT, "pyClass": None, "sqlType": "string"},
        {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
        {"type": "array", "elementType": {"type": "array", "elementType": "long", "containsNull": True}},
        {"type": "struct", "fields": [field("m", {"type": "struct", "fields": [field("x", "long", {})]}, {})]},
        "void",
        "variant",
        "char(3)",
    ],
)
def test_unknown_types_are_carried(kind: Any) -> None:
    """[MDS-S-4] An unknown type stays, with its index, and is written unchanged."""
    text = text_of(field("a_sketch_1", kind, {"index": {"name": "sketch", "cols": ["a"]}}))
    arrow = arrow_of("a_sketch_1")
    parsed = parse_schema(text, arrow)
    storage = parsed.indexes[0].storage
    assert storage == Opaque(json.dumps(kind, separators=(",", ":")), pa.int32())
    assert parsed.indexes[0].definition == IndexDefinition("sketch", ("a",))
    assert render_schema(parsed) == text


BROKEN = {
    "no JSON": "{",
    "empty": "",
    "no object": "[]",
    "null": "null",
    "no fields": '{"type":"struct"}',
    "fields of null": '{"fields":null}',
    "fields of numbers": '{"fields":[1,2]}',
    "no obj_name": json.dumps({"type": "struct", "fields": [field("a", "string", {})]}),
    "no metadata": '{"fields":[{"name":"obj_name","type":"string"}]}',
    "no identifier": text_of(master={"version": 4}),
    "a version that is no number": text_of(master={"tableIdentifier": "/t", "version": "four"}),
    "an endless version": text_of(master={"tableIdentifier": "/t", "version": 4}).replace(":4", ":1e999"),
    "an index without a name": text_of(field("a", "string", {"index": {"cols": ["a"]}})),
    "an index without columns": text_of(field("a", "string", {"index": {"name": "x"}})),
    "parameters without a value": text_of(
        field("a", "string", {"index": {"name": "x", "cols": ["a"], "params": ["a"]}})
    ),
    "an index without a type": text_of({"name": "a", "metadata": {"index": {"name": "x", "cols": ["a"]}}}),
    "a column that the file lacks": text_of(field("missing", "string", {"index": {"name": "x", "cols": ["a"]}})),
    "a partition that the file lacks": text_of(field("virtual_p", "string", {})),
    "nested too deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_broken_schemas(text: str) -> None:
    """[MDS-S-5] An invalid schema, or one that contradicts the columns, raises a clear error."""
    with pytest.raises(MetadataCorruptError):
        parse_schema(text, arrow_of("a"))


def test_message_of_a_missing_column() -> None:
    """[MDS-S-5] The error names the missing column."""
    text = text_of(field("a_minmax_1", "long", {"index": {"name": "x", "cols": ["a"]}}))
    with pytest.raises(
        MetadataCorruptError, match=r"names a column that the metadata file does not contain .*a_minmax_1"
    ):
        parse_schema(text, arrow_of("b"))


@pytest.mark.parametrize(
    ("master", "status"),
    [
        ({"tableIdentifier": "/t", "version": 5}, "TOO_NEW"),
        ({"tableIdentifier": "/t", "version": -1}, "DEPRECATED_UNSUPPORTED"),
    ],
)
def test_other_versions(master: Any, status: str) -> None:
    """[MDS-V-3] An unknown version raises its own error before the rest of the file is parsed."""
    text = text_of(field("missing", {"unknown": 1}, {}), master=master)
    with pytest.raises(MetadataVersionError, match=status):
        parse_schema(text, arrow_of("a"))


def test_encryption_label_of_an_index_is_kept() -> None:
    """[MDS-S-6] The label of an index's key is parsed and rendered."""
    index = {"name": "minmax", "key_metadata": "k1", "cols": ["a"]}
    kind = {"type": "struct", "fields": [field("min", "long", {}), field("max", "long", {})]}
    text = text_of(field("a_minmax_1", kind, {"index": index}))
    parsed = parse_schema(text, arrow_of("a_minmax_1"))
    assert parsed.indexes[0].definition.key_label == "k1"
    assert render_schema(parsed) == text


def _cases(shared: Path) -> dict[str, Path]:
    home = shared / "fixtures/xskipper-1.6.0"
    cases = json.loads((home / "cases.json").read_text())
    written = {case["name"]: home / case["metadata"] for case in cases if "metadata" in case}
    return {name: next(folder.glob("*.parquet")) for name, folder in written.items()}


def test_same_bytes_as_the_real_program(shared: Path) -> None:
    """[MDS-S-1] [MDS-S-3] [MDS-N-1] Schemas of Xskipper 1.6.0 are rendered byte for byte, with names."""
    from xskip.metadatastore.versions import rules_of

    plain = {name: file for name, file in _cases(shared).items() if not name.startswith("encrypted")}
    for name, path in plain.items():
        text = pq.read_metadata(path).metadata[KEY].decode()
        schema = open_file(path).schema
        assert render_schema(schema) == text, name
        assert [i.column for i in schema.indexes] == [rules_of(4).column_name(i.definition) for i in schema.indexes]
    assert len(plain) == 35


def test_same_json_as_older_releases(shared: Path) -> None:
    """[MDS-S-3] [MDS-N-1] Schemas of an older release give the same JSON, in another order of keys."""
    from xskip.metadatastore.versions import rules_of

    files = sorted((shared / "fixtures/xskipper/parquet_version_tests/end_to_end/version=4").glob("*/*/*.parquet"))
    for path in files:
        schema = open_file(path).schema
        assert json.loads(render_schema(schema)) == json.loads(pq.read_metadata(path).metadata[KEY]), path
        assert [i.column for i in schema.indexes] == [rules_of(4).column_name(i.definition) for i in schema.indexes]
        assert not [i for i in schema.indexes if isinstance(i.storage, Opaque)]
    assert len(files) == 29
