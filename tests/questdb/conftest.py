"""Fixtures with a QuestDB server, and with a database of files."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.maven import CannotFetchError
from tests.questdb.server import NEWER_VERSION, VERSION, Server, running_server

_ARCHIVE = Path(__file__).parents[3] / "shared" / "fixtures" / "questdb" / "data_426.zip"


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server that also has the database of files, if they are here.

    It stops with the tests of this folder, because an idle server takes time from other tests.
    """
    archive = _ARCHIVE if _ARCHIVE.exists() else None
    try:
        with running_server(tmp_path_factory.mktemp("questdb"), archive) as server:
            yield server
    except CannotFetchError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="package")
def newer_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server of a newer version."""
    try:
        with running_server(tmp_path_factory.mktemp("questdb-newer"), version=NEWER_VERSION) as server:
            yield server
    except CannotFetchError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["server", "newer_server"], ids=[VERSION, NEWER_VERSION])
def each_server(request: pytest.FixtureRequest) -> Server:
    """Return a server of each version in turn."""
    server: Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture(scope="session")
def files(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a database that servers of several versions wrote."""
    folder = tmp_path_factory.mktemp("files")
    with zipfile.ZipFile(_ARCHIVE) as archive:
        archive.extractall(folder)
    return folder
