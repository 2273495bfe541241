"""Fixtures of the tests of metadata."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.metadatastore.golden_queries import frames
from xskip.metadatastore.encryption import use_kms


@pytest.fixture
def clean_frames() -> Iterator[None]:
    """Discard the empty DataFrames of golden datasets before and after each test."""
    frames.clear()
    yield
    frames.clear()


@pytest.fixture
def no_client() -> Iterator[None]:
    """Remove the KMS client after each test."""
    yield
    use_kms(None)
