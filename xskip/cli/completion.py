"""Scripts that complete the commands and flags in shells."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

__all__ = ["SHELLS", "script"]

SHELLS = ("bash", "zsh", "fish")
_BASH = """\
_xskip() {{
    local words
    COMPREPLY=()
    case "${{COMP_WORDS[1]}}:${{COMP_WORDS[2]}}" in
{cases}
        *) words={commands} ;;
    esac
    [[ $COMP_CWORD -eq 1 ]] && words={commands}
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _xskip xskip"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the script for a shell.

    Parameters
    ----------
    shell : str
        One of :data:`SHELLS`.
    parser : argparse.ArgumentParser
        The parser of all commands.
    """
    commands = _commands(parser)
    if shell == "fish":
        return "\n".join(_fish(commands))
    # the commands of a command come first, because its own pattern matches them as well
    cases = [f"        {name}) words={shlex.quote(' '.join(_words(sub)))} ;;" for name, sub in _patterns(commands)]
    text = _BASH.format(cases="\n".join(cases), commands=shlex.quote(" ".join([*commands, "--help", "--version"])))
    return text if shell == "bash" else _ZSH + text


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _patterns(commands: dict[str, argparse.ArgumentParser]) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for name, parser in commands.items():
        yield from ((f"{name}:{sub}", found) for sub, found in _commands(parser).items())
        yield f"{name}:*", parser


def _words(parser: argparse.ArgumentParser) -> list[str]:
    flags = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    choices = [str(c) for a in parser._actions if not a.option_strings for c in (a.choices or ())]
    return [*choices, *flags]


def _fish(commands: dict[str, argparse.ArgumentParser]) -> Iterator[str]:
    for name, parser in commands.items():
        text = shlex.quote(parser.description or "")
        yield f"complete -c xskip -n __fish_use_subcommand -f -a {name} -d {text}"
        for word in _words(parser):
            seen = f"-n '__fish_seen_subcommand_from {name}'"
            option = f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}"
            yield f"complete -c xskip {seen} {option}"
