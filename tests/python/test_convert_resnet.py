"""ResNets as torchvision's state dicts, in safetensors and in ONNX: they compute the same, and what
does not fit is refused."""

import numpy as np
import pytest
from test_convert import convert, error_of, predict

from caffe2.proto import caffe2_pb2
from caffe2.python.convert import formats, resnet
from caffe2.python.convert.layers import layers_of
from caffe2.python.convert.model import Model

# What torchvision's documentation says: parameters, and multiply-adds of an image of 224 x 224 in
# units of 1e9.
PUBLISHED = {18: (11689512, 1.81), 34: (21797672, 3.66), 50: (25557032, 4.09),
             101: (44549160, 7.80), 152: (60192808, 11.51)}


def random_state(depth, labels=10, channels=3):
    """A state dict as torchvision would give it, with statistics that let signals through."""
    rng = np.random.default_rng(depth)
    state = {}
    for name, shape in resnet._torch_shapes(depth, channels, labels).items():
        if len(shape) > 1:
            scale = np.float32(np.prod(shape[1:]) ** -0.5)
            state[name] = rng.standard_normal(shape, dtype=np.float32) * scale
        else:
            state[name] = rng.random(shape, dtype=np.float32) + np.float32(0.2)
    return state


def on_nhwc(model):
    """The same network on NHWC images, as our trainers make it: with another epsilon, and no
    padding of the max pooling."""
    net = caffe2_pb2.NetDef.FromString(model.net.SerializeToString())
    values = dict(model.values)
    for op in net.op:
        if op.type in ("Conv", "SpatialBN", "MaxPool", "AveragePool"):
            kept = [arg for arg in op.arg if arg.name not in ("order", "epsilon")
                    and (op.type != "MaxPool" or arg.name != "pad")]
            del op.arg[:]
            op.arg.extend(kept)
            op.arg.add(name="order", s=b"NHWC")
        if op.type == "SpatialBN":
            op.arg.add(name="epsilon", f=1e-3)
        if op.type == "Conv":
            values[op.input[1]] = np.ascontiguousarray(values[op.input[1]].transpose(0, 2, 3, 1))
    return Model(net, values, model.inputs, model.outputs, {"data": [1, 64, 64, 3]},
                 {"mean": "128", "order": "NHWC"})


