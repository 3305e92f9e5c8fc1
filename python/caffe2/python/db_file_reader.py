"""Reads a database that holds the columns of a dataset, one blob each, as `Save` writes them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python._core.net import Net
from caffe2.python.dataio import Reader
from caffe2.python.dataset import Dataset
from caffe2.python.schema import dtype_for_core_type, from_column_list

# In the keys of a database, between the name of a blob and the number of its part.
_CHUNK_SEPARATOR = "#%"


class DBFileReader(Reader):
    """Reads the rows of a database, which its setup loads into memory.

    Args:
      db_path, db_type: the database; its blobs have the names of the columns.
      name: prefix of the names of the blobs in the workspace; default: the name of the database and
        `default_name_suffix`.
      batch_size: rows in a record.
      loop_over: begin again at the end.
      field_names: the columns, in order; default: all blobs of the database, by name.

    Raises ValueError without a path or for a column that the database lacks, TypeError for a blob
    that is not a tensor.
    """

    default_name_suffix = "db_file_reader"

    def __init__(self, db_path: str, db_type: str, name: str | None = None, batch_size: int = 100,
                 loop_over: bool = False, field_names: Sequence[str] | None = None) -> None:
        if not db_path:
            raise ValueError("db_path is empty")
        self.db_path, self.db_type = db_path, db_type
        self.name = name or f"{os.path.basename(db_path)}_{self.default_name_suffix}"
        self.batch_size = batch_size
        self.loop_over = loop_over
        self.ds = self._dataset(field_names)
        Reader.__init__(self, self.ds.content())
        self.ds_reader: Reader | None = None

    def _dataset(self, field_names):
        """The Dataset of the columns, over the blobs that they are loaded to."""
        types = self._types_of_db()
        names = list(field_names or types)
        missing = sorted(set(names) - set(types))
        if missing:
            raise ValueError(f"the database {self.db_path} has no {missing}, only {list(types)}")
        return Dataset(from_column_list(
            names, [types[name] for name in names],
            [core.BlobReference(self._blob_name(name)) for name in names]), self.name)

    def _types_of_db(self):
        """{blob: type of a column}, from the first part of each."""
        cursor = C.create_db(self.db_type, self.db_path, C.Mode.read).new_cursor()
        types = {}
        while cursor.valid():
            name = cursor.key().decode().split(_CHUNK_SEPARATOR)[0]
            if name not in types:
                blob = caffe2_pb2.BlobProto.FromString(cursor.value())
                if not blob.HasField("tensor"):
                    raise TypeError(f"blob {name} of {self.db_path} is a {blob.type}, not a tensor")
                dtype = dtype_for_core_type(blob.tensor.data_type)
                types[name] = dtype if dtype is str else (dtype, tuple(blob.tensor.dims[1:]))
            cursor.next()
        return types

    def _blob_name(self, column):
        return f"{self.name}/{column}"

    def setup_ex(self, init_net: Net, finish_net: Net) -> None:
        """Loads the dataset from the database, once, and makes its reader."""
        if self.ds_reader is not None:
            return
        init_net.Load([], self.ds.get_blobs(), db=self.db_path, db_type=self.db_type,
                      absolute_path=True, source_blob_names=self.ds.field_names())
        if self.loop_over:
            order = init_net.NextScopedBlob(f"{self.name}_order")
            reader = self.ds.random_reader(
                init_net, order, batch_size=self.batch_size, loop_over=True)
            first = self.ds.content().field_blobs()[0]
            init_net.LengthsRangeFill([init_net.Shape([first], 1, axes=[0])], [order])
            reader.computeoffset(init_net)
            self.ds_reader = reader
        else:
            self.ds_reader = self.ds.reader(init_net, batch_size=self.batch_size)

    def read(self, read_net: Net) -> tuple[BlobReference, list[Any]]:
        """(should_stop, fields) of the next batch. Raises RuntimeError before setup_ex."""
        if self.ds_reader is None:
            raise RuntimeError("setup_ex must be called first")
        return self.ds_reader.read(read_net)
