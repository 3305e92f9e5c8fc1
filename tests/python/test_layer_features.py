"""Layers of features: samples, lists of ids and random features, against numpy."""

import numpy as np
import pytest
from layer_records import (
    IDS,
    LENGTHS,
    SCORES,
    dense,
    id_list,
    id_score_list,
    limited_ids,
    new_model,
    predict_net,
    run,
    run_again,
)

from caffe2.python import core, layer_model_instantiator, schema, workspace
from caffe2.python.helpers.arg_scope import arg_scope
from caffe2.python.layers import fc
from caffe2.python.layers.fc_with_bootstrap import get_fc_predictor_version
from caffe2.python.layers.layers import (
    IdList,
    IdScoreList,
    almost_equal_schemas,
    get_avg_length,
    get_categorical_limit,
)

# -- Lists of ids ----------------------------------------------------------------------------------


@pytest.fixture
def model():
    return new_model()


def test_weights_of_places_and_buckets(model):
    fields = id_list(model)
    by_place = model.PositionWeighted(fields)
    scored = id_score_list(model)
    by_bucket = model.BucketWeighted(scored, bucket_boundaries=[0, 1], hash_buckets=False)
    by_score = model.BucketWeighted(scored, max_score=3, hash_buckets=False, name="by_score")
    model.output_schema = schema.Struct()
    init_net, net = layer_model_instantiator.generate_training_nets_forward_only(model)
    workspace.RunNetOnce(init_net)
    schema.FeedRecord(scored, [LENGTHS, IDS, np.float32([0, 0.5, 1, 1.5, 2.5])])
    outputs = [by_place.position_weights, by_bucket.bucket_weights, by_score.bucket_weights]
    np.testing.assert_array_equal(run_again(net, *outputs), np.ones((3, 5)))
    workspace.FeedBlob("position_weights/pos_w", np.float32([1, 2, 3, 4]))
    workspace.FeedBlob("bucket_weighted/bucket_w", np.float32([10, 20, 30]))
    workspace.FeedBlob("by_score/bucket_w", np.float32([5, 6, 7]))
    places, buckets, scores = run_again(net, *outputs)
    np.testing.assert_array_equal(places, [1, 2, 1, 2, 3])
    np.testing.assert_array_equal(buckets, [10, 20, 20, 30, 30])  # a boundary ends its bucket
    np.testing.assert_array_equal(scores, [5, 5, 6, 6, 7])


