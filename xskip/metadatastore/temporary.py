"""Folders for a while in the system's temporary directory; those of processes that were killed go with the next one.

.. code-block:: text

    /tmp/xskip-k3v9a1_b/lock        held by the process as long as it lives, however it ends
    /tmp/xskip-k3v9a1_b/build-…     what it makes for a while
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

if sys.platform != "win32":  # without such locks nobody can tell which processes live
    import fcntl

__all__ = ["lasting_folder", "temporary_folder"]

_HOME = re.compile(r"xskip-[a-z0-9_]{8}")
#: The folder of this process; a forked one makes its own.
_homes: dict[int, Path] = {}
_locks: list[int] = []
#: By process: a forked one inherits a lock that nobody may ever release.
_making: dict[int, threading.Lock] = {}


def temporary_folder(purpose: str) -> tempfile.TemporaryDirectory[str]:
    """Return a folder that goes at the end of a ``with``."""
    return tempfile.TemporaryDirectory(prefix=f"{purpose}-", dir=_home())


def lasting_folder(purpose: str) -> Path:
    """Return a folder that goes with the process."""
    return Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=_home()))


def _home() -> Path:
    own = os.getpid()
    with _making.setdefault(own, threading.Lock()):
        if own not in _homes or not _homes[own].is_dir():  # what clears the place of old files can take it
            home = Path(tempfile.mkdtemp(prefix="xskip-"))
            _lock(home)
            if own not in _homes:
                atexit.register(_leave, own)
            _homes[own] = home
            _sweep(home)
        return _homes[own]


def _leave(process: int) -> None:
    if process == os.getpid():  # a forked process inherits what runs at the end
        home = _homes.pop(process, None)
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)


def _lock(home: Path) -> None:
    """Hold a lock as long as the process lives; the file has its name once the lock is held."""
    if sys.platform == "win32":
        return
    lock = os.open(home / "lock.new", os.O_RDWR | os.O_CREAT, 0o600)
    _locks.append(lock)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (home / "lock.new").rename(home / "lock")


def _sweep(home: Path) -> None:
    """Remove the folders of this user whose processes are gone."""
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
