"""The line for the whole job, and the bar on terminals."""

import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

from conftest import BIN, run, training
from launcher_dialects import clean_environment

LINE = re.compile(
    r"Job: epoch (\d)/3, ([\d.]+) %, ETA (\d+:\d\d), loss \d+\.\d{4}, top-1 [01]\.\d{4}, "
    r"\d+\.\d\d images/s of 1 shard, input wait [\d.]+ %$", re.MULTILINE)


def test_the_log_has_a_line_for_the_whole_job(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, num_epochs=3))
    assert done.returncode == 0, done.output
    lines = LINE.findall(done.output)
    assert [(epoch, percent) for epoch, percent, _ in lines] == [
        ("1", "33.3"), ("2", "66.7"), ("3", "100.0")]
    assert lines[2][2] == "0:00"


def test_the_line_of_an_epoch_is_about_all_of_it(databases, tmp_path):
    """Its means are over the epoch, not over the iterations since the last report."""
    done = run("resnet50_trainer", *training(databases, tmp_path, num_epochs=2, log_every=19,
                                             log_dir=tmp_path / "log"))
    assert done.returncode == 0, done.output
    events = [json.loads(line) for line in (tmp_path / "log" / "metrics.jsonl").open()]
    lines = re.findall(r"Job: .*loss ([\d.]+), top-1 ([\d.]+), ([\d.]+) images/s of 1 shard, input "
                       r"wait ([\d.]+) %", done.output)
    epochs = [event for event in events if event["event"] == "epoch"]
    assert len(lines) == len(epochs) == 2
    for line, epoch in zip(lines, epochs):
        parts = [event for event in events
                 if event["event"] == "iteration" and event["epoch"] == epoch["epoch"]]
        assert len(parts) > 1
        seconds = [32 * part["iterations"] / part["images_per_second"] for part in parts]
        waited = sum(part["input_wait"] * time for part, time in zip(parts, seconds))
        expected = (epoch["loss"], epoch["accuracy"], epoch["images"] / epoch["seconds"],
                    100 * waited / sum(seconds))
        for text, value in zip(line, expected):
            digits = len(text.partition(".")[2])
            assert float(text) == pytest.approx(value, abs=0.51 * 10**-digits, rel=1e-4)


def test_one_shard_speaks_for_the_job(databases, shards, tmp_path):
    for shard in range(2):
        shards.start(*training(
            databases, tmp_path, num_shards=2, shard_id=shard, run_id="job", batch_size=16))
    (_, first), (_, second) = shards.wait()
    assert "images/s of 2 shards" in first and "Job: " not in second
    lines = ("Starting epoch", "Finished iteration", "Training loss", "Finished epoch",
             "Test accuracy")
    assert [line for line in lines if line not in first] == []
    assert [line for line in lines if line in second] == []
    assert "all 2 shards joined" in first and "all 2 shards joined" in second


def test_all_shards_log_on_request(databases, shards, tmp_path):
    for shard in range(2):
        shards.start(*training(databases, tmp_path, num_shards=2, shard_id=shard, run_id="all",
                               batch_size=16, log_all_shards=True))
    for status, output in shards.wait():
        assert status == 0, output
        assert "Finished iteration 20/20" in output and "Test accuracy" in output


def on_terminal(columns, *command):
    """Runs a command with a terminal of so many columns as its output. Returns its exit status and
    what it has written."""
    terminal, end = pty.openpty()
    os.system(f"stty columns {columns} < {os.ttyname(end)}")
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=end,
                               stderr=end, env=clean_environment(OMP_NUM_THREADS=1))
    os.close(end)
    output = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the program has ended
            break
        if not part:
            break
        output += part
    os.close(terminal)
    return process.wait(), output.decode()


def bars(text):
    """The progress lines, each with the blanks of its bar."""
    return re.findall(r"\r\x1b\[K((?:epoch|[\d.]+ %)[^\r\n]*)", text)


def lines_left(text):
    """The lines that stand on the terminal in the end."""
    lines = text.replace("\r\n", "\n").split("\n")
    return [re.split(r"\r\x1b\[K", line)[-1] for line in lines]


BAR = r"\[[# ]{5,20}\]"
FIELDS = [r"ETA \d+:\d\d", r"loss \d+\.\d+", r"top-1 [01]\.\d+",
          r"\d+(\.\d)? (images|img)/s", r"(input )?wait [\d.]+ %"]
# The fields that are left out at these widths, by importance.
LEFT_OUT = {120: [], 80: [], 60: [0, 4], 34: [0, 2, 3, 4], 12: [0, 1, 2, 3, 4]}


@pytest.mark.parametrize("columns", LEFT_OUT)
def test_a_terminal_shows_one_line_no_longer_than_itself(columns, databases, tmp_path):
    status, text = on_terminal(
        columns, BIN / "resnet50_trainer",
        *training(databases, tmp_path, num_epochs=3, log_every=1))
    assert status == 0
    # Log lines take the place of the bar, also of models, which are written in the background.
    shown = bars(text)
    assert len(shown) == 60 and "Finished iteration" not in text
    assert max(map(len, shown)) <= columns - 1
    last = shown[-1]
    assert "100.0 %" in last and ("epoch 3/3" in last) == (columns > 12)
    left_out = [at for at, field in enumerate(FIELDS) if not re.search(field, last)]
    assert left_out == LEFT_OUT[columns]
    assert re.search(BAR, last) or columns < 120
    assert re.sub("|".join([BAR, "epoch 3/3", "100.0 %", *FIELDS, "[, ]"]), "", last) == ""
    assert len(re.findall("Job: epoch", text)) == 3
    assert not any(set(bars("\r\x1b[K" + line)) for line in lines_left(text))


