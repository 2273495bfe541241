"""A command knows why it needs Spark before Spark starts, and without an index."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import xskip.standalone.opened
from xskip.cli.parser import make_parser
from xskip.cli.spark_fallback import NeedsSpark, indexes_below, open_without_spark, savings_of, status
from xskip.errors import DatasetError, MetadataCorruptError, StorageError


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    (tmp_path / "conf").mkdir()


def needed(show: Any, *words: str) -> str:
    with pytest.raises(NeedsSpark) as reason:
        show(make_parser().parse_args(words))
    return str(reason.value)


@pytest.mark.parametrize("name", ["core-site.xml", "spark-env.sh"])
def test_files_that_can_name_another_file_system(tmp_path: Path, name: str) -> None:
    (tmp_path / "conf" / name).touch()
    said = f"{tmp_path}/conf/{name} can name another default file system"
    assert needed(open_without_spark, "describe", str(tmp_path)) == said
    assert needed(indexes_below, "list", str(tmp_path)) == said
    assert needed(savings_of, "savings", str(tmp_path)) == said


def test_defaults_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "conf" / "spark-defaults.conf"
    path.touch()

    def refused(*_: Any, **__: Any) -> str:
        raise PermissionError("permission denied")

    monkeypatch.setattr(Path, "read_text", refused)
    assert needed(open_without_spark, "describe", str(tmp_path)) == f"{path} cannot be read"


def test_errors_of_overviews_and_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark can have access to what a process without Spark cannot list."""

    def refused(*_: Any, **__: Any) -> Any:
        raise StorageError("cannot list the directory", where="/lake")

    for name in ("xskip.api.overview.overview", "xskip.standalone.query_history.savings_in_history"):
        monkeypatch.setattr(name, refused)
    assert needed(indexes_below, "list", str(tmp_path)) == "cannot list the directory (where: /lake)"
    assert needed(savings_of, "savings", str(tmp_path)) == "cannot list the directory (where: /lake)"
    for show, words in ((indexes_below, ["list", "/none/at/all"]), (savings_of, ["savings", "/none/at/all"])):
        with pytest.raises(DatasetError, match="there is no such directory"):
            show(make_parser().parse_args(words))


def file_of(encryption: str | None) -> Any:
    return SimpleNamespace(schema=SimpleNamespace(encryption=encryption))


def index_of(**values: Any) -> Any:
    """Return an opened index of which only what a command looks at is known."""
    profile = SimpleNamespace(format="parquet", is_plain=True)
    snapshot = SimpleNamespace(
        **{"is_ours": True, "metadata_files": [file_of(None)], "read_profile": profile, **values}
    )

    def damaged() -> Any:
        raise MetadataCorruptError("the metadata file is damaged", where="/md")

    return SimpleNamespace(snapshot=snapshot, status=damaged)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"is_ours": False}, "another program has written the metadata"),
        ({"metadata_files": [file_of(encryption="key")]}, "the metadata is encrypted"),
        ({"read_profile": None}, "only Spark knows how it reads the files"),
        ({"read_profile": SimpleNamespace(format="csv", is_plain=True)}, "only Spark knows how it reads the files"),
        ({"read_profile": SimpleNamespace(format="avro", is_plain=False)},
         "the index depends on how queries read its columns"),
        ({}, "the metadata file is damaged (where: /md)"),
    ],
)  # fmt: skip
def test_indexes_whose_state_only_spark_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], reason: str
) -> None:
    """[STA-ST-1]"""
    monkeypatch.setattr(xskip.standalone.opened, "open_index", lambda *_, **__: index_of(**values))
    assert needed(status, "status", str(tmp_path)) == reason
