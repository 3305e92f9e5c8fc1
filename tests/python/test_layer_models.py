"""Layer models: names, parameters, sharing, tags, records and the nets that are generated."""

import numpy as np
import pytest

from caffe2.python import (
    core,
    layer_model_instantiator,
    normalizer,
    optimizer,
    regularizer,
    schema,
    scope,
    workspace,
)
from caffe2.python.layer_model_helper import LayerModelHelper
from caffe2.python.layers import layers, model_layer_subcls
from caffe2.python.layers.tags import Tags
from caffe2.python.modeling.net_modifier import NetModifier
from caffe2.python.modeling.parameter_sharing import ParameterSharing
from caffe2.python.normalizer_context import NormalizerContext, UseNormalizer
from caffe2.python.regularizer_context import RegularizerContext, UseRegularizer


@pytest.fixture(autouse=True)
def empty_workspace():
    workspace.ResetWorkspace()


@pytest.fixture
def model():
    return LayerModelHelper(
        "model",
        schema.Struct(("x", schema.Scalar((np.float32, (6,))))),
        schema.Struct(("label", schema.Scalar((np.float32, (1,))))))


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def run_forward(model):
    init_net, net = layer_model_instantiator.generate_training_nets_forward_only(model)
    workspace.RunNetOnce(init_net)
    workspace.RunNetOnce(net)


def test_layers_are_registered_by_class():
    expected = set((
        "AdaptiveWeight AddBias ArcCosineFeatureMap BPRLoss BatchHuberLoss BatchLRLoss "
        "BatchMSELoss BatchNormalization BatchSigmoidCrossEntropyLoss BatchSoftmaxLoss "
        "BlobWeightedSum BucketWeighted Concat ConstantWeight Conv Dropout FC FCWithBootstrap "
        "FCWithoutBias FeatureSparseToDense Functional GatherRecord HomotopyWeight LabelSmooth "
        "LastNWindowCollector LayerNormalization MapToRange MarginRankLoss MergeIdLists "
        "PairwiseSimilarity PositionWeighted RandomFourierFeatures ReservoirSampling "
        "SamplingTrain SelectRecordByContext SemiRandomFeatures SparseDropoutWithReplacement "
        "SparseFeatureHash SparseLookup Split UniformSampling").split())
    assert {cls.__name__ for cls in model_layer_subcls} == expected
    for name in expected:
        assert layers.layer_exists(name), name
        assert layers.get_layer_class(name).__name__ == name
    with pytest.raises(AssertionError, match="FC already exists"):
        layers.register_layer("FC", object)


def test_names_of_layers_parameters_and_blobs(model):
    with core.NameScope("scope"):
        first = model.FC(model.input_feature_schema.x, 3)
        second = model.FC(first, 2)
    assert [layer.name for layer in model.layers] == ["scope/fc", "scope/fc_auto_0"]
    assert (first(), second()) == ("scope/fc/output", "scope/fc_auto_0/output")
    assert model.get_parameter_blobs() == [
        "scope/fc/w", "scope/fc/b", "scope/fc_auto_0/w", "scope/fc_auto_0/b"]
    assert model.layers[1].params[0].shape == [2, 3]
    with pytest.raises(AttributeError, match="NoSuchLayer"):
        model.NoSuchLayer(first)
    assert not hasattr(model, "NoSuchLayer")


