"""`doppio run` with real processes: what shards are told, their output, and their end."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from doppio_runs import alive, doppio, mnist, shell, start, trainer_of, trainers, wait_until

from conftest import BIN, LIMIT, last_line, run, wait_for_line
from launcher_dialects import clean_environment


@pytest.fixture
def marker(tmp_path):
    """A number of seconds for `sleep` that no other test uses."""
    name = f"9{abs(hash(str(tmp_path))) % 10**7}"
    yield name
    for pid in alive(name):
        os.kill(pid, signal.SIGKILL)


def test_shards_are_told_torchruns_variables():
    names = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
             "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS"]
    script = "; ".join(f"echo {name}=${name}" for name in names) + "; echo port=$MASTER_PORT"
    done = doppio("run", "-n", 3, "--run_id", "told", *shell(script), env={"OMP_NUM_THREADS": 7})
    assert done.returncode == 0, done.output
    for rank in range(3):
        lines = [line[4:] for line in done.output.splitlines() if line.startswith(f"[{rank}] ")]
        assert lines[:-1] == [
            f"RANK={rank}", "WORLD_SIZE=3", f"LOCAL_RANK={rank}", "LOCAL_WORLD_SIZE=3",
            "MASTER_ADDR=127.0.0.1", "TORCHELASTIC_RUN_ID=told", "TORCHELASTIC_RESTART_COUNT=0",
            "TORCHELASTIC_MAX_RESTARTS=0"]
        assert re.fullmatch(r"port=2\d{4}", lines[-1])
    assert "all 3 shards are done" in last_line(done.output)


@pytest.mark.parametrize("given", [{}, {"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "active"}])
def test_cores_are_shared_out_unless_the_user_did(given):
    env = clean_environment(**given)
    if not given:
        env.pop("OMP_NUM_THREADS", None)
    many = len(os.sched_getaffinity(0)) + 1
    done = subprocess.run(
        [BIN / "doppio", "run", "-n", str(many), "--store", "none",
         *shell("echo $OMP_NUM_THREADS,$OMP_WAIT_POLICY,")],
        capture_output=True, text=True, env=env, timeout=LIMIT)
    expected = "3,active," if given else "1,passive,"
    assert sorted(done.stdout.splitlines()) == [f"[{n}] {expected}" for n in range(many)]


def test_bound_shards_have_cores_of_their_own():
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        pytest.skip("needs two cores")
    done = doppio("run", "-n", 2, "--bind_cores", "--store", "none",
                  *shell("grep Cpus_allowed_list /proc/self/status"))
    lists = re.findall(r"^\[\d\] Cpus_allowed_list:\s+(\S+)$", done.output, re.M)
    assert len(set(lists)) == 2, done.output


def test_trainers_meet_at_a_store_with_a_secret_password(databases, tmp_path):
    process = start("run", "-n", 2, *mnist(databases, tmp_path, num_examples=10**6))
    try:
        wait_for_line(process, "all 2 shards joined")
        environments = []
        for rank in range(2):
            with open(f"/proc/{trainer_of(rank, tmp_path)}/environ") as file:
                environments += re.findall(r"REDISCLI_AUTH=([^\0]+)", file.read())
        (password,) = set(environments)
        assert len(password) > 40
        listing = subprocess.run(["ps", "axww"], capture_output=True, text=True).stdout
        assert "DOPPIO_STORE=redis://127.0.0.1:" in listing
        assert password not in listing
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + 15, output
    assert password not in output
    assert not trainers(tmp_path)


def test_trainers_train(databases, tmp_path):
    done = doppio("run", "-n", 2, "--log_dir", tmp_path / "logs",
                  *mnist(databases, tmp_path, log_dir=tmp_path / "records"))
    assert done.returncode == 0, done.output
    settings = json.loads((tmp_path / "records" / "settings.json").read_text())
    assert settings["flags"]["num_shards"] == "2"
    assert settings["run"]["began_at_iteration"] == settings["run"]["began_at_epoch"] == 0
    for rank in range(2):
        assert f"doppio run: shard {rank} of 2, local {rank} of 2, store redis://127" in done.output
        log = (tmp_path / "logs" / f"shard-{rank}.log").read_text()
        assert "all 2 shards joined" in log
        assert not re.search(r"^\[\d\]", log, re.M)
    assert (tmp_path / "mlp-0001.mdl").exists()


def test_python_programs_train_too(databases, tmp_path):
    pytest.importorskip("caffe2")
    made = run("make_mnist_db", "--image_file", databases / "train-images", "--label_file",
               databases / "train-labels", "--format", "tensorprotos", "--output_file",
               tmp_path / "db")
    assert made.returncode == 0, made.output
    done = doppio("run", "-n", 2, "--", sys.executable, "-m",
                  "caffe2.python.examples.mnist_data_parallel", "--train_data", tmp_path / "db",
                  "--test_data", tmp_path / "db", "--batch_size", 16, "--iterations", 60,
                  "--test_iterations", 20)
    assert done.returncode == 0, done.output
    for rank in range(2):
        (accuracy,) = re.findall(
            rf"^\[{rank}\] .*shard {rank} of 2: test accuracy: ([0-9.]+)$", done.output, re.M)
        assert float(accuracy) > 0.9
    assert done.output.count("doppio run: shard") == 2


@pytest.mark.parametrize("store", ["file", "redis"])
def test_a_store_of_the_user(store, databases, redis, tmp_path):
    (tmp_path / "meet").mkdir()
    url = {"file": f"file://{tmp_path}/meet", "redis": f"redis://127.0.0.1:{redis}"}[store]
    done = doppio("run", "-n", 2, "--store", url, *mnist(databases, tmp_path))
    assert done.returncode == 0, done.output
    assert f"store {url}" in done.output
    assert list((tmp_path / "meet").iterdir()) == []


def test_long_and_binary_output_keeps_its_lines(tmp_path):
    script = r"""head -c 200000 /dev/zero | tr '\0' x; echo; printf '\xff\0\x01binary\n'
                 printf '10%%\r20%%\rdone\r\n'; printf 'no end' >&2"""
    with open(tmp_path / "output", "wb") as file:
        done = subprocess.run(
            [BIN / "doppio", "run", "-n", "2", "--store", "none", "--log_dir", tmp_path,
             *shell(script)], stdout=file, stderr=subprocess.STDOUT, env=clean_environment(),
            timeout=LIMIT)
    assert done.returncode == 0
    output = (tmp_path / "output").read_bytes()
    for rank in range(2):
        start_of = b"[%d] " % rank
        lines = [line[4:] for line in output.split(b"\n") if line.startswith(start_of)]
        long = [line for line in lines if line and set(line) == {ord("x")}]
        assert sum(map(len, long)) == 200000 and max(map(len, long)) == 65536
        rest = [line for line in lines if line not in long]
        assert sorted(rest) == sorted([b"\xff\0\x01binary", b"10%", b"20%", b"done", b"no end"])
        assert b"\xff\0\x01binary\n" in (tmp_path / f"shard-{rank}.log").read_bytes()


def test_a_stuck_terminal_does_not_hold_up_shards(tmp_path):
    read_end, write_end = os.pipe()
    script = "for i in $(seq 60000); do echo line $i; done"
    more = f"head -c 1500000 /dev/zero | tr '\\0' '\\n'; touch {tmp_path}/all$RANK"
    process = subprocess.Popen(
        [BIN / "doppio", "run", "-n", "2", "--store", "none", "--log_dir", tmp_path,
         *shell(f"{script}; {more}")],
        stdout=write_end, stderr=subprocess.DEVNULL, env=clean_environment())
    try:
        os.close(write_end)  # and nobody reads
        process.wait(timeout=LIMIT)
        assert process.returncode == 0
        assert (tmp_path / "all0").exists() and (tmp_path / "all1").exists()
        assert "line 60000\n" in (tmp_path / "shard-0.log").read_text()
    finally:
        process.kill()
        os.close(read_end)


def test_logs_of_an_earlier_run_stay(tmp_path):
    for name in ("first", "second"):
        done = doppio("run", "-n", 1, "--store", "none", "--log_dir", tmp_path, "--run_id", name,
                      *shell(f"echo lines of the {name}"))
        assert done.returncode == 0, done.output
    assert (tmp_path / "shard-0.log").read_text() == (
        "lines of the first\ndoppio: run second begins\nlines of the second\n")


def test_the_first_failure_is_named_with_its_last_lines(tmp_path):
    script = """echo begin $RANK
                [ $RANK = 1 ] && { for i in $(seq 30); do echo word $i; done; exit 65; }
                sleep 0.3; exit 75"""
    done = doppio("run", "-n", 3, "--store", "none", "--log_dir", tmp_path, *shell(script))
    assert done.returncode == 65
    lines = done.output.splitlines()
    report = [line for line in lines if line.startswith("doppio: ")]
    assert "failed; first shard 1 on localhost: exit status 65 (bad data) after" in report[0]
    assert sum("exit status 75 (peer lost)" in line for line in report) == 2
    assert f"(all: {tmp_path}/shard-1.log)" in done.output
    assert report[-1] == "doppio:   | word 30"
    assert "doppio:   | word 20" not in report


def test_a_wrong_flag_of_a_trainer_is_told_once():
    done = doppio("run", "-n", 2, "--", "mnist_trainer", "--no_such_flag", "1",
                  env={"PATH": f"{BIN}:/usr/bin:/bin"})
    assert (done.returncode, done.output) == (
        64, "mnist_trainer: unknown flag --no_such_flag: see --help\n"
            "doppio: run: started no shard: mnist_trainer ended with exit status 64 "
            "(wrong flags or variables)\n")


def test_flags_that_all_shards_refuse_take_one_line_of_the_report():
    done = doppio("run", "-n", 3, "--store", "none", *shell("echo a flag is wrong; exit 64"))
    assert done.returncode == 64
    report = [line for line in done.output.splitlines() if line.startswith("doppio: ")]
    assert len(report) == 1, done.output
    assert re.search(r"failed; first shard (\d) on localhost: exit status 64 \(wrong flags or "
                     r"variables\) after \S+ s, then shards \d, \d in the same way$", report[0])


@pytest.mark.parametrize("end, status", [("exit 3", 3), ("kill -9 $$", 137), ("kill -11 $$", 139)])
def test_exit_status_is_that_of_the_first_failure(end, status, marker):
    begin = time.monotonic()
    done = doppio("run", "-n", 2, "--store", "none",
                  *shell(f"[ $RANK = 1 ] && {end}; exec sleep {marker}"))
    assert done.returncode == status, done.output
    assert "shard 1 on localhost" in done.output
    assert time.monotonic() - begin < 20  # the other one got SIGTERM
    assert not alive(marker)


def test_a_killed_trainer_is_blamed(databases, tmp_path):
    process = start("run", "-n", 4, *mnist(databases, tmp_path, num_examples=10**6))
    try:
        wait_for_line(process, "Batch [")
        os.kill(trainer_of(2, tmp_path), signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 137, output[-3000:]
    assert "first shard 2 on localhost: signal 9 (Killed)" in output
    assert output.count("exit status 75 (peer lost)") == 3, output[-3000:]


GRANDCHILDREN = """(setsid sleep {0} </dev/null >/dev/null 2>&1 & disown)
                   (trap '' TERM INT HUP
                    setsid bash -c "trap '' TERM; while :; do sleep {0}; done" &)
                   echo ready; {1}"""


@pytest.mark.parametrize("end", ["exit 0", "exit 4"])
def test_grandchildren_end_with_their_shard(end, marker):
    done = doppio("run", "-n", 2, "--store", "none", *shell(GRANDCHILDREN.format(marker, end)))
    assert done.returncode == (0 if end == "exit 0" else 4), done.output
    assert not alive(marker)


def wait_for_ready(process, count):
    ready = 0
    for line in process.stdout:
        ready += "ready" in line
        if ready == count:
            return
    pytest.fail("the shards did not start")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_is_left_when_the_launcher_ends(number, marker):
    script = GRANDCHILDREN.format(marker, f"exec sleep {marker}")
    process = start("run", "-n", 3, *shell(script))
    wait_for_ready(process, 3)
    wait_until(lambda: len(alive(marker)) >= 6)
    run_id = re.search(r"run-[0-9a-f]{8}", " ".join(
        open(f"/proc/{pid}/environ").read() for pid in alive(marker))).group(0)
    process.send_signal(number)
    status = process.wait(timeout=60)
    assert status == (-9 if number == signal.SIGKILL else 128 + number)
    wait_until(lambda: not alive(marker))
    wait_until(lambda: run_id not in subprocess.run(
        ["ps", "axww"], capture_output=True, text=True).stdout)
    process.stdout.close()


def test_a_killed_supervisor_leaves_nothing(marker):
    process = start("run", "-n", 2, "--store", "none",
                    *shell(GRANDCHILDREN.format(marker, f"exec sleep {marker}")))
    wait_for_ready(process, 2)
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        supervisors = list(map(int, file.read().split()))
    assert len(supervisors) == 2
    os.kill(supervisors[1], signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 137, output
    assert not alive(marker)


def test_a_frozen_supervisor_does_not_hold_up_the_launcher(marker):
    process = start("run", "-n", 2, "--store", "none",
                    *shell(GRANDCHILDREN.format(marker, f"exec sleep {marker}")))
    wait_for_ready(process, 2)
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        supervisors = list(map(int, file.read().split()))
    os.kill(supervisors[1], signal.SIGSTOP)
    for _ in range(2):  # the second signal ends all at once
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert not alive(marker)


@pytest.mark.parametrize("options, saved", [([], True), (["--stop_timeout", 2], False)])
def test_a_shard_that_saves_after_a_failure_has_time_to_end(tmp_path, options, saved):
    # Shard 1 gets SIGTERM 5 s after the failure of shard 0, and then saves for 12 s.
    save = tmp_path / "saved"
    script = f"""[ $RANK = 0 ] && {{ while [ ! -e {tmp_path}/ready ]; do sleep 0.1; done; exit 3; }}
                 trap 'for i in $(seq 120); do sleep 0.1; done; touch {save}; exit 0' TERM
                 touch {tmp_path}/ready; while :; do sleep 0.1; done"""
    done = doppio("run", "-n", 2, "--store", "none", *options, *shell(script))
    assert done.returncode == 3, done.output
    assert save.exists() == saved, done.output


@pytest.fixture
def srun(tmp_path):
    """A folder for PATH with a program that stands in for srun."""
    folder = tmp_path / "bin"
    folder.mkdir()
    tests = pathlib.Path(__file__).resolve().parents[1]
    program = folder / "srun"
    program.write_text(f"#!/bin/bash\nPYTHONPATH={tests} exec {sys.executable} "
                       f"{tests / 'launcher_stand_ins.py'} srun \"$@\"\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize("via, parts, saved",
                         [("local", 24, True), ("local", 1000, False), ("slurm", 24, True)])
def test_a_save_that_makes_progress_outlasts_the_stop_timeout(tmp_path, srun, via, parts, saved):
    """But not for ever: at most ten times."""
    save = tmp_path / "saved"
    script = f"""[ $RANK = 0 ] && {{ while [ ! -e {tmp_path}/ready ]; do sleep 0.1; done; exit 3; }}
                 trap 'for i in $(seq {parts}); do
                           head -c 1000000 /dev/zero > {save}.tmp; sleep 0.5
                           printf "part $i\\r" >&2
                       done; mv {save}.tmp {save}; exit 0' TERM
                 touch {tmp_path}/ready; while :; do sleep 0.1; done"""
    done = doppio("run", "-n", 2, "--store", "none", "--via", via, "--stop_timeout", 3,
                  *shell(script), env={"PATH": f"{srun}:{os.environ['PATH']}"})
    assert done.returncode == 3, done.output
    assert save.exists() == saved, done.output
    assert "shard 1 still writes files: waiting for it, at most " in done.output
    assert "it still writes files" not in done.output


def test_signals_reach_the_shards():
    script = "trap 'echo got USR; exit 5' TERM; echo ready; while :; do sleep 0.1; done"
    process = start("run", "-n", 2, "--store", "none", *shell(script))
    wait_for_ready(process, 2)
    process.terminate()
    output, _ = process.communicate(timeout=60)
    assert output.count("got USR") == 2
    assert process.returncode == 128 + 15
    assert "ended by signal 15 (Terminated)" in last_line(output)


def test_a_second_signal_ends_shards_that_ignore_the_first(marker):
    script = f"trap '' INT TERM; echo ready; while :; do sleep {marker}; done"
    process = start("run", "-n", 2, "--store", "none", *shell(script))
    wait_for_ready(process, 2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 128 + 2
    assert not alive(marker)
    process.stdout.close()


WRONG = {
    "no command": (["run", "-n", 2], "COMMAND is missing"),
    "no number": (["run", "--", "true"], "-n is missing"),
    "nothing": ([], "a command is missing"),
    "typo of a command": (["rnu"], "there is no command rnu; do you mean run?"),
    "typo of an option": (["run", "--max_restart", 3, "--", "true"], "do you mean --max_restarts?"),
    "number": (["run", "-n", "two", "--", "true"], "two"),
    "zero": (["run", "-n", 0, "--", "true"], "0 not in range"),
    "engine": (["run", "-n", 2, "--via", "rsh", "--", "true"], "rsh not in {"),
    "argument": (["run", "-n", 2, "trainer"], 'unexpected argument "trainer"'),
    "slots": (["run", "-n", 3, "-H", "localhost:2", "--", "true"], "the hosts have 2 slots"),
    "hosts": (["run", "-H", "a:x", "--", "true"], '"x" is not a number of slots'),
    "no file to grow by": (["run", "-n", "1", "--max_shards", "2", "--", "true"],
                           "--max_shards needs --hostfile"),
    "grow to fewer": (["run", "-n", "3", "--max_shards", "2", "--", "true"],
                      "--max_shards is 2, but -n is 3"),
    "two lists": (["run", "-H", "a", "--hostfile", "b", "--", "true"], "cannot be used together"),
    "local": (["run", "-H", "a.invalid", "--via", "local", "--", "true"], "this host only"),
    "ssh without hosts": (["run", "-n", 2, "--via", "ssh", "--", "true"], "--via ssh needs hosts"),
    "shards": (["run", "-n", 2, "--max_restarts", 1, "--min_shards", 3, "--", "true"],
               "--min_shards is 3, but -n is 2"),
    "min alone": (["run", "-n", 2, "--min_shards", 1, "--", "true"], "needs --max_restarts"),
    "run id": (["run", "-n", 2, "--run_id", "a b", "--", "true"], "--run_id is a b"),
    "store": (["run", "-n", 2, "--store", "10.0.0.1", "--", "true"], '--store is "10.0.0.1"'),
    "variable": (["run", "-n", 2, "-x", "NOT_SET_7", "--", "true"], "NOT_SET_7: this variable"),
    "program": (["run", "-n", 2, "--", "no_such_7"], "there is no program no_such_7 in PATH"),
    "file": (["run", "-n", 2, "--", "./no_such_7"],
             "cannot run ./no_such_7: No such file or directory"),
    "no program": (["run", "-n", 2, "--", "/etc/passwd"],
                   "cannot run /etc/passwd: Permission denied"),
    "folder": (["run", "-n", 2, "--", "/etc"], "cannot run /etc: it is a folder"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_one_line_and_nothing_starts(case):
    args, expected = WRONG[case]
    done = doppio(*args)
    assert done.returncode == 64, done.output
    assert expected in last_line(done.output)
    assert last_line(done.output).startswith("doppio: ")
    assert "[0]" not in done.output


def test_missing_files_have_their_own_codes(tmp_path):
    done = doppio("run", "--hostfile", tmp_path / "none", "--", "true")
    assert done.returncode == 66 and "--hostfile: cannot read" in last_line(done.output)
    done = doppio("run", "-n", 1, "--log_dir", "/proc/no", "--", "true")
    assert done.returncode == 73 and "--log_dir" in last_line(done.output)
    done = doppio("run", "-n", 1, "--", "bash", "-c", "true", env={"PATH": "/bin:/usr/none"})
    assert done.returncode in (0, 69), done.output  # /bin may have redis-server


def test_help_lists_commands_and_options():
    assert re.search(r"^  run  ", doppio("--help").output, re.M)
    assert "--max_restarts" in doppio("run", "--help").output
    assert doppio("--version").output.startswith("doppio, Doppio ")


@pytest.mark.parametrize("hosts", ["", " ", ",", "localhost,", "a,,b", ":3", "a, :2"])
def test_hosts_without_a_name_are_refused(hosts):
    done = run("doppio", "run", "-H", hosts, "--", "true")
    assert (done.returncode, done.output) == (
        64, f'doppio: -H is "{hosts}": the name of a host is empty; write -H HOST:SLOTS,HOST:SLOTS'
            "\n")
