"""The line for the whole job, and the bar on terminals."""

import os
import pty
import re
import subprocess

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


def test_a_terminal_shows_one_line_no_longer_than_itself(databases, tmp_path):
    terminal, end = pty.openpty()
    os.system(f"stty columns 60 < {os.ttyname(end)}")
    process = subprocess.Popen(
        [str(BIN / "resnet50_trainer"), *training(databases, tmp_path, num_epochs=3, log_every=1)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=end,
        env=clean_environment(OMP_NUM_THREADS=1))
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
    assert process.wait() == 0
    text = output.decode()
    # Log lines take the place of the bar, also of models, which are written in the background.
    shown = re.findall(r"\r\x1b\[K(epoch [^\r]*)", text)
    assert not [line for line in shown if "\n" in line]
    assert len(shown) == 60 and "Finished iteration" not in text
    assert shown[0].startswith("epoch 1/3 [#                   ] 1.7 %, ETA ")
    assert shown[59].startswith("epoch 3/3 [####################] 100.0 %, ETA 0:00, loss ")
    assert max(len(line) for line in shown) == 59
    assert len(re.findall("Job: epoch", text)) == 3
