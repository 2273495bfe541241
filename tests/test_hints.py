"""Texts with words for Python and for the command line, and that no text of the package has only those of Python."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from xskip.cli.parser import make_parser
from xskip.errors import ArgumentError, DatasetError, MetadataNotFoundError, XskipError, message_of, or_none, shown
from xskip.hints import Argument, Call, Method, Option, Phrase, Words, in_shell_words, joined

PACKAGE = Path(__file__).parents[1] / "xskip"
HINT = Words("{} first, or {}", Call("refresh"), Phrase("pass a schema", "use --format"))


@pytest.mark.parametrize(
    ("text", "python", "shell"),
    [
        (HINT, "call refresh() first, or pass a schema", "run xskip refresh first, or use --format"),
        (Words("{} before {}", Method("drop"), Method("create")), "drop() before create()",
         "xskip drop before xskip create"),
        (Words("{}: {}", "{} of {}", HINT), "{} of {}: call refresh() first, or pass a schema",
         "{} of {}: run xskip refresh first, or use --format"),
        (Words("{:,} files: {}", 4000, Method("status")), "4,000 files: status()", "4,000 files: xskip status"),
        (joined("; ", [Words("omit {}", Argument("trust_listing")), "try again"]), "omit trust_listing; try again",
         "omit --trust-listing; try again"),
        (joined("; ", []), "", ""),
        (Words("with {}", Option("on_error", "skip")), "with on_error='skip'", "with --on-error skip"),
        (shown("soon"), "'soon', of type str", "'soon'"),
        (shown(None), "None", "None"),
        (or_none("a number"), "a number, or None", "a number"),
    ],
)  # fmt: skip
def test_a_text_has_two_forms(text: str, python: str, shell: str) -> None:
    assert text == python
    assert in_shell_words(text) == shell
    assert type(in_shell_words(Words("{}", text))) is str


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_words_are_pickled(protocol: int) -> None:
    text = Words("{} and {{}}", HINT)
    for same in (pickle.loads(pickle.dumps(text, protocol)), copy.copy(text), copy.deepcopy(text)):
        assert (type(same), same, same.shell) == (Words, text, text.shell)


def test_words_are_texts() -> None:
    assert json.dumps([HINT]) == '["call refresh() first, or pass a schema"]'
    assert pa.array([HINT, "x"]).to_pylist() == [str(HINT), "x"]
    assert f"{HINT}!" == "call refresh() first, or pass a schema!"
    assert len({HINT, str(HINT)}) == 1


@dataclass(frozen=True, slots=True)
class Node:
    text: str
    nodes: tuple[Node, ...] = ()


def test_values_that_hold_words() -> None:
    plain = Node("a", (Node("b"),))
    assert in_shell_words(plain) is plain
    worded = in_shell_words(Node("a", (Node(HINT), Node("c"))))
    assert worded == Node("a", (Node(HINT.shell), Node("c")))
    assert in_shell_words([("a", HINT), Node]) == [("a", HINT.shell), Node]


@pytest.mark.parametrize(
    ("error", "shell"),
    [
        (MetadataNotFoundError.at("/lake"), "there is no index (where: /lake); run xskip create first"),
        (ArgumentError(Words("{} is wrong", Argument("older_than")), found=shown(5), expected=or_none("a time")),
         "--older-than is wrong (found: 5; expected: a time)"),
        (DatasetError("it failed", where="{}", found="{0}", hint=HINT),
         "it failed (where: {}; found: {0}); run xskip refresh first, or use --format"),
        (XskipError("it failed"), "it failed"),
    ],
)  # fmt: skip
def test_the_message_of_an_error(error: XskipError, shell: str) -> None:
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert type(each) is type(error)
        assert (str(each), message_of(each), message_of(each).shell) == (str(error), str(error), shell)


@cache
def commands(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """Return the parsers of the commands below a parser, by their names."""
    return {name: each for action in parser._actions if isinstance(action.choices, dict)
            for name, each in action.choices.items()}  # fmt: skip


def every_parser(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    yield parser
    for each in commands(parser).values():
        yield from every_parser(each)


PARSER = make_parser()
FLAGS = {flag for parser in every_parser(PARSER) for flag in parser._option_string_actions}
NAMES = {name.replace("-", "_") for parser in every_parser(PARSER) for name in commands(parser)}
#: What only a caller in Python understands: a call of a method that is a command, and what no flag can pass.
ONLY_IN_PYTHON = re.compile(
    rf"(?<![.\w])({'|'.join(sorted(NAMES))})\((\[\.\.\.\]|\d+|\w+=\w+)?\)|\bon_error=|, or None$"
)


def texts(node: ast.AST) -> Iterator[str]:
    """Yield the texts below a node, except those of phrases, which have their own words, and docstrings."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Expr(value=ast.Constant()) | ast.Call(func=ast.Name(id="Phrase")):
            return
        case _:
            for child in ast.iter_child_nodes(node):
                yield from texts(child)


@cache
def trees() -> dict[Path, ast.Module]:
    """Return the syntax trees of the package, which each collection of tests would otherwise parse."""
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


#: The texts in tables of Arrow, which hold the words of Python alone.
IN_TABLES = {("checks.py", "a committed batch lacks the segment; restore it, or call clean(abandon_lost=True)")}


def test_no_text_has_only_the_words_of_python() -> None:
    found = {(path.name, text) for path, tree in trees().items() for text in texts(tree) if ONLY_IN_PYTHON.search(text)}
    assert found == IN_TABLES


def references(*kinds: str) -> Iterator[tuple[str, list[object]]]:
    """Yield the arguments of the references of some kinds; None stands for one that is not constant."""
    users = {path: tree for path, tree in trees().items() if "from xskip.hints import" in path.read_text()}
    for path, tree in users.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
                given = [each.value if isinstance(each, ast.Constant) else None for each in node.args]
                named = {each.arg: each.value.value for each in node.keywords if isinstance(each.value, ast.Constant)}
                yield path.name, [*given, *[""] * (2 - len(given)), *named.values()]


def test_methods_are_commands() -> None:
    found = list(references("Call", "Method"))
    assert len(found) > 30
    for file, (name, _, *command) in found:
        parser = PARSER
        for word in str((command or [name])[0]).split():
            if word.startswith("-"):
                assert word in parser._option_string_actions, file
            else:
                parser = commands(parser)[word]


def test_arguments_are_flags() -> None:
    names = {name for _, (name, *_) in references("Argument", "Option") if name is not None}
    assert len(names) > 3
    assert {flag for name in names if (flag := Argument(str(name)).shell) not in FLAGS} == set()
