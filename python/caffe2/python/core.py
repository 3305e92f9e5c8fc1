"""Operators, nets, gradients and plans: what NetDefs are written with."""

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import scope, utils, workspace
from caffe2.python._core.blob_reference import (
    BlobReference,
    ScopedBlobReference,
    ScopedName,
    output_to_list,
)
from caffe2.python._core.device_copies import (
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
from caffe2.python._core.device_option import (
    DeviceOption,
    IsGPUDeviceType,
    device_option_equal,
)
from caffe2.python._core.gradients import (
    IR,
    GetIndexFromGradientList,
    GradGenMeta,
    GradientRegistry,
    GradientSlice,
    OpSSA,
    SparseGradGenMeta,
)
from caffe2.python._core.library import (
    GetGlobalInitArgs,
    GlobalInit,
    SetEnginePref,
    SetGlobalEnginePref,
    SetOpEnginePref,
    SetPerOpEnginePref,
)
from caffe2.python._core.net import Net
from caffe2.python._core.net_rewrite import (
    DEFAULT_REMAP_FUNCS,
    clone_and_bind_net,
    control_op_remap,
    recurrent_network_op_remap,
    remap_input,
    remap_proto,
)
from caffe2.python._core.operator_def import (
    CreateOperator,
    CreatePythonOperator,
    OperandCountWarning,
    OperatorWarning,
    UnknownArgumentWarning,
)
from caffe2.python._core.operator_types import (
    IsOperator,
    IsOperatorWithEngine,
    RefreshRegisteredOperators,
    RegisterLazyImport,
    TriggerLazyImport,
    registered_operators,
)
from caffe2.python._core.plan import (
    ExecutionStep,
    Plan,
    add_nets_in_order,
    execution_step,
    get_net_name,
    scoped_execution_step,
    to_execution_step,
)
from caffe2.python._core.ssa import (
    get_op_ids_in_path,
    get_output_producers,
    get_ssa,
    get_undefined_blobs,
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
    "OperandCountWarning", "OperatorWarning", "TriggerLazyImport", "UnknownArgumentWarning",
    "control_op_remap", "DEFAULT_REMAP_FUNCS",
    "get_net_name", "GetIndexFromGradientList", "GradGenMeta", "InferOpBlobDevicesAsDict",
    "InferOpDeviceAsBlobDevices", "OpSSA", "output_to_list", "recurrent_network_op_remap",
    "SparseGradGenMeta", "update_placeholder_op_output", "utils",
    "workspace", "C",
]

NameScope = scope.NameScope
DeviceScope = scope.DeviceScope
EmptyDeviceScope = scope.EmptyDeviceScope


class DataType:
    """The element types of tensors, by name: ``core.DataType.FLOAT``."""

    UNDEFINED: int
    FLOAT: int
    INT32: int
    BYTE: int
    STRING: int
    BOOL: int
    UINT8: int
    INT8: int
    UINT16: int
    INT16: int
    INT64: int
    FLOAT16: int
    DOUBLE: int
    BFLOAT16: int


for _name, _number in caffe2_pb2.TensorProto.DataType.items():
    setattr(DataType, _name, _number)


def __getattr__(name):
    if name == "_REGISTERED_OPERATORS":
        return registered_operators()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
