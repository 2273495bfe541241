"""The forms in which Spark pads a column of type CHAR. Rules: specs/pruning.rst, [PRU-CH]."""

from __future__ import annotations

from typing import Any

from xskip.expressions.char_padding import Padded
from xskip.expressions.operands import Column

__all__ = ["padded_column"]

#: The class whose method ``readSidePadding`` pads the values of CHAR columns.
_PADDING = "org.apache.spark.sql.catalyst.util.CharVarcharCodegenUtils"


def padded_column(node: Any) -> Padded | None:
    """Return a CHAR column as Spark pads it: when it reads the column, or else when it compares the column."""
    match node:
        case ["StaticInvoke", cls, _, "readSidePadding", [["$", [*path], "string"], ["#", "int", int() as size]], *_]:
            return Padded(Column(tuple(path), "string"), size) if cls == _PADDING else None
        case ["StringRPad", ["$", [*path], "string"], ["#", "int", int() as size], ["#", "string", " "]] if size > 0:
            return Padded(Column(tuple(path), "string"), size, is_cut=True)
        case ["StringRPad", child, ["#", "int", int() as size], ["#", "string", " "]]:  # of a literal that is longer
            padded = padded_column(child)
            # padding to n characters and then rpad to m >= n characters are together rpad to m characters
            longer = padded is not None and not padded.is_cut and padded.length <= size
            return Padded(padded.column, size, is_cut=True) if padded is not None and longer else None
        case _:
            return None
