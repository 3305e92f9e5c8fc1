"""The type stub of the extension module declares what the module has."""

import ast
import pathlib

import pytest

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
    # caffe2.python.workspace adds some methods to these; the stub describes the module alone.
    added = {"Workspace": {"run", "create_net", "feed_blob", "remove_blob"}, "Blob": {"feed"}}
    for name, node in declared(stub.body).items():
        cls = getattr(module, name)
        if not isinstance(node, ast.ClassDef) or hasattr(cls, "__members__"):
            continue
        members = {member for member in declared(node.body) if not member.startswith("__")}
        assert members == real_names(cls) - added.get(name, set()), f"{name}: {_HELP}"


def test_parameters_of_functions(stub):
    """Signatures name the parameters that pybind11 knows."""
    nodes = declared(stub.body)
    assert [a.arg for a in nodes["run_net"].args.args] == ["name", "num_iter", "allow_fail"]
    assert len(nodes["run_net"].args.defaults) == 2
    assert ast.unparse(nodes["run_net"].returns) == "bool"


def test_package_is_typed():
    assert (_STUB.parent / "py.typed").exists()
