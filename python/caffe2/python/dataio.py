"""Readers and writers: sources and destinations of records.

A Reader adds to a net the operators that read the next record and tell whether there was one. A
Writer adds the operators that write a record. Subclass them for new sources, or wrap them:
`ReaderWithLimit`, `ReaderWithTimeLimit`, `ReaderWithDelay`, `CompositeReader`. The readers of a
Pipe (queue_util.Queue) read the records that its writers write. A ReaderBuilder makes equal
readers, for several threads or nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.net import Net
from caffe2.python.schema import Field, Struct, from_blob_list


class Reader:
    """Reads records of a schema, which may be unknown until it is set.

    Subclasses define either `read(net)` -> (should_stop, fields), which adds to a net, or
    `read_ex(local_init_net, local_finish_net)` -> (nets, should_stop, fields), which makes nets of
    its own. `should_stop` is a bool blob: true if there was no record left to read.
    """

    def __init__(self, schema: Field | None = None) -> None:
        if schema is not None and not isinstance(schema, Field):
            raise TypeError(f"the schema of a reader is a schema.Field, not {schema!r}")
        self._schema = schema

    def schema(self) -> Any:
        """The schema. Raises ValueError if it is not known."""
        if self._schema is None:
            raise ValueError("Schema not provided for this reader.")
        return self._schema

    def _set_schema(self, schema):
        self._schema = schema

    def setup_ex(self, init_net: Net, finish_net: Net) -> None:
        """Adds the operators that run once before the first and after the last read."""

    def read_ex(self, local_init_net: Net,
                local_finish_net: Net) -> tuple[list[Net], BlobReference | None, list[Any]]:
        """(nets to run in order, should_stop blob, list of field blobs).

        `local_init_net` and `local_finish_net` run once in each thread that reads.
        """
        read_net = core.Net("reader_body")
        should_stop, fields = self.read(read_net)
        return [read_net], should_stop, fields

    def read(self, read_net: Net) -> tuple[BlobReference, list[Any]]:
        """Adds the reading of one record to a net; returns (should_stop, list of field blobs)."""
        raise NotImplementedError("Readers must implement `read` or `read_ex`.")

    def read_record_ex(self, local_init_net: Net,
                       local_finish_net: Net) -> tuple[list[Net], BlobReference | None, Any]:
        """Like read_ex, but returns a record of the schema instead of the list."""
        nets, should_stop, fields = self.read_ex(local_init_net, local_finish_net)
        return nets, should_stop, self._record(fields)

    def read_record(self, read_net: Net) -> tuple[BlobReference, Any]:
        """Like read, but returns a record of the schema instead of the list."""
        should_stop, fields = self.read(read_net)
        return should_stop, self._record(fields)

    def _record(self, fields):
        return from_blob_list(self._schema, fields) if self._schema is not None else fields

    def reset(self, net: Net) -> None:
        """Adds to a net the operators that restart the reader."""
        raise NotImplementedError("This reader cannot be reset.")

    def execution_step(self, reader_net_name: str | None = None,
                       external_should_stop: BlobReference | None = None
                       ) -> tuple[core.ExecutionStep, list[Any]]:
        """A step that reads until the end, or until the blob `external_should_stop` is true.

        Returns (step, list of field blobs). Steps that run concurrently may use the fields.
        """
        reader_net = core.Net(reader_net_name or "reader")
        should_stop, fields = self.read_record(reader_net)
        if external_should_stop is not None:
            should_stop = reader_net.Or([external_should_stop, should_stop])
        step = core.execution_step(
            f"{reader_net_name or 'reader'}_step", reader_net, should_stop_blob=should_stop)
        return step, fields


def _add_false(net, blob):
    """Adds an operator that makes a false bool blob, given by name or as a number of outputs."""
    return net.ConstantFill([], blob, shape=[], value=False, dtype=core.DataType.BOOL)


class Writer:
    """Writes records. Subclasses define `write` or `write_ex`."""

    _schema = None

    def schema(self) -> Any:
        """The record that is written; None while it is not known."""
        return self._schema

    def write(self, writer_net: Net, fields: Sequence[BlobLike]) -> None:
        """Adds the writing of a list of blobs to a net."""
        raise NotImplementedError(f"{type(self).__name__} defines neither write nor write_ex")

    def write_record(self, writer_net: Net, fields: Any) -> None:
        """Writes a record, as `write` does; the writer takes the schema of the record."""
        self.write(writer_net, self._blobs_of(fields))

    def _blobs_of(self, fields):
        """The blobs of a list, or of a record, whose schema the writer takes."""
        if not isinstance(fields, Field):
            return fields
        self._schema = fields
        return fields.field_blobs()

    def setup_ex(self, init_net: Net, finish_net: Net) -> None:
        """Adds the operators that run once before the first and after the last write."""
        self.commit(finish_net)

    def write_ex(self, fields: Sequence[BlobLike], local_init_net: Net, local_finish_net: Net,
                 stop_blob: BlobLike) -> list[Net]:
        """A list of nets that write a list of blobs; they set the bool `stop_blob` when nothing
        more can be written."""
        net = core.Net("write_net")
        self.write(net, fields)
        return [net]

    def write_record_ex(self, fields: Any, local_init_net: Net, local_finish_net: Net,
                        stop_blob: BlobLike | None = None) -> tuple[list[Net], BlobLike]:
        """Like write_ex, for a record. Returns (nets, stop blob, made if it is None)."""
        blobs = self._blobs_of(fields)
        stop = stop_blob or local_init_net.NextName("dequeue_status")
        _add_false(local_init_net, stop)
        return self.write_ex(blobs, local_init_net, local_finish_net, stop), stop

    def commit(self, finish_net: Net) -> None:
        """Adds the operators that complete the records written so far."""


class ReaderBuilder:
    """Makes equal readers of one source, for several threads or nodes."""

    def schema(self) -> Any:
        """The record of the readers. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no schema")

    def setup(self, **kwargs: Any) -> Any:
        """Called once before the first reader is made; may return attributes to pass on."""
        raise NotImplementedError(f"{type(self).__name__} defines no setup")

    def new_reader(self, **kwargs: Any) -> Any:
        """A new Reader, or an object with a method reader(). Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no new_reader")


class PipedReaderBuilder(ReaderBuilder):
    """Makes the readers of another builder, each with a pipeline after it.

    Args:
      builder: the other builder.
      piper: function(reader=..., **kwargs) -> a Reader, or something with `reader()`; for instance
        ``lambda reader, **kw: pipe(reader, processor=f)``.
    """

    def __init__(self, builder: ReaderBuilder, piper: Callable[..., Any]) -> None:
        self._builder = builder
        self._piper = piper

    def schema(self) -> Any:
        """The record of the other builder."""
        return self._builder.schema()

    def setup(self, **kwargs: Any) -> Any:
        """Sets up the other builder."""
        return self._builder.setup(**kwargs)

    def new_reader(self, **kwargs: Any) -> Reader:
        """A new reader of the builder, with the pipe after it."""
        return _as_reader(self._piper(reader=self._builder.new_reader(**kwargs), **kwargs))


def _as_reader(source):
    """A Reader, or the reader of something that has one; raises TypeError."""
    if isinstance(source, Reader):
        return source
    if not hasattr(source, "reader"):
        raise TypeError(f"{source!r} is no Reader, and has none")
    return source.reader()


class Pipe:
    """A channel with writers at one end and readers at the other.

    Args:
      schema: of the records; default: the schema of the first record written.
      obj_key: the attribute of nets under which a task group finds the pipe, to call `setup` with
        its init net.
    """

    def __init__(self, schema: Field | None = None, obj_key: str | None = None) -> None:
        self._num_writers = 0
        self._num_readers = 0
        self._schema = schema
        self._obj_key = obj_key

    def schema(self) -> Any:
        """The record that the pipe carries; None while it is not known."""
        return self._schema

    def setup(self, global_init_net: Net) -> None:
        """Adds the operators that make the pipe, once."""

    def reader(self) -> Reader:
        """A Reader of the written records. Subclasses define it."""
        raise NotImplementedError("A Pipe must implement `reader`.")

    def writer(self) -> Writer:
        """A Writer of records to read. Subclasses define it."""
        raise NotImplementedError("A Pipe must implement `writer`.")

    def num_readers(self) -> int:
        """The number of readers made so far."""
        return self._num_readers

    def num_writers(self) -> int:
        """The number of writers made so far."""
        return self._num_writers

    def _new_writer(self, writer_schema, writer_init_net):
        """Notes a writer; raises ValueError if its schema differs from the pipe's."""
        if writer_schema is not None and self._schema is None:
            self._schema = writer_schema
        self._num_writers += 1
        self._register(writer_init_net)

    def _new_reader(self, reader_init_net):
        self._num_readers += 1
        self._register(reader_init_net)

    def _register(self, init_net):
        if self._obj_key is not None:
            init_net.add_attribute(self._obj_key, self)


