"""Queues of records, as pipes with readers and writers (dataio)."""

import logging

from caffe2.python import core, dataio

logger = logging.getLogger(__name__)

# The attribute of nets under which a task group finds what it must set up (TaskGroup.LOCAL_SETUP).
_LOCAL_SETUP = "local_setup"


class _QueueReader(dataio.Reader):
    def __init__(self, wrapper, num_dequeue_records=1):
        if wrapper.schema() is None:
            raise ValueError("Queue needs a schema in order to be read from.")
        dataio.Reader.__init__(self, wrapper.schema())
        self._wrapper = wrapper
        self._num_dequeue_records = num_dequeue_records

    def setup_ex(self, init_net, exit_net):
        exit_net.CloseBlobsQueue([self._wrapper.queue()], 0)

    def read_ex(self, local_init_net, local_finish_net):
        self._wrapper._new_reader(local_init_net)
        dequeue_net = core.Net("dequeue")
        names = self.schema().field_names()
        fields, status = dequeue(
            dequeue_net, self._wrapper.queue(), len(names), field_names=names,
            num_records=self._num_dequeue_records)
        return [dequeue_net], status, fields

    def read(self, net):
        names = self.schema().field_names()
        fields, status = dequeue(
            net, self._wrapper.queue(), len(names), field_names=names,
            num_records=self._num_dequeue_records)
        return status, fields


class _QueueWriter(dataio.Writer):
    def __init__(self, wrapper):
        self._wrapper = wrapper

    def setup_ex(self, init_net, exit_net):
        exit_net.CloseBlobsQueue([self._wrapper.queue()], 0)

    def write_ex(self, fields, local_init_net, local_finish_net, status):
        self._wrapper._new_writer(self.schema(), local_init_net)
        enqueue_net = core.Net("enqueue")
        enqueue(enqueue_net, self._wrapper.queue(), fields, status)
        return [enqueue_net]


class QueueWrapper(dataio.Pipe):
    """A queue that exists, by the blob that holds it.

    `num_dequeue_records`: how many records a reader takes at once, concatenated.
    """

    def __init__(self, handler, schema=None, num_dequeue_records=1):
        dataio.Pipe.__init__(self, schema, _LOCAL_SETUP)
        self._queue = handler
        self._num_dequeue_records = num_dequeue_records

    def reader(self):
        """A reader of the queue."""
        return _QueueReader(self, num_dequeue_records=self._num_dequeue_records)

    def writer(self):
        """A writer to the queue."""
        return _QueueWriter(self)

    def queue(self):
        """The blob of the queue."""
        return self._queue


class Queue(QueueWrapper):
    """A queue of `capacity` records; made, once its schema is known, by `setup`."""

    def __init__(self, capacity, schema=None, name="queue", num_dequeue_records=1):
        net = core.Net(name)
        queue_blob = net.AddExternalInput(net.NextName("handler"))
        QueueWrapper.__init__(
            self, queue_blob, schema, num_dequeue_records=num_dequeue_records)
        self.capacity = capacity
        self._setup_done = False

    def setup(self, global_init_net):
        """Makes the queue. Raises ValueError if there is no schema."""
        if self._schema is None:
            raise ValueError("This queue does not have a schema.")
        self._setup_done = True
        names = self._schema.field_names()
        global_init_net.CreateBlobsQueue(
            [], [self._queue], capacity=self.capacity, num_blobs=len(names), field_names=names)


def enqueue(net, queue, data_blobs, status=None):
    """Adds the enqueueing of a list of blobs, whose contents move into the queue.

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


def dequeue(net, queue, num_blobs, status=None, field_names=None, num_records=1):
    """Adds the dequeueing of one record, or of several that are concatenated.

    Returns (list of its blobs, bool blob `status`: whether the queue was closed and empty).
    """
    if field_names is not None:
        if len(field_names) != num_blobs:
            raise ValueError(f"{len(field_names)} field names for {num_blobs} blobs")
        data_names = [net.NextName(name) for name in field_names]
    else:
        data_names = [net.NextName("data", i) for i in range(num_blobs)]
    if status is None:
        status = net.NextName("status")
    *blobs, status = net.SafeDequeueBlobs(queue, [*data_names, status], num_records=num_records)
    return blobs, status


def close_queue(step, *queues):
    """A step that runs `step` and then closes queues."""
    close_net = core.Net("close_queue_net")
    for queue in queues:
        close_net.CloseBlobsQueue([queue], 0)
    close_step = core.execution_step(f"{close_net}_step", close_net)
    return core.execution_step(f"{close_net}_wraper_step", [step, close_step])
