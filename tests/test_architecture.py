"""The tests of the code's structure: layers, imports, sizes, and citations of rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "xskip"

#: The folders of the package, and the modules at its root, lowest first: a module imports from its own folder, without
#: cycles, and from those before it.
LAYERS = (
    "errors", "paths", "settings", "types", "questdb_files", "expressions", "metadata", "clauses", "indexes", "pruning",
    "results", "metadatastore.legacy", "metadatastore", "metadatastore.maintenance", "standalone",
    "spark", "spark.bridge", "spark.catalyst", "spark.collect", "spark.questdb", "spark.query",
    "indexing", "api", "quixlake", "questdb", "__init__", "cli", "__main__", "xskipper",
)  # fmt: skip
SPARK_FREE = LAYERS[: LAYERS.index("spark")]  # but for the aggregates of index types
#: Who reads Parquet files beside the metadatastore.
PARQUET = {
    "spark.collect.collector",
    "spark.collect.parquet_footers",
    "spark.query.row_group_pruning",
    "cli.demo",
    "quixlake.descriptors",
    "quixlake.custom_metadata_files",
    "quixlake.small_files",
    "questdb_files.parquet_partitions",
}
#: Dependencies that executors may lack. Python workers import every module that the package's root imports.
DRIVER_ONLY = ("cachetools", "confluent_kafka", "jinja2", "tabulate", "tqdm")

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 40
MAX_PARAMETERS = 5


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def layer_of(module: str) -> str:
    """Return the folder of a module, or the module itself if it is at the root of the package."""
    return module if module in LAYERS else module.rpartition(".")[0]


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
JAVA = sorted(PACKAGE.rglob("*.java"))


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text())


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the full names of the modules that an import statement names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            yield whole if whole.removeprefix("xskip.") in FILES else str(node.module)


def own_imports(module: str) -> set[str]:
    """Return the modules of xskip that a module imports, at any place in its code."""
    found = {name for node in ast.walk(tree(module)) for name in imported(node)}
    return {"__init__" if n == "xskip" else n.removeprefix("xskip.") for n in found if n.split(".")[0] == "xskip"}


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes outside of functions, except those below ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from outside_functions(child)


def names_root(node: ast.AST, *roots: str) -> bool:
    return any(name.split(".")[0] in roots for name in imported(node))


def test_every_folder_is_a_layer() -> None:
    assert {layer_of(module) for module in FILES} == set(LAYERS)


def test_the_table_of_the_layers_is_complete() -> None:
    table = re.findall(r"^``([\w.]+)`` ", (ROOT / "CONTRIBUTING.rst").read_text(), re.MULTILINE)
    assert tuple(table) == LAYERS


@pytest.mark.parametrize("path", JAVA, ids=lambda p: p.stem)
def test_java_imports_come_from_the_same_package_or_from_below(path: Path) -> None:
    packages = re.findall(r"^``io/xskip/(\w+)`` ", (ROOT / "CONTRIBUTING.rst").read_text(), re.MULTILINE)
    below = packages[: packages.index(path.parent.name) + 1]
    assert set(re.findall(r"^import io\.xskip\.(\w+)\.", path.read_text(), re.MULTILINE)) <= set(below)


#: The Java files that look at the thread's session: to restore it, or where Spark has made it that of the query.
_OF_THREADS = {"CallbackExecutor", "HookState", "SparkCompat"}


@pytest.mark.parametrize("path", JAVA, ids=lambda p: p.stem)
def test_java_gets_its_session_from_the_caller(path: Path) -> None:
    """Only a request for files looks at the thread's settings, because Spark's readers take some of them."""
    text = path.read_text()
    assert not re.search(r"SparkSession\.active\(|getDefaultSession|SparkEnv\$?\.", text)
    assert "getActiveSession" not in text or path.stem in _OF_THREADS
    assert "SQLConf.get()" not in text or path.stem == "PruningRequest"


@pytest.mark.parametrize("module", FILES)
def test_imports_come_from_the_same_layer_or_from_below(module: Any) -> None:
    own = LAYERS.index(layer_of(module))
    assert {other for other in own_imports(module) if LAYERS.index(layer_of(other)) > own} == set()


def test_no_test_imports_another() -> None:
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    importing = {
        p.name for p, text in texts.items() if re.search(r"^(from|import) tests\.([\w.]+\.)?test_", text, re.M)
    }
    assert importing == set()


def test_there_are_no_cycles() -> None:
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for other in sorted(own_imports(module)):
                visit(other, (*path, module))
            done.add(module)

    for module in FILES:
        visit(module, ())
    assert done == set(FILES)


@pytest.mark.parametrize("module", [m for m in FILES if layer_of(m) in SPARK_FREE])
def test_spark_is_imported_in_its_own_layers_and_inside_the_aggregates_of_indexes(module: Any) -> None:
    nodes = outside_functions(tree(module)) if module.startswith("indexes.") else ast.walk(tree(module))
    assert [ast.unparse(node) for node in nodes if names_root(node, "pyspark", "py4j")] == []


@pytest.mark.parametrize("module", [m for m in FILES if layer_of(m) != "spark.bridge"])
def test_py4j_is_imported_by_the_bridge_alone(module: Any) -> None:
    assert [ast.unparse(node) for node in ast.walk(tree(module)) if names_root(node, "py4j")] == []


@pytest.mark.parametrize("module", [m for m in FILES if m not in PARQUET and not m.startswith("metadatastore")])
def test_parquet_files_are_opened_by_the_metadatastore_and_the_reader_of_footers(module: Any) -> None:
    found = {name for node in ast.walk(tree(module)) for name in imported(node)}
    assert not {name for name in found if name.startswith("pyarrow.parquet")}


@pytest.mark.parametrize("module", FILES)
def test_dependencies_that_executors_may_lack_are_imported_inside_functions(module: Any) -> None:
    nodes = outside_functions(tree(module))
    assert [ast.unparse(node) for node in nodes if names_root(node, *DRIVER_ONLY)] == []


@pytest.mark.parametrize("path", [*FILES.values(), *JAVA], ids=lambda p: p.name)
def test_files_are_short(path: Any) -> None:
    assert len(path.read_text().splitlines()) < MAX_FILE_LINES


def test_the_wheel_holds_every_file_of_the_package() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    patterns = [
        (PACKAGE.parent.joinpath(*package.split(".")), pattern)
        for package, listed in setup["options.package_data"].items()
        for pattern in listed.split()
    ]
    shipped = {path for folder, pattern in patterns for path in folder.glob(pattern)}
    assert {path for path in PACKAGE.rglob("*.*") if path.suffix not in (".py", ".pyc")} == shipped


def functions(module: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree(module)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


def line_count(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function without its docstring."""
    whole = line_count(function)
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        whole -= line_count(first)
    return whole


