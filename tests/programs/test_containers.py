"""examples/containers: what the files tell the programs is what the programs know and do."""

import os
import re
import shlex
import socket
import subprocess
import time

import pytest
from test_docs import flags_of, options_of_doppio

from conftest import BIN, LIMIT, ROOT, run, wait_for_line
from launcher_dialects import clean_environment, free_port

yaml = pytest.importorskip("yaml")  # MkDocs brings it

FOLDER = ROOT / "examples" / "containers"
TRAINER = "resnet50_trainer"
SECRET = "/run/secrets/redis_password"


def compose():
    return yaml.safe_load((FOLDER / "compose.yaml").read_text())


def kubernetes(kind, name):
    documents = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
    return next(d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name)


def assert_known(program, arguments):
    """Every argument is a flag of the program, given a value where it needs one."""
    known = options_of_doppio() if program == "doppio" else flags_of(program).keys()
    named = {word[2:].partition("=")[0] for word in arguments if word.startswith("--")}
    assert named
    assert named <= set(known)


@pytest.fixture(scope="module")
def password_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("secrets") / "redis_password"
    path.write_text("correct-horse\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def store(password_file, tmp_path):
    """The port of a Redis server that the command of compose.yaml has started."""
    port = free_port()
    shell, option, script = compose()["services"]["redis"]["command"]
    script = script.replace("$$", "$").replace("/tmp", str(tmp_path))
    script = script.replace(SECRET, str(password_file)) + f" --port {port} --bind 127.0.0.1"
    server = subprocess.Popen([shell, option, script], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + LIMIT
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert server.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    yield port
    server.kill()
    server.wait()


def variables_of_shard(shard, store, password_file):
    """The variables that compose.yaml gives a shard, for a server on this host."""
    variables = compose()["services"][f"shard-{shard}"]["environment"]
    places = {SECRET: str(password_file), "redis://redis": f"redis://127.0.0.1:{store}"}
    return {name: places.get(value, value) for name, value in variables.items()}


def health_check(variables):
    """The status of the image's health check in a container with these variables, and its text."""
    text = (FOLDER / "Containerfile").read_text()
    command = re.search(r"^HEALTHCHECK .*?CMD (.*?)^CMD", text, re.DOTALL | re.MULTILINE)[1]
    done = subprocess.run(
        ["sh", "-c", command.replace("\\\n", "")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        env=clean_environment(**variables, PATH=f"{BIN}:{os.environ['PATH']}"),
    )
    return done.returncode, done.stdout


def test_the_services_of_compose_train_together(shards, store, password_file, tmp_path):
    services = compose()["services"]
    shell, option, script = services["data"]["command"]
    script = re.sub(r"--train \d+ --test \d+", "--train 640 --test 100", script)
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    subprocess.run([shell, option, script], check=True, cwd=tmp_path, env=environment)
    for shard in range(2):
        program, *arguments = services[f"shard-{shard}"]["command"]
        variables = variables_of_shard(shard, store, password_file)
        shards.start(*arguments, program=program, cwd=tmp_path, env=variables)
    for status, output in shards.wait():
        assert status == 0, output
    assert (tmp_path / "lenet-0004.mdl").exists()


def test_the_health_check_tells_live_runs_from_dead_ones(
    databases, shards, store, password_file, tmp_path
):
    assert health_check({}) == (0, "")  # no shard
    variables = [variables_of_shard(shard, store, password_file) for shard in range(2)]
    status, text = health_check(variables[0])
    assert status != 0 and "there is no run digits" in text
    for shard in range(2):
        arguments = ["--use_cpu", "--network", "mlp", "--num_examples", "0", "--batch_size", "8"]
        arguments += ["--train_data", databases / "train_lmdb", "--num_epochs", "100000"]
        shards.start(*arguments, program="mnist_trainer", cwd=tmp_path, env=variables[shard])
    wait_for_line(shards.processes[0], "Epoch[0]")
    status, text = health_check(variables[1])
    assert status == 0, text
    shards.kill()
    status, text = health_check(variables[1])
    assert status == 75
    assert "shard 0 of run digits is dead" in text


def test_programs_refuse_the_secret_if_everybody_can_read_it(password_file, store, tmp_path):
    """So that the modes of secrets in the manifests matter."""
    copy = tmp_path / "open"
    copy.write_text(password_file.read_text())
    copy.chmod(0o644)
    options = ["--redis_host=127.0.0.1", f"--redis_port={store}"]
    assert run("doppio", "runs", *options, f"--redis_password_file={password_file}").returncode == 0
    assert run("doppio", "runs", *options, f"--redis_password_file={copy}").returncode == 77
    for owner in (kubernetes("Deployment", "doppio-redis"), kubernetes("Job", "train")):
        pod = owner["spec"]["template"]["spec"]
        secret = next(volume["secret"] for volume in pod["volumes"] if "secret" in volume)
        assert secret["defaultMode"] & 0o007 == 0
        assert pod["securityContext"]["fsGroup"] == 1000


def test_the_health_check_of_the_redis_service_knows_its_options():
    _, program, command, *options = compose()["services"]["redis"]["healthcheck"]["test"]
    assert (program, command) == ("doppio", "runs")
    assert_known("doppio", options)


def test_the_job_of_kubernetes_fits_the_programs(databases, shards, store, password_file, tmp_path):
    job = kubernetes("Job", "train")["spec"]
    container = job["template"]["spec"]["containers"][0]
    variables = {entry["name"]: entry["value"] for entry in container["env"]}
    assert job["completionMode"] == "Indexed"
    assert job["completions"] == job["parallelism"] == int(variables["WORLD_SIZE"])
    program, *arguments = container["command"]
    assert program == TRAINER
    assert_known(program, arguments)
    # The names that the shards derive are the names that the manifest makes.
    service = kubernetes("Service", job["template"]["spec"]["subdomain"])
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {"job-name": "train"}
    redis = next(word for word in arguments if word.startswith("--redis_host="))
    assert kubernetes("Service", redis.partition("=")[2])["spec"]["ports"] == [{"port": 6379}]
    # Two processes with the variables of such pods.
    places = {
        "--train_data": databases / "train_lmdb",
        "--file_store_path": tmp_path,
        "--redis_host": "127.0.0.1",
        "--redis_password_file": password_file,
    }
    flags = [
        f"{name}={places.get(name, value)}" if equals else name
        for name, equals, value in (word.partition("=") for word in arguments)
    ]
    flags += [f"--redis_port={store}", "--model=mlp", "--image_size=28", "--num_channels=1"]
    flags += ["--num_labels=10", "--epoch_size=640", "--num_epochs=1"]
    for index in range(2):
        pod = {"JOB_COMPLETION_INDEX": index, "HOSTNAME": f"train-{index}", **variables}
        shards.start(*flags, env=pod)
    for status, output in shards.wait():
        assert status == 0, output
    assert "Kubernetes: shard 1 of 2" in output


def test_the_job_ends_at_once_where_a_second_try_changes_nothing():
    table = (ROOT / "docs" / "launchers.md").read_text()
    hopeless = [int(code) for code in re.findall(r"^\| (\d+) \| .* \| no \|$", table, re.MULTILINE)]
    rule = kubernetes("Job", "train")["spec"]["podFailurePolicy"]["rules"][0]
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"]["values"] == hopeless


def test_the_slurm_script_is_a_script_with_known_flags():
    path = FOLDER / "train.slurm"
    subprocess.run(["bash", "-n", path], check=True)
    text = path.read_text()
    srun, program, *arguments = shlex.split(re.search(r"^srun .*", text, re.M | re.S)[0])
    assert (srun, program) == ("srun", TRAINER)
    assert_known(program, arguments)


def test_the_image_runs_as_the_user_of_the_manifests():
    text = (FOLDER / "Containerfile").read_text()
    user = re.search(r"useradd --uid (\d+) .* (\w+) &&", text)
    assert re.search(r"^USER (\w+)$", text, re.MULTILINE)[1] == user[2]
    for owner in (kubernetes("Deployment", "doppio-redis"), kubernetes("Job", "train")):
        context = owner["spec"]["template"]["spec"]["securityContext"]
        assert context["runAsNonRoot"] and context["runAsUser"] == int(user[1])
