"""Options of Save: sizes of records and their estimates, and floats as bfloat16."""

import copy
import pickle

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import core, test_util, workspace


def _options(**options):
    return caffe2_pb2.SerializationOptions(
        options=[caffe2_pb2.BlobSerializationOptions(**options)])


@pytest.fixture
def floats():
    workspace.ResetWorkspace()
    values = np.random.default_rng(1).random(4000).astype(np.float32)
    workspace.FeedBlob("rounded", values)
    workspace.FeedBlob("exact", values)
    return values


def _save(path, **arguments):
    workspace.RunOperatorOnce(core.CreateOperator(
        "Save", ["rounded", "exact"], [], db=str(path), db_type="minidb", absolute_path=1,
        **arguments))


def _load(path):
    workspace.ResetWorkspace()
    workspace.RunOperatorOnce(core.CreateOperator(
        "Load", [], ["rounded", "exact"], db=str(path), db_type="minidb", absolute_path=1))


def test_floats_are_saved_as_bfloat16(floats, tmp_path):
    bfloat16 = caffe2_pb2.BlobSerializationOptions.FLOAT_BFLOAT16
    _save(tmp_path / "both", options=_options(blob_name_regex="round.*", float_format=bfloat16))
    _save(tmp_path / "whole")
    sizes = [(tmp_path / name).stat().st_size for name in ("both", "whole")]
    assert sizes[0] - sizes[1] == pytest.approx(-2 * len(floats), abs=50)
    _load(tmp_path / "both")
    np.testing.assert_array_equal(workspace.FetchBlob("exact"), floats)
    rounded = workspace.FetchBlob("rounded")
    np.testing.assert_allclose(rounded, floats, rtol=2**-8)
    assert not (rounded.view(np.uint32) & 0xFFFF).any()


def test_numbers_of_fields_are_those_of_caffe2():
    options = _options(blob_name_regex="x", chunk_size=3, float_format=2).options[0]
    assert options.SerializeToString() == b"\x0a\x01x\x10\x03\x18\x02"
    assert pickle.loads(pickle.dumps(options)) == copy.deepcopy(options) == options


def test_bad_options_are_refused(floats, tmp_path):
    with pytest.raises(RuntimeError, match="chunk_size"):
        _save(tmp_path / "db", chunk_size=-2)
    with pytest.raises(RuntimeError, match="blob_name_regex .* not a regular expression"):
        _save(tmp_path / "db", options=_options(blob_name_regex="("))
    assert not list(tmp_path.iterdir())


def test_sizes_are_estimated(floats):
    workspace.RunOperatorOnce(core.CreateOperator(
        "EstimateAllBlobSizes", [], ["names", "sizes"],
        options=_options(blob_name_regex="rounded", chunk_size=500)))
    sizes = dict(zip(workspace.FetchBlob("names"), workspace.FetchBlob("sizes")))
    assert sizes[b"exact"] == 4 * len(floats) + len("exact") + 50
    assert sizes[b"rounded"] == 4 * len(floats) + 8 * (len("rounded") + 50)


def test_of_packed_records_only_the_number_is_saved():
    workspace.ResetWorkspace()
    workspace.FeedBlob("x", np.arange(3, dtype=np.float32))
    workspace.RunOperatorOnce(core.CreateOperator("PackRecords", ["x"], ["p"], fields=["x"]))
    blob = caffe2_pb2.BlobProto.FromString(workspace.SerializeBlob("p"))
    assert blob.type == "Tensor" and list(blob.tensor.dims) == [3]
    assert blob.tensor.data_type == caffe2_pb2.TensorProto.UNDEFINED
    records = [caffe2_pb2.BlobProto.FromString(data) for data in blob.tensor.string_data]
    assert [(record.type, record.content) for record in records] == [
        ("std::shared_ptr<std::vector<TensorCPU>>", b"")] * 3
    workspace.DeserializeBlob("p", blob.SerializeToString())
    unpack = core.CreateOperator("UnPackRecords", ["p"], ["y"], fields=["x"])
    with pytest.raises(RuntimeError, match="record 0 does not have 1 fields"):
        workspace.RunOperatorOnce(unpack)
    for bad in (caffe2_pb2.BlobProto(type="Tensor"),
                caffe2_pb2.BlobProto(type=records[0].type, content=b"more")):
        blob.tensor.string_data[0] = bad.SerializeToString()
        with pytest.raises(RuntimeError, match="has type UNDEFINED but holds no objects"):
            workspace.DeserializeBlob("p", blob.SerializeToString())


def test_temporary_folders_of_test_cases_are_removed():
    class Test(test_util.TestCase):
        folder = None

        def runTest(self):
            Test.folder = self.make_tempdir()
            (Test.folder / "file").write_text("text")

    assert Test().run().wasSuccessful()
    assert not Test.folder.exists()
