"""The parser of predicates in SQL, which needs no types.

.. code-block:: text

    either     := both (OR both)*
    both       := negation (AND negation)*
    negation   := NOT negation | condition
    condition  := '(' either ')' | TRUE | FALSE | NULL | name
                | operand op operand | name [NOT] IN '(' operand, … ')' | name [NOT] BETWEEN operand AND operand
                | name IS [NOT] NULL | name [NOT] LIKE string | other

A condition that does not end where AND, OR, a closing parenthesis or the end of the predicate follows is ``other``. It
extends to that place, because all other operators bind more tightly than NOT, AND and OR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xskip.errors import PredicateError
from xskip.expressions.condition_reasons import Reason
from xskip.expressions.predicate import Op
from xskip.standalone.syntax import BRACKETS, check_condition, syntax_error
from xskip.standalone.tokens import Token, tokenize

__all__ = ["Both", "Compared", "Either", "Item", "Like", "Literal", "Name", "Node", "Not", "NullTest", "Other", "parse"]

_OPS = {"=": Op.EQ, "==": Op.EQ, "<>": Op.NE, "!=": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_TYPED = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
_WORDS = ("AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN", "TRUE", "FALSE", "NULL", "CASE", "END", "WHEN", "EXISTS")
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Name:
    """The path of a column."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal: its kind (``number``, ``nan``, ``string``, ``boolean``, ``null`` or a keyword), and its text."""

    #: The keyword X stands for bytes, whose text is hexadecimal.
    kind: str
    text: str = ""


