"""Datasets, and readers of files."""

import numpy as np
import pytest

from caffe2.python import core, schema, workspace
from caffe2.python.cached_reader import CachedReader
from caffe2.python.dataio import CompositeReaderBuilder, PipedReaderBuilder, ReaderBuilder
from caffe2.python.dataset import Const, Dataset
from caffe2.python.db_file_reader import DBFileReader
from caffe2.python.pipeline import pipe
from caffe2.python.schema import List, Struct
from caffe2.python.session import LocalSession
from caffe2.python.task import TaskGroup
from caffe2.python.text_file_reader import TextFileReader

ROWS = Struct(("id", np.int64), ("items", List(np.float32)))
# Rows (1, [10]), (2, []), (3, [30, 31]), (4, [40]).
VALUES = [[1, 2, 3, 4], [1, 0, 2, 1], [10, 30, 31, 40]]


def fed_dataset(name="data"):
    net = core.Net("fill_" + name)
    dataset = Dataset(ROWS, name)
    dataset.init_empty(net)
    record = schema.NewRecord(net, ROWS)
    schema.FeedRecord(record, VALUES)
    dataset.writer(net).write_record(net, record)
    workspace.RunNetOnce(net)
    return dataset


def read_all(reader):
    """The arrays of all records."""
    net = core.Net("read")
    stop, fields = reader.read(net)
    workspace.CreateNet(net)
    records = []
    while True:
        workspace.RunNet(net)
        if workspace.FetchBlob(stop):
            return records
        records.append([workspace.FetchBlob(field).tolist() for field in fields])


def test_dataset_is_written_and_read():
    dataset = fed_dataset()
    for blob, expected in zip(dataset.get_blobs(), VALUES):
        np.testing.assert_array_equal(workspace.FetchBlob(blob), expected)
    init = core.Net("init")
    reader = dataset.reader(init, batch_size=3)
    workspace.RunNetOnce(init)
    batches = [[[1, 2, 3], [1, 0, 2], [10, 30, 31]], [[4], [1], [40]]]
    assert read_all(reader) == batches
    again = core.Net("again")
    reader.reset(again)
    workspace.RunNetOnce(again)
    assert read_all(reader) == batches


def test_dataset_is_read_in_a_given_order():
    dataset = fed_dataset()
    workspace.FeedBlob("order", np.array([2, 0, 3, 1], np.int64))
    init = core.Net("init")
    reader = dataset.random_reader(init, core.BlobReference("order"), batch_size=2)
    workspace.RunNetOnce(init)
    offsets = core.Net("offsets")
    reader.computeoffset(offsets)
    workspace.RunNetOnce(offsets)
    assert read_all(reader) == [[[3, 1], [2, 1], [30, 31, 10]], [[4, 2], [1, 0], [40]]]


def test_dataset_is_trimmed():
    dataset = fed_dataset()
    net = core.Net("trim")
    dataset.trim(net, multiple_of=3)
    workspace.RunNetOnce(net)
    assert [workspace.FetchBlob(blob).tolist() for blob in dataset.get_blobs()] == [
        [1, 2, 3], [1, 0, 2], [10, 30, 31]]


def test_mistakes_with_datasets_are_named():
    with pytest.raises(ValueError, match="init_empty"):
        Dataset(ROWS).content()
    with pytest.raises(TypeError):
        Dataset(3)
    dataset = fed_dataset()
    net = core.Net("mistakes")
    with pytest.raises(RuntimeError, match="setup_ex"):
        dataset.reader().read(net)
    with pytest.raises(ValueError, match="one blob for each of the 3 columns, found 1"):
        dataset.writer(net).write(net, [Const(net, [1])])


def test_constants_of_datasets_may_change():
    net = core.Net("counting")
    total, step = Const(net, 0, dtype=np.int32, name="total"), Const(net, [5], dtype=np.int32)
    net.Add([total, step], total)
    assert [str(blob) for blob in net.external_inputs] == [str(total), str(step)]
    assert str(Const(net, 1, name="total")) != str(total)
    workspace.CreateNet(net)
    for expected in (5, 10):
        workspace.RunNet(net)
        assert workspace.FetchBlob(total) == expected


def test_database_of_columns(tmp_path):
    workspace.FeedBlob("label", np.array([1, 2, 3], np.int32))
    workspace.FeedBlob("image", np.arange(6, dtype=np.float32).reshape(3, 2))
    path = str(tmp_path / "db")
    workspace.RunOperatorOnce(core.CreateOperator(
        "Save", ["image", "label"], [], db=path, db_type="minidb", absolute_path=True))
    workspace.ResetWorkspace()
    reader = DBFileReader(path, "minidb", batch_size=2)
    assert sorted(reader.schema().field_names()) == ["image", "label"]
    init = core.Net("init")
    reader.setup_ex(init, None)
    workspace.RunNetOnce(init)
    images = reader.schema().field_names().index("image")
    records = read_all(reader)
    assert [record[images] for record in records] == [[[0, 1], [2, 3]], [[4, 5]]]


