"""Names, blob references and operator definitions; public through caffe2.python.core."""

import collections
import difflib
import functools
import os
import sys
import threading
import warnings

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import scope, utils

_REGISTERED_OPERATORS = frozenset(C.registered_operators())

# Functions that load libraries of operators when one is looked for; see lazy_dyndep.
_lazy_imports = []
_lazy_lock = threading.RLock()
_loading = False


def RegisterLazyImport(load):
    """Lets a function be called, until it succeeds, before the next operator that is not known is
    looked for, and before the next net is made."""
    _lazy_imports.append(load)


def TriggerLazyImport():
    """Calls the functions of RegisterLazyImport that were not called yet. Other threads wait for
    that; a function that raises is called again the next time."""
    global _loading
    if not _lazy_imports:
        return
    with _lazy_lock:
        if _loading:
            return  # one of the functions looks for an operator itself
        _loading = True
        try:
            while _lazy_imports:
                _lazy_imports[0]()
                # Only now: to other threads, an empty list says that all is loaded.
                _lazy_imports.pop(0)
        finally:
            _loading = False


def RefreshRegisteredOperators(trigger_lazy=True):
    """Takes note of operators that were registered since, for instance by a loaded library; with
    `trigger_lazy`, loads first what lazy_dyndep was told of."""
    global _REGISTERED_OPERATORS
    if trigger_lazy:
        TriggerLazyImport()
    _REGISTERED_OPERATORS = frozenset(C.registered_operators())
    _nearby_names.cache_clear()
    _argument_names.cache_clear()


def _is_registered(key):
    if key not in _REGISTERED_OPERATORS and _lazy_imports:
        RefreshRegisteredOperators()
    return key in _REGISTERED_OPERATORS


def IsOperator(op_type):
    """True if the operator type is implemented, on any device."""
    return _is_registered(op_type)


def IsOperatorWithEngine(op_type, engine):
    """True if the operator type has an implementation under the name of an engine."""
    return _is_registered(C.op_registry_key(op_type, engine))


@functools.cache
def _nearby_names(op_type):
    """The registered types most like this one. Kept, as ``hasattr`` of a blob or net asks too."""
    return C.nearby_opnames(op_type)


def CheckOperatorType(op_type):
    """Raises AttributeError, with the nearest names, if the type is not registered."""
    if not IsOperator(op_type) and not IsOperatorWithEngine(op_type, "CUDNN"):
        raise AttributeError(
            f"Method {op_type} is not a registered operator. "
            f"Did you mean: [{','.join(_nearby_names(op_type))}]")


def DeviceOption(device_type, cuda_gpu_id=0, random_seed=None, node_name=None, numa_node_id=None,
                 extra_info=None, device_id=None):
    """A DeviceOption.

    Args:
      device_type: caffe2_pb2.CPU or caffe2_pb2.CUDA.
      cuda_gpu_id, device_id: the number of the device; two names of one thing.
      random_seed: of the operators that draw random numbers.
      node_name: the machine, for plans over several.
      numa_node_id: of memory, on the CPU only.
      extra_info: a list of strings that travel with the operators.

    Raises ValueError for a NUMA node of a GPU.
    """
    option = caffe2_pb2.DeviceOption()
    option.device_type = device_type
    option.device_id = cuda_gpu_id if device_id is None else device_id
    if random_seed is not None:
        option.random_seed = random_seed
    if node_name is not None:
        option.node_name = node_name
    if numa_node_id is not None:
        if device_type != caffe2_pb2.CPU:
            raise ValueError("a NUMA node can be named for the CPU only")
        option.numa_node_id = numa_node_id
    option.extra_info.extend(extra_info or ())
    return option


def device_option_equal(opt1, opt2, ignore_node_name=True, ignore_random_seed=True):
    """True if two device options (None means the CPU) name the same device."""
    opt1 = opt1 or caffe2_pb2.DeviceOption()
    opt2 = opt2 or caffe2_pb2.DeviceOption()
    if not ignore_node_name and opt1.node_name != opt2.node_name:
        return False
    if not ignore_random_seed and opt1.random_seed != opt2.random_seed:
        return False
    if not opt1.device_type or not opt2.device_type:
        return opt1.device_type == opt2.device_type
    return opt1.device_type == opt2.device_type and opt1.device_id == opt2.device_id


def ScopedName(name):
    """The name under the current name scope."""
    return scope.CurrentNameScope() + (name.decode() if isinstance(name, bytes) else name)


