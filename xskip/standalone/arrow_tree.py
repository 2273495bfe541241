"""Expressions of pyarrow as trees.

pyarrow has no public access to the parts of an expression. It pickles an expression as a file of Arrow's IPC format:
the metadata of the file's schema names the parts in prefix order, and the columns hold the literals and the options of
functions. Where the pickle has another form, :func:`tree_of` raises an error instead of a guess.

.. code-block:: text

    call: 'equal'  field_ref: 'x'  literal: '0'  end: 'equal'          x == 3, and 3 in column 0
    nested_field_ref: '2'  field_ref: 'a'  field_ref: 'b'              a.b
    call: 'is_in'  field_ref: 'x'  options: '1'  end: 'is_in'          x in the list in column 1
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["Call", "Field", "FormError", "Scalar", "Tree", "tree_of"]

#: The place of ``custom_metadata`` in the flatbuffer table Schema, and of ``header`` in the table Message.
_METADATA = 2
_HEADER = 2
_MAGIC = b"ARROW1\0\0"


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of nested structs, by its path."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A literal, as a scalar of pyarrow."""

    value: Any


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a compute function; ``options`` is a struct scalar of pyarrow, or None."""

    name: str
    arguments: tuple[Tree, ...]
    options: Any = None


Tree = Field | Scalar | Call


class FormError(Exception):
    """Error for an expression that pyarrow cannot pickle, or pickles in an unknown form; the message is the reason."""


def tree_of(expression: Any) -> Tree:
    """Return an expression of pyarrow as a tree.

    >>> import pyarrow.compute as pc
    >>> tree = tree_of((pc.field("x") == 3) & pc.field("a", "b").is_null())
    >>> tree.name, tree.arguments[0].arguments[0], tree.arguments[1].arguments[0]
    ('and_kleene', Field(path=('x',)), Field(path=('a', 'b')))
    """
    try:
        data = expression.__reduce__()[1][0]
        # pyarrow shows metadata as a dictionary, without the entries of equal names: read the schema's flatbuffer
        # itself.
        entries = list(_metadata_of(bytes(data)))
        with pa.ipc.open_file(data) as reader:
            batch = reader.get_batch(0)
        if {key for key, _ in entries} != {key.decode() for key in batch.schema.metadata or {}}:
            raise FormError("this version of pyarrow writes expressions in another form")
        return _parsed(entries, batch)
    except (pa.ArrowException, NotImplementedError) as error:
        raise FormError(str(error).partition("\n")[0][:200]) from error
    except (ValueError, TypeError, LookupError, AttributeError, StopIteration, struct.error) as error:
        raise FormError("this version of pyarrow writes expressions in another form") from error


def _parsed(entries: list[tuple[str, str]], batch: pa.RecordBatch) -> Tree:
    """Return the tree of entries in prefix order."""
    # A chain of conditions can be long, so a list replaces recursion.
    calls: list[_Open] = [_Open("")]  # the outermost stands for the whole expression
    rest = iter(entries)
    for key, value in rest:
        parts = calls[-1].parts
        match key:
            case "field_ref":
                parts.append(Field((value,)))
            case "nested_field_ref":
                names = [next(rest) for _ in range(int(value))]
                if any(kind != "field_ref" for kind, _ in names):
                    raise FormError("the path of a field has a part that is no name")
                parts.append(Field(tuple(name for _, name in names)))
            case "literal":
                parts.append(Scalar(batch.column(int(value))[0]))
            case "call":
                calls.append(_Open(value))
            case "options":
                calls[-1].options = batch.column(int(value))[0]
            case "end" if len(calls) > 1 and calls[-1].name == value:
                closed = calls.pop()
                calls[-1].parts.append(Call(value, tuple(closed.parts), closed.options))
            case _:
                raise FormError(f"the expression has an unknown part {key}")
    if len(calls) != 1 or len(calls[0].parts) != 1:
        raise FormError("the expression is not complete")
    return calls[0].parts[0]


class _Open:
    """A call whose end has not been read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[Tree] = []
        self.options: Any = None


def _metadata_of(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the entries of the schema's metadata in a file of Arrow's IPC format, in order and with repeats."""
    if not data.startswith(_MAGIC):
        raise FormError("this version of pyarrow writes expressions in another form")
    start = len(_MAGIC) + (8 if data[8:12] == b"\xff\xff\xff\xff" else 4)  # the marker, and the size of the message
    message = start + _number(data, start, "<I")
    schema = _target(data, _slot(data, message, _HEADER))
    entries = _target(data, _slot(data, schema, _METADATA))
    for position in range(_number(data, entries, "<I")):
        pair = _target(data, entries + 4 + 4 * position)
        yield _text(data, _slot(data, pair, 0)), _text(data, _slot(data, pair, 1))


def _number(data: bytes, at: int, form: str) -> int:
    (number,) = struct.unpack_from(form, data, at)
    return int(number)


def _target(data: bytes, at: int) -> int:
    return at + _number(data, at, "<I")


def _slot(data: bytes, table: int, field: int) -> int:
    """Return the place of a field of a flatbuffer table."""
    directory = table - _number(data, table, "<i")
    offset = _number(data, directory + 4 + 2 * field, "<H") if 4 + 2 * field < _number(data, directory, "<H") else 0
    if not offset:
        raise FormError("this version of pyarrow writes expressions in another form")
    return table + offset


def _text(data: bytes, slot: int) -> str:
    start = _target(data, slot)
    return data[start + 4 : start + 4 + _number(data, start, "<I")].decode()
