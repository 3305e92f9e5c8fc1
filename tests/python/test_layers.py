"""Less common helpers of brew, ShuffleNet and the modifiers of nets."""

import numpy as np
import pytest

from caffe2.python import brew, core, model_helper, optimizer, optimizer_context, workspace
from caffe2.python.modeling.compute_histogram_for_blobs import ComputeHistogramForBlobs
from caffe2.python.modeling.compute_norm_for_blobs import ComputeNormForBlobs
from caffe2.python.modeling.compute_statistics_for_blobs import ComputeStatisticsForBlobs
from caffe2.python.modeling.get_entry_from_blobs import GetEntryFromBlobs
from caffe2.python.modeling.gradient_clipping import GradientClipping
from caffe2.python.modeling.initializers import PseudoFP16Initializer
from caffe2.python.models import shufflenet


@pytest.fixture
def x():
    value = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    workspace.FeedBlob("x", value)
    return value


def run(model):
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)


def fetch(*names):
    return [workspace.FetchBlob(name) for name in names]


def test_all_helpers_of_caffe2_are_there():
    for name in (
            "fc packed_fc fc_decomp fc_sparse fc_prune dropout max_pool average_pool "
            "max_pool_with_index lrn softmax instance_norm spatial_bn spatial_gn relu prelu tanh "
            "concat depth_concat sum transpose iter accuracy conv conv_nd conv_transpose "
            "group_conv group_conv_deprecated image_input video_input add_weight_decay "
            "moments_with_running_stats elementwise_linear layer_norm batch_mat_mul "
            "cond loop db_input").split():
        assert brew.has_helper(name), name


def test_variants_of_fc(x):
    model = model_helper.ModelHelper("variants")
    brew.packed_fc(model, "x", "packed", 6, 3)
    brew.fc_decomp(model, "x", "decomposed", 6, 3, rank_approx=2)
    brew.elementwise_linear(model, "x", "linear", 6, weight_init=("GaussianFill", {}))
    run(model)
    y, w, b = fetch("packed", "packed_w", "packed_b")
    np.testing.assert_allclose(y, x @ w.T + b, rtol=1e-5, atol=1e-6)
    y, u, v = fetch("decomposed", "decomposed_u", "decomposed_v")
    assert (u.shape, v.shape) == ((3, 2), (6, 2))
    np.testing.assert_allclose(y, x @ v @ u.T, rtol=1e-4, atol=1e-6)
    y, w = fetch("linear", "linear_w")
    np.testing.assert_allclose(y, x * w, rtol=1e-6)
    with pytest.raises(ValueError, match="its weights must exist"):
        brew.fc_sparse(model, "x", "sparse", "w", "iw", "jw", "b")


def test_decomposed_weights_have_their_initializers():
    model = model_helper.ModelHelper("half")
    brew.fc_decomp(model, "x", "y", 6, 3, rank_approx=2, bias_init=("ConstantFill", {"value": 2.0}),
                   WeightInitializer=PseudoFP16Initializer)
    workspace.RunNetOnce(model.param_init_net)
    u, v, b = fetch("y_u", "y_v", "y_b")
    assert (u.dtype, v.dtype, b.dtype) == (np.float16, np.float16, np.float32)
    np.testing.assert_array_equal(b, [2, 2, 2])
    brew.fc_decomp(model, "x", "z", 6, 3, BiasInitializer=PseudoFP16Initializer)
    workspace.RunNetOnce(model.param_init_net)
    assert [value.dtype for value in fetch("z_u", "z_b")] == [np.float32, np.float16]


def test_convolutions_of_groups_by_one_each():
    images = np.random.default_rng(0).standard_normal((2, 4, 5, 5)).astype(np.float32)
    workspace.FeedBlob("images", images)
    model = model_helper.ModelHelper("groups")
    brew.group_conv_deprecated(model, "images", "apart", 4, 6, 3, group=2)
    brew.group_conv(model, "images", "joint", 4, 6, 3, group=2)
    run(model)
    parts = fetch("apart_gconv_0_w", "apart_gconv_1_w")
    workspace.FeedBlob("joint_w", np.concatenate(parts))
    workspace.RunNetOnce(model.net)
    np.testing.assert_allclose(*fetch("apart", "joint"), rtol=1e-4, atol=1e-5)


