"""The parser of the command line, made from the table of commands."""

from __future__ import annotations

import argparse
from typing import Any

from xskip import __version__
from xskip.cli.commands import COMMANDS, Command
from xskip.cli.flags import add_flag

__all__ = ["make_parser"]

_EXIT_CODES = "exit codes: 0 done, 1 out of date or wrong (with --check), 2 failed, 130 interrupted"


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="xskip", description="Data skipping for PySpark.", epilog=_EXIT_CODES, allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"xskip {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        _add(commands, command)
    parser.set_defaults(parser=parser)
    return parser


def _add(commands: Any, command: Command) -> None:
    parser = commands.add_parser(
        command.name,
        help=command.text,
        description=f"{command.text[0].upper()}{command.text[1:]}.",
        epilog=f"example: {command.example}",
        allow_abbrev=False,
    )
    for flag in command.flags:
        add_flag(parser, flag)
    if command.add is not None:
        command.add(parser)
    parser.set_defaults(run=command.run)
