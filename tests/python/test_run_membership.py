"""Python scripts whose nets join a run: what people see of it, and how it ends."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
import run_membership_worker

from caffe2.python import _import_c_extension as C
from redis_server import RedisServer

_LIMIT = 60  # seconds after which a shard counts as hung


class _RedisStore:
    """The server through which shards meet."""

    def __init__(self, password=None):
        self._server = RedisServer(password)
        self.name = f"redis:{self._server.port}"

    def keys(self, run_id):
        """What lies there under the run_id."""
        prefix = run_id + "/"
        return [key[len(prefix):] for key in self._server.keys() if key.startswith(prefix)]

    def status(self, run_id, shard):
        """{field: value}; empty before there is one."""
        lines = self._server.cli("hgetall", f"{run_id}/status/{shard}")
        return dict(zip(lines[::2], lines[1::2]))

    def close(self):
        self._server.kill()


class _FileStore:
    """The directory through which shards meet."""

    def __init__(self, folder):
        self._folder = folder
        self.name = f"file:{folder}"

    def keys(self, run_id):
        folder = self._folder / run_id
        return [path.name.replace("%2F", "/") for path in folder.glob("*")]

    def status(self, run_id, shard):
        path = self._folder / run_id / f"status%2F{shard}"
        text = path.read_text() if path.exists() else ""
        return dict(line.split(": ", 1) for line in text.splitlines())

    def close(self):
        pass


@pytest.fixture(params=["redis", "file"])
def store(request, tmp_path):
    opened = _RedisStore() if request.param == "redis" else _FileStore(tmp_path)
    yield opened
    opened.close()


class _Shards:
    """Processes of run_membership_worker."""

    def __init__(self):
        self._processes = []

    def start(self, store, shard, env=None, **flags):
        words = [f"--{name}={value}" for name, value in {"run_id": "run", **flags}.items()]
        process = subprocess.Popen(
            [sys.executable, run_membership_worker.__file__, f"--shard={shard}",
             f"--store={store.name}", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})})
        self._processes.append(process)
        return process

    def start_all(self, store, count=2, **flags):
        return [self.start(store, shard, num_shards=count, **flags) for shard in range(count)]

    def kill(self):
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def shards():
    group = _Shards()
    yield group
    group.kill()


def end_of(process):
    """(exit status, standard error) once the process has ended."""
    try:
        _, errors = process.communicate(timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"a shard hangs:\n{process.communicate()[1][-2000:]}")
    return process.returncode, errors


def wait_for_step(process, step):
    for line in process.stdout:
        if line.strip() == f"step {step}":
            return
    pytest.fail(f"a shard ended before step {step}:\n{process.communicate()[1][-2000:]}")


def failure_line(errors):
    """What the exception of a shard says."""
    return re.sub(r"^RuntimeError: ", "", errors.strip().splitlines()[-1])


def wait_until(condition):
    deadline = time.monotonic() + _LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_status_shows_the_training_and_goes_with_it(store, shards):
    processes = shards.start_all(store, steps=60, pause=0.05)
    for process in processes:
        wait_for_step(process, 20)
    seen = []
    wait_until(lambda: (seen.append(store.status("run", 1)),
                        float(seen[-1].get("images_per_second", 0)) > 0)[1])
    status = seen[-1]
    assert status["pid"] == str(processes[1].pid)
    assert status["state"] == "training"
    assert status["epoch"] == "0"
    assert 1 <= int(status["iteration"]) <= 60
    assert float(status["loss"]) > 0
    # 16 rows every 0.05 s or more, from which the time of the step itself is taken away. The first
    # window holds one step more than pauses.
    assert 0 < float(status["images_per_second"]) <= 1.15 * 16 / 0.05
    assert {"generation", "status/0", "1/member/0", "1/ready"} <= set(store.keys("run"))
    assert [end_of(process)[0] for process in processes] == [0, 0]
    assert store.keys("run") == []


def test_survivors_name_the_killed_shard_and_its_run_id_is_free(store, shards):
    processes = shards.start_all(store, count=3, steps=10**6)
    wait_for_step(processes[0], 3)
    processes[1].kill()
    processes[1].wait()  # as a zombie it would keep the file that it may have been writing
    ends = [end_of(processes[shard]) for shard in (0, 2)]
    assert [status for status, _ in ends] == [1, 1]
    first, second = (failure_line(errors) for _, errors in ends)
    assert first == second
    assert first.startswith("peer lost: shard=1 host=")
    assert f"pid={processes[1].pid} " in first
    # At once, although the store still holds keys of the dead shard.
    for process in shards.start_all(store, count=3):
        status, errors = end_of(process)
        assert status == 0, errors
    assert store.keys("run") == []


def test_run_whose_shards_all_died_starts_at_once(store, shards):
    for process in shards.start_all(store, steps=10**6):
        wait_for_step(process, 1)
    shards.kill()
    assert store.keys("run") != []
    for process in shards.start_all(store):
        status, errors = end_of(process)
        assert status == 0, errors
    assert store.keys("run") == []


def test_live_run_is_refused_by_host_and_pid(store, shards):
    processes = shards.start_all(store, steps=10**6)
    for process in processes:
        wait_for_step(process, 1)
    status, errors = end_of(shards.start(store, 1))
    assert status == 1
    pids = f"({processes[0].pid}|{processes[1].pid})"
    assert re.search(rf"^RuntimeError: run_id run is in use: shard \d on host \S+, pid {pids} ",
                     errors, re.MULTILINE), errors
    # The run continues.
    for process in processes:
        wait_for_step(process, 100)


def write_minidb(path, values):
    database = C.create_db("minidb", str(path), C.Mode.new)
    transaction = database.new_transaction()
    for i, value in enumerate(values):
        transaction.put(f"{i:08d}", value)
    transaction.commit()
    database.close()
    return path


def test_shards_with_other_data_are_refused_by_name(store, shards, tmp_path):
    both = write_minidb(tmp_path / "a.minidb", ["x"] * 5)
    other = write_minidb(tmp_path / "b.minidb", ["x"] * 4 + ["y"])
    for process in [shards.start(store, shard, database=both) for shard in range(2)]:
        status, errors = end_of(process)
        assert status == 0, errors
    processes = [shards.start(store, shard, database=path)
                 for shard, path in enumerate([both, other])]
    for process in processes:
        status, errors = end_of(process)
        assert status == 1
        sample = r"5 records \(all: 45 bytes, CRC-32 \w+\)"
        assert re.search(rf"data of reader differs: {sample} on shard [01], {sample} on shard [01]",
                         errors), errors


@pytest.mark.parametrize("end", ["exception", "exit", "interrupt"])
def test_failure_of_one_shard_is_printed_by_the_other_and_leaves_no_key(end, store, shards):
    flags = {"exception": {"raise_at": 5}, "exit": {"exit_with": 3}, "interrupt": {}}[end]
    steps = 5 if end == "exit" else 10**6
    failing = shards.start(store, 0, steps=steps, **flags)
    other = shards.start(store, 1, steps=10**6)
    wait_for_step(failing, 5)
    if end == "interrupt":
        failing.send_signal(signal.SIGINT)
    status, errors = end_of(failing)
    assert status == {"exception": 1, "exit": 3, "interrupt": -signal.SIGINT}[end], errors
    other_status, other_errors = end_of(other)
    assert other_status == 1
    line = failure_line(other_errors)
    assert line.startswith("peer lost: shard=0 host="), other_errors
    cause = {"exception": "LookupError: the labels ran out", "exit": "exit status 3",
             "interrupt": "KeyboardInterrupt"}[end]
    assert cause in line
    assert store.keys("run") == []


@pytest.mark.parametrize("end", ["after", "before"])
def test_a_shard_that_goes_on_alone_is_waited_for(end, shards, tmp_path):
    """A clean end of one shard is no failure of the other one, which still works."""
    store = _FileStore(tmp_path)
    pauses = {"after": (0.01, 0.5), "before": (0.5, 0.01)}[end]
    processes = [shards.start(store, shard, steps=3, pause=pauses[shard]) for shard in range(2)]
    for process in processes:
        status, errors = end_of(process)
        assert status == 0, errors
    assert store.keys("run") == []


@pytest.mark.parametrize("save, written", [("save_model", "model"), ("save_job", "node.1")])
def test_a_shard_that_leaves_without_the_store_is_not_lost_to_one_that_saves(
    save, written, shards, tmp_path
):
    for shard in "01":
        (tmp_path / shard).touch()
    store = _RedisStore()
    saves, leaves = shards.start_all(store, save=save, hold=tmp_path)
    wait_for_step(leaves, 3)
    wait_until((tmp_path / written).exists)
    store.close()
    (tmp_path / "1").unlink()
    status, errors = end_of(leaves)
    assert status == 0, errors
    time.sleep(8)  # several looks, each of which waits for the store
    (tmp_path / "0").unlink()
    status, errors = end_of(saves)
    assert status == 0, errors
    assert "goes on without its store" in errors
    assert "peer lost" not in errors


def test_interrupt_ends_the_wait_for_other_shards(store, shards):
    process = shards.start(store, 0)
    wait_until(lambda: "1/member/0" in store.keys("run"))
    process.send_signal(signal.SIGINT)
    status, errors = end_of(process)
    assert status == -signal.SIGINT
    assert errors.strip().splitlines()[-1] == "KeyboardInterrupt"
    assert "1/member/0" not in store.keys("run")


def test_interrupt_ends_the_wait_for_a_shard_that_stands_still(store, shards):
    """In a collective, Python's handler alone is not asked before the operation ends."""
    waiting, stopped = shards.start_all(store, steps=10**6)
    wait_for_step(waiting, 5)
    stopped.send_signal(signal.SIGSTOP)
    time.sleep(1)  # ample time to come to the next sum of gradients
    waiting.send_signal(signal.SIGINT)
    status, errors = end_of(waiting)
    assert status == -signal.SIGINT, errors
    assert errors.strip().splitlines()[-1] == "KeyboardInterrupt"
    # The stopped shard would be blamed if the other one had waited until its lease ended.
    stopped.send_signal(signal.SIGCONT)
    line = failure_line(end_of(stopped)[1])
    assert line.startswith("peer lost: shard=0 host="), line
    assert "interrupted while it waited for shard 1" in line


