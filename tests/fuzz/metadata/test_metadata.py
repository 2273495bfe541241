"""A few hundred indexes with damage from a new seed lose no row, and a wrong skip is detected. Rules: [MDS-D-8]."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.metadata.run import Outcome, Runner, case, run_all
from tests.helpers import Counted
from xskip.metadatastore import snapshot
from xskip.metadatastore.codec import open_file
from xskip.metadatastore.encryption import use_kms

INDEXES = 400


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    yield Runner(7, tmp_path)
    use_kms(None)


def test_damaged_metadata_loses_no_row(counted: Counted, capsys: pytest.CaptureFixture[str]) -> None:
    """[MDS-D-8] The test prints its seed; ``python -m tests.fuzz.metadata --seed`` runs it again."""
    seed = int(time.time())
    found = run_all(seed, range(INDEXES))
    with capsys.disabled():
        sys.stdout.write(f" seed {seed}: {found.cases:,} damaged indexes, {found.refused:,} refused ")
    assert found.faults == []
    assert found.cases == INDEXES
    assert found.skipped > 0
    assert INDEXES // 3 < found.refused < INDEXES
    counted("damaged indexes", found.cases)


def test_what_is_whole_is_used(runner: Runner) -> None:
    """[MDS-D-8] Indexes without damage are all used, and lose no row."""
    seen = Outcome()
    for number, base in enumerate(runner.bases):
        md = runner.scratch / f"whole{number}"
        for name, data in base.metadata_files.items():
            (md / name).parent.mkdir(parents=True, exist_ok=True)
            (md / name).write_bytes(data)
        assert case(md, Random(number), base, seen) == ""
    assert seen.refused == 0
    assert seen.skipped > 0


def test_a_wrong_skip_is_found(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-D-8] Without the digests of footers, exchanged files lose rows, and the run reports this."""
    monkeypatch.setattr(snapshot, "open_recorded", lambda path, _: open_file(path))
    assert any("has a row of" in fault for number in range(1500) for fault in runner.run(number).faults)
