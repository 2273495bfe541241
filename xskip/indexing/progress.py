"""The display of a build's progress: a bar on a terminal or in a notebook, and lines in the log elsewhere."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from xskip.results.operations import Progress

__all__ = ["ProgressOption", "shown"]

_log = logging.getLogger("xskip.builds")

ProgressOption = bool | Callable[[Progress], None] | None
# Seconds between two states of the progress bar. Outside of a terminal, each state is a line of its own.
_SECONDS_ON_SCREEN = 0.1
_SECONDS_IN_LOGS = 10.0
#: The seconds between two lines in the log of Python.
_SECONDS_PER_LINE = 30.0


@contextmanager
def shown(option: ProgressOption, total: int) -> Iterator[Callable[[Progress], object]]:
    """Provide the function that shows the progress of each job, and close the bar after the body.

    ``total`` is the number of files to collect; without files there is no bar.
    """
    if callable(option):
        yield option
    elif total and (_is_watched() if option is None else option):
        from tqdm.auto import tqdm

        interval = _SECONDS_ON_SCREEN if _is_watched() else _SECONDS_IN_LOGS
        with tqdm(total=total, desc="xskip", unit="file", mininterval=interval) as bar:
            yield lambda progress: bar.update(progress.files - bar.n)
    elif total and option is None:
        # Nobody watches: the log gets lines at the level INFO instead.
        with _logged(total) as show:
            yield show
    else:
        yield lambda _: None


@contextmanager
def _logged(total: int) -> Iterator[Callable[[Progress], object]]:
    """Write lines to the log while the body runs, also while a single job runs."""
    started, latest, ended = time.monotonic(), [0], threading.Event()

    def tick() -> None:
        while not ended.wait(_SECONDS_PER_LINE):
            seconds = time.monotonic() - started
            _log.info("collected the statistics of %s of %s files in %.0f s", f"{latest[0]:,}", f"{total:,}", seconds)

    def show(progress: Progress) -> None:
        latest[0] = progress.files

    _log.info("collecting the statistics of %s files", f"{total:,}")
    thread = threading.Thread(target=tick, name="xskip-progress", daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
        thread.join()


def _is_watched() -> bool:
    """Return whether stderr is a terminal, or the output of a notebook's cell, which is not a terminal."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel.")
