"""Datasets in memory: one blob for each column of a schema. Readers walk the rows, writers append.

A List has a column of lengths, one for each row, and a column with the items of all rows one after
the other, so that any nesting is stored in a few flat tensors. Cursors (CreateTreeCursor) know how
many items a row has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe2.python import core, workspace
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.dataio import Reader, Writer
from caffe2.python.schema import Field, InitEmptyRecord, from_blob_list, from_column_list


class _DatasetReader(Reader):
    def __init__(self, dataset, name, batch_size=1, enforce_batch_size=False):
        Reader.__init__(self, dataset.content())
        self.dataset = dataset
        self.name = name or f"{dataset.name}_cursor"
        self.batch_size = batch_size
        self.enforce_batch_size = enforce_batch_size
        self.cursor = None

    def setup_ex(self, init_net, exit_net):
        if self.cursor is None:
            self.cursor = init_net.CreateTreeCursor(
                [], init_net.NextScopedBlob(self.name), fields=self.dataset.fields)

    def read(self, read_net):
        if self.cursor is None:
            raise RuntimeError("a reader needs setup_ex (or Dataset.reader(init_net)) first")
        content = self.dataset.content()
        with core.NameScope(read_net.NextName(self.name)):
            fields = _blob_list(read_net.ReadNextBatch(
                [self.cursor, *content.field_blobs()], content.field_names(),
                batch_size=self.batch_size, enforce_batch_size=self.enforce_batch_size))
        return read_net.IsEmpty([fields[0]]), fields

    def reset(self, net):
        net.ResetCursor([self.cursor], [])


class _DatasetRandomReader(Reader):
    def __init__(self, dataset, name, indices, batch_size=1, loop_over=False,
                 enforce_batch_size=False):
        Reader.__init__(self, dataset.content())
        self.dataset = dataset
        self.cursor = None
        self.name = name or f"{dataset.name}_cursor"
        self.indices = indices
        self.batch_size = batch_size
        self.loop_over = loop_over
        self.enforce_batch_size = enforce_batch_size
        self.offsets = None

    def setup_ex(self, init_net, exit_net):
        if self.cursor is None:
            self.cursor = init_net.CreateTreeCursor(
                [], init_net.NextScopedBlob(self.name), fields=self.dataset.fields)

    def reset(self, net):
        net.ResetCursor([self.cursor], [])

    def computeoffset(self, net):
        """Adds the operator that finds the offset of each row; run it before the first read."""
        self.offsets = net.ComputeOffset(
            [self.cursor, *self.dataset.content().field_blobs()], "offsets")

    def sort_and_shuffle(self, net, sort_by_field=None, shuffle_size=1, batch_size=1):
        """Adds the operator that makes an order of rows: groups of `shuffle_size` batches are
        sorted by a column, then the batches of each group are shuffled."""
        content = self.dataset.content()
        column = -1
        if sort_by_field:
            column = content.field_names().index(sort_by_field)
        self.indices = net.SortAndShuffle(
            [self.cursor, *content.field_blobs()], "indices", sort_by_field_idx=column,
            shuffle_size=shuffle_size, batch_size=batch_size)

    def read(self, read_net):
        content = self.dataset.content()
        with core.NameScope(read_net.NextName(self.name)):
            fields = _blob_list(read_net.ReadRandomBatch(
                [self.cursor, self.indices, self.offsets, *content.field_blobs()],
                content.field_names(), batch_size=self.batch_size,
                enforce_batch_size=self.enforce_batch_size, loop_over=self.loop_over))
        return read_net.IsEmpty([fields[0]]), fields


class _DatasetWriter(Writer):
    def __init__(self, content):
        self._content = content
        self.mutex = None

    def setup_ex(self, init_net, exit_net):
        if self.mutex is None:
            self.mutex = init_net.CreateMutex([])

    def write(self, writer_net, fields):
        """Appends the records in the blobs `fields` (one per column), all columns at once."""
        if self.mutex is None:
            raise RuntimeError("a writer needs setup_ex (or Dataset.writer(init_net)) first")
        content = self._content.field_blobs()
        if len(fields) != len(content):
            raise ValueError(f"there must be one blob for each of the {len(content)} columns, "
                             f"found {len(fields)}")
        writer_net.CheckDatasetConsistency(fields, [], fields=self._content.field_names())
        writer_net.AtomicAppend([self.mutex, *content, *fields], content)

    def commit(self, finish_net):
        """Does nothing: a write is complete at once."""


def Const(net: core.Net, value: Any, dtype: Any = None, name: str | None = None) -> BlobReference:
    """An external input of the net with a new name that begins with `name`. Its value is fed now,
    to the current workspace; nets may change it."""
    blob = net.AddExternalInput(net.NextName(prefix=name))
    workspace.FeedBlob(str(blob), np.asarray(value, dtype=dtype))
    return blob


def execution_step_with_progress(name: str, init_net: core.Net,
                                 substeps: Sequence[core.ExecutionStep],
                                 rows_read: BlobReference) -> core.ExecutionStep:
    """A step that runs `substeps` and prints the row counter `rows_read` every five seconds."""
    report_net = core.Net("report_net")
    report_net.Print([rows_read], [])
    return core.execution_step(
        name, substeps, report_net=report_net, concurrent_substeps=True, report_interval=5)


class Dataset:
    """A schema and the blobs of its columns.

    Args:
      fields: a Struct, or the names of columns.
      name: prefix of the names of the blobs.
    """

    def __init__(self, fields: Field | Sequence[str], name: str | None = None) -> None:
        if isinstance(fields, (list, tuple)):
            fields = from_column_list(fields)
        if not isinstance(fields, Field):
            raise TypeError(f"a dataset has a schema or a list of columns, not {fields!r}")
        self.schema = fields
        self.fields = fields.field_names()
        self.name = name or "dataset"
        self.field_blobs = fields.field_blobs() if fields.has_blobs() else None

    def trim(self, net: core.Net, multiple_of: int) -> None:
        """Adds an operator that removes the last rows, so that the number of rows is a multiple of
        `multiple_of`."""
        blobs = self.get_blobs()
        net.TrimDataset(blobs, blobs, fields=self.fields, multiple_of=multiple_of)

    def init_empty(self, init_net: core.Net) -> None:
        """Adds operators that make the blobs, without rows."""
        self.field_blobs = InitEmptyRecord(
            init_net, self.schema.clone(keep_blobs=False)).field_blobs()

    def init_from_dataframe(self, net: core.Net, dataframe: Any) -> None:
        """Feeds the blobs from a pandas DataFrame with the columns of this schema; they become
        external inputs of the net."""
        missing = [name for name in self.fields if name not in dataframe.columns]
        if missing:
            raise ValueError(f"the data frame lacks the columns {missing}")
        self.field_blobs = []
        for name, dtype in zip(self.fields, self.field_types()):
            values = dataframe[name].values
            self.field_blobs.append(
                Const(net, values, None if dtype.base == np.void else dtype.base, name))

    def get_blobs(self) -> list[Any]:
        """The blobs of the columns. Raises ValueError before they are made."""
        if self.field_blobs is None:
            raise ValueError("the dataset has no blobs yet: call init_empty")
        return self.field_blobs

    def content(self) -> Any:
        """The record of the whole data."""
        return from_blob_list(self.schema, self.get_blobs())

    def field_names(self) -> list[str]:
        """The names of the columns."""
        return self.fields

    def field_types(self) -> list[np.dtype]:
        """The numpy dtypes of the columns."""
        return self.schema.field_types()

    def reader(self, init_net: core.Net | None = None, cursor_name: str | None = None,
               batch_size: int = 1, enforce_batch_size: bool = False) -> Reader:
        """A Reader of `batch_size` rows at a time, in order; several threads may share it.

        With `enforce_batch_size`, the reader drops a last batch that is not full.
        """
        reader = _DatasetReader(self, cursor_name, batch_size, enforce_batch_size)
        if init_net is not None:
            reader.setup_ex(init_net, None)
        return reader

    def random_reader(self, init_net: core.Net | None = None, indices: BlobLike | None = None,
                      cursor_name: str | None = None, batch_size: int = 1, loop_over: bool = False,
                      enforce_batch_size: bool = False) -> _DatasetRandomReader:
        """A Reader of rows in the order that the blob `indices` (int64) gives, or
        `sort_and_shuffle`. Before reading, run the operator that `computeoffset` adds."""
        reader = _DatasetRandomReader(
            self, cursor_name, indices, batch_size, loop_over, enforce_batch_size)
        if init_net is not None:
            reader.setup_ex(init_net, None)
        return reader

    def writer(self, init_net: core.Net | None = None) -> Writer:
        """A Writer that appends rows; several threads may share it."""
        writer = _DatasetWriter(self.content())
        if init_net is not None:
            writer.setup_ex(init_net, None)
        return writer


def _blob_list(blobs):
    return list(blobs) if isinstance(blobs, tuple) else [blobs]
