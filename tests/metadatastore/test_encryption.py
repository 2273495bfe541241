"""Metadata can be encrypted. Rules: specs/encryption.rst."""

from __future__ import annotations

import base64
import json
import traceback
from pathlib import Path
from typing import Any

import pyarrow.parquet.encryption as pe
import pytest

from tests.helpers import Counted
from tests.metadatastore.samples import (
    ROOT,
    array_of,
    bloomfilter,
    commit,
    files_of,
    keyed,
    metadata_files_of,
    minmax,
    numbered_table,
    opened,
    record_of,
    table_of,
    valuelist,
)
from xskip.errors import IndexDefinitionError, KeyNotAvailableError, MetadataNotFoundError, XskipError
from xskip.expressions.operands import Column
from xskip.expressions.predicate import Comparison, Op
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.metadatastore.codec import decode, encode, open_file
from xskip.metadatastore.commit import find_live, publish
from xskip.metadatastore.encryption import use_kms
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.kms import LocalKms
from xskip.metadatastore.maintenance.migrate import Migration
from xskip.metadatastore.maintenance.rotate_keys import rotate_keys
from xskip.metadatastore.recorded_files import write_files
from xskip.metadatastore.schema import parse_schema, render_schema
from xskip.metadatastore.snapshot import open_snapshot
from xskip.metadatastore.versions import WriteOptions
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune
from xskip.results.clause_outcomes import unused_texts

pytestmark = pytest.mark.usefixtures("no_client")
KEYS = {
    "k1": base64.b64decode("AAECAwQFBgcICQoLDA0ODw=="),
    "k2": base64.b64decode("AAECAAECAAECAAECAAECAA=="),
    "footer": base64.b64decode("AAECAwQFBgcICQoLDA0ODx=="),
}
NAMES = [f"{ROOT}/p=1/a", f"{ROOT}/p=2/b"]
FOOTERS = [pytest.param(True, id="plaintext footer"), pytest.param(False, id="encrypted footer")]


class Client:
    """A client that counts its calls, and lacks some keys."""

    def __init__(self, *labels: str) -> None:
        self.local = LocalKms({label: KEYS[label] for label in labels or KEYS})
        self.asked: list[str] = []

    def wrap(self, key: bytes, label: str) -> bytes:
        self.asked.append(label)
        return self.local.wrap(key, label)

    def unwrap(self, wrapped: bytes, label: str) -> bytes:
        self.asked.append(label)
        return self.local.unwrap(wrapped, label)


def sample(bounds: str | None = "k1", lists: str | None = "k2") -> MetadataTable:
    indexes = [
        keyed(minmax("k", "int", [1, 5], [4, 9]), bounds),
        keyed(valuelist("s", "string", [["secret-value"], []]), lists),
        bloomfilter("s", [[b"x"], None]),
    ]
    return table_of(files_of(NAMES), indexes, [PartitionColumn("p", "int", array_of("int", [1, 2]))])


def write_options(*, plaintext: bool, version: int = 4) -> WriteOptions:
    return WriteOptions(version, "footer", plaintext)


@pytest.mark.parametrize("plaintext", FOOTERS)
@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_what_is_written_is_read(version: int, plaintext: bool, tmp_path: Path) -> None:
    """[ENC-L-1] [ENC-L-2] [ENC-K-1] Encrypted files of each version can be read, and contain no plaintext."""
    use_kms(Client())
    path = tmp_path / "f.parquet"
    encode(sample(), ROOT, path, write_options(plaintext=plaintext, version=version))
    file = open_file(path)
    read = decode(file)
    assert read.files == sample().files
    for key in (("minmax", ("k",)), ("valuelist", ("s",)), ("bloomfilter", ("s",))):
        assert read.indexes[key].values.equals(sample().indexes[key].values)
        assert read.indexes[key].definition.key_label == sample().indexes[key].definition.key_label
        assert not read.indexes[key].is_locked
    assert file.schema.encryption is not None
    assert (file.schema.encryption.footer_key, file.schema.encryption.plaintext_footer) == ("footer", plaintext)
    suffix = "" if version == 1 else "_1"
    names = "obj_name,virtual_p" if version == 4 else "obj_name"
    assert set(file.schema.encryption.column_keys.split(";")) == {
        f"footer:{names}", f"k1:k_minmax{suffix}.min,k_minmax{suffix}.max", f"k2:s_valuelist{suffix}.list.element",
    }  # fmt: skip
    data = path.read_bytes()
    assert data[-4:] == (b"PAR1" if plaintext else b"PARE")
    assert b"secret-value" not in data
    assert NAMES[0].encode() not in data
    assert (b"s_valuelist" in data) is plaintext
    assert not [key for key in KEYS.values() if key in data or base64.b64encode(key) in data]


