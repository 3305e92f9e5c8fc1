"""Operators, nets, gradients and plans: what NetDefs are written with."""

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import _operator_def, scope, utils
from caffe2.python._devices import (
    InferBlobDevices,
    InferOpBlobDevices,
    InferOpBlobDevicesAsDict,
    InferOpDeviceAsBlobDevices,
    InjectCrossDeviceCopies,
    InjectDeviceCopiesAmongNets,
    InjectDeviceCopiesAmongNetsWithoutB2D,
    RemapEntry,
    copy_func_between_devices,
    device_equal,
    update_placeholder_op_output,
)
from caffe2.python._gradients import (
    IR,
    GetIndexFromGradientList,
    GradGenMeta,
    GradientRegistry,
    GradientSlice,
    OpSSA,
    SparseGradGenMeta,
    get_op_ids_in_path,
    get_output_producers,
    get_ssa,
    get_undefined_blobs,
)
from caffe2.python._net import Net, remap_input
from caffe2.python._net_copies import clone_and_bind_net
from caffe2.python._net_rewrite import (
    DEFAULT_REMAP_FUNCS,
    control_op_remap,
    recurrent_network_op_remap,
)
from caffe2.python._operator_def import (
    BlobReference,
    CreateOperator,
    CreatePythonOperator,
    DeviceOption,
    IsOperator,
    IsOperatorWithEngine,
    RefreshRegisteredOperators,
    RegisterLazyImport,
    ScopedBlobReference,
    ScopedName,
    TriggerLazyImport,
    UnknownArgumentWarning,
    device_option_equal,
    output_to_list,
)
from caffe2.python._plan import (
    ExecutionStep,
    Plan,
    add_nets_in_order,
    execution_step,
    get_net_name,
    scoped_execution_step,
    to_execution_step,
)

__all__ = [
    "add_nets_in_order", "BlobReference", "clone_and_bind_net", "copy_func_between_devices",
    "CreateOperator", "CreatePythonOperator", "DataType", "device_equal", "device_option_equal",
    "DeviceOption", "DeviceScope", "EmptyDeviceScope", "execution_step", "ExecutionStep",
    "get_op_ids_in_path", "get_output_producers", "get_ssa", "get_undefined_blobs",
    "GetGlobalInitArgs", "GlobalInit", "GradientRegistry", "GradientSlice", "InferBlobDevices",
    "InferOpBlobDevices", "InjectCrossDeviceCopies", "InjectDeviceCopiesAmongNets",
    "InjectDeviceCopiesAmongNetsWithoutB2D", "IR", "IsGPUDeviceType", "IsOperator",
    "IsOperatorWithEngine", "NameScope", "Net", "Plan", "RefreshRegisteredOperators",
    "RegisterLazyImport", "remap_input", "remap_proto", "RemapEntry", "scope",
    "scoped_execution_step", "ScopedBlobReference", "ScopedName", "SetEnginePref",
    "SetGlobalEnginePref", "SetOpEnginePref", "SetPerOpEnginePref", "to_execution_step",
    "TriggerLazyImport", "UnknownArgumentWarning", "control_op_remap", "DEFAULT_REMAP_FUNCS",
    "get_net_name", "GetIndexFromGradientList", "GradGenMeta", "InferOpBlobDevicesAsDict",
    "InferOpDeviceAsBlobDevices", "OpSSA", "output_to_list", "recurrent_network_op_remap",
    "SparseGradGenMeta", "update_placeholder_op_output", "utils",
]

NameScope = scope.NameScope
DeviceScope = scope.DeviceScope
EmptyDeviceScope = scope.EmptyDeviceScope

_global_init_args = None


class DataType:
    """The element types of tensors, by name: ``core.DataType.FLOAT``."""


for _name, _number in caffe2_pb2.TensorProto.DataType.items():
    setattr(DataType, _name, _number)


def __getattr__(name):
    if name == "_REGISTERED_OPERATORS":
        return _operator_def._REGISTERED_OPERATORS
    if name == "workspace":
        from caffe2.python import workspace

        return workspace
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def GlobalInit(args):
    """Sets flags of the library: a list whose first word is the program's name, for instance
    ``["caffe2", "--caffe2_log_level=2"]``.

    Raises ValueError for a flag that is not of the form --name=value.
    """
    global _global_init_args
    args = [args] if isinstance(args, str) else list(args)
    # As Caffe2 does, leaves words that are no flags to the program.
    C.global_init(args[:1] + [arg for arg in args[1:] if arg.startswith("-")])
    _global_init_args = args[1:]


def GetGlobalInitArgs():
    """The flags of the last GlobalInit."""
    return list(_global_init_args or [])


def IsGPUDeviceType(device_type):
    """True for the device types that are GPUs."""
    return device_type in (caffe2_pb2.CUDA, caffe2_pb2.HIP)


def SetGlobalEnginePref(global_engine_pref):
    """{device type: engines to try for any operator that names none, best first}."""
    C.set_global_engine_pref(global_engine_pref)


def SetOpEnginePref(op_type, op_pref):
    """{device type: engines to try for operators of this type, best first}."""
    C.set_op_engine_pref(op_type, op_pref)


def SetPerOpEnginePref(per_op_engine_pref):
    """{device type: {operator type: engines to try, best first}}."""
    for device_type, preferences in per_op_engine_pref.items():
        for op_type, engines in preferences.items():
            C.set_op_engine_pref(op_type, {device_type: engines})


def SetEnginePref(per_op_engine_pref, global_engine_pref):
    """SetPerOpEnginePref and SetGlobalEnginePref."""
    SetPerOpEnginePref(per_op_engine_pref)
    SetGlobalEnginePref(global_engine_pref)


def remap_proto(argument, blob_remap):
    """Renames the blobs of a NetDef held in an argument, in place: {old: new}."""
    net = Net(argument.n)
    clone = net.Clone(argument.n.name, {str(old): str(new) for old, new in blob_remap.items()})
    name = argument.n.name
    argument.n.CopyFrom(clone.Proto())
    argument.n.name = name
