"""Predictions of a conditional random field (caffe2.python.crf): the best labeling of a whole
sequence."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.model_helper import ModelHelper

# The score of an impossible class.
_LOW_SCORE = -1000.0


class CRFScores(Protocol):
    """The members of a CRFWithLoss that the prediction reads."""

    transitions: core.BlobReference
    num_classes: int


def pad_predictions(predictions: BlobLike, init_net: core.Net, net: core.Net,
                    num_classes: int) -> core.BlobReference:
    """Predictions [T + 2, num_classes + 2]; the rows of begin and end allow no other class."""
    width = num_classes + 2

    def only(index, name):
        scores = np.full((1, width), _LOW_SCORE, np.float32)
        scores[0, index] = 0
        return init_net.GivenTensorFill([], name, shape=[1, width], values=scores)

    begin, end = only(num_classes, "b_scores"), only(num_classes + 1, "e_scores")
    zero = init_net.ConstantFill([], shape=[1], value=0, dtype=core.DataType.INT32)
    length = net.Cast(net.Gather([net.Shape([predictions]), zero]), to="int32")
    column = net.ConstantFill([net.LengthsRangeFill(length)], value=_LOW_SCORE)
    column = net.ExpandDims(column, dims=[1])
    wide, _ = net.Concat([predictions, column, column], 2, axis=1)
    padded, _ = net.Concat([begin, wide, end], 2, axis=0)
    return padded


def crf_update_predictions(model: ModelHelper, crf_with_loss: CRFScores,
                           classes: BlobLike) -> core.BlobReference:
    """apply_crf with the transitions of a CRFWithLoss."""
    return apply_crf(model.param_init_net, model.net, crf_with_loss.transitions, classes,
                     crf_with_loss.num_classes)


def apply_crf(init_net: core.Net, net: core.Net, transitions: BlobLike, predictions: BlobLike,
              num_classes: int) -> core.BlobReference:
    """Predictions [T, num_classes] in which, for each word, the score of its class in the best
    labeling and the highest score are swapped.

    Args:
      init_net, net: the nets to add to.
      transitions: the blob [num_classes + 2, num_classes + 2] of CRFWithLoss.
      predictions: the blob of scores [T, num_classes].
    """
    padded = pad_predictions(predictions, init_net, net, num_classes)
    return net.Python(_follow_best_path)(
        [padded, transitions], core.ScopedBlobReference("post_crf_classes"))


def _best_path(predictions, transitions):
    """The labeling with the highest score (A. Viterbi, 1967), for padded predictions."""
    score, back = predictions[0], []
    for row in predictions[1:]:
        candidates = score[:, np.newaxis] + transitions
        back.append(candidates.argmax(axis=0))
        score = row + candidates.max(axis=0)
    path = [int(score.argmax())]
    for origins in reversed(back):
        path.append(int(origins[path[-1]]))
    return path[::-1]


def _follow_best_path(inputs, outputs):
    predictions, transitions = np.array(inputs[0].data), np.array(inputs[1].data)
    for row, label in zip(predictions, _best_path(predictions, transitions)):
        best = row.argmax()
        row[[label, best]] = row[[best, label]]
    outputs[0].feed(np.ascontiguousarray(predictions[1:-1, :-2]))
