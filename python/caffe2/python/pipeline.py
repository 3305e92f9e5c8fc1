"""Tasks that read records, process them in threads and write them on.

    with TaskGroup() as tg:
        queue = pipe(reader, processor=f, num_threads=4)  # a Queue that the task fills
        pipe(queue, output=writer)                        # another task empties it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe2.python import core, queue_util
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python._core.net import Net
from caffe2.python.dataio import Reader, Writer
from caffe2.python.net_builder import NetBuilder, ops
from caffe2.python.schema import Field, as_record
from caffe2.python.task import Task, TaskGroup

DEFAULT_QUEUE_CAPACITY = 100


class Output:
    """The result of a processor.

    Args:
      nets: the nets to run; default: the nets that it added to the current NetBuilder (by `ops`).
      record: the processed record, or None if nothing is to be written.
      should_stop: a bool blob: end after this record.
    """

    def __init__(self, nets: Any = None, record: Any = None,
                 should_stop: BlobReference | None = None) -> None:
        added = NetBuilder.current().get()
        if nets is not None and added:
            raise ValueError("Cannot both use `ops` syntax and return a list of nets.")
        nets = added if nets is None else nets
        self.nets = [nets] if isinstance(nets, core.Net) else list(nets)
        self.record = None if record is None else as_record(record)
        self.should_stop = should_stop


def normalize_processor_output(output: Any) -> Output:
    """An Output from an Output, a record, (record, should_stop), (nets, record, ...) or None."""
    if isinstance(output, Output):
        return output
    if isinstance(output, Field):
        return Output(record=output)
    if isinstance(output, tuple):
        if len(output) == 2 and isinstance(output[0], Field) and isinstance(
                output[1], core.BlobReference):
            return Output(None, *output)
        return Output(*output)
    return Output(output)


def make_processor(processor: Any, reader: Any = None) -> Any:
    """A function(record) from a function, a Net with records, or None (leaves records alone)."""
    if processor is None:
        return lambda record: record
    if isinstance(processor, core.Net):
        return NetProcessor(processor)
    if reader is not None and hasattr(processor, "schema_func"):
        processor.schema = lambda: processor.schema_func(reader)
    return processor


def processor_name(processor: Any) -> str:
    """A name for a processor: its own, or its class's."""
    for attribute in ("name", "func_name", "__name__"):
        name = getattr(processor, attribute, None)
        if name:
            return str(name)
    return type(processor).__name__


class NetProcessor:
    """Runs a copy of a net for each thread; the net has an input and perhaps an output record.

    Args:
      net: the net.
      stop_signal: a bool blob of the net: end after this record.
      thread_init_nets: nets that run once in each thread before the first record.
    """

    def __init__(self, net: Net, stop_signal: BlobReference | None = None,
                 thread_init_nets: Sequence[Net] | None = None, name: str | None = None) -> None:
        if not isinstance(net, core.Net):
            raise TypeError(f"a NetProcessor runs a Net, not {net!r}")
        self.name = name or str(net)
        self.thread_init_nets = thread_init_nets or []
        self.net = net
        self._stop_signal = stop_signal
        self._blob_maps: list[dict[str, str]] = []
        self._cloned_init_nets: list[Net] = []
        self._frozen = False

    def schema(self) -> Any:
        """The output record of the net."""
        return self.net.output_record()

    def setup(self, init_net: Net) -> Any:
        """The init nets of the threads so far."""
        self._frozen = True
        cloned, self._cloned_init_nets = self._cloned_init_nets, []
        return cloned

    def blob_maps(self) -> list[dict[str, str]]:
        """For each thread {blob of the net: blob of its copy}."""
        self._frozen = True
        return self._blob_maps

    def __call__(self, record: Field) -> Output:
        if self._frozen:
            raise RuntimeError("this NetProcessor is in use and makes no more copies")
        prefix = NetBuilder.current().name + "/"
        remap: dict[str, str] = {}
        for net in self.thread_init_nets:
            cloned, remap = core.clone_and_bind_net(net, str(net) + prefix, prefix, remap)
            self._cloned_init_nets.append(cloned)
        cloned, remap = core.clone_and_bind_net(
            self.net, str(self.net) + prefix, prefix, remap, record)
        stop = self._stop_signal
        if stop is not None and str(stop) in remap:
            stop = core.BlobReference(remap[str(stop)], net=cloned)
        self._blob_maps.append(remap)
        output = self.net.output_record()
        if output is not None:
            output = output.clone()
            for scalar in output.all_scalars():
                blob = str(scalar.get())
                scalar.set_value(core.BlobReference(remap.get(blob, blob), cloned), unsafe=True)
        return Output([cloned], output, stop)


