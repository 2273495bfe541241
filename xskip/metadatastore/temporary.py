"""Temporary folders of this process, and the removal of folders that killed processes have left.

.. code-block:: text

    /tmp/xskip-k3v9a1_b/lock        a file that stays locked until the process ends, even if the process is killed
    /tmp/xskip-k3v9a1_b/build-…     a temporary folder
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":  # Windows lacks these locks, which show whether a process still runs
    import fcntl

__all__ = ["lasting_folder", "remove_folders", "temporary_folder"]

_HOME = re.compile(r"xskip-[a-z0-9_]{8}")
#: The folder of each process, by process ID. A forked process creates a separate folder.
_homes: dict[int, Path] = {}
_locks: list[int] = []
#: A lock for each process ID. A forked process can inherit a lock that no thread ever releases.
_making: dict[int, threading.Lock] = {}


def temporary_folder(purpose: str) -> tempfile.TemporaryDirectory[str]:
    """Create a folder that the end of a ``with`` block removes, with a name that begins with its purpose."""
    return tempfile.TemporaryDirectory(prefix=f"{purpose}-", dir=_home())


def lasting_folder(purpose: str) -> Path:
    """Create a folder that is removed when the process ends, with a name that begins with its purpose."""
    return Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=_home()))


def remove_folders() -> None:
    """Remove all temporary folders of this process, which is about to end without its exit handlers."""
    _leave(os.getpid())


def _home() -> Path:
    own = os.getpid()
    with _making.setdefault(own, threading.Lock()):
        if own not in _homes or not _homes[own].is_dir():  # the system can remove old temporary folders
            home = Path(tempfile.mkdtemp(prefix="xskip-"))
            _lock(home)
            if own not in _homes:
                atexit.register(_leave, own)
            _homes[own] = home
            _sweep(home)
        return _homes[own]


def _leave(process: int) -> None:
    if process == os.getpid():  # a forked process inherits the exit handlers
        home = _homes.pop(process, None)
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)


def _lock(home: Path) -> None:
    """Lock a file until the process ends; the file gets its final name once it is locked."""
    if sys.platform == "win32":
        return
    lock = os.open(home / "lock.new", os.O_RDWR | os.O_CREAT, 0o600)
    _locks.append(lock)
    with suppress(OSError):  # some file systems do not support locks
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (home / "lock.new").rename(home / "lock")


def _sweep(home: Path) -> None:
    """Remove the folders of this user's processes that have ended."""
    if sys.platform == "win32":
        return
    for other in home.parent.glob("xskip-*"):
        with suppress(OSError):
            if other != home and _HOME.fullmatch(other.name) and other.lstat().st_uid == os.getuid():
                _remove_if_free(other)


def _remove_if_free(other: Path) -> None:
    if sys.platform == "win32":
        return
    lock = os.open(other / "lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(other, ignore_errors=True)
    finally:
        os.close(lock)
