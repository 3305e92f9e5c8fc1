"""doppio top, runs and clean, on the runs of real trainers."""

import signal
import stat
import time

import pytest

from conftest import BIN, last_line, run, training, wait_for_line
from launcher_dialects import free_port
from redis_server import redis_keys


@pytest.fixture(params=["redis", "files"])
def store(request, tmp_path):
    """(flags of a trainer, flags of doppio, a function that lists the keys or files of a run)."""
    if request.param == "files":
        folder = tmp_path / "store"
        folder.mkdir()
        return (
            {"rendezvous_path": folder}, ["--file_store_path", folder],
            lambda run_id: [*folder.glob(run_id + "/*")])
    server = request.getfixturevalue("redis_server")
    return (
        {"redis_host": "127.0.0.1", "redis_port": server.port},
        ["--redis_host", "127.0.0.1", "--redis_port", server.port],
        lambda run_id: [key for key in redis_keys(server.port) if key.startswith(run_id + "/")])


def start(shards, databases, folder, store, run_id, line="Finished iteration", **flags):
    """Two shards that train until they are killed. The first one has written `line`."""
    first = len(shards.processes)
    for shard in range(2):
        shards.start(*training(
            databases, folder, shard_id=shard, num_shards=2, run_id=run_id, batch_size=16,
            epoch_size=10_000_000, save_model_name="", **flags, **store[0]))
    wait_for_line(shards.processes[first], line)
    return shards.processes[first:]


def doppio(*args):
    return run("doppio", *args)


def rows_of(output, head):
    """The rows of a table, by column, below the line that begins with `head`."""
    lines = output.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(head))
    columns = [column.strip() for column in lines[at].split("  ") if column.strip()]
    return [dict(zip(columns, [cell.strip() for cell in line.split("  ") if cell.strip()]))
            for line in lines[at + 1:]]


def test_top_shows_every_shard(store, databases, shards, tmp_path):
    processes = start(shards, databases, tmp_path, store, "top-1")
    deadline = time.monotonic() + 60
    while True:  # the speed comes with the first line of progress
        done = doppio("top", "--once", "--run_id", "top-1", *store[1])
        assert done.returncode == 0, done.output
        rows = rows_of(done.output, "SHARD")
        if all(row["IMAGES/S"] != "-" for row in rows) or time.monotonic() > deadline:
            break
    assert done.output.startswith("run top-1, generation 1, 2 shards, alive, ")
    assert [row["SHARD"] for row in rows] == ["0", "1"]
    assert [row["PID"] for row in rows] == [str(process.pid) for process in processes]
    for row in rows:
        assert row["STATE"] == "training" and int(row["ITERATION"]) > 0
        assert row["EPOCH"] == "1"  # as in the line of progress
        assert float(row["IMAGES/S"]) > 0 and 0 < float(row["LOSS"]) < 40
        assert row["WAITS FOR"] in ("-", "0", "1")
    # The only run of a store needs no name.
    assert doppio("top", "--once", *store[1]).output.startswith("run top-1, ")
    done = doppio("top", "--once", "--run_id", "other", *store[1])
    assert done.returncode == 66
    assert last_line(done.output).endswith("there is no run other in the store; it has top-1")


def test_top_counts_iterations_that_are_not_logged(store, databases, shards, tmp_path):
    """Before the first logged iteration neither a speed nor a loss is known."""
    start(shards, databases, tmp_path, store, "top-2", line="Starting epoch", log_every=10**9)
    counts = []
    deadline = time.monotonic() + 60
    while len(counts) < 2 and time.monotonic() < deadline:
        output = doppio("top", "--once", "--run_id", "top-2", *store[1]).output
        rows = rows_of(output, "SHARD")
        assert all((row["IMAGES/S"], row["LOSS"]) == ("-", "-") for row in rows)
        assert output.splitlines()[0].endswith(", - images/s")
        now = min(int(row["ITERATION"]) if row["ITERATION"] != "-" else 0 for row in rows)
        if now > (counts[-1] if counts else 0):
            counts.append(now)
    assert len(counts) == 2


def test_top_shows_nothing_of_a_shard_that_has_left(store, databases, shards, tmp_path):
    """The other shard is killed, so this one leaves, and its status goes with it."""
    processes = start(shards, databases, tmp_path, store, "top-3")
    processes[0].kill()
    processes[1].wait(timeout=60)
    rows = rows_of(doppio("top", "--once", "--run_id", "top-3", *store[1]).output, "SHARD")
    assert rows[1] == {**dict.fromkeys(rows[1], "-"), "SHARD": "1", "STATE": "dead"}


