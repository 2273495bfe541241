"""``python -m xskip``."""

import sys

from xskip.cli import main

sys.exit(main())
