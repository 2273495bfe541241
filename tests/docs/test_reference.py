"""The API reference has every public name."""

from __future__ import annotations

import dataclasses
import re
from importlib import import_module
from inspect import isclass
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest

import xskip
import xskip.questdb
import xskip.quixlake
from xskip import results
from xskip.results.advice import AdviceList
from xskip.results.file_list import FileList

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
EXTENSIONS = REFERENCE.parent / "extensions"
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.rst"))


def test_the_reference_has_every_name_of_the_package() -> None:
    documented = set(re.findall(r"^\.\. auto(?:class|function):: (\w+)$", TEXT, re.MULTILINE))
    modules = set(re.findall(r"^\.\. automodule:: ([\w.]+)$", TEXT, re.MULTILINE))
    public = {name: getattr(xskip, name) for name in xskip.__all__ if name != "__version__"}
    missing = {name for name, value in public.items() if name not in documented and value.__module__ not in modules}
    assert missing == set(), f"add them to a page in {REFERENCE}"


def kinds_of_results() -> list[type]:
    """Return the classes of the modules on the page of results."""
    modules = [import_module(f"{results.__name__}.{each.name}") for each in iter_modules(results.__path__)]
    shown = [module for module in modules if f".. automodule:: {module.__name__}\n" in TEXT]
    assert len(shown) > 10
    values = [getattr(module, name) for module in shown for name in module.__all__]
    return [value for value in values if isclass(value)]


@pytest.mark.parametrize(
    "kind",
    [
        xskip.SkippingIndex, xskip.quixlake.QuixLake, xskip.quixlake.OpenedLake, xskip.questdb.Table,
        xskip.KmsClient, xskip.LocalKms,
    ],
    ids=lambda kind: kind.__name__,
)  # fmt: skip
def test_the_lists_before_a_class_have_its_methods(kind: type) -> None:
    listed = re.findall(rf"^   {kind.__name__}\.(\w+)$", TEXT, re.MULTILINE)
    methods = {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    assert sorted(listed) == sorted(methods)


@pytest.mark.parametrize("kind", [xskip.Watch, *kinds_of_results()], ids=lambda kind: kind.__name__)
def test_the_lists_before_a_result_have_its_methods_and_properties(kind: type) -> None:
    listed = re.findall(rf"^   {kind.__name__}\.(\w+)$", TEXT, re.MULTILINE)
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    members = {name for name in dir(kind) if not name.startswith("_")} - fields
    assert sorted(listed) == sorted(members)


def is_method_or_property(member: object) -> bool:
    """Return whether a member has an entry of its own; attributes are in the text of their class."""
    return callable(member) or isinstance(member, property)


def test_the_lists_before_the_bases_of_indexes_have_their_members() -> None:
    fields = {field.name for field in dataclasses.fields(xskip.OneColumn)}
    members = {
        kind: {name for name in dir(kind) if not name.startswith("_") and is_method_or_property(getattr(kind, name))}
        for kind in (xskip.Index, xskip.OneColumn)
    }
    for kind, others in ((xskip.Index, set[str]()), (xskip.OneColumn, members[xskip.Index] | fields)):
        listed = re.findall(rf"^   {kind.__name__}\.(\w+)$", TEXT, re.MULTILINE)
        assert sorted(listed) == sorted(members[kind] - others)


def test_signatures_have_no_private_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx", reason="needs the extra docs")
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    public_signature = import_module("signatures").public_signature
    assert public_signature(AdviceList) == "(dataset, scans, advice, trial=0)"
    assert public_signature(FileList) is None


@pytest.mark.parametrize("module", [xskip.questdb, xskip.quixlake], ids=lambda module: module.__name__)
def test_the_reference_has_the_other_packages(module: ModuleType) -> None:
    assert f".. automodule:: {module.__name__}\n   :members:\n   :imported-members:\n" in TEXT
