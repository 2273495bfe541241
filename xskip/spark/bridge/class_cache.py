"""The folder in which the processes of a user keep compiled classes. Rules: specs/jvm-protocol.rst, [JVM-CC].

A driver runs what it loads from this folder. So the folder counts only if nobody but the user and root can write to it
or replace it. Whatever fails here costs a compilation, and is no error.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from xskip.data_systems import EXTENSIONS

__all__ = ["HOOK", "OFF", "cache_folder", "find_jar", "store_jar"]

#: The part of the hook that each driver loads. The other parts are extensions, which are named for their data systems.
HOOK = "hook"
#: The text of the setting that keeps no classes.
OFF = "off"
_MAX_JARS = 16
_ROOT = 0
_DAY_SECONDS = 86_400
#: The name of a jar, and the name under which a process writes it.
_PARTS = (HOOK, "tables", *(system.format for system in EXTENSIONS))  # tables: of 0.1.0
_JAR = re.compile(rf"(?:{'|'.join(_PARTS)})-[0-9a-f]{{24}}\.jar")
_PARTIAL = re.compile(rf"{_JAR.pattern}\.\w+\.tmp")
_log = logging.getLogger("xskip")


def cache_folder(setting: str) -> Path | None:
    """Return the folder of the user's classes, or None if none are kept.

    ``setting`` is that of ``spark.xskip.classes.folder``: a folder, ``off``, or an empty text for the user's cache.
    """
    if setting == OFF or not hasattr(os, "getuid"):  # Windows has other owners of files
        return None
    if setting:
        return Path(setting).absolute()
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "xskip" / "classes"
    except RuntimeError:  # the user has no home
        return None


def find_jar(folder: Path, name: str) -> Path | None:
    """Return the jar of this name, or None if there is none that the driver can trust."""
    path = folder / name
    try:
        if not path.exists():
            return None
        if not _is_private(path):
            _log.debug("xskip does not use %s: others can write to it", path)
            return None
        with zipfile.ZipFile(path) as jar:
            if (damaged := jar.testzip()) is not None:
                raise zipfile.BadZipFile(f"{damaged} is damaged")
        os.utime(path)  # the jars that were used last stay
    except (OSError, zipfile.BadZipFile) as error:
        _log.debug("xskip cannot read %s: %s", path, error)
        return None
    return path


def store_jar(folder: Path, name: str, write: Callable[[str], None]) -> Path | None:
    """Write a jar and return its path, or None if the folder cannot have it.

    The jar replaces one of its name, which processes that use the old jar do not notice.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder):
            _log.debug("xskip keeps no classes in %s: others can write to it", folder)
            return None
        handle, partial = tempfile.mkstemp(".tmp", f"{name}.", folder)
        os.close(handle)
        try:
            write(partial)
            os.chmod(partial, 0o600)
            os.replace(partial, folder / name)
        finally:
            with suppress(FileNotFoundError):
                os.remove(partial)
    except OSError as error:
        _log.debug("xskip cannot keep classes in %s: %s", folder, error)
        return None
    with suppress(OSError):  # the folder cannot be listed
        _remove_oldest(folder)
    return folder / name


def _is_private(path: Path) -> bool:
    """Return whether only the user and root can write to a path, or put another file or folder in its place."""
    real = path.resolve()
    for place in (real, *real.parents):
        status = place.stat()
        by_group = status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid)
        is_shared = bool(by_group or status.st_mode & stat.S_IWOTH)
        # In a folder such as /tmp, all may write, and only the owner of an entry may rename or remove it.
        is_sticky = place != real and bool(status.st_mode & stat.S_ISVTX)
        if status.st_uid not in (os.getuid(), _ROOT) or (is_shared and not is_sticky):
            return False
    return True


def _is_private_group(group: int) -> bool:
    """Return whether a group has the user's name and no other member, as many systems make one for each user."""
    import grp
    import pwd

    try:
        user, entry = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_name == user.pw_name and user.pw_gid == group and set(entry.gr_mem) <= {user.pw_name}


def _remove_oldest(folder: Path) -> None:
    """Remove xskip's oldest jars, and what processes that ended during a write have left; other files stay."""
    jars = _by_age(folder, _JAR)[_MAX_JARS:]
    left = [(age, path) for age, path in _by_age(folder, _PARTIAL) if age > _DAY_SECONDS]
    for _, path in jars + left:
        with suppress(OSError):  # another process has removed it
            path.unlink()


def _by_age(folder: Path, name: re.Pattern[str]) -> list[tuple[float, Path]]:
    """Return the files with such names and the seconds since each was used, the last used one first."""
    found = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process has removed it
            if name.fullmatch(path.name) and stat.S_ISREG((status := path.lstat()).st_mode):
                found.append((time.time() - status.st_mtime, path))
    return sorted(found)