def test_clean_removes_dead_runs_and_refuses_live_ones(store, databases, shards, tmp_path):
    dead = start(shards, databases, tmp_path, store, "dead-1")
    for process in dead:
        process.kill()
        process.wait()
    live = start(shards, databases, tmp_path, store, "live-1")
    assert store[2]("dead-1")

    rows = {row["RUN"]: row for row in rows_of(doppio("runs", *store[1]).output, "RUN")}
    assert rows["dead-1"]["LIFE"] == "dead" and rows["live-1"]["LIFE"] == "alive"
    assert (rows["live-1"]["EPOCH"], rows["dead-1"]["EPOCH"]) == ("1", "1")
    assert rows["live-1"]["SHARDS"] == "2" and rows["live-1"]["FAILURE"] == "-"

    done = doppio("clean", "--run_id", "live-1", *store[1])
    assert done.returncode == 77
    assert "run live-1 is not dead: shard 0 (host " in last_line(done.output)
    assert f"pid {live[0].pid}) is alive" in last_line(done.output)

    done = doppio("clean", *store[1])
    assert done.returncode == 0, done.output
    assert "removed run dead-1 (" in done.output and "kept run live-1: shard 0" in done.output
    assert store[2]("dead-1") == [] and store[2]("live-1")
    assert all(process.poll() is None for process in live)
    for process in live:
        process.kill()
        process.wait()
    assert "removed run live-1" in doppio("clean", "--run_id", "live-1", *store[1]).output
    done = doppio("runs", *store[1])
    assert rows_of(done.output, "RUN") == [] and "the store has no runs\n" in done.output


@pytest.mark.parametrize("password", [None, "hunter2"])
def test_the_store_of_a_tcp_run(password, databases, shards, tmp_path):
    """It is asked with the run's name, which is its password if there is no other."""
    url = f"tcp://127.0.0.1:{free_port()}"
    store, secret = {"init_method": url}, []
    if password is not None:
        (tmp_path / "password").write_text(password + "\n")
        (tmp_path / "password").chmod(0o600)
        secret = ["--redis_password_file", tmp_path / "password"]
        store["redis_password_file"] = secret[1]
    live = start(shards, databases, tmp_path, (store,), "tcp-1")
    flags = ["--store", url, "--run_id", "tcp-1"]
    done = doppio("top", "--once", *flags, *secret)
    assert done.returncode == 0, done.output
    assert done.output.startswith("run tcp-1, generation 1, 2 shards, alive, ")
    assert [row["PID"] for row in rows_of(done.output, "SHARD")] == [
        str(process.pid) for process in live]
    row, = rows_of(doppio("runs", *flags, *secret).output, "RUN")
    assert (row["RUN"], row["LIFE"]) == ("tcp-1", "alive")
    done = doppio("clean", *flags, *secret)
    assert done.returncode == 77 and "run tcp-1 is not dead" in last_line(done.output)
    # A stranger, who does not know the password, learns nothing.
    strangers = [["--store", url, "--run_id", "other"]] + ([flags] if password else [])
    for words in strangers:
        done = doppio("top", "--once", *words)
        assert done.returncode == 69, done.output
        assert "tcp-1" not in done.output.replace("run tcp-1: no store", "")


def test_keys_of_other_programs_are_left_alone(redis_server):
    for key, value in [
        ("a b/generation", "1"), ("odd/generation", "1"), ("else", "2"),
        ("signed/generation", "hmac-sha256 00 2"),
    ]:
        redis_server.cli("SET", key, value)
    redis_server.cli("SET", "odd/1/member/0", "\x1b[31m %%")
    flags = ["--redis_host", "127.0.0.1", "--redis_port", redis_server.port]
    done = doppio("runs", *flags)
    assert done.returncode == 0 and "\x1b" not in done.output
    assert [row["RUN"] for row in rows_of(done.output, "RUN")] == ["odd", "signed"]
    before = redis_keys(redis_server.port)
    done = doppio("clean", *flags)
    assert done.returncode == 0 and done.output.count("its values cannot be read") == 2
    done = doppio("clean", "--run_id", "signed", *flags)
    assert done.returncode == 77 and "--secret_file" in last_line(done.output)
    assert redis_keys(redis_server.port) == before


