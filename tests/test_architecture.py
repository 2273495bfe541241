"""The tests of the code's structure: layers, imports, sizes, and citations of rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "xskip"

#: The folders of the package, and the modules at its root, lowest first: a module imports from its own folder, without
#: cycles, and from those before it.
LAYERS = (
    "release", "hints", "errors", "token_text", "arrow_filters", "paths", "column_paths", "settings", "data_systems",
    "avro_container",
    "types", "questdb_files", "expressions", "metadata", "clauses", "indexes", "pruning", "results",
    "metadatastore.legacy", "metadatastore", "metadatastore.maintenance", "query_history", "protocol", "engine",
    "inspection", "standalone", "spark",
    "spark.bridge", "spark.catalyst", "spark.collect", "spark.quixlake", "spark.questdb", "spark.query", "indexing",
    "api", "quixlake", "questdb", "__init__", "cli", "__main__", "xskipper",
)  # fmt: skip
SPARK_FREE = LAYERS[: LAYERS.index("spark")]  # but for the aggregates of index types
#: Who reads Parquet files beside the metadatastore.
PARQUET = {
    "query_history.files",
    "spark.collect.collector",
    "spark.collect.footer_results",
    "spark.collect.parquet_footers",
    "spark.collect.recorded_schema",
    "engine.metadata_row_groups",
    "cli.demo",
    "quixlake.descriptors",
    "quixlake.custom_metadata_files",
    "quixlake.small_files",
    "questdb_files.parquet_partitions",
}
#: Dependencies that executors may lack. Python workers import every module that the package's root imports.
DRIVER_ONLY = ("cachetools", "confluent_kafka", "fastavro", "jinja2", "tabulate", "tqdm")

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


def test_java_imports_come_from_the_same_package_or_from_below() -> None:
    packages = re.findall(r"^``io/xskip/(\w+)`` ", (ROOT / "CONTRIBUTING.rst").read_text(), re.MULTILINE)
    assert {path.parent.name for path in JAVA} == {*packages, "questdb"}
    upward = {
        path.name: above
        for path in JAVA
        for imports in [set(re.findall(r"^import io\.xskip\.(\w+)\.", path.read_text(), re.MULTILINE))]
        if (above := imports - set(packages[: packages.index(path.parent.name) + 1]))
    }
    assert upward == {}


def java_words(path: Path) -> set[str]:
    """Return the words of a Java file outside of texts and comments."""
    without = re.sub(
        r"""'(?:\\.|[^\\'])'|"(?:\\.|[^"\\])*"|/\*.*?\*/|//[^\n]*""", " ", path.read_text(), flags=re.DOTALL
    )
    return set(re.findall(r"\w+", without))


def test_no_java_classes_refer_to_each_other_in_a_circle() -> None:
    """Packages order most classes; within a package, files must have an order too."""
    classes = {path.stem: path for path in JAVA}
    assert len(classes) == len(JAVA)
    uses = {
        name: {w for w in java_words(path) if w != name and w in classes and classes[w].parent == path.parent}
        for name, path in classes.items()
    }
    assert sum(map(len, uses.values())) > 100
    while leaves := [name for name, used in uses.items() if not used & uses.keys()]:
        for name in leaves:
            del uses[name]
    assert uses == {}


#: The files that name data systems and are not below a folder of one: the registries, and the command line.
_REGISTRIES = ("data_systems.py", "errors.py", "spark/query/extensions.py", "cli/")


def test_only_registries_and_their_own_folders_name_data_systems() -> None:
    """A data system is added without a change in the core."""
    naming = {
        path
        for file in (*FILES.values(), *JAVA)
        if re.search(r"quix|questdb", file.read_text(), re.IGNORECASE)
        and not (path := file.relative_to(PACKAGE).as_posix()).startswith(_REGISTRIES)
        and not re.search(r"quixlake/|questdb(_files)?/", path)
    }
    assert naming == set()


#: The Java files that look at the thread's session: to restore it, or where Spark has made it that of the query.
_OF_THREADS = {"CallbackExecutor", "HookState", "SparkCompat"}


def test_java_gets_its_session_from_the_caller() -> None:
    """Only a request for files looks at the thread's settings, because Spark's readers take some of them."""
    texts = {path.stem: path.read_text() for path in JAVA}
    assert [
        n for n, text in texts.items() if re.search(r"SparkSession\.active\(|getDefaultSession|SparkEnv\$?\.", text)
    ] == []
    assert {name for name, text in texts.items() if "getActiveSession" in text} <= _OF_THREADS
    assert {name for name, text in texts.items() if "SQLConf.get()" in text} == {"PruningRequest"}


def test_imports_come_from_the_same_layer_or_from_below() -> None:
    upward = {
        (module, other)
        for module in FILES
        for other in own_imports(module)
        if LAYERS.index(layer_of(other)) > LAYERS.index(layer_of(module))
    }
    assert upward == set()


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


