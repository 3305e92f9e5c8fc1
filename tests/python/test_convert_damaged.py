"""doppio convert of damaged ONNX models."""

import pytest

from caffe2.python.convert import convert_command

# What a file may say of a tensor that has 8 bytes.
DAMAGED_TENSORS = {
    "more elements than bytes": {"dims": [2 ** 20, 2 ** 20]},
    "an unknown type": {"data_type": 99},
    "no type": {"data_type": 0},
    "a part of an element": {"raw_data": bytes(3)},
    "a negative dimension": {"dims": [-2]},
}


@pytest.mark.parametrize("place", ["initializer", "Constant", "ConstantOfShape"])
@pytest.mark.parametrize("damage", list(DAMAGED_TENSORS.values()), ids=list(DAMAGED_TENSORS))
def test_a_damaged_tensor_of_onnx_is_named(damage, place, tmp_path, capsys):
    onnx = pytest.importorskip("onnx")
    fields = {"dims": [2], "data_type": onnx.TensorProto.FLOAT, "raw_data": bytes(8), **damage}
    tensor = onnx.TensorProto(name="weights", **fields)
    infos = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2])
             for name in ("x", "y")]
    nodes = [onnx.helper.make_node("Add", ["x", "weights"], ["y"])]
    initializers = [tensor]
    if place != "initializer":
        shape = onnx.helper.make_tensor("shape", onnx.TensorProto.INT64, [1], [2])
        inputs, initializers = ([], []) if place == "Constant" else (["shape"], [shape])
        nodes.insert(0, onnx.helper.make_node(place, inputs, ["weights"], value=tensor))
    graph = onnx.helper.make_graph(nodes, "g", infos[:1], infos[1:], initializers)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    assert convert_command.main([f"{tmp_path}/a.onnx", f"{tmp_path}/a.mdl"], "convert") == 65
    out, error = capsys.readouterr()
    assert out == "" and error.startswith("convert: ") and error.count("\n") == 1, error
    assert "weights" in error