def test_shufflenet_trains():
    model = model_helper.ModelHelper("shufflenet")
    _, loss = shufflenet.create_shufflenet(model, "data", 3, 5, label="label")
    model.AddGradientOperators([loss])
    optimizer.build_sgd(model, 0.01, momentum=0.9)
    sizes = sum(int(np.prod(model.get_param_info(p).shape)) for p in model.params)
    # The paper has 2.3 million parameters with 1000 classes; 995 of them have 1025 each.
    assert abs(sizes + 995 * 1025 - 2.28e6) < 0.03e6
    rng = np.random.default_rng(1)
    workspace.FeedBlob("data", rng.standard_normal((4, 3, 64, 64)).astype(np.float32))
    workspace.FeedBlob("label", np.int32([0, 1, 2, 3]))
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    losses = []
    for _ in range(8):
        workspace.RunNet(model.net)
        losses.append(float(workspace.FetchBlob("loss")))
    assert losses[-1] < 0.5 * losses[0]


def test_reports_of_blobs(x):
    model = model_helper.ModelHelper("reports")
    model.net.Copy(model.net.AddExternalInput("x"), "y")
    ComputeNormForBlobs(["y"], 0)(model.net)
    ComputeNormForBlobs(["y"], 0, p=1, compute_averaged_norm=True)(model.net)
    GetEntryFromBlobs(["y"], 0, i1=2, i2=3)(model.net)
    workspace.RunNetOnce(model.net)
    l2, mean, entry = fetch("y_l2_norm", "y_averaged_l1_norm", "y_2_3")
    assert l2.shape == mean.shape == (1,)
    np.testing.assert_allclose(l2, [np.linalg.norm(x) ** 2], rtol=1e-5)
    np.testing.assert_allclose(mean, [abs(x).mean()], rtol=1e-5)
    assert entry == x[2, 3]
    net = model.net.Clone("row")
    ComputeNormForBlobs(["y"], 0, p=1, row_index=2)(net, modify_output_record=True)
    assert net.output_record().field_names() == ["y_row_2_l1_norm"]
    workspace.RunNetOnce(net)
    np.testing.assert_allclose(*fetch("y_row_2_l1_norm"), [abs(x[2]).sum()], rtol=1e-5)
    with pytest.raises(ValueError, match="not defined"):
        ComputeNormForBlobs(["z"], 0)(model.net)
    with pytest.raises(ValueError, match="not L3"):
        ComputeNormForBlobs(["y"], 0, p=3)


@pytest.mark.parametrize("arguments, expected", [
    ({"grad_clip_method": "by_norm", "clip_threshold": 0.5}, lambda g, w: g * min(
        1, 0.5 / np.linalg.norm(g))),
    ({"grad_clip_method": "by_norm", "clip_norm_type": "l1_norm", "clip_threshold": 0.5},
     lambda g, w: g * 0.5 / abs(g).sum()),
    ({"grad_clip_method": "by_norm", "clip_threshold": 0.1, "use_parameter_norm": True,
      "compute_norm_ratio": True},
     lambda g, w: g * 0.1 * np.linalg.norm(w) / np.linalg.norm(g)),
    ({"grad_clip_method": "by_value", "clip_max": 0.2, "clip_min": -0.1},
     lambda g, w: np.clip(g, -0.1, 0.2))])
def test_gradient_clipping(x, arguments, expected):
    model = model_helper.ModelHelper("clipping")
    y = brew.fc(model, "x", "y", 6, 3)
    gradients = model.AddGradientOperators([model.net.SumElements(model.net.Sqr(y), "loss")])
    run(model)
    grad, weight = fetch("y_w_grad", "y_w")
    clip = GradientClipping(blobs_to_include=["y_w"], **arguments)
    clip(model.net, model.param_init_net, grad_map=gradients)
    workspace.RunNetOnce(model.net)
    np.testing.assert_allclose(
        workspace.FetchBlob("y_w_grad"), expected(grad, weight), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="have no gradient"):
        GradientClipping("by_norm", blobs_to_include=["z"])(model.net, grad_map=gradients)
    with pytest.raises(ValueError, match="by_size is not one of"):
        GradientClipping("by_size")


