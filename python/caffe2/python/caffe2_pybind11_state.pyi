"""The extension module of caffe2.python; made by scripts/make_stub.py."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy

class Blob:
    """A blob of a workspace; empty after it was removed there."""
    def _feed(self: Blob, value: object, device_option: str | bytes = '') -> None:
        """Sets the content. `device_option` is a serialized DeviceOption."""
    def deserialize(self: Blob, bytes: str | bytes) -> None:
        """Sets the content from a serialized BlobProto."""
    def feed(self, arr: Any, device_option: Any = None) -> bool:
        """Sets the content as FeedBlob does."""
    def fetch(self: Blob) -> Any:
        """A copy of the content, as FetchBlob."""
    def is_tensor(self: Blob) -> bool:
        ...
    def serialize(self: Blob, name: str | bytes) -> bytes:
        """The content as a serialized BlobProto of this name."""
    def tensor(self: Blob) -> TensorCPU:
        """The tensor in the blob, not a copy."""
    def type_name(self: Blob) -> str:
        """The C++ type of the content."""

class Cursor:
    """Walks the records of a database in its order."""
    def key(self: Cursor) -> bytes:
        """The key of the current record."""
    def next(self: Cursor) -> None:
        ...
    def seek(self: Cursor, key: str | bytes) -> None:
        """Moves to the record with this key, or else to the first one after it."""
    def seek_to_first(self: Cursor) -> None:
        ...
    def supports_seek(self: Cursor) -> bool:
        ...
    def valid(self: Cursor) -> bool:
        """False after the last record."""
    def value(self: Cursor) -> bytes:
        """The value of the current record."""

class DB:
    """A database of records (key, value)."""
    def close(self: DB) -> None:
        """Ends writing, after a commit of its transactions. Only then is a new database complete."""
    def new_cursor(self: DB) -> Cursor:
        """A Cursor at the first record."""
    def new_transaction(self: DB) -> Transaction:
        ...

class DataParallelOptions:
    """The devices and shards of a data-parallel model."""
    def __init__(self: DataParallelOptions, devices: Sequence[str | bytes]) -> None:
        ...
    @property
    def bucket_bytes(self) -> int:
        ...
    @bucket_bytes.setter
    def bucket_bytes(self, value: Any) -> None: ...
    @property
    def engine(self) -> str:
        ...
    @engine.setter
    def engine(self, value: Any) -> None: ...
    @property
    def first_bucket_bytes(self) -> int:
        ...
    @first_bucket_bytes.setter
    def first_bucket_bytes(self, value: Any) -> None: ...
    @property
    def interface(self) -> str:
        ...
    @interface.setter
    def interface(self, value: Any) -> None: ...
    @property
    def num_shards(self) -> int:
        ...
    @num_shards.setter
    def num_shards(self, value: Any) -> None: ...
    @property
    def port_range(self) -> str:
        ...
    @port_range.setter
    def port_range(self, value: Any) -> None: ...
    @property
    def shard_id(self) -> int:
        ...
    @shard_id.setter
    def shard_id(self, value: Any) -> None: ...
    @property
    def store_handler(self) -> str:
        ...
    @store_handler.setter
    def store_handler(self, value: Any) -> None: ...
    @property
    def timeout_ms(self) -> int:
        ...
    @timeout_ms.setter
    def timeout_ms(self, value: Any) -> None: ...
    @property
    def transport(self) -> str:
        ...
    @transport.setter
    def transport(self, value: Any) -> None: ...

class GradientWrapper:
    """The gradient of a blob: dense, sparse or none."""
    def __init__(self: GradientWrapper) -> None:
        ...
    @property
    def dense(self) -> str:
        ...
    @dense.setter
    def dense(self, value: Any) -> None: ...
    @property
    def indices(self) -> str:
        ...
    @indices.setter
    def indices(self, value: Any) -> None: ...
    def is_dense(self: GradientWrapper) -> bool:
        ...
    def is_empty(self: GradientWrapper) -> bool:
        ...
    def is_sparse(self: GradientWrapper) -> bool:
        ...
    @property
    def values(self) -> str:
        ...
    @values.setter
    def values(self, value: Any) -> None: ...

class Mode:
    """How a database is opened."""
    read: Mode
    write: Mode
    new: Mode
    __members__: dict[str, Mode]
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...

class Net:
    """A created net, by its name in its workspace."""
    def cancel(self: Net) -> None:
        """Makes the runs in the workspace of the net fail before their next operator, also if they wait for a queue. Does nothing if nothing runs there."""
    @property
    def name(self) -> str:
        ...
    def run(self: Net, max_seconds: float = 0.0) -> None:
        """Fails before its next operator after `max_seconds`; 0: no limit. RuntimeError if the net was deleted."""

class Observer:
    """Watches a net."""
    def average_time(self: Observer) -> float:
        """Milliseconds of a run of the net, on average."""
    def average_time_children(self: Observer) -> float:
        """Milliseconds of a run of an operator, on average."""
    def debug_info(self: Observer) -> str:
        """The measurements as text."""

class OpSchema:
    """What an operator type accepts and produces."""
    class Argument:
        @property
        def choices(self) -> list[str]:
            """The values that a string may have; [] if it may be any string."""
        @property
        def description(self) -> str:
            ...
        @property
        def name(self) -> str:
            ...
        @property
        def required(self) -> bool:
            ...
        @property
        def type(self) -> str:
            """What it may be, such as "int" or "list of int"; "any" if the schema does not say."""
    def CalculateOutput(self: OpSchema, num_inputs: int) -> int:
        """The number of outputs, or -1 if the schema cannot tell."""
    def _infer_flops(self: OpSchema, op: str | bytes, input_shapes: Sequence[str | bytes]) -> int:
        ...
    def _infer_tensor(self: OpSchema, op: str | bytes, input_shapes: Sequence[str | bytes]) -> list[bytes]:
        ...
    @property
    def args(self) -> list[OpSchema.Argument]:
        ...
    @property
    def cpu_only(self) -> str:
        """Why the operator has no version for GPUs; "" if it has one."""
    @property
    def doc(self) -> str:
        ...
    @property
    def file(self) -> str:
        ...
    @staticmethod
    def get(type: str | bytes) -> OpSchema:
        """The schema of a type, or None."""
    def inplace_allowed(self: OpSchema, input: int, output: int) -> bool:
        ...
    def inplace_enforced(self: OpSchema, input: int, output: int) -> bool:
        ...
    @property
    def input_desc(self) -> list[tuple[str, str]]:
        ...
    @property
    def inputs_can_cross_devices(self) -> bool:
        ...
    @property
    def line(self) -> int:
        ...
    @property
    def max_input(self) -> int:
        ...
    @property
    def max_output(self) -> int:
        ...
    @property
    def min_input(self) -> int:
        ...
    @property
    def min_output(self) -> int:
        ...
    @property
    def output_desc(self) -> list[tuple[str, str]]:
        ...
    @property
    def private(self) -> bool:
        ...
    @property
    def type(self) -> str:
        ...

class PreparedTraining:
    """The data about a prepared net that place_training needs."""
    @property
    def filter_copies(self) -> int:
        ...
    @property
    def half_gradients(self) -> int:
        ...

class ShardLaunch:
    """The place of this process in a launch."""
    def describe(self: ShardLaunch) -> str:
        """The settings of the launcher on one line; empty without a launcher."""
    @property
    def local_rank(self) -> int:
        ...
    @property
    def local_size(self) -> int:
        ...
    def make_store(self: ShardLaunch, blob: str | bytes) -> None:
        """Puts the store of the run into a blob, for CreateCommonWorld. Shard 0 starts the store of tcp://, others wait for it."""
    @property
    def num_shards(self) -> int:
        ...
    @property
    def run_id(self) -> str:
        ...
    def serve(self: ShardLaunch) -> int:
        """Does the work of a process that does not train; returns its exit status."""
    @property
    def shard_id(self) -> int:
        ...
    @property
    def trains(self) -> bool:
        """False for a process that only serves the run, or takes no part in it."""

