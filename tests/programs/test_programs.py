"""The small programs: databases, inspectors, nets from disk."""

import re
import subprocess

import pytest

from conftest import ROOT, run, write_idx


@pytest.mark.parametrize("kind", ["lmdb", "leveldb", "minidb"])
@pytest.mark.parametrize("record", ["datum", "tensorprotos"])
def test_databases_of_every_kind(kind, record, tmp_path):
    write_idx(tmp_path, "digits", 50, seed=1)
    database = tmp_path / "database"
    made = run(
        "make_mnist_db", "--image_file", tmp_path / "digits-images", "--label_file",
        tmp_path / "digits-labels", "--db", kind, "--format", record, "--output_file", database,
    )
    assert made.returncode == 0, made.output
    copy = tmp_path / "copy"
    converted = run(
        "convert_db", "--input_db", database, "--input_db_type", kind, "--output_db", copy,
        "--output_db_type", "minidb",
    )
    assert converted.returncode == 0, converted.output
    assert copy.exists()


def test_make_mnist_db_names_a_file_that_is_none(tmp_path):
    write_idx(tmp_path, "digits", 10, seed=1)
    (tmp_path / "digits-images").write_bytes(b"no IDX file at all")
    made = run(
        "make_mnist_db", "--image_file", tmp_path / "digits-images", "--label_file",
        tmp_path / "digits-labels", "--db", "lmdb", "--output_file", tmp_path / "database",
    )
    assert 0 < made.returncode < 128
    assert "digits-images" in made.output.strip().splitlines()[-1]


@pytest.mark.parametrize("program", ["mnist_trainer", "make_mnist_db", "doppio"])
def test_version_names_the_commit_and_the_build(program):
    done = run(program, "--version")
    assert done.returncode == 0
    first, *options = done.output.splitlines()
    head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT,
                          capture_output=True, text=True)
    commit = r" \(commit [0-9a-f]{12}\)" if head.returncode == 0 else ""
    assert re.fullmatch(rf"{program}, Doppio \d+\.\d+\.\d+{commit}", first), first
    names = {line.partition(": ")[0] for line in options if line.partition(": ")[2]}
    assert names == {"build type", "compiler", "CUDA", "NCCL", "sanitizers"}


def test_operators_are_listed():
    listed = run("print_registered_core_operators", "--device", "cpu")
    assert listed.returncode == 0, listed.output
    for name in ("Conv", "ConvGradient", "SpatialBN", "FC", "Relu", "ImageInput"):
        assert name in listed.output.split()


def write_net(path, text):
    path.write_text(text)
    return path


def test_run_plan_runs_a_plan_in_text_form(tmp_path):
    plan = write_net(tmp_path / "plan.pbtxt", """
        name: "plan"
        network { name: "net" op { type: "ConstantFill" output: "x"
          arg { name: "shape" ints: 2 } arg { name: "value" f: 3 } } }
        execution_step { name: "step" network: "net" num_iter: 2 }
    """)
    done = run("run_plan", "--plan", plan)
    assert done.returncode == 0, done.output


@pytest.mark.parametrize(
    "op, expected",
    [
        ('type: "NoSuchOp" output: "x"', "NoSuchOp"),
        ('type: "Relu" input: "absent" output: "x"', "absent"),
        ('type: "ConstantFill" output: "x" arg { name: "shape" ints: -3 }', "-3"),
        ('type: "ConstantFill" output: "x" '
         "arg { name: \"shape\" ints: 4611686018427387904 ints: 4 }", "overflow"),
    ],
)
def test_bad_nets_are_one_clear_line(op, expected, tmp_path):
    plan = write_net(tmp_path / "plan.pbtxt", f"""
        name: "plan" network {{ name: "net" op {{ {op} }} }}
        execution_step {{ name: "step" network: "net" }}
    """)
    done = run("run_plan", "--plan", plan)
    assert 0 < done.returncode < 128, done.output
    assert expected in done.output.strip().splitlines()[-1]
