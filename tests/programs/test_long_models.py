"""Models that compute for long: they end at a limit of time, and signals end them at once."""

import os
import signal

import pytest
from model_files import PREDICT, model, net, op
from network_hosts import wait_until

from conftest import last_line, run

TRUE = op("GivenTensorBoolFill", [], ["true"], shape=[1], values=[1])


def count(counter, body):
    """Operators that run the body 9000 times, which is within the limit of iterations."""
    def fill(blob, value):
        return op("GivenTensorIntFill", [], [blob], shape=[1], values=[value])

    step = net(*body, op("Add", [counter, "one"], [counter]))
    test = net(op("LT", [counter, "many"], [f"{counter}_goes_on"]))
    return [fill("one", 1), fill("many", 9000), fill(counter, 0),
            op("GivenTensorBoolFill", [], [f"{counter}_goes_on"], shape=[1], values=[1]),
            op("While", [f"{counter}_goes_on"], [], loop_net=step, cond_net=test)]


# Each of them computes for minutes.
LONG = {
    "loops in loops": count("i", count("j", [op("Copy", ["one"], ["copy"])])),
    "many operators": [op("ConstantFill", [], ["matrix"], shape=[1024, 1024]),
                       *[op("MatMul", ["matrix", "matrix"], ["product"])] * 20_000],
}


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "grey.pgm"
    path.write_bytes(b"P5 8 8 255\n" + bytes(range(64)))
    return path


def predicting(folder, content, picture):
    """The words of predict with a model of these bytes."""
    (folder / "stranger.mdl").write_bytes(content)
    return ["--model", folder / "stranger.mdl", "--image_size", 8, "--image_scale", 8,
            "--num_channels", 1, picture]


@pytest.mark.parametrize("where", ["init", "predict"])
@pytest.mark.parametrize("case", LONG)
def test_a_model_ends_at_the_limit_of_time(case, where, tmp_path, picture):
    parts = {"init": LONG[case]} if where == "init" else {"predict": [*LONG[case], *PREDICT]}
    done = run("predict", "--max_run_seconds", 2, *predicting(tmp_path, model(**parts), picture))
    assert done.returncode == 65, done.output[-2000:]
    assert "stranger.mdl" in last_line(done.output)
    assert "has not ended within 2 s (max_run_seconds)" in last_line(done.output)
    assert len(done.output.splitlines()) == 1, done.output


@pytest.mark.parametrize("where", ["init", "predict"])
def test_one_long_operator_ends_with_the_process(where, tmp_path, picture):
    """Nothing interrupts an operator: this one compares 10^12 pairs."""
    scores = [op("UniformFill", [], [blob], shape=[1_000_000]) for blob in ("scores", "labels")]
    long = [*scores, op("PairWiseLoss", ["scores", "labels"], ["loss"])]
    parts = {"init": long} if where == "init" else {"predict": [*long, *PREDICT]}
    done = run("predict", "--max_run_seconds", 1, *predicting(tmp_path, model(**parts), picture))
    assert done.returncode == 65, done.output[-2000:]
    assert done.output.endswith(
        "stranger.mdl has not ended within 1 s (max_run_seconds): the process ends here\n")
    assert len(done.output.splitlines()) == 1, done.output


def test_limits_of_time_that_are_none(tmp_path, picture):
    for seconds in ("0", "-1", "nan", "1e300"):
        done = run("predict", "--max_run_seconds", seconds,
                   *predicting(tmp_path, model(), picture))
        assert done.returncode == 64, done.output
        assert "--max_run_seconds is " in last_line(done.output)


def seconds_of_cpu(process):
    words = open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()
    return int(words[11]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("program", ["predict", "speed_benchmark"])
def test_a_signal_ends_a_net_without_end(program, number, tmp_path, picture, shards):
    if program == "predict":
        content = model(predict=[*LONG["loops in loops"], *PREDICT])
        words = predicting(tmp_path, content, picture)
    else:  # its nets are programs, without a limit of iterations
        body = net(op("Copy", ["true"], ["copy"]))
        (tmp_path / "net.pb").write_bytes(net(TRUE, op("While", ["true"], [], loop_net=body)))
        words = ["--net", tmp_path / "net.pb"]
    process = shards.start(*words, program=program)
    wait_until(lambda: process.poll() is not None or seconds_of_cpu(process) > 1, "it computes")
    assert process.poll() is None, process.communicate()[0]
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode in (-number, 128 + number)


