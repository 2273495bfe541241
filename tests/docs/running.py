"""A run of the code blocks of one page: in order, in one namespace, with other paths than those of the page."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.docs.blocks import Block
from xskip.cli.main import main

__all__ = ["Run", "alike"]

#: Parts of outputs that differ from run to run: times, sizes, digests, numbers of queries and columns, and the rules
#: and gaps of tables.
_VARYING = (
    (re.compile(r"\bID \d+ on\b"), "ID # on"),
    (re.compile(r"\b\d[\d,]*(\.\d+)? (ms|s)\b"), "# s"),
    (re.compile(r"\b\d[\d,]*(\.\d+)? (B|KiB|MiB|GiB|bytes)\b"), "# B"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "#digest"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(-c000)?\b"), "#uuid"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT?[ ]?\d\d:\d\d:\d\d(\.\d+)?Z?"), "#time"),
    (re.compile(r"(?m)^(seconds|modified|time) .*$"), r"\1 #"),
    (re.compile(r'"(size|modified|total_bytes)": \d+'), r'"\1": #'),
    (re.compile(r"#\d+L?\b"), "#n"),
    (re.compile(r"-{2,}"), "--"),
    (re.compile(r"(?m)[ \t]+$"), ""),
    (re.compile(r"[ \t]+"), " "),
)


def alike(shown: str, printed: str) -> tuple[str, str]:
    """Return two outputs without what differs from run to run."""
    for pattern, stand_in in _VARYING:
        shown, printed = pattern.sub(stand_in, shown), pattern.sub(stand_in, printed)
    return shown.strip(), printed.strip()


class Run:
    """A run of a page.

    Parameters
    ----------
    page : Path
        The page, whose name errors show.
    places : mapping of str to str
        The paths that the page uses, each with the path that stands in for it.
    names : mapping of str to object
        The variables that the page uses without a definition.
    """

    def __init__(self, page: Path, places: Mapping[str, str], names: Mapping[str, Any]) -> None:
        self._page = page
        self._places = dict(places)
        self.names: dict[str, Any] = {"__name__": "__main__", **names}

    def run(self, block: Block) -> str | None:
        """Run a block and return what it has printed, or check the syntax of one that does not run and return None."""
        code = block.code
        if block.language == "python":
            tree = self._parse(block, code)
            return None if block.not_run else self._printed(lambda: self._execute(tree))
        if block.language in ("shell", "bash", "console"):
            subprocess.run(["bash", "-n"], input=code, text=True, check=True)
            return None if block.not_run else self._printed(lambda: self._commands(code))
        if block.language in ("properties", "toml", "ini", "json", "text", "sql", "docker", "yaml"):
            assert block.not_run or block.language == "text", f"{self._page}:{block.line}: say why it does not run"
            return None
        raise AssertionError(f"{self._page}:{block.line}: blocks of {block.language} are not tested")

    def _parse(self, block: Block, code: str) -> ast.Module:
        """Parse a block, after the lines before it, so that a traceback names the line in the page."""
        text = "\n" * (block.line - 1) + self._local(code)
        return ast.parse(text, str(self._page))

    def _execute(self, tree: ast.Module) -> None:
        exec(compile(tree, str(self._page), "exec"), self.names)

    def _commands(self, code: str) -> None:
        for line in self._local(code).replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words:
                assert words[0] == "xskip", f"{self._page}: only the command xskip runs here: {line}"
                assert main(words[1:]) in (0, 1), line

    def _printed(self, action: Any) -> str:
        captured = io.StringIO()
        with contextlib.redirect_stdout(captured):
            action()
        text = captured.getvalue()
        for shown, place in self._places.items():
            text = text.replace(place, shown)
        return text

    def _local(self, text: str) -> str:
        for shown, place in self._places.items():
            text = text.replace(shown, place)
        return text
