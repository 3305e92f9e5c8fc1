"""--max_bad_records counts the different damaged records of the whole run: of all shards, and of
the run before it was resumed."""

import pytest
from test_bad_data import GOOD, datum, write_minidb

from conftest import last_line, run, training

BAD = datum(label=10)


@pytest.fixture
def database(tmp_path):
    """64 good records and 4 bad ones, two of them for each of two shards."""
    values = list(GOOD)
    for place in (20, 31, 44, 55):
        values.insert(place, BAD)
    write_minidb(tmp_path / "bad_minidb", values)
    return tmp_path / "bad_minidb"


def flags_of(database, **flags):
    return {
        "train_data": database,
        "test_data": None,
        "db_type": "minidb",
        "epoch_size": 68 * 4,
        "batch_size": 4,
        "base_learning_rate": 1e-4,
        "save_model_name": "",
        **flags,
    }


def train_two(shards, database, port, tmp_path, **flags):
    for shard in range(2):
        shards.start(
            *training(
                tmp_path,
                tmp_path,
                **flags_of(
                    database,
                    num_shards=2,
                    shard_id=shard,
                    run_id="bad",
                    redis_host="127.0.0.1",
                    redis_port=port,
                    **flags,
                ),
            )
        )
    results = shards.wait()
    shards.processes.clear()
    return results


def test_shards_count_together(database, redis, shards, tmp_path):
    for status, output in train_two(shards, database, redis, tmp_path, max_bad_records=4):
        assert status == 0, output[-2000:]
    results = train_two(shards, database, redis, tmp_path, max_bad_records=3)
    # Each shard has only two. The shard that meets the fourth may find it before the others know.
    statuses = {status for status, _ in results}
    assert 65 in statuses and statuses <= {65, 75}, results
    lines = {last_line(output).partition("peer lost: ")[2] for _, output in results}
    assert len(lines) == 1, lines
    line = lines.pop()
    assert 'record "000000' in line and str(database) in line, line


def test_the_key_of_a_record_cannot_control_the_terminal(tmp_path):
    """It stands in a warning, with a title for the terminal and the CSI of C1 in it."""
    database = tmp_path / "evil_minidb"
    write_minidb(database, [BAD, *GOOD[:63]])
    data, key = database.read_bytes(), b"\x1b]a\x07\xc2\x9bb"
    assert len(key) == 7 and data[8:15] == b"0000000"
    database.write_bytes(data[:8] + key + data[15:])
    done = run("resnet50_trainer", *training(
        tmp_path, tmp_path, **flags_of(database, max_bad_records=1, epoch_size=64)))
    assert done.returncode == 0, done.output[-2000:]
    assert '(record "?]a??b0")' in done.output, done.output[-2000:]
    assert not any(text in done.output for text in ("\x1b", "\x07", "\x9b"))


def test_a_record_that_two_shards_read_counts_once(redis, shards, tmp_path):
    """With 65 records each pass gives a record to the other shard."""
    database = tmp_path / "odd_minidb"
    write_minidb(database, GOOD[:40] + [BAD] + GOOD[40:])
    results = train_two(shards, database, redis, tmp_path, max_bad_records=1, epoch_size=65 * 8)
    for status, output in results:
        assert status == 0, output[-2000:]
    assert sum(output.count('record "00000040"') for _, output in results) == 1


def test_a_resumed_run_goes_on_counting(database, tmp_path):
    def train(**flags):
        flags = flags_of(database, checkpoint_path=tmp_path / "here", checkpoint_every=2, **flags)
        return run("resnet50_trainer", *training(tmp_path, tmp_path, **flags))

    done = train(max_bad_records=3, max_iterations=9)  # read ahead to record 48 or so, not to 55
    assert done.returncode == 0, done.output
    assert "skipping bad record 3" in done.output
    done = train(max_bad_records=3, resume=True)
    assert done.returncode == 65, done.output[-2000:]
    assert 'record "00000055"' in last_line(done.output)
    done = train(max_bad_records=2, resume=True)
    assert done.returncode != 0
    assert "has skipped 3 bad records, more than --max_bad_records (2)" in last_line(done.output)
    done = train(max_bad_records=4, resume=True)
    assert done.returncode == 0, done.output[-2000:]
    assert "skipping bad record 4" in done.output
    assert done.output.count("skipping bad record") == 1
