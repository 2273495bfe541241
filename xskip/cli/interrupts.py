"""Interruptions of a command by Ctrl-C, at any moment, also while Java or a callback of Java runs.

The first SIGINT raises KeyboardInterrupt, so that a command can save its progress. Code between the command and the
user can hide the exception: PySpark's handler of signals, py4j, and the answers to Spark, which never fail a query. So
the process ends after some seconds in any case, and at once after a second SIGINT. The JVM ends as well.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

__all__ = ["EXIT_CODE", "MESSAGE", "catch_again", "catching", "end", "is_requested"]

#: The exit code of a command that the user interrupted.
EXIT_CODE = 130
MESSAGE = "xskip: interrupted\n"
#: How many seconds a command has to save its progress.
_SECONDS_LEFT = 5.0

_requested = threading.Event()
_stderr: list[int] = []
#: Each signal that the process receives arrives here as a byte.
_received: list[socket.socket] = []


@contextmanager
def catching() -> Iterator[None]:
    """Handle SIGINT while the body runs, if the thread is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.getsignal(signal.SIGINT)
    _stderr.append(os.dup(2))  # the terminal, also while descriptor 2 is a file
    receiver, sender = socket.socketpair()
    for end_of_pair in (receiver, sender):
        end_of_pair.setblocking(False)
    wakeup = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    _received.append(receiver)
    catch_again()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
        signal.set_wakeup_fd(wakeup)
        _received.remove(receiver)
        receiver.close()
        sender.close()
        os.close(_stderr.pop())


def catch_again() -> None:
    """Handle SIGINT in place of the handler that PySpark has set at the start of a session."""
    if _received:
        signal.signal(signal.SIGINT, _handle)
        # PySpark's handler has received a SIGINT, and the command runs nevertheless.
        if is_requested():
            raise KeyboardInterrupt


def is_requested() -> bool:
    """Return whether the user has interrupted the command, whichever handler has received the signal."""
    for receiver in _received:
        with suppress(BlockingIOError):
            if signal.SIGINT in receiver.recv(4096):
                _requested.set()
    return _requested.is_set()


def end() -> NoReturn:
    """Say that the command was interrupted, remove temporary folders, and end the process."""
    from xskip.metadatastore.temporary import remove_folders

    with suppress(OSError):
        os.write(_stderr[-1] if _stderr else 2, MESSAGE.encode())
    # The JVM would stay for ever if PySpark waits for its start.
    _end_children()
    remove_folders()
    # Exit handlers and the end of the session would call a JVM in an unknown state.
    os._exit(EXIT_CODE)


def _end_children() -> None:
    own = str(os.getpid())
    with suppress(OSError):
        if sys.platform == "linux":
            listings = [each.read_text() for each in Path("/proc/self/task").glob("*/children")]
        else:
            import subprocess

            listings = [subprocess.run(["pgrep", "-P", own], capture_output=True, text=True, check=False).stdout]
        for process in " ".join(listings).split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGTERM)


def _handle(_signal: int, _frame: FrameType | None) -> None:
    if _requested.is_set():
        end()
    _requested.set()
    logging.disable()  # py4j and PySpark log the exception that follows
    timer = threading.Timer(_SECONDS_LEFT, end)
    timer.daemon = True
    timer.start()
    raise KeyboardInterrupt
