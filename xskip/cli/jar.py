"""The command that writes a jar of the hook's classes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xskip import __version__
from xskip.cli.output import show
from xskip.cli.sessions import session
from xskip.errors import StorageError, error_text
from xskip.spark.bridge.compiler import write_jar

__all__ = ["write"]


def write(arguments: argparse.Namespace) -> int:
    """Write the jar, show its path, and return the exit code."""
    folder = Path(arguments.directory)
    with _writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with session(arguments) as spark:
        path = folder / f"xskip-{__version__}-spark-{spark.version}.jar"
        with _writing_to(folder):
            write_jar(spark, str(path))
    if arguments.output == "text":
        print(path)
    else:
        show(arguments, {"path": str(path)})
    return 0


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError("cannot write the jar", where=str(folder), found=error_text(error)) from error
