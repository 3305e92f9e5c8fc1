"""What the arguments of operators may be, which their schemas tell. Imports only the standard
library, so that the build can use it (scripts/make_operator_stub.py)."""

from __future__ import annotations

from typing import Any, NamedTuple


class ArgumentRule(NamedTuple):
    """What an argument may be."""

    type: str  # a key of ACCEPTED, or "any"
    choices: tuple[str, ...] = ()  # of a string; (): any


# Type in a schema -> (the fields of an Argument that may hold its value, what it is called).
# Numbers in a list may be given one by one, integers where floats are asked for, and an empty list
# sets no field.
ACCEPTED = {
    "int": (("i",), "an integer"),
    "bool": (("i",), "a bool or an integer"),
    "float": (("i", "f"), "a number"),
    "string": (("s",), "a string"),
    "net": (("n", "s"), "a NetDef"),
    "data type": (("i", "s"), "a data type"),
    "list of int": (("i", "ints", None), "a list of integers"),
    "list of float": (("i", "f", "ints", "floats", None), "a list of numbers"),
    "list of string": (("s", "strings", None), "a list of strings"),
}


def argument_rules(schema: Any) -> dict[str, ArgumentRule]:
    """{name: what it may be} of the arguments of an OpSchema."""
    rules = {argument.name: ArgumentRule(argument.type, tuple(argument.choices))
             for argument in schema.args}
    # A window size has one description; it is given for all axes (kernel) or for each (kernel_h).
    for name in rules.keys() & {"kernel", "stride", "dilation", "adj", "pad"}:
        one = rules[name]
        ends = ("_t", "_l", "_b", "_r") if name == "pad" else ("_h", "_w")
        rules |= {name + end: one for end in ends}
        rules[name + "s"] = ArgumentRule("list of int") if one.type == "int" else one
    return rules
