"""The command ``python -m tests.fuzz.lakes``, which the package's docstring describes."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import xskip
from tests.fuzz.__main__ import session
from tests.fuzz.lakes.run import LakeRound, Outcome

_STEPS = 6


def main() -> int:
    """Run rounds of random lakes, and print the faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.lakes", description="Reads of a lake lose no message.")
    parser.add_argument("--lakes", type=int, default=100, help="lakes (100)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first lake; by default the time")
    parser.add_argument("--steps", type=int, default=_STEPS, help=f"changes of each lake ({_STEPS})")
    chosen = parser.parse_args()
    spark = session(delta=False)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    xskip.enable(spark)
    total, started = Outcome(), time.monotonic()
    try:
        for seed in range(chosen.seed, chosen.seed + chosen.lakes):
            base = Path(tempfile.mkdtemp(prefix="xskip-fuzz-lake-"))
            found = LakeRound(spark, base, seed).run(chosen.steps)
            shutil.rmtree(base)
            total.add(found)
            sys.stdout.write(f"seed {seed}: {total.reads:,} reads so far, {len(found.faults)} faults\n")
            sys.stdout.write("".join(f"--- {fault}\n" for fault in found.faults))
            sys.stdout.flush()
    finally:
        spark.stop()
    sys.stdout.write(
        f"seeds {chosen.seed} to {chosen.seed + chosen.lakes - 1}: {total.lakes:,} lakes, {total.reads:,} reads, "
        f"{total.messages:,} messages, {len(total.faults)} faults, {time.monotonic() - started:.0f} s\n"
    )
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
