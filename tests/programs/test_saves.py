"""Checkpoints and models: written once, by the run that owns them, whatever freezes or fills up."""

import pathlib
import random
import re
import resource
import signal
import subprocess
import threading
import time

import pytest

from conftest import LIMIT, last_line, parameters, run, training, wait_for_line
from redis_server import redis_keys

READS = {"GET", "EXISTS", "HGETALL", "AUTH", "HELLO", "SELECT", "PING", "CLIENT", "COMMAND"}


def saving(databases, folder, **flags):
    """Flags of a long run that saves a checkpoint every few iterations, and no model."""
    return training(databases, folder, **{
        "checkpoint_path": folder / "checkpoint", "checkpoint_every": 3, "save_model_name": "",
        "test_data": None, "epoch_size": 1_000_000, "log_every": 1, **flags})


def freeze_inside_a_save(process, folder):
    """Stops the process while a temporary file of its checkpoint exists."""
    deadline = time.monotonic() + 60
    wait_for_line(process, "Finished iteration")
    while time.monotonic() < deadline:
        if (folder / "checkpoint").exists() and any(folder.glob("checkpoint*.tmp.*")):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.05)
            if any(path.stat().st_size > 0 for path in folder.glob("checkpoint.tmp.*")):
                return
            process.send_signal(signal.SIGCONT)
        time.sleep(0.0002)
    pytest.fail("no save was seen")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if ".tmp." not in path.name}