def test_a_store_without_runs_is_named(tmp_path):
    done = doppio("top", "--once", "--file_store_path", tmp_path)
    assert (done.returncode, done.output) == (66, "doppio: there is no run in the store\n")


def test_clean_says_that_there_is_nothing_to_remove(store):
    done = doppio("clean", *store[1])
    assert (done.returncode, done.output) == (0, "the store has no runs: nothing to remove\n")


@pytest.mark.parametrize("args, status, text", [
    (["top"], 64, "Give --redis_host HOST, --file_store_path DIRECTORY or --store URL"),
    (["runs", "--redis_host", "a", "--file_store_path", "b"], 64, "give only one of"),
    (["runs", "--store", "tcp://a:1"], 64, "--store tcp://a:1 needs --run_id"),
    (["top", "--store", "tcp://127.0.0.1:1", "--run_id", "x"], 69, "no store at tcp://127.0.0.1:1"),
    (["runs", "--file_store_path", "/nothing"], 69, "/nothing"),
    (["clean", "--redis_host", "127.0.0.1", "--redis_port", "1"], 69,
     "127.0.0.1:1: Connection refused: start redis-server there, open its port in the firewall, or "
     "correct --redis_host and --redis_port"),
    (["top", "--store", "redis://127.0.0.1:1"], 69, "start redis-server there, open its port in "
     "the firewall, or correct --store"),
    (["top", "--interval", "0", "--redis_host", "a"], 64,
     "top: --interval: must be from 0.1 to 3600, found 0 (see doppio top --help)"),
    (["top", "--interval", "soon", "--redis_host", "a"], 64,
     "--interval: must be from 0.1 to 3600, found soon"),
])
def test_bad_input(args, status, text, tmp_path):
    done = run("doppio", *args, env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == status, done.output
    assert text in last_line(done.output)


def launch(shards, databases, folder, run_id, runtime):
    """A run of `doppio run` whose store the launcher keeps."""
    launcher = shards.start(
        "run", "-n", 2, "--run_id", run_id, "--", BIN / "resnet50_trainer",
        *training(databases, folder, epoch_size=10_000_000, save_model_name="", test_data=None),
        program="doppio", env={"XDG_RUNTIME_DIR": str(runtime)})
    wait_for_line(launcher, "Finished iteration")
    return launcher


def test_runs_of_this_user_are_found_without_flags(databases, shards, tmp_path):
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    first = launch(shards, databases, tmp_path, "first", tmp_path)
    (file,) = (tmp_path / "doppio").glob("*.run")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    done = run("doppio", "top", "--once", env=env)
    assert done.output.startswith("run first, generation 1, 2 shards, alive, "), done.output
    second = launch(shards, databases, tmp_path, "second", tmp_path)
    done = run("doppio", "top", "--once", env=env)
    assert (done.returncode, done.output) == (
        64, "doppio: --run_id is needed: on this machine are the runs first, second\n")
    done = run("doppio", "top", "--once", "--run_id", "second", env=env)
    assert done.output.startswith("run second, "), done.output
    found = run("doppio", "runs", env=env)
    assert [row["RUN"] for row in rows_of(found.output, "RUN")] == ["first", "second"]
    done = run("doppio", "top", "--run_id", "third", env=env)
    assert done.returncode == 64 and "only first, second" in done.output
    # A launcher that ends removes its file; a killed one's is not believed.
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    second.kill()
    second.communicate(timeout=60)
    assert len([*file.parent.glob("*.run")]) == 1
    done = run("doppio", "runs", env=env)
    assert rows_of(done.output, "RUN") == []
    assert "no doppio run of this user is under way on this machine; for runs" in done.output
    assert [*file.parent.glob("*.run")] == []


def test_a_directory_of_others_holds_no_password(databases, shards, tmp_path):
    folder = tmp_path / "doppio"
    folder.mkdir()
    folder.chmod(0o777)
    launcher = shards.start("run", "-n", 1, "--", "true", program="doppio",
                            env={"XDG_RUNTIME_DIR": str(tmp_path)})
    output, _ = launcher.communicate(timeout=60)
    assert launcher.returncode == 0, output
    assert f"{folder} is not a directory that only this user can read and write" in output
    assert [*folder.iterdir()] == []