def _goldens(shared: Path) -> list[tuple[str, Path, dict[str, Any]]]:
    home = shared / "fixtures/xskipper-1.6.0"
    cases = [c for c in json.loads((home / "cases.json").read_text()) if c.get("name", "").startswith("encrypted")]
    return [(c["name"], home / c["metadata"], c) for c in cases]


def test_goldens(shared: Path, counted: Counted) -> None:
    """[ENC-K-1] [ENC-L-4] Files that parquet-mr has encrypted are read completely, with both kinds of footers."""
    use_kms(Client())
    assert len(_goldens(shared)) == 2
    for name, directory, case in _goldens(shared):
        snapshot = opened(directory)
        table = snapshot.load()
        assert {n.removeprefix("/lake/avro/") for n in table.files.names.to_pylist()} == set(case["modified_ms"])
        assert table.indexes["minmax", ("k",)].values.to_pylist()
        assert all(column.values.null_count == 0 for column in table.indexes.values())
        assert snapshot.write_options == WriteOptions(4, "footer", "plaintext" in name)
        for file in snapshot.metadata_files:
            text = file.footer.metadata[b"org.apache.spark.sql.parquet.row.metadata"].decode()
            assert render_schema(parse_schema(text, file.reader.schema_arrow)) == text
            labels = file.schema.encryption
            assert labels is not None
            assert "s_valuelist_1.list.element" in labels.column_keys
    counted("golden directories read", len(_goldens(shared)))


def test_verdicts_of_goldens(shared: Path, counted: Counted) -> None:
    """[ENC-K-1] A query reads exactly the recorded files of those with metadata."""
    use_kms(Client())
    leaf = Comparison(Op.EQ, Column(("k",), "int"), 3)
    for _, directory, case in _goldens(shared):
        snapshot = opened(directory)
        (query,) = [q for q in case["queries"] if q["sql"] == "k = 3"]
        found = prune(translate(leaf, IndexCatalog(snapshot.indexes, untyped=True)), snapshot.load())
        names = [n.removeprefix("/lake/avro/") for n in snapshot.load().files.names.to_pylist()]
        assert {n for n, skips in zip(names, found.skip, strict=True) if not skips} == set(query["kept"])
        counted("golden queries whose verdicts are those on record", 1)


def test_schemas_of_older_goldens(shared: Path) -> None:
    """[ENC-L-4] The schemas of encrypted metadata of versions 1 to 4 are rendered unchanged."""
    import pyarrow as pa

    paths = sorted((shared / "fixtures/xskipper/parquet_version_tests/schema_extraction").rglob("schema.json"))
    for path in paths:
        schema = json.loads(path.read_text())
        names = pa.schema([(field["name"], pa.int32()) for field in schema["fields"]])
        parsed = parse_schema(json.dumps(schema), names)
        assert parsed.encryption is not None
        assert parsed.encryption.plaintext_footer is ("plaintext" in str(path))
        rendered = json.loads(render_schema(parsed))
        schema["fields"][0]["nullable"] = True  # as Spark writes it
        assert rendered == schema
        if parsed.version < 4:
            assert json.dumps(rendered) == json.dumps(schema)
    assert len(paths) == 8


