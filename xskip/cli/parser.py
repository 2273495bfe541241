"""The parser of the command line, made from the table of commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from xskip import __version__
from xskip.cli.commands import COMMANDS, Command
from xskip.cli.flags import add_flag
from xskip.errors import ArgumentError, did_you_mean

__all__ = ["make_parser"]

_EXIT_CODES = "exit codes: 0 done, 1 out of date or wrong (validate, others with --check), 2 failed, 130 interrupted"
#: The messages of argparse, as patterns, and the same in the words of xskip.
_MISTAKES = {
    r"argument (?P<flag>[^:]+): expected (?P<expected>.+), found (?P<found>.+)": "{flag} has an invalid value",
    r"argument (?P<flag>[^:]+): expected one argument": "{flag} needs a value",
    r"argument (?P<flag>[^:]+): expected at least one argument": "{flag} needs a value",
    r"argument (?P<flag>[^:]+): ignored explicit argument (?P<found>.+)": "{flag} takes no value",
    r"argument (?P<flag>[^:]+): not allowed with argument (?P<other>.+)": "{flag} cannot be used with {other}",
    r"the following arguments are required: (?P<names>.+)": "{prog} needs {names}",
    r"one of the arguments (?P<names>.+) is required": "{prog} needs one of {names}",
}


class _Parser(argparse.ArgumentParser):
    """A parser whose answer to a mistake names the command, flag or value that was meant."""

    def error(self, message: str) -> NoReturn:
        """Raise ArgumentError for a mistake that argparse has found."""
        for pattern, what in _MISTAKES.items():
            if match := re.fullmatch(pattern, message):
                raise ArgumentError(what.format(prog=self.prog, **match.groupdict()), hint=self._help, **_parts(match))
        raise ArgumentError(message, hint=self._help)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        first = next(iter(args or ()), "").partition("=")[0]
        if self._subparsers is not None and first.startswith("-") and first not in self._option_string_actions:
            hint = f"see {self.prog} COMMAND --help"
            raise ArgumentError("flags come after the command", found=first, hint=hint)
        known, rest = super().parse_known_args(args, namespace)
        if rest:
            self._refuse(rest)
        return known, rest

    @property
    def _help(self) -> str:
        return f"see {self.prog} --help"

    def _refuse(self, rest: Sequence[str]) -> NoReturn:
        flag = next((text.partition("=")[0] for text in rest if text.startswith("-")), None)
        if flag is None:
            raise ArgumentError(f"{self.prog} takes fewer arguments", found=" ".join(rest), hint=self._help)
        flags = [name for action in self._actions for name in action.option_strings]
        hint = did_you_mean(flag, flags) or self._help
        raise ArgumentError(f"{self.prog} has no such flag", found=flag, hint=hint)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        place = argparse.ArgumentError(action, "").argument_name
        of_command = isinstance(action, argparse._SubParsersAction)
        what = f"{self.prog} has no such command" if of_command else f"{place} has no such value"
        expected = f"one of {', '.join(filter(None, choices))}"
        hint = did_you_mean(str(value), choices) or self._help
        raise ArgumentError(what, found=str(value), expected=expected, hint=hint)


def _parts(match: re.Match[str]) -> dict[str, str]:
    return {name: match[name] for name in ("found", "expected") if name in match.groupdict()}


def make_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands; with the words of a call, only the command of the call has its flags."""
    parser = _Parser(prog="xskip", description="Data skipping for PySpark.", epilog=_EXIT_CODES, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"xskip {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        added = _add(commands, command)
        if words is None or command.name in words[:1]:  # flags of all commands would take longer than a short command
            _add_flags(added, command)
    parser.set_defaults(make_parser=make_parser)
    return parser


def _add(commands: Any, command: Command) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        command.name,
        help=command.text,
        description=f"{command.text[0].upper()}{command.text[1:]}.",
        epilog=f"example: {command.example}",
        allow_abbrev=False,
    )
    parser.set_defaults(run=command.run)
    return parser


def _add_flags(parser: argparse.ArgumentParser, command: Command) -> None:
    for flag in command.flags:
        add_flag(parser, flag)
    if command.add is not None:
        command.add(parser)
