"""A queue between threads that read and process records, and threads that use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caffe2.python import core, workspace
from caffe2.python.dataio import Reader
from caffe2.python.queue_util import dequeue, enqueue


class _QueueReader(Reader):
    def __init__(self, blobs_queue, schema, name=None):
        Reader.__init__(self, schema)
        self.blobs_queue = blobs_queue
        self.name = name

    def read(self, read_net):
        names = self._schema.field_names()
        fields, status = dequeue(read_net, self.blobs_queue, len(names), field_names=names)
        return status, fields


class RecordQueue:
    """A queue of records that threads fill from a reader. The constructor makes it in the current
    workspace.

    Args:
      fields: the record or schema of its records.
      capacity: the number of records that it holds at most.
      num_threads: the number of threads that read, process and enqueue.
    """

    def __init__(self, fields: Any, name: str | None = None, capacity: int = 1,
                 enforce_unique_name: bool = False, num_threads: int = 1) -> None:
        if capacity <= 0 or num_threads <= 0:
            raise ValueError(f"capacity {capacity} and num_threads {num_threads} must be positive")
        self._fields = fields
        self.num_threads = num_threads
        self.num_blobs = len(fields.field_names())
        self.name = name or "RecordQueue"
        self.capacity = capacity
        self.schema = fields.clone(keep_blobs=False)
        init_net = core.Net(self.name + "_init")
        self.blobs_queue = init_net.CreateBlobsQueue(
            [], 1, capacity=capacity, num_blobs=self.num_blobs,
            enforce_unique_name=enforce_unique_name)
        # At once: the nets of consumers are made before any step runs.
        workspace.RunNetOnce(init_net)

    def build(self, reader: Reader,
              process: Callable[[core.Net, Any], Any] | None = None
              ) -> tuple[Reader, core.ExecutionStep, core.ExecutionStep, Any]:
        """Steps that fill the queue.

        Args:
          reader: where records come from.
          process: function(net, record) -> record, which adds to a net; default: none.

        Returns (a Reader of the queue, the producing step, a step that closes the queue, the record
        that is enqueued). Run the producing, then the closing step, concurrently with consumers.
        """
        producer_steps = []
        record = None
        for i in range(self.num_threads):
            net = core.Net(f"{self.name}_reader_{i}")
            should_stop, record = reader.read_record(net)
            read_step = core.execution_step(f"{self.name}_read_step_{i}", net)
            enqueue_net = core.Net(f"{self.name}_enqueue_{i}")
            if process is not None:
                record = process(enqueue_net, record)
            enqueue(enqueue_net, self.blobs_queue, record.field_blobs())
            enqueue_step = core.execution_step(f"{self.name}_enqueue_step_{i}", enqueue_net)
            producer_steps.append(core.execution_step(
                f"{self.name}_producer_{i}", [read_step, enqueue_step],
                should_stop_blob=should_stop))
        step = core.execution_step(
            f"{self.name}_step", producer_steps, concurrent_substeps=True)
        close_net = core.Net(f"{self.name}_close")
        close_net.CloseBlobsQueue([self.blobs_queue], 0)
        exit_step = core.execution_step(f"{self.name}_exit_step", close_net)
        return _QueueReader(self.blobs_queue, self.schema), step, exit_step, record
