"""Operators of segments, lengths, datasets, maps and text files, from Python."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import caffe2.python.hypothesis_test_util as hu
from caffe2.python import core, workspace


def _run(op, **inputs):
    for name, value in inputs.items():
        workspace.FeedBlob(name, value)
    workspace.RunOperatorOnce(op)


class TestSegments(hu.HypothesisTestCase):
    @settings(max_examples=10, deadline=None)
    @given(data=hu.lengths_tensor(min_dim=2, max_dim=3), mean=st.booleans(), **hu.gcs_cpu_only)
    def test_lengths_reductions(self, data, mean, gc, dc):
        values, lengths = data
        op = core.CreateOperator("LengthsMean" if mean else "LengthsSum", ["X", "L"], ["Y"])

        def reference(X, L):
            ends = np.cumsum(L)
            parts = [X[end - n:end] for end, n in zip(ends, L)]
            reduced = [p.sum(axis=0) / (max(len(p), 1) if mean else 1) for p in parts]
            return [np.array(reduced, dtype=np.float32).reshape((len(L),) + X.shape[1:])]

        self.assertReferenceChecks(gc, op, [values, lengths.astype(np.int32)], reference)

    def test_sparse_lengths_sum_gradient_is_sparse(self):
        net = core.Net("lookup")
        net.SparseLengthsSum(["T", "I", "L"], "Y")
        loss = net.SumElements("Y", "loss")
        gradients = net.AddGradientOperators([loss])
        gradient = gradients[core.BlobReference("T")]
        assert isinstance(gradient, core.GradientSlice)
        for name, value in {"T": np.eye(4, dtype=np.float32),
                            "I": np.array([3, 1, 3], dtype=np.int32),
                            "L": np.array([2, 1], dtype=np.int32)}.items():
            workspace.FeedBlob(name, value)
        workspace.RunNetOnce(net)
        np.testing.assert_array_equal(workspace.FetchBlob("Y"), [[0, 1, 0, 1], [0, 0, 0, 1]])
        np.testing.assert_array_equal(workspace.FetchBlob(str(gradient.indices)), [3, 1, 3])
        np.testing.assert_array_equal(workspace.FetchBlob(str(gradient.values)), np.ones((3, 4)))


def test_pack_segments_keeps_strings():
    op = core.CreateOperator("PackSegments", ["L", "X"], ["Y"])
    _run(op, L=np.array([2, 1], dtype=np.int32), X=np.array([b"a", b"bc", b"d"], dtype=object))
    packed = workspace.FetchBlob("Y")
    assert packed.tolist() == [[b"a", b"bc"], [b"d", b""]]


def test_dataset_is_read_in_batches():
    fields = ["id", "list:lengths", "list:values"]
    columns = {"id": np.array([1, 2, 3]), "n": np.array([2, 0, 1], dtype=np.int32),
               "v": np.array([10., 20., 30.], dtype=np.float32)}
    _run(core.CreateOperator("CreateTreeCursor", [], ["cursor"], fields=fields), **columns)
    read = core.CreateOperator("ReadNextBatch", ["cursor", *columns], ["a", "b", "c"],
                               batch_size=2)
    rows = []
    while True:
        workspace.RunOperatorOnce(read)
        batch = [workspace.FetchBlob(name).tolist() for name in "abc"]
        if not batch[0]:
            break
        rows.append(batch)
    assert rows == [[[1, 2], [2, 0], [10., 20.]], [[3], [1], [30.]]]


@pytest.mark.parametrize("name,make", [
    ("map", lambda: _run(core.CreateOperator("KeyValueToMap", ["k", "v"], ["map"]),
                         k=np.array([1, 2]), v=np.array([3, 4]))),
    ("index", lambda: workspace.RunOperatorOnce(
        core.CreateOperator("StringIndexCreate", [], ["index"]))),
    ("cursor", lambda: workspace.RunOperatorOnce(
        core.CreateOperator("CreateTreeCursor", [], ["cursor"], fields=["a"]))),
])
def test_objects_are_saved_and_loaded(name, make, tmp_path):
    make()
    path = str(tmp_path / "blobs.minidb")
    workspace.RunOperatorOnce(core.CreateOperator(
        "Save", [name], [], db=path, db_type="minidb", absolute_path=1))
    before = workspace.FetchBlob(name)
    workspace.ResetWorkspace()
    workspace.RunOperatorOnce(core.CreateOperator(
        "Load", [], [name], db=path, db_type="minidb", absolute_path=1))
    assert workspace.FetchBlob(name) == before


def test_text_file_reader(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("x\t1\ny\t2.5\n")
    workspace.RunOperatorOnce(core.CreateOperator(
        "CreateTextFileReader", [], ["reader"], filename=str(path), num_passes=1,
        field_types=[core.DataType.STRING, core.DataType.FLOAT]))
    workspace.RunOperatorOnce(core.CreateOperator(
        "TextFileReaderRead", ["reader"], ["s", "f"], batch_size=10))
    assert workspace.FetchBlob("s").tolist() == [b"x", b"y"]
    np.testing.assert_array_equal(workspace.FetchBlob("f"), np.float32([1, 2.5]))


def test_errors_name_the_operator():
    op = core.CreateOperator("LengthsSum", ["X", "L"], ["Y"])
    with pytest.raises(RuntimeError, match="lengths must add up to the"):
        _run(op, X=np.ones((3, 2), dtype=np.float32), L=np.array([1, 1], dtype=np.int32))
