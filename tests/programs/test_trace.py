"""`--trace`: a timeline of some iterations, of all shards."""

import json
import shutil

import pytest

from conftest import last_line, run, training, wait_for_line


def timeline(path):
    """(metadata by name and (pid, tid), spans) of a file that is complete."""
    events = json.loads(path.read_text())["traceEvents"]
    names = {(e["name"], e["pid"], e["tid"]): e["args"] for e in events if e["ph"] == "M"}
    return names, [e for e in events if e["ph"] == "X"]


def inside(inner, outer, slack=0.01):
    """Whether a span lies in another one; times are rounded to 0.001 us."""
    return (outer["ts"] - slack <= inner["ts"]
            and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + slack)


def test_the_timeline_has_the_iterations_that_were_asked_for(databases, tmp_path):
    path = tmp_path / "out.json"
    done = run("resnet50_trainer", *training(
        databases, tmp_path, trace=path, trace_iterations="3-5", batch_size=64))
    assert done.returncode == 0, done.output
    assert f"Timeline: {path}" in done.output
    names, spans = timeline(path)
    iterations = [span for span in spans if span["cat"] == "iteration"]
    assert [span["name"] for span in iterations] == [f"iteration {i}" for i in (3, 4, 5)]
    assert min(span["ts"] for span in spans) == 0
    operators = [span for span in spans if span["cat"] == "operator"]
    for kind in ("Conv ", "ConvGradient ", "FC ", "ImageInput ", "net "):
        assert len([span for span in operators if span["name"].startswith(kind)]) >= 3, kind
    for span in operators:
        assert [1 for each in iterations if inside(span, each)] == [1], span
        assert span["tid"] == iterations[0]["tid"] and span["pid"] == 0
    assert {"read a batch", "decode"} <= {s["name"] for s in spans if s["cat"] == "input"}
    assert names["thread_name", 0, iterations[0]["tid"]] == {"name": "training"}
    assert names["process_name", 0, 0]["name"].startswith("shard 0 (")


def test_the_log_directory_has_the_sums_of_the_timeline(databases, tmp_path):
    path = tmp_path / "out.json"
    done = run("resnet50_trainer", *training(
        databases, tmp_path, trace=path, trace_iterations="3-5", batch_size=64,
        log_dir=tmp_path / "logs"))
    assert done.returncode == 0, done.output
    summary = json.loads((tmp_path / "logs" / "timeline.json").read_text())
    assert (summary["trace"], summary["first"], summary["last"]) == (str(path), 3, 5)
    (shard,) = summary["shards"]
    _, spans = timeline(path)
    iterations = [span for span in spans if span["cat"] == "iteration"]
    seconds = (iterations[-1]["ts"] + iterations[-1]["dur"] - iterations[0]["ts"]) / 1e6
    assert shard["iterations"] == 3 and shard["seconds"] == pytest.approx(seconds, rel=1e-4)
    parts = {(part["category"], part["name"]): part for part in shard["parts"]}
    convolutions = [span for span in spans if span["name"].startswith("Conv ")]
    assert parts["operator", "Conv"]["count"] == len(convolutions)
    assert parts["operator", "Conv"]["seconds"] == pytest.approx(
        sum(span["dur"] for span in convolutions) / 1e6, rel=1e-4)
    assert ("operator", "net") not in parts and ("input", "decode") in parts


def test_all_shards_are_in_one_file_with_one_clock(databases, shards, tmp_path):
    for shard in range(2):
        shards.start(*training(
            databases, tmp_path, num_shards=2, shard_id=shard, run_id="trace", batch_size=16,
            trace=tmp_path / f"out{shard}.json", trace_iterations="2-9"))
    for status, output in shards.wait():
        assert status == 0, output
    assert not (tmp_path / "out1.json").exists()
    path = tmp_path / "out0.json"
    other = json.loads(path.read_text())["otherData"]
    assert other["run_id"] == "trace"
    assert [shard["clock_error_us"] for shard in other["shards"]] == [0, 0]  # one machine
    assert [shard["dropped_spans"] for shard in other["shards"]] == [0, 0]
    _, spans = timeline(path)
    # Exchange n of both shards is the same one: each ends after both have begun.
    exchanges = [[span for span in spans if span["cat"] == "exchange" and span["pid"] == pid]
                 for pid in range(2)]
    assert [s["name"] for s in exchanges[0]] == [s["name"] for s in exchanges[1]]
    assert len(exchanges[0]) >= 16
    for mine, theirs in zip(*exchanges):
        assert mine["ts"] <= theirs["ts"] + theirs["dur"] + 0.01
        assert theirs["ts"] <= mine["ts"] + mine["dur"] + 0.01


def test_saves_and_tests_are_in_it(databases, tmp_path):
    path = tmp_path / "out.json"
    done = run("resnet50_trainer", *training(
        databases, tmp_path, trace=path, trace_iterations="1-40", epoch_size=320, num_epochs=3,
        checkpoint_every=5))
    assert done.returncode == 0, done.output
    _, spans = timeline(path)
    saves = {span["name"] for span in spans if span["cat"] == "save"}
    assert saves == {"copy the model", "copy the state for a checkpoint",
                     "write in the background"}
    assert len([span for span in spans if span["cat"] == "test"]) == 3
    # The run ended before iteration 40.
    assert len([span for span in spans if span["cat"] == "iteration"]) == 30


def test_the_timeline_changes_no_bit_of_the_training(databases, tmp_path):
    models = []
    for name, flags in {"with": {"trace": tmp_path / "out.json", "trace_iterations": "2-4"},
                        "without": {}}.items():
        folder = tmp_path / name
        folder.mkdir()
        done = run("resnet50_trainer", *training(databases, folder, epoch_size=320, **flags))
        assert done.returncode == 0, done.output
        models.append((folder / "model_1.mdl").read_bytes())
    assert models[0] == models[1]


def test_a_run_that_ends_first_says_so(databases, tmp_path):
    path = tmp_path / "out.json"
    done = run("resnet50_trainer", *training(databases, tmp_path, trace=path, epoch_size=320))
    assert done.returncode == 0
    assert "the run ended before iteration 11" in done.output and not path.exists()


def test_a_file_that_cannot_be_written_is_refused_at_the_start(databases, tmp_path):
    done = run("resnet50_trainer", *training(
        databases, tmp_path, trace="/proc/nothing/out.json", trace_iterations="1-2"))
    assert done.returncode == 73 and "/proc/nothing" in last_line(done.output), done.output


def test_a_folder_that_is_gone_at_the_end_ends_no_run(databases, shards, tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    process = shards.start(*training(databases, tmp_path, trace=folder / "out.json",
                                     trace_iterations="1-100000", num_epochs=40))
    wait_for_line(process, "Finished iteration")
    shutil.rmtree(folder)
    (status, output), = shards.wait()
    assert status == 0, output
    assert "There is no timeline" in output and f"{folder}/out.json" in output


@pytest.mark.parametrize("flags, text", [
    ({"trace": "x", "trace_iterations": "5"}, "--trace_iterations is 5, must be two numbers"),
    ({"trace": "x", "trace_iterations": "a-b"}, "--trace_iterations is a-b"),
    ({"trace": "x", "trace_iterations": "5-3"}, "--trace_iterations is 5-3"),
    ({"trace": "x", "trace_iterations": "0-3"}, "--trace_iterations is 0-3"),
    ({"trace_iterations": "1-3"}, "--trace_iterations needs --trace"),
])
def test_flags_that_do_not_fit(flags, text, databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags), cwd=tmp_path)
    assert done.returncode == 64 and text in last_line(done.output)
