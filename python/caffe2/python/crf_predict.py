"""Predictions of a conditional random field (caffe2.python.crf): the best labeling as a whole."""

import numpy as np

from caffe2.python import core
from caffe2.python.crf import CRFWithLoss


def crf_update_predictions(model, crf_with_loss, classes):
    """See apply_crf; with the transitions of a CRFWithLoss."""
    return apply_crf(model.param_init_net, model.net, crf_with_loss.transitions, classes,
                     crf_with_loss.num_classes)


def apply_crf(init_net, net, transitions, predictions, num_classes):
    """Predictions [T, num_classes] in which the class of the best labeling has, for each word,
    changed places with the highest score.

    Args:
      init_net, net: the nets to add to.
      transitions: the blob [num_classes + 2, num_classes + 2] of CRFWithLoss.
      predictions: the blob of scores [T, num_classes].
    """
    padded = CRFWithLoss.pad_predictions(predictions, init_net, net, num_classes)
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
