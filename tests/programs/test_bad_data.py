"""Databases, models and checkpoints that are not what the trainer needs."""

import struct

import pytest

from conftest import last_line, run, training


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def datum(label=1, data=bytes(28 * 28), side=28, encoded=False):
    """A serialised caffe::Datum with one channel."""
    text = b"\x08\x01\x10" + varint(side) + b"\x18" + varint(side)
    text += b"\x22" + varint(len(data)) + data + b"\x28" + varint(label)
    return text + (b"\x38\x01" if encoded else b"")


def write_minidb(path, values):
    with open(path, "wb") as file:
        for i, value in enumerate(values):
            key = b"%08d" % i
            file.write(struct.pack("<ii", len(key), len(value)) + key + value)


GOOD = [datum(label=i % 10) for i in range(64)]
BAD_RECORDS = {
    "no records": ([], "empty"),
    "no Datum": ([b"hello"] * 64, "Datum"),
    "an empty value": ([b""] * 64, "Datum"),
    "no Datum after good ones": (GOOD[:40] + [b"\xff\xff\xff"] + GOOD, "00000040"),
    "label too large": (GOOD[:40] + [datum(label=10)] + GOOD, "label"),
    "negative label": (GOOD[:40] + [datum(label=(1 << 64) - 1)] + GOOD, "label"),
    "too few pixels": (GOOD[:40] + [datum(data=bytes(100))] + GOOD, "00000040"),
    "too many pixels": (GOOD[:40] + [datum(data=bytes(10000))] + GOOD, "00000040"),
    "sides of nothing": (GOOD[:40] + [datum(side=0)] + GOOD, "00000040"),
    "sides without end": (GOOD[:40] + [datum(side=(1 << 31) - 1)] + GOOD, "00000040"),
    "no picture": (GOOD[:40] + [datum(data=b"\x89PNG junk", encoded=True)] + GOOD, "00000040"),
}


def check(done, expected, folder):
    """Asserts one clear line, a status, and that nothing was written."""
    assert 0 < done.returncode < 128, f"status {done.returncode}: {done.output[-2000:]}"
    assert expected in last_line(done.output), done.output[-2000:]
    assert "terminate called" not in done.output
    assert not list(folder.glob("*.mdl*")), "a failed run wrote a model"


@pytest.mark.parametrize("case", BAD_RECORDS)
def test_records(case, tmp_path):
    values, expected = BAD_RECORDS[case]
    database = tmp_path / "bad_minidb"
    write_minidb(database, values)
    flags = training(tmp_path, tmp_path, train_data=database, test_data=None, db_type="minidb",
                     epoch_size=96)
    done = run("resnet50_trainer", *flags)
    check(done, expected, tmp_path)
    assert "bad_minidb" in last_line(done.output)


def test_bad_records_that_are_allowed(shards, tmp_path):
    database = tmp_path / "bad_minidb"
    bad = [datum(data=b"\x89PNG junk", encoded=True), b"\xff\xff\xff", datum(label=10)]
    write_minidb(database, GOOD[:20] + bad + GOOD[20:])
    flags = {"train_data": database, "test_data": None, "db_type": "minidb", "epoch_size": 256,
             "base_learning_rate": 1e-4,
             "save_model_name": ""}
    done = run("resnet50_trainer", *training(tmp_path, tmp_path, max_bad_records=3, **flags))
    assert done.returncode == 0, done.output
    for key in ("00000020", "00000021", "00000022"):
        # Named once, although every epoch of the data reads it again.
        assert done.output.count(f'record "{key}"') == 1, done.output
    done = run("resnet50_trainer", *training(tmp_path, tmp_path, max_bad_records=2, **flags))
    check(done, "bad_minidb", tmp_path)
    for shard in range(2):
        shards.start(*training(tmp_path, tmp_path, max_bad_records=3, num_shards=2, shard_id=shard,
                               run_id="bad", **flags))
    for status, output in shards.wait():
        assert status == 0, output


