"""Log lines as the scripts around MXNet and PyTorch read them."""

import re

import pytest

from conftest import last_line, run, training

# MXNet's tools/parse_log.py, and its Speedometer.
MXNET = {
    "train": r".*Epoch\[(\d+)\] Train-accuracy.*=([.\d]+)",
    "valid": r".*Epoch\[(\d+)\] Validation-accuracy.*=([.\d]+)",
    "time": r".*Epoch\[(\d+)\] Time.*=([.\d]+)",
    "speed": r".*Epoch\[(\d+)\] Batch ?\[\d+\]\s+Speed: ([.\d]+) samples/sec",
}
PYTORCH = {
    "batch": r".*Epoch: \[(\d+)\]\[\d+/20\]\tTime [.\d]+ \([.\d]+\)\tData [.\d]+ \([.\d]+\)\t"
             r"Loss [.\d]+ \([.\d]+\)\tPrec@1 [.\d]+ \(([.\d]+)\)\tPrec@5 [.\d]+ \([.\d]+\)$",
    "test": r".* \* Prec@(1) ([.\d]+) Prec@5 ([.\d]+)$",
    "epoch": r".*\t(Epoch) Accuracy: ([.\d]+)$",
    "best": r".*\t(Best) Accuracy: ([.\d]+)$",
}


@pytest.mark.parametrize("style, patterns, per_epoch", [
    ("mxnet", MXNET, {"train": 1, "valid": 1, "time": 1, "speed": 4}),
    ("pytorch", PYTORCH, {"batch": 4, "test": 1, "epoch": 1, "best": 1}),
])
def test_parsers_find_every_line(style, patterns, per_epoch, databases, tmp_path):
    done = run("resnet50_trainer", *training(
        databases, tmp_path, num_epochs=2, log_style=style))
    assert done.returncode == 0, done.output
    assert "Finished iteration" not in done.output
    lines = done.output.splitlines()
    for name, pattern in patterns.items():
        found = [match for match in map(re.compile(pattern).match, lines) if match]
        assert len(found) == 2 * per_epoch[name], (name, done.output)
        assert all(float(match.group(2)) >= 0 for match in found)


def test_both_trainers_know_every_style(databases):
    for style, expected in (("pytorch", "Epoch: [0][5/5]"), ("caffe2", "Finished iteration 5/5")):
        done = run("mnist_trainer", "--use_cpu", "--train_data", databases / "train_lmdb",
                   "--num_examples", "320", "--num_epochs", "1", "--log_style", style)
        assert done.returncode == 0, done.output
        assert expected in done.output


def test_an_unknown_style_is_one_clear_line(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, log_style="chainer"))
    assert done.returncode == 64, done.output
    assert "--log_style is chainer; known: caffe2 mxnet pytorch" in last_line(done.output)