def ScopedBlobReference(name, *args, **kwargs):
    """A BlobReference under the current name scope."""
    return BlobReference(ScopedName(name), *args, **kwargs)


class BlobReference:
    """The name of a blob, and the net it came from.

    Calling an operator type on it adds the operator to that net with this blob as the first
    input: ``x.Relu([], "y")`` is ``net.Relu(x, "y")``. A reference compares and hashes as its name.
    """

    def __init__(self, name, net=None):
        if isinstance(name, BlobReference):
            name = name._name
        elif isinstance(name, bytes):
            name = name.decode()
        elif not isinstance(name, str):
            raise TypeError(f"a blob name is a string, not {name!r}")
        self._name = name
        self._from_net = net
        self.meta = {}

    def __hash__(self):
        return hash(self._name)

    def __eq__(self, other):
        if isinstance(other, str):
            return self._name == other
        if isinstance(other, bytes):
            return self._name == other.decode()
        if isinstance(other, BlobReference):
            return self._name == other._name
        return False

    def __ne__(self, other):
        return not self == other

    def __str__(self):
        return self._name

    def __repr__(self):
        return f'BlobReference("{self._name}")'

    def __add__(self, other):
        if not isinstance(other, str):
            raise TypeError(f"cannot append {other!r} to a blob name")
        return BlobReference(self._name + other, self._from_net)

    def __radd__(self, other):
        if not isinstance(other, str):
            raise TypeError(f"cannot put {other!r} before a blob name")
        return BlobReference(other + self._name, self._from_net)

    def GetName(self):
        """The name, with its scope."""
        return self._name

    def Net(self):
        """The net that the reference came from, or None."""
        return self._from_net

    def GetNameScope(self):
        """The name up to and with its last "/"; "" if it has none."""
        return self._name[: self._name.rfind(scope._NAMESCOPE_SEPARATOR) + 1]

    def GetUnscopedName(self):
        """The name behind its last "/"."""
        return self._name[self._name.rfind(scope._NAMESCOPE_SEPARATOR) + 1 :]

    def _create_in_net(self, op_type, inputs=None, *args, **kwargs):
        if self._from_net is None:
            raise AttributeError(
                f"You cannot use {op_type} on a blob reference that does not have a net source "
                "associated with it.")
        inputs = [] if inputs is None else rectify_blobs(inputs)
        return self._from_net._create_and_add(op_type, [self, *inputs], *args, **kwargs)

    def __getattr__(self, op_type):
        if op_type.startswith("_"):
            raise AttributeError(op_type)
        if self._from_net is None:
            raise AttributeError(
                f"You cannot use {op_type} on a blob reference that does not have a net source "
                "associated with it.")
        CheckOperatorType(op_type)
        return functools.partial(self._create_in_net, op_type)

    def __dir__(self):
        return sorted({*super().__dir__(), *(_REGISTERED_OPERATORS if self._from_net else ())})


def output_to_list(op_output):
    """What an operator returned, a BlobReference or several, as a list.

    Raises TypeError for anything else.
    """
    if isinstance(op_output, BlobReference):
        return [op_output]
    if isinstance(op_output, (list, tuple)):
        return list(op_output)
    raise TypeError(f"expects a BlobReference or several, got {op_output!r}")


def rectify_blobs(blobs, net=None):
    """A list of BlobReference from one blob or a list of them; strings get the name scope.

    Raises TypeError for anything that cannot be a blob.
    """
    if isinstance(blobs, BlobReference):
        return [blobs]
    if isinstance(blobs, (str, bytes)):
        return [ScopedBlobReference(blobs, net=net)]
    if isinstance(blobs, (list, tuple)):
        references = []
        for i, blob in enumerate(blobs):
            if isinstance(blob, BlobReference):
                references.append(blob)
            elif isinstance(blob, (str, bytes)):
                references.append(ScopedBlobReference(blob, net=net))
            else:
                raise TypeError(
                    f"I/O blob #{i} of unsupported type: {blob!r} of type {type(blob)}")
        return references
    raise TypeError(f"Unknown input/output type: {blobs!r} of type {type(blobs)}.")


class UnknownArgumentWarning(UserWarning):
    """An operator was given an argument that its type does not have, and that it will not see.

    Caffe2 takes such arguments in silence, and scripts rely on it. To make them errors:
    ``warnings.simplefilter("error", core.UnknownArgumentWarning)``.
    """