@pytest.mark.parametrize("plaintext", FOOTERS)
def test_without_the_key_of_an_index(plaintext: bool, tmp_path: Path) -> None:
    """[ENC-R-1] The index is locked, all other indexes are used, and the label is reported."""
    use_kms(Client())
    path = tmp_path / "f.parquet"
    encode(sample(), ROOT, path, write_options(plaintext=plaintext))
    use_kms(Client("footer", "k1"))
    table = decode(open_file(path))
    locked = table.indexes["valuelist", ("s",)]
    assert (locked.is_locked, locked.values.null_count) == (True, 2)
    assert table.indexes["minmax", ("k",)].values.equals(sample().indexes["minmax", ("k",)].values)
    assert table.indexes["bloomfilter", ("s",)].values.null_count == 1
    assert table.partitions["p"].values.to_pylist() == [1, 2]
    indexes = tuple((c.definition, c.storage) for c in table.indexes.values())
    found = prune(translate(Comparison(Op.EQ, Column(("k",), "int"), 9), IndexCatalog(indexes)), table)
    assert found.skip.tolist() == [True, False]
    found = prune(translate(Comparison(Op.EQ, Column(("s",), "string"), b"secret-value"), IndexCatalog(indexes)), table)
    assert found.skip.tolist() == [False, False]
    assert ("valuelist(s)", "its key k2 is not available") in unused_texts(found)


@pytest.mark.parametrize("plaintext", FOOTERS)
@pytest.mark.parametrize("client", [None, Client("k1", "k2")])
def test_without_the_key_of_the_footer(plaintext: bool, client: Any, tmp_path: Path) -> None:
    """[ENC-R-1] A missing footer key raises a clear error, so that queries read all files."""
    use_kms(Client())
    path = tmp_path / "f.parquet"
    encode(sample(), ROOT, path, write_options(plaintext=plaintext))
    use_kms(client)
    with pytest.raises(KeyNotAvailableError, match=r"use_kms|footer"):
        decode(open_file(path))


def test_keys_that_are_others(tmp_path: Path) -> None:
    """[ENC-R-1] [ENC-K-3] A master key that does not decrypt the file counts as missing."""
    use_kms(Client())
    path = tmp_path / "f.parquet"
    encode(sample(), ROOT, path, write_options(plaintext=False))
    use_kms(LocalKms(dict.fromkeys(KEYS, bytes(16))))
    with pytest.raises(KeyNotAvailableError, match="does not decrypt"):
        decode(open_file(path))


@pytest.mark.parametrize(
    ("table", "wanted", "message"),
    [
        (sample(), WriteOptions(4), "the footer has none"),
        (sample(None, None), WriteOptions(4, "footer"), "no index has one"),
        (sample(), WriteOptions(0, "footer"), "version 0 .* does not support encryption"),
    ],
)
def test_keys_that_do_not_fit(table: MetadataTable, wanted: WriteOptions, message: str, tmp_path: Path) -> None:
    """[ENC-L-3] Invalid combinations of keys are refused before anything is written."""
    use_kms(Client())
    with pytest.raises(KeyNotAvailableError, match=message):
        encode(table, ROOT, tmp_path / "f.parquet", wanted)
    assert not list(tmp_path.iterdir())


def test_names_that_begin_alike(tmp_path: Path) -> None:
    """[ENC-L-3] In version 1, a column whose name begins like another column's is refused only with encryption."""
    use_kms(Client())
    first, second = minmax("a", "int", [1, 1], [1, 1]), minmax("a_minmax_b", "int", [1, 1], [1, 1])
    clear = table_of(files_of(NAMES), [first, second])
    encode(clear, ROOT, tmp_path / "clear.parquet", WriteOptions(1))
    table = table_of(files_of(NAMES), [keyed(first, "k1"), keyed(second, "k1")])
    with pytest.raises(IndexDefinitionError, match=r"begins with the name of another .*a_minmax, a_minmax_b_minmax"):
        encode(table, ROOT, tmp_path / "f.parquet", write_options(plaintext=True, version=1))


def snapshot_of(md: str, tmp_path: Path, *, plaintext: bool = False, version: int = 4) -> None:
    files = metadata_files_of([sample()], tmp_path / "s", write_options(plaintext=plaintext, version=version))
    publish(LocalStorage(), md, None, files, record_of(entry for _, entry in files))


