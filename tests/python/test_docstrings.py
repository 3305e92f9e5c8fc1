"""Every public module, class, function and method has a docstring; the central modules also declare
the types of arguments and results."""

import ast
import pathlib

import pytest

PACKAGES = pathlib.Path(__file__).parents[2] / "python"


def _is_documented_elsewhere(function):
    """True for a setter, whose getter has the docstring, and for an overload."""
    return any(ast.unparse(decorator).endswith((".setter", "overload"))
               for decorator in function.decorator_list)


def _public_definitions(node):
    """Classes and functions that can be reached from outside, with the classes they lie in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.If, ast.Try)):
            yield from _public_definitions(child)
        if not isinstance(child, (ast.ClassDef, ast.FunctionDef)) or child.name.startswith("_"):
            continue
        if not isinstance(child, ast.FunctionDef) or not _is_documented_elsewhere(child):
            yield child
        if isinstance(child, ast.ClassDef):
            yield from _public_definitions(child)


@pytest.mark.parametrize(
    "path", sorted(PACKAGES.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGES)))
def test_public_definitions_have_docstrings(path):
    module = ast.parse(path.read_text())
    assert not module.body or ast.get_docstring(module)
    bare = [f"{path.name}:{definition.lineno} {definition.name}"
            for definition in _public_definitions(module) if not ast.get_docstring(definition)]
    assert not bare


_TYPED = sorted(
    path for pattern in (
        "_core/*", "checkpoint", "context", "control_ops_util", "scope", "schema", "session",
        "task", "net_builder", "workspace", "utils", "predictor_class", "model_helper", "brew",
        "helpers/*", "optimizer", "_*optimizer*", "*data_parallel*", "layers/*",
        "layer_model_helper", "layer_model_instantiator", "modeling/parameter_*", "control", "cnn",
        "dataio", "dataset", "queue_util", "record_queue", "pipeline", "*_reader", "recurrent",
        "muji", "models/*", "predictor/*", "modeling/initializers", "modeling/net_modifier",
        "regularizer", "normalizer")
    for path in (PACKAGES / "caffe2" / "python").glob(f"{pattern}.py"))


def _untyped(function):
    """The arguments of a function that have no type, and "->" if its result has none."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
             *filter(None, (arguments.vararg, arguments.kwarg))]
    names = [argument.arg for argument in every if argument.annotation is None]
    return [name for name in names if name not in ("self", "cls")] + (
        ["->"] if function.returns is None else [])


@pytest.mark.parametrize("path", _TYPED, ids=lambda path: str(path.relative_to(PACKAGES)))
def test_public_functions_have_types(path):
    untyped = {f"{path.name}:{definition.lineno} {definition.name}": _untyped(definition)
               for definition in _public_definitions(ast.parse(path.read_text()))
               if isinstance(definition, ast.FunctionDef)}
    assert {name: missing for name, missing in untyped.items() if missing} == {}


def test_types_are_looked_for():
    (function,) = ast.parse("def f(self, a: int, b, *, c=0, **d) -> None: pass").body
    assert _untyped(function) == ["b", "c", "d"]
    (function,) = ast.parse("def f(a: int): pass").body
    assert _untyped(function) == ["->"]
    assert len(_TYPED) > 120
