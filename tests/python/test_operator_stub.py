"""The stub of the operators, which the build writes: it has a method for each operator, with the
arguments of its schema, and type checkers check the programs of users by it."""

import ast
import pathlib
import subprocess
import sys
import sysconfig

import pytest

import caffe2.python
from caffe2.python import _import_c_extension as C
from caffe2.python._core import operator_methods
from caffe2.python._core.operator_help import operator_doc
from caffe2.python._core.operator_types import argument_names

_STUB = pathlib.Path(operator_methods.__file__).with_suffix(".pyi")
_OPERATORS = sorted(key for key in C.registered_operators() if "_ENGINE_" not in key)


@pytest.fixture(scope="module")
def classes():
    """{class of the stub: {method: its node}}."""
    return {node.name: {child.name: child for child in node.body}
            for node in ast.parse(_STUB.read_text()).body if isinstance(node, ast.ClassDef)}


def keywords(method):
    return {argument.arg for argument in method.args.kwonlyargs}


def test_every_operator_has_a_method(classes):
    assert len(_OPERATORS) > 700
    assert set(_OPERATORS) - set(classes["OperatorMethods"]) == {"Python"}  # Net has its own
    assert set(_OPERATORS) == set(classes["OperatorMethodsOfBlob"])


def test_methods_have_the_arguments_of_the_schema(classes):
    for name, method in classes["OperatorMethods"].items():
        missing = (argument_names(name) or frozenset()) - keywords(method)
        assert missing <= {"async"}, name  # a word of Python
    assert {"name", "device_option", "control_input", "engine", "arg"} <= keywords(
        classes["OperatorMethods"]["Relu"])


def test_methods_have_the_docstring_of_help(classes):
    for name, method in classes["OperatorMethods"].items():
        assert ast.get_docstring(method).split() == operator_doc(name).split(), name


def test_results_have_the_number_of_outputs(classes):
    methods = classes["OperatorMethods"]
    results = {name: ast.unparse(methods[name].returns)
               for name in ("Relu", "Print", "SoftmaxWithLoss", "Split")}
    assert results == {"Relu": "BlobReference", "Print": "None", "Split": "Any",
                       "SoftmaxWithLoss": "tuple[BlobReference, BlobReference]"}


_PROGRAM = '''
from caffe2.python import brew, core, workspace
from caffe2.python.model_helper import ModelHelper

model = ModelHelper("m")
scores: core.BlobReference = brew.fc(model, "data", "scores", dim_in=4, dim_out=2)
brew.fc(model, "data", "scores", dim_in="four", dim_out=2)  # E: Argument "dim_in" to "fc"
net = core.Net("n")
y = net.Conv(["x", "w"], "y", kernel=3, pad=1, engine="MKLDNN")
y.Relu([], "z").Sigmoid()
y.Relu([], "z").Sigmod()  # E: has no attribute "Sigmod"
net.Conv(["x", "w"], "y", kernl=3)  # E: Unexpected keyword argument "kernl" for "Conv"
net.Conv(["x", "w"], "y", kernel="x")  # E: Argument "kernel" to "Conv"
net.Conv(["x", "w"], "y", kernels=["3"])  # E: List item 0 has incompatible type "str"
net.Conv(["x", "w"], "y", kernels=(3, 3), order="NHWC")
net.Relu(3, "y")  # E: Argument 1 to "Relu"
net.Relu()  # E: Missing positional argument "inputs" in call to "Relu"
net.Rellu("x")  # E: has no attribute "Rellu"
model.Rellu("x")  # E: has no attribute "Rellu"
softmax, loss = net.SoftmaxWithLoss(["y", "label"], 2)
a, b, c = net.SoftmaxWithLoss(["y", "label"], 2)  # E: (3 expected)
net.Elu("x", alpha=1)
net.Elu("x", alpha="high")  # E: Argument "alpha" to "Elu"
net.Cast("x", "y", to="int32")
net.Cast("x", "y", to=[1])  # E: Argument "to" to "Cast"
net.GivenTensorFill([], "y", shape=[1], values=[0.5], dtype=core.DataType.FLOAT)
net.GivenTensorIntFill([], "y", shape=[1], values=[0.5])  # E: List item 0 has incompatible type
net.Print("x", [])
workspace.RunNet(net, "ten")  # E: Argument 2 to "RunNet"
'''


@pytest.fixture
def installed(tmp_path):
    """A Python into which the package is installed, with what is installed here."""
    pytest.importorskip("mypy")
    root = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    packages = next(root.glob("lib/python*/site-packages"))
    folder = pathlib.Path(caffe2.python.__file__).parents[2]
    (packages / "here.pth").write_text(f"{folder}\n{sysconfig.get_paths()['purelib']}\n")
    return root / "bin" / "python"


def test_programs_of_users_are_checked(installed, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.delenv("MYPYPATH", raising=False)
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--python-executable", str(installed), "--no-error-summary",
         "--cache-dir", str(tmp_path / "cache"), str(program)],
        capture_output=True, text=True, check=False, cwd=tmp_path)
    expected = {number: line.split("# E: ")[1]
                for number, line in enumerate(_PROGRAM.splitlines(), 1) if "# E: " in line}
    found = {int(line.split(":")[1]): line for line in done.stdout.splitlines()
             if ": error: " in line}
    assert sorted(found) == sorted(expected), done.stdout + done.stderr
    assert all(text in found[number] for number, text in expected.items()), done.stdout
