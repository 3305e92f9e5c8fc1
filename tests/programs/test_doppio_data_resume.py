"""`doppio data prepare` that is interrupted, killed, damaged or started twice goes on."""

import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from data_sets import inspect, make_pictures, prepare

from conftest import BIN, run
from launcher_dialects import clean_environment


@pytest.fixture
def pictures(tmp_path):
    return make_pictures(tmp_path / "pictures")


def many_pictures(tmp_path, count):
    """Enough bytes to be saved several times; the names differ."""
    folder, large = tmp_path / "many", tmp_path / "large.ppm"
    large.write_bytes(b"P6 1000 1000 255\n" + bytes(range(250)) * 12000)
    for i in range(count):
        (folder / f"{i % 2}").mkdir(parents=True, exist_ok=True)
        (folder / f"{i % 2}" / f"{i:03}.ppm").symlink_to(large)
    return folder


def saved_records(output):
    """How many records of the source an unfinished database holds."""
    state = output.with_name(output.name + ".unfinished.state")
    try:
        return int(state.read_text().splitlines()[1].split()[1])
    except (FileNotFoundError, IndexError):
        return 0


@pytest.fixture
def slow_saves(slow_disk, tmp_path):
    """The environment in which saving how far a database is takes most of the time."""
    (tmp_path / "slow").write_text("300")
    return {**slow_disk, "SLOW_WRITES": str(tmp_path / "slow"), "SLOW_PATHS": "unfinished.state"}


def start_preparing(args, env, output):
    """Starts the command and waits until it has saved records."""
    process = subprocess.Popen([str(BIN / "doppio"), *map(str, args)], stderr=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=clean_environment(**env))
    while saved_records(output) == 0:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process


def interrupt(args, env, output, number):
    process = start_preparing(args, env, output)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number), errors
    assert not output.exists()
    return errors


