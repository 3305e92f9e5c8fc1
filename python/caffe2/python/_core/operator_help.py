"""The schemas of operators as docstrings and signatures, for help() and notebooks."""

from __future__ import annotations

import functools
import inspect
import keyword
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from caffe2.python import _import_c_extension as C

_WIDTH = 96
_UNBOUNDED = 2**31 - 1  # the schema's number of operands without an upper limit

# Arguments that every operator takes.
_COMMON = ("name", "device_option", "control_input", "engine")


def _paragraph(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "    ")


def _section(title: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    lines = [_paragraph(f"{name}: {text}", "  ") for name, text in pairs]
    return ["", title + ":", *lines] if lines else []


def _operand_count(least: int, most: int) -> str:
    if least == most:
        return str(least)
    return f"{least} or more" if most >= _UNBOUNDED else f"{least} to {most}"


@functools.cache
def operator_doc(op_type: str) -> str:
    """The docstring of an operator: what it computes, inputs, outputs and arguments."""
    schema = C.OpSchema.get(op_type)
    if schema is None:
        return f"Adds the operator {op_type}, which has no schema."
    lines = [textwrap.fill(schema.doc, _WIDTH)] if schema.doc else [f"The operator {op_type}."]
    inputs = _operand_count(schema.min_input, schema.max_input)
    outputs = _operand_count(schema.min_output, schema.max_output)
    lines += _section(f"Inputs ({inputs})", schema.input_desc)
    lines += _section(f"Outputs ({outputs})", schema.output_desc)
    lines += _section("Arguments", [(arg.name, arg.description) for arg in schema.args])
    if schema.cpu_only:
        lines += ["", _paragraph(f"It has no version for GPUs: {schema.cpu_only}.")]
    return "\n".join(lines)


@functools.cache
def operator_signature(op_type: str) -> inspect.Signature:
    """(inputs, outputs, and the schema's arguments by keyword). Arguments without a value are left
    to the operator's default."""
    schema = C.OpSchema.get(op_type)
    names = [arg.name for arg in schema.args] if schema else []
    keywords = [name for name in dict.fromkeys((*names, *_COMMON))
                if name.isidentifier() and not keyword.iskeyword(name)]
    kind = inspect.Parameter
    return inspect.Signature([
        kind("inputs", kind.POSITIONAL_OR_KEYWORD, default=()),
        kind("outputs", kind.POSITIONAL_OR_KEYWORD, default=None),
        *(kind(name, kind.KEYWORD_ONLY, default=...) for name in keywords
          if name not in ("inputs", "outputs")),
        kind("arguments", kind.VAR_KEYWORD)])


def operator_method(op_type: str, create: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls ``create(op_type, ...)`` and that help() shows as the operator."""

    def method(*args, **kwargs):
        return create(op_type, *args, **kwargs)

    method.__name__ = method.__qualname__ = op_type
    method.__doc__ = operator_doc(op_type)
    method.__signature__ = operator_signature(op_type)  # type: ignore[attr-defined]
    return method
