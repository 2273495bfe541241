"""[JVM-CC] Processes of one user share compiled classes, and trust no file that others could have written."""

from __future__ import annotations

import grp
import logging
import os
import pwd
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.programs import run
from xskip.settings import CLASSES
from xskip.spark.bridge import class_cache, compiler
from xskip.spark.bridge.class_cache import HOOK, cache_folder, find_jar, store_jar


def jar_name(number: int, kind: str = "hook") -> str:
    return f"{kind}-{number:024x}.jar"


NAME = jar_name(1)
PROGRAM = """
import json, logging, sys

from pyspark.sql import SparkSession

import xskip

folder, data = sys.argv[1:]
messages = []
handler = logging.Handler()
handler.emit = lambda record: messages.append(record.getMessage())
logging.getLogger("xskip").addHandler(handler)
logging.getLogger("xskip").setLevel(logging.INFO)
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.log.level", "ERROR").config("spark.xskip.classes.folder", folder).getOrCreate()
xskip.enable(spark)
spark.range(40).repartitionByRange(4, "id").write.mode("overwrite").parquet(data)
xskip.SkippingIndex.for_path(spark, data).create([xskip.MinMax("id")])
rows = spark.read.parquet(data).filter("id = 7").count()
compiled = sum(message.startswith("xskip compiled") for message in messages)
print(rows, xskip.last_report(spark).scans[0].skipped, compiled)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "classes"
    made.mkdir(mode=0o700)
    return made


def write(path: str) -> None:
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("A.class", b"class" * 1000)


def stored(folder: Path) -> Path:
    path = store_jar(folder, NAME, write)
    assert path is not None
    return path


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    """[JVM-CC-1] The classes work in the driver and in the tasks of a build."""
    program, folder = tmp_path / "program.py", tmp_path / "new" / "classes"
    program.write_text(PROGRAM)
    command = sys.executable, str(program), str(folder), str(tmp_path / "data")
    assert [run(tmp_path, *command).splitlines()[-1] for _ in range(2)] == ["1 3 1", "1 3 0"]
    assert len(list(folder.iterdir())) == 1


def test_a_damaged_jar_is_compiled_anew(spark: SparkSession, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[JVM-CC-3] The new jar has the same classes, and the next process compiles nothing."""
    known = compiler.classes_jar(spark)
    jar = folder / known.name
    jar.write_bytes(known.read_bytes()[: known.stat().st_size // 2])
    jar.chmod(0o600)
    spark.conf.set(CLASSES.key, str(folder))
    caplog.set_level(logging.INFO, "xskip")
    for _ in range(2):
        assert compiler._find_or_compile(spark, HOOK) == jar
        assert caplog.text.count("xskip compiled") == 1
    assert classes_in(jar) == classes_in(known)


def classes_in(path: Path) -> set[str]:
    """Return the names of the files in a jar, whose checksums are right."""
    with zipfile.ZipFile(path) as jar:
        assert jar.testzip() is None
        return set(jar.namelist())


@pytest.mark.parametrize("can_read", [True, False])
def test_a_jvm_that_cannot_read_the_jar_gets_its_content(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, *, can_read: bool
) -> None:
    """[JVM-CC-5]"""
    monkeypatch.setattr(compiler, "_can_read", lambda *_: can_read)
    jvm: Any = spark._jvm
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    rule = compiler._loader(jvm, compiler.classes_jar(spark), parent).loadClass(compiler.RULE_CLASS)
    location = rule.getProtectionDomain().getCodeSource().getLocation()
    assert (location is not None) == can_read
    assert rule.getName() == compiler.RULE_CLASS  # py4j would call its methods on the session's own rule


def test_the_folder_is_in_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("") == tmp_path / "xskip" / "classes"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the standard says to ignore
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder("") == tmp_path / "home" / ".cache" / "xskip" / "classes"
    assert cache_folder(str(tmp_path)) == tmp_path
    assert cache_folder("off") is None


@pytest.mark.parametrize("mask", [0o002, 0o077])
def test_only_the_user_can_read_and_write_a_jar(folder: Path, mask: int) -> None:
    """[JVM-CC-2]"""
    before = os.umask(mask)
    try:
        path = stored(folder / "new")
    finally:
        os.umask(before)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert find_jar(folder / "new", NAME) == path
    assert [entry.name for entry in path.parent.iterdir()] == [NAME]


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
@pytest.mark.parametrize("place", ["jar", "folder", "parent"])
def test_what_others_can_write_is_not_used(
    folder: Path, place: str, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[JVM-CC-2]"""
    monkeypatch.setattr(class_cache, "_is_private_group", lambda _: False)
    path = stored(folder)
    changed = {"jar": path, "folder": folder, "parent": folder.parent}[place]
    changed.chmod(mode)
    assert find_jar(folder, NAME) is None
    assert (store_jar(folder, NAME, write) is None) == (place != "jar")
    assert (find_jar(folder, NAME) is None) == (place != "jar")


def test_the_private_group_of_a_user_is_the_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[JVM-CC-2] With the umask 002 of such systems, the group can write."""
    path = stored(folder)
    user, group = pwd.getpwuid(os.getuid()), path.stat().st_gid
    folder.chmod(0o770)
    members = [user.pw_name]
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd((user.pw_name, "", 0, group, "", "", "")))
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((user.pw_name, "", group, members)))
    assert find_jar(folder, NAME) == path
    members.append("other")
    assert find_jar(folder, NAME) is None


def test_a_parent_where_only_owners_rename_is_used(folder: Path) -> None:
    """[JVM-CC-2] All can write to ``/tmp``, but not to the entries of others."""
    path = stored(folder)
    folder.parent.chmod(0o1777)
    assert find_jar(folder, NAME) == path
    folder.chmod(0o1777)
    assert store_jar(folder, NAME, write) is None


def test_files_of_other_users_are_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[JVM-CC-2] Files of root count, because root can write everywhere."""
    path = stored(folder)
    monkeypatch.setattr(class_cache, "_ROOT", path.stat().st_uid)
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    assert find_jar(folder, NAME) == path
    monkeypatch.setattr(class_cache, "_ROOT", path.stat().st_uid + 2)
    assert find_jar(folder, NAME) is None


def test_a_link_to_a_place_of_others_is_not_used(folder: Path, tmp_path: Path) -> None:
    """[JVM-CC-2]"""
    shared = tmp_path / "shared"
    shared.mkdir()
    stored(shared)
    (folder / NAME).symlink_to(shared / NAME)
    assert find_jar(folder, NAME) == folder / NAME
    shared.chmod(0o777)
    assert find_jar(folder, NAME) is None


def test_damaged_jars_are_not_used(folder: Path) -> None:
    """[JVM-CC-3] The jar is cut at each length, and one byte of its content differs."""
    path = stored(folder)
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        assert find_jar(folder, NAME) is None
    other = bytearray(whole)
    other[100] ^= 1
    path.write_bytes(other)
    assert find_jar(folder, NAME) is None
    path.write_bytes(whole)
    assert find_jar(folder, NAME) == path


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    """[JVM-CC-3]"""
    (tmp_path / "file").touch()
    assert store_jar(tmp_path / "file" / "classes", NAME, write) is None
    assert find_jar(tmp_path / "file" / "classes", NAME) is None


def test_a_write_that_fails_leaves_nothing(folder: Path) -> None:
    """[JVM-CC-3]"""

    def fail(path: str) -> None:
        Path(path).write_bytes(b"half")
        raise OSError("no space left on device")

    assert store_jar(folder, NAME, fail) is None
    assert list(folder.iterdir()) == []


def test_many_threads_store_jars(folder: Path) -> None:
    """[JVM-CC-3] Each gets its jar, although all of them remove the oldest ones."""
    names = list(map(jar_name, range(200)))
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda name: store_jar(folder, name, write), names))
    assert [path.name for path in paths if path is not None] == names
    assert len(list(folder.iterdir())) <= 16 + 8


def test_the_jars_that_were_used_last_stay(folder: Path) -> None:
    """[JVM-CC-4]"""
    for i in range(16):
        os.utime(store_jar(folder, jar_name(i), write) or "", (i, i))
    assert find_jar(folder, jar_name(0))
    assert store_jar(folder, jar_name(16), write)
    assert {path.name for path in folder.iterdir()} == {jar_name(i) for i in range(17) if i != 1}


def test_files_of_others_stay(folder: Path) -> None:
    """[JVM-CC-4] The setting can name a folder with other files. They are older than all jars."""
    others = {"notes.txt", "hook.jar", "hook-1.jar", f"my-{NAME}", f"{NAME}.bak", "report.tmp", f"{NAME}.x.tmp.txt"}
    for name in others:
        (folder / name).touch()
        os.utime(folder / name, (0, 0))
    (folder / jar_name(99)).mkdir()  # no jar, in spite of its name
    os.utime(folder / jar_name(99), (0, 0))
    for i in range(20):
        os.utime(store_jar(folder, jar_name(i, "questdb"), write) or "", (i, i))
    kept = {jar_name(i, "questdb") for i in range(4, 20)}
    assert {path.name for path in folder.iterdir()} == others | {jar_name(99)} | kept


def test_what_unfinished_writes_left_goes_after_a_day(folder: Path) -> None:
    """[JVM-CC-4] Until then, another process can still write the file."""
    writing, left = folder / f"{jar_name(1)}.ab_12x9z.tmp", folder / f"{jar_name(2)}.cd_34y8z.tmp"
    for path, hours in ((writing, 23), (left, 25)):
        path.touch()
        at = time.time() - hours * 3600
        os.utime(path, (at, at))
    for i in range(20):
        assert store_jar(folder, jar_name(i), write)
    assert writing.exists()
    assert not left.exists()
