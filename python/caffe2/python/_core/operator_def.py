"""Definitions of operators."""

from __future__ import annotations

import difflib
import textwrap
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import scope
from caffe2.python._core.argument_types import ACCEPTED
from caffe2.python._core.arguments import ArgsToDict, GetArgFromArgument, MakeArgument
from caffe2.python._core.blob_reference import BlobsLike, rectify_blobs
from caffe2.python._core.errors import creation_line
from caffe2.python._core.operator_types import (
    argument_names,
    limits_of_arguments,
    operand_limits,
    rules_of_arguments,
)
from caffe2.python._core.schema_text import alternatives, count_text
from caffe2.python._core.schema_types import data_type_for_dtype
from caffe2.python._core.window_arguments import check_window


class OperatorWarning(UserWarning, ValueError):
    """An operator was created with arguments or operands that its type does not have.

    Caffe2 accepts such operators silently, and scripts rely on this. After
    ``warnings.simplefilter("error", core.OperatorWarning)`` the warning is raised, as a ValueError.
    """


class UnknownArgumentWarning(OperatorWarning):
    """An argument that the operator type does not have, and that has no effect."""


class OperandCountWarning(OperatorWarning):
    """Too few or too many inputs or outputs; a net with the operator cannot be created."""


# Arguments that model helpers pass to every operator (arg_scope), and arguments that choose between
# implementations of which only one exists here.
_ARGUMENTS_OF_ALL = frozenset((
    "order", "is_test", "init_params", "use_cudnn", "use_gpu_transform", "cudnn_exhaustive_search",
    "exhaustive_search", "ws_nbytes_limit", "deterministic", "shared_buffer", "float16_compute",
    "math_mode", "enable_tensor_core", "allow_broadcast_fastpath",
    "convolution_transform_strategy"))
# Arguments of one type that Caffe2's programs pass without effect: Detectron gives the `std` of
# GaussianFill to every filler that its configuration may name.
_ARGUMENTS_WITHOUT_EFFECT = {"MSRAFill": frozenset(("std",))}
# Types whose other arguments are for the function that they call.
_WITH_ANY_ARGUMENTS = ("Python", "PythonDLPack")
_warned: dict = {}


def _warn(message, category):
    """One warning for each line of the caller and each message."""
    file, line, _ = (creation_line() or [("<caffe2>", 1, "")])[0]
    warnings.warn_explicit(message, category, file, line, registry=_warned)


def _warn_of_operand_counts(operator):
    for (what, least, most), blobs in zip(
            operand_limits(operator.type), (operator.input, operator.output)):
        if not least <= len(blobs) <= most:
            plural = "" if least == most == 1 else "s"
            _warn(f"operator {operator.type} has {count_text(least, most)} {what}{plural}, not "
                  f"{len(blobs)}", OperandCountWarning)


def _warn_of_unknown_arguments(op_type, names):
    """Warns of each argument that the type does not have."""
    known = argument_names(op_type)
    if known is None or known.issuperset(names) or op_type in _WITH_ANY_ARGUMENTS:
        return
    unknown = set(names) - known - _ARGUMENTS_OF_ALL
    for name in sorted(unknown - _ARGUMENTS_WITHOUT_EFFECT.get(op_type, frozenset())):
        near = difflib.get_close_matches(name, known, 1)
        if near:
            hint = f"; did you mean {near[0]}?"
        else:
            hint = f"; it has: {', '.join(sorted(known))}" if known else ""
        _warn(f"operator {op_type} has no argument {name}{hint}", UnknownArgumentWarning)


def _field_of(argument):
    """The field with the value of an Argument; None if there is none, as for an empty list."""
    fields = [field.name for field, _ in argument.ListFields() if field.name != "name"]
    return fields[0] if fields else None


def _data_type_text(value):
    """What to give as a data type; for a type of numpy or Python, its name."""
    if isinstance(value, (type, np.dtype)) or isinstance(value, str) and value.isidentifier():
        try:
            number = data_type_for_dtype(value)
        except TypeError:
            return 'a data type, such as core.DataType.FLOAT or "float"'
        return f"a data type: core.DataType.{caffe2_pb2.TensorProto.DataType.Name(number)}"
    return ACCEPTED["data type"][1]


def _decoded(value):
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _refuse(op_type, name, value, obligation):
    """Raises the ValueError for a value that the argument cannot have: it must `obligation`."""
    text = "empty" if value is None else textwrap.shorten(repr(value), 80)
    raise ValueError(f"operator {op_type}: argument {name} is {text}, must {obligation}")


def _refuse_type(op_type, name, value):
    """Raises the ValueError for a value whose type the argument cannot have."""
    rule = rules_of_arguments(op_type)[0][name]
    value = _decoded(value)
    if rule.choices:
        accepted = alternatives(rule.choices)
    elif rule.type == "data type":
        accepted = _data_type_text(value)
    elif rule.type == "any":
        accepted = "a number, a string, a message, or a list of them"
    else:
        accepted = ACCEPTED[rule.type][1]
    if isinstance(value, (int, np.integer)) and rule.type in ("any", "int", "float"):
        accepted = "a number of 64 bits"
    _refuse(op_type, name, value, f"be {accepted}")


def _make_argument(op_type, name, value):
    try:
        return MakeArgument(name, value)
    except ValueError:
        if name in rules_of_arguments(op_type)[0]:
            _refuse_type(op_type, name, value)
        raise


def _is_data_type(argument):
    types = caffe2_pb2.TensorProto.DataType
    if argument.HasField("s"):
        return argument.s.decode(errors="replace").upper() in types.keys()
    return argument.i in types.values()