def test_hashes_of_ids(model):
    hashed = model.SparseFeatureHash(id_list(model), modulo=3)
    taken = model.SparseFeatureHash(id_list(model), modulo=3, use_hashing=False)
    divided = model.SparseFeatureHash(
        id_score_list(model), modulo=3, use_hashing=False, use_divide_mod=True, divisor=2)
    assert get_categorical_limit(hashed) == 3
    lengths, ids, rest, quotients, scores = run(
        model, hashed.lengths, hashed.items, taken.items, divided.keys, divided.values)
    np.testing.assert_array_equal(lengths, LENGTHS)
    assert ids[1] == ids[3] and set(ids) <= {0, 1, 2}
    np.testing.assert_array_equal(rest, IDS % 3)
    np.testing.assert_array_equal(quotients, IDS // 2 % 3)
    np.testing.assert_array_equal(scores, SCORES)
    for arguments, message in (
            ({"use_divide_mod": True}, "cannot be used together"),
            ({"use_hashing": False, "use_divide_mod": True}, "divisor of at least 1, not None")):
        with pytest.raises(AssertionError, match=message):
            model.SparseFeatureHash(id_list(model), **arguments)
    with pytest.raises(AssertionError, match="must have desired_hash_size or categorical_limit"):
        model.SparseFeatureHash(schema.NewRecord(model.net, IdList))


def test_merged_and_dropped_lists(model):
    other = schema.NewRecord(model.net, schema.List(limited_ids(9)))
    schema.FeedRecord(other, [np.array([1, 1, 1], np.int32), np.array([3, 8, 7], np.int64)])
    merged = model.MergeIdLists(schema.Struct(("a", id_list(model)), ("b", other)))
    dropped = model.SparseDropoutWithReplacement(id_list(model), 1.0, 0.0, 0.0, -5)
    assert get_categorical_limit(merged) == 9
    lengths, ids, rows, values = run(
        model, merged.lengths, merged.items, dropped.lengths, dropped.items)
    assert [set(part) for part in np.split(ids, np.cumsum(lengths)[:-1])] == [
        {1, 3}, {8}, {0, 2, 3, 7}]
    np.testing.assert_array_equal(rows, [1, 1, 1])
    np.testing.assert_array_equal(values, [-5] * 3)
    kept = layer_model_instantiator.generate_eval_net(model)
    np.testing.assert_array_equal(run_again(kept, dropped.items), IDS)
    with pytest.raises(AssertionError, match="must be positive, all are 0"):
        model.SparseDropoutWithReplacement(id_list(model), 0, 0, 0, 1)
    with pytest.raises(AssertionError, match=r"in \[0, 1\]"):
        model.SparseDropoutWithReplacement(id_list(model), 2, 0, 0, 1)


def test_features_of_maps_become_columns(model):
    record = schema.NewRecord(model.net, schema.Struct(
        ("floats", schema.Map(np.int32, np.float32)),
        ("lists", schema.Map(np.int32, schema.List(np.int64))),
        ("scores", schema.Map(np.int32, schema.Map(np.int64, np.float32)))))
    schema.FeedRecord(record, [
        np.int32([2, 1]), np.int32([7, 5, 5]), np.float32([1, 2, 3]),
        np.int32([1, 1]), np.int32([8, 9]), np.int32([2, 1]), np.int64([10, 11, 12]),
        np.int32([0, 1]), np.int32([8]), np.int32([2]), np.int64([1, 2]), np.float32([0.5, 0.25])])

    def spec(kind, *ids):
        return schema.FeatureSpec(feature_type=kind, feature_ids=list(ids),
                                  feature_names=[str(i) for i in ids])

    specs = [("floats", spec("FLOAT", 5, 7)), ("lists", spec("ID_LIST", 8, 9)),
             ("scores", spec("ID_SCORE_LIST", 8))]
    columns = model.FeatureSparseToDense(record, specs, default_dense_value=float("nan"))
    floats, ranges, values, score_ranges, ids, scores = run(model, *columns.all_scalars())
    np.testing.assert_array_equal(floats, [[2, 1], [3, np.nan]])
    np.testing.assert_array_equal(ranges, [[[0, 2], [0, 0]], [[0, 0], [2, 1]]])
    np.testing.assert_array_equal(values, [10, 11, 12])
    np.testing.assert_array_equal(score_ranges, [[[0, 0]], [[0, 2]]])
    np.testing.assert_array_equal(ids, [1, 2])
    np.testing.assert_array_equal(scores, np.float32([0.5, 0.25]))
    assert columns.floats.metadata.feature_specs.feature_ids == [5, 7]
    layer = model.layers[0]
    assert layer.get_accessed_features()["lists"] == [("ID_LIST", {8, 9})]
    assert [entry[0]["type"] for entry in layer.get_metadata()] == [
        "FLOAT", "ID_LIST", "ID_SCORE_LIST"]
    with pytest.raises(AssertionError, match="0.0 or NaN"):
        model.FeatureSparseToDense(record, specs, default_dense_value=1.0)
    with pytest.raises(TypeError, match="Unsupported input type: IMAGE"):
        model.FeatureSparseToDense(record, [("floats", spec("IMAGE", 1))])


def test_embeddings_become_columns(model):
    record = schema.NewRecord(model.net, schema.Struct(
        ("embeddings", schema.Map(np.int32, schema.List(np.float32)))))
    schema.FeedRecord(record, [np.int32([1, 2]), np.int32([4, 3, 4]), np.int32([2, 1, 2]),
                               np.float32([0.1, 0.2, 0.3, 0.4, 0.5])])
    spec = schema.FeatureSpec("EMBEDDING", feature_names=["a", "b"], feature_ids=[3, 4])
    columns = model.FeatureSparseToDense(record, [("embeddings", spec)])
    ranges, values = run(model, columns.embeddings.ranges, columns.embeddings["values"])
    np.testing.assert_array_equal(ranges, [[[0, 0], [0, 2]], [[2, 1], [3, 2]]])
    np.testing.assert_array_equal(values, np.float32([0.1, 0.2, 0.3, 0.4, 0.5]))
    assert columns.embeddings["values"].field_type().base == np.float32


def test_schemas_of_lists():
    with_evicted = schema.MapWithEvicted(np.int64, np.float32)
    assert almost_equal_schemas(with_evicted, IdScoreList)
    assert almost_equal_schemas(schema.ListWithEvicted(np.int64), IdList)
    assert not almost_equal_schemas(with_evicted, IdList)
    assert not almost_equal_schemas(IdList, schema.Scalar(np.int64))
    lengths = schema.Scalar(np.int32, metadata=schema.Metadata(expected_value=2.5))
    assert get_avg_length(schema.List(np.int64, lengths)) == 2.5


# -- Dense features --------------------------------------------------------------------------------


def test_joined_and_split_columns(model):
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
    record = schema.Struct(("a", dense(model, a)), ("b", dense(model, b)))
    specs = schema.Metadata(feature_specs=schema.FeatureSpec(feature_to_index={"f": [0, 2]}))
    record.b.set_metadata(specs)
    joined = model.Concat(record)
    stacked = model.Concat(record, add_axis=1)
    below = model.Concat(record, axis=0)
    parts = model.Split(joined, num_splits=2)
    uneven = model.Split(joined, split=[1, 5])
    y, z, rows, second, rest = run(model, joined, stacked, below, parts[1], uneven[1])
    np.testing.assert_array_equal(y, np.concatenate([a, b], axis=1))
    np.testing.assert_array_equal(z, np.stack([a, b], axis=1))
    np.testing.assert_array_equal(rows, np.concatenate([a, b]))
    np.testing.assert_array_equal(second, b)
    np.testing.assert_array_equal(rest, y[:, 1:])
    assert joined.metadata.feature_specs.feature_to_index == {"f": [3, 5]}
    assert stacked.field_type().shape == (2, 3)
    assert [part.field_type().shape for part in uneven] == [(1,), (5,)]
    with pytest.raises(AssertionError, match="differ in more than axis 1"):
        model.Concat(schema.Struct(("a", dense(model, a)), ("b", dense(model, b[:, :2]))), axis=1,
                     add_axis=1)
    with pytest.raises(AssertionError, match="equal parts"):
        model.Split(joined, num_splits=4)


def test_small_dense_layers(model):
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    field = dense(model, x)
    shifted = model.AddBias(field)
    dropped = model.Dropout(field, ratio=0.5)
    weighted = model.BlobWeightedSum(schema.Tuple(field, field), init_weights=[2.0, -0.5])
    y, kept, total = run(model, shifted, dropped, weighted)
    np.testing.assert_allclose(y, x + workspace.FetchBlob("add_bias/b"), rtol=1e-6)
    assert np.all((kept == 0) | np.isclose(kept, 2 * x))
    np.testing.assert_allclose(total, 1.5 * x, rtol=1e-6)
    np.testing.assert_array_equal(run_again(predict_net(model), dropped), x)
    with pytest.raises(AssertionError, match="ratio"):
        model.Dropout(field, ratio=1.0)


def test_images(model):
    x = np.random.default_rng(0).standard_normal((2, 5, 6, 3)).astype(np.float32)
    field = dense(model, x)
    convolved = model.Conv(field, 4, kernel_h=3, kernel_w=1, stride_h=1, stride_w=2)
    normalized = model.BatchNormalization(field, order="NHWC")
    y, z = run(model, convolved, normalized)
    kernel, bias = workspace.FetchBlob("conv/conv_kernel"), workspace.FetchBlob("conv/conv_bias")
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)))[:, :, ::2]
    expected = sum(padded[:, i:i + 5] @ kernel[:, i, 0].T for i in range(3)) + bias
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    mean, variance = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
    np.testing.assert_allclose(z, (x - mean) / np.sqrt(variance + 1e-5), rtol=1e-3, atol=1e-4)
    for arguments, message in (({"kernel_h": 0}, "kernel_h"), ({"pad_t": -1}, "pad_t"),
                               ({"order": "HWNC"}, "order")):
        with pytest.raises(AssertionError, match=message):
            model.Conv(field, 4, **{"kernel_h": 1, "kernel_w": 1, "stride_h": 1, "stride_w": 1,
                                    **arguments})