class ProcessingReader(Reader):
    """Reads from another reader, and returns the processed record."""

    def __init__(self, reader: Reader, processor: Any) -> None:
        Reader.__init__(self)
        self.reader = reader
        self.processor = make_processor(processor, reader)

    def schema(self) -> Any:
        """The record that the processor makes."""
        return self.processor.schema()

    def setup_ex(self, init_net: Net, finish_net: Net) -> None:
        """Sets up the other reader."""
        self.reader.setup_ex(init_net, finish_net)

    def read_ex(self, init_net: Net, exit_net: Net) -> Any:
        """The nets of the reader and of the processor, should_stop and the processed fields."""
        status: Any
        read_nets, status, record = self.reader.read_record_ex(init_net, exit_net)
        with NetBuilder() as builder:
            result = normalize_processor_output(self.processor(record))
        nets = [*read_nets, *result.nets]
        stops = [blob for blob in (result.should_stop, builder._stop_blob) if blob is not None]
        if stops:
            stop_net = core.Net("stop_net")
            for blob in stops:
                stop_net.Or([status, blob], [status])
            nets.append(stop_net)
        if hasattr(self.processor, "setup"):
            init_net.add_attribute(TaskGroup.LOCAL_SETUP, self.processor)
        self._set_schema(result.record)
        return nets, status, result.record.field_blobs() if result.record else None

    def _record(self, fields):
        return super()._record(fields) if fields is not None else None


def pipe(input: Any, output: Any = None, num_threads: int = 1, processor: Any = None,
         name: str | None = None, capacity: int | None = None, group: TaskGroup | None = None,
         num_runtime_threads: int = 1) -> Any:
    """Adds a task that moves records from `input` through `processor` to `output`.

    Args:
      input: a Reader, or a Pipe such as a Queue.
      output: a Writer, a Pipe, or None: a new Queue of `capacity` records.
      num_threads: the number of concurrent steps, each with nets of its own; 0 adds no task and
        returns a reader of the processed records.
      processor: function(record) -> record, Output, nets or None; a Net with records; or None.
      name: of the task; default: the name of the processor, the output or the input.
      group: the TaskGroup; default: the current one.
      num_runtime_threads: instead of num_threads: the number of concurrent instances of one
        step, each in a workspace of its own.

    Returns the output if it is a Pipe, the new Queue, or None.
    """
    return _pipe_step(input, output, num_threads, processor, name, capacity, group,
                      num_runtime_threads)[0]


def pipe_and_output(input: Any, output: Any = None, num_threads: int = 1, processor: Any = None,
                    name: str | None = None, capacity: int | None = None,
                    group: TaskGroup | None = None, num_runtime_threads: int = 1,
                    final_outputs: Any = None) -> tuple[Any, Any]:
    """Like pipe; also returns the TaskOutputs of the blobs `final_outputs` (one, or a list)."""
    if num_threads <= 0:
        raise ValueError(f"num_threads is {num_threads}")
    result, task = _pipe_step(input, output, num_threads, processor, name, capacity, group,
                              num_runtime_threads, final_outputs)
    outputs = None
    if final_outputs is not None:
        outputs = task.outputs()
        if not isinstance(final_outputs, (list, tuple)):
            outputs = outputs[0]
    return result, outputs


