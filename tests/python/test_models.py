"""Models: ModelHelper, brew, optimizers and networks."""

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, cnn, core, optimizer, workspace
from caffe2.python.model_helper import ExtractPredictorNet, ModelHelper
from caffe2.python.modeling import initializers
from caffe2.python.models import resnet


@pytest.fixture(autouse=True)
def first_instances():
    optimizer.reset_optimizer_instance_count()


def linear_model(name="linear"):
    """A regression to y = x W^T + b, with x and y external."""
    model = ModelHelper(name)
    prediction = brew.fc(model, "x", "prediction", 3, 2, weight_init=("GaussianFill", {}))
    distance = model.net.SquaredL2Distance([prediction, "y"], "distance")
    loss = model.net.AveragedLoss(distance, "loss")
    model.AddGradientOperators([loss])
    return model


def train(model, steps):
    """Losses of `steps` runs on fixed random data."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((16, 3)).astype(np.float32)
    workspace.FeedBlob("x", x)
    workspace.FeedBlob("y", x @ np.float32([[1, -2], [3, 0], [0, 1]]) + 1)
    model.param_init_net.set_rand_seed(1)
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net, overwrite=True)
    losses = []
    for _ in range(steps):
        workspace.RunNet(model.net)
        losses.append(float(workspace.FetchBlob("loss")))
    return losses


def test_parameters_and_gradients():
    model = linear_model()
    assert [str(p) for p in model.params] == ["prediction_w", "prediction_b"]
    assert model.weights == ["prediction_w"] and model.biases == ["prediction_b"]
    assert model.param_to_grad[model.params[0]] == "prediction_w_grad"
    assert model.get_param_info("prediction_w").shape == [2, 3]
    with pytest.raises(RuntimeError, match="twice"):
        model.AddGradientOperators(["loss"])
    with pytest.raises(AttributeError, match="FC"):
        model.FD("x", "y")


def test_name_scopes_and_shared_parameters():
    model = ModelHelper("scoped")
    with core.NameScope("a"):
        brew.fc(model, "x", "fc", 3, 2)
        assert model.GetParams() == ["a/fc_w", "a/fc_b"]
    with core.NameScope("b"):
        assert model.GetParams() == []
    assert len(model.GetParams()) == 2
    test_model = ModelHelper("test", init_params=False)
    brew.fc(test_model, "x", "fc", 3, 2)
    assert not test_model.param_init_net.Proto().op


@pytest.mark.parametrize("build, arguments", [
    (optimizer.build_sgd, {"base_learning_rate": 0.1}),
    (optimizer.build_sgd, {"base_learning_rate": 0.02, "momentum": 0.9, "policy": "step",
                           "stepsize": 20, "gamma": 0.9}),
    (optimizer.build_multi_precision_sgd, {"base_learning_rate": 0.02, "momentum": 0.9}),
    (optimizer.build_adagrad, {"base_learning_rate": 0.9}),
    (optimizer.build_adam, {"base_learning_rate": 0.2}),
    (optimizer.build_rms_prop, {"base_learning_rate": 0.1}),
    (optimizer.build_ftrl, {"alpha": 2.0, "engine": ""}),
])
def test_optimizers_learn(build, arguments):
    model = linear_model()
    build(model, **arguments)
    losses = train(model, 60)
    assert losses[-1] < 0.05 * losses[0]


def test_sgd_step_is_exact():
    model = linear_model()
    optimizer.add_weight_decay(model, 0.5)
    optimizer.build_sgd(model, 0.1)
    # Without the update, for the gradient at the first weights.
    train(model, 0)
    w = workspace.FetchBlob("prediction_w")
    x, y = workspace.FetchBlob("x"), workspace.FetchBlob("y")
    b = workspace.FetchBlob("prediction_b")
    error = (x @ w.T + b - y) / len(x)
    workspace.RunNet(model.net)
    expected = w - 0.1 * (error.T @ x + 0.5 * w)
    np.testing.assert_allclose(workspace.FetchBlob("prediction_w"), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        workspace.FetchBlob("prediction_b"), b - 0.1 * error.sum(0), rtol=1e-4, atol=1e-6)


def test_names_of_optimizer_blobs():
    model = linear_model()
    built = optimizer.build_sgd(model, 0.1, momentum=0.9)
    blobs = {blob for op in model.net.Proto().op for blob in op.output}
    assert {"SgdOptimizer_0_lr_cpu", "optimizer_iteration", "prediction_w_momentum"} <= blobs
    assert [str(b) for b in built.get_auxiliary_parameters().local] == [
        "prediction_w_momentum", "prediction_b_momentum"]
    train(model, 3)
    assert workspace.FetchBlob("optimizer_iteration") == 3


def test_arg_scope():
    model = ModelHelper("args", arg_scope={"order": "NHWC"})
    with brew.arg_scope([brew.conv], stride=2, weight_init=("MSRAFill", {})):
        with brew.arg_scope(brew.conv, pad=1):
            brew.conv(model, "data", "conv", 3, 8, kernel=3)
            brew.conv(model, "conv", "conv2", 8, 8, kernel=3, stride=1)
    arguments = [{a.name: a for a in op.arg} for op in model.net.Proto().op]
    assert arguments[0]["stride"].i == 2 and arguments[0]["pad"].i == 1
    assert arguments[1]["stride"].i == 1
    assert arguments[0]["order"].s == b"NHWC"
    assert model.param_init_net.Proto().op[0].type == "MSRAFill"
    assert model.get_param_info("conv_w").shape == [8, 3, 3, 3]
    with pytest.raises(RuntimeError, match="needs the model as its first argument"):
        brew.fc("x", "y", 1, 1)

    def double(model, blob_in, blob_out):
        return model.net.Scale(blob_in, blob_out, scale=2.0)

    brew.Register(double)
    assert brew.has_helper("double")
    assert brew.double(model, "x", "xx") == "xx"


def state(model):
    """All that a helper may change in a model."""
    lists = model.params, model._computed_params, model.weights, model.biases
    nets = model.net, model.param_init_net
    return (
        [list(map(str, each)) for each in lists], list(model._parameters_info),
        [net.Proto().SerializeToString() for net in nets],
        [dict(workspace.operator_tracebacks[net.Name()]) for net in nets],
        [{blob for blob in ("x", "y_w", "y_b", "y_u", "y_xv", "y_riv") if net.BlobIsDefined(blob)}
         for net in nets])


@brew.Register
def two_layers(model, blob_in, blob_out):
    hidden = brew.fc(model, blob_in, model.net.NextScopedBlob("hidden"), 3, 5)
    return brew.fc(model, hidden, blob_out, 5, 4, axis=[1, 2])


REFUSED = {
    "conv": lambda m: brew.conv(m, "x", "y", 3, 4, kernel=3, stride="two"),
    "two groups": lambda m: brew.group_conv_deprecated(m, "x", "y", 4, 4, kernel=3, group=2,
                                                       stride="two"),
    "no name": lambda m: brew.fc(m, "x", None, 3, 4, axis=[1, 2]),
    "fc_decomp": lambda m: brew.fc_decomp(m, "x", "y", 3, 4, axis=[1, 2]),
    "helper of helpers": lambda m: brew.two_layers(m, "x", "y"),
    "spatial_bn": lambda m: brew.spatial_bn(m, "x", "y", 3, epsilon="small"),
    "bias": lambda m: brew.fc(m, "x", "y", 3, 4, bias_init=("ZeroFil", {})),
    "loop": lambda m: brew.loop(m, "again", [], reader_of("unknown")),
}


def reader_of(blob):
    model = ModelHelper("body")
    model.net.Relu(blob, "inside")
    return model


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_helper_leaves_its_model_as_it_was(name):
    model = ModelHelper("refused")
    brew.fc(model, "data", "first", 2, 3)
    before = state(model)
    with pytest.raises((AttributeError, TypeError, ValueError)):
        REFUSED[name](model)
    assert state(model) == before
    assert model.net.NextScopedBlob("hidden") == "hidden"
    assert model.net.NextName() == f"{model.net.Name()}_blob_0"


def test_a_model_can_be_used_after_a_refused_helper():
    refused, other = ModelHelper("mended"), ModelHelper("mended")
    with pytest.raises(ValueError, match="stride"):
        brew.conv(refused, "x", None, 3, 4, kernel=3, stride="two")
    with pytest.raises(ValueError, match="unknown"):
        brew.loop(refused, "again", [], reader_of("unknown"))
    for model in refused, other:
        brew.conv(model, "x", None, 3, 4, kernel=3, stride=2)
        brew.loop(model, "again", ["x"], reader_of("x"))
        model.Validate()
    assert [[blob.replace(refused.net.Name(), other.net.Name()) for blob in op.output]
            for op in refused.net.Proto().op] == [op.output for op in other.net.Proto().op]
    assert len(refused.params) == len(refused.param_init_net.Proto().op) == 2
    workspace.FeedBlob("x", np.ones((1, 3, 8, 8), np.float32))
    workspace.RunNetOnce(refused.param_init_net)
    assert workspace.RunNetOnce(refused.net)


def image_helpers():
    return {
        "conv": lambda m: brew.conv(m, "x", "y", 4, 6, kernel=3, pad=1, group=2),
        "conv no bias": lambda m: brew.conv(m, "x", "y", 4, 6, kernel=[3, 1], no_bias=True),
        "conv_nd": lambda m: brew.conv_nd(m, "x", "y", 4, 6, kernel=[3, 3]),
        "conv_transpose": lambda m: brew.conv_transpose(m, "x", "y", 4, 6, kernel=2, stride=2),
        "max_pool": lambda m: brew.max_pool(m, "x", "y", kernel=2, stride=2),
        "average_pool": lambda m: brew.average_pool(m, "x", "y", kernel=2, stride=2),
        "lrn": lambda m: brew.lrn(m, "x", "y", size=3, alpha=1e-4, beta=0.75, use_cudnn=False),
        "spatial_bn": lambda m: brew.spatial_bn(m, "x", "y", 4),
        "spatial_bn test": lambda m: brew.spatial_bn(m, "x", "y", 4, is_test=True),
        "instance_norm": lambda m: brew.instance_norm(m, "x", "y", 4),
        "spatial_gn": lambda m: brew.spatial_gn(m, "x", "y", 4, group=2),
        "softmax": lambda m: brew.softmax(m, "x", "y"),
        "relu": lambda m: brew.relu(m, "x", "y"),
        "tanh": lambda m: brew.tanh(m, "x", "y"),
        "prelu": lambda m: brew.prelu(m, "x", "y", num_channels=4),
        "dropout": lambda m: brew.dropout(m, "x", "y", ratio=0.5, is_test=False),
        "dropout test": lambda m: brew.dropout(m, "x", "y", ratio=0.5, is_test=True),
        "concat": lambda m: brew.concat(m, ["x", "x"], "y"),
        "depth_concat": lambda m: brew.depth_concat(m, ["x", "x"], "y"),
        "sum": lambda m: brew.sum(m, ["x", "x"], "y"),
    }


@pytest.mark.parametrize("name", image_helpers())
def test_helpers_run(name):
    model = ModelHelper("helper")
    blob = image_helpers()[name](model)
    workspace.FeedBlob("x", np.random.default_rng(0).standard_normal((2, 4, 8, 8), np.float32))
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)
    assert np.isfinite(workspace.FetchBlob(blob)).all()
    assert blob == "y"


def test_layer_norm():
    model = ModelHelper("layer_norm")
    blob = brew.layer_norm(model, "x", "y", 5, initial_scale=2.0, initial_bias=1.0)
    x = np.random.default_rng(0).standard_normal((3, 5), np.float32)
    workspace.FeedBlob("x", x)
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)
    expected = 2 * (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) + 1
    np.testing.assert_allclose(workspace.FetchBlob(blob), expected, atol=1e-3)


def test_spatial_gn():
    model = ModelHelper("spatial_gn")
    blob = brew.spatial_gn(model, "x", "y", 4, init_scale=2.0, init_bias=1.0, group=2)
    x = np.random.default_rng(0).standard_normal((3, 4, 5, 5), np.float32)
    workspace.FeedBlob("x", x)
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)
    rows = x.reshape(6, 50)
    expected = 2 * (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True) + 1
    np.testing.assert_allclose(workspace.FetchBlob(blob), expected.reshape(x.shape), atol=1e-3)
    with pytest.raises(ValueError, match="divide"):
        brew.spatial_gn(model, "x", "z", 4, group=3)


@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
def test_moments_with_running_stats(order):
    model = ModelHelper("moments")
    axes, shape = ((0, 2, 3), (3, 4, 5, 6)) if order == "NCHW" else ((0, 1, 2), (3, 5, 6, 4))
    mean, variance = brew.moments_with_running_stats(model, "x", "y", 4, order=order)
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    workspace.FeedBlob("x", x)
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)
    assert (mean, variance) == ("y_sm", "y_sv")
    np.testing.assert_allclose(workspace.FetchBlob(mean), x.mean(axes), atol=1e-6)
    np.testing.assert_allclose(workspace.FetchBlob(variance), x.var(axes), rtol=1e-5)
    np.testing.assert_array_equal(workspace.FetchBlob("y_riv"), np.ones(4))
    with pytest.raises(ValueError, match="order"):
        brew.moments_with_running_stats(model, "x", "z", 4, order="CHWN")


def test_resnet50_builds_runs_and_has_the_names_of_caffe2():
    model = ModelHelper("resnet", arg_scope={"order": "NCHW"})
    softmax, loss = resnet.create_resnet50(model, "data", 3, 10, label="label", no_bias=True)
    model.AddGradientOperators([loss])
    optimizer.build_sgd(model, 0.1, momentum=0.9)
    types = [op.type for op in model.net.Proto().op]
    assert types.count("Conv") == 53 and types.count("SpatialBN") == 53
    assert types.count("MomentumSGDUpdate") == 161
    blobs = {blob for op in model.net.Proto().op for blob in op.output}
    assert {"comp_0_conv_1", "comp_15_sum_3", "shortcut_projection_13_spatbn", "pool1",
            "last_out_L10"} <= blobs
    shapes, _ = workspace.InferShapesAndTypes(
        [model.param_init_net, model.net], {"data": [2, 3, 64, 64], "label": [2]})
    assert shapes["last_out_L10"] == [2, 10]
    assert shapes["comp_0_sum_3"] == [2, 256, 16, 16]
    epsilons = {argument.f for op in model.net.Proto().op if op.type == "SpatialBN"
                for argument in op.arg if argument.name == "epsilon"}
    assert epsilons == {np.float32(1e-5)}


@pytest.mark.parametrize("layers, widest", [(18, 512), (50, 2048)])
def test_resnext_has_the_bottlenecks_of_caffe2(layers, widest):
    model = ModelHelper("resnext")
    resnet.create_resnext(model, "data", 3, 7, layers, 32, 4, no_loss=True)
    shapes, _ = workspace.InferShapesAndTypes(
        [model.param_init_net, model.net], {"data": [1, 3, 64, 64]})
    blocks = sum(resnet.RESNEXT_BLOCK_CONFIG[layers])
    assert f"comp_{blocks - 1}_conv_3_w" in shapes and f"comp_{blocks}_conv_1_w" not in shapes
    assert shapes["comp_0_conv_2_w"] == [128, 4, 3, 3]  # 32 groups of 4
    assert shapes[f"comp_{blocks - 1}_conv_2_w"] == [1024, 32, 3, 3]
    assert shapes["last_out_L7_w"] == [7, widest]
    assert ("shortcut_projection_0_w" in shapes) == (layers == 50)
    builder = resnet.ResNetBuilder(ModelHelper("block"), "x", no_bias=1, is_test=False)
    assert builder.add_bottleneck(8, 2, 4) == 4
    assert "shortcut_projection_0" in builder.model.net.Proto().op[-3].input[0]


def test_resnet_for_small_images_has_the_names_of_caffe2():
    model = ModelHelper("resnet_32")
    assert resnet.create_resnet_32x32(model, "data", 3, 2, 10, is_test=True) == "softmax"
    shapes, _ = workspace.InferShapesAndTypes(
        [model.param_init_net, model.net], {"data": [1, 3, 32, 32]})
    assert shapes["relu1"] == [1, 16, 30, 30]  # the first convolution does not pad
    assert shapes["comp_11_sum_2"] == [1, 64, 8, 8] and "comp_12_sum_2" not in shapes
    assert shapes["final_avg"] == [1, 64, 1, 1]
    assert {name for name in shapes if name.startswith("shortcut") and name.endswith("_w")} == {
        "shortcut_projection_4_w", "shortcut_projection_8_w"}
    epsilons = {op.output[0]: argument.f for op in model.net.Proto().op
                if op.type == "SpatialBN" for argument in op.arg if argument.name == "epsilon"}
    for name, epsilon in epsilons.items():
        other = name == "conv1_spatbn" or name.startswith("shortcut")
        assert epsilon == np.float32(1e-3 if other else 1e-5), name


def test_resnext_trains():
    model = ModelHelper("resnext")
    softmax, loss = resnet.create_resnext(model, "data", 3, 10, 18, 1, 64, label="label")
    model.AddGradientOperators([loss])
    optimizer.build_sgd(model, 0.05, momentum=0.9)
    rng = np.random.default_rng(0)
    workspace.FeedBlob("data", rng.standard_normal((4, 3, 32, 32), np.float32))
    workspace.FeedBlob("label", np.arange(4, dtype=np.int32))
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    losses = []
    for _ in range(8):
        workspace.RunNet(model.net)
        losses.append(float(workspace.FetchBlob("loss")))
    assert losses[-1] < losses[0]
    with pytest.raises(ValueError, match="51"):
        resnet.create_resnext(model, "data", 3, 10, 51, 1, 64)


def test_extract_predictor_net():
    model = linear_model()
    net, parameters = ExtractPredictorNet(
        model.net.Proto(), ["x"], ["prediction"], renames={"x": "in"})
    assert [op.type for op in net.Proto().op] == ["FC"]
    assert parameters == ["prediction_w", "prediction_b"]
    assert net.Proto().op[0].input[0] == "in"
    with pytest.raises(ValueError, match="nothing"):
        ExtractPredictorNet(model.net.Proto(), ["x"], ["nothing"])


def test_cnn_model_helper():
    model = cnn.CNNModelHelper(order="NCHW", name="old")
    conv = model.Conv("data", "conv", 3, 4, kernel=3)
    relu = model.Relu(conv, conv)
    model.FC(model.MaxPool(relu, "pool", kernel=2, stride=2), "fc", 4 * 3 * 3, 5)
    workspace.FeedBlob("data", np.ones((1, 3, 8, 8), np.float32))
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)
    assert workspace.FetchBlob("fc").shape == (1, 5)
    with pytest.raises(ValueError, match="CHWN"):
        cnn.CNNModelHelper(order="CHWN")


def test_initializers():
    model = ModelHelper("init")
    blob = model.create_param("p", [3], initializers.Initializer("ConstantFill", value=2.0))
    model.create_param("q", [3], initializers.ExternalInitializer())
    workspace.RunNetOnce(model.param_init_net)
    assert workspace.FetchBlob(blob).tolist() == [2, 2, 2]
    assert not workspace.HasBlob("q")
    with pytest.raises(TypeError):
        model.create_param(3, [1], initializers.Initializer("ConstantFill"))
    with pytest.raises(ValueError, match="parameter r"):
        model.create_param("r", [1], initializers.Initializer())


def test_devices_of_updates():
    option = core.DeviceOption(caffe2_pb2.CUDA, 1)
    assert optimizer.get_param_device("w", "w_grad", {"w": option}) == option
    assert optimizer.get_param_device("w", "w_grad", {"w_grad": option}) == option
    assert optimizer.get_param_device("w", "w_grad").device_type == caffe2_pb2.CPU
