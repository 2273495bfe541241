"""The code blocks of a documentation page, with what they print, and whether and why they do not run.

A page marks a block by a comment before it:

* ``.. not run: REASON``: the block needs what the tests lack. Its syntax is checked.
* ``.. hidden code::``: an indented block of Python that runs, and that the page does not show.

A block ``code-block:: text`` with ``:class: output`` shows what the block before it prints.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "blocks_in", "with_outputs"]

_BLOCK = re.compile(
    r"^(?P<head>\.\. (?:code-block:: (?P<language>\w+)|hidden code::))\n(?P<rest>(?:   .*\n|[ ]*\n)+)", re.M
)
_NOT_RUN = re.compile(r"^\.\. not run: (?P<reason>.+(?:\n   .+)*)\n+\Z", re.M)
_OPTIONS = re.compile(r"\A((?:   :[\w-]+:.*\n)*)\n+")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block.

    Attributes
    ----------
    language : str
        ``python``, ``shell``, and so on; ``python`` also for hidden code.
    code : str
        The code without its indentation.
    line : int
        The number of the block's first line of code in the page.
    not_run : str
        The reason why the block does not run; empty if it runs.
    output : str, optional
        What the page says that the block prints.
    output_at : tuple of int, optional
        The position of that text in the page.
    """

    language: str
    code: str
    line: int
    not_run: str
    output: str | None = None
    output_at: tuple[int, int] | None = None


def blocks_in(text: str) -> list[Block]:
    """Return the code blocks of a page in order; an output belongs to the block before it."""
    blocks: list[Block] = []
    for match in _BLOCK.finditer(text):
        options = _OPTIONS.match(match["rest"])
        assert options, f"a block begins with an empty line: {match['head']}"
        body = match["rest"][options.end() :]
        at = match.start("rest") + options.end()
        code = textwrap.dedent(body).rstrip() + "\n"
        if ":class: output" in options[1]:
            last = blocks[-1]
            blocks[-1] = Block(last.language, last.code, last.line, last.not_run, code, (at, at + len(body.rstrip())))
            continue
        marked = _NOT_RUN.search(text[: match.start()])
        reason = " ".join(marked["reason"].split()) if marked else ""
        blocks.append(Block(match["language"] or "python", code, text.count("\n", 0, at) + 1, reason))
    return blocks


def with_outputs(page: Path, printed: Sequence[str | None]) -> str:
    """Return the text of a page with the outputs of its blocks replaced by what they have printed."""
    text = page.read_text(encoding="utf-8")
    pairs = list(zip(blocks_in(text), printed, strict=True))
    for block, output in reversed(pairs):
        if block.output_at is not None and output is not None:
            start, end = block.output_at
            text = text[:start] + textwrap.indent(output.rstrip(), "   ") + text[end:]
    return text