@pytest.mark.parametrize("module", FILES)
def test_functions_are_short(module: Any) -> None:
    assert [f"{f.name}: {code_lines(f)} lines" for f in functions(module) if code_lines(f) >= MAX_FUNCTION_LINES] == []


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    found = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [a for a in found if a.arg not in ("self", "cls")]


@pytest.mark.parametrize("module", FILES)
def test_functions_have_few_parameters(module: Any) -> None:
    many = [f"{f.name}: {len(parameters(f))}" for f in functions(module) if len(parameters(f)) > MAX_PARAMETERS]
    assert many == []


@pytest.mark.parametrize("module", FILES)
def test_truth_values_are_passed_by_name(module: Any) -> None:
    unnamed = [
        f"{f.name}({a.arg})"
        for f in functions(module)
        for a in (*f.args.posonlyargs, *f.args.args)
        if a.annotation is not None and "bool" in re.findall(r"[\w.]+", ast.unparse(a.annotation))
    ]
    assert unnamed == []


@pytest.mark.parametrize("module", FILES)
def test_no_bare_except(module: Any) -> None:
    assert not [n.lineno for n in ast.walk(tree(module)) if isinstance(n, ast.ExceptHandler) and n.type is None]


@pytest.mark.parametrize("module", FILES)
def test_modules_say_what_they_are_and_what_they_export(module: Any) -> None:
    assert ast.get_docstring(tree(module))
    exported = [ast.unparse(n.value) for n in tree(module).body
                if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"]  # fmt: skip
    for names in map(ast.literal_eval, exported):
        assert len(names) == len(set(names))


# --- rules --------------------------------------------------------------------------------------------------------

DEFINED = re.compile(r"^\*\*\[([A-Z]+(?:-[A-Z]+)*-[\d.]+)\]\*\*", re.MULTILINE)
CITED = re.compile(r"\[([A-Z]{3}(?:-[A-Z]+)*-[\d.]+)\]")
_NO_RULES = {"index.rst", "functions.rst", "custom-index.rst", "reader-options.rst"}  # lists, tables, a tutorial
SPECS = sorted(p for p in (ROOT / "specs").glob("*.rst") if p.name not in _NO_RULES)
CITATIONS = {rule for path in (ROOT / "tests").rglob("*.py") for rule in CITED.findall(path.read_text())}
RULES = {path.name: DEFINED.findall(path.read_text()) for path in SPECS}


def test_no_rule_is_defined_twice() -> None:
    every = [rule for rules in RULES.values() for rule in rules]
    assert len(every) == len(set(every)) > 0


@pytest.mark.parametrize("spec", RULES)
def test_every_rule_is_cited_by_a_test(spec: Any) -> None:
    assert RULES[spec]
    assert sorted(set(RULES[spec]) - CITATIONS) == []


def test_every_citation_is_of_a_rule() -> None:
    """Tests cite only existing rules; families of rules without a page in ``specs/`` are not checked."""
    every = {rule for rules in RULES.values() for rule in rules}
    families = {rule.split("-")[0] for rule in every}
    assert sorted(rule for rule in CITATIONS - every if rule.split("-")[0] in families) == []


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.name)
def test_every_rule_stands_at_the_start_of_a_line(path: Any) -> None:
    """Each rule begins a line, because the other tests do not find a rule inside of a paragraph."""
    text = path.read_text()
    assert len(re.findall(r"\*\*\[[A-Z][A-Z0-9.-]+\]\*\*", text)) == len(DEFINED.findall(text))
