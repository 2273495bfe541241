"""The registry knows xskip's own index types before their modules are imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import xskip
from xskip.indexes import registry
from xskip.metadata.table import IndexDefinition

TYPES = {name: registry.type_of(name) for name in registry.BUILT_IN}


def test_the_table_agrees_with_the_classes() -> None:
    assert {name: kind and kind.name for name, kind in TYPES.items()} == {name: name for name in registry.BUILT_IN}
    assert {name for name, kind in TYPES.items() if kind and kind.of_paths} == registry._OF_PATHS
    modules = {path.stem for path in Path(registry.__file__).parent.glob("*.py")}
    assert set(registry.BUILT_IN) <= modules


def test_all_index_types_are_public_names() -> None:
    assert {kind: getattr(xskip, kind) for kind in registry.BUILT_IN.values()} == {
        kind.__name__: kind for kind in TYPES.values() if kind
    }
    assert {getattr(xskip.indexes, name).__name__ for name in registry.BUILT_IN.values()} <= set(xskip.indexes.__all__)
    assert all(hasattr(xskip.indexes, name) for name in xskip.indexes.__all__)
    with pytest.raises(AttributeError, match=r"module 'xskip\.indexes' has no attribute 'Another'"):
        xskip.indexes.__getattr__("Another")


def test_indexes_of_paths_are_found_without_the_modules_of_the_others() -> None:
    code = (
        "import sys\n"
        "from xskip.indexes.registry import index_of, keys_of_paths, register\n"
        "from xskip.metadata.table import IndexDefinition\n"
        "names = ('minmax', 'pathbounds', 'another', 'bloomfilter')\n"
        "definitions = [IndexDefinition(name, ('a',)) for name in names]\n"
        "assert keys_of_paths(definitions[:1]) == []\n"
        "assert keys_of_paths(definitions[2:]) == []\n"
        "assert 'xskip.clauses' not in sys.modules\n"
        "assert index_of(definitions[0]).columns == ('a',)\n"
        "assert 'xskip.indexes.prefix' not in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    pattern = xskip.PathBounds("a", "f{a}")
    path = IndexDefinition("pathbounds", pattern.columns, params=pattern.params)
    other = IndexDefinition("minmax", ("a",))
    assert registry.keys_of_paths([other, path]) == [path.key]