def summary_of(done):
    """The line of the finished database without its path: counts, bytes and checksum."""
    return re.search(r"^\S+: (\d+ records, .*checksum.*)$", done.output, re.MULTILINE).group(1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("db", ["lmdb", "leveldb", "minidb"])
def test_an_interrupted_run_is_continued(slow_saves, tmp_path, db, number):
    folder, output, whole = many_pictures(tmp_path, 60), tmp_path / "db", tmp_path / "whole"
    args = ["data", "prepare", "folder", "--input", folder, "--db", db, "--threads", 1, "--shuffle"]
    expected = run("doppio", *args, "--output", whole)
    assert expected.returncode == 0, expected.output
    args += ["--output", output]
    errors = interrupt(args, slow_saves, output, number)
    before = saved_records(output)
    assert 0 < before < 60
    if number == signal.SIGINT:
        assert "doppio data prepare: interrupted" in errors
        assert f"db.unfinished keeps {before} of 60 records; run the command again" in errors
    done = run("doppio", *args)
    assert done.returncode == 0, done.output
    assert f"going on after {before} of 60 records" in done.output
    assert summary_of(done) == summary_of(expected)
    assert sorted(path.name for path in tmp_path.glob("db*")) == ["db", "db.classes.txt"]
    assert inspect(output)["total"] == 60
    for path in (whole, output):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("db", ["lmdb", "leveldb", "minidb"])
def test_records_that_the_state_does_not_count_are_made_again(slow_saves, tmp_path, db):
    folder, output, old = many_pictures(tmp_path, 60), tmp_path / "db", tmp_path / "old_state"
    args = ["data", "prepare", "folder", "--input", folder, "--db", db, "--threads", 1,
            "--output", output]
    process = start_preparing(args, slow_saves, output)
    shutil.copy(tmp_path / "db.unfinished.state", old)
    before = saved_records(output)
    while saved_records(output) == before:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.kill()
    process.communicate()
    shutil.copy(old, tmp_path / "db.unfinished.state")
    done = run("doppio", *args)
    assert done.returncode == 0, done.output
    assert f"going on after {before} of 60 records" in done.output
    assert inspect(output)["total"] == 60


@pytest.mark.parametrize("db", ["lmdb", "minidb"])
def test_a_full_disk_costs_no_saved_records(tmp_path, db):
    folder, output = many_pictures(tmp_path, 60), tmp_path / "db"
    args = ["data", "prepare", "folder", "--input", folder, "--db", db, "--threads", 1,
            "--output", output]
    failed = run("doppio", *args, file_kib=100_000)  # the database needs 180 MB
    assert failed.returncode == 73, failed.output
    before = saved_records(output)
    assert f"db.unfinished keeps {before} of 60 records" in failed.output and before > 0
    again = run("doppio", *args, file_kib=100_000)
    assert again.returncode == 73 and saved_records(output) >= before, again.output
    done = run("doppio", *args)
    assert done.returncode == 0, done.output
    assert "going on after" in done.output
    assert inspect(output)["total"] == 60


@pytest.mark.parametrize("change", ["files", "options"])
def test_changed_files_or_options_start_anew(slow_saves, tmp_path, change):
    folder, output = many_pictures(tmp_path, 60), tmp_path / "db"
    args = ["data", "prepare", "folder", "--input", folder, "--output", output, "--threads", 1]
    interrupt(args, slow_saves, output, signal.SIGINT)
    if change == "files":
        for i in range(4, 60):
            (folder / f"{i % 2}" / f"{i:03}.ppm").unlink()
    else:
        args += ["--scale", 32]
    done = run("doppio", *args)
    assert done.returncode == 0, done.output
    assert "db.unfinished was made with other options or from other files" in done.output
    assert sorted(path.name for path in tmp_path.glob("db*")) == ["db", "db.classes.txt"]
    assert inspect(output)["total"] == (4 if change == "files" else 60)


def test_a_folder_of_that_name_is_not_touched(pictures, tmp_path):
    other = tmp_path / "db.unfinished"
    other.mkdir()
    (other / "photo").write_text("mine")
    done = prepare("folder", "--input", pictures, "--output", tmp_path / "db")
    assert done.returncode == 73
    assert "db.unfinished exists, but this command has not made it" in done.output
    assert (other / "photo").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@pytest.mark.parametrize("planted", ["link", "database", "state", "lock"])
def test_in_a_shared_folder_nothing_of_another_user_is_used(slow_saves, tmp_path, planted):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    output, unfinished = shared / "db", shared / "db.unfinished"
    args = ["data", "prepare", "folder", "--input", many_pictures(tmp_path, 60), "--output",
            output, "--threads", 1, "--db", "minidb"]  # fmt: skip
    interrupt(args, slow_saves, output, signal.SIGINT)
    precious = tmp_path / "precious"
    precious.write_bytes(unfinished.read_bytes() + b"precious")
    if planted == "link":
        unfinished.unlink()
        unfinished.symlink_to(precious)
    path = shared / "db.unfinished.state" if planted == "state" else unfinished
    if planted == "lock":
        path = shared / "db.unfinished.lock"
        path.unlink(missing_ok=True)
        path.symlink_to(precious)
    os.lchown(path, 12345, 12345)
    done = run("doppio", *args)
    assert precious.read_bytes().endswith(b"precious")
    assert done.returncode == 77, done.output
    reason = ("it is a link; remove it" if planted == "lock"
              else f"{path} belongs to another user, and everybody may write to its folder")
    assert reason in done.output


def test_a_damaged_image_does_not_cost_the_ones_before_it(pictures, tmp_path):
    args = ["data", "prepare", "folder", "--input", pictures, "--output", tmp_path / "db"]
    (pictures / "dog" / "00.ppm").write_bytes(b"P6 no picture")
    failed = run("doppio", *args)
    assert failed.returncode == 65, failed.output
    assert "db.unfinished keeps 12 of 20 records" in failed.output
    done = run("doppio", *args, "--max_bad_records", 1)
    assert done.returncode == 0, done.output
    assert "going on after 12 of 20 records" in done.output
    assert inspect(tmp_path / "db")["total"] == 19


def test_two_commands_do_not_make_one_database(slow_saves, tmp_path):
    folder, output = many_pictures(tmp_path, 60), tmp_path / "db"
    args = ["data", "prepare", "folder", "--input", folder, "--output", output, "--threads", 1]
    process = start_preparing(args, slow_saves, output)
    try:
        os.kill(process.pid, signal.SIGSTOP)
        second = run("doppio", *args)
        os.kill(process.pid, signal.SIGCONT)
        (tmp_path / "slow").unlink()
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert second.returncode == 77 and f"pid {process.pid}" in second.output, second.output
    assert process.returncode == 0, errors
    assert inspect(output)["total"] == 60