@pytest.mark.parametrize("kind", ["lmdb", "leveldb", "minidb"])
def test_databases_without_a_record(kind, tmp_path):
    (tmp_path / "nothing").write_bytes(b"")
    made = run("convert_db", "--input_db", tmp_path / "nothing", "--input_db_type", "minidb",
               "--output_db", tmp_path / "empty", "--output_db_type", kind)
    places = [tmp_path / "folder"] + ([tmp_path / "empty"] if made.returncode == 0 else [])
    (tmp_path / "folder").mkdir()
    for place in places:
        flags = training(tmp_path, tmp_path, train_data=place, test_data=None, db_type=kind)
        check(run("resnet50_trainer", *flags), str(place), tmp_path)


BAD_PLACES = {
    "a file in place of the directory of models": ("file_store_path", "digits"),
    "no directory for models": ("file_store_path", "absent/models"),
    "no directory for checkpoints": ("checkpoint_path", "absent/checkpoint"),
    "no directory for the log": ("log_csv", "absent/epochs.csv"),
    "a directory in place of the log": ("log_csv", "folder"),
    "a directory in place of the checkpoint": ("checkpoint_path", "folder"),
    "no directory for the timeline": ("trace", "absent/timeline.json"),
    "a directory in place of the timeline": ("trace", "folder"),
}


@pytest.mark.parametrize("case", BAD_PLACES)
def test_places_to_write_to(case, databases, tmp_path):
    flag, name = BAD_PLACES[case]
    (tmp_path / "digits").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    flags = {"checkpoint_every": 5, "save_model_name": "model", flag: tmp_path / name}
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags))
    check(done, str(tmp_path / name.split("/")[0]), tmp_path)
    if case in ("a directory in place of the checkpoint", "a directory in place of the timeline"):
        assert "it is a folder; name a file in it" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digits", "folder"]


@pytest.fixture(scope="module")
def trained(databases, tmp_path_factory):
    """A folder with the model and checkpoint of a short run."""
    folder = tmp_path_factory.mktemp("trained")
    flags = training(databases, folder, checkpoint_path=folder / "checkpoint", checkpoint_every=5,
                     epoch_size=320)
    done = run("resnet50_trainer", *flags)
    assert done.returncode == 0, done.output
    return folder


def damaged(path, how):
    """The bytes of a file, damaged."""
    whole = path.read_bytes()
    middle = len(whole) // 2
    return {
        "junk": b"\x00\x01junk" * 100,
        "empty": b"",
        "cut": whole[:middle],
        "changed": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:],
    }[how]


@pytest.mark.parametrize("how", ["junk", "empty", "cut", "changed"])
def test_models_and_checkpoints(how, databases, trained, tmp_path):
    model = tmp_path / "given_1.model"
    model.write_bytes(damaged(trained / "model_1.mdl", how))
    flags = training(databases, tmp_path, load_model_path=model)
    check(run("resnet50_trainer", *flags), "given_1.model", tmp_path)
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_bytes(damaged(trained / "checkpoint", how))
    flags = training(databases, tmp_path, checkpoint_path=checkpoint)
    check(run("resnet50_trainer", *flags, "--resume"), "checkpoint", tmp_path)
    picture = tmp_path / "grey.pgm"
    picture.write_bytes(b"P5 28 28 255\n" + bytes(28 * 28))
    check(run("predict", "--model", model, picture), "given_1.model", tmp_path)


def test_models_of_another_network(databases, trained, tmp_path):
    flags = training(databases, tmp_path, model="mlp", load_model_path=trained / "model_1.mdl")
    check(run("resnet50_trainer", *flags), "model_1.mdl", tmp_path)
    flags = training(databases, tmp_path, num_labels=11, load_model_path=trained / "model_1.mdl")
    check(run("resnet50_trainer", *flags), "model_1.mdl", tmp_path)
    flags = training(databases, tmp_path, model="mlp", checkpoint_path=trained / "checkpoint")
    check(run("resnet50_trainer", *flags, "--resume"), "model (lenet there, mlp now)", tmp_path)


def test_predict_without_pictures(trained, tmp_path):
    model = trained / "model_1.mdl"
    check(run("predict", "--model", model), "picture", tmp_path)
    (tmp_path / "text.png").write_text("no picture")
    check(run("predict", "--model", model, tmp_path / "text.png"), "text.png", tmp_path)
    check(run("predict", "--model", model, tmp_path / "absent.png"), "absent.png", tmp_path)