class CounterReader(Reader):
    """Reads no data, only the number of the record: int64, 0, 1, 2, ... without end."""

    def __init__(self) -> None:
        super().__init__(Struct(("iter", np.int64)))
        self.counter: BlobReference | None = None
        self.should_stop: BlobReference | None = None

    def setup_ex(self, global_init_net: Net, global_finish_net: Net) -> None:
        """Makes the counter, once."""
        if self.counter is None:
            self.counter = global_init_net.CreateCounter([], init_count=0)
            self.should_stop = _add_false(global_init_net, 1)

    def read_ex(self, local_init_net: Net,
                local_finish_net: Net) -> tuple[list[Net], BlobReference | None, list[Any]]:
        """([nets], should_stop, [number of the read, from 0]); it never stops."""
        net = core.Net("limited_reader_counter")
        counter: Any = self.counter  # made by setup_ex
        number = net.CountUp([counter], 1)
        return [net], self.should_stop, [number]


class ReaderWithLimitBase(Reader):
    """Reads from another reader until it ends or a condition is true. `data_finished()` is a bool
    blob: true if the other reader ended, false if the condition stopped it.

    Subclasses define `setup_limiter(init_net, finish_net)` and `check_limiter_condition(net)`,
    which adds to a net and returns a bool blob: whether to end before the next record.
    """

    def __init__(self, reader: Reader) -> None:
        Reader.__init__(self, schema=reader._schema)
        self.reader = reader
        self.net = core.Net("reader_with_limit")
        self._data_finished = self.net.AddExternalInput(
            core.ScopedBlobReference(self.net.NextName("data_finished")))

    def setup_ex(self, global_init_net: Net, global_finish_net: Net) -> None:
        """Sets up the reader that is limited, and the limit."""
        _add_false(global_init_net, self._data_finished)
        self.reader.setup_ex(global_init_net, global_finish_net)
        self.setup_limiter(global_init_net, global_finish_net)

    def read_ex(self, local_init_net: Net,
                local_finish_net: Net) -> tuple[list[Net], BlobReference | None, list[Any]]:
        """The nets, should_stop and fields of the reader, which stops at the limit, too."""
        limit_net = core.Net("limited_reader_condition")
        should_stop = self.check_limiter_condition(limit_net)
        local_data_finished: Any  # a reader with a limit reads from one that has an end
        nets, local_data_finished, fields = self.reader.read_ex(local_init_net, local_finish_net)
        self._set_schema(self.reader._schema)
        # A step looks at its stop blob after each net, so that one blob serves for both ends.
        end_net = core.Net("limited_reader_end")
        end_net.Copy([local_data_finished], [should_stop])
        end_net.Or([self._data_finished, local_data_finished], [self._data_finished])
        return [limit_net, *nets, end_net], should_stop, fields

    def setup_limiter(self, global_init_net: Net, global_finish_net: Net) -> None:
        """Adds the operators that set up the limit. Subclasses define it."""
        raise NotImplementedError("A reader with a limit must implement `setup_limiter`.")

    def check_limiter_condition(self, stop_condition_net: Net) -> BlobReference:
        """A bool blob, true at the limit. Subclasses define it."""
        raise NotImplementedError(
            "A reader with a limit must implement `check_limiter_condition`.")

    def data_finished(self) -> BlobReference:
        """A bool blob: whether the data ended before the limit."""
        return self._data_finished


