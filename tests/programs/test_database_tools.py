"""What `convert_db` and `split_db` say about paths and types that cannot be right."""

import re
import struct

import pytest

from conftest import run


@pytest.fixture
def minidb(tmp_path):
    """A minidb of six records."""
    path = tmp_path / "six.minidb"
    path.write_bytes(b"".join(
        struct.pack("=2i", 2, 3) + b"k%d" % i + b"abc" for i in range(6)))
    return path


def convert(*args):
    return run("convert_db", *args)


def refused(done, status, line):
    assert (done.returncode, done.output) == (status, line + "\n")


def test_the_type_of_the_input_is_found(minidb, tmp_path):
    for kind in ("lmdb", "leveldb"):
        copy = tmp_path / kind
        done = convert("--input_db", minidb, "--output_db", copy, "--output_db_type", kind)
        assert (done.returncode, done.output) == (0, f"6 records in {copy}\n")
        done = convert("--input_db", copy, "--output_db", tmp_path / f"{kind}.back",
                       "--output_db_type", "minidb")
        assert done.returncode == 0, done.output
        assert (tmp_path / f"{kind}.back").read_bytes() == minidb.read_bytes()


@pytest.mark.parametrize("flag, line", [
    ([], "--output_db_type is needed: it must be lmdb, leveldb or minidb"),
    (["--output_db_type=foo"], "--output_db_type is foo: it must be lmdb, leveldb or minidb"),
    (["--output_db_type=auto"], "--output_db_type is auto: it must be lmdb, leveldb or minidb"),
    (["--output_db_type=cifar"], "--output_db_type is cifar: it must be lmdb, leveldb or minidb"),
])
def test_types_that_cannot_be_written(minidb, tmp_path, flag, line):
    done = convert("--input_db", minidb, "--output_db", tmp_path / "copy", *flag)
    refused(done, 64, f"convert_db: {line}")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("given, hint", [
    ("levldb", "; did you mean leveldb? Known: "), ("foo", "; known: "),
])
def test_an_unknown_type_of_the_input(minidb, tmp_path, given, hint):
    done = convert("--input_db", minidb, "--input_db_type", given, "--output_db", tmp_path / "copy",
                   "--output_db_type", "lmdb")
    refused(done, 65, f'convert_db: unknown db_type "{given}" for {minidb}{hint}cifar, idx, '
                      "images, leveldb, lmdb, minidb, stl10, tar, auto")


def test_inputs_that_are_not_there_or_something_else(minidb, tmp_path):
    folder, text = tmp_path / "folder", tmp_path / "text"
    folder.mkdir()
    text.write_text("text\n")
    absent = tmp_path / "absent"

    def line_of(path, kind="auto"):
        done = convert("--input_db", path, "--input_db_type", kind, "--output_db",
                       tmp_path / "copy", "--output_db_type", "lmdb")
        assert done.returncode in (65, 66), done.output
        return done.output

    assert line_of(absent) == f"convert_db: there is no database at {absent}\n"
    assert line_of(absent, "lmdb") == f"convert_db: there is no LMDB database at {absent}\n"
    assert line_of(minidb, "leveldb") == (
        f"convert_db: there is no LevelDB database at {minidb}; it looks like db_type minidb\n")
    assert line_of(folder, "leveldb") == (
        f"convert_db: there is no LevelDB database at {folder} (no file CURRENT in it)\n")
    assert line_of(text, "minidb") == (
        f"convert_db: {text} is not a minidb database or is damaged: it has only 5 bytes\n")
    assert line_of(folder).startswith(
        f"convert_db: there is no database or known data set at {folder}; known: ")


@pytest.mark.parametrize("kind", ["lmdb", "leveldb", "minidb"])
def test_an_output_in_a_folder_that_is_not_there(minidb, tmp_path, kind):
    place = tmp_path / "absent" / "copy"
    done = convert("--input_db", minidb, "--output_db", place, "--output_db_type", kind)
    refused(done, 73, f"convert_db: cannot make the database {place}: there is no folder "
                      f"{place.parent}")


def test_parts_lie_next_to_a_folder_with_a_slash(minidb, tmp_path):
    whole = tmp_path / "whole"
    convert("--input_db", minidb, "--output_db", whole, "--output_db_type", "lmdb")
    done = run("split_db", "--input_db", f"{whole}/", "--splits", 2)
    assert (done.returncode, done.output) == (0, "6 records in 2 databases\n")
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_dir()) == [
        "whole", "whole_split_0", "whole_split_1"]


def test_a_data_set_cannot_be_split(tmp_path):
    for part in ("cat", "dog"):
        (tmp_path / "photos" / part).mkdir(parents=True)
        (tmp_path / "photos" / part / "1.ppm").write_bytes(b"P5 1 1 255\n0")
    done = run("split_db", "--input_db", tmp_path / "photos", "--splits", 2)
    assert done.returncode == 64
    assert re.search(r"photos is a data set \(images\), which split_db cannot write: .*doppio data "
                     "prepare$", done.output.strip())
