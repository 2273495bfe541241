"""The daemon that forks Spark's Python workers in tests; a task costs less in them than in those of Spark's daemon.

The package comes from where the tests have it, not from the zip file that Spark puts before it: each task invalidates
all importers, and the importer of a zip file then reads the names of its thousand entries. Each task also ends with a
collection of garbage, which does not go through what the daemon has imported.
"""

from __future__ import annotations

import gc
import sys

if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(".zip")]
    for entry in [entry for entry in sys.path_importer_cache if entry.endswith(".zip")]:
        del sys.path_importer_cache[entry]

    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    gc.collect()
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]
