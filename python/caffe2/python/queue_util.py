"""Queues of records, as pipes with readers and writers (dataio)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from caffe2.python import core, dataio
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.schema_fields import Field

logger = logging.getLogger(__name__)

# The attribute of nets under which a task group finds objects to set up (TaskGroup.LOCAL_SETUP).
_LOCAL_SETUP = "local_setup"


class _QueueEnd:
    """Base of a reader and a writer of a queue: both close it at the end."""

    def __init__(self, pipe):
        self._pipe = pipe

    def setup_ex(self, init_net, exit_net):
        exit_net.CloseBlobsQueue([self._pipe.queue()], 0)


class _QueueReader(_QueueEnd, dataio.Reader):
    def __init__(self, pipe, num_records):
        if pipe.schema() is None:
            raise ValueError("a queue without a schema cannot be read")
        _QueueEnd.__init__(self, pipe)
        dataio.Reader.__init__(self, pipe.schema())
        self._num_records = num_records

    def read_ex(self, local_init_net, local_finish_net):
        self._pipe._new_reader(local_init_net)
        net = core.Net("dequeue")
        return [net], *self.read(net)

    def read(self, net):
        names = self.schema().field_names()
        blobs, closed = dequeue(net, self._pipe.queue(), len(names), field_names=names,
                                num_records=self._num_records)
        return closed, blobs


class _QueueWriter(_QueueEnd, dataio.Writer):
    def write_ex(self, fields, local_init_net, local_finish_net, status):
        self._pipe._new_writer(self.schema(), local_init_net)
        net = core.Net("enqueue")
        enqueue(net, self._pipe.queue(), fields, status)
        return [net]


class QueueWrapper(dataio.Pipe):
    """A pipe over the blob of an existing queue.

    `num_dequeue_records`: the number of records that a reader takes at once and concatenates.
    """

    def __init__(self, handler: BlobReference, schema: Field | None = None,
                 num_dequeue_records: int = 1) -> None:
        super().__init__(schema, obj_key=_LOCAL_SETUP)
        self._queue, self._num_records = handler, num_dequeue_records

    def reader(self) -> dataio.Reader:
        """A reader of the queue."""
        return _QueueReader(self, self._num_records)

    def writer(self) -> dataio.Writer:
        """A writer to the queue."""
        return _QueueWriter(self)

    def queue(self) -> BlobReference:
        """The blob of the queue."""
        return self._queue


class Queue(QueueWrapper):
    """A queue of `capacity` records. `setup` makes it, when its schema is known."""

    def __init__(self, capacity: int, schema: Field | None = None, name: str = "queue",
                 num_dequeue_records: int = 1) -> None:
        owner = core.Net(name)  # its unique name makes the queue's name unique
        super().__init__(
            owner.AddExternalInput(owner.NextName("handler")), schema, num_dequeue_records)
        self.capacity = capacity

    def setup(self, global_init_net: core.Net) -> None:
        """Makes the queue. Raises ValueError if there is no schema."""
        if self._schema is None:
            raise ValueError("a queue cannot be made without a schema")
        names = self._schema.field_names()
        global_init_net.CreateBlobsQueue(
            [], [self._queue], capacity=self.capacity, num_blobs=len(names), field_names=names)


def enqueue(net: core.Net, queue: BlobLike, data_blobs: Iterable[BlobLike],
            status: BlobLike | None = None) -> BlobReference:
    """Adds an operator that moves the contents of a list of blobs into the queue.

    A blob that appears twice is copied. Returns the bool blob `status`: whether the queue was
    closed.
    """
    if status is None:
        status = net.NextName("status")
    queue_blobs = []
    for blob in data_blobs:
        if blob in queue_blobs:
            logger.warning("Need to copy blob %s to enqueue", blob)
            blob = net.Copy(blob)
        queue_blobs.append(blob)
    results = net.SafeEnqueueBlobs([queue, *queue_blobs], [*queue_blobs, status])
    return results[-1]


def dequeue(net: core.Net, queue: BlobLike, num_blobs: int, status: BlobLike | None = None,
            field_names: Sequence[str] | None = None,
            num_records: int = 1) -> tuple[list[BlobReference], BlobReference]:
    """Adds an operator that takes `num_records` records from the queue and concatenates them.

    Returns (list of its blobs, bool blob `status`: whether the queue was closed and empty).
    """
    if field_names is not None:
        if len(field_names) != num_blobs:
            raise ValueError(f"there must be one field name for each of the {num_blobs} blobs, "
                             f"found {len(field_names)}")
        data_names = [net.NextName(name) for name in field_names]
    else:
        data_names = [net.NextName("data", i) for i in range(num_blobs)]
    if status is None:
        status = net.NextName("status")
    *blobs, closed = net.SafeDequeueBlobs(queue, [*data_names, status], num_records=num_records)
    return blobs, closed


def close_queue(step: Any, *queues: BlobLike) -> core.ExecutionStep:
    """A step that runs `step` and then closes queues."""
    close_net = core.Net("close_queue_net")
    for queue in queues:
        close_net.CloseBlobsQueue([queue], 0)
    close_step = core.execution_step(f"{close_net}_step", close_net)
    return core.execution_step(f"{close_net}_wraper_step", [step, close_step])
