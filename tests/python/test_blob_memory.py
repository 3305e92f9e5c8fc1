"""workspace.MemoryReport."""

import numpy as np
import pytest

from caffe2.python import core, workspace


@pytest.fixture(autouse=True)
def empty_workspace():
    workspace.ResetWorkspace()


def test_each_tensor_counts_with_its_size():
    workspace.FeedBlob("big", np.zeros((4, 8), np.float64))
    workspace.FeedBlob("small", np.zeros(3, np.int32))
    workspace.FeedBlob("empty", np.zeros(0, np.float32))
    report = workspace.MemoryReport()
    assert report.blobs == [
        workspace.BlobMemory("big", "[4, 8]", "double", "cpu", 256, 0),
        workspace.BlobMemory("small", "[3]", "int", "cpu", 12, 0)]
    assert report.blob_bytes == report.distinct_bytes == 268


def test_shared_memory_counts_once():
    workspace.FeedBlob("x", np.zeros(1 << 18, np.float32))
    workspace.RunOperatorOnce(core.CreateOperator("Alias", ["x"], ["y"]))
    report = workspace.MemoryReport()
    assert {blob.name: blob.shared_with for blob in report.blobs} == {"x": 1, "y": 1}
    assert report.blob_bytes == 2 << 20 and report.distinct_bytes == 1 << 20
    lines = str(report).splitlines()
    assert lines[0] == "2 blobs of 2.0 MiB in 1.0 MiB"
    assert lines[1] == "  1.0 MiB  x float [262144] on cpu, shares memory with 1 others"


def test_the_table_is_short():
    for i in range(25):
        workspace.FeedBlob(f"b{i}", np.zeros(i + 1, np.float32))
    lines = str(workspace.MemoryReport()).splitlines()
    assert lines[1].startswith("  0.0 MiB  b24 ") and len(lines) == 22
    assert lines[-1] == "  and 5 smaller ones"
