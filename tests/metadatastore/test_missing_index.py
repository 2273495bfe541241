"""Why a location has no index is found by one listing of its commit records [MDS-DC]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from xskip.errors import IndexDeletedError
from xskip.metadata.read_profile import ReadProfile
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.definition_copy import DefinitionCopy, keep_copy
from xskip.metadatastore.filesystem import FileEntry, LocalStorage
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.missing_index import lost_index, no_index


class Listings(LocalStorage):
    """A storage that remembers which directories were listed."""

    def __init__(self) -> None:
        self.listed: list[str] = []

    def list(self, directory: str) -> Sequence[FileEntry]:
        self.listed.append(directory)
        return super().list(directory)


@pytest.fixture
def location(tmp_path: Path) -> IndexLocation:
    return IndexLocation.inside(str(tmp_path / "lake" / "t"))


def lost(location: IndexLocation) -> str:
    """Return the error for a lost index, which takes one listing of records; empty if no index is lost."""
    storage = Listings()
    error = lost_index(storage, location)
    assert storage.listed.count(f"{location.directory}/_commits") == 1
    if error is not None:
        assert str(error) == str(no_index(storage, location))
    return "" if error is None else f"{type(error).__name__}: {error.what}"


def test_a_dropped_index_is_not_lost(location: IndexLocation) -> None:
    assert lost(location) == ""
    (Path(location.root) / "_xskip" / ("0" * 64)).mkdir(parents=True)  # that of a former path
    assert lost(location) == ""
    assert "there is no index" in str(no_index(LocalStorage(), location))


def test_an_index_without_its_first_record_is_lost(location: IndexLocation) -> None:
    records = Path(location.directory) / "_commits"
    records.mkdir(parents=True)
    (records / f"{2:020d}-{'a' * 32}.json").write_text("{}")
    assert lost(location).startswith("MetadataNotFoundError: ")


def test_an_index_with_a_copy_of_its_definition_is_lost(location: IndexLocation) -> None:
    definitions = (IndexDefinition("minmax", ("a",)),)
    keep_copy(LocalStorage(), location, DefinitionCopy(location.root, ReadProfile("parquet"), 4, definitions))
    expected = f"{IndexDeletedError.__name__}: the dataset was overwritten since its indexes were defined (20"
    assert lost(location).startswith(expected)
