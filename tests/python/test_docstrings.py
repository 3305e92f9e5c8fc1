"""Every public module, class, function and method says what it is."""

import ast
import pathlib

import pytest

PACKAGES = pathlib.Path(__file__).parents[2] / "python"


def _is_setter(function):
    return any(ast.unparse(decorator).endswith(".setter") for decorator in function.decorator_list)


def _public_definitions(node):
    """Classes and functions that can be reached from outside, with the classes they lie in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.If, ast.Try)):
            yield from _public_definitions(child)
        if not isinstance(child, (ast.ClassDef, ast.FunctionDef)) or child.name.startswith("_"):
            continue
        if not isinstance(child, ast.FunctionDef) or not _is_setter(child):
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