def test_text_files(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("a\t1\t0.5\nb\t2\t1.5\nc\t3\t2.5\n")
    columns = Struct(("name", str), ("count", np.int32), ("value", np.float32))
    init = core.Net("init")
    reader = TextFileReader(init, str(path), columns, batch_size=2)
    workspace.RunNetOnce(init)
    assert read_all(reader) == [
        [[b"a", b"b"], [1, 2], [0.5, 1.5]], [[b"c"], [3], [2.5]]]
    with pytest.raises(TypeError, match="Scalars"):
        TextFileReader(init, str(path), ROWS)


def _rows_read(reader, into, ws):
    """The ids of the rows that a pipeline in a workspace reads, sorted."""
    session = LocalSession(ws)
    init = core.Net("destination")
    destination = Dataset(ROWS, into)
    destination.init_empty(init)
    session.run(init)
    with TaskGroup() as group:
        pipe(reader, destination.writer(), num_runtime_threads=2)
    session.run(group)
    return sorted(ws.fetch_blob(str(destination.get_blobs()[0])).tolist())


def test_a_cached_reader_reads_its_source_once(tmp_path):
    path = str(tmp_path / "cache")
    source = fed_dataset()
    ws = workspace.C.Workspace.current
    for _ in range(2):
        reader = CachedReader(source.reader(), path, batch_size=3)
        LocalSession(ws).run(reader.build_cache_step())
        assert _rows_read(reader, "read_back", ws) == [1, 2, 3, 4]
        workspace.FeedBlob(source.get_blobs()[0], np.int64([5, 6, 7, 8]))
    reader = CachedReader(source.reader(), path)
    LocalSession(ws).run(reader.build_cache_step(overwrite=True))
    assert _rows_read(reader, "read_anew", ws) == [5, 6, 7, 8]


@pytest.mark.parametrize("db_type", ["LevelDB", "minidb"])
def test_an_interrupted_cache_is_none(tmp_path, db_type, monkeypatch):
    path = str(tmp_path / "cache")
    source = fed_dataset()
    ws = workspace.C.Workspace.current
    reader = CachedReader(source.reader(), path, db_type)

    def fail(inputs, outputs):
        raise OSError("planned interruption")

    monkeypatch.setattr(reader, "_publish", fail)
    with pytest.raises(OSError, match="planned interruption"):
        LocalSession(ws).run(reader.build_cache_step())
    assert not (tmp_path / "cache").exists()
    monkeypatch.undo()
    for values, overwrite in (([1, 2, 3, 4], False), ([5, 6, 7, 8], True)):
        workspace.FeedBlob(source.get_blobs()[0], np.int64(values))
        reader = CachedReader(source.reader(), path, db_type)
        LocalSession(ws).run(reader.build_cache_step(overwrite))
        assert _rows_read(reader, f"read_{overwrite}", ws) == values
    assert [found.name for found in tmp_path.iterdir()] == ["cache"]


def test_a_cache_does_not_overwrite_what_is_no_database(tmp_path):
    path = tmp_path / "cache"
    reader = CachedReader(fed_dataset().reader(), str(path))
    step = reader.build_cache_step(overwrite=True)
    path.mkdir()
    (path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="cannot be opened as a LevelDB database"):
        LocalSession(workspace.C.Workspace.current).run(step)
    with pytest.raises(ValueError, match="cannot be opened as a LevelDB database"):
        reader.build_cache_step(overwrite=True)
    assert (path / "thesis.txt").read_text() == "precious"


def test_a_database_is_loaded_to_the_workspace_that_reads_it(tmp_path):
    dataset = fed_dataset()
    path = str(tmp_path / "db")
    workspace.RunOperatorOnce(core.CreateOperator(
        "Save", dataset.get_blobs(), [], db=path, db_type="minidb", absolute_path=True,
        blob_name_overrides=dataset.field_names()))
    workspace.ResetWorkspace()
    reader = DBFileReader(path, "minidb", field_names=dataset.field_names())
    assert [t.base for t in reader.schema().field_types()] == [np.int64, np.int32, np.float32]
    assert _rows_read(reader, "elsewhere", workspace.C.Workspace()) == [1, 2, 3, 4]
    assert workspace.Blobs() == []
    with pytest.raises(ValueError, match="has no .'other'."):
        DBFileReader(path, "minidb", field_names=["other"])


def test_composite_readers_of_datasets():
    builders = []
    for name in ("a", "b"):
        class Builder(ReaderBuilder):
            dataset = fed_dataset(name)

            def schema(self):
                return self.dataset.schema

            def setup(self, **kwargs):
                return {}

            def new_reader(self, **kwargs):
                return self.dataset

        builders.append(Builder())
    reader = CompositeReaderBuilder(["x", "y"], builders).new_reader()
    assert reader.schema().field_names()[::3] == ["x:id", "y:id"]
    with pytest.raises(TypeError, match="is no Reader"):
        PipedReaderBuilder(builders[0], lambda reader: 3).new_reader()