class StaticQuantizer:
    """Static quantization of a net (caffe2/graph/quantization.h)."""
    def __init__(self: StaticQuantizer, net: str | bytes, inputs: Sequence[str | bytes], workspace: Workspace, ranges: str | bytes, per_channel: bool) -> None:
        ...
    def finish(self: StaticQuantizer) -> bytes:
        """The quantized net, whose new parameters are in the workspace."""
    def observe(self: StaticQuantizer) -> None:
        """Runs the float net on the inputs in the workspace and notes the values of its blobs."""

class TensorCPU:
    """A tensor in host memory, as Python operators see it."""
    def __dlpack__(self: TensorCPU, *, stream: object = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """A DLPack capsule over the tensor's own memory, which lives as long as it is used: numpy.from_dlpack(tensor), torch.from_dlpack(tensor). BufferError for strings, other devices than the CPU and tensors without elements."""
    def __dlpack_device__(self: TensorCPU) -> tuple[int, int]:
        ...
    def __init__(self: TensorCPU) -> None:
        ...
    def _reshape(self: TensorCPU, arg0: Sequence[int]) -> None:
        ...
    @property
    def _shape(self) -> tuple:
        ...
    @property
    def data(self) -> numpy.ndarray:
        """A numpy array over the tensor's own memory: writing to it changes the tensor. A tensor without elements becomes one of floats."""
    def feed(self: TensorCPU, array: numpy.ndarray) -> None:
        """Copies a numpy array into the tensor."""
    def fetch(self: TensorCPU) -> numpy.ndarray:
        """A copy as a numpy array."""
    def from_dlpack(self: TensorCPU, source: object) -> None:
        """Shares the memory of an array of another library (an object with __dlpack__, or a capsule): a write to one changes the other. BufferError unless the array is on the CPU, row-major and writable, with an element type that tensors have."""
    def init(self: TensorCPU, dims: Sequence[int], type: int) -> None:
        """Allocates elements of a TensorProto.DataType; their content is undefined."""
    def reshape(self: TensorCPU, dims: Sequence[int]) -> None:
        """Sets the shape; the content is undefined if the size changes."""
    @property
    def shape(self) -> tuple:
        ...
    def to_dlpack(self: TensorCPU) -> Any:
        """The capsule of __dlpack__, in the layout that all versions of DLPack know."""

class TrainingPasses:
    """The passes that prepare a training net: caffe2/graph/training_pipeline.h. They change results by rounding only, unused_gradients and memory_plan not at all."""
    def __init__(self: TrainingPasses, *, fuse: str | bytes = 'all', fuse_conv: str | bytes = 'none', unused_gradients: bool = True, gradient_sums: bool = False, fused_updates: bool = False, filter_copies: int = 1, half_gradients: bool = False, memory_plan: bool = True) -> None:
        ...
    @property
    def filter_copies(self) -> int:
        """TensorProto.DataType of copies of filters that fused updates write; FLOAT: none."""
    @filter_copies.setter
    def filter_copies(self, value: Any) -> None: ...
    @property
    def fuse(self) -> str:
        """Layers that become one operator: off, bn (batch normalization) or all."""
    @fuse.setter
    def fuse(self, value: Any) -> None: ...
    @property
    def fuse_conv(self) -> str:
        """Batch normalization inside convolutions: none, stats, prologue or residual."""
    @fuse_conv.setter
    def fuse_conv(self, value: Any) -> None: ...
    @property
    def fused_updates(self) -> bool:
        ...
    @fused_updates.setter
    def fused_updates(self, value: Any) -> None: ...
    @property
    def gradient_sums(self) -> bool:
        ...
    @gradient_sums.setter
    def gradient_sums(self, value: Any) -> None: ...
    @property
    def half_gradients(self) -> bool:
        ...
    @half_gradients.setter
    def half_gradients(self, value: Any) -> None: ...
    @property
    def memory_plan(self) -> bool:
        ...
    @memory_plan.setter
    def memory_plan(self, value: Any) -> None: ...
    @property
    def unused_gradients(self) -> bool:
        ...
    @unused_gradients.setter
    def unused_gradients(self, value: Any) -> None: ...

class Transaction:
    """Adds records. They are committed by commit() or, at the latest, when the object is freed or the database is closed."""
    def commit(self: Transaction) -> None:
        """Makes the records put so far durable."""
    def put(self: Transaction, key: str | bytes, value: str | bytes) -> None:
        ...

class Workspace:
    """Blobs and nets by name."""
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        ...
    def _create_net(self: Workspace, net: str | bytes, overwrite: bool = False) -> Net:
        ...
    def _optimize_for_inference(self: Workspace, net: str | bytes, keep: AbstractSet[str | bytes]) -> tuple[bytes, set[str]]:
        """(the net made fast for inference, the blobs after whose change it must be made again)."""
    def _remove_blob(self: Workspace, name: str | bytes) -> bool:
        ...
    def _run_net(self: Workspace, net: str | bytes, max_seconds: float = 0.0) -> None:
        ...
    def _run_operator(self: Workspace, arg0: str | bytes) -> None:
        ...
    def _run_plan(self: Workspace, arg0: str | bytes) -> None:
        ...
    @property
    def blobs(self) -> dict:
        """Name -> blob."""
    def check_finite(self: Workspace, blobs: Sequence[str | bytes], trust_setting: str | bytes) -> None:
        """Throws, naming the blob, if a tensor of floating-point numbers among the blobs holds NaN or an infinity. `trust_setting`: as in restrict_model."""
    def create_blob(self: Workspace, name: str | bytes) -> Blob:
        """The blob of this name, made if there is none."""
    def create_net(self, net: Any, overwrite: bool = False) -> Any:
        """Makes a net of this workspace, from a Net or NetDef."""
    current: Workspace
    def feed_blob(self, name: Any, arr: Any, device_option: Any = None) -> None:
        """FeedBlob into this workspace."""
    def fetch_blob(self: Workspace, name: str | bytes) -> Any:
        ...
    def get_blob(self: Workspace, name: str | bytes) -> Blob:
        ...
    def has_blob(self: Workspace, name: str | bytes) -> bool:
        ...
    @property
    def nets(self) -> dict[str, Net]:
        """Name -> net."""
    def remove_blob(self, name: Any) -> bool:
        """RemoveBlob from this workspace."""
    def run(self, obj: Any) -> None:
        """Runs a Net, Plan, NetDef, PlanDef or OperatorDef once."""

def add_blob_broadcast(net: str | bytes, blobs: Sequence[Sequence[str | bytes]], options: DataParallelOptions) -> bytes:
    """The net with the broadcast of the blobs from the first device of shard 0 to all others."""

def add_common_worlds(init_net: str | bytes, options: DataParallelOptions) -> bytes:
    ...

def add_gradient_reduction(net: str | bytes, gradients: Sequence[Sequence[str | bytes]], shapes: str | bytes, options: DataParallelOptions) -> bytes:
    """The net with the sums of the gradients over devices and shards; `gradients` holds for each its blobs on all devices, `shapes` (TensorShapes) its shape on the first device."""

def add_observer_to_net(net_name: str | bytes, observer_type: str | bytes) -> Observer:
    ...

def apply_transform(name: str | bytes, net: str | bytes) -> bytes:
    """The net after a transform."""

def benchmark_net(name: str | bytes, warmup_runs: int, main_runs: int, run_individual: bool) -> list[float]:
    ...

def blobs() -> list[str]:
    ...

def check_is_model(path: str | bytes) -> None:
    """Throws if the file is evidently no exported model; the message says what it is and what to do (train/model_file.h)."""

def choose_training_passes(device_type: int, order: str | bytes, type: int) -> TrainingPasses:
    """The passes that make training faster on a type of devices, for activations of this order and TensorProto.DataType."""

def create_blob(arg0: str | bytes) -> bool:
    ...

def create_db(db_type: str | bytes, source: str | bytes, mode: Mode) -> DB:
    """Opens a database."""

def create_net(net: str | bytes, overwrite: bool = False) -> bool:
    ...

def current_workspace() -> str:
    ...

def default_image_scale(image_size: int) -> int:
    """The shorter side of images before the crop to image_size, as the trainers choose it."""

define_caffe2_no_operator_schema: bool

def delete_net(arg0: str | bytes) -> bool:
    ...

def deserialize_blob(arg0: str | bytes, arg1: str | bytes) -> None:
    ...

def fail_runs(cause: str | bytes) -> None:
    """Ends the runs because of a failure of this shard; the others print `cause`."""

def feed_blob(name: str | bytes, value: object, device_option: str | bytes = '') -> bool:
    ...

def fetch_blob(arg0: str | bytes) -> Any:
    ...

def get_backward_pass(net: str | bytes, losses: Sequence[tuple[str | bytes, str | bytes]]) -> tuple[list[bytes], dict[str, GradientWrapper]]:
    """The operators to append to a net, and blob -> GradientWrapper. `losses` are pairs of a loss and its gradient blob, or '' to start from ones."""

def get_gradient_defs(op: str | bytes, g_output: Sequence[GradientWrapper]) -> tuple[list[bytes], list[GradientWrapper]]:
    """The gradient operators of one operator, and the gradients of its inputs."""

def get_operator_cost(op: str | bytes, input_blobs: Sequence[str | bytes]) -> tuple[int, int]:
    ...

def global_init(args: Sequence[str | bytes]) -> None:
    """Sets flags; the first word is the program's name."""

def has_blob(arg0: str | bytes) -> bool:
    ...

def has_gradient(arg0: str | bytes) -> bool:
    ...

has_mkldnn: bool

def image_shape(record: str | bytes, color: bool = True) -> tuple[int, int, int]:
    """Height, width and channels of the image of a record. An image file has 3 channels, or 1 without `color`."""

def infer_shapes_and_types_from_map(nets: Sequence[str | bytes], dims: Mapping[str | bytes, Sequence[int]], types: Mapping[str | bytes, int] = {}) -> bytes:
    ...

def infer_shapes_and_types_from_workspace(arg0: Sequence[str | bytes]) -> bytes:
    ...

is_asan: bool

def launched_shards() -> tuple[int, str]:
    """(number of shards, what the launcher says) by the environment; (1, "") without a launcher. Raises ValueError as resolve_launch does."""

def leave_runs() -> None:
    """Ends the runs successfully; waits for the other shards."""

def local_blobs() -> list[str]:
    ...

def measure_memory() -> tuple[list[tuple[str, str, str, str, int, int]], int, int]:
    """(name, shape, type, device, bytes, blobs that it shares memory with) of each tensor, the sum of the bytes, and the bytes of memory that they lie in."""

def nearby_opnames(type: str | bytes) -> list[str]:
    """Registered types that look most like this one, best first."""

def nets() -> list[str]:
    ...

new: Mode

def num_cuda_devices() -> int:
    ...

def num_observers_on_net(net_name: str | bytes) -> int:
    ...

def on_module_exit(cause: str | bytes = '') -> None:
    ...

def op_registry_key(arg0: str | bytes, arg1: str | bytes) -> str:
    ...

def place_training(net: str | bytes, prepared: PreparedTraining, keep: AbstractSet[str | bytes]) -> list[tuple[str, int, int]]:
    """Places the blobs of a net in the workspace. [(device, bytes of planned memory, bytes of the same blobs without sharing)]."""

def plan_memory(net: str | bytes, shapes: str | bytes, keep: AbstractSet[str | bytes] = set()) -> tuple[int, int]:
    """(bytes that the blobs of a net need if they share memory, bytes without sharing)."""

def plan_shared_blobs(net: str | bytes, candidates: AbstractSet[str | bytes], shapes: str | bytes = '') -> dict[str, str]:
    """{blob: blob it shares with}, of candidates that are not alive at the same time."""

def prepare_forward(net: str | bytes, passes: TrainingPasses, keep: AbstractSet[str | bytes]) -> bytes:
    """The net before its backward pass, after the passes that belong there."""

def prepare_training(net: str | bytes, init_net: str | bytes, passes: TrainingPasses, keep: AbstractSet[str | bytes]) -> tuple[bytes, PreparedTraining]:
    """(The net after the passes that follow its updates, the argument of place_training.)"""

read: Mode

def record_fingerprint(db_type: str | bytes, source: str | bytes) -> str:
    """A line that tells the records of two databases apart: their number and a checksum of some."""

def register_python_gradient(type: str | bytes, function: Callable) -> None:
    ...

def register_python_gradient_op(token: str | bytes, func: object) -> None:
    ...

def register_python_op(func: object, pass_workspace: bool, name: str | bytes = '') -> str:
    """Keeps a function for operators of type Python, or a tuple (builder, args, kwargs) with which each operator builds its own function; returns the token."""

def registered_dbs() -> list[str]:
    ...

def registered_operators() -> list[str]:
    ...

def remove_observer_from_net(net_name: str | bytes, observer: Observer) -> None:
    ...

def rename_blobs(net: str | bytes, renamed: Mapping[str | bytes, str | bytes]) -> bytes:
    ...

def reset_workspace(root_folder: str | bytes = '') -> bool:
    ...

def resolve_launch(num_shards: int | None, shard_id: int | None, run_id: str | bytes, init_method: str | bytes, redis_host: str | bytes, redis_port: int, file_store_path: str | bytes, rendezvous_timeout: float) -> ShardLaunch:
    """The place of this process among the shards, from these values and the variables of its launcher; the values take precedence. A shard without a number waits for the store and gets one from it. Raises ValueError for values that are wrong, missing or contradict each other."""

def restrict_model(name: str | bytes, net: str | bytes, trust_setting: str | bytes) -> bytes:
    """The net with limits on its loops. Throws if it is too large for a model that is not trusted, or has an operator that such a model may not use (train/restrict_model.h). `trust_setting` is what lifts the limits, for errors; "" if nothing does."""

def root_folder() -> str:
    ...

def run_net(name: str | bytes, num_iter: int = 1, allow_fail: bool = False) -> bool:
    ...

def run_net_once(arg0: str | bytes) -> bool:
    ...

def run_operator_once(arg0: str | bytes) -> bool:
    ...

def run_plan(arg0: str | bytes) -> bool:
    ...

def serialize_blob(arg0: str | bytes) -> bytes:
    ...

def set_global_engine_pref(arg0: Mapping[int, Sequence[str | bytes]]) -> None:
    ...

def set_op_engine_pref(arg0: str | bytes, arg1: Mapping[int, Sequence[str | bytes]]) -> None:
    ...

def show_progress_epoch(epoch: int) -> None:
    """Shows this epoch in the status, like show_progress_state."""

def show_progress_state(state: str | bytes) -> None:
    """Shows this state in the status of the runs that the process has joined, until a net that trains or tests runs."""

def switch_workspace(name: str | bytes, create_if_missing: bool = False) -> None:
    ...

def transforms() -> list[str]:
    """The names of the transforms."""

def verify_operator(op: str | bytes) -> None:
    """Raises RuntimeError if the schema rejects an operator: its inputs, arguments or in-place use."""

def workspaces() -> list[str]:
    ...

write: Mode
