"""Modules of the Python package import each other in one direction, by the layers in its README."""

import ast
import collections
import graphlib
import pathlib
import re

import pytest

_PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
# Packages that may be absent, or need one that may: what needs them imports them when it is called.
_OPTIONAL = {"caffe2.python.onnx", "matplotlib", "onnx", "safetensors", "torch"}

Import = collections.namedtuple("Import", ["target", "line", "in_function"])


def find_modules(root):
    """{name: path} of the modules under the folder that holds the package caffe2."""
    names = {}
    for path in root.glob("caffe2/**/*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def _targets(statement):
    """What an import statement names, with each name that ``from`` takes as part of its module."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if statement.level:
        raise ValueError(f"line {statement.lineno}: a relative import")
    return [f"{statement.module}.{alias.name}" for alias in statement.names]


def find_imports(path):
    """The Imports of a file, and calls of importlib as imports of "importlib()"."""
    found = []

    def visit(node, in_function):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.extend(Import(target, node.lineno, in_function) for target in _targets(node))
        if isinstance(node, ast.Call) and re.search(
                r"\b(import_module|__import__)$", ast.unparse(node.func)):
            found.append(Import("importlib()", node.lineno, in_function))
        in_function = in_function or isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            visit(child, in_function)

    visit(ast.parse(path.read_text()), False)
    return found


def _with_packages(name):
    """a.b.c, a.b, a."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def import_graph(modules):
    """{module: {modules that it imports, wherever the statement is}}. Importing a.b.c imports the
    packages a and a.b first, unless the importing module is in them."""
    graph = {}
    for name, path in modules.items():
        own = set(_with_packages(name))
        graph[name] = {target for found in find_imports(path)
                       for target in _with_packages(found.target)
                       if target in modules and target not in own}
    return graph


def read_layers(readme):
    """{module, or "package.*": number of its layer} of the README's tables."""
    layers, layer = {}, 0
    for line in readme.splitlines():
        heading = re.match(r"### (\d+)\. ", line)
        row = re.match(r"\| `([\w.*]+)` \|", line)
        if heading:
            layer = int(heading[1])
        elif row:
            name = row[1] if row[1].startswith("caffe2.") else f"caffe2.python.{row[1]}"
            if name in layers:
                raise ValueError(f"{name} is in two rows")
            layers[name] = layer
    return layers


def _row_of(module, layers):
    """The row of a module: its own, or the row of a package that it is, or is in."""
    packages = [f"{name}.*" for name in _with_packages(module)]
    return next((row for row in [module, *packages] if row in layers), None)


def find_violations(root, readme):
    """What the modules under a folder do against the README's layers: a list of lines."""
    modules, layers = find_modules(root), read_layers(readme)
    # The packages that all others are in, and _core, whose modules are in two layers.
    rowless = {"caffe2", "caffe2.python", "caffe2.python._core"}
    rows = {name: _row_of(name, layers) for name in sorted(set(modules) - rowless)}
    violations = [f"{name} is in no layer" for name, row in rows.items() if row is None]
    violations += [f"{row} is no module" for row in sorted(set(layers) - set(rows.values()))]
    graph = import_graph(modules)
    for name in rows:
        violations += [
            f"{name} (layer {layers[rows[name]]}) imports {target} (layer {layers[rows[target]]})"
            for target in sorted(graph[name])
            if rows[name] and rows.get(target) and layers[rows[target]] > layers[rows[name]]]
    for name, path in sorted(modules.items()):
        is_package = path.name == "__init__.py"  # which may load modules of its own by name
        violations += [
            f"{name}:{found.line} imports {found.target} in a function"
            for found in find_imports(path) if found.in_function
            and _OPTIONAL.isdisjoint(_with_packages(found.target))
            and not (is_package and found.target == "importlib()")]
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        violations.append("circle: " + " <- ".join(error.args[1]))
    return violations


def test_modules_import_in_one_direction():
    assert find_violations(_PYTHON, (_PYTHON / "README.md").read_text()) == []


def test_core_uses_nothing_that_is_made_of_it():
    modules = find_modules(_PYTHON)
    below = {"caffe2.proto", "caffe2.python.scope", "caffe2.python.context",
             "caffe2.python._import_c_extension", "caffe2.python.caffe2_pybind11_state"}
    core = {name for name in modules if name.startswith("caffe2.python._core.")}
    assert len(core) > 20
    graph = import_graph(modules)
    used = set().union(*(graph[name] for name in core))
    assert {name for name in used - core - {"caffe2.python._core"}
            if name not in below and not name.startswith("caffe2.proto.")} == set()


_README = """
### 1. Below

| module | what it holds |
|---|---|
| `scope` | names |
| `core` | nets |

### 2. Above

| module | what it holds |
|---|---|
| `task` | tasks |
| `layers.*` | layers |
"""


@pytest.fixture
def tree(tmp_path):
    """A function that writes a small package, {module: source}, and finds its violations."""

    def check(readme=_README, **changes):
        sources = {
            "scope": "import threading\n",
            "core": "from caffe2.python import scope\n",
            "task": "from caffe2.python.core import Net\n",
            "layers/__init__": "import importlib\n\ndef load(n):\n    importlib.import_module(n)\n",
            "layers/fc": "from caffe2.python import core, task\n",
            **changes}
        for name, source in sources.items():
            path = tmp_path / "caffe2" / "python" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
        return find_violations(tmp_path, readme)

    return check


def test_the_check_passes_a_tree_in_layers(tree):
    assert tree() == []


def test_the_check_finds_a_circle_through_a_function(tree):
    late = "def run():\n    from caffe2.python import core\n    return core\n"
    in_function, circle = tree(scope=late)
    assert in_function == "caffe2.python.scope:2 imports caffe2.python.core in a function"
    assert circle.startswith("circle: ") and "caffe2.python.scope <- caffe2.python.core" in circle


def test_the_check_finds_a_circle_within_a_layer(tree):
    (circle,) = tree(task="import caffe2.python.layers.fc\n")
    assert "caffe2.python.task <- caffe2.python.layers.fc" in circle


@pytest.mark.parametrize("statement", [
    "from caffe2.python import task", "import caffe2.python.task",
    "from caffe2.python.task import Task", "if True:\n    from caffe2.python.task import Task"])
def test_the_check_finds_an_import_of_a_higher_layer(tree, statement):
    assert tree(scope=statement, task="") == [
        "caffe2.python.scope (layer 1) imports caffe2.python.task (layer 2)"]


@pytest.mark.parametrize("statement, target", [
    ("import pdb", "pdb"), ("from os import path", "os.path"), ("import yaml", "yaml"),
    ("import importlib; importlib.import_module('x')", "importlib")])
def test_the_check_finds_imports_in_functions(tree, statement, target):
    found = tree(core=f"class A:\n    def run(self):\n        {statement}\n")
    assert found[0] == f"caffe2.python.core:3 imports {target} in a function"
    assert len(found) == 1 + ("import_module" in statement)


def test_the_check_lets_functions_import_optional_packages(tree):
    assert tree(core="def show():\n    from matplotlib import pyplot\n    return pyplot\n") == []


def test_the_check_wants_every_module_in_one_row(tree):
    assert tree(extra="") == ["caffe2.python.extra is in no layer"]
    assert tree(_README + "| `gone` | nothing |\n", extra="from caffe2.python import task\n") == [
        "caffe2.python.extra is in no layer", "caffe2.python.gone is no module"]
    with pytest.raises(ValueError, match="task is in two rows"):
        tree(_README + "| `task` | again |\n")