class ReaderWithLimit(ReaderWithLimitBase):
    """Reads at most `num_iter` records over all threads; None: no limit."""

    def __init__(self, reader: Reader, num_iter: int | None = 1) -> None:
        ReaderWithLimitBase.__init__(self, reader)
        self.num_iter = num_iter
        self.counter: Any = None
        if num_iter is not None:
            self.counter = self.net.AddExternalInput(
                core.ScopedBlobReference(self.net.NextName("counter")))

    def setup_limiter(self, global_init_net: Net, global_finish_net: Net) -> None:
        """Makes the counter of the reads that are left."""
        if self.num_iter is not None:
            global_init_net.CreateCounter([], [self.counter], init_count=int(self.num_iter))

    def check_limiter_condition(self, stop_condition_net: Net) -> BlobReference:
        """A bool blob, true after `num_iter` reads; false forever without a limit."""
        if self.counter is not None:
            return stop_condition_net.CountDown([self.counter], 1)
        return _add_false(stop_condition_net, 1)


def CountUntil(num_iter: int | None) -> Reader:
    """A Reader of the int64 numbers 0 to num_iter - 1."""
    return ReaderWithLimit(CounterReader(), num_iter)


class ReaderWithTimeLimit(ReaderWithLimitBase):
    """Reads for `duration` seconds from the first setup on; 0: no limit."""

    def __init__(self, reader: Reader, duration: float = 0) -> None:
        ReaderWithLimitBase.__init__(self, reader)
        self.duration = duration
        self._deadline = None

    def setup_limiter(self, global_init_net: Net, global_finish_net: Net) -> None:
        """Starts the clock when the net runs."""
        def start(inputs, outputs):
            self._deadline = time.monotonic() + self.duration

        global_init_net.Python(start)([], [])

    def check_limiter_condition(self, stop_condition_net: Net) -> BlobReference:
        """A bool blob, true once `duration` seconds are over."""
        def check(inputs, outputs):
            late = self.duration > 0 and time.monotonic() >= self._deadline
            outputs[0].feed(np.array(late))

        return stop_condition_net.Python(check)([], 1)


