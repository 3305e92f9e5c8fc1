"""Trains an LSTM to predict the next character of a text, and generates text with it.

    python -m caffe2.python.examples.char_rnn --train_data shakespeare.txt
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, model_helper, utils, workspace
from caffe2.python.optimizer import build_sgd
from caffe2.python.rnn_cell import LSTM

log = logging.getLogger("char_rnn")


class CharRNN:
    """A text, its model, and the state of the training.

    The text is cut into batch_size blocks. Each row of the batch walks through one block in pieces
    of seq_length characters, and keeps its LSTM state from piece to piece.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self.seq_length = args.seq_length
        self.batch_size = args.batch_size
        self.iters_to_report = args.iters_to_report
        self.hidden_size = args.hidden_size
        with open(args.train_data, encoding="utf-8") as file:
            text = file.read()
        self.vocab = sorted(set(text))
        self.D = len(self.vocab)
        self.char_to_idx = {character: i for i, character in enumerate(self.vocab)}
        self.text = np.array([self.char_to_idx[character] for character in text])
        if len(text) < self.batch_size:
            raise ValueError(f"{args.train_data} has fewer characters than --batch_size "
                             f"({self.batch_size})")
        print(f"The text has {len(text)} characters, {self.D} different ones")

    def CreateModel(self) -> None:
        """Builds the nets: training, prediction alone, and the one that carries the state over."""
        model = model_helper.ModelHelper(name="char_rnn")
        input_blob, seq_lengths, hidden_init, cell_init, target = model.net.AddExternalInputs(
            "input_blob", "seq_lengths", "hidden_init", "cell_init", "target")
        hidden_all, self.hidden_output, _, self.cell_state = LSTM(
            model, input_blob, seq_lengths, (hidden_init, cell_init), self.D, self.hidden_size,
            scope="LSTM")
        # Axes are time, batch and units: steps and rows are one big batch.
        output = brew.fc(
            model, hidden_all, None, dim_in=self.hidden_size, dim_out=self.D, axis=2)
        self.predictions = model.net.Softmax(output, "softmax", axis=2)
        flat, _ = model.net.Reshape(
            self.predictions, ["softmax_reshaped", "_"], shape=[-1, self.D])
        self.forward_net = core.Net(model.net.Proto())
        xent = model.net.LabelCrossEntropy([flat, target], "xent")
        self.loss = model.net.AveragedLoss(xent, "loss")
        model.AddGradientOperators([self.loss])
        # The loss is a mean over steps, but the learning rate is meant for their sum.
        build_sgd(model, base_learning_rate=0.1 * self.seq_length, policy="step", stepsize=1,
                  gamma=0.9999)
        self.model = model
        self.prepare_state = core.Net("prepare_state")
        self.prepare_state.Copy(self.hidden_output, hidden_init)
        self.prepare_state.Copy(self.cell_state, cell_init)

    def Initialize(self) -> None:
        """Fills the parameters, clears the state and creates the nets."""
        workspace.RunNetOnce(self.model.param_init_net)
        zeros = np.zeros([1, self.batch_size, self.hidden_size], np.float32)
        for blob in (self.hidden_output, self.cell_state):
            workspace.FeedBlob(blob, zeros)
        for blob in ("input_blob", "seq_lengths", "target"):
            workspace.CreateBlob(blob)
        for net in (self.prepare_state, self.model.net, self.forward_net):
            workspace.CreateNet(net)
        self._block = len(self.text) // self.batch_size
        self._position = 0

    def _Feed(self, characters):
        """Feeds indices of characters [T, N] as one-hot vectors [T, N, D]."""
        workspace.FeedBlob("input_blob", np.eye(self.D, dtype=np.float32)[characters])
        workspace.FeedBlob("seq_lengths", np.full(self.batch_size, len(characters), np.int32))
        workspace.RunNet(self.prepare_state.Name())

    def TrainIteration(self) -> float:
        """One step of gradient descent; returns the loss, in nats per character."""
        steps = self._position + np.arange(self.seq_length + 1)
        starts = self._block * np.arange(self.batch_size)
        characters = self.text[starts + (steps % self._block)[:, np.newaxis]]
        self._position = (self._position + self.seq_length) % self._block
        self._Feed(characters[:-1])
        workspace.FeedBlob("target", characters[1:].astype(np.int32).ravel())
        workspace.RunNet(self.model.net.Name())
        return float(workspace.FetchBlob(self.loss))

    def TrainModel(self, num_iterations: int | None = None) -> None:
        """Trains for a number of iterations; default: until interrupted."""
        self.Initialize()
        smooth_loss = np.log(self.D) * self.seq_length
        losses, start, iteration = [], time.perf_counter(), 0
        while num_iterations is None or iteration < num_iterations:
            losses.append(self.TrainIteration() * self.seq_length)
            smooth_loss = 0.999 * smooth_loss + 0.001 * losses[-1]
            iteration += 1
            if iteration % self.iters_to_report:
                continue
            rate = len(losses) / (time.perf_counter() - start)
            print(f"Characters per second: {int(rate * self.seq_length * self.batch_size)}")
            print(f"Iterations per second: {int(rate)}")
            print(f"{'-' * 10} Iteration {iteration} {'-' * 10}")
            print(self.GenerateText(500, np.random.choice(self.vocab)))
            log.debug("Loss since last report: %s", np.mean(losses))
            log.debug("Smooth loss: %s", smooth_loss)
            losses, start = [], time.perf_counter()

    def GenerateText(self, num_characters: int, ch: str) -> str:
        """`ch` and `num_characters` characters after it, each drawn from the prediction of the
        model. Starts from the LSTM state of the training, and changes it."""
        index = self.char_to_idx[ch]
        text = [ch]
        for _ in range(num_characters):
            self._Feed(np.full([1, self.batch_size], index))
            workspace.RunNet(self.forward_net.Name())
            p = workspace.FetchBlob(self.predictions)[0, 0].astype(np.float64)
            index = np.random.choice(self.D, p=p / p.sum())
            text.append(self.vocab[index])
        return "".join(text)


def ParseArguments(args: Sequence[str] | None = None) -> argparse.Namespace:
    """The flags of the command line, or of a list of strings."""
    parser = argparse.ArgumentParser(description="Caffe2: Char RNN Training")
    parser.add_argument("--train_data", required=True,
                        help="path of the text to train on")
    parser.add_argument("--seq_length", type=int, default=25,
                        help="characters in a training sequence")
    parser.add_argument("--batch_size", type=int, default=1, help="sequences in a batch")
    parser.add_argument("--iters_to_report", type=int, default=500,
                        help="iterations between reports of the loss and generated text")
    parser.add_argument("--hidden_size", type=int, default=100,
                        help="units of the LSTM")
    parser.add_argument("--gpu", action="store_true",
                        help="train on GPU 0")
    parser.add_argument("--num_iterations", type=int,
                        help="iterations to train; default: until interrupted")
    return parser.parse_args(args)


@utils.debug
def main() -> None:
    """Trains the model and prints samples."""
    args = ParseArguments()
    device = core.DeviceOption(caffe2_pb2.CUDA if args.gpu else caffe2_pb2.CPU, 0)
    with core.DeviceScope(device):
        model = CharRNN(args)
        model.CreateModel()
        model.TrainModel(args.num_iterations)


if __name__ == "__main__":
    logging.basicConfig()
    log.setLevel(logging.DEBUG)
    workspace.GlobalInit(["caffe2", "--caffe2_log_level=2"])
    main()