def imports_of(module: str, nodes: Iterator[ast.AST], *roots: str) -> list[str]:
    """Return the imports of some packages among the nodes of a module, each with the module's name."""
    return [f"{module}: {ast.unparse(node)}" for node in nodes if names_root(node, *roots)]


def test_spark_is_imported_in_its_own_layers_and_inside_the_aggregates_of_indexes() -> None:
    free = [m for m in FILES if layer_of(m) in SPARK_FREE]
    nodes = {m: outside_functions(tree(m)) if m.startswith("indexes.") else ast.walk(tree(m)) for m in free}
    assert [line for module in free for line in imports_of(module, nodes[module], "pyspark", "py4j")] == []


def test_py4j_is_imported_by_the_bridge_alone() -> None:
    importing = {layer_of(module) for module in FILES if imports_of(module, ast.walk(tree(module)), "py4j")}
    assert importing == {"spark.bridge"}


def test_parquet_files_are_opened_by_the_metadatastore_and_the_reader_of_footers() -> None:
    importing = {
        module
        for module in FILES
        for node in ast.walk(tree(module))
        if any(name.startswith("pyarrow.parquet") for name in imported(node))
    }
    assert {module for module in importing if not module.startswith("metadatastore")} == PARQUET


def test_dependencies_that_executors_may_lack_are_imported_inside_functions() -> None:
    found = [line for module in FILES for line in imports_of(module, outside_functions(tree(module)), *DRIVER_ONLY)]
    assert found == []


def test_files_are_short() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in (*FILES.values(), *JAVA)}
    assert {path.name: count for path, count in lines.items() if count >= MAX_FILE_LINES} == {}


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


def test_functions_are_short() -> None:
    long = [
        f"{module}.{f.name}: {code_lines(f)} lines"
        for module in FILES
        for f in functions(module)
        if code_lines(f) >= MAX_FUNCTION_LINES
    ]
    assert long == []


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    found = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [a for a in found if a.arg not in ("self", "cls")]


def test_functions_have_few_parameters() -> None:
    many = [
        f"{module}.{f.name}: {len(parameters(f))}"
        for module in FILES
        for f in functions(module)
        if len(parameters(f)) > MAX_PARAMETERS
    ]
    assert many == []


def test_truth_values_are_passed_by_name() -> None:
    unnamed = [
        f"{module}.{f.name}({a.arg})"
        for module in FILES
        for f in functions(module)
        for a in (*f.args.posonlyargs, *f.args.args)
        if a.annotation is not None and "bool" in re.findall(r"[\w.]+", ast.unparse(a.annotation))
    ]
    assert unnamed == []


def test_no_bare_except() -> None:
    bare = [
        f"{module}:{n.lineno}"
        for module in FILES
        for n in ast.walk(tree(module))
        if isinstance(n, ast.ExceptHandler) and n.type is None
    ]
    assert bare == []


def test_modules_say_what_they_are() -> None:
    assert [module for module in FILES if not ast.get_docstring(tree(module))] == []


def test_modules_export_each_name_once() -> None:
    exported = {
        module: ast.literal_eval(ast.unparse(n.value))
        for module in FILES
        for n in tree(module).body
        if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"
    }
    assert len(exported) > 100
    assert {module for module, names in exported.items() if len(names) != len(set(names))} == set()


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


def test_every_rule_is_cited_by_a_test() -> None:
    assert [spec for spec, rules in RULES.items() if not rules] == []
    assert sorted(rule for rules in RULES.values() for rule in rules if rule not in CITATIONS) == []


def test_every_citation_is_of_a_rule() -> None:
    """Tests cite only existing rules; families of rules without a page in ``specs/`` are not checked."""
    every = {rule for rules in RULES.values() for rule in rules}
    families = {rule.split("-")[0] for rule in every}
    assert sorted(rule for rule in CITATIONS - every if rule.split("-")[0] in families) == []


def test_every_rule_stands_at_the_start_of_a_line() -> None:
    """Each rule begins a line, because the other tests do not find a rule inside of a paragraph."""
    texts = {path.name: path.read_text() for path in SPECS}
    elsewhere = {
        name
        for name, text in texts.items()
        if len(re.findall(r"\*\*\[[A-Z][A-Z0-9.-]+\]\*\*", text)) != len(DEFINED.findall(text))
    }
    assert elsewhere == set()


def test_the_files_that_contributing_names_exist() -> None:
    names = set(re.findall(r"``((?:io/xskip/)?\w+/[\w/]+(?:\.py)?)``", (ROOT / "CONTRIBUTING.rst").read_text()))
    places = (ROOT, PACKAGE, PACKAGE / "spark" / "java")
    assert len(names) > 40
    missing = [n for n in names if not any((place / f"{n}{end}").exists() for place in places for end in ("", ".java"))]
    assert missing == []
