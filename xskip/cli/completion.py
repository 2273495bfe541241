"""Scripts that complete the commands, the flags and the values of flags in shells."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

__all__ = ["SHELLS", "script"]

SHELLS = ("bash", "zsh", "fish")
#: The values of flags that take others as well.
_SUGGESTED = {"--format": ("parquet", "avro", "orc", "csv", "json")}
# bash splits --flag=value into three words
_BASH = """\
_xskip() {{
    local words current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    [[ $current == "=" ]] && current=
    [[ $before == "=" ]] && before="${{COMP_WORDS[COMP_CWORD-2]}}"
    COMPREPLY=()
    case "${{COMP_WORDS[1]}}:${{COMP_WORDS[2]}}:$before" in
{cases}
        *) words={commands} ;;
    esac
    [[ $COMP_CWORD -eq 1 ]] && words={commands}
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _xskip xskip"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the script that completes the commands of a parser in one of :data:`SHELLS`."""
    commands = _commands(parser)
    if shell == "fish":
        return "\n".join(_fish(commands))
    cases = [f"        {pattern}) words={shlex.quote(' '.join(words))} ;;" for pattern, words in _cases(commands)]
    text = _BASH.format(cases="\n".join(cases), commands=shlex.quote(" ".join([*commands, "--help", "--version"])))
    return text if shell == "bash" else _ZSH + text


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _cases(commands: dict[str, argparse.ArgumentParser]) -> Iterator[tuple[str, list[str]]]:
    """Yield patterns of a command, its command and the word before, each with the words that can follow."""
    for name, parser in commands.items():
        # Before the pattern of the command itself, which matches its commands as well.
        for sub, found in _commands(parser).items():
            yield from _cases_of(f"{name}:{sub}", found)
        yield from _cases_of(f"{name}:*", parser)


def _cases_of(pattern: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[str]]]:
    values = _values(parser)
    yield from ((f"{pattern}:{flag}", words) for flag, words in values.items() if words)
    if others := [f"{pattern}:{flag}" for flag, words in values.items() if not words]:
        yield "|".join(others), []  # any text, for which bash completes the names of files
    yield f"{pattern}:*", _words(parser)


def _words(parser: argparse.ArgumentParser) -> list[str]:
    flags = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    choices = [str(c) for a in parser._actions if not a.option_strings for c in (a.choices or ())]
    return [*choices, *flags]


def _values(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return the values of each flag that takes one; no values stand for any text."""
    return {
        name: list(_SUGGESTED.get(name) or (str(choice) for choice in action.choices or () if choice))
        for action in parser._actions
        for name in action.option_strings
        if name.startswith("--") and action.nargs != 0
    }


def _fish(commands: dict[str, argparse.ArgumentParser]) -> Iterator[str]:
    for name, parser in commands.items():
        text = shlex.quote(parser.description or "")
        yield f"complete -c xskip -n __fish_use_subcommand -f -a {name} -d {text}"
        seen = f"__fish_seen_subcommand_from {name}"
        yield from _fish_words(seen, parser)
        for sub, found in _commands(parser).items():
            yield from _fish_words(f"{seen}; and __fish_seen_subcommand_from {sub}", found)


def _fish_words(seen: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    values = _values(parser)
    for word in _words(parser):
        option = f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}"
        if word in values:
            option += f" -x -a {shlex.quote(' '.join(values[word]))}" if values[word] else " -r"
        yield f"complete -c xskip -n {shlex.quote(seen)} {option}"