@pytest.mark.parametrize("plaintext", FOOTERS)
def test_migration_keeps_keys(plaintext: bool, tmp_path: Path) -> None:
    """[ENC-R-2] A migration keeps the labels, refuses version 0, and needs every key."""
    use_kms(Client())
    md = str(tmp_path / "md")
    snapshot_of(md, tmp_path, plaintext=plaintext)
    Migration(LocalStorage(), md, 1).run()
    Migration(LocalStorage(), md, 4).run()
    snapshot = opened(md)
    assert snapshot.write_options == write_options(plaintext=plaintext)
    after = snapshot.load()
    assert [c.definition.key_label for c in after.indexes.values()] == ["k1", "k2", None]
    for key, column in sample().indexes.items():
        assert after.indexes[key].values.equals(column.values)
    with pytest.raises(KeyNotAvailableError, match="version 0"):
        Migration(LocalStorage(), md, 0).run()
    use_kms(Client("footer", "k1"))
    with pytest.raises(KeyNotAvailableError, match=r"valuelist\(s\).*no key k2"):
        Migration(LocalStorage(), md, 3).run()
    assert opened(md).live.names == snapshot.live.names


def test_a_label_can_take_the_place_of_others(tmp_path: Path) -> None:
    """[ENC-R-3] Several labels become one, which the result names once."""
    use_kms(Client())
    md = str(tmp_path / "md")
    snapshot_of(md, tmp_path, plaintext=False, version=4)
    done = rotate_keys(LocalStorage(), md, {"k1": "footer", "k2": "footer"})
    assert done.labels == ("footer",)
    assert [d.key_label for d, _ in opened(md).indexes] == ["footer", "footer", None]


@pytest.mark.parametrize("plaintext", FOOTERS)
def test_keys_are_rotated(plaintext: bool, tmp_path: Path) -> None:
    """[ENC-R-3] After a rotation, the old master keys open nothing, and the values are unchanged."""
    use_kms(Client())
    md = str(tmp_path / "md")
    snapshot_of(md, tmp_path, plaintext=plaintext, version=3)
    before = opened(md)
    changed = {"k1": bytes(range(32)), "new": bytes(range(16)), "footer": bytes(reversed(range(16)))}
    client = Rotating(changed)
    use_kms(client)
    done = rotate_keys(LocalStorage(), md, {"k2": "new"})
    assert (done.metadata_files, done.labels) == (1, ("footer", "k1", "new"))
    use_kms(LocalKms(changed))
    after = opened(md)
    assert not set(after.live.names) & set(before.live.names)
    assert after.write_options == write_options(plaintext=plaintext, version=3)
    assert [d.key_label for d, _ in after.indexes] == ["k1", "new", None]
    assert all(after.load().indexes[key].values.equals(c.values) for key, c in sample().indexes.items())
    assert len(client.data_keys) == len(set(client.data_keys)) > 0
    use_kms(Client())
    with pytest.raises(KeyNotAvailableError):
        opened(md).load()


class Rotating(Client):
    """A service that wraps with new master keys and still knows the old keys."""

    def __init__(self, changed: dict[str, bytes]) -> None:
        super().__init__()
        self.changed = LocalKms(changed)
        self.data_keys: list[bytes] = []

    def wrap(self, key: bytes, label: str) -> bytes:
        self.data_keys.append(key)
        return self.changed.wrap(key, label)


@pytest.mark.parametrize(
    ("client", "labels", "message"),
    [
        (Client(), {"k9": "new"}, "no key with this label.*found: k9; expected: footer, k1, k2"),
        (Client("footer", "k1"), {}, r"valuelist\(s\).*no key k2"),
        (Client(), {"k1": "unheard"}, "unheard"),
    ],
)
def test_rotations_that_cannot_be(client: Client, labels: dict[str, str], message: str, tmp_path: Path) -> None:
    """[ENC-R-3] A rotation without a key or with an unknown label changes nothing."""
    use_kms(Client())
    md = str(tmp_path / "md")
    snapshot_of(md, tmp_path)
    before = sorted(str(p) for p in Path(md).rglob("*"))
    use_kms(client)
    with pytest.raises(KeyNotAvailableError, match=message):
        rotate_keys(LocalStorage(), md, labels)
    assert sorted(str(p) for p in Path(md).rglob("*")) == before


