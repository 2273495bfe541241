"""The cases run one after another in a process of their own with little memory."""

from __future__ import annotations

import multiprocessing
import resource
import shutil
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from tests.fuzz.metadata.damage import WAYS, damaged
from tests.fuzz.metadata.known import KEYS, READING, Known, filters, known
from tests.metadatastore.samples import ROOT, golden_directories
from xskip.errors import XskipError
from xskip.metadata.data_files import FileStatus
from xskip.metadatastore.encryption import use_kms
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.kms import LocalKms
from xskip.metadatastore.location import IndexLocation
from xskip.metadatastore.snapshot import open_snapshot
from xskip.pruning.clause_translation import IndexCatalog, translate
from xskip.pruning.prune import prune, requirements

__all__ = ["Outcome", "Runner", "case"]

SECONDS, BYTES = 5.0, 1 << 30
_BASES, _FILTERS = 24, 3
_KNOWN = 0.85  # the share of indexes whose rows are known; of the goldens only errors, time and memory are looked at
_OWN_GOLDEN = Path(__file__).parents[2] / "metadatastore/golden"
_SHARED = Path(__file__).parents[4] / "shared"


@dataclass(slots=True)
class Outcome:
    """The counts of the cases so far, and their faults."""

    cases: int = 0
    refused: int = 0
    skipped: int = 0
    slowest: float = 0.0
    faults: list[str] = field(default_factory=list)
    ways: Counter[str] = field(default_factory=Counter)

    def add(self, other: Outcome) -> None:
        self.cases += other.cases
        self.refused += other.refused
        self.skipped += other.skipped
        self.slowest = max(self.slowest, other.slowest)
        self.faults += other.faults
        self.ways += other.ways


class Runner:
    """Small indexes, and a directory for their damaged copies."""

    def __init__(self, seed: int, scratch: Path) -> None:
        self.seed = seed
        self.scratch = scratch
        random = Random(seed)
        use_kms(LocalKms(KEYS))
        self.bases: list[Known] = []
        for i in range(_BASES):
            version, key = i % 5, "footer" if i % 5 and i >= _BASES // 2 else None
            self.bases.append(known(random, version, scratch / f"base{i}", key, plain=bool(i % 2 and key)))
        found = [*_OWN_GOLDEN.iterdir(), *(golden_directories(_SHARED) if _SHARED.is_dir() else ())]
        self.goldens = [_golden(directory) for directory in found]

    def run(self, number: int) -> Outcome:
        """Run the case with a number."""
        random = Random(f"{self.seed} {number}")
        base = random.choice(self.bases if random.random() < _KNOWN else self.goldens)
        way, files = damaged(random, self.bases, base)
        md = self.scratch / "md"
        shutil.rmtree(md, ignore_errors=True)
        for name, data in files.items():
            (md / name).parent.mkdir(parents=True, exist_ok=True)
            (md / name).write_bytes(data)
        outcome = Outcome(cases=1, ways=Counter([way]))
        started = time.perf_counter()
        try:
            lost = case(md, random, base, outcome)
            if lost and way in WAYS:
                outcome.faults.append(f"{number} ({way}): {lost}")
        except Exception:  # noqa: BLE001 - whatever is none of the family's errors is a fault
            outcome.faults.append(f"{number} ({way}): {traceback.format_exc(limit=-4)}")
        outcome.slowest = time.perf_counter() - started
        if outcome.slowest > SECONDS:
            outcome.faults.append(f"{number} ({way}): {outcome.slowest:.1f} s")
        return outcome


def _golden(directory: Path) -> Known:
    paths = [path for path in directory.rglob("*") if path.is_file()]
    return Known({str(path.relative_to(directory)): path.read_bytes() for path in paths}, {})


def case(md: Path, random: Random, base: Known, outcome: Outcome) -> str:
    """Apply filters to an index, and return a description of a wrong skip, or an empty text."""
    asked = filters(random, _FILTERS)
    try:
        snapshot = open_snapshot(LocalStorage(), str(md))
        location = IndexLocation(ROOT, str(md), ROOT)
        if snapshot is None or (base.data_files and snapshot.reason_unusable(location, READING)):
            outcome.refused += 1
            return ""
        if not base.data_files:
            snapshot.load()
        catalog = IndexCatalog(
            snapshot.indexes, snapshot.partitions, {"p": "int"}, untyped=not snapshot.is_ours, settings=""
        )
        for predicate, is_true in asked:
            clause = translate(predicate, catalog)
            table = snapshot.load_proven(requirements(clause), READING)
            skip = prune(clause, table).skip
            for row in skip.nonzero()[0]:
                found: FileStatus = table.files[int(row)]
                outcome.skipped += 1
                for each, rows in base.data_files.items():
                    same = (each.name, each.modified) == (found.name, found.modified)
                    if same and found.size in (-1, each.size) and any(map(is_true, rows)):
                        return f"{each.name} has a row of {predicate}"
    except XskipError:
        outcome.refused += 1
    return ""


def _work(seed: int, numbers: range, pipe: Connection) -> None:
    """Run cases in the worker process, and send each case's number before and its outcome after it."""
    scratch = Path(
        tempfile.mkdtemp(prefix="xskip-fuzz-metadata-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    try:
        runner = Runner(seed, scratch)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + BYTES, size + BYTES))
        for number in numbers:
            pipe.send(number)
            pipe.send(runner.run(number))
        pipe.send(None)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def run_all(seed: int, numbers: range) -> Outcome:
    """Run all cases; a worker that dies counts as a fault, and a new worker continues with the next case."""
    total = Outcome()
    context = multiprocessing.get_context("spawn")
    while numbers:
        here, there = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(seed, numbers, there))
        worker.start()
        there.close()
        last: int | None = None
        try:
            while (told := here.recv() if here.poll(60) else -1) is not None:
                if told == -1:
                    raise EOFError
                if isinstance(told, int):
                    last = told
                else:
                    total.add(told)
            numbers = range(0)
        except EOFError:
            worker.kill()
            total.faults.append(f"{last}: the process ended, or took more than a minute")
            numbers = range(numbers.stop if last is None else last + 1, numbers.stop)
        worker.join()
    return total
