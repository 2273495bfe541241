"""Random tables that a server writes and changes, compared with what the server selects after each step."""

from __future__ import annotations

import random

import pytest

from tests.questdb.random_tables import STEPS, RandomTable, steps_of
from tests.questdb.server import Server


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_tables_of_known_seeds(server: Server, seed: int) -> None:
    """[QDB-RD-1], [QDB-RD-2], [QDB-TY-2]."""
    assert steps_of(RandomTable(server, seed)) == STEPS


def test_a_table_of_a_random_seed(server: Server) -> None:
    """[QDB-RD-1], [QDB-RD-2], [QDB-TY-2]."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - pytest shows it if the test fails
    steps_of(RandomTable(server, seed))
