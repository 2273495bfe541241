"""Temporary folders are removed, also those of killed processes. Rules: specs/metadatastore.rst, [MDS-C-22]."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
import sys
from xskip.metadatastore.temporary import lasting_folder, temporary_folder
kept = temporary_folder("build") if sys.argv[1:] == [] else None
print(lasting_folder("metadata"), flush=True)
if sys.argv[1:] == ["fork"]:
    import os
    child = os.fork()
    if not child:
        print(lasting_folder("metadata"), flush=True)
        sys.exit()
    os.waitpid(child, 0)
    print("after", flush=True)
sys.stdin.read()
"""


@contextmanager
def process(home: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Yield a process with two folders that runs until its input ends, and the folder of the process."""
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *args], env={**os.environ, "TMPDIR": str(home)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stdout is not None
    try:
        yield started, Path(started.stdout.readline().strip()).parent
        started.communicate()
    finally:
        started.kill()
        started.wait()


def names(home: Path) -> set[str]:
    return {path.name for path in home.iterdir()}


def test_folders_go_with_the_process(tmp_path: Path) -> None:
    with process(tmp_path) as (_, own):
        assert own.parent == tmp_path
        assert {name.partition("-")[0] for name in names(own)} == {"lock", "build", "metadata"}
    assert names(tmp_path) == set()


def test_what_a_killed_process_left_goes_with_the_next(tmp_path: Path) -> None:
    """[MDS-C-22] Folders of live processes and folders with similar names stay."""
    others = {"xskip-fuzz-12345678", "xskip-12345678", "xskipper"}
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / "xskip-fuzz-12345678/lock").touch()
    with process(tmp_path) as (_, living):
        with process(tmp_path) as (killed, left):
            killed.send_signal(signal.SIGKILL)
            killed.wait()
            assert names(tmp_path) == others | {living.name, left.name}
        with process(tmp_path) as (_, third):
            assert names(tmp_path) == others | {living.name, third.name}
        assert names(tmp_path) == others | {living.name}
        assert len(names(living)) == 3
    assert names(tmp_path) == others


def test_a_forked_process_has_its_own(tmp_path: Path) -> None:
    """[MDS-C-22] The end of a forked process does not affect its parent's folder."""
    with process(tmp_path, "fork") as (parent, own):
        assert parent.stdout is not None
        forked = Path(parent.stdout.readline().strip()).parent
        assert forked not in (own, Path())
        assert parent.stdout.readline() == "after\n"
        assert names(tmp_path) == {own.name}
        assert len(names(own)) == 2
    assert names(tmp_path) == set()
