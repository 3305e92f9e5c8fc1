"""Trains and tests models on arrays: `fit` and `evaluate`.

Data that does not fit into memory, several shards and checkpoints are the trainers' and
data_parallel_model's work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from caffe2.python import workspace
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.model_helper import ModelHelper

Inputs = Mapping[BlobLike, Any]


def fit(model: ModelHelper, inputs: Inputs, *, epochs: int = 1, batch_size: int = 64,
        metrics: Sequence[BlobLike] = ("loss",), shuffle: bool = True, seed: int = 1,
        test_model: ModelHelper | None = None, test_inputs: Inputs | None = None,
        log: Callable[[str], Any] | None = print) -> list[dict[str, float]]:
    """Trains a model on arrays.

    Makes the parameters if the workspace lacks one of them, else goes on with their values.

    Args:
      model: has a loss, gradients and an optimizer.
      inputs: {blob: array}, with an example in each row. Arrays of float64 become float32.
      epochs: passes over all examples.
      batch_size: rows of a batch; the last one of an epoch may have fewer.
      metrics: blobs of one number, such as the loss, of which results have the mean over examples.
      shuffle: takes the examples in another order in each epoch, which `seed` decides.
      test_model: the same layers without gradients (ModelHelper(init_params=False)), to run on
        test_inputs after each epoch.
      log: is called with a line after each epoch; None: no lines.

    Returns:
      For each epoch {"epoch": 1, "seconds": ..., metric: ...}, and "test_<metric>".

    Raises:
      ValueError: for an argument that cannot work, before anything runs; after the first batch,
        for a metric that is not one number.
    """
    _check_count("epochs", epochs)
    _check_model("fit", model)
    if log is not None and not callable(log):
        raise ValueError(f"fit: log is {log!r}, must be a function of a line, or None")
    if not _updates(model):
        raise ValueError(f"fit: model {model.name} updates no parameter: call "
                         "AddGradientOperators and an optimizer, such as optimizer.build_sgd, "
                         "before fit")
    if (test_model is None) != (test_inputs is None):
        raise ValueError("fit: test_model and test_inputs are given together")
    made = {str(blob) for op in model.InitProto().op for blob in op.output}
    data = _Examples("fit", model, inputs, batch_size, metrics, made)
    test = None
    if test_model is not None and test_inputs is not None:
        _check_test_model("fit: test_model", test_model)
        test = _Examples("fit: test_model", test_model, test_inputs, batch_size, metrics, made)
    random = np.random.RandomState(seed)
    _make_parameters(model)
    data.create()
    if test is not None:
        test.create()
    history = []
    for epoch in range(1, epochs + 1):
        start = time.monotonic()
        order = random.permutation(data.count) if shuffle else np.arange(data.count)
        found = {"epoch": float(epoch), **data.run(order)}
        found["seconds"] = time.monotonic() - start
        if test is not None:
            tested = test.run(np.arange(test.count))
            found.update({f"test_{name}": value for name, value in tested.items()})
        history.append(found)
        if log is not None:
            log(_line(found, epochs, data.count))
    return history


def evaluate(model: ModelHelper, inputs: Inputs, *, batch_size: int = 64,
             metrics: Sequence[BlobLike] = ("loss",)) -> dict[str, float]:
    """{metric: its mean over all examples}, for a model without updates whose parameters are in the
    workspace. Arguments as of `fit`. Raises ValueError."""
    _check_model("evaluate", model)
    _check_test_model("evaluate", model)
    data = _Examples("evaluate", model, inputs, batch_size, metrics)
    data.create()
    return data.run(np.arange(data.count))


class _Examples:
    """Arrays that are fed to a model in batches. `made` are blobs that the caller makes before."""

    def __init__(self, caller: str, model: ModelHelper, inputs: Inputs, batch_size: int,
                 metrics: Sequence[BlobLike], made: Collection[str] = ()) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(inputs, Mapping):
            raise ValueError(f"{caller}: inputs is a {type(inputs).__name__}, must be a dict "
                             f"{{blob: array}}{_example_of_inputs(model)}")
        if not inputs:
            raise ValueError(f"{caller}: inputs is empty: give {{blob: array}}")
        if isinstance(metrics, (str, BlobReference)):
            metrics = [metrics]
        if metrics is None:
            raise ValueError(f"{caller}: metrics is None, must be a list of blobs; [] for none")
        self._model, self._batch_size = model, batch_size
        self._arrays = {str(blob): _array(caller, blob, value) for blob, value in inputs.items()}
        self._metrics = [str(blob) for blob in metrics]
        for blob, array in self._arrays.items():
            if array.ndim == 0 or len(array) == 0:
                raise ValueError(f"{caller}: input {blob} has no rows: its shape is {array.shape}")
        self.count = len(next(iter(self._arrays.values())))
        if any(len(array) != self.count for array in self._arrays.values()):
            rows = ", ".join(f"{blob} {len(array)}" for blob, array in self._arrays.items())
            raise ValueError(f"{caller}: all inputs must have as many rows: {rows}")
        self._check_names(caller, made)

    def _check_names(self, caller: str, before: Collection[str]) -> None:
        net, name = self._model.net.Proto(), self._model.name
        read = {str(blob) for op in net.op for blob in op.input}
        made = {str(blob) for op in net.op for blob in op.output}
        params = {str(blob) for blob in self._model.params}
        needed = [str(blob) for blob in net.external_input if blob in read and blob not in before]
        for blob in self._arrays:
            if blob not in read:
                inputs = [blob for blob in needed if blob not in params]
                raise ValueError(f"{caller}: model {name} does not read {blob}; its inputs are "
                                 f"{', '.join(inputs)}")
        missing = [blob for blob in needed
                   if blob not in self._arrays and not workspace.HasBlob(blob)]
        if missing:
            raise ValueError(f"{caller}: model {name} reads {', '.join(missing)}, which inputs do "
                             "not give")
        for blob in self._metrics:
            if blob not in made:
                raise ValueError(f"{caller}: model {name} does not make the metric {blob}")

    def create(self) -> None:
        """Makes the net, with the first batch as its input."""
        self._feed(np.arange(min(self._batch_size, self.count)))
        workspace.CreateNet(self._model.net, overwrite=True)

    def _feed(self, rows: np.ndarray[Any, Any]) -> None:
        for blob, array in self._arrays.items():
            workspace.FeedBlob(blob, array[rows])

    def _batches(self, order: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
        for begin in range(0, len(order), self._batch_size):
            yield order[begin:begin + self._batch_size]

    def run(self, order: np.ndarray[Any, Any]) -> dict[str, float]:
        """Runs the net on all rows, in this order; the means of the metrics."""
        sums = dict.fromkeys(self._metrics, 0.0)
        for rows in self._batches(order):
            self._feed(rows)
            workspace.RunNet(self._model.net)
            for blob in self._metrics:
                value = workspace.FetchBlob(blob)
                if np.size(value) != 1:
                    raise ValueError(f"metric {blob} has the shape {np.shape(value)}, must be one "
                                     "number")
                sums[blob] += float(np.reshape(value, ())) * len(rows)
        return {blob: total / len(order) for blob, total in sums.items()}


def _example_of_inputs(model: ModelHelper) -> str:
    """", for instance {"x": ...}" with the inputs that a caller gives; "" if there are none."""
    params = {str(blob) for blob in model.params}
    made = {str(blob) for op in model.InitProto().op for blob in op.output}
    names = [blob for blob in model.net.Proto().external_input if blob not in params | made]
    text = ", ".join(f'"{name}": ...' for name in names)
    return f", such as {{{text}}}" if names else ""


def _array(caller: str, blob: BlobLike, value: Any) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{caller}: input {blob} is no array: {error}") from error
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}, must be a whole number from 1 on")


def _check_model(caller: str, model: Any) -> None:
    if not isinstance(model, ModelHelper):
        raise ValueError(f"{caller}: the model is a {type(model).__name__}, must be a ModelHelper")


def _updates(model: ModelHelper) -> bool:
    """Whether the net changes a parameter."""
    params = {str(blob) for blob in model.params}
    return any(blob in params for op in model.net.Proto().op for blob in op.output)


def _check_test_model(caller: str, model: ModelHelper) -> None:
    _check_model(caller, model)
    if _updates(model):
        raise ValueError(f"{caller}: model {model.name} changes its parameters: make one with the "
                         "same layers, without gradients")


def _make_parameters(model: ModelHelper) -> None:
    made = [blob for op in model.InitProto().op for blob in op.output]
    if not all(workspace.HasBlob(blob) for blob in made):
        model.RunInit()


def _line(found: Mapping[str, float], epochs: int, count: int) -> str:
    values = ", ".join(f"{name} {value:.4f}" for name, value in found.items()
                       if name not in ("epoch", "seconds"))
    speed = count / max(found["seconds"], 1e-9)
    return f"epoch {found['epoch']:.0f}/{epochs}: {values}, {speed:,.0f} examples/s"
