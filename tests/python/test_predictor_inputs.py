"""The inputs of a Predictor, and the nets that it is made of: errors name them."""

import numpy as np
import pytest
from google.protobuf.message import DecodeError

from caffe2.python import brew, core, model_helper
from caffe2.python.predictor_class import Predictor


def _message(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def _model():
    model = model_helper.ModelHelper("predicts")
    brew.fc(model, "data", "y", 3, 2)
    return model


def test_a_wrong_input_of_a_predictor_comes_with_the_inputs():
    model = _model()
    predictor = Predictor(model.param_init_net, model.net)
    assert _message(ValueError, lambda: predictor.run({"dta": np.zeros((1, 3))})) == (
        "['dta'] are no inputs; there are ['data']; did you mean data?")
    for inputs in (np.zeros((1, 3), np.float32), None, "data", b"data", 3):
        assert _message(ValueError, predictor.run, inputs) == (
            f"the inputs are a {type(inputs).__name__}, must be a list of arrays or a dict "
            "{blob: array} for ['data']")
    data = np.ones((1, 3), np.float32)
    for inputs in ([data], (data,), {"data": data}):
        np.testing.assert_array_equal(predictor.run(inputs)[0], predictor.run([data])[0])


@pytest.mark.parametrize("filler, arguments", [
    ("ConstantFill", {"shape": [1, 3]}), ("GivenTensorFill", {"shape": [1], "values": [0.0]})])
def test_parameters_are_not_among_the_inputs_that_are_named(filler, arguments):
    """The init nets of exported models fill the data, too."""
    model = _model()
    init = core.Net("init")
    init.GivenTensorFill([], "y_w", shape=[2, 3], values=[1.0] * 6)
    init.GivenTensorFill([], "y_b", shape=[2], values=[1.0, 2.0])
    getattr(init, filler)([], "data", **arguments)
    predictor = Predictor(init, model.net)
    assert _message(ValueError, predictor.run, {"dta": 1}) == (
        "['dta'] are no inputs; there are ['data']; did you mean data?")
    # A parameter may still be fed.
    ones = np.ones((1, 3), np.float32)
    assert predictor.run({"data": ones, "y_b": np.zeros(2, np.float32)})[0].tolist() == [[3, 3]]


def test_predictors_are_made_of_nets():
    net = core.Net("n")
    for nets, name in (((3, net), "init_net"), ((net, None), "predict_net")):
        assert _message(TypeError, Predictor, *nets).startswith(
            f"{name} is a NetDef, a Net or a serialized NetDef, not ")
    assert _message(DecodeError, Predictor, "model/init_net.pb", net).startswith(
        "init_net is 'model/init_net.pb', which is no serialized NetDef (")