class Monitor:
    """The commands that a Redis server gets."""

    def __init__(self, port):
        self.process = subprocess.Popen(
            ["redis-cli", "-p", str(port), "monitor"], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().strip() == "OK"

    def commands(self):
        self.process.terminate()
        lines = self.process.communicate()[0].splitlines()
        return [line.split('"')[1].upper() for line in lines if '"' in line]


@pytest.mark.parametrize("wakes", ["after the later generation", "while it trains"])
def test_a_shard_frozen_inside_a_save_does_no_harm(
    wakes, databases, redis_server, shards, tmp_path
):
    redis = redis_server.port
    flags = {"num_shards": 2, "run_id": "frozen", "redis_host": "127.0.0.1", "redis_port": redis,
             "batch_size": 16, "collective_timeout": 5, "rendezvous_timeout": 90}
    old = [shards.start(*saving(databases, tmp_path, shard_id=shard, **flags))
           for shard in range(2)]
    freeze_inside_a_save(old[0], tmp_path)
    old[1].kill()
    time.sleep(11)  # until the frozen shard counts as dead
    ends = wakes == "after the later generation"
    more = {**flags, "max_iterations": 60 if ends else 1_000_000}
    new = [shards.start(*saving(databases, tmp_path, shard_id=shard, **more), "--resume")
           for shard in range(2)]
    wait_for_line(new[0], "Wrote checkpoint", limit=90)
    if ends:
        for process in new:
            assert process.wait(timeout=60) == 0, process.communicate()[0]
        before = contents(tmp_path)
        monitor = Monitor(redis)
    old[0].send_signal(signal.SIGCONT)
    output = old[0].communicate(timeout=60)[0]
    assert 0 < old[0].returncode < 128, output
    if ends:
        time.sleep(1)
        assert set(monitor.commands()) <= READS
        assert contents(tmp_path) == before
        assert redis_keys(redis) == []
        assert not list(tmp_path.glob("*.tmp.*"))
    else:
        # The run goes on, and ends with its own state.
        for _ in range(3):
            wait_for_line(new[0], "Wrote checkpoint")
        new[1].send_signal(signal.SIGTERM)
        for process in new:
            assert process.wait(timeout=60) == 128 + signal.SIGTERM
    more["max_iterations"] = 1_000_000
    resumed = [shards.start(*saving(databases, tmp_path, shard_id=shard, **more), "--resume")
               for shard in range(2)]
    wait_for_line(resumed[0], "Finished iteration")


def test_a_writer_killed_inside_a_save_leaves_a_whole_checkpoint(
    databases, redis_server, shards, tmp_path
):
    flags = {"num_shards": 2, "run_id": "killed", "redis_host": "127.0.0.1", "batch_size": 16,
             "redis_port": redis_server.port, "rendezvous_timeout": 90}
    resume = []
    for _ in range(3):
        writer, other = (
            shards.start(*saving(databases, tmp_path, shard_id=shard, **flags), *resume)
            for shard in range(2))
        freeze_inside_a_save(writer, tmp_path)
        writer.kill()
        output = other.communicate(timeout=60)[0]
        assert other.returncode == 75, output[-2000:]
        assert "peer lost: shard=0 " in last_line(output)
        assert f"pid={writer.pid} " in last_line(output)
        resume = ["--resume"] if (tmp_path / "checkpoint").exists() else []
    assert resume
    last = shards.start(*saving(databases, tmp_path, batch_size=32), "--resume")
    wait_for_line(last, f"Resumed from {tmp_path}/checkpoint: iteration ")
    wait_for_line(last, "Wrote checkpoint")
    last.send_signal(signal.SIGTERM)
    assert last.wait(timeout=60) == 128 + signal.SIGTERM
    assert not list(tmp_path.glob("*.tmp.*"))


def test_a_run_killed_at_any_moment_goes_on_from_a_whole_checkpoint(databases, shards, tmp_path):
    """It saves nearly all the time: twenty moments, and more until one falls into a save."""
    moments = random.Random(1)
    reached = inside = number = 0
    while number < 20 or (inside == 0 and number < 100):
        process = shards.start(*saving(
            databases, tmp_path, model="mlp", checkpoint_every=1, keep_checkpoints=1),
            "--resume", "auto")
        limit = threading.Timer(LIMIT, process.kill)
        limit.daemon = True  # it is not cancelled if the test fails
        limit.start()
        for line in process.stdout:
            assert "damaged" not in line and "cut short" not in line, line
            if resumed := re.search(r"Resumed from \S+: iteration (\d+)", line):
                assert int(resumed.group(1)) >= reached
                reached = int(resumed.group(1))
            if "Wrote checkpoint" in line:
                break
        else:
            pytest.fail(f"try {number} ended with {process.wait()}")
        assert (reached > 0) == (number > 0)
        limit.cancel()
        time.sleep(moments.uniform(0, 0.05))
        process.kill()
        process.communicate()
        inside += any(tmp_path.glob("checkpoint*.tmp.*"))
        number += 1
    assert inside > 0, "no kill fell into a save"


def test_a_signal_inside_a_save_is_obeyed_after_it(databases, shards, tmp_path):
    process = shards.start(*saving(databases, tmp_path))
    freeze_inside_a_save(process, tmp_path)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 128 + signal.SIGTERM, output[-2000:]
    assert not list(tmp_path.glob("*.tmp.*"))
    iterations = re.search(r"after (\d+) iterations: the run is saved", output).group(1)
    done = run("resnet50_trainer", *saving(
        databases, tmp_path, max_iterations=iterations), "--resume")
    assert f"iteration {iterations}, " in done.output, done.output[-2000:]


def test_two_runs_on_one_path(databases, shards, tmp_path):
    first = shards.start(*saving(databases, tmp_path))
    wait_for_line(first, "Wrote checkpoint")
    second = run("resnet50_trainer", *saving(databases, tmp_path), limit=60)
    assert 0 < second.returncode < 128
    for text in (str(first.pid), str(tmp_path / "checkpoint")):
        assert text in last_line(second.output), second.output[-1000:]
    wait_for_line(first, "Wrote checkpoint")
    first.kill()
    first.wait()
    # What a killed process leaves does not block.
    third = run("resnet50_trainer", *saving(databases, tmp_path, max_iterations=3))
    assert third.returncode == 0, third.output
    assert f"its first checkpoint will replace {tmp_path / 'checkpoint'};" in third.output
    assert sorted(contents(tmp_path)) == ["checkpoint", "checkpoint.1"]


def test_runs_of_one_name_in_two_stores_are_two_runs(databases, shards, tmp_path):
    """They have the same run id and generation, and the second starts later."""
    def start(store):
        (tmp_path / store).mkdir()
        return [shards.start(*saving(databases, tmp_path, shard_id=i, num_shards=2, run_id="same",
                                     init_method=f"file://{tmp_path}/{store}")) for i in range(2)]
    first = start("a")
    wait_for_line(first[0], "Wrote checkpoint")
    second = start("b")
    outputs = [process.communicate(timeout=60)[0] for process in second]
    assert all(0 < process.returncode < 128 for process in second)
    for text in ("run same, generation 1", f"pid {first[0].pid}", "writes " + str(tmp_path)):
        assert text in outputs[0], outputs[0][-2000:]
    wait_for_line(first[0], "Wrote checkpoint")


def test_two_runs_that_export_the_same_models(databases, shards, tmp_path):
    flags = {"test_data": None, "epoch_size": 1_000_000}
    first = shards.start(*training(databases, tmp_path, log_every=1, **flags))
    wait_for_line(first, "Finished iteration")
    second = run("resnet50_trainer", *training(databases, tmp_path, **flags), limit=60)
    assert 0 < second.returncode < 128
    assert str(first.pid) in last_line(second.output), second.output[-1000:]


def test_a_run_whose_lock_file_is_removed_goes_on(databases, shards, tmp_path):
    process = shards.start(*saving(databases, tmp_path))
    wait_for_line(process, "Wrote checkpoint")
    (tmp_path / "checkpoint.lock").unlink()
    wait_for_line(process, "checkpoint.lock was removed while this run writes")
    wait_for_line(process, "Wrote checkpoint")
    second = run("resnet50_trainer", *saving(databases, tmp_path), limit=60)
    assert str(process.pid) in last_line(second.output), second.output[-1000:]


def test_a_link_to_a_checkpoint_stays_a_link(databases, tmp_path):
    """It may lead to a larger disk."""
    disk, folder = tmp_path / "disk", tmp_path / "run"
    disk.mkdir()
    folder.mkdir()
    (folder / "checkpoint").symlink_to("../disk/saved")
    for iterations in (3, 6):
        done = run("resnet50_trainer", *saving(databases, folder, max_iterations=iterations),
                   "--resume", "auto")
        assert done.returncode == 0, done.output
    assert "iteration 3, " in done.output
    assert (folder / "checkpoint").is_symlink()
    assert sorted(contents(disk)) == ["saved", "saved.1"]
    assert sorted(contents(folder)) == ["checkpoint"]


def test_a_run_that_will_replace_models_says_so(databases, tmp_path):
    flags = training(databases, tmp_path, num_epochs=2)
    first, second = (run("resnet50_trainer", *flags) for _ in range(2))
    assert first.returncode == second.returncode == 0, second.output
    warning = "this run will replace models that are there, as "
    assert warning not in first.output
    named = re.search(re.escape(warning) + r"(\S+\.mdl);", second.output)
    assert named, second.output[-2000:]
    assert pathlib.Path(named.group(1)).exists()


def test_a_model_that_was_not_written_is_written_after_a_resume(databases, tmp_path):
    """The process was killed between the checkpoint of an epoch's end and its model."""
    flags = training(databases, tmp_path, num_epochs=2, checkpoint_every=20, keep_models=0,
                     checkpoint_path=tmp_path / "checkpoint", keep_best="true")
    done = run("resnet50_trainer", *flags)
    assert done.returncode == 0, done.output
    models = sorted(tmp_path.glob("*.mdl"))
    assert len(models) == 3, models
    whole = {path: path.read_bytes() for path in models}
    models[1].unlink()
    checkpoint = contents(tmp_path)["checkpoint"]
    done = run("resnet50_trainer", *flags, "--resume")
    assert done.returncode == 0, done.output
    assert "A model of the last epoch is missing" in done.output
    assert "Nothing is left to do" in done.output
    assert {path: parameters(path.read_bytes()) for path in models} == {
        path: parameters(text) for path, text in whole.items()}
    assert contents(tmp_path)["checkpoint"] == checkpoint  # not written once more
    assert "checkpoint.1" in contents(tmp_path)


def test_a_resumed_run_removes_the_models_that_it_wrote_before(databases, tmp_path):
    (tmp_path / "model_9.mdl").write_bytes(b"of another run")
    for epochs in (1, 2, 3):
        done = run("resnet50_trainer", *training(
            databases, tmp_path, num_epochs=epochs, checkpoint_every=20, keep_models=1,
            checkpoint_path=tmp_path / "checkpoint"), "--resume", "auto")
        assert done.returncode == 0, done.output
    assert sorted(path.name for path in tmp_path.glob("*.mdl")) == ["model_3.mdl", "model_9.mdl"]


def test_a_resume_with_other_data_says_so(databases, tmp_path):
    flags = {"max_iterations": 3, "test_data": None}
    run("resnet50_trainer", *saving(databases, tmp_path, **flags))
    flags["max_iterations"] = 6
    same = run("resnet50_trainer", *saving(databases, tmp_path, **flags), "--resume")
    warning = "--train_data is not what it was when"
    assert same.returncode == 0 and warning not in same.output
    flags.update(max_iterations=9, train_data=databases / "test_lmdb")
    other = run("resnet50_trainer", *saving(databases, tmp_path, **flags), "--resume")
    assert other.returncode == 0 and warning in other.output, other.output[-2000:]


@pytest.mark.parametrize("resume", [[], ["--resume", "auto"]])
def test_a_checkpoint_replaces_no_other_file(databases, tmp_path, resume):
    path = tmp_path / "notes.txt"
    path.write_text("the work of years, and no checkpoint\n")
    done = run("resnet50_trainer", *saving(databases, tmp_path, checkpoint_path=path), *resume)
    assert done.returncode in (65, 73) and str(path) in last_line(done.output), done.output
    assert path.read_text().startswith("the work of years")
    done = run("resnet50_trainer", *training(
        databases, tmp_path, checkpoint_path=tmp_path / "model_1.mdl", checkpoint_every=5))
    assert done.returncode == 64 and "the model after epoch 1" in last_line(done.output)


def test_the_last_checkpoints_are_kept(databases, tmp_path):
    done = run("resnet50_trainer", *saving(databases, tmp_path, max_iterations=12,
                                           keep_checkpoints=3))
    assert done.returncode == 0, done.output
    kept = contents(tmp_path)
    assert sorted(kept) == ["checkpoint", "checkpoint.1", "checkpoint.2"]
    assert len(set(kept.values())) == 3
    # The newest that is whole is taken, and the damaged ones are named.
    path = tmp_path / "checkpoint"
    path.write_bytes(kept["checkpoint"][:1000])
    (tmp_path / "checkpoint.1").write_bytes(b"junk" * 1000)
    done = run("resnet50_trainer", *saving(databases, tmp_path, max_iterations=12,
                                           keep_checkpoints=3), "--resume")
    assert done.returncode == 0, done.output
    assert "iteration 6" in done.output
    for name in ("checkpoint is damaged", "checkpoint.1 is damaged", "older checkpoint",
                 f"Resumed from {path}.2: iteration 6, "):
        assert name in done.output, done.output[-3000:]
    # The same iterations again, to the bit.
    assert parameters(path.read_bytes()) == parameters(kept["checkpoint"])
    assert (tmp_path / "checkpoint.2").read_bytes() == kept["checkpoint.2"]
    assert (tmp_path / "checkpoint.1.damaged").read_bytes() == b"junk" * 1000
    for name in contents(tmp_path):
        (tmp_path / name).write_bytes(b"junk" * 1000)
    done = run("resnet50_trainer", *saving(databases, tmp_path), "--resume")
    assert 0 < done.returncode < 128
    assert "no checkpoint is intact" in last_line(done.output)


def test_a_resume_takes_no_checkpoint_of_an_earlier_run(databases, tmp_path):
    """That run had the same settings: only the lineage in the headers tells the two apart."""
    def train(iterations, *resume, keep=3):
        return run("resnet50_trainer", *saving(databases, tmp_path, max_iterations=iterations,
                                               keep_checkpoints=keep), *resume)
    path, older = tmp_path / "checkpoint", tmp_path / "checkpoint.1"
    for iterations in (12, 3):  # the second one begins anew, and saves once
        done = train(iterations)
        assert done.returncode == 0, done.output
    whole = contents(tmp_path)
    path.write_bytes(whole["checkpoint"][:-100])
    damaged = contents(tmp_path)
    for resume in ("--resume", "--resume=auto"):
        done = train(6, resume)
        assert done.returncode == 65, done.output
        for name in ("checkpoint.1", "checkpoint.2"):
            assert (f"passing over {tmp_path}/{name}: it is from an earlier run, not from the one "
                    f"that wrote {path}") in done.output, done.output[-3000:]
        assert last_line(done.output).endswith(
            f"rename {older} to {path} to go on from the earlier run"), done.output[-1000:]
        assert f"{path} is damaged" in last_line(done.output)
        assert contents(tmp_path) == damaged
    # A resumed run is the same run: its older checkpoints are its own.
    path.write_bytes(whole["checkpoint"])
    done = train(6, "--resume")
    assert done.returncode == 0, done.output
    assert older.read_bytes() == whole["checkpoint"]
    path.write_bytes(whole["checkpoint"][:-100])
    done = train(3, "--resume")
    assert done.returncode == 0 and f"Resumed from {older}: iteration 3, " in done.output
    # What the message advises.
    (tmp_path / "checkpoint.2").rename(path)
    done = train(12, "--resume")
    assert done.returncode == 0 and f"Resumed from {path}: iteration 12, " in done.output


def test_a_checkpoint_that_cannot_be_read_is_not_passed_over(databases, tmp_path):
    """It may be whole, and the run would replace it."""
    done = run("resnet50_trainer", *saving(databases, tmp_path, max_iterations=12))
    assert done.returncode == 0, done.output
    path = tmp_path / "checkpoint"
    older = (tmp_path / "checkpoint.1").read_bytes()
    path.unlink()
    path.symlink_to(path)  # as root reads what permissions forbid
    done = run("resnet50_trainer", *saving(databases, tmp_path, max_iterations=16), "--resume=auto")
    assert 0 < done.returncode < 128, done.output
    assert re.search("cannot tell whether a checkpoint is intact: .*checkpoint: Too many levels",
                     last_line(done.output)), done.output[-2000:]
    assert path.is_symlink() and (tmp_path / "checkpoint.1").read_bytes() == older
    path.unlink()  # one that is gone is no damaged one
    done = run("resnet50_trainer", *saving(databases, tmp_path, max_iterations=12), "--resume=auto")
    assert done.returncode == 0, done.output
    assert "older checkpoint" in done.output and "damaged" not in done.output
    assert not (tmp_path / "checkpoint.damaged").exists()


def test_one_checkpoint_is_kept_if_that_is_asked_for(databases, tmp_path):
    done = run("resnet50_trainer", *saving(databases, tmp_path, max_iterations=12,
                                           keep_checkpoints=1))
    assert done.returncode == 0, done.output
    assert sorted(contents(tmp_path)) == ["checkpoint"]


def test_training_goes_on_while_the_disk_is_full(databases, shards, tmp_path):
    process = shards.start(*saving(databases, tmp_path))
    wait_for_line(process, "Wrote checkpoint")
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100 << 10, hard))
    wait_for_line(process, "The checkpoint was not written")
    whole = contents(tmp_path)
    wait_for_line(process, "Finished iteration")
    wait_for_line(process, "The checkpoint was not written")
    assert contents(tmp_path) == whole
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    wait_for_line(process, "Wrote checkpoint")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert not list(tmp_path.glob("*.tmp.*"))
    assert contents(tmp_path)["checkpoint"] != whole["checkpoint"]


def test_only_the_last_model_must_be_written(databases, tmp_path):
    flags = {"test_data": None, "num_epochs": 3}
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags), file_kib=100)
    assert 0 < done.returncode < 128
    assert "Starting epoch 2/3" in done.output
    assert "model_3.mdl" in last_line(done.output)
    assert list(tmp_path.iterdir()) == []
