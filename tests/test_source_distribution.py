"""The tests run from the source distribution, which has everything that they read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: What tools leave in a checkout: in any folder, and at the top.
_LEFT = ("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "spark-warehouse")
_LEFT_AT_THE_TOP = (".git", "build", "dist")
_SECONDS = 300


def is_left(path: Path) -> bool:
    """Return whether a file or folder is not part of the project."""
    at_the_top = path.parent == ROOT and (path.name in _LEFT_AT_THE_TOP or path.name.startswith(".venv"))
    return at_the_top or path.name in _LEFT or path.suffix in (".egg-info", ".pyc")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution of a copy of the checkout, and return the folder with its content."""
    folder = tmp_path_factory.mktemp("sdist")
    shutil.copytree(ROOT, folder / "checkout", ignore=lambda at, names: {n for n in names if is_left(Path(at) / n)})
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(folder / "dist")]
    run(command, folder / "checkout")
    (archive,) = (folder / "dist").glob("xskip-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "content", filter="data")
    (content,) = (folder / "content").iterdir()
    return content


def run(command: list[str], *folders: Path) -> str:
    """Run a command in the first of the folders, which Python imports from."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = subprocess.run(
        command, cwd=folders[0], env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_it_has_the_files_of_the_checkout(unpacked: Path) -> None:
    def files(root: Path) -> set[str]:
        found = (path for path in root.rglob("*") if path.is_file() and not set(path.parts) & set(_LEFT))
        return {str(path.relative_to(root)) for path in found}

    folders = ("tests", "specs", "docs", "examples", "benchmarks", "xskip", ".ci")
    for name in folders:
        assert files(unpacked / name) == files(ROOT / name), name
    expected = {"README.rst", "CHANGELOG.rst", "CONTRIBUTING.rst", "SECURITY.rst", "Makefile", "LICENSE", "conftest.py"}
    assert expected <= {path.name for path in unpacked.iterdir()}


#: A plugin that prints the modules of all tests that are collected, and leaves few of the tests to run.
PLUGIN = """
def pytest_collection_modifyitems(items):
    modules = [item.nodeid.split("::")[0] for item in items]
    for module in sorted(set(modules)):
        print("collected", module)
    chosen = ("tests/test_architecture.py", "tests/types/test_bloom_bits.py", "tests/test_readme.py")
    items[:] = [item for item, module in zip(items, modules) if module.startswith(chosen)]
    assert {each for each in chosen if any(item.nodeid.startswith(each) for item in items)} == set(chosen)
"""


def test_all_tests_are_collected_and_tests_pass(unpacked: Path, tmp_path: Path) -> None:
    (tmp_path / "few_tests.py").write_text(PLUGIN)
    plugins = ["-p", "no:cacheprovider", "-p", "few_tests"]
    # to rewrite the assertions of all modules takes longer than to import them
    command = [sys.executable, "-m", "pytest", "-q", "-s", "--assert=plain", *plugins, "tests"]
    said = run(command, unpacked, tmp_path)
    own = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert own == set(re.findall(r"^collected (\S+)$", said, re.MULTILINE))
    assert re.search(r"^\d+ passed", said, re.MULTILINE)
