"""What a full disk gets: one clear line, a status, nothing half-written."""

import os
import re
import subprocess

import pytest
from test_surroundings import in_mount_namespace

from conftest import BIN, last_line, run, training, write_idx
from launcher_dialects import clean_environment

FULL = ("No space left", "File too large", "disk full")


def check_full(done, *names):
    """Asserts that a program ended with one line that says why and names the file."""
    assert 0 < done.returncode < 128, f"status {done.returncode}: {done.output[-2000:]}"
    line = last_line(done.output)
    assert any(text in line for text in FULL), line
    assert ".tmp." not in line, "it must name the user's file"
    for name in names:
        assert name in line


@pytest.mark.parametrize("kind", ["lmdb", "leveldb", "minidb"])
def test_databases(kind, databases, tmp_path):
    write_idx(tmp_path, "digits", 640, seed=1)
    made = run(
        "make_mnist_db", "--image_file", tmp_path / "digits-images", "--label_file",
        tmp_path / "digits-labels", "--db", kind, "--output_file", tmp_path / "database",
        file_kib=100,
    )
    check_full(made, f"{tmp_path}/database")
    assert made.returncode == 73
    copied = run(
        "convert_db", "--input_db", databases / "train_lmdb", "--input_db_type", "lmdb",
        "--output_db", tmp_path / "copy", "--output_db_type", kind, file_kib=100,
    )
    check_full(copied, f"{tmp_path}/copy")
    assert copied.returncode == 73
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["digits-images", "digits-labels"]


def test_what_a_small_disk_lacks_is_told(databases, tmp_path):
    """The line has the bytes that the file needs and the ones that are free."""
    disk = tmp_path / "disk"
    disk.mkdir()
    flags = training(databases, disk, save_model_name="", checkpoint_path=disk / "checkpoint",
                     checkpoint_every=5, max_iterations=5, test_data=None)
    assert run("resnet50_trainer", *flags).returncode == 0
    size = (disk / "checkpoint").stat().st_size
    mount = in_mount_namespace('mount -t tmpfs -o size=100k none "$0"; exec "$@"', str(disk))
    done = subprocess.run(
        [*mount, str(BIN / "resnet50_trainer"), *flags], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=120, env=clean_environment(OMP_NUM_THREADS=1))
    done.output = done.stdout
    check_full(done, f"{disk}/checkpoint:")
    numbers = re.search(r"; the file needs (\d+) KiB, and (\d+) KiB are free$",
                        last_line(done.output))
    assert numbers, done.output[-1000:]
    assert 0.98 * size < int(numbers.group(1)) * 1024 < size + 1024
    assert 80 <= int(numbers.group(2)) <= 100


def test_pages(databases, tmp_path):
    page = tmp_path / "page.html"
    check_full(run("doppio", "data", "inspect", databases / "train_lmdb", "--html", page,
                   file_kib=4), "page.html")
    assert not list(tmp_path.iterdir())


def test_drawn_digits(tmp_path):
    done = run("render_digits", "--output_dir", tmp_path, "--train", 500, "--test", 10,
               file_kib=100)
    check_full(done, "train-images-idx3-ubyte")
    assert list(tmp_path.iterdir()) == []


def test_models_and_checkpoints(databases, tmp_path):
    flags = training(databases, tmp_path, log_csv="")
    check_full(run("resnet50_trainer", *flags, file_kib=100), "model_1.mdl")
    assert list(tmp_path.iterdir()) == []
    checkpoint = tmp_path / "checkpoint"
    flags = training(databases, tmp_path, save_model_name="", checkpoint_path=checkpoint,
                     checkpoint_every=5, max_iterations=5)
    assert run("resnet50_trainer", *flags).returncode == 0
    whole = checkpoint.read_bytes()
    flags = training(databases, tmp_path, save_model_name="", checkpoint_path=checkpoint,
                     checkpoint_every=5, max_iterations=15)
    check_full(run("resnet50_trainer", *flags, "--resume", file_kib=100), "checkpoint")
    assert checkpoint.read_bytes() == whole, "the checkpoint before is harmed"
    assert list(tmp_path.iterdir()) == [checkpoint]


def test_the_log_of_epochs(databases, tmp_path):
    flags = training(databases, tmp_path, save_model_name="", log_csv=tmp_path / "epochs.csv")
    check_full(run("resnet50_trainer", *flags, file_kib=0), "epochs.csv")
    assert list(tmp_path.iterdir()) == []
    flags = training(databases, tmp_path, save_model_name="", log_csv="/dev/full")
    check_full(run("resnet50_trainer", *flags), "/dev/full")


def test_the_file_store(databases, tmp_path):
    flags = training(databases, tmp_path, num_shards=2, shard_id=0, run_id="full",
                     rendezvous_timeout=5)
    check_full(run("resnet50_trainer", *flags, file_kib=0), "full")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_standard_output():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [str(BIN / "print_registered_core_operators")], stdout=full, stderr=subprocess.PIPE,
            text=True, env=os.environ,
        )
    assert done.returncode == 73
    assert "No space left" in done.stderr
