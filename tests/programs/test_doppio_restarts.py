"""Restarts of `doppio run`: after failures, without hosts and with new ones."""

import os
import re
import signal

import pytest
from doppio_runs import doppio, mnist, shell, start, trainer_of, wait_until

from conftest import LIMIT, last_line, parameters


def test_restarts_until_it_works(tmp_path):
    script = """echo try $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_RUN_ID
                [ $RANK = 1 ] && [ $TORCHELASTIC_RESTART_COUNT -lt 2 ] && kill -9 $$; exit 0"""
    done = doppio("run", "-n", 2, "--run_id", "again", "--max_restarts", 3, "--log_dir", tmp_path,
                  *shell(script))
    assert done.returncode == 0, done.output
    assert done.output.count("doppio: run again: starting again") == 2
    log = (tmp_path / "shard-1.log").read_text().splitlines()
    assert log == ["try 0 of again", "doppio: restart 1", "try 1 of again", "doppio: restart 2",
                   "try 2 of again"]


@pytest.mark.parametrize("status, tries, reason", [
    (1, 2, "no restart is left"), (64, 1, "would recur"), (73, 1, "would recur"),
    (75, 2, "no restart is left")])
def test_restarts_end(status, tries, reason):
    done = doppio("run", "-n", 2, "--max_restarts", 1, "--store", "none",
                  *shell(f"echo try; exit {status}"))
    assert done.returncode == status
    assert done.output.count("[1] try") == tries
    assert reason in last_line(done.output)


def test_a_host_that_failed_twice_is_left_out():
    script = "echo $RANK of $WORLD_SIZE; [ $RANK = 1 ] && exit 9; exit 0"
    hosts = ["-H", "localhost:1,127.0.0.1:1", "--store", "none", "--max_restarts", 5]
    done = doppio("run", *hosts, "--min_shards", 1, *shell(script))
    assert done.returncode == 0, done.output
    assert done.output.count("[1] 1 of 2") == 2 and "[0] 0 of 1" in done.output
    assert "without 127.0.0.1, where 2 tries failed" in done.output
    done = doppio("run", *hosts, *shell(script))
    assert done.returncode == 9
    assert "only 1 shards are possible without 127.0.0.1, --min_shards is 2" in done.output


def test_a_restarted_trainer_goes_on_from_its_checkpoint(databases, tmp_path):
    flags = {"num_examples": 6400, "checkpoint_every": 10, "auto_resume": "true",
             "checkpoint_path": tmp_path / "checkpoint"}
    process = start("run", "-n", 2, "--max_restarts", 3, *mnist(databases, tmp_path, **flags))
    try:
        wait_until((tmp_path / "checkpoint").exists)
        os.kill(trainer_of(1, tmp_path), signal.SIGKILL)
        output, _ = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 0, output[-3000:]
    assert "first shard 1 on localhost: signal 9 (Killed)" in output
    assert output.count("starting again") == 1
    resumed = re.findall(r"Resumed from \S+: iteration (\d+)", output)
    assert len(resumed) == 2 and int(resumed[0]) >= 10 and int(resumed[0]) % 10 == 0, output[-3000:]
    assert (tmp_path / "mlp-0001.mdl").exists()
    control = tmp_path / "control"
    control.mkdir()
    flags["checkpoint_path"] = control / "checkpoint"
    whole = doppio("run", "-n", 2, *mnist(databases, control, **flags))
    assert whole.returncode == 0 and "Resumed from" not in whole.output, whole.output[-3000:]
    ends = [parameters((folder / "checkpoint").read_bytes()) for folder in (tmp_path, control)]
    assert len(ends[0]) > 1000 and ends[0] == ends[1]


def test_a_trainer_that_is_killed_again_and_again_ends_with_the_same_parameters(
    databases, tmp_path
):
    flags = {"num_examples": 64_000, "checkpoint_every": 10, "auto_resume": "true"}
    ends = []
    for kills in ([1, 0, 1, 0], []):
        folder = tmp_path / f"kills_{len(kills)}"
        folder.mkdir()
        process = start("run", "-n", 2, "--max_restarts", 6, *mnist(
            databases, folder, checkpoint_path=folder / "checkpoint", **flags))
        resumed, left = [], list(kills)
        try:
            for line in process.stdout:
                if not line.startswith("["):
                    continue  # the launcher, which repeats lines of trainers
                if match := re.search(r"Resumed from \S+: iteration (\d+)", line):
                    resumed.append(int(match.group(1)))
                # Each start gets as far as a checkpoint of its own, then loses a trainer.
                if left and "Wrote checkpoint" in line and len(resumed) >= 2 * (
                        len(kills) - len(left)):
                    os.kill(trainer_of(left.pop(0), folder), signal.SIGKILL)
            assert process.wait(timeout=LIMIT) == 0
        finally:
            process.kill()
        assert left == [] and len(resumed) == 2 * len(kills)
        assert resumed == sorted(resumed)
        ends.append(parameters((folder / "checkpoint").read_bytes()))
    assert len(ends[0]) > 1000 and ends[0] == ends[1]