def _can_be(argument, rule):
    """Whether an argument fits its rule."""
    if _field_of(argument) not in ACCEPTED[rule.type][0]:
        return False
    if rule.choices:
        return argument.s.decode(errors="replace") in rule.choices
    return rule.type != "data type" or _is_data_type(argument)


def _check_arguments(operator):
    """Raises ValueError for an argument that the operator type cannot have."""
    rules, _ = rules_of_arguments(operator.type)
    for argument in operator.arg:
        rule = rules.get(argument.name)
        if rule is not None and rule.type != "any" and not _can_be(argument, rule):
            _refuse_type(operator.type, argument.name, GetArgFromArgument(argument))
    _check_limits(operator)


def _check_limits(operator):
    """Raises ValueError for an argument beyond the limits that the schema states."""
    limits = limits_of_arguments(operator.type)
    if not limits or not operator.arg:
        return
    values = ArgsToDict(operator.arg)
    for name in sorted(values.keys() & limits.keys()):
        value, limit = values[name], limits[name]
        if value is None or limit.fits(value, values):
            continue
        if isinstance(value, float):
            value = float(f"{value:.7g}")  # its digits as float32
        _refuse(operator.type, name, _decoded(value), limit.text_of(values))


def _check_strings(op_type, **fields):
    for name, value in fields.items():
        if value is not None and not isinstance(value, (str, bytes)):
            raise TypeError(f"operator {op_type}: {name} is {value!r}, must be a string")


def check_complete(operator: caffe2_pb2.OperatorDef) -> None:
    """Raises ValueError if a required argument is missing, or a window cannot be. CreateOperator
    does not call this, because Caffe2's scripts add arguments to the OperatorDef that it returns.
    """
    _, required = rules_of_arguments(operator.type)
    missing = required.keys() - {argument.name for argument in operator.arg} if required else ()
    for name in sorted(missing):
        raise ValueError(f"operator {operator.type} needs the argument {name}: {required[name]}")
    check_window(operator)


def CreateOperator(operator_type: str, inputs: BlobsLike, outputs: BlobsLike, name: str = "",
                   control_input: BlobsLike | None = None,
                   device_option: caffe2_pb2.DeviceOption | None = None,
                   arg: Iterable[caffe2_pb2.Argument] | None = None, engine: str | None = None,
                   debug_info: str | None = None, **kwargs: Any) -> caffe2_pb2.OperatorDef:
    """An OperatorDef.

    Args:
      inputs, outputs: a blob or a list of blobs; strings get the current name scope.
      device_option: default: the device scope's.
      arg: Argument messages, which are copied unchanged.
      engine: the implementation to use, or a comma-separated list, best first.
      **kwargs: further arguments of the operator; None stands for "not given".

    Raises TypeError for a value that cannot be a blob or a device, and ValueError for an argument
    whose type or value the operator cannot have. An argument that the operator type does not have
    is kept, with an UnknownArgumentWarning; so is a wrong number of inputs or outputs, with an
    OperandCountWarning.
    """
    _check_strings(operator_type, name=name, engine=engine, debug_info=debug_info)
    operator = caffe2_pb2.OperatorDef()
    operator.type = operator_type
    if name:
        operator.name = name
    operator.input.extend([blob._name for blob in rectify_blobs(inputs)])
    operator.output.extend([blob._name for blob in rectify_blobs(outputs)])
    if control_input:
        operator.control_input.extend([blob._name for blob in rectify_blobs(control_input)])
    if device_option is None:
        device_option = scope.CurrentDeviceScope()
    if device_option is not None:
        operator.device_option.CopyFrom(scope.checked_device(device_option))
    if engine is not None:
        operator.engine = engine
    if debug_info is not None:
        operator.debug_info = debug_info
    if kwargs.pop("is_gradient_op", False):
        operator.is_gradient_op = True
    # A random seed among the arguments would be without effect.
    if "random_seed" in kwargs:
        operator.device_option.random_seed = kwargs.pop("random_seed")
    if arg is not None:
        operator.arg.extend(arg)
    for key, value in kwargs.items():
        if value is not None:
            operator.arg.append(_make_argument(operator_type, key, value))
    _check_arguments(operator)
    _warn_of_unknown_arguments(operator_type, kwargs)
    _warn_of_operand_counts(operator)
    return operator


def _register_python_op(f, grad_f, pass_workspace):
    """The token of a Python function, or of a tuple (builder, args, kwargs)."""
    if not callable(f) and not isinstance(f, tuple):
        raise TypeError(f"a Python operator calls a function, not {f!r}")
    token = C.register_python_op(f, pass_workspace, "")
    if grad_f:
        C.register_python_gradient_op(token, grad_f)
    return token


def CreatePythonOperator(f: Any, inputs: BlobsLike, outputs: BlobsLike,
                         grad_f: Callable[..., Any] | None = None, pass_workspace: bool = False,
                         python_func_type: type | None = None, *args: Any,
                         **kwargs: Any) -> caffe2_pb2.OperatorDef:
    """An operator that calls ``f(inputs, outputs)`` (and the workspace, if wanted) when it runs.

    The lists hold TensorCPU objects: read ``.data``, set outputs with ``.reshape`` and ``.data``
    or with ``.feed``. ``grad_f(inputs, outputs)`` gets inputs, outputs and output gradients.
    `f` may be a tuple (builder, args, kwargs): each operator calls builder(*args, **kwargs) when it
    is made, to get its own function.
    """
    if python_func_type is not None:
        instance = python_func_type(*f[1], **f[2]) if isinstance(f, tuple) else f
        f, grad_f = instance.forward, getattr(instance, "backward", None)
    kwargs["token"] = _register_python_op(f, grad_f, pass_workspace)
    return CreateOperator("Python", inputs, outputs, *args, **kwargs)
