"""The schemas of operators as text. Imports only the standard library, so that the build can use it
(scripts/make_operator_stub.py)."""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

_WIDTH = 96
_UNLIMITED = 2**30  # the schema's number of operands without an upper limit, or more

# Arguments that every operator takes.
COMMON_ARGUMENTS = ("name", "device_option", "control_input", "engine")


def _paragraph(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "    ")


def _section(title: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    lines = [_paragraph(f"{name}: {text}", "  ") for name, text in pairs]
    return ["", title + ":", *lines] if lines else []


def count_text(least: int, most: int) -> str:
    """A number of operands between two limits: "1", "1 to 3", "1 or more"."""
    if least == most:
        return str(least)
    return f"{least} or more" if most >= _UNLIMITED else f"{least} to {most}"


def alternatives(names: Sequence[str]) -> str:
    """Names as a text: "a, b or c"."""
    return ", ".join([*names[:-2], " or ".join(names[-2:])])


def argument_text(argument: Any) -> str:
    """What an argument of an OpSchema may be, and its description, which may begin with limits and
    a default in parentheses: "(int, default 1) The axis."."""
    kind = alternatives(argument.choices) or argument.type
    if kind == "any":
        return argument.description
    if argument.description.startswith("("):
        return f"({kind}, {argument.description[1:]}"
    return f"({kind}) {argument.description}"


def schema_doc(schema: Any, op_type: str) -> str:
    """The docstring of an operator: what it computes, inputs, outputs and arguments. `schema` is
    its OpSchema, or None."""
    if schema is None:
        return f"Adds the operator {op_type}, which has no schema."
    lines = [textwrap.fill(schema.doc, _WIDTH)] if schema.doc else [f"The operator {op_type}."]
    inputs = count_text(schema.min_input, schema.max_input)
    outputs = count_text(schema.min_output, schema.max_output)
    lines += _section(f"Inputs ({inputs})", schema.input_desc)
    lines += _section(f"Outputs ({outputs})", schema.output_desc)
    lines += _section("Arguments", [(arg.name, argument_text(arg)) for arg in schema.args])
    if schema.cpu_only:
        lines += ["", _paragraph(f"It has no version for GPUs: {schema.cpu_only}.")]
    return "\n".join(lines)


def keyword_arguments(schema: Any) -> list[str]:
    """The names that an operator's method takes by keyword: the arguments that the schema (or None)
    describes, in its order, and the common ones."""
    names = [arg.name for arg in schema.args] if schema is not None else []
    return [name for name in dict.fromkeys((*names, *COMMON_ARGUMENTS))
            if name.isidentifier() and not keyword.iskeyword(name)
            and name not in ("inputs", "outputs")]
