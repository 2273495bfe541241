"""The docstrings of the public API are complete, as numpydoc's validation defines it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from pkgutil import resolve_name
from types import FunctionType
from typing import Any

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import xskip
import xskip.questdb
from tests.pages import blocks_of

PAGE = Path(__file__).parents[1] / "specs" / "custom-index.rst"

#: The checks of numpydoc that do not apply.
NOT_REQUIRED = {
    "SA01",  # related objects are links in the text, where the relation is explained
    "ES01",  # many objects need only one sentence
    "GL01",  # docstrings start on the first line, as pydocstyle requires (D212); some numpydocs want the second line
}
NOT_REQUIRED_OF_MEMBERS = {
    "EX01",  # the example of the class shows how its members work together
}
NOT_REQUIRED_WITHOUT_CONSTRUCTOR = {
    "PR01",  # the signature belongs to Python or to xskip, and no user calls it
}


def names_in_the_page() -> set[str]:
    """Return the full names that the code on the page about index types imports from xskip."""
    tree = ast.parse("".join(blocks_of(PAGE, "python")))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        f"{node.module}.{alias.name}"
        for node in imports
        if str(node.module).startswith("xskip.")
        for alias in node.names
    }


def documents(kind: type, name: str) -> bool:
    """Return whether a class has a member with a docstring."""
    return getattr(getattr(kind, name, None), "__doc__", None) is not None


def members_of(kind: type) -> Iterator[tuple[str, object]]:
    """Yield the public functions and properties of a class and of its bases, where they are documented first."""
    for position, owner in enumerate(kind.__mro__):
        bases = kind.__mro__[position + 1 :]
        for name, member in vars(owner).items():
            function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            if name.startswith("_") or not isinstance(function, (FunctionType, property)):
                continue
            if owner.__module__.startswith("xskip") and not any(documents(base, name) for base in bases):
                yield f"{owner.__module__}.{owner.__qualname__}.{name}", function


QUESTDB = {f"xskip.questdb.{name}" for name in xskip.questdb.__all__}
PUBLIC = {
    name: resolve_name(name) for name in {f"xskip.{name}" for name in xskip.__all__} | names_in_the_page() | QUESTDB
}
OBJECTS = {name: thing for name, thing in sorted(PUBLIC.items()) if not isinstance(thing, str)}
MEMBERS = {name: member for thing in OBJECTS.values() if inspect.isclass(thing) for name, member in members_of(thing)}


def has_constructor(kind: type) -> bool:
    """Return whether users call a class: no protocol, no enumeration, and no class with private parameters."""
    if getattr(kind, "_is_protocol", False) or issubclass(kind, Enum):
        return False
    return not any(name.startswith("_") for name in inspect.signature(kind).parameters)


def errors_of(thing: object, not_required: set[str]) -> list[str]:
    """Return what numpydoc objects to in a docstring; the fields of a class can be parameters or attributes."""
    doc: Any = get_doc_object(thing, config={"show_class_members": False})
    if inspect.isclass(thing):
        fields = inspect.signature(thing).parameters
        doc["Parameters"] += [entry for entry in doc["Attributes"] if set(entry.name.split(", ")) <= set(fields)]
        not_required = not_required if has_constructor(thing) else not_required | NOT_REQUIRED_WITHOUT_CONSTRUCTOR
    return [f"{code}: {text}" for code, text in validate(doc)["errors"] if code not in not_required]


def test_the_names_are_those_of_the_api() -> None:
    assert {name for name in PUBLIC if name not in OBJECTS} == {"xskip.__version__"}
    assert {"xskip.OneColumn", "xskip.KmsClient", "xskip.clauses.PartsClause"} <= OBJECTS.keys()
    assert {"xskip.api.index.SkippingIndex.create", "xskip.api.maintenance.IndexMaintenance.drop"} <= MEMBERS.keys()
    assert "xskip.indexes.minmax.MinMax.storage" not in MEMBERS


@pytest.mark.parametrize("name", OBJECTS)
def test_functions_and_classes_are_documented(name: str) -> None:
    errors = errors_of(OBJECTS[name], NOT_REQUIRED)
    assert errors == [], "\n".join([name, *errors])


@pytest.mark.parametrize("name", MEMBERS)
def test_methods_and_properties_are_documented(name: str) -> None:
    errors = errors_of(MEMBERS[name], NOT_REQUIRED | NOT_REQUIRED_OF_MEMBERS)
    assert errors == [], "\n".join([name, *errors])
