"""A reader that caches the records of another reader in a database."""

from __future__ import annotations

import os
import shutil

from caffe2.python import _import_c_extension as C
from caffe2.python import core
from caffe2.python.dataio import Reader
from caffe2.python.dataset import Dataset
from caffe2.python.db_file_reader import DBFileReader
from caffe2.python.pipeline import pipe
from caffe2.python.task import Cluster, TaskGroup

# The number of threads that read while the cache is built.
_NUM_THREADS = 16


class CachedReader(DBFileReader):
    """Reads the rows of another reader, from a database that the step of build_cache_step makes if
    it does not exist. Run that step before reading.

    The step writes to ``DB_PATH.building`` first: a database at the path itself is complete.

    Args:
      original_reader: the other Reader; its schema must be known.
      db_path, db_type: the database.
      name: prefix of the names of the blobs in the workspace; default: the name of the database and
        `default_name_suffix`.
      batch_size: rows in a record.
      loop_over: begin again at the end.
    """

    default_name_suffix = "cached_reader"

    def __init__(self, original_reader: Reader, db_path: str, db_type: str = "LevelDB",
                 name: str | None = None, batch_size: int = 100, loop_over: bool = False) -> None:
        if original_reader is None:
            raise ValueError("a CachedReader needs a reader")
        self.original_reader = original_reader
        super().__init__(db_path, db_type, name, batch_size, loop_over)
        self._staging = os.path.normpath(db_path) + ".building"

    def _dataset(self, field_names):
        schema = self.original_reader.schema().clone_schema()
        record = schema.clone()
        for name, column in zip(schema.field_names(), record.all_scalars()):
            column.set_value(core.BlobReference(self._blob_name(name)), unsafe=True)
        return Dataset(record, self.name)

    def build_cache_step(self, overwrite: bool = False) -> core.ExecutionStep:
        """The step that makes the database; with `overwrite`, it replaces an existing database.

        Raises ValueError, here and in the step, if there is something at the path that cannot be
        opened as a database of this type.
        """
        if os.path.exists(self.db_path) and not overwrite:
            return core.execution_step("build_cache", [])
        self._check_replaceable()
        init_net = core.Net("init_cache")
        with core.NameScope(self.name):
            self.ds.init_empty(init_net)
        with Cluster(), core.NameScope(self.name), TaskGroup() as copying:
            pipe(self.original_reader, self.ds.writer(), num_threads=_NUM_THREADS)
        save_net = core.Net("save_cache")
        save_net.Python(self._stage)([], [])
        save_net.Save(self.ds.get_blobs(), [], db=self._staged("new"), db_type=self.db_type,
                      blob_name_overrides=self.ds.field_names(), absolute_path=True)
        save_net.Python(self._publish)([], [])
        return core.execution_step(
            "build_cache", [init_net, copying.to_task().get_step(), save_net])

    def _staged(self, name):
        return os.path.join(self._staging, name)

    def _check_replaceable(self):
        if not os.path.exists(self.db_path):
            return
        try:
            C.create_db(self.db_type, self.db_path, C.Mode.read).new_cursor()
        except RuntimeError as error:
            raise ValueError(f"{self.db_path} cannot be opened as a {self.db_type} database, so "
                             "that it is not overwritten") from error

    def _stage(self, inputs, outputs):
        """Makes the directory, and empties it of the files of an interrupted step."""
        if os.path.exists(self._staging):
            shutil.rmtree(self._staging)
        os.makedirs(self._staging)

    def _publish(self, inputs, outputs):
        """Replaces the old database by the new one."""
        self._check_replaceable()
        if os.path.exists(self.db_path):
            os.rename(self.db_path, self._staged("old"))
        os.rename(self._staged("new"), self.db_path)
        shutil.rmtree(self._staging)
