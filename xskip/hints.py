"""Texts with words for Python and for the command line, composed of references to what both name differently."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from operator import is_not
from typing import Any, TypeVar

__all__ = ["Argument", "Call", "Method", "Option", "Phrase", "Reference", "Words", "in_shell_words", "joined"]

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that neither side derives from the other."""

    python: str
    shell: str

    def __str__(self) -> str:
        return self.python


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the API, which is a command of the shell.

    >>> str(Method("add", "[...]")), Method("add", "[...]").shell
    ('add([...])', 'xskip add')
    """

    name: str
    arguments: str = ""
    #: The words of the command after ``xskip``, if the name of the method is not all of them.
    command: str = ""

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"

    @property
    def shell(self) -> str:
        """Return the command."""
        return f"xskip {self.command or self.name}"


@dataclass(frozen=True, slots=True)
class Call(Method):
    """The advice to call a method of the API, or to run its command.

    >>> str(Call("rotate_keys", command="rotate-keys")), Call("rotate_keys", command="rotate-keys").shell
    ('call rotate_keys()', 'run xskip rotate-keys')
    """

    def __str__(self) -> str:
        return f"call {self.name}({self.arguments})"

    @property
    def shell(self) -> str:
        """Return the advice with the command."""
        return f"run xskip {self.command or self.name}"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a method, which is a flag of its command.

    >>> str(Argument("older_than")), Argument("older_than").shell
    ('older_than', '--older-than')
    """

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def shell(self) -> str:
        """Return the flag."""
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Option:
    """An argument of a method with a text as its value, which is a flag with this value.

    >>> str(Option("on_error", "skip")), Option("on_error", "skip").shell
    ("on_error='skip'", '--on-error skip')
    """

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}"

    @property
    def shell(self) -> str:
        """Return the flag with its value."""
        return f"{Argument(self.name).shell} {self.value}"


Reference = Phrase | Method | Call | Argument | Option


class Words(str):
    """A text in the words of Python, which also has the words of the command line.

    The parts of the template are references, other words, and values that read alike on both sides.

    >>> text = Words("{} to bring it up to date, or build with {}", Call("refresh"), Option("on_error", "skip"))
    >>> str(text)
    "call refresh() to bring it up to date, or build with on_error='skip'"
    >>> text.shell
    'run xskip refresh to bring it up to date, or build with --on-error skip'
    >>> Words("{}; the present version is {:,}", text, 4000).shell
    'run xskip refresh to bring it up to date, or build with --on-error skip; the present version is 4,000'
    """

    __slots__ = ("shell",)

    #: The text in the words of the command line.
    shell: str

    def __new__(cls, template: str, *parts: object) -> Words:
        """Return the text of a template with its parts."""
        words = super().__new__(cls, template.format(*parts))
        words.shell = template.format(*map(_shell_form, parts))
        return words

    def __reduce__(self) -> tuple[Any, ...]:
        return Words, ("{}", Phrase(str(self), self.shell))


def _shell_form(part: object) -> object:
    return part.shell if isinstance(part, (Words, Reference)) else part


def joined(separator: str, texts: Iterable[str]) -> Words:
    """Return texts as one text that keeps the words of each.

    >>> joined("; ", [Words("{} it", Call("refresh")), "try again"]).shell
    'run xskip refresh it; try again'
    """
    parts = tuple(texts)
    return Words(separator.join(["{}"] * len(parts)), *parts)


def in_shell_words(value: Value) -> Value:
    """Return a text in the words of the command line, or a tuple, list or dataclass with such texts in its fields.

    A text without such words stays as it is.

    >>> in_shell_words((Words("{}", Call("refresh")), "try again"))
    ('run xskip refresh', 'try again')
    """
    found: Any = value
    if isinstance(found, Words):
        found = found.shell
    elif type(found) in (tuple, list):
        parts = [in_shell_words(each) for each in found]
        found = type(found)(parts) if any(map(is_not, parts, found)) else found
    elif is_dataclass(found) and not isinstance(found, type):
        before = {field.name: getattr(found, field.name) for field in fields(found) if field.init}
        after = {name: in_shell_words(each) for name, each in before.items()}
        changed = {name: each for name, each in after.items() if each is not before[name]}
        found = replace(found, **changed) if changed else found
    return found  # type: ignore[no-any-return]