@pytest.mark.parametrize("form", ["nchw", "nhwc"])
def test_onnxruntime_computes_the_same(form, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = resnet.model_of_state(random_state(18))
    x = np.random.RandomState(1).normal(0, 1, (3, 3, 64, 64)).astype(np.float32)
    if form == "nhwc":
        model, x = on_nhwc(model), np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    formats.write(model, f"{tmp_path}/a.mdl")
    shape = ",".join(map(str, x.shape[1:]))
    assert convert(tmp_path / "a.mdl", tmp_path / "a.onnx", "--input_shape", shape) == 0
    session = runtime.InferenceSession(f"{tmp_path}/a.onnx")
    for count in (1, 3):
        (result,) = session.run(None, {"data": x[:count]})
        np.testing.assert_allclose(result, predict(model, x[:count]), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("depth", resnet.DEPTHS)
def test_resnets_are_those_that_torchvision_documents(depth):
    model = resnet.model_of_state({
        name: np.zeros(shape, np.float32)
        for name, shape in resnet._torch_shapes(depth, 3, 1000).items()})
    parameters, gigaflops = PUBLISHED[depth]
    running = sum(value.size for name, value in model.values.items()
                  if name.endswith(("_rm", "_riv")))
    layers = layers_of(model)
    assert sum(layer.parameters for layer in layers) == parameters
    assert sum(layer.running_statistics for layer in layers) == running
    products = sum(layer.flops for layer in layers if layer.type in ("Conv", "FC"))
    assert abs(products / 2e9 - gigaflops) < 0.02
    assert layers[-1].shape == [1, 1000]


@pytest.mark.parametrize("depth", [18, 50])
def test_a_trained_resnet_becomes_a_state_dict_that_computes_the_same(depth):
    """Our trainers' epsilon is 1e-3, and Python's builder may give convolutions a bias."""
    model = on_nhwc(resnet.model_of_state(random_state(depth)))
    bias = np.float32(np.random.RandomState(1).uniform(-1, 1, 64))
    model.values["comp_0_conv_1_b"] = bias
    next(op for op in model.net.op if op.output[0] == "comp_0_conv_1").input.append(
        "comp_0_conv_1_b")
    state = resnet.state_of_model(model)
    (note,) = model.notes
    assert "model.maxpool.padding = 0" in note
    again = resnet.model_of_state(state)
    pool = next(op for op in again.net.op if op.type == "MaxPool")
    next(arg for arg in pool.arg if arg.name == "pad").i = 0  # as the note says
    x = np.random.RandomState(1).normal(0, 1, (2, 64, 64, 3)).astype(np.float32)
    np.testing.assert_allclose(predict(again, np.ascontiguousarray(x.transpose(0, 3, 1, 2))),
                               predict(model, x), rtol=1e-3, atol=1e-6)


def test_a_state_dict_for_the_net_of_another_model():
    state = random_state(18)
    like = on_nhwc(resnet.model_of_state(random_state(18)))
    for value in like.values.values():
        value[...] = 0.5
    model = resnet.model_like(state, like)
    assert model.net.op[0].arg[-1].s == b"NHWC"
    again = resnet.state_of_model(model)
    for name, value in state.items():
        np.testing.assert_array_equal(again[name], value, err_msg=name)


def test_names_with_the_scope_of_caffe2s_trainers():
    state = random_state(18)
    model = resnet.model_of_state(state)
    for op in model.net.op:
        op.input[:] = ["gpu_0/" + name for name in op.input]
        op.output[:] = ["gpu_0/" + name for name in op.output]
    model.values = {"gpu_0/" + name: value for name, value in model.values.items()}
    again = resnet.state_of_model(model)
    assert all((again[name] == value).all() for name, value in state.items())


def test_another_variant_is_refused():
    model = resnet.model_of_state(random_state(50))
    for op in model.net.op:  # version 1: the stride is in the first convolution of the block
        if op.output[0] in ("comp_3_conv_1", "comp_3_conv_2"):
            next(arg for arg in op.arg if arg.name == "stride").i = \
                2 if op.output[0] == "comp_3_conv_1" else 1
    with pytest.raises(ValueError, match="comp_3_conv_1 has the stride 2, in torchvision it has 1"):
        resnet.state_of_model(model)


@pytest.mark.parametrize("change, why", [
    (lambda state: state.pop("layer2.0.bn1.bias"), "layer2.0.bn1.bias of ResNet-18 is missing"),
    (lambda state: state.update({"fc.bias": np.zeros(3, np.float32)}),
     r"fc.bias has the shape \(3,\), in ResNet-18 it has \(10,\)"),
    (lambda state: state.update({"extra.weight": np.zeros(3)}), "no parameter extra.weight"),
    (lambda state: state.pop("fc.weight"), "not of a torchvision ResNet"),
    (lambda state: [state.pop(name) for name in list(state) if name.startswith("layer4.1")],
     r"\(2, 2, 2, 1\) blocks"),
    (lambda state: state.update({"conv1.weight": np.zeros(3, np.float32)}), "4 dimensions"),
])
def test_state_dicts_that_do_not_fit(change, why):
    state = random_state(18)
    change(state)
    with pytest.raises(ValueError, match=why):
        resnet.model_of_state(state)


def test_safetensors_of_a_resnet(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    state = random_state(18)
    safetensors.save_file(state, f"{tmp_path}/a.safetensors")
    assert convert(tmp_path / "a.safetensors", tmp_path / "a.mdl") == 0
    assert convert(tmp_path / "a.mdl", tmp_path / "b.safetensors") == 0
    again = safetensors.load_file(f"{tmp_path}/b.safetensors")
    assert sorted(name for name in again if not name.endswith("num_batches_tracked")) == sorted(
        state)
    for name, value in state.items():
        np.testing.assert_array_equal(again[name], value, err_msg=name)


@pytest.mark.parametrize("trained", [True, False])
def test_safetensors_keep_what_the_model_says(trained, tmp_path, capsys):
    """Our trainers' pooling is not padded, torchvision's is."""
    pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    model = resnet.model_of_state(random_state(18))
    x = np.random.RandomState(1).normal(0, 1, (2, 3, 64, 64)).astype(np.float32)
    scores = predict(model, x)
    if trained:
        model = on_nhwc(model)
        scores = predict(model, np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
    model.shapes["data"] = [0, 64, 64, 3] if trained else [0, 3, 64, 64]
    model.info = {"mean": "1,2,3", "std": "57.5", "image_size": "64", "image_scale": "70",
                  "num_channels": "3", "order": "NHWC" if trained else "NCHW",
                  "class_names": "cat\n\u00e4ff \"x\"\n"}
    formats.write(model, f"{tmp_path}/a.mdl")
    assert convert(tmp_path / "a.mdl", tmp_path / "a.safetensors") == 0
    capsys.readouterr()
    assert convert(tmp_path / "a.safetensors", tmp_path / "b.mdl") == 0
    assert capsys.readouterr().err == ""
    again = formats.read(f"{tmp_path}/b.mdl")
    np.testing.assert_allclose(predict(again, x), scores, rtol=1e-3, atol=1e-6)
    assert again.info == {**model.info, "order": "NCHW"}
    assert again.shapes == {"data": [1, 3, 64, 64]}
    words = ("--like", tmp_path / "a.mdl", "--mean", "9")
    assert convert(tmp_path / "a.safetensors", tmp_path / "c.mdl", *words) == 0
    assert formats.read(f"{tmp_path}/c.mdl").info == {**model.info, "mean": "9"}
    assert convert(tmp_path / "a.safetensors", tmp_path / "d.safetensors", "--std", "2") == 0
    assert formats.read(f"{tmp_path}/d.safetensors").info["std"] == "2"


def test_safetensors_from_elsewhere_get_a_note(tmp_path, capsys):
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    path = tmp_path / "a.safetensors"
    for metadata in (None, {"format": "pt"}):
        safetensors.save_file(random_state(18), path, metadata=metadata)
        assert convert(path, tmp_path / "a.mdl") == 0
        err = capsys.readouterr().err
        assert err.startswith("note: the file does not say how") and err.count("\n") == 1
    for key, value in (("maxpool_padding", "2"), ("image_size", "large"), ("image_size", "-1")):
        safetensors.save_file(random_state(18), path, metadata={f"doppio.{key}": value})
        status, line = error_of(capsys, path, tmp_path / "b.mdl")
        assert status == 65 and f"a.safetensors: the metadata doppio.{key} is '{value}'" in line


@pytest.mark.parametrize("pads, padding", [
    ({"pad": 1}, 1), ({}, 0), ({"pad_t": 1}, None), ({"pads": [1, 1, 1, 1]}, 1),
    ({"pads": [0, 0, 1, 1]}, None), ({"pad": 2}, None), ({"pad": 1, "pad_b": 0}, None),
    (dict.fromkeys(("pad_t", "pad_l", "pad_b", "pad_r"), 1), 1), ({"legacy_pad": 3}, None)])
def test_padding_in_all_its_forms(pads, padding):
    model = resnet.model_of_state(random_state(18))
    pool = next(op for op in model.net.op if op.type == "MaxPool")
    kept = [arg for arg in pool.arg if arg.name != "pad"]
    del pool.arg[:]
    pool.arg.extend(kept)
    for name, value in pads.items():
        pool.arg.add(name=name, **({"ints": value} if name == "pads" else {"i": value}))
    assert resnet.pool_padding(model) == padding