def test_fc_computes(model, x):
    output = model.FC(model.input_feature_schema.x, 3)
    transposed = model.FC(model.input_feature_schema.x, 3, transposed=True, name="transposed")
    split = model.FC(model.input_feature_schema.x, 5, max_fc_size=12, name="split")
    clipped = model.FCWithoutBias(model.input_feature_schema.x, 2)
    limited = model.FC(model.input_feature_schema.x, 3, clip_param=(-0.01, None), name="limited")
    model.output_schema = schema.Struct()
    workspace.FeedBlob("x", x)
    run_forward(model)

    def fetch(*names):
        return [workspace.FetchBlob(name) for name in names]

    y, w, b = fetch(output(), "fc/w", "fc/b")
    np.testing.assert_allclose(y, x @ w.T + b, rtol=1e-5, atol=1e-6)
    assert np.abs(w).max() <= np.sqrt(1 / 6)
    y, w, b = fetch(transposed(), "transposed/w", "transposed/b")
    np.testing.assert_allclose(y, x @ w + b, rtol=1e-5, atol=1e-6)
    assert model.layers[2].output_dim_vec == [2, 2, 1]
    weights = np.concatenate(fetch(*[f"split/w_sub_{i}" for i in range(3)]))
    biases = np.concatenate(fetch(*[f"split/b_sub_{i}" for i in range(3)]))
    np.testing.assert_allclose(fetch(split())[0], x @ weights.T + biases, rtol=1e-5, atol=1e-6)
    y, w = fetch(clipped(), "fc_without_bias/w")
    np.testing.assert_allclose(y, x @ w.T, rtol=1e-5, atol=1e-6)
    y, w, b = fetch(limited(), "limited/w", "limited/b")
    np.testing.assert_allclose(
        y, x @ np.maximum(w, -0.01).T + np.maximum(b, -0.01), rtol=1e-5, atol=1e-6)


def test_fc_refuses_bad_arguments(model):
    record = model.input_feature_schema.x
    for arguments, message in (
            ({"clip_param": (1, 0)}, "clip_min < clip_max"),
            ({"clip_param": (None, None)}, "are both None"),
            ({"axis": 0}, "axis must be at least 1"),
            ({"max_fc_size": 5}, "max_fc_size >= input_dim")):
        with pytest.raises(AssertionError, match=message):
            model.FC(record, 3, **arguments)
    with pytest.raises(AssertionError, match="must be a Scalar"):
        model.FC(model.input_feature_schema, 3)


def test_parameters_are_shared_between_scopes(model):
    record = model.input_feature_schema.x
    with ParameterSharing({"b": "a"}):
        with core.NameScope("a"):
            model.FC(record, 3)
        with core.NameScope("b"):
            model.FC(record, 3)
            with pytest.raises(ValueError, match="Got inconsistent shapes"):
                model.create_param("fc/w", [4, 6], ("ConstantFill", {}))
            for optim in (optimizer.SgdOptimizer(0.1), model.NoOptim):
                with pytest.raises(AssertionError, match="need the same one"):
                    model.create_param("fc/w", [3, 6], ("ConstantFill", {}), optimizer=optim)
    assert model.layers[0].w == model.layers[1].w == "a/fc/w"
    init_net, _ = layer_model_instantiator.generate_training_nets_forward_only(
        with_output(model))
    outputs = [blob for op in init_net.Proto().op for blob in op.output]
    assert outputs.count("a/fc/w") == 1


def with_output(model):
    model.output_schema = schema.Struct()
    return model