@pytest.mark.parametrize("launcher", [[], ["run", "-n", 2, "--log_dir", "logs", "--"]],
                         ids=["alone", "launched"])
def test_a_terminal_shows_progress_between_logged_iterations(launcher, databases, tmp_path):
    trainer = [BIN / "resnet50_trainer", *training(
        databases, tmp_path, epoch_size=10_000_000, batch_size=16, save_model_name="",
        log_every=10**9)]
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        list(map(str, [BIN / "doppio", *launcher, *trainer] if launcher else trainer)),
        stdin=subprocess.DEVNULL, stdout=end, stderr=end, cwd=tmp_path,
        env=clean_environment(OMP_NUM_THREADS=1))
    os.close(end)
    text, deadline = "", time.monotonic() + 60
    try:
        while len(bars(text)) < 2 and time.monotonic() < deadline:
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 65536).decode(errors="replace")
    finally:
        os.close(terminal)
        process.terminate()
        try:
            process.wait(timeout=60)
        finally:
            process.kill()
    assert len(bars(text)) >= 2, text
    assert re.match(r"epoch 1/\d+.*ETA .*loss [\d.]+.*(images|img)/s", bars(text)[0])
    assert "Finished iteration" not in text and "\x1e" not in text
    if launcher:  # between the logged iterations the launcher's log has no lines of the bar
        log = (tmp_path / "logs" / "shard-0.log").read_text()
        assert len(re.findall(r"^epoch ", log, re.M)) <= 1  # the last iteration, after the signal


@pytest.mark.parametrize("shards", [1, 2])
def test_the_launcher_shows_the_bar_of_shard_0_on_its_terminal(shards, databases, tmp_path):
    flags = training(databases, tmp_path, num_epochs=3, log_every=1, batch_size=16)
    status, text = on_terminal(
        80, BIN / "doppio", "run", "-n", shards, "--log_dir", tmp_path / "logs", "--",
        BIN / "resnet50_trainer", *flags)
    assert status == 0
    shown = bars(text)
    # A line of a shard draws the bar again.
    assert len(set(shown)) > 20 and max(map(len, shown)) <= 79
    assert re.match(r"epoch 3/3[, ].*100.0 %, ETA 0:00, loss ", shown[-1])
    left = lines_left(text)
    assert not any(set(bars("\r\x1b[K" + line)) for line in left)
    assert "\x1e" not in text and "Finished iteration" not in text
    for shard in range(shards):
        assert [line for line in left if line.startswith(f"[{shard}] ")]
    assert len([line for line in left if re.match(r"\[0\] .*Job: epoch", line)]) == 3
    assert f"all {shards} shards are done" in left[-2] or shards == 1
    # The file has each of them, without a bar.
    log = (tmp_path / "logs" / "shard-0.log").read_text()
    lines = re.findall(r"^epoch \d/3, [\d.]+ %, ETA .* images/s, input wait", log, re.M)
    assert len(lines) == 120 // shards
    assert "Finished iteration" not in log


# Shard 1 prints a line once the bar of shard 0 is on the terminal. The launcher cannot write it to
# the log of the shard, and says so.
LATE_LINE = """
[ $RANK = 1 ] || exec "$@"
"$@" > /dev/null 2>&1 & until grep -q '^epoch 1/20' "$0"; do sleep 0.05; done
echo late
wait $!
"""


def test_lines_of_the_launcher_itself_stand_above_the_bar(databases, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "shard-1.log").symlink_to("/dev/full")
    flags = training(databases, tmp_path, num_epochs=20, log_every=1, batch_size=16)
    status, text = on_terminal(
        80, BIN / "doppio", "run", "-n", 2, "--log_dir", logs, "--",
        "bash", "-c", LATE_LINE, logs / "shard-0.log", BIN / "resnet50_trainer", *flags)
    assert status == 0
    assert "[1] late" in lines_left(text)
    [line] = [line for line in lines_left(text) if "the rest of this log is missing" in line]
    assert re.match(r"W\d{8} .*cannot write ", line)


def test_without_a_terminal_shards_log_lines(databases, tmp_path):
    done = run("doppio", "run", "-n", 2, "--", BIN / "resnet50_trainer",
               *training(databases, tmp_path, batch_size=16))
    assert done.returncode == 0, done.output
    assert "[0] " in done.output and "Finished iteration" in done.output
    assert "\x1e" not in done.output and "\x1b" not in done.output


def test_a_shard_that_logs_elsewhere_writes_lines_there(databases, tmp_path):
    trainer = [BIN / "resnet50_trainer", *training(databases, tmp_path, batch_size=16)]
    status, text = on_terminal(
        80, BIN / "doppio", "run", "-n", 1, "--", "bash", "-c", '"$@" 2> "$0"',
        tmp_path / "log", *trainer)
    assert status == 0 and bars(text) == []
    log = (tmp_path / "log").read_text()
    assert "Finished iteration" in log and "\x1e" not in log