PASSWORD = "correct-horse-7431"


def test_password_of_the_store_is_in_no_net(shards, tmp_path):
    store = _RedisStore(password=PASSWORD)
    try:
        (tmp_path / "password").write_text(PASSWORD + "\n")
        (tmp_path / "password").chmod(0o600)
        in_file = {"CAFFE2_REDIS_PASSWORD_FILE": str(tmp_path / "password")}
        in_variable = {"REDISCLI_AUTH": PASSWORD}
        processes = [shards.start(store, shard, env=env, write_nets=tmp_path / f"nets{shard}")
                     for shard, env in enumerate([in_file, in_variable])]
        for process in processes:
            status, errors = end_of(process)
            assert status == 0, errors
            assert PASSWORD not in errors
        for shard in range(2):
            nets = (tmp_path / f"nets{shard}").read_bytes()
            assert b"CreateCommonWorld" in nets and PASSWORD.encode() not in nets
        status, errors = end_of(shards.start(store, 0, env={"REDISCLI_AUTH": "wrong-" + PASSWORD}))
        assert status == 1
        assert "WRONGPASS" in errors, errors
        assert PASSWORD not in errors
    finally:
        store.close()


@pytest.mark.parametrize("argument", ["password", "auth"])
def test_password_as_an_argument_is_refused(argument):
    from caffe2.python import core, workspace

    with pytest.raises(RuntimeError, match="CAFFE2_REDIS_PASSWORD_FILE") as error:
        workspace.RunOperatorOnce(core.CreateOperator(
            "RedisStoreHandlerCreate", [], ["handler"], host="127.0.0.1",
            **{argument: PASSWORD}))
    assert PASSWORD not in str(error.value)