Item = Name | Literal


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison."""

    op: Op
    left: Item
    right: Item


@dataclass(frozen=True, slots=True)
class NullTest:
    """The condition ``name IS NULL``."""

    name: Name


@dataclass(frozen=True, slots=True)
class Like:
    """The condition ``name LIKE pattern``."""

    name: Name
    pattern: Literal


@dataclass(frozen=True, slots=True)
class Not:
    """A negation."""

    child: Node


@dataclass(frozen=True, slots=True)
class Both:
    """A conjunction."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """A disjunction."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """A condition that the parser does not know, by its text; an empty text stands for a condition without a report."""

    text: str
    #: Empty if there is no other reason than that the parser does not know the condition.
    reason: Reason | None = None


Node = Compared | NullTest | Like | Not | Both | Either | Other | Item


class _NotKnownError(Exception):
    """A condition that the parser does not know starts here."""


def parse(text: str) -> Node:
    """Parse a predicate in SQL.

    >>> parse("NOT a > 5").child.op.value, parse("year(ts) = 2024")
    ('>', Other(text='year(ts) = 2024', reason=None))
    """
    if not text.strip():
        raise PredicateError("the predicate is empty", expected="a condition such as temp > 30")
    parser = _Parser(text, tokenize(text))
    node = parser.either()
    if parser.next is not None:
        raise syntax_error(
            "the predicate has a closing parenthesis without an opening one", text, parser.next,
            hint="remove it, or add an opening one",
        )  # fmt: skip
    return node


class _Parser:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def next(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def either(self) -> Node:
        children = self._list("OR", self._both)
        return children[0] if len(children) == 1 else Either(children)

    def _both(self) -> Node:
        children = self._list("AND", self._negation)
        return children[0] if len(children) == 1 else Both(children)

    def _list(self, word: str, part: Callable[[], Node]) -> tuple[Node, ...]:
        children = [part()]
        while self._accept(word):
            children.append(part())
        return tuple(children)

    def _negation(self) -> Node:
        negated = False
        while self._accept("NOT"):
            negated = not negated
        node = self._condition()
        return Not(node) if negated else node

    def _condition(self) -> Node:
        start = self._at
        try:
            node = self._group() if self._is_group() else self._known()
        except _NotKnownError:
            node = None
        if node is None or not self._is_at_end():
            self._at = start
            return self._other()
        return node

    def _is_group(self) -> bool:
        """Return whether parentheses here hold a condition, and not a value of a condition or a query."""
        if self.next is None or self.next.word != "(":
            return False
        depth = 0
        for position in range(self._at, len(self._tokens)):
            depth += {"(": 1, ")": -1}.get(self._tokens[position].word, 0)
            if depth == 0:
                after = self._tokens[position + 1] if position + 1 < len(self._tokens) else None
                return after is None or after.word in ("AND", "OR", ")")
        return True

    def _group(self) -> Node:
        self._expect("(")
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise PredicateError("the predicate is nested too deeply", where=self._text[:100])
        node = self.either()
        self._depth -= 1
        if not self._accept(")"):
            raise _NotKnownError
        return node

    def _is_at_end(self) -> bool:
        return self.next is None or self.next.word in ("AND", "OR", ")")

    def _known(self) -> Node:
        left = self._item()
        if self._is_at_end():
            return left
        word = self._take().word
        if word in _OPS:
            return Compared(_OPS[word], left, self._item())
        if not isinstance(left, Name):
            raise _NotKnownError
        if word == "IS":
            negated = self._accept("NOT")
            self._expect("NULL")
            return Not(NullTest(left)) if negated else NullTest(left)
        negated = word == "NOT"
        node = self._tested(left, self._take().word if negated else word)
        return Not(node) if negated else node

    def _tested(self, left: Name, word: str) -> Node:
        match word:
            case "BETWEEN":
                low = self._item()
                self._expect("AND")
                return Both((Compared(Op.GE, left, low), Compared(Op.LE, left, self._item())))
            case "IN":
                self._expect("(")
                items = [self._item()]
                while self._accept(","):
                    items.append(self._item())
                self._expect(")")
                return Either(tuple(Compared(Op.EQ, left, item) for item in items))
            case "LIKE":
                pattern = self._literal()
                if pattern.kind == "string":
                    return Like(left, pattern)
        raise _NotKnownError

    def _item(self) -> Item:
        token = self.next
        after = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else None
        if token is None or token.kind != "name" or token.word in _WORDS or (after and after.kind == "string"):
            return self._literal()
        return self._name()

    def _name(self) -> Name:
        path = [_unquoted(self._take().text)]
        while self._accept("."):
            token = self._take()
            if token.kind != "name":
                raise _NotKnownError
            path.append(_unquoted(token.text))
        return Name(tuple(path))

    def _literal(self) -> Literal:
        token = self._take()
        sign = ""
        if token.word in ("-", "+"):
            sign, token = token.word, self._take()
            if token.kind != "number":
                raise _NotKnownError
        if token.kind == "number":
            return Literal("number", sign.replace("+", "") + token.text)
        if token.kind == "string":
            return Literal("string", _content(token))
        if token.word in ("TRUE", "FALSE"):
            return Literal("boolean", token.word)
        if token.word == "NULL":
            return Literal("null")
        if token.word in _TYPED:
            text = self._take()
            if text.kind == "string":
                return Literal(token.word.removesuffix("_LTZ"), _content(text))
        raise _NotKnownError

    def _other(self) -> Other:
        """Take the tokens up to the end of a condition; an AND after BETWEEN, and those inside CASE, do not end it."""
        start, first = self._at, self.next
        if first is None or self._is_at_end():
            raise syntax_error(
                "the predicate lacks a condition", self._text, first, expected="a condition such as temp > 30"
            )
        open_brackets: list[Token] = []
        betweens = 0
        while self.next is not None:
            word = self.next.word or self.next.text
            if not open_brackets and (word in ("OR", ")") or (word == "AND" and not betweens)):
                break
            if word in BRACKETS:
                open_brackets.append(self.next)
            elif word in BRACKETS.values():
                self._close(open_brackets, self.next)
            elif not open_brackets:
                betweens += (word == "BETWEEN") - (word == "AND")
            self._take()
        if open_brackets:
            opened = open_brackets[-1]
            closing = BRACKETS[opened.word or opened.text]
            raise syntax_error(f"the predicate has an open bracket, which lacks its {closing}", self._text, opened)
        tokens = self._tokens[start : self._at]
        check_condition(self._text, tokens, self.next, is_whole=self._depth == 0)
        return Other(self._text[first.start : tokens[-1].end])

    def _close(self, brackets: list[Token], token: Token) -> None:
        word = token.word or token.text
        if brackets and word == BRACKETS[brackets[-1].word or brackets[-1].text]:
            brackets.pop()
        elif word != "END":  # END can be the name of a column
            raise syntax_error("the predicate has brackets that do not match", self._text, token)

    def _take(self) -> Token:
        token = self.next
        if token is None:
            raise _NotKnownError
        self._at += 1
        return token

    def _accept(self, word: str) -> bool:
        if self.next is None or self.next.word != word:
            return False
        self._at += 1
        return True

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise _NotKnownError


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _content(token: Token) -> str:
    """Return the text of a string."""
    content = token.text[1:-1]
    # Engines disagree on a quote within quotes and on backslashes.
    if "'" in content or "\\" in content:
        raise _NotKnownError
    return content