# What model helpers hand to every operator (arg_scope), or what chooses between implementations
# that there is one of here.
_ARGUMENTS_OF_ALL = frozenset((
    "order", "is_test", "init_params", "use_cudnn", "use_gpu_transform", "cudnn_exhaustive_search",
    "exhaustive_search", "ws_nbytes_limit", "deterministic", "shared_buffer", "float16_compute",
    "math_mode", "enable_tensor_core", "allow_broadcast_fastpath",
    "convolution_transform_strategy"))
_warned_of_arguments = {}


@functools.cache
def _argument_names(op_type):
    """The arguments that the schema of an operator type describes; None if there is no schema."""
    schema = C.OpSchema.get(op_type)
    if schema is None:
        return None
    names = {arg.name for arg in schema.args}
    # Sizes of windows are described once, and given for all axes or each.
    for name in names & {"kernel", "stride", "dilation", "adj"}:
        names |= {name + "s", name + "_h", name + "_w"}
    if "pad" in names:
        names |= {"pads", "pad_t", "pad_l", "pad_b", "pad_r"}
    return frozenset(names)


def _warn_of_unknown_arguments(op_type, names):
    """One warning for each line of the caller that gives an argument the type does not have."""
    known = _argument_names(op_type)
    if known is None or known.issuperset(names):
        return
    for name in sorted(set(names) - known - _ARGUMENTS_OF_ALL):
        near = difflib.get_close_matches(name, known, 1)
        if near:
            hint = f"; did you mean {near[0]}?"
        else:
            hint = f"; it has: {', '.join(sorted(known))}" if known else ""
        file, line, _ = (creation_line() or [("<caffe2>", 1, "")])[0]
        warnings.warn_explicit(
            f"operator {op_type} has no argument {name}{hint}", UnknownArgumentWarning, file, line,
            registry=_warned_of_arguments)


def CreateOperator(operator_type, inputs, outputs, name="", control_input=None,
                   device_option=None, arg=None, engine=None, debug_info=None, **kwargs):
    """An OperatorDef.

    Args:
      inputs, outputs: a blob or a list of blobs; strings get the current name scope.
      device_option: default: the current device scope.
      arg: Arguments to take over as they are.
      engine: the implementation to use, or a comma-separated list, best first.
      **kwargs: further arguments of the operator; None stands for "not given".

    Raises TypeError for what cannot be a blob, ValueError for what cannot be an argument. One that
    the operator type does not have is kept, with an UnknownArgumentWarning.
    """
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
        operator.device_option.CopyFrom(device_option)
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
            operator.arg.append(utils.MakeArgument(key, value))
    _warn_of_unknown_arguments(operator_type, kwargs)
    return operator


def _register_python_op(f, grad_f, pass_workspace):
    """The token of a Python function, or of a tuple (builder, args, kwargs)."""
    token = C.register_python_op(f, pass_workspace, "")
    if grad_f:
        C.register_python_gradient_op(token, grad_f)
    return token


def CreatePythonOperator(f, inputs, outputs, grad_f=None, pass_workspace=False,
                         python_func_type=None, *args, **kwargs):
    """An operator that calls ``f(inputs, outputs)`` (and the workspace, if wanted) when it runs.

    The lists hold TensorCPU objects: read ``.data``, set outputs with ``.reshape`` and ``.data``
    or with ``.feed``. ``grad_f(inputs, outputs)`` gets inputs, outputs and output gradients.
    `f` may be a tuple (builder, args, kwargs), whose call gives the function, for each operator
    when it is made.
    """
    if python_func_type is not None:
        instance = python_func_type(*f[1], **f[2]) if isinstance(f, tuple) else f
        f, grad_f = instance.forward, getattr(instance, "backward", None)
    kwargs["token"] = _register_python_op(f, grad_f, pass_workspace)
    return CreateOperator("Python", inputs, outputs, *args, **kwargs)


# Net name -> {operator index: creation line}, for the messages of errors.
operator_tracebacks = collections.defaultdict(dict)

_PACKAGE_DIR = os.path.dirname(os.path.abspath(__file__)) + os.sep


@functools.cache
def _is_own_file(filename):
    """True for the files of this package, which are left out of creation lines."""
    return os.path.abspath(filename).startswith(_PACKAGE_DIR)


def creation_line():
    """[(file, line, function)] of the innermost caller outside this package."""
    frame = sys._getframe(1)
    while frame is not None and _is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return []
    return [(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)]
