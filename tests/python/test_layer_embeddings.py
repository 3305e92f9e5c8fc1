"""Lookups of embeddings, against numpy."""

import numpy as np
import pytest
from layer_records import (
    IDS,
    SCORES,
    SEGMENTS,
    id_list,
    id_score_list,
    limited_ids,
    new_model,
    predict_net,
    run,
)

from caffe2.python import layer_model_instantiator, optimizer, schema, workspace
from caffe2.python.helpers.arg_scope import arg_scope
from caffe2.python.layers.layers import (
    IdList,
    get_key,
)
from caffe2.python.layers.sparse_lookup import get_sparse_lookup_predictor_version


@pytest.fixture
def model():
    return new_model()


def reduced(table, function):
    return np.stack([function(table[IDS[s]], s) if len(s) else np.zeros(table.shape[1])
                     for s in SEGMENTS])


@pytest.mark.parametrize("reducer, function", [
    ("Sum", lambda rows, s: rows.sum(axis=0)),
    ("WeightedSum", lambda rows, s: rows.sum(axis=0)),
    ("Mean", lambda rows, s: rows.mean(axis=0)),
    ("Sqrt", lambda rows, s: rows.sum(axis=0) / np.sqrt(len(s))),
])
def test_lookup_of_ids(model, reducer, function):
    output = model.SparseLookup(id_list(model), [8], reducer)
    y = run(model, output)
    table = workspace.FetchBlob("sparse_lookup/w")
    assert table.shape == (4, 8) and np.abs(table).max() <= 0.5
    np.testing.assert_allclose(y, reduced(table, function), rtol=1e-5, atol=1e-6)


