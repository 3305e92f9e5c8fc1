"""mypy accepts the package and correct programs over it, and finds wrong ones."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import caffe2.python

pytest.importorskip("mypy")

# The package as built, with the stub of the operators.
_PACKAGE = pathlib.Path(caffe2.python.__file__).parents[2]

# A program as users write it. A comment "E: <text>" marks a line with an error.
_PROGRAM = '''
from caffe2.python import brew, core, optimizer, schema, workspace
from caffe2.python import data_parallel_model as dpm
from caffe2.python.checkpoint import CheckpointManager, Job, JobRunner, epoch_limiter
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record
from caffe2.python.model_helper import ModelHelper
from caffe2.python.net_builder import ops
from caffe2.python.session import LocalSession
from caffe2.python.task import Node, Task, TaskGroup


def add_input(model: ModelHelper) -> None:
    model.net.GaussianFill([], "data", shape=[8, 4])


def add_model(model: ModelHelper, loss_scale: float) -> list[core.BlobReference]:
    scores = brew.fc(model, "data", "scores", dim_in=4, dim_out=1)
    brew.convolution(model, scores, "c")  # E: has no attribute "convolution"
    return [model.net.Scale(model.net.AveragedLoss(scores, "loss"), scale=loss_scale)]


def train() -> None:
    model = ModelHelper("train")
    dpm.Parallelize(model, add_input, add_model, devices=[0], cpu_device=True,
                    optimizer_builder_fun=lambda model: optimizer.build_sgd(model, 0.1))
    dpm.RunInitNet(model)
    dpm.RunNet(model, 10)
    dpm.RunNet(model)  # E: Missing positional argument
    print(workspace.FetchBlob("cpu_0/scores_w").shape)


def run_job() -> None:
    with Job() as job:
        with job.init_group, Node("reader"), Task() as task:
            output: core.BlobReference = ops.Const(1.5)
            task.add_output(output)
    epoch_limiter(job, 3)
    runner = JobRunner(job, CheckpointManager("/tmp", "reader", "minidb"))
    epochs: int = runner.train(LocalSession())
    name: str = Task.current()  # E: Incompatible types in assignment
    groups: list[TaskGroup] = [job]  # E: List item 0 has incompatible type


def read(record: schema.Struct) -> list[str]:
    ids = schema.List(schema.Scalar(int))
    schema.equal_schemas(record, "ids")  # E: incompatible type "str"
    return (record + schema.Struct(("ids", ids))).field_names()


class Doubled(ModelLayer):
    def __init__(self, model: LayerModel, input_record: Record, name: str = "doubled") -> None:
        super().__init__(model, name, input_record)
        self.output_schema = schema.NewRecord(model.net, input_record)
        model.next_name("x")  # E: has no attribute "next_name"

    def add_ops(self, net: core.Net) -> None:
        net.Scale(self.input_record(), self.output_schema(), scale=2.0)
'''


# A correct program. Strict programs see what a module exports, not what it happens to import.
_STRICT_PROGRAM = """
from caffe2.python import brew, core, net_drawer, workspace
from caffe2.python.model_helper import ModelHelper


def build() -> ModelHelper:
    model = ModelHelper("strict")
    image: core.BlobReference = brew.conv(model, "data", "conv", 3, 8, kernel=3)
    image = brew.max_pool(model, brew.relu(model, image, image), "pool", kernel=2, stride=2)
    brew.softmax(model, brew.fc(model, image, "scores", 8, 10), "softmax")
    workspace.RunNetOnce(model.param_init_net)
    net_drawer.GetPydotGraph(model.net).write_svg("net.svg")
    return model
"""


def _check(program, tmp_path, *arguments):
    """What mypy prints about the package and a program."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--no-error-summary",
         "--cache-dir", str(tmp_path / "cache"), *arguments, str(program)],
        env={**os.environ, "MYPYPATH": str(_PACKAGE), "PYTHONPATH": ""}, capture_output=True,
        text=True, check=False)
    assert not done.stderr
    return done.stdout.splitlines()


def test_package_and_programs_are_checked(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    expected = {number: line.split("# E: ")[1]
                for number, line in enumerate(_PROGRAM.splitlines(), 1) if "# E: " in line}
    found = {}
    for line in _check(program, tmp_path, str(_PACKAGE / "caffe2")):
        match = re.search(r"program\.py:(\d+): error: (.*)", line)
        if match:
            found[int(match[1])] = match[2]
        else:
            assert ": note: " in line, line  # an error in the package itself
    assert sorted(found) == sorted(expected)
    assert all(text in found[number] for number, text in expected.items())


def test_a_strict_program_passes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(_STRICT_PROGRAM)
    found = _check(program, tmp_path, "--strict")
    assert not [line for line in found if "program.py" in line]


def test_brew_exports_its_helpers():
    from caffe2.python import brew

    # Other tests may have registered helpers of their own.
    helpers = {name for name, helper in vars(brew).items()
               if not name.startswith("_") and brew.has_helper(name)
               and helper.__module__.startswith("caffe2.python.helpers.")}
    assert helpers and helpers <= set(brew.__all__)
