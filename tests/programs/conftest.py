"""Fixtures for the tests of the programs: tiny databases, a Redis server, running and waiting.

CAFFE2_BIN names the folder of the programs (default: build/release/bin).
"""

import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import threading
import time

import pytest

from launcher_dialects import clean_environment
from redis_server import RedisServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAFFE2_BIN", ROOT / "build" / "release" / "bin"))
LIMIT = 120  # seconds after which a program counts as hung


def write_idx(folder, stem, count, seed):
    """Writes `count` 28x28 images of ten classes that are easy to tell apart, as IDX files."""
    rng = random.Random(seed)
    images, labels = bytearray(), bytearray()
    for _ in range(count):
        label = rng.randrange(10)
        pixels = bytearray(rng.randrange(40) for _ in range(28 * 28))
        for row in range(2 * label + 4, 2 * label + 8):
            for column in range(4, 24):
                pixels[row * 28 + column] = 200 + rng.randrange(56)
        images += pixels
        labels.append(label)
    (folder / f"{stem}-images").write_bytes(struct.pack(">4I", 2051, count, 28, 28) + images)
    (folder / f"{stem}-labels").write_bytes(struct.pack(">2I", 2049, count) + labels)


def run(program, *args, env=None, limit=LIMIT, cwd=None, file_kib=None):
    """Runs a program to its end; returns the finished process with its text in `output`.

    With `file_kib`, no file that it writes may grow beyond so many KiB, as if the disk were full.
    """
    limited = [] if file_kib is None else ["bash", "-c", 'ulimit -f "$0"; exec "$@"', str(file_kib)]
    process = subprocess.run(
        [*limited, str(BIN / program), *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit,
        cwd=cwd,
        env=clean_environment(**{"OMP_NUM_THREADS": 1, **(env or {})}),
    )
    process.output = process.stdout
    return process


def training(databases, models, **flags):
    """Flags of a short run; `flags` adds or (with None) removes some."""
    values = {
        "train_data": databases / "train_lmdb",
        "test_data": databases / "test_lmdb",
        "db_type": "lmdb",
        "model": "lenet",
        "image_size": 28,
        "num_channels": 1,
        "num_labels": 10,
        "batch_size": 32,
        "epoch_size": 640,
        "num_epochs": 1,
        "base_learning_rate": 0.02,
        "file_store_path": models,
        "save_model_name": "model",
        "log_csv": "",
        "log_every": 5,
        **flags,
    }
    args = ["--use_cpu"]
    for name, value in values.items():
        if value is not None:
            args += [f"--{name}", str(value)]
    return args


def compiled(folder, name, source):
    """A library for LD_PRELOAD."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    (folder / f"{name}.c").write_text(source)
    library = folder / f"{name}.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", folder / f"{name}.c", "-o", library, "-ldl"], check=True
    )
    return library


def wait_for_line(process, text, limit=120):
    """Reads the output of a program up to a line that contains `text`. Ends a program that writes
    none in time."""
    late = threading.Event()

    def end():
        late.set()
        process.kill()

    timer = threading.Timer(limit, end)
    timer.start()
    try:
        if any(text in line for line in process.stdout):
            return
    finally:
        timer.cancel()
    pytest.fail(f"no {text!r} after {limit} s" if late.is_set() else
                f"a program ended without {text!r}")


def parameters(checkpoint):
    """The records of a checkpoint after the header, which holds times, and before the checksum."""
    key, value = struct.unpack("<ii", checkpoint[:8])
    return checkpoint[8 + key + value:checkpoint.index(b"!!CHECKSUM") - 8]


def last_line(output):
    return [line for line in output.strip().splitlines() if line][-1]


class Shards:
    """Processes that train together."""

    def __init__(self):
        self.processes = []

    def start(self, *args, cwd=None, program="resnet50_trainer", env=None):
        process = subprocess.Popen(
            [str(BIN / program), *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            env=clean_environment(**{"OMP_NUM_THREADS": 1, **(env or {})}),
        )
        self.processes.append(process)
        return process

    def wait(self, limit=LIMIT):
        """Waits for all; returns (exit status, output) of each. Fails if one hangs."""
        deadline = time.monotonic() + limit
        results = []
        for process in self.processes:
            try:
                output, _ = process.communicate(timeout=max(1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                output, _ = process.communicate()
                pytest.fail(f"a shard hangs; its output:\n{output[-2000:]}")
            results.append((process.returncode, output))
        return results

    def kill(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture
def shards():
    group = Shards()
    yield group
    group.kill()


def check_output(*command, **options):
    """Runs a command that must succeed; returns its text."""
    done = subprocess.run(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """The folder in which the build is installed."""
    build = BIN.parent
    if shutil.which("cmake") is None or not (build / "cmake_install.cmake").exists():
        pytest.skip(f"{build} is no build folder to install from")
    folder = tmp_path_factory.mktemp("prefix")
    check_output("cmake", "--install", build, "--prefix", folder)
    return folder


@pytest.fixture(scope="session")
def databases(tmp_path_factory):
    """A folder with train_lmdb (640 records) and test_lmdb (100 records)."""
    folder = tmp_path_factory.mktemp("databases")
    for stem, count in (("train", 640), ("test", 100)):
        write_idx(folder, stem, count, seed=count)
        made = run(
            "make_mnist_db", "--image_file", folder / f"{stem}-images", "--label_file",
            folder / f"{stem}-labels", "--db", "lmdb", "--output_file", folder / f"{stem}_lmdb",
        )
        assert made.returncode == 0, made.output
    return folder


@pytest.fixture(scope="session")
def slow_disk(tmp_path_factory):
    """The environment in which scripts/slow_disk.c slows reads and writes or fails flushes."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("slow_disk") / "slow_disk.so"
    check_output(
        "cc", "-shared", "-fPIC", "-O1", ROOT / "scripts" / "slow_disk.c", "-o", library, "-ldl"
    )
    return {"LD_PRELOAD": str(library)}


@pytest.fixture(scope="session")
def redis():
    """The port of a Redis server that all tests share."""
    server = RedisServer()
    yield server.port
    server.kill()


@pytest.fixture
def redis_server():
    """A RedisServer of the test's own."""
    server = RedisServer()
    yield server
    server.kill()
