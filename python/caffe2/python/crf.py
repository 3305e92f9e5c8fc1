"""A linear-chain conditional random field over scores of each word (J. Lafferty et al., 2001).

One sequence at a time: the scores ("predictions") are [T, num_classes] and the labels [T]. The
transitions [num_classes + 2, num_classes + 2] hold the score of class j after class i; the last
two classes are the begin and the end of the sequence.
"""

from __future__ import annotations

from caffe2.python import core, crf_predict, recurrent
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.parameter_info import ParameterTags


class CRFWithLoss:
    """The loss log(sum over all labelings of e^score) - score of the right labeling, where the
    score of a labeling is the sum of its predictions and transitions.

    Args:
      transitions_blob: default: a new parameter crf_transitions, uniform in [-1, 1].
    """

    def __init__(self, model: ModelHelper, num_classes: int,
                 transitions_blob: core.BlobReference | None = None) -> None:
        self.model = model
        self.num_classes = num_classes
        self.num_classes_padded = num_classes + 2
        if transitions_blob is None:
            transitions_blob = model.param_init_net.UniformFill(
                [], [core.ScopedBlobReference("crf_transitions")],
                shape=[self.num_classes_padded] * 2, min=-1.0, max=1.0)
        self.transitions = transitions_blob
        model.AddParameter(transitions_blob, ParameterTags.WEIGHT)

    def crf_loss(self, predictions: BlobLike, labels: BlobLike,
                 seq_lengths: BlobLike | None = None) -> core.BlobReference:
        """Adds the loss to the model: a scalar blob. `seq_lengths` is not used."""
        net = self.model.net
        # A copy, so that both parts read the same transitions even if others update them meanwhile.
        transitions = net.Copy(
            self.transitions, core.ScopedBlobReference("transitions_snapshot"))
        unary = self._gather_entries_sum(predictions, labels)
        padded = self.pad_predictions(
            predictions, self.model.param_init_net, net, self.num_classes)
        binary = self._path_binary_scores(
            self.pad_labels(labels, self.model.param_init_net, net, self.num_classes),
            transitions)
        path = net.Add([binary, unary], core.ScopedBlobReference("path_total"))
        first = self.model.param_init_net.ConstantFill(
            [], shape=[1], value=0, dtype=core.DataType.INT32)
        initial = net.Gather(
            [padded, first], core.ScopedBlobReference("rnn_initial"), dense_gradient=True)
        rest, _ = net.RemovePadding([padded], 2, padding_width=1, end_padding_width=0)
        rest = net.ExpandDims([rest], core.ScopedBlobReference("rnn_input_data"), dims=[1])
        all_paths = self._crf_forward(rest, initial, transitions)
        return net.Sub([all_paths, path], core.ScopedBlobReference("crf_loss"))

    def update_predictions(self, classes: BlobLike) -> core.BlobReference:
        """Adds the best labeling of a whole sequence with the scores `classes` [T, num_classes]:
        the blob of crf_predict.apply_crf."""
        return crf_predict.crf_update_predictions(self.model, self, classes)

    pad_predictions = staticmethod(crf_predict.pad_predictions)

    @staticmethod
    def pad_labels(labels: BlobLike, init_net: core.Net, net: core.Net,
                   num_classes: int) -> core.BlobReference:
        """Adds to a net the labels between the classes of begin and end: int64 [T + 2]."""
        begin, end = (
            init_net.ConstantFill([], shape=[1], value=value, dtype=core.DataType.INT64)
            for value in (num_classes, num_classes + 1))
        labels = net.Cast([labels], to="int64")
        padded, _ = net.Concat([begin, labels, end], 2, axis=0)
        return padded

    def _path_binary_scores(self, labels, transitions):
        """The sum of transitions[labels[t], labels[t + 1]]."""
        net = self.model.net
        columns, _ = net.RemovePadding([labels], 2, padding_width=1, end_padding_width=0)
        rows, _ = net.RemovePadding([labels], 2, padding_width=0, end_padding_width=1)
        width = net.ConstantFill(
            [rows], value=self.num_classes_padded, dtype=core.DataType.INT64)
        flat = net.Add([net.Mul([rows, width]), columns])
        entries = net.Gather([net.FlattenToVec([transitions]), flat], dense_gradient=True)
        return net.ReduceFrontSum(entries)

    def _gather_entries_sum(self, predictions, labels):
        """The sum of predictions[t, labels[t]]."""
        net = self.model.net
        size = self.model.param_init_net.ConstantFill(
            [], shape=[1], value=self.num_classes, dtype=core.DataType.INT64)
        chosen = net.OneHot([net.Cast([labels], to="int64"), size])
        scores = net.DotProduct([net.StopGradient(net.FlattenToVec(chosen)),
                                 net.FlattenToVec(predictions)])
        return net.ReduceFrontSum([scores])

    def _crf_forward(self, input_blob, initial_state, transitions):
        """The logarithm of the sum over all labelings: a scalar."""
        net = self.model.net
        last = self.build_crf_net(input_blob, initial_state, transitions)
        last, _ = net.Reshape([last], 2, shape=(self.num_classes_padded,))
        total = net.SortedSegmentRangeLogSumExp([last, self._one_segment()])
        total, _ = net.Reshape(total, 2, shape=())
        return total

    def _one_segment(self, *name):
        return self.model.param_init_net.ConstantFill(
            [], *name, value=0, shape=[self.num_classes_padded], dtype=core.DataType.INT32)

    def build_crf_net(self, input_blob: BlobLike, initial_state: BlobLike,
                      transitions: BlobLike) -> core.BlobReference:
        """Adds the recursion state[j] = x_t[j] + log sum_i e^(state[i] + transitions[i, j]), over
        input_blob [T, 1, C] from initial_state [1, C]; returns the last state [1, 1, C]."""
        width = self.num_classes_padded
        step = ModelHelper("crf_step", param_model=self.model)
        net = step.net

        def s(name):
            return core.ScopedBlobReference(f"crf_net/{name}")

        input_t, previous, _ = net.AddExternalInputs(
            core.ScopedBlobReference("input_t"), core.ScopedBlobReference("cell_t_prev"),
            transitions)
        segment = self._one_segment([s("zero_segment_id")])
        column = net.Transpose(previous, [s("prev_transpose")], axes=(0, 2, 1))
        column = net.Tile(column, [s("prev_tiled")], tiles=width, axis=2)
        row = net.Tile(input_t, [s("input_t_tiled")], tiles=width, axis=1)
        scores = net.Add([column, row], [s("input_with_prev")])
        scores = net.Add([scores, transitions], [s("prev_with_transitions")], broadcast=1)
        scores, _ = net.Reshape(
            scores, [s("all_with_transitions_reshaped"), s("all_with_transitions_orig")],
            shape=(width, width))
        state = net.SortedSegmentRangeLogSumExp([scores, segment], [s("cell_t")])
        net.AddExternalOutputs(state)
        _, last = recurrent.recurrent_net(
            net=self.model.net, cell_net=net, inputs=[(input_t, input_blob)],
            initial_cell_inputs=[(previous, initial_state)], links={previous: state},
            scope="crf_net", outputs_with_grads=(1,))
        return last