def _pipe_step(input, output, num_threads, processor, name, capacity, group, num_runtime_threads,
               final_outputs=None):
    if num_threads > 1 and num_runtime_threads > 1:
        raise ValueError("Only one of num_threads or num_runtime_threads must be set.")
    if isinstance(input, Reader):
        reader = input
    elif hasattr(input, "reader"):
        reader = input.reader()
    else:
        raise ValueError("Input must be a reader, queue or stream.")
    if processor is not None:
        reader = ProcessingReader(reader, processor)
    if num_threads == 0 or num_runtime_threads == 0:
        if output is not None:
            raise ValueError("with num_threads=0 there is no task that writes to the output")
        return reader, None
    if name is None and processor is not None:
        name = processor_name(processor)
    if name is None and output is not None:
        name = f"pipe_into:{processor_name(output)}"
    name = name or f"pipe_from:{processor_name(input)}"
    make_task = _static_threads_task if num_threads > 1 else _runtime_threads_task
    threads = num_threads if num_threads > 1 else num_runtime_threads
    return make_task(name, group, final_outputs, reader, threads, output, capacity)


def _init_output(output, capacity, global_init_net, global_exit_net):
    """(what pipe returns, the Writer)."""
    if output is None:
        queue = queue_util.Queue(DEFAULT_QUEUE_CAPACITY if capacity is None else capacity)
        writer = queue.writer()
    elif capacity is not None:
        raise ValueError(f"capacity ({capacity}) and output cannot both be given: capacity is for "
                         "a new queue")
    elif isinstance(output, Writer):
        queue, writer = None, output
    elif hasattr(output, "writer"):
        queue, writer = output, output.writer()
    else:
        raise ValueError("output must be a writer, queue or stream.")
    writer.setup_ex(global_init_net, global_exit_net)
    return queue, writer


def _read_nets(reader, init_net, exit_net):
    """(nets, stop blob, record or None); the stop blob is false at the beginning."""
    nets, status, record = reader.read_record_ex(init_net, exit_net)
    init_net.ConstantFill([], [status], shape=[], value=False, dtype=core.DataType.BOOL)
    return nets, status, record


def _runtime_threads_task(name, group, final_outputs, reader, num_threads, output, capacity):
    with Task(name=name, group=group, outputs=final_outputs, num_instances=num_threads) as task:
        global_init_net, global_exit_net = core.Net("pipe:init"), core.Net("pipe:exit")
        reader.setup_ex(global_init_net, global_exit_net)
        init_net, exit_net = core.Net("pipe:instance:init"), core.Net("pipe:instance:exit")
        nets, status, record = _read_nets(reader, init_net, exit_net)
        queue = None
        if record is not None:
            queue, writer = _init_output(output, capacity, global_init_net, global_exit_net)
            write_nets, _ = writer.write_record_ex(record, init_net, exit_net, status)
            nets = [*nets, *write_nets]
        with ops.task_init():
            ops.net(global_init_net)
        with ops.task_instance_init():
            ops.net(init_net)
        ops.net(core.execution_step("body", nets, should_stop_blob=status))
        with ops.task_instance_exit():
            ops.net(exit_net)
        with ops.task_exit():
            ops.net(global_exit_net)
    return queue, task


def _static_threads_task(name, group, final_outputs, reader, num_threads, output, capacity):
    with Task(name=name, group=group, outputs=final_outputs) as task:
        global_init_net, global_exit_net = core.Net("init"), core.Net("exit")
        reader.setup_ex(global_init_net, global_exit_net)
        queue = writer = None
        steps = []
        for thread in range(num_threads):
            with NetBuilder(name=f"t:{thread}") as builder:
                init_net, exit_net = core.Net("init"), core.Net("exit")
                nets, status, record = _read_nets(reader, init_net, exit_net)
                if record is not None:
                    if writer is None:
                        # The queue belongs to the task, not to its first thread.
                        with NetBuilder(_fullname=task.name):
                            queue, writer = _init_output(
                                output, capacity, global_init_net, global_exit_net)
                    write_nets, _ = writer.write_record_ex(record, init_net, exit_net, status)
                    nets = [*nets, *write_nets]
                ops.net(init_net)
                ops.net(core.execution_step("body", nets, should_stop_blob=status))
                ops.net(exit_net)
            steps.append(core.to_execution_step(builder))
        ops.net(global_init_net)
        ops.net(core.execution_step("body", steps, concurrent_substeps=True))
        ops.net(global_exit_net)
    return queue, task
