"""``python -m xskip``."""

import sys

from xskip.cli.main import main

sys.exit(main())
