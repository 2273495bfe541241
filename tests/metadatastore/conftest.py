"""Fixtures of the tests that read golden metadata."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.metadatastore.golden_queries import frames


@pytest.fixture
def clean_frames() -> Iterator[None]:
    """The empty DataFrames of golden datasets are those of this test's session alone."""
    frames.clear()
    yield
    frames.clear()
