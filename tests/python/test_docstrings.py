"""Every public module, class, function and method has a docstring, and every public function and
method declares the types of its arguments and its result."""

import ast
import pathlib

import pytest

PACKAGES = pathlib.Path(__file__).parents[2] / "python"
_of_each_module = pytest.mark.parametrize(
    "path", sorted(PACKAGES.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGES)))


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


@_of_each_module
def test_public_definitions_have_docstrings(path):
    module = ast.parse(path.read_text())
    assert not module.body or ast.get_docstring(module)
    bare = [f"{path.name}:{definition.lineno} {definition.name}"
            for definition in _public_definitions(module) if not ast.get_docstring(definition)]
    assert not bare


def _public_functions(module):
    """Functions and methods that can be reached from outside, also __init__ and the like."""
    for definition in _public_definitions(module):
        if isinstance(definition, ast.FunctionDef):
            yield definition
        else:
            yield from (method for method in definition.body
                        if isinstance(method, ast.FunctionDef) and method.name.startswith("__"))


def _untyped(function):
    """The arguments of a function that have no type, and "->" if its result has none."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
             *filter(None, (arguments.vararg, arguments.kwarg))]
    names = [argument.arg for argument in every if argument.annotation is None]
    return [name for name in names if name not in ("self", "cls")] + (
        ["->"] if function.returns is None else [])


@_of_each_module
def test_public_functions_have_types(path):
    untyped = {f"{path.name}:{definition.lineno} {definition.name}": _untyped(definition)
               for definition in _public_functions(ast.parse(path.read_text()))}
    assert {name: missing for name, missing in untyped.items() if missing} == {}


def test_types_are_looked_for():
    module = ast.parse("class A:\n def __init__(self): pass\n def f(self): pass\n"
                       "def g(): pass\ndef _h(): pass")
    assert sorted(f.name for f in _public_functions(module)) == ["__init__", "f", "g"]
    (function,) = ast.parse("def f(self, a: int, b, *, c=0, **d) -> None: pass").body
    assert _untyped(function) == ["b", "c", "d"]
    (function,) = ast.parse("def f(a: int): pass").body
    assert _untyped(function) == ["->"]
    assert len(list(PACKAGES.rglob("*.py"))) > 200
