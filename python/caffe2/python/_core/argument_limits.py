"""The limits of the arguments of operators, as their schemas state them: a description may begin
with them in parentheses, before the default, as in "(> 0, default 1) The ...". The constructors of
the operators check the same limits."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from caffe2.proto import caffe2_pb2

# Of the value of an argument, and the values of all arguments by name.
_Test = Callable[[Any, Mapping[str, Any]], bool]

_NUMBER = r"-?[\d.]+(?:e-?\d+)?"
_COMPARISONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


class Limits(NamedTuple):
    """What the value of an argument must fulfil."""

    text: str  # after "must": "be > 0"
    fits: _Test

    def text_of(self, others: Mapping[str, Any]) -> str:
        """The text, with the values of the arguments that it names."""
        named = [name for name in re.findall(r"[a-z]\w*", self.text) if name in others]
        values = [f"{name} is {_value_text(name, others[name])}" for name in named]
        return f"{self.text} ({', '.join(values)})" if values else self.text


def _value_text(name: str, value: Any) -> str:
    if name == "dtype" and isinstance(value, int):
        return caffe2_pb2.TensorProto.DataType.Name(value)
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _comparison(sign: str, bound: str) -> _Test:
    """`bound` is a number, or an argument, which limits the other if it is given."""
    compare = _COMPARISONS[sign]
    if re.fullmatch(_NUMBER, bound):
        return lambda value, _: compare(value, float(bound))
    return lambda value, others: others.get(bound) is None or compare(value, others[bound])


def _interval(opened: str, low: str, high: str, closed: str) -> _Test:
    is_above = _comparison(">" if opened == "(" else ">=", low)
    is_below = _comparison("<" if closed == ")" else "<=", high)
    return lambda value, others: is_above(value, others) and is_below(value, others)


def _one_of(first: str, last: str) -> _Test:
    """`first` has all numbers before the last one: "1, 2"."""
    choices = [int(number) for number in (*first.split(", "), last)]
    return lambda value, _: value in choices


def _count(count: str) -> _Test:
    return lambda value, _: isinstance(value, list) and len(value) == int(count)


def _is_of_type(value: Any, data_type: Any) -> bool:
    names = caffe2_pb2.TensorProto.DataType
    name = data_type.decode().upper() if isinstance(data_type, bytes) else names.Name(data_type)
    if name == "STRING":
        return isinstance(value, bytes)
    if isinstance(value, float):
        return name in ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")
    return isinstance(value, int)


def _of_type(name: str) -> _Test:
    """The elements of a list have one type in an Argument."""
    return lambda value, others: all(
        _is_of_type(one, others.get(name, caffe2_pb2.TensorProto.FLOAT))
        for one in (value[:1] if isinstance(value, list) else [value]))


def _each(clause: str) -> _Test | None:
    test = _test(clause)
    return test and (lambda value, others: all(
        test(one, others) for one in (value if isinstance(value, list) else [value])))


def _if(clause: str, name: str, choices: str) -> _Test | None:
    """The clause holds if the argument `name` is one of the choices, "a, b or c"."""
    test = _test(clause)
    values = [choice.encode() for choice in re.findall(r"\b(?!or\b)\w+", choices)]
    return test and (lambda value, others: others.get(name) not in values or test(value, others))


_CLAUSES: tuple[tuple[str, Callable[..., _Test | None]], ...] = (
    (r"(.+) if (\w+) is (.+)", _if),
    (r"each (.+)", _each),
    (rf"(>=?|<=?) ({_NUMBER}|[a-z]\w*)", _comparison),
    (rf"in ([\[(])({_NUMBER}), ({_NUMBER})([\])])", _interval),
    (rf"(?:from )?({_NUMBER}) to ({_NUMBER})", lambda low, high: _interval("[", low, high, "]")),
    (r"(\d+(?:, \d+)*) or (\d+)", _one_of),
    (r"(\d+) numbers", _count),
    (r"not 0", lambda: lambda value, _: value != 0),
    (r"odd and > 0", lambda: lambda value, _: value > 0 and value % 2 == 1),
    (r"of type ([a-z]\w*)", _of_type),
)


def _test(clause: str) -> _Test | None:
    """The test that a clause of limits describes; None if it describes none."""
    for pattern, make in _CLAUSES:
        if match := re.fullmatch(pattern, clause):
            return make(*match.groups())
    return None


def limits_of(description: str) -> Limits | None:
    """The limits that the description of an argument begins with; None if there are none."""
    match = re.match(r"\((?!default)(.*?[^,)]\)?)(?:, default[^)]*)?\)(?: |$)", description)
    if match is None:
        return None
    test = _test(match[1])
    text = re.sub("^each ", "each be ", match[1])
    if text.startswith("not "):
        return test and Limits(f"not be {text[4:]}", test)
    return test and Limits(text if text.startswith("each") else f"be {text}", test)
