"""A reader that keeps what another one reads in a database."""

import os
import shutil

from caffe2.python import core
from caffe2.python.dataset import Dataset
from caffe2.python.db_file_reader import DBFileReader
from caffe2.python.pipeline import pipe
from caffe2.python.task import Cluster, TaskGroup

# Threads that read while the cache is built.
_NUM_THREADS = 16


class CachedReader(DBFileReader):
    """Reads the rows of another reader, from a database that the step of build_cache_step makes if
    it does not exist. Run that step before reading.

    Args:
      reader: the other Reader; its schema must be known.
      db_path, db_type: the database.
      name: begins the names of the blobs in the workspace.
      batch_size: rows in a record.
      loop_over: begin again at the end.
    """

    def __init__(self, reader, db_path, db_type="LevelDB", name=None, batch_size=100,
                 loop_over=False):
        if reader is None:
            raise ValueError("a CachedReader needs a reader")
        self.original_reader = reader
        super().__init__(db_path, db_type, name or f"{os.path.basename(db_path)}_cached_reader",
                         batch_size, loop_over)

    def _dataset(self, field_names):
        schema = self.original_reader.schema().clone_schema()
        record = schema.clone()
        for name, column in zip(schema.field_names(), record.all_scalars()):
            column.set_value(core.BlobReference(self._blob_name(name)), unsafe=True)
        return Dataset(record, self.name)

    def build_cache_step(self, overwrite=False):
        """The step that makes the database; with `overwrite`, also where there is one."""
        if os.path.exists(self.db_path) and not overwrite:
            return core.execution_step("build_cache", [])
        init_net = core.Net("init_cache")
        with core.NameScope(self.name):
            self.ds.init_empty(init_net)
        with Cluster(), core.NameScope(self.name), TaskGroup() as copying:
            pipe(self.original_reader, self.ds.writer(), num_threads=_NUM_THREADS)
        save_net = core.Net("save_cache")
        save_net.Python(self._remove_database)([], [])
        save_net.Save(self.ds.get_blobs(), [], db=self.db_path, db_type=self.db_type,
                      blob_name_overrides=self.ds.field_names(), absolute_path=True)
        return core.execution_step(
            "build_cache", [init_net, copying.to_task().get_step(), save_net])

    def _remove_database(self, inputs, outputs):
        if os.path.isdir(self.db_path):
            shutil.rmtree(self.db_path)
        elif os.path.exists(self.db_path):
            os.remove(self.db_path)
