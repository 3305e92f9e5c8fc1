"""Reads a database that holds the columns of a dataset, one blob each, as `Save` writes them."""

import os

from caffe2.python import _import_c_extension as C
from caffe2.python import core, workspace
from caffe2.python.dataio import Reader
from caffe2.python.dataset import Dataset
from caffe2.python.schema import from_column_list

# Between the name of a blob and the number of its part, in the keys of a database.
_CHUNK_SEPARATOR = "#%"


class DBFileReader(Reader):
    """Loads a database into memory and reads its rows.

    Args:
      db_path, db_type: the database, whose blobs are named as the columns.
      name: begins the names of the blobs in the workspace.
      batch_size: rows in a record.
      loop_over: begin again at the end.
      field_names: the columns, in order; default: all blobs of the database, by name.
    """

    def __init__(self, db_path, db_type, name=None, batch_size=100, loop_over=False,
                 field_names=None):
        if not db_path:
            raise ValueError("db_path is empty")
        self.db_path, self.db_type = db_path, db_type
        self.name = name or f"{os.path.basename(db_path)}_db_file_reader"
        self.batch_size = batch_size
        self.loop_over = loop_over
        names = list(field_names) if field_names else self._field_names_of_db()
        Reader.__init__(self, self._load_schema(names))
        self.ds = Dataset(self._schema, self.name)
        self.ds_reader = None

    def _field_names_of_db(self):
        cursor = C.create_db(self.db_type, self.db_path, C.Mode.read).new_cursor()
        names = []
        while cursor.valid():
            name = cursor.key().decode().split(_CHUNK_SEPARATOR)[0]
            if name not in names:
                names.append(name)
            cursor.next()
        return names

    def _blob_name(self, column):
        return f"{self.name}/{column}"

    def _load_schema(self, names):
        """Loads the columns; returns the record over them, with the types they have."""
        blobs = [core.BlobReference(self._blob_name(name)) for name in names]
        workspace.RunOperatorOnce(core.CreateOperator(
            "Load", [], blobs, db=self.db_path, db_type=self.db_type, absolute_path=True,
            source_blob_names=names))
        values = [workspace.FetchBlob(blob) for blob in blobs]
        types = [str if value.dtype.kind == "O" else (value.dtype, value.shape[1:])
                 for value in values]
        return from_column_list(names, types, blobs)

    def setup_ex(self, init_net, finish_net):
        if self.ds_reader is not None:
            return
        if self.loop_over:
            order = init_net.NextScopedBlob(f"{self.name}_order")
            self.ds_reader = self.ds.random_reader(
                init_net, order, batch_size=self.batch_size, loop_over=True)
            first = self.ds.content().field_blobs()[0]
            init_net.LengthsRangeFill([init_net.Shape([first], 1, axes=[0])], [order])
            self.ds_reader.computeoffset(init_net)
        else:
            self.ds_reader = self.ds.reader(init_net, batch_size=self.batch_size)

    def read(self, read_net):
        if self.ds_reader is None:
            raise RuntimeError("setup_ex must be called first")
        return self.ds_reader.read(read_net)
