#!/usr/bin/env python3
"""Writes the type stub of the operators, from the schemas of the library.

    make_operator_stub.py EXTENSION OUTPUT

EXTENSION is the built extension module of caffe2.python, OUTPUT the stub operator_methods.pyi
beside operator_methods.py. The build runs it; it needs no package of Python.
"""

import importlib.machinery
import importlib.util
import keyword
import pathlib
import sys

_CORE = pathlib.Path(__file__).resolve().parents[1] / "python" / "caffe2" / "python" / "_core"

_HEADER = '''"""A method for each operator of the library; made by the build from the schemas."""

from collections.abc import Callable, Iterable
from typing import Any, SupportsFloat, SupportsIndex, Union

from caffe2.python._core.blob_reference import BlobReference, BlobsLike

# Values of arguments. None stands for an argument that is not given.
_Int = Union[SupportsIndex, None]
_Float = Union[SupportsFloat, SupportsIndex, None]
_Text = Union[str, bytes, BlobReference, None]
_Ints = Union[Iterable[SupportsIndex], SupportsIndex, None]
_Floats = Union[Iterable[Union[SupportsFloat, SupportsIndex]], SupportsFloat, SupportsIndex, None]
_Texts = Union[Iterable[Union[str, bytes, BlobReference]], str, bytes, BlobReference, None]
_DataType = Union[_Int, _Text]
_Value = Any
_Outputs = Union[BlobsLike, int, None]

class _Operators:
    def _operator(self, op_type: str) -> Callable[..., Any]: ...
'''

# Arguments of all operators that help() leaves out.
_FURTHER = ("arg", "debug_info", "is_gradient_op", "random_seed")
_COMMON_TYPES = {
    "name": "_Text", "device_option": "_Value", "control_input": "BlobsLike | None",
    "engine": "str | None", "arg": "Iterable[Any] | None", "debug_info": "str | None",
    "is_gradient_op": "bool", "random_seed": "int"}

# Types in schemas -> types of the stub. Messages of protobuf, such as nets, have no types.
_TYPES = {"int": "_Int", "bool": "_Int", "float": "_Float", "string": "_Text", "net": "_Value",
          "data type": "_DataType", "list of int": "_Ints", "list of float": "_Floats",
          "list of string": "_Texts", "any": "_Value"}

# Methods of the classes, with arguments of their own, that have the name of an operator.
_OWN_METHODS = frozenset(("Python",))


def _load(name, path, loader=None):
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_extension(path):
    """The extension module of a file, without the package around it."""
    name = "caffe2_pybind11_state"
    return _load(name, path, importlib.machinery.ExtensionFileLoader(name, str(path)))


def _operands(schema, of_blob):
    """(parameters of the operands, type of the result) of a method."""
    if schema is None:
        return ["inputs: BlobsLike | None = ...", "outputs: _Outputs = ..."], "Any"
    needs_inputs = schema.min_input > (1 if of_blob else 0)
    # Without `outputs` there is one output. For another number they must be given, which can be
    # demanded only after an argument that is demanded, too.
    needs_outputs = needs_inputs and (schema.min_output > 1 or schema.max_output == 0)
    parameters = [
        f"inputs: BlobsLike{' | None' if of_blob else ''}{'' if needs_inputs else ' = ...'}",
        f"outputs: _Outputs{'' if needs_outputs else ' = ...'}"]
    if schema.min_output != schema.max_output or schema.min_output > 1 and not needs_outputs:
        return parameters, "Any"
    names = ", ".join(["BlobReference"] * schema.min_output)
    return parameters, f"tuple[{names}]" if schema.min_output > 1 else names or "None"


def _signature(schema, text, types, of_blob):
    """The parameters of a method after `self`, and its result."""
    parameters, result = _operands(schema, of_blob)
    rules = types.argument_rules(schema) if schema is not None else {}
    names = text.keyword_arguments(schema)
    if schema is not None:
        names += sorted(name for name in rules.keys() - set(names) if not keyword.iskeyword(name))
    for name in dict.fromkeys((*names, *_FURTHER)):
        kind = (_TYPES[rules[name].type] if name in rules
                else _COMMON_TYPES.get(name, "_Value"))
        parameters.append(f"{name}: {kind} = ...")
    parameters.insert(2, "*")
    return f"({', '.join(['self', *parameters])}) -> {result}"


def _docstring(text, indent):
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped += " "
    lines = [line if not line else indent + line for line in escaped.split("\n")]
    return f'{indent}"""{lines[0].strip()}' + "".join("\n" + line for line in lines[1:]) + (
        f'\n{indent}"""\n' if len(lines) > 1 else '"""\n')


def make_stub(operators, get_schema, text, types):
    """The text of the stub.

    Args:
      operators: the types.
      get_schema: function(type) -> OpSchema, or None.
      text, types: the modules schema_text and argument_types.
    """
    parts = [_HEADER]
    for name, of_blob in (("OperatorMethods", False), ("OperatorMethodsOfBlob", True)):
        parts.append(f"\nclass {name}(_Operators):\n")
        for operator in operators:
            if operator in _OWN_METHODS and not of_blob:
                continue
            schema = get_schema(operator)
            parts.append(f"    def {operator}{_signature(schema, text, types, of_blob)}:\n")
            doc = text.schema_doc(schema, operator)
            parts.append(_docstring(f"Net.{operator} with this blob as the first input."
                                    if of_blob else doc, "        "))
    return "".join(parts)


def main():
    """Writes the stub of the extension that the command line names."""
    if len(sys.argv) != 3:
        sys.exit("usage: make_operator_stub.py EXTENSION OUTPUT")
    extension = load_extension(pathlib.Path(sys.argv[1]).resolve())
    extension.num_cuda_devices()  # loads the operators of GPUs, if the build has them
    text, types = (_load(name, _CORE / f"{name}.py") for name in ("schema_text", "argument_types"))
    operators = sorted(key for key in extension.registered_operators() if key.isidentifier()
                       and "_ENGINE_" not in key)
    pathlib.Path(sys.argv[2]).write_text(make_stub(operators, extension.OpSchema.get, text, types))


if __name__ == "__main__":
    main()
