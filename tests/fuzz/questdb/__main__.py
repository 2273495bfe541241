"""The command ``python -m tests.fuzz.questdb``, which the package's docstring describes."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import xskip
from tests.fuzz.__main__ import session
from tests.fuzz.questdb.run import STEPS, Outcome, TableRound
from tests.questdb.server import running_server


def main() -> int:
    """Run rounds of random tables, and print the faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.questdb", description="Reads return a server's rows.")
    parser.add_argument("--tables", type=int, default=20, help="tables (20)")
    parser.add_argument("--seconds", type=int, help="the time after which no further table begins")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first table; by default the time")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"changes of each table ({STEPS})")
    asked = parser.parse_args()
    spark = session(delta=False)
    xskip.enable(spark)
    root = Path(tempfile.mkdtemp(prefix="xskip-fuzz-questdb-"))
    total, started = Outcome(), time.monotonic()
    try:
        with running_server(root) as server:
            for seed in range(asked.seed, asked.seed + asked.tables):
                if asked.seconds and time.monotonic() - started > asked.seconds:
                    break
                (root / str(seed)).mkdir()
                found = TableRound(spark, server, root / str(seed), seed).run(asked.steps)
                shutil.rmtree(root / str(seed))
                total.add(found)
                sys.stdout.write(f"seed {seed}: {found.steps} steps, {total.reads:,} reads so far\n")
                sys.stdout.write("".join(f"--- {fault}\n" for fault in found.faults))
                sys.stdout.flush()
    finally:
        spark.stop()
        shutil.rmtree(root, ignore_errors=True)
    sys.stdout.write(
        f"seeds from {asked.seed}: {total.tables:,} tables, {total.steps:,} steps, {total.reads:,} reads, "
        f"{total.refused:,} unions refused, {total.skipped:,} pieces skipped, {len(total.faults)} faults, "
        f"{time.monotonic() - started:.0f} s\n"
    )
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