def test_layer_normalization(model):
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    outputs = [model.LayerNormalization(dense(model, x), epsilon=1e-3, scale_init_value=2.0,
                                        use_layer_norm_op=use) for use in (True, False)]
    deviation = np.sqrt(x.var(axis=1, keepdims=True) + 1e-3)
    expected = 2 * (x - x.mean(axis=1, keepdims=True)) / deviation
    for y in run(model, *outputs):
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("s", [0, 1, 2, 3])
def test_arc_cosine_features(model, s, constant):
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    first = model.SemiRandomFeatures(
        dense(model, x), 5, s=s, set_weight_as_global_constant=constant)
    y, full = run(model, first.random, first.full)
    layer = model.layers[0]
    w, b = workspace.FetchBlob(layer.random_w), workspace.FetchBlob(layer.random_b)
    z = x.astype(np.float64) @ w.T + b
    expected = np.where(z > 0, z / (1 + np.abs(z)) if s == 0 else z ** s, 0)
    np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-4)
    v, c = workspace.FetchBlob(layer.learned_w), workspace.FetchBlob(layer.learned_b)
    np.testing.assert_allclose(full, expected * (x @ v.T + c), rtol=1e-3, atol=1e-4)
    with pytest.raises(AssertionError, match="s must be an integer of at least 0"):
        model.ArcCosineFeatureMap(dense(model, x), 5, s=0.5)


