"""Entry point of ``python -m xskip``, which runs the command line."""

import sys

from xskip.cli.main import run_process

sys.exit(run_process())