def test_an_index_in_the_clear_has_no_keys(tmp_path: Path) -> None:
    """[ENC-R-3] [MDS-M-3] A rotation raises an error without an index or without encryption."""
    md = str(tmp_path / "md")
    with pytest.raises(MetadataNotFoundError):
        rotate_keys(LocalStorage(), md, {})
    (tmp_path / "s").mkdir()
    files = write_files(sample(None, None), ROOT, tmp_path / "s", 0)
    publish(LocalStorage(), md, None, files, record_of(entry for _, entry in files))
    with pytest.raises(KeyNotAvailableError, match="not encrypted"):
        rotate_keys(LocalStorage(), md, {})


def test_a_client_of_arrow(tmp_path: Path) -> None:
    """[ENC-K-1] A ``pyarrow.parquet.encryption.KmsClient`` is a valid client."""

    class Theirs(pe.KmsClient):  # type: ignore[misc]
        def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
            return LocalKms(KEYS).wrap(key_bytes, master_key_identifier)

        def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
            return LocalKms(KEYS).unwrap(wrapped_key, master_key_identifier)

    use_kms(Theirs())
    path = tmp_path / "f.parquet"
    encode(sample(), ROOT, path, write_options(plaintext=False))
    assert decode(open_file(path)).files == sample().files


def test_a_client_named_anew_counts_at_once(tmp_path: Path) -> None:
    """[ENC-K-4] A new client is used at once, without remembered keys."""
    use_kms(Client())
    path = tmp_path / "f.parquet"
    encode(sample(), ROOT, path, write_options(plaintext=False))
    for _ in range(2):
        client = Client()
        use_kms(client)
        decode(open_file(path))
        assert set(client.asked) == {"footer", "k1", "k2"}


def test_keys_from_a_file_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[ENC-K-2] Files and environment variables contain labels and keys in base 64."""
    texts = {label: base64.b64encode(key).decode() for label, key in KEYS.items()}
    (tmp_path / "keys.json").write_text(json.dumps(texts))
    for label, text in texts.items():
        monkeypatch.setenv(f"XSKIP_KEY_{label}", text)
    local = LocalKms(KEYS)
    for other in (LocalKms.from_file(tmp_path / "keys.json"), LocalKms.from_environment()):
        assert all(other.unwrap(local.wrap(bytes(16), label), label) == bytes(16) for label in KEYS)


def test_nothing_shows_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[ENC-K-3] Representations, errors with their causes, and files show no key and no message of a client."""
    secret = b"0123456789abcdef"
    shown = [repr(LocalKms({"k": secret})), str(LocalKms({"k": secret}))]

    class Chatty:
        def wrap(self, key: bytes, label: str) -> bytes:
            raise RuntimeError(f"cannot wrap {key!r} with {secret!r}")

        unwrap = wrap

    def said(action: Any) -> None:
        with pytest.raises(XskipError) as caught:
            action()
        shown.append("".join(traceback.format_exception(caught.value)))

    use_kms(Chatty())
    said(lambda: encode(sample(), ROOT, tmp_path / "f.parquet", write_options(plaintext=True)))
    said(lambda: LocalKms({"k": secret + b"x"}))
    said(lambda: LocalKms({"k": secret}).unwrap(base64.b64encode(bytes(60)), "k"))
    (tmp_path / "keys.json").write_text('{"k": "0123456789abcdef!"}')
    said(lambda: LocalKms.from_file(tmp_path / "keys.json"))
    monkeypatch.setenv("XSKIP_KEY_k", "0123456789abcdef!")
    said(LocalKms.from_environment)
    assert len(shown) == 7
    for text in shown:
        assert "0123456789abcdef" not in text
        assert "cannot wrap" not in text


def test_names_without_their_key(tmp_path: Path) -> None:
    """[MDS-C-23] A snapshot does not take over names that an earlier one has decrypted with a key."""
    use_kms(Client())
    md, disk = str(tmp_path / "md"), LocalStorage()
    files = write_files(sample(), ROOT, tmp_path, 0, write_options(plaintext=True))
    record = publish(disk, md, None, files, record_of([entry for _, entry in files]))
    first = opened(md)
    assert first.load([]).files.names.to_pylist() == NAMES
    assert first.known_files() == {}
    commit(disk, md, tmp_path / "s", [numbered_table(2, 3)], find_live(disk, md), record.metadata_files)
    use_kms(Client("k1", "k2"))
    with pytest.raises(KeyNotAvailableError, match="footer"):
        open_snapshot(disk, md, first)