def test_fourier_features(model):
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    y = run(model, model.RandomFourierFeatures(dense(model, x), 8, sigma=2.0))
    w, b = (workspace.FetchBlob(f"random_fourier_features/{name}") for name in "wb")
    np.testing.assert_allclose(y, np.sqrt(2 / 8) * np.cos(x @ w.T + b), rtol=1e-4, atol=1e-5)
    with pytest.raises(AssertionError, match="sigma must be positive"):
        model.RandomFourierFeatures(dense(model, x), 8, sigma=0)


def test_similarities_of_pairs(model):
    random = np.random.default_rng(0)
    x, y = (random.standard_normal((2, n, 4)).astype(np.float32) for n in (3, 5))
    record = schema.Struct(("x_embeddings", dense(model, x)), ("y_embeddings", dense(model, y)))
    products = model.PairwiseSimilarity(record, 15)
    places = model.add_global_constant("places", [0, 7, 14], dtype=np.int32)
    some = model.PairwiseSimilarity(
        record + schema.Struct(("indices_to_gather", schema.Scalar((np.int32, 3), places))), 3)
    expected = (x @ y.transpose(0, 2, 1)).reshape(2, 15)
    all_pairs, chosen = run(model, products, some)
    np.testing.assert_allclose(all_pairs, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(chosen, expected[:, [0, 7, 14]], rtol=1e-4, atol=1e-5)
    with pytest.raises(NotImplementedError, match="pairwise_similarity_func=l2"):
        model.PairwiseSimilarity(record, 15, pairwise_similarity_func="l2")
    with pytest.raises(AssertionError, match="either all_embeddings, or x_embeddings"):
        model.PairwiseSimilarity(schema.Struct(("x_embeddings", record.x_embeddings)), 15)


# -- Samples ---------------------------------------------------------------------------------------


def test_training_on_samples(model):
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    indices, probabilities = np.array([7, 2], np.int32), np.array([0.5, 0.25], np.float32)
    output = model.SamplingTrain(
        schema.Struct(("input", dense(model, x)), ("indices", dense(model, indices)),
                      ("sampling_prob", dense(model, probabilities))), "FC", 10)
    assert len(model.layers) == 1
    y = run(model, output)
    w, b = workspace.FetchBlob("fc/w"), workspace.FetchBlob("fc/b")
    full = x @ w.T + b
    np.testing.assert_allclose(y, full[:, indices] - np.log(probabilities), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run_again(predict_net(model), output), full, rtol=1e-4, atol=1e-5)
    with pytest.raises(AssertionError, match="lacks"):
        model.SamplingTrain(schema.Struct(("input", dense(model, x))), "FC", 10)
    with pytest.raises(AssertionError, match="cannot be trained on samples"):
        model.SamplingTrain(schema.Struct(("input", dense(model, x))), "Conv", 10)


def test_uniform_samples(model):
    given = np.array([3, 9, 1], np.int32)
    output = model.UniformSampling(dense(model, given), 6, 10)
    samples, probabilities = run(model, output.samples, output.sampling_prob)
    np.testing.assert_array_equal(samples[:3], given)
    assert len(set(samples)) == 6 and set(samples) <= set(range(10))
    np.testing.assert_allclose(probabilities, np.full(6, 0.6), rtol=1e-6)


def test_bootstrap_samples(model):
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    output = model.FCWithBootstrap(dense(model, x), 1, num_bootstrap=2)
    blobs = run(model, *output.all_scalars())
    full = run_again(predict_net(model), output[1], output[3])
    for i in range(2):
        w, b = (workspace.FetchBlob(f"fc_with_bootstrap/bootstrap_iteration_{i}/{name}")
                for name in "wb")
        rows, predictions = blobs[2 * i:2 * i + 2]
        assert rows.shape == (4,) and rows.min() >= 0 and rows.max() < 4
        np.testing.assert_allclose(predictions, x[rows] @ w.T + b, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(full[i], x @ w.T + b, rtol=1e-4, atol=1e-5)


def test_precision_of_bootstrap_prediction(model):
    assert get_fc_predictor_version("fp32") == "fp32"
    with pytest.raises(AssertionError, match="unsupported FC type version fp16"):
        get_fc_predictor_version("fp16")
    model.FCWithBootstrap(dense(model, np.ones((2, 3), np.float32)), 1, num_bootstrap=1)
    model.output_schema = schema.Struct()
    with arg_scope([fc.get_fc_predictor_version], fc_version="fp16"):
        with pytest.raises(AssertionError, match="unsupported FC type version fp16"):
            layer_model_instantiator.generate_predict_net(model)


def collected(model, layer, **arguments):
    """The rows that a collector keeps of 0, 1, 2 and then of 3, 4."""
    field = dense(model, np.arange(3, dtype=np.float32))
    output = layer(field, **arguments) if layer.__name__ != "reservoir" else layer(
        schema.Struct(("data", field)), **arguments)
    model.output_schema = schema.Struct()
    init_net, net = layer_model_instantiator.generate_training_nets_forward_only(model)
    workspace.RunNetOnce(init_net)
    workspace.CreateNet(net)
    workspace.RunNet(net)
    schema.FeedRecord(field, [np.arange(3, 5, dtype=np.float32)])
    workspace.RunNet(net)
    assert workspace.FetchBlob(output.num_visited()) == 5
    return workspace.FetchBlob(output[0]())


def test_last_rows_are_kept(model):
    def last_n(field, **arguments):
        return model.LastNWindowCollector(field, **arguments)

    np.testing.assert_array_equal(np.sort(collected(model, last_n, num_to_collect=4)), [1, 2, 3, 4])


def test_random_rows_are_kept(model):
    def reservoir(record, **arguments):
        return model.ReservoirSampling(record, **arguments)

    rows = collected(model, reservoir, num_to_collect=4)
    assert rows.shape == (4,) and len(set(rows)) == 4 and set(rows) <= set(range(5))


@pytest.mark.parametrize("layer", ["LastNWindowCollector", "ReservoirSampling"])
def test_packed_rows_are_collected_anew_after_a_checkpoint(model, layer):
    field = dense(model, np.float32([1, 2]))
    packed = model.PackRecords(schema.Struct(("x", field)), 1, fields=["x"])
    if layer == "ReservoirSampling":
        packed = schema.Struct(("data", packed))
    output = getattr(model, layer)(packed, num_to_collect=4)
    unpack = core.CreateOperator("UnPackRecords", [output[0]()], ["kept"], fields=["x"])
    _, net = layer_model_instantiator.generate_training_nets_forward_only(
        with_output(model))
    run(model)
    for param in model.params:
        workspace.DeserializeBlob(str(param), workspace.SerializeBlob(str(param)))
    schema.FeedRecord(field, [np.float32([3, 4, 5])])
    run_again(net, output.num_visited)
    workspace.RunOperatorOnce(unpack)
    np.testing.assert_array_equal(workspace.FetchBlob("kept"), [3, 4, 5])


def with_output(model):
    model.output_schema = schema.Struct()
    return model


def test_objects_are_kept_once(model):
    record = schema.Struct(("data", dense(model, np.float32([1, 2, 1]))),
                           ("object_id", dense(model, np.int64([1, 2, 1]))))
    output = model.ReservoirSampling(record, num_to_collect=4)
    rows, count = run(model, output.reservoir, output.num_visited)
    np.testing.assert_array_equal(rows, [1, 2])
    assert count == 2


def test_keys_are_numbered_in_training(model):
    field = dense(model, np.array([10, 3, 10, 7], np.int32))
    output = model.MapToRange(field, max_index=4)
    np.testing.assert_array_equal(run(model, output.indices), [1, 2, 1, 3])
    schema.FeedRecord(field, [np.array([7, 99, 3], np.int32)])
    np.testing.assert_array_equal(run_again(predict_net(model), output.indices), [3, 0, 2])


# -- Records ---------------------------------------------------------------------------------------


def test_rows_of_records(model):
    record = schema.NewRecord(model.net, schema.Struct(
        ("dense", schema.Scalar((np.float32, (2,)))),
        ("lists", schema.List(schema.List(np.int64)))))
    lengths, inner = np.int32([1, 2, 0, 1]), np.int32([2, 0, 1, 3])
    schema.FeedRecord(record, [np.arange(8, dtype=np.float32).reshape(4, 2), lengths, inner,
                               np.arange(6, dtype=np.int64)])
    rows = model.GatherRecord(schema.Struct(
        ("indices", dense(model, np.int32([3, 1]))), ("record", record)))
    columns = run(model, *rows.all_scalars())
    for column, expected in zip(columns, ([[6, 7], [2, 3]], [1, 2], [3, 0, 1], [3, 4, 5, 2])):
        np.testing.assert_array_equal(column, expected)


def test_records_by_kind_of_net(model):
    a, b = dense(model, np.float32([1, 2])), dense(model, np.float32([3, 4]))
    record = schema.Struct(("training", a), ("prediction", b))
    chosen = model.SelectRecordByContext(
        record, default_output_record_field="training", use_copy=True)
    np.testing.assert_array_equal(run(model, chosen), [1, 2])
    np.testing.assert_array_equal(run_again(predict_net(model), chosen), [3, 4])
    evaluation = layer_model_instantiator.generate_eval_net(model)
    np.testing.assert_array_equal(run_again(evaluation, chosen), [1, 2])
    strict = model.layers[0].__class__(model, record)
    with pytest.raises(AssertionError, match="eval context is not in input record"):
        strict.add_eval_ops(core.Net("eval"))