def test_training_updates_by_the_default_optimizer(model, x):
    model.default_optimizer = optimizer.SgdOptimizer(base_learning_rate=0.5)
    prediction = model.FC(model.input_feature_schema.x, 1,
                          bias_optim=model.NoOptim, weight_reg=regularizer.L2Norm(0.25))
    loss = model.BatchMSELoss(schema.Struct(
        ("label", model.trainer_extra_schema.label), ("prediction", prediction)))
    model.add_loss(loss)
    with_output(model)
    label = x.sum(axis=1).astype(np.float32)
    workspace.FeedBlob("x", x)
    workspace.FeedBlob("label", label)
    init_net, net = layer_model_instantiator.generate_training_nets(model)
    workspace.RunNetOnce(init_net)
    w, b = workspace.FetchBlob("fc/w"), workspace.FetchBlob("fc/b")
    workspace.CreateNet(net)
    workspace.RunNet(net)
    error = (x @ w.T + b)[:, 0] - label
    # d/dw of mean(error^2) / 2 + 0.25 sum(w^2)
    gradient = (error[:, None] * x).mean(axis=0) + 0.25 * 2 * w
    np.testing.assert_allclose(
        workspace.FetchBlob("fc/w"), w - 0.5 * gradient, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(workspace.FetchBlob("fc/b"), b)
    assert set(net.input_record().field_names()) == {"x", "label"}


def test_nets_have_the_layers_of_their_kind(model):
    record = model.input_feature_schema.x
    with Tags(Tags.TRAIN_ONLY):
        only_train = model.Relu(record, 1)
    dropped = model.Dropout(record, ratio=0.25)
    with Tags("marked"):
        kept = model.Sigmoid(dropped, 1)
    model.output_schema = schema.Struct(("a", only_train), ("b", kept))

    def types(net):
        return [op.type for op in net.Proto().op]

    predict = layer_model_instantiator.generate_predict_net(model)
    assert types(predict) == ["Dropout", "Sigmoid"]
    assert {arg.name: arg.i for arg in predict.Proto().op[0].arg}["is_test"] == 1
    assert predict.output_record().field_names() == ["b"]
    assert types(layer_model_instantiator.generate_eval_net(model)) == ["Dropout", "Sigmoid"]
    _, train = layer_model_instantiator.generate_training_nets(model)
    assert types(train) == ["Relu", "Dropout", "Sigmoid"]
    assert train.output_record().field_names() == ["a", "b"]
    marked = layer_model_instantiator.generate_predict_net(model, include_tags=["marked"])
    assert types(marked) == ["Sigmoid"]


def test_tags_are_scoped():
    @Tags("inner")
    def current():
        return list(layers.TagContext.current().tags)

    with Tags(["a", "b"]):
        assert current() == ["a", "b", "inner"]
    assert layers.TagContext.current().tags == []


def test_functional_layers_infer_types(model, x):
    doubled = model.Functional(
        model.input_feature_schema.x, 1,
        lambda net, inputs, outputs, factor: net.Scale(inputs(), outputs(), scale=factor),
        name="doubled", factor=2.0)
    assert doubled.field_type() == np.dtype((np.float32, (6,)))
    largest = model.TopK(model.input_feature_schema, ["values", "indices"], k=2)
    assert largest.values.field_type().shape == (2,)
    assert largest.field_blobs() == ["TopK/values", "TopK/indices"]
    split = model.FunctionalLayerSplit(model.input_feature_schema.x, 2)
    assert split.field_types()[0].shape == (3,)
    given = model.Relu(doubled, schema.Scalar((np.float32, (6,)), core.BlobReference("given")))
    assert given() == "given"
    typed = model.Relu(doubled, 1, output_dtypes=(np.float64, (2,)))
    assert typed.field_type() == np.dtype((np.float64, (2,)))
    model.output_schema = schema.Struct()
    workspace.FeedBlob("x", x)
    run_forward(model)
    np.testing.assert_allclose(workspace.FetchBlob(doubled()), 2 * x)
    np.testing.assert_allclose(workspace.FetchBlob("given"), np.maximum(2 * x, 0))


def test_global_constants(model):
    blob = model.add_global_constant("table", [[1.5, 2], [3, 4]])
    assert model.maybe_add_global_constant("table", [[1.5, 2], [3, 4]]) == blob
    with pytest.raises(AssertionError, match="conflict initializers"):
        model.maybe_add_global_constant("table", [[1, 2], [3, 4]])
    with pytest.raises(AssertionError, match="there is a constant table already"):
        model.add_global_constant("table", 1)
    model.add_global_constant("text", np.array(["a", "b"]))
    model.add_global_constant("flags", [True, False])
    model.add_global_constant("filled", initializer=lambda blob: core.CreateOperator(
        "ConstantFill", [], blob, shape=[2], value=7.0))
    workspace.RunNetOnce(model.create_init_net("constants"))
    np.testing.assert_array_equal(
        workspace.FetchBlob("table"), np.array([[1.5, 2], [3, 4]], np.float32))
    assert workspace.FetchBlob("ONE") == np.float32(1)
    assert np.isnan(workspace.FetchBlob("NAN"))
    np.testing.assert_array_equal(workspace.FetchBlob("ZERO_RANGE"), np.zeros(2, np.int32))
    assert workspace.FetchBlob("text").tolist() == [b"a", b"b"]
    assert workspace.FetchBlob("flags").tolist() == [True, False]
    np.testing.assert_array_equal(workspace.FetchBlob("filled"), [7, 7])


def test_records_of_the_model(model):
    with pytest.raises(AssertionError, match="no output schema"):
        _ = model.output_schema
    model.add_output_schema("a", schema.Scalar(np.float32))
    with pytest.raises(AssertionError, match="there is an output a already"):
        model.add_output_schema("a", schema.Scalar(np.float32))
    model.clear_output_schema()
    model.output_schema = schema.Struct()
    model.add_trainer_extra_schema(schema.Struct(("weight", schema.Scalar(np.float32))))
    assert model.trainer_extra_schema.field_names() == ["label", "weight"]
    model.add_metric_field("a:b", schema.Scalar())
    model.add_metric_field("c", schema.Scalar())
    model.filter_metrics_schema({"c"})
    assert model.metrics_schema.field_names() == ["c"]
    model.add_prediction("p", 0.5)
    assert model.prediction == [("p", 0.5)]
    model.breakdown_map = {"x": 1, "y": 0}
    with pytest.raises(AssertionError, match="numbered from 0"):
        model.breakdown_map = {"x": 1, "y": 2}
    for name in ("unnamed", "unnamed", "other"):
        model.add_loss(schema.Scalar(np.float32, core.BlobReference("loss")), name)
    assert model.loss.field_names() == ["unnamed", "unnamed_auto_0", "other"]


def test_blobs_to_plot_are_metrics(model):
    blob = model.net.ConstantFill([], "plotted", shape=[1], value=2.5)
    model.add_ad_hoc_plot_blob(blob)
    model.add_ad_hoc_plot_blob("count", dtype=(np.int64, (1,)))
    assert model.ad_hoc_plot_blobs == [blob, "count"]
    assert model.metrics_schema["plotted"]() == blob
    assert model.metrics_schema["plotted"].field_type().base == np.float64
    assert model.metrics_schema["count"].field_type().base == np.int64
    with pytest.raises(AssertionError, match="must be a str or a BlobReference, not 3"):
        model.add_ad_hoc_plot_blob(3)


@pytest.mark.parametrize("sequence_seed", [True, False])
def test_stored_seeds_reach_nets(model, sequence_seed):
    def uniform(seeded):
        net = core.Net("random")
        blobs = [net.UniformFill([], 1, shape=[4]) for _ in range(2)]
        if seeded:
            model.apply_seed(net)
        workspace.RunNetOnce(net)
        return np.stack(workspace.FetchBlobs(blobs)), net

    _, unseeded = uniform(seeded=True)
    assert not any(op.device_option.random_seed for op in unseeded.Proto().op)
    model.store_seed(7, sequence_seed)
    first, net = uniform(seeded=True)
    second, _ = uniform(seeded=True)
    np.testing.assert_array_equal(first, second)
    step = 1 if sequence_seed else 0
    assert [op.device_option.random_seed for op in net.Proto().op] == [7, 7 + step]


def test_layers_export_metrics(model, x):
    model.FC(model.input_feature_schema.x, 2, params_to_metrics=True, output_to_metrics=True)
    assert set(model.metrics_schema.field_names()) == {"fc/w", "fc/b", "fc/output"}
    model.output_schema = schema.Struct()
    workspace.FeedBlob("x", x)
    run_forward(model)
    np.testing.assert_array_equal(
        workspace.FetchBlob("fc/w_copy"), workspace.FetchBlob("fc/w"))


def test_parameters_know_their_shapes(tmp_path):
    def parameter(op):
        return layers.LayerParameter(core.BlobReference("p"), initializer=op)

    given = parameter(core.CreateOperator("ConstantFill", [], "p", shape=[2, 3]))
    assert given.shape == [2, 3]
    workspace.FeedBlob("p", np.zeros((4, 5), np.float32))
    file = {"db": str(tmp_path / "p.minidb"), "db_type": "minidb", "absolute_path": True}
    workspace.RunOperatorOnce(core.CreateOperator("Save", ["p"], [], **file))
    workspace.ResetWorkspace()
    assert parameter(core.CreateOperator("Load", [], ["p"], **file)).shape == [4, 5]
    assert parameter(core.CreateOperator("CreateMutex", [], "p")).shape is None
    with pytest.raises(AssertionError, match="cannot become"):
        given.shape = [3, 2]
    with pytest.raises(AssertionError, match="must be an operator"):
        parameter("ConstantFill")
    assert not workspace.HasBlob("p")


def test_modifiers_of_nets_run_around_the_optimizers(model, x):
    seen = []

    class Modifier(NetModifier):
        def modify_net(self, net, init_net=None, grad_map=None, blob_to_device=None,
                       modify_output_record=False):
            seen.append((sorted(grad_map), [op.type for op in net.Proto().op][-1]))

    first, last = Modifier(), Modifier()
    model.add_post_grad_net_modifiers(first)
    model.add_final_net_modifiers(last)
    with pytest.raises(AssertionError, match="already in"):
        model.add_final_net_modifiers(last)
    with pytest.raises(AssertionError, match="NetModifier instance"):
        model.add_final_net_modifiers("no modifier")
    model.default_optimizer = optimizer.SgdOptimizer(base_learning_rate=0.1)
    model.loss = model.AveragedLoss(model.FC(model.input_feature_schema.x, 1), 1)
    layer_model_instantiator.generate_training_nets(with_output(model))
    (of_params, before), (of_all, after) = seen
    assert of_params == ["fc/b", "fc/w"] and set(of_all) > set(of_params)
    assert before == "FCGradient" and after != "FCGradient"


def test_request_only_marks_pass_through_layers(model):
    record = schema.NewRecord(model.net, schema.Struct(
        ("a", schema.Scalar((np.float32, (2,)))), ("b", schema.Scalar((np.float32, (3,))))))
    mixed = model.Concat(record)
    assert not layers.is_request_only_scalar(mixed)
    layers.set_request_only(record)
    joined = model.Concat(record)
    assert layers.is_request_only_scalar(joined)
    assert joined.field_type().shape == (5,)


def test_contexts_of_normalizers_and_regularizers(model, x):
    outer, inner = regularizer.L1Norm(0.1), regularizer.L2Norm(0.1)
    context = RegularizerContext.current()
    with UseRegularizer({"WEIGHT": outer}):
        with UseRegularizer({"WEIGHT": inner}):
            assert context.get_regularizer("WEIGHT") is inner
        assert context.get_regularizer("WEIGHT") is outer
    assert not context.has_regularizer("WEIGHT")
    with pytest.raises(RuntimeError, match="RegularizerContext has no open block"):
        context.pop_modifiers()
    with pytest.raises(KeyError, match="WEIGHT regularizer"):
        context.get_regularizer("WEIGHT")
    with UseNormalizer({"LAYER": normalizer.LayerNormalizer(1e-3, use_layer_norm_op=False)}):
        normalize = NormalizerContext.current().get_normalizer("LAYER")
        output = normalize(model, model.input_feature_schema.x)
    batch = normalizer.BatchNormalizer(0.9, scale_init_value=2.0)(
        model, model.input_feature_schema.x)
    model.output_schema = schema.Struct()
    workspace.FeedBlob("x", x)
    run_forward(model)
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    np.testing.assert_allclose(workspace.FetchBlob(output()), (x - mean) / np.sqrt(variance + 1e-3),
                               rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(workspace.FetchBlob(batch()),
                               2 * (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5),
                               rtol=1e-3, atol=1e-4)


def test_devices_of_scopes_reach_initializers(model):
    with core.DeviceScope(core.DeviceOption(0, random_seed=3)):
        model.FC(model.input_feature_schema.x, 2)
    initializer = model.layers[0].params[0].initializer
    assert initializer.device_option.random_seed == 3
    assert scope.CurrentDeviceScope() is None
