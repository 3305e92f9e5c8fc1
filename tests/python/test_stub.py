"""The type stub of the extension module declares what the module has."""

import ast
import inspect
import pathlib
import re

import pytest

from caffe2.python import _import_c_extension  # noqa: F401 - gives the classes their methods
from caffe2.python import caffe2_pybind11_state as module

_STUB = (pathlib.Path(__file__).resolve().parents[2]
         / "python" / "caffe2" / "python" / "caffe2_pybind11_state.pyi")
_HELP = "run: PYTHONPATH=build/release/python python scripts/make_stub.py"


@pytest.fixture(scope="module")
def stub():
    return ast.parse(_STUB.read_text())


def declared(body):
    """{name: node} of functions, classes and variables of a module or class."""
    names = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = node
    return names


def real_names(namespace):
    return {name for name in vars(namespace)
            if not name.startswith("__") and not name.startswith("_pybind11")}


def test_module_names(stub):
    assert set(declared(stub.body)) == real_names(module), _HELP


def test_members_of_classes(stub):
    for name, node in declared(stub.body).items():
        cls = getattr(module, name)
        if not isinstance(node, ast.ClassDef) or hasattr(cls, "__members__"):
            continue
        members = {member for member in declared(node.body) if not member.startswith("__")}
        assert members == real_names(cls), f"{name}: {_HELP}"


def parameters(doc):
    """The names of the parameters in the signature that begins a docstring of pybind11, or None
    where it has several or none."""
    signature = (doc or "").split("\n")[0]
    match = re.match(r"\w+\((.*)\) -> ", signature)
    if match is None or "Overloaded function" in doc:
        return None
    names, depth = [], 0
    for part in re.split(r"([\[\](){}<>,])", match[1].replace("->", "")):
        depth += {"[": 1, "(": 1, "{": 1, "<": 1, "]": -1, ")": -1, "}": -1, ">": -1}.get(part, 0)
        name = re.match(r"\s*(\w+):", part)
        if depth == 0 and name:
            names.append(name[1])
    return names


def test_parameters_are_those_of_the_module(stub):
    checked = 0
    scopes = [(module, stub.body)] + [
        (getattr(module, name), node.body) for name, node in declared(stub.body).items()
        if isinstance(node, ast.ClassDef)]
    for namespace, body in scopes:
        for name, node in declared(body).items():
            if not isinstance(node, ast.FunctionDef):
                continue
            function = inspect.getattr_static(namespace, name)
            if isinstance(function, property):
                continue
            expected = parameters(getattr(function, "__func__", function).__doc__)
            if expected is None:
                continue
            arguments = node.args
            stubbed = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
            assert stubbed == expected, f"{namespace.__name__}.{name}: {_HELP}"
            checked += 1
    assert checked > 100


def test_parameters_of_functions(stub):
    """Signatures name the parameters that pybind11 knows."""
    nodes = declared(stub.body)
    assert [a.arg for a in nodes["run_net"].args.args] == ["name", "num_iter", "allow_fail"]
    assert len(nodes["run_net"].args.defaults) == 2
    assert ast.unparse(nodes["run_net"].returns) == "bool"


def test_package_is_typed():
    assert (_STUB.parent / "py.typed").exists()
