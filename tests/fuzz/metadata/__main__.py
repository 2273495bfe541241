"""The command ``python -m tests.fuzz.metadata``, which the package's docstring describes."""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.metadata.run import run_all


def main() -> int:
    """Run all cases and print the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.metadata", description="Damaged metadata loses no row.")
    parser.add_argument("--indexes", type=int, default=10_000, help="damaged indexes (10000)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="by default the time")
    parser.add_argument("--only", type=int, help="the number of one case to run again")
    asked = parser.parse_args()
    numbers = range(asked.indexes) if asked.only is None else range(asked.only, asked.only + 1)
    started = time.monotonic()
    found = run_all(asked.seed, numbers)
    sys.stdout.write(
        f"seed {asked.seed}: {found.cases:,} damaged indexes, {found.refused:,} refused, {found.skipped:,} files "
        f"skipped, the slowest {found.slowest:.2f} s, {len(found.faults)} faults, {time.monotonic() - started:.0f} s\n"
        f"{dict(found.ways)}\n"
    )
    for fault in found.faults[:50]:
        sys.stdout.write(f"--- {fault}\n")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