class ReaderWithDelay(Reader):
    """Waits `delay` seconds before each record of another reader; for tests."""

    def __init__(self, reader: Reader, delay: float) -> None:
        Reader.__init__(self, schema=reader._schema)
        self.reader = reader
        self.delay = delay

    def setup_ex(self, global_init_net: Net, global_finish_net: Net) -> None:
        """Sets up the reader that is delayed."""
        self.reader.setup_ex(global_init_net, global_finish_net)

    def read_ex(self, local_init_net: Net,
                local_finish_net: Net) -> tuple[list[Net], BlobReference | None, list[Any]]:
        """The nets, should_stop and fields of the reader, after `delay` seconds."""
        net = core.Net("reader_body")
        net.Python(lambda inputs, outputs: time.sleep(self.delay))([], [])
        nets, should_stop, fields = self.reader.read_ex(local_init_net, local_finish_net)
        return [net, *nets], should_stop, fields


class CompositeReader(Reader):
    """Reads one record from each of several readers: a Struct of them under the names given. Ends
    with the first reader that ends."""

    def __init__(self, names: Sequence[str], readers: Sequence[Reader]) -> None:
        if len(names) != len(readers):
            raise ValueError(f"there must be one name for each of the {len(readers)} readers, "
                             f"found {len(names)}")
        self._names, self._readers = names, readers
        Reader.__init__(self, Struct(*[
            (name, reader.schema()) for name, reader in zip(names, readers)]))

    def setup_ex(self, init_net: Net, finish_net: Net) -> None:
        """Sets up all readers."""
        for reader in self._readers:
            reader.setup_ex(init_net, finish_net)

    def read_ex(self, local_init_net: Net,
                local_finish_net: Net) -> tuple[list[Net], BlobReference | None, list[Any]]:
        """Reads from all readers; stops when the first of them does."""
        should_stop = _add_false(
            local_init_net, local_init_net.NextName("composite_should_stop"))
        nets, fields = [], []
        reader_stop: Any
        for reader in self._readers:
            reader_nets, reader_stop, record = reader.read_record_ex(
                local_init_net, local_finish_net)
            stop_net = core.Net("composite_reader_stop")
            stop_net.Copy([reader_stop], [should_stop])
            nets += [*reader_nets, stop_net]
            fields += record.field_blobs()
        return nets, should_stop, fields

    def reset(self, net: Net) -> None:
        """Restarts all readers."""
        for reader in self._readers:
            reader.reset(net)


class CompositeReaderBuilder(ReaderBuilder):
    """Makes CompositeReaders over the readers of several builders, which may also give something
    with `reader()`, such as a Dataset."""

    def __init__(self, names: Sequence[str], reader_builders: Sequence[Any]) -> None:
        self._names = names
        self._reader_builders = reader_builders
        self._schema = Struct(*[
            (name, builder.schema()) for name, builder in zip(names, reader_builders)])

    def schema(self) -> Struct:
        """A Struct of the records of all builders, by name."""
        return self._schema

    def setup(self, **kwargs: Any) -> dict[str, Any]:
        """Sets up all builders; their attributes together."""
        attributes: dict[str, Any] = {}
        for builder in self._reader_builders:
            attributes.update(builder.setup(**kwargs) or {})
        return attributes

    def new_reader(self, **kwargs: Any) -> CompositeReader:
        """A CompositeReader over a new reader of each builder."""
        sources = [builder.new_reader(**kwargs) for builder in self._reader_builders]
        return CompositeReader(self._names, [_as_reader(source) for source in sources])


__all__ = [
    "CompositeReader", "CompositeReaderBuilder", "CountUntil", "CounterReader", "Pipe",
    "PipedReaderBuilder", "Reader", "ReaderBuilder", "ReaderWithDelay", "ReaderWithLimit",
    "ReaderWithLimitBase", "ReaderWithTimeLimit", "Writer",
]