def test_lookup_of_ids_by_segments(model):
    """Reducers over sorted segments skip no row, so that every list has ids here."""
    fields = schema.NewRecord(model.net, schema.List(limited_ids()))
    schema.FeedRecord(fields, [np.array([2, 3], np.int32), IDS])
    outputs = [model.SparseLookup(fields, 8, reducer, name=reducer.lower())
               for reducer in ("Max", "LogSumExp", "LogMeanExp", "None")]
    largest, log_sum, log_mean, rows = run(model, *outputs)
    parts = [workspace.FetchBlob(f"{name}/w")[IDS] for name in
             ("max", "logsumexp", "logmeanexp", "none")]
    np.testing.assert_allclose(largest, [p.max(axis=0) for p in (parts[0][:2], parts[0][2:])])
    exponentials = [np.exp(p) for p in (parts[1][:2], parts[1][2:])]
    np.testing.assert_allclose(
        log_sum, [np.log(e.sum(axis=0)) for e in exponentials], rtol=1e-5, atol=1e-6)
    exponentials = [np.exp(p) for p in (parts[2][:2], parts[2][2:])]
    np.testing.assert_allclose(
        log_mean, [np.log(e.mean(axis=0)) for e in exponentials], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(rows, parts[3])


@pytest.mark.parametrize("reducer, external, function", [
    ("Sum", False, lambda rows, s: rows.sum(axis=0)),
    ("Mean", False, lambda rows, s: rows.mean(axis=0)),
    ("WeightedSum", False, lambda rows, s: SCORES[s] @ rows),
    ("PositionWeighted", False, lambda rows, s: SCORES[s] @ rows),
    ("Sum", True, lambda rows, s: SCORES[s] @ rows),
])
def test_lookup_of_ids_with_scores(model, reducer, external, function):
    output = model.SparseLookup(
        id_score_list(model), [8], reducer, use_external_weights=external)
    y = run(model, output)
    table = workspace.FetchBlob("sparse_lookup/w")
    np.testing.assert_allclose(y, reduced(table, function), rtol=1e-5, atol=1e-6)


def test_only_rows_that_were_looked_up_are_trained(model):
    model.default_optimizer = optimizer.SgdOptimizer(base_learning_rate=0.5)
    fields = schema.NewRecord(model.net, schema.List(limited_ids()))
    schema.FeedRecord(fields, [np.array([2, 1], np.int32), np.array([1, 3, 1], np.int64)])
    model.loss = model.AveragedLoss(model.SparseLookup(
        fields, [8], "Sum", weight_init=("ConstantFill", {"value": 1.0})), 1)
    model.output_schema = schema.Struct()
    init_net, net = layer_model_instantiator.generate_training_nets(model)
    workspace.RunNetOnce(init_net)
    workspace.RunNetOnce(net)
    expected = np.ones((4, 8), np.float32)
    expected[1] -= 0.5 * 2 / 16  # mean of 16 sums; two of the ids are 1
    expected[3] -= 0.5 / 16
    np.testing.assert_allclose(workspace.FetchBlob("sparse_lookup/w"), expected, rtol=1e-6)


def test_evicted_rows_are_reset_in_training(model):
    fields = schema.NewRecord(model.net, schema.ListWithEvicted(limited_ids()))
    schema.FeedRecord(
        fields, [np.array([1], np.int32), np.array([1], np.int64), np.array([2, 0], np.int64)])
    model.SparseLookup(fields, [8], "Sum", weight_init=("ConstantFill", {"value": 1.0}))
    model.output_schema = schema.Struct()
    init_net, net = layer_model_instantiator.generate_training_nets_forward_only(model)
    workspace.RunNetOnce(init_net)
    workspace.FeedBlob("sparse_lookup/w", np.full((4, 8), 7, np.float32))
    workspace.RunNetOnce(net)
    np.testing.assert_array_equal(workspace.FetchBlob("sparse_lookup/w")[:, 0], [1, 7, 1, 7])
    assert "CopyRowsToTensor" not in [op.type for op in predict_net(model).Proto().op]


def test_tables_are_quantized_for_prediction(model):
    model.SparseLookup(id_list(model), [8], "Sum")
    model.SparseLookup(id_list(model), [4], "Sum")
    model.SparseLookup(id_score_list(model), [8], "WeightedSum")
    model.output_schema = schema.Struct()

    def types(**settings):
        with arg_scope(get_sparse_lookup_predictor_version, **settings):
            return [op.type for op in predict_net(model).Proto().op]

    assert types(version="fp16") == [
        "SparseLengthsSum", "SparseLengthsSum", "SparseLengthsWeightedSum"]
    assert types(version="fused_uint8rowwise") == [
        "SparseLengthsSumFused8BitRowwise", "SparseLengthsSum",
        "SparseLengthsWeightedSumFused8BitRowwise"]
    assert types(version="uint8rowwise")[0] == "SparseLengthsSum8BitsRowwise"
    with pytest.raises(AssertionError, match="Unexpected version"):
        types(version="fp8")
    decide = get_sparse_lookup_predictor_version
    assert decide("fused_uint4rowwise", 100, 50, 8) == "fused_uint4rowwise"
    assert decide("fused_uint4rowwise", 100, 200, 8) == "fused_uint8rowwise"
    assert decide("fused_uint4rowwise", 100, 50, 7) == "fused_uint8rowwise"
    with pytest.raises(ValueError, match="4 bits"):
        decide("fused_uint4rowwise")
    layer = model.layers[0]
    assert layer.get_8bits_compatible_parameters() == [("sparse_lookup/w",)]
    assert layer.get_memory_usage() == 4 * 8 * 4
    assert model.layers[1].get_8bits_compatible_parameters() == []


def test_half_precision_tables(model):
    half = optimizer.AdagradOptimizer(alpha=0.1, engine="SIMD_Q_FP16")
    model.SparseLookup(id_list(model), [8], "Sum", weight_optim=half)
    assert model.layers[0].params[0].initializer.type == "Float16UniformFill"
    with pytest.raises(AssertionError, match="float16 tables"):
        model.SparseLookup(id_list(model), [8], "Max", weight_optim=half)


def test_lookups_refuse_what_they_cannot_do(model):
    with pytest.raises(AssertionError, match="only supports IdScoreList"):
        model.SparseLookup(id_list(model), [8], "PositionWeighted")
    with pytest.raises(AssertionError, match="Unsupported reducer: Median"):
        model.SparseLookup(id_list(model), [8], "Median")
    with pytest.raises(AssertionError, match="doesn't have metadata"):
        model.SparseLookup(schema.NewRecord(model.net, IdList), [8], "Sum")
    with pytest.raises(NotImplementedError, match="not a list of ids"):
        get_key(schema.NewRecord(model.net, schema.Scalar(np.int64)))
