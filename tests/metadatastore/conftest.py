"""Fixtures of the tests that read golden metadata."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.metadatastore.golden_queries import frames


@pytest.fixture
def clean_frames() -> Iterator[None]:
    """Discard the empty DataFrames of golden datasets before and after each test."""
    frames.clear()
    yield
    frames.clear()
