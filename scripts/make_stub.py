"""Writes the type stub of the extension module, from its own docstrings.

    PYTHONPATH=build/release/python python scripts/make_stub.py

pybind11 begins each docstring with the signature. Run it after a change of python/pybind_*.cc;
tests/python/test_stub.py compares the stub with the module.
"""

import enum
import inspect
import pathlib
import re
import types

from caffe2.python import _import_c_extension  # noqa: F401 - gives the classes their methods
from caffe2.python import caffe2_pybind11_state as module

STUB = (pathlib.Path(__file__).resolve().parents[1]
        / "python" / "caffe2" / "python" / "caffe2_pybind11_state.pyi")

_HEADER = '''"""The extension module of caffe2.python; made by scripts/make_stub.py."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy
'''

# What pybind11's own classes have, as does every enumeration of it.
_INHERITED = {"__module__", "__doc__", "__weakref__", "__dict__", "__new__", "__members__",
              "__class__", "__getstate__", "__setstate__"}

# Special methods that the stub declares.
_SPECIAL = {"__init__", "__dlpack__", "__dlpack_device__"}


def _signature(name, doc):
    """(parameters, result) of the signature that begins a docstring, in types of this file."""
    match = re.match(rf"{re.escape(name)}\((.*)\) -> (.*)$", (doc or "").split("\n")[0])
    if match is None:
        return "*args: Any, **kwargs: Any", "Any"
    # A std::string takes both kinds of strings.
    parameters = re.sub(r"\bstr\b", "str | bytes", _plain(match[1]))
    return parameters, _result(match[2])


def _result(text):
    """The type of a result; of an object that pybind11 knows no more of, any."""
    return "Any" if text == "object" else _plain(text)


def _plain(text):
    """A signature without what is no Python expression or differs between versions."""
    text = text.replace("caffe2.python.caffe2_pybind11_state.", "")
    text = re.sub(r"<[^<>]*(<[^<>]*>)?[^<>]*>", "...", text)
    text = re.sub(r"numpy\.ndarray\[[^\[\]]*\]|numpy\.typing\.\w+(\[[^\[\]]*\])?",
                  "numpy.ndarray", text)
    text = re.sub(r"(typing|collections\.abc)\.", "", text)
    text = re.sub(r"typing_extensions\.\w+|types\.CapsuleType|capsule", "Any", text)
    text = re.sub(r"\b(Buffer|function|handle)\b(?!:)", "Any", text)
    text = re.sub(r"[\w:]*::[\w:]+", "Any", text)
    text = re.sub(r"\bSet\[", "AbstractSet[", text)
    return re.sub(r"Supports(Int|Float) \| SupportsIndex", lambda kind: kind[1].lower(), text)


def _documentation(doc, indent):
    """The docstring after the signature, indented; "..." if there is none."""
    lines = inspect.cleandoc(doc or "").split("\n")
    text = "\n".join(lines[1:]).strip() if lines[0].endswith(")") or "->" in lines[0] else ""
    return _docstring("" if "Overloaded function" in (doc or "") else text, indent)


def _docstring(text, indent):
    joined = " ".join((text or "").split())
    return f'{indent}"""{joined}"""\n' if joined else f"{indent}...\n"


def _function(name, function, indent="", decorator=""):
    doc = function.__doc__ or ""
    if "Overloaded function" in doc:
        parameters, result = "*args: Any, **kwargs: Any", "None" if name == "__init__" else "Any"
        if indent and not decorator:
            parameters = "self, " + parameters
    else:
        parameters, result = _signature(name, doc)
    head = f"{indent}{decorator}" if decorator else ""
    return (f"{head}{indent if head else indent}def {name}({parameters}) -> {result}:\n"
            + _documentation(doc, indent + "    "))


def _class(name, cls, indent=""):
    lines = [f"{indent}class {name}:\n"]
    inner = indent + "    "
    doc = (cls.__doc__ or "").split("\n")[0]
    if doc:
        lines.append(f'{inner}"""{doc}"""\n')
    members = getattr(cls, "__members__", None)
    if members:
        lines += [f"{inner}{member}: {name}\n" for member in members]
        lines += [f"{inner}__members__: dict[str, {name}]\n"]
        lines += [f"{inner}@property\n{inner}def {key}(self) -> {kind}: ...\n"
                  for key, kind in (("name", "str"), ("value", "int"))]
        lines += [f"{inner}def {key}(self) -> int: ...\n" for key in ("__int__", "__index__")]
    for key, value in sorted(vars(cls).items()):
        if key in _INHERITED or (key.startswith("__") and key not in _SPECIAL) or \
                (members and (key in members or key in ("name", "value", "__init__"))):
            continue
        if key.startswith("_pybind11"):
            continue
        if key == "__init__" and "(self: " not in (value.__doc__ or ""):
            continue  # made by the module only
        lines.append(_member(key, value, inner))
    if len(lines) == 1:
        lines.append(f"{inner}...\n")
    return "".join(lines)


def _member(key, value, inner):
    if isinstance(value, type):
        return _class(key, value, inner)
    if isinstance(value, staticmethod):
        return _function(key, value.__func__, inner, "@staticmethod\n")
    if isinstance(value, property):
        result = re.search(r"-> (.*)$", (value.fget.__doc__ or "").split("\n")[0])
        result = _result(result[1]) if result else "Any"
        if type(value) is not property:  # pybind11's property of a class
            return f"{inner}{key}: {result}\n"
        text = f"{inner}@property\n{inner}def {key}(self) -> {result}:\n"
        text += _docstring(value.__doc__, inner + "    ")
        if value.fset is not None:
            text += f"{inner}@{key}.setter\n{inner}def {key}(self, value: Any) -> None: ...\n"
        return text
    if isinstance(value, types.FunctionType):  # added in Python
        signature = inspect.signature(value)
        parameters = ", ".join(
            parameter.name + (f": {parameter.annotation}" if parameter.annotation is not
                              inspect.Parameter.empty else "")
            + (f" = {parameter.default}" if parameter.default is not
               inspect.Parameter.empty else "")
            for parameter in signature.parameters.values())
        return (f"{inner}def {key}({parameters}) -> {signature.return_annotation}:\n"
                + _docstring(value.__doc__, inner + "    "))
    if callable(value):
        return _function(key, value, inner)
    return f"{inner}{key}: Any\n"


def public_names(namespace):
    """The names of a module or class that a stub declares."""
    return {name for name in vars(namespace)
            if not name.startswith("__") and not name.startswith("_pybind11")}


def make_stub():
    """The text of the stub."""
    parts = [_HEADER]
    for name in sorted(public_names(module)):
        value = getattr(module, name)
        if isinstance(value, type):
            parts.append("\n" + _class(name, value))
        elif isinstance(value, (types.BuiltinFunctionType, types.FunctionType)):
            parts.append("\n" + _function(name, value))
        else:
            kind = type(value).__name__
            known = kind in ("bool", "int", "str", "float") or isinstance(value, enum.Enum)
            parts.append(f"\n{name}: {kind if known or kind == 'Mode' else 'Any'}\n")
    return "".join(parts)


if __name__ == "__main__":
    STUB.write_text(make_stub())
