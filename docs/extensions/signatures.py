"""Signatures without private parameters, such as the fields of dataclasses that only the package sets."""

from __future__ import annotations

import inspect
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import signature, stringify_signature

__all__ = ["public_signature", "setup"]


def public_signature(item: Any) -> str | None:
    """Return the signature of a class without its private parameters; None if it has none of them.

    >>> class Advice:
    ...     def __init__(self, text, _apply=None): ...
    >>> public_signature(Advice)
    '(text)'
    """
    if not inspect.isclass(item):
        return None
    try:
        found = signature(item)
    except (TypeError, ValueError):  # a class of C, such as an exception
        return None
    public = [each for name, each in found.parameters.items() if not name.startswith("_")]
    if len(public) == len(found.parameters):
        return None
    return stringify_signature(found.replace(parameters=public), show_annotation=False, show_return_annotation=False)


def _process(app: Sphinx, what: str, name: str, item: Any, *_: Any) -> tuple[str, str] | None:  # noqa: ARG001 - Sphinx's own
    shown = public_signature(item)
    return None if shown is None else (shown, "")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the handler, before that of numpydoc: Sphinx takes the first result."""
    app.connect("autodoc-process-signature", _process, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