def test_named_optimizers():
    context = optimizer_context.OptimizerContext.current()
    assert not context.has_optimizer("SPARSE")
    with optimizer_context.UseOptimizer("outer"):
        with optimizer_context.UseOptimizer({"SPARSE": "inner"}):
            assert context.get_optimizer(optimizer_context.DEFAULT_OPTIM) == "outer"
            assert context.get_optimizer("SPARSE") == "inner"
        with pytest.raises(KeyError, match="not provided"):
            context.get_optimizer("SPARSE")


def test_deduplicated_rows():
    net = core.Net("rows")
    workspace.FeedBlob("indices", np.int32([3, 1, 3]))
    workspace.FeedBlob("values", np.float32([[1, 2], [3, 4], [5, 6]]))
    rows = net.DeduplicateGradientSlices(
        core.GradientSlice(*net.AddExternalInput("indices", "values")))
    workspace.RunNetOnce(net)
    indices, values = fetch(str(rows.indices), str(rows.values))
    found = {int(i): tuple(v) for i, v in zip(indices, values)}
    assert found == {1: (3, 4), 3: (6, 8)}


def test_engines_do_not_contradict_use_cudnn():
    model = model_helper.ModelHelper("engines")
    assert brew.conv(model, "x", "a", 3, 4, 1, use_cudnn=True, engine="CUDNN") == "a"
    assert brew.conv(model, "x", "b", 3, 4, 1, use_cudnn=False, engine="OTHER") == "b"
    for use_cudnn, engine in ((True, "OTHER"), (True, ""), (False, "CUDNN")):
        with pytest.raises(ValueError, match="contradicts"):
            brew.conv(model, "x", "c", 3, 4, 1, use_cudnn=use_cudnn, engine=engine)


def test_statistics_of_blobs():
    net = core.Net("statistics")
    net.AddExternalInput("x")
    modifier = ComputeStatisticsForBlobs(["x"], logging_frequency=0)
    modifier(net, modify_output_record=True)
    x = np.random.default_rng(1).standard_normal((3, 5))
    workspace.FeedBlob("x", x)
    workspace.RunNetOnce(net)
    np.testing.assert_allclose(workspace.FetchBlob("x_summary"),
                               [x.min(), x.max(), x.mean(), x.std(ddof=1)], rtol=1e-5)
    assert net.output_record().field_blobs() == ["x" + modifier.field_name_suffix()]
    assert net.output_record().field_types()[0].shape == (4,)


def test_histograms_of_blobs():
    net = core.Net("histogram")
    net.AddExternalInput("x")
    for accumulate in (False, True):
        ComputeHistogramForBlobs(["x"], 0, 4, -1.0, 1.0, accumulate)(net)
    workspace.FeedBlob("x", np.zeros(1, np.float32))
    workspace.CreateNet(net)
    values = [np.float32([[-2, -0.75, 0.25], [0.3, 0.9, 1]]), np.float32([[-1, 0, 5, 6]])]
    shares = []
    for x in values:
        workspace.FeedBlob("x", x)
        workspace.RunNet(net)
        counts, _ = np.histogram(x, [-np.inf, -1, -0.5, 0, 0.5, 1, np.inf])
        shares.append(counts)
        np.testing.assert_allclose(
            workspace.FetchBlob("x_curr_normalized_hist"), counts / counts.sum(), rtol=1e-6)
    total = np.sum(shares, axis=0)
    np.testing.assert_allclose(
        workspace.FetchBlob("x_acc_normalized_hist"), total / total.sum(), rtol=1e-6)


@pytest.mark.parametrize("arguments", [{"num_buckets": 0}, {"lower_bound": 2.0}])
def test_histograms_need_buckets(arguments):
    with pytest.raises(ValueError, match="a histogram"):
        ComputeHistogramForBlobs(["x"], 0, **arguments)


def test_parameters_that_are_shared_have_one_shape():
    model = model_helper.ModelHelper("shared")
    brew.fc(model, "x", "fc", 4, 2)
    with pytest.raises(AssertionError, match="fc_w has the shape .2, 4., not .2, 3."):
        brew.fc(model, "x", "fc", 3, 2)