def test_a_run_goes_on_without_the_host_that_failed_twice(databases, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    trainer = mnist(databases, tmp_path, num_examples=38400, checkpoint_every=200, disp_batches=100,
                    resume="auto", checkpoint_path=checkpoint)[1:]
    # Shard 1 dies after the first checkpoint, and in the second try at once.
    script = f"""[ $RANK = 1 ] || exec "$@"
                 "$@" & trainer=$!
                 until [ -e {checkpoint} ]; do sleep 0.05; done
                 kill -9 $trainer; exit 9"""
    done = doppio("run", "-H", "localhost:1,127.0.0.1:1", "--via", "local", "--max_restarts", 3,
                  "--min_shards", 1, "--", "bash", "-c", script, "bash", *trainer)
    assert done.returncode == 0, done.output[-3000:]
    assert "starting again without 127.0.0.1, where 2 tries failed" in done.output
    last = done.output[done.output.index("without 127.0.0.1"):]
    assert "Resumed from" in last
    assert "The checkpoint is from 2 shards of 1 replicas, this run has 1 of 1" in last
    assert "16 in each iteration instead of 32; the base learning rate stays" in last
    assert (tmp_path / "mlp-0001.mdl").exists()


def launch_with(hosts, max_restarts, script):
    return doppio("run", "--hostfile", hosts, "--store", "none", "--max_restarts", max_restarts,
                  *shell(script))


def test_a_host_that_replaces_a_lost_one_joins_at_the_restart(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("localhost slots=1\n127.0.0.1 slots=1\n")
    # In its second failure 127.0.0.1 has been replaced.
    script = f"""try=$TORCHELASTIC_RESTART_COUNT
                 echo $RANK of $WORLD_SIZE, try $try
                 [ $try -lt 2 ] || exit 0
                 [ $RANK = 1 ] || sleep 60
                 [ $try = 0 ] || printf 'localhost:1\\n127.0.0.2:1\\n' > {hosts}
                 exit 9"""
    done = launch_with(hosts, 2, script)
    assert done.returncode == 0, done.output
    assert "[1] 1 of 2, try 2" in done.output
    assert done.output.count("first shard 1 on 127.0.0.1: exit status 9") == 2


def test_a_host_file_that_breaks_is_said_and_the_known_hosts_stay(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("localhost slots=1\n")
    script = f"[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; rm {hosts}; exit 9"
    done = launch_with(hosts, 1, script)
    assert done.returncode == 0, done.output
    assert f"--hostfile: cannot read {hosts}; the known hosts are kept" in done.output

    hosts.write_text("localhost slots=1\n")
    script = f"[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; echo elsewhere > {hosts}; exit 9"
    done = launch_with(hosts, 1, script)
    assert done.returncode == 0, done.output
    assert "names elsewhere now, but the run began on this host alone" in done.output


def test_a_run_grows_once_the_host_file_has_more_slots(databases, tmp_path):
    hosts, checkpoint = tmp_path / "hosts", tmp_path / "checkpoint"
    hosts.write_text("localhost slots=1\n")
    # Long enough that it is under way when the file grows.
    flags = {"num_examples": 320000, "checkpoint_every": 100, "resume": "auto",
             "checkpoint_path": checkpoint, "disp_batches": 1000}
    process = start("run", "--hostfile", hosts, "--max_shards", 2, "--max_restarts", 2,
                    *mnist(databases, tmp_path, **flags))
    try:
        wait_until(checkpoint.exists, limit=120)
        hosts.write_text("localhost slots=3\n")
        output, _ = process.communicate(timeout=5 * LIMIT)
    finally:
        process.kill()
    assert process.returncode == 0, output[-3000:]
    stopped, last = output.split("stopped to go on with more shards")
    assert "[1]" not in stopped
    assert "starting again with 2 shards" in last and "[2]" not in last
    assert "The checkpoint is from 1 shards of 1 replicas, this run has 2 of 1" in last
    assert "all 2 shards are done" in last_line(output)
    assert (tmp_path / "mlp-0001.mdl").exists()


def test_growth_needs_restarts_for_a_new_host_that_fails(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("localhost slots=1\n")
    done = doppio("run", "--hostfile", hosts, "--max_shards", 2, "--max_restarts", 1, "--", "true")
    assert done.returncode == 64
    assert "--max_shards needs --max_restarts 2 or more" in last_line(done.output)


def test_a_new_host_that_fails_does_not_end_a_run_that_was_well(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("localhost slots=1\n")
    script = f"""[ $RANK = 0 ] || exit 9
                 printf 'localhost:1\\n127.0.0.1:1\\n' > {hosts}
                 for i in $(seq 60); do sleep 0.1; done"""
    done = doppio("run", "--hostfile", hosts, "--store", "none", "--min_shards", 1,
                  "--max_shards", 2, "--max_restarts", 2, *shell(script))
    assert done.returncode == 0, done.output
    assert "stopped to go on with more shards" in done.output
    assert "without 127.0.0.1, where 2 tries failed" in done.output
    assert "all 1 shards are done" in last_line(done.output)
