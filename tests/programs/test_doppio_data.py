"""`doppio data`: databases from data sets, and what is in them."""

import gzip
import html.parser
import random
import re
import struct
import tarfile

import pytest
from data_sets import inspect, make_pictures, ppm, prepare

from conftest import last_line, run, training, write_idx


@pytest.fixture
def mnist(tmp_path):
    folder = tmp_path / "mnist"
    folder.mkdir()
    for stem, part, count in (("train", "train", 300), ("test", "t10k", 50)):
        write_idx(folder, stem, count, seed=count)
        for old, new in (("images", "images-idx3-ubyte"), ("labels", "labels-idx1-ubyte")):
            source = folder / f"{stem}-{old}"
            with gzip.open(folder / f"{part}-{new}.gz", "wb") as file:
                file.write(source.read_bytes())
            source.unlink()
    return folder


@pytest.fixture
def pictures(tmp_path):
    return make_pictures(tmp_path / "pictures")


def labels_of(folder, part):
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        return list(file.read()[8:])


@pytest.mark.parametrize("db", ["lmdb", "leveldb", "minidb"])
def test_both_parts_of_mnist(mnist, tmp_path, db):
    train, test = tmp_path / "train_db", tmp_path / "test_db"
    done = prepare("mnist", "--input", mnist, "--output", train, "--test_output", test, "--db", db)
    assert done.returncode == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith(f"{train}: 300 records, 10 labels")
    assert "verified" in lines[0] and "verified" in lines[1]
    for path, part, count in ((train, "train", 300), (test, "t10k", 50)):
        found = inspect(path, "--db_type", db)
        assert found["total"] == found["records"] == count
        expected = labels_of(mnist, part)
        assert found["labels"] == {str(n): expected.count(n) for n in sorted(set(expected))}
        assert found["shapes"] == {"28x28x1": count}
        assert found["num_damaged"] == 0


def test_mean_and_deviation_are_those_of_the_pixels(mnist, tmp_path):
    with gzip.open(mnist / "train-images-idx3-ubyte.gz") as file:
        pixels = file.read()[16:]
    mean = sum(pixels) / len(pixels)
    deviation = (sum(p * p for p in pixels) / len(pixels) - mean**2) ** 0.5
    for found in (inspect(mnist), inspect(mnist, "--part", "train", "--threads", 3)):
        assert found["mean"] == pytest.approx([mean], rel=1e-6)
        assert found["std"] == pytest.approx([deviation], rel=1e-6)
        assert found["db_type"] == "idx"
    assert inspect(mnist, "--part", "test")["total"] == 50


def test_a_prepared_database_trains_as_the_files_do(mnist, tmp_path):
    assert prepare("mnist", "--input", mnist, "--output", tmp_path / "db").returncode == 0
    losses = []
    for source, db_type in ((tmp_path / "db", "lmdb"), (mnist, "auto")):
        done = run("resnet50_trainer", *training(
            tmp_path, tmp_path, train_data=source, db_type=db_type, test_data=None, epoch_size=96,
            save_model_name=""))
        assert done.returncode == 0, done.output
        losses.append([line.split("Training loss")[1] for line in done.output.splitlines()
                       if "Training loss" in line])
    assert losses[0] and losses[0] == losses[1]


@pytest.mark.parametrize("kind, label_bytes", [("cifar10", 1), ("cifar100", 2)])
def test_cifar(tmp_path, kind, label_bytes):
    rng = random.Random(3)
    folder = tmp_path / "files"
    folder.mkdir()
    labels = [rng.randrange(10) for _ in range(20)]
    records = b"".join(bytes([7] * (label_bytes - 1) + [label]) + rng.randbytes(3072)
                       for label in labels)
    names = {"cifar10": ("data_batch_1.bin", "test_batch.bin"),
             "cifar100": ("train.bin", "test.bin")}[kind]
    (folder / names[0]).write_bytes(records)
    (folder / names[1]).write_bytes(records[:(3072 + label_bytes) * 5])
    done = prepare(kind, "--input", folder, "--output", tmp_path / "a", "--test_output",
                   tmp_path / "b")
    assert done.returncode == 0, done.output
    assert inspect(tmp_path / "a")["labels"] == {
        str(n): labels.count(n) for n in sorted(set(labels))}
    assert inspect(tmp_path / "b")["total"] == 5
    lacks = " is incomplete: it lacks data_batch_2.bin, data_batch_3.bin, data_batch_4.bin, data_"
    assert done.output.count(f"warning: {folder}{lacks}") == (1 if kind == "cifar10" else 0)
    assert ("incomplete" in run("doppio", "data", "inspect", folder).output) == (
        kind == "cifar10")
    done = run("resnet50_trainer", *training(
        tmp_path, tmp_path, train_data=folder, db_type="auto", test_data=None, epoch_size=16,
        batch_size=16, num_labels=100, save_model_name=""))
    assert done.returncode == 0, done.output
    assert (f"--train_data {folder}{lacks}" in done.output) == (kind == "cifar10")
    other = "cifar100" if kind == "cifar10" else "cifar10"
    done = prepare(other, "--input", folder, "--output", tmp_path / "c")
    assert done.returncode == 66
    assert f"is not a data set of the kind {other}" in done.output
    assert not (tmp_path / "c").exists()


def test_stl10(tmp_path):
    folder = tmp_path / "stl"
    folder.mkdir()
    (folder / "train_X.bin").write_bytes(random.Random(1).randbytes(3 * 96 * 96 * 4))
    (folder / "train_y.bin").write_bytes(bytes([1, 2, 10, 2]))
    assert prepare("stl10", "--input", folder, "--output", tmp_path / "db").returncode == 0
    found = inspect(tmp_path / "db")
    assert found["labels"] == {"0": 1, "1": 2, "9": 1}
    assert found["shapes"] == {"96x96x3": 4}
    done = prepare("stl10", "--input", folder, "--test_output", tmp_path / "test")
    assert done.returncode == 66
    assert "holds no test part" in done.output


def test_a_folder_keeps_the_names_of_its_classes(pictures, tmp_path):
    db = tmp_path / "db"
    done = prepare("folder", "--input", pictures, "--output", db, "--threads", 3)
    assert done.returncode == 0, done.output
    assert (tmp_path / "db.classes.txt").read_text() == "cat\ndog\n"
    found = inspect(db)
    checksum = re.search(r", checksum 0*([0-9a-f]+), verified", done.output)[1]
    assert re.fullmatch(rf"20 records \(all: \d+ bytes, CRC-32 {checksum}\)",
                        found["fingerprint"])
    assert f"\nchecksum: {found['fingerprint']}\n" in run("doppio", "data", "inspect", db).output
    assert found["labels"] == {"0": 12, "1": 8}
    assert found["class_names"] == ["cat", "dog"]
    assert found["shapes"] == {f"30x{40 + i}x3": 2 if i < 8 else 1 for i in range(12)}


def test_images_outside_of_the_classes_are_counted(pictures, tmp_path):
    for i in range(3):
        (pictures / f"{i}.ppm").write_bytes(ppm(40, 30, (9, 9, 9)))
    (pictures / "cat" / "1.heic").write_bytes(b"no image that is read")
    warning = (f"{pictures}: images outside its sub-folders, which are the classes (3); files "
               "with names that do not end like .jpg or .png (1, for instance cat/1.heic)")
    done = prepare("folder", "--input", pictures, "--output", tmp_path / "db")
    assert done.returncode == 0, done.output
    assert f"warning: left out of {warning}" in done.output
    assert inspect(pictures)["left_out"] == f"left out of {warning}"
    done = run("mnist_trainer", "--use_cpu", "--train_data", pictures, "--num_examples", 0,
               "--batch_size", 4, "--num_epochs", 1, "--num_labels", 2, cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert f"left out of --train_data {warning}" in done.output
    assert inspect(tmp_path / "db")["labels"] == {"0": 12, "1": 8}


def test_scale_and_shuffle(pictures, tmp_path):
    args = ["folder", "--input", pictures, "--scale", 15, "--shuffle"]
    assert prepare(*args, "--output", tmp_path / "a").returncode == 0
    assert prepare(*args, "--output", tmp_path / "b", "--threads", 4).returncode == 0
    assert prepare(*args, "--output", tmp_path / "c", "--seed", 5).returncode == 0
    data = [(tmp_path / name / "data.mdb").read_bytes() for name in "abc"]
    found = inspect(tmp_path / "a")
    assert {shape.split("x")[0] for shape in found["shapes"]} == {"15"}
    assert found["labels"] == {"0": 12, "1": 8}
    assert data[0] == data[1]
    assert data[0] != data[2]


def test_balanced_weights_of_classes(pictures, tmp_path):
    # 12 cats and 8 dogs: 20 / (2 * 12), 20 / (2 * 8).
    assert inspect(pictures)["balanced_class_weights"] == [pytest.approx(20 / 24), 20 / 16]
    done = run("doppio", "data", "inspect", pictures)
    assert re.search(r"balanced --class_weights: +0\.8333,1\.25\n", done.output), done.output


def test_archives(pictures, tmp_path):
    flat = tmp_path / "classes.tar"
    with tarfile.open(flat, "w") as tar:
        for name in ("cat", "dog"):
            tar.add(pictures / name, arcname=name)
    assert prepare("imagenet-tar", "--input", flat, "--output", tmp_path / "a").returncode == 0
    assert inspect(tmp_path / "a")["labels"] == {"0": 12, "1": 8}
    shard = tmp_path / "shard.tar"
    (tmp_path / "3.cls").write_text("3")
    with tarfile.open(shard, "w") as tar:
        for i in range(4):
            tar.add(pictures / "cat" / f"{i:02}.ppm", arcname=f"{i:02}.ppm")
            tar.add(tmp_path / "3.cls", arcname=f"{i:02}.cls")
    assert prepare("webdataset", "--input", shard, "--output", tmp_path / "b").returncode == 0
    assert inspect(tmp_path / "b")["labels"] == {"3": 4}


@pytest.fixture
def unpacked(pictures, tmp_path):
    """Folders train and test beside the archive that they come from."""
    folder = tmp_path / "unpacked"
    folder.mkdir()
    for part, names in (("train", "0[0-5]"), ("test", "0[67]")):
        for animal in ("cat", "dog"):
            (folder / part / animal).mkdir(parents=True)
            for path in (pictures / animal).glob(f"{names}.ppm"):
                path.rename(folder / part / animal / path.name)
    with tarfile.open(folder / "photos.tar", "w") as tar:
        for part in ("train", "test"):
            tar.add(folder / part, arcname=f"photos/{part}")
    return folder


@pytest.mark.parametrize("kind, source", [("folder", ""), ("imagenet-tar", "photos.tar")])
def test_folders_and_an_archive_hold_both_parts(unpacked, tmp_path, kind, source):
    done = prepare(kind, "--input", unpacked / source, "--output", tmp_path / "train_db",
                   "--test_output", tmp_path / "test_db")
    assert done.returncode == 0, done.output
    assert inspect(tmp_path / "train_db")["labels"] == {"0": 6, "1": 6}
    assert inspect(tmp_path / "test_db")["labels"] == {"0": 2, "1": 2}
    assert inspect(unpacked / source, "--part", "test")["total"] == 4
    done = run("mnist_trainer", "--use_cpu", "--train_data", unpacked / source, "--test_data",
               unpacked / source, "--num_examples", 0, "--batch_size", 4, "--num_epochs", 1,
               "--num_labels", 2, cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert "--train_data has 12 images" in done.output
    assert "the same images" not in done.output
    part = unpacked / source / "test"
    done = run("mnist_trainer", "--use_cpu", "--train_data", part, "--test_data",
               part, "--num_examples", 0, "--batch_size", 4, "--num_epochs", 1,
               "--num_labels", 2, cwd=tmp_path)
    if kind == "folder":
        assert "--train_data and --test_data are the same images" in done.output


@pytest.mark.parametrize("source", ["train", "photos.tar"])
def test_a_share_of_a_folder_or_an_archive_is_kept_for_tests(unpacked, tmp_path, source):
    args = ["--use_cpu", "--train_data", unpacked / source, "--num_examples", 0, "--batch_size", 3,
            "--num_epochs", 1, "--num_labels", 2, "--holdout", 0.25, "--shuffle",
            "--check_coverage", "--model_prefix", tmp_path / "m"]
    done = run("mnist_trainer", *args)
    assert done.returncode == 0, done.output
    assert "--train_data has 9 images to train on and 3 that --holdout keeps for tests" in \
        done.output
    assert "Using epoch size: 9" in done.output
    assert "each of 9 records was read once" in done.output
    accuracy = re.search(r"Validation-accuracy=([\d.]+)", done.output).group(1)
    assert round(3 * float(accuracy), 3) in (0, 1, 2, 3)
    done = run("mnist_trainer", *args[:-2], "--evaluate", "--load_model_path",
               tmp_path / "m-0001.mdl")
    assert done.returncode == 0, done.output
    assert re.search(r"\(3 images of \S+, which --holdout 0.25 holds out\)", done.output)
    done = run("mnist_trainer", *args, "--test_data", unpacked)
    assert done.returncode == 64
    assert f"--holdout 0.25 and --test_data {unpacked} cannot be used together" in done.output


def test_the_demand_for_tests_counts_a_share_of_the_training_images(unpacked, tmp_path):
    args = ["--use_cpu", "--data", unpacked, "--epoch_size", 0, "--batch_size", 3, "--num_labels",
            2, "--model", "mlp", "--image_size", 16, "--holdout", 0.25, "--dry_run"]
    done = run("doppio", "train", *args)
    assert done.returncode == 0, done.output
    assert re.search(r"  holdout +0.25 +command line", done.output)
    assert "3 iterations in an epoch" in done.output


def test_both_parts_have_the_same_classes(unpacked, tmp_path):
    (unpacked / "train" / "bird").mkdir()
    (unpacked / "train" / "bird" / "1.ppm").write_bytes(ppm(40, 30, (9, 200, 9)))
    for outputs in (["--output", tmp_path / "a", "--test_output", tmp_path / "b"],
                    ["--test_output", tmp_path / "b"]):
        done = prepare("folder", "--input", unpacked, *outputs)
        assert done.returncode == 64, done.output
        assert (f"{unpacked}/train has 3 classes and {unpacked}/test 2; they must be the same, but "
                'only one has "bird"') in done.output
    assert not list(tmp_path.glob("[ab]*"))
    # A database of one part and the folder of the other.
    done = prepare("folder", "--input", unpacked / "train", "--output", tmp_path / "a")
    assert done.returncode == 0, done.output
    done = run("mnist_trainer", "--use_cpu", "--train_data", tmp_path / "a", "--test_data",
               unpacked / "test", "--num_examples", 0, "--batch_size", 4)
    assert done.returncode == 64
    assert 'only one has "bird"' in done.output


def test_classes_in_order_are_a_warning(unpacked, tmp_path):
    args = ["--use_cpu", "--train_data", unpacked, "--test_data", unpacked, "--num_examples", 0,
            "--batch_size", 4, "--num_epochs", 1, "--num_labels", 2]
    done = run("mnist_trainer", *args, "--test_epoch_size", 2, cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert f"--train_data {unpacked}/train comes class after class" in done.output
    assert "--test_epoch_size 2 tests the first images of" in done.output
    done = run("mnist_trainer", *args, "--shuffle", "--test_epoch_size", 4, cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert "class after class" not in done.output


def test_a_second_run_compares(pictures, tmp_path):
    args = ["folder", "--input", pictures, "--output", tmp_path / "db"]
    assert prepare(*args).returncode == 0
    before = (tmp_path / "db" / "data.mdb").read_bytes()
    done = prepare(*args)
    assert done.returncode == 0
    assert "was there already" in done.output
    assert (tmp_path / "db" / "data.mdb").read_bytes() == before
    (pictures / "cat" / "05.ppm").write_bytes(ppm(9, 9, (1, 2, 3)))
    done = prepare(*args)
    assert done.returncode == 73
    assert "exists already and has another record 00000005_cat/05.ppm" in done.output
    (pictures / "dog" / "99.ppm").write_bytes(ppm(9, 9, (1, 2, 3)))
    (pictures / "cat" / "05.ppm").write_bytes(ppm(45, 30, (200, 40, 40), seed=5))
    done = prepare(*args)
    assert done.returncode == 73
    assert "has fewer records" in done.output
    assert (tmp_path / "db" / "data.mdb").read_bytes() == before


def test_a_path_that_is_taken_is_refused(pictures, tmp_path):
    for name, make in (("folder", lambda path: path.mkdir()), ("file", lambda path: path.touch())):
        make(tmp_path / name)
        for flag in ("--output", "--test_output"):
            done = prepare("folder", "--input", pictures, flag, tmp_path / name)
            assert done.returncode == 73
            assert f"{flag} {tmp_path / name} exists already and is no lmdb database" in done.output


def test_numbers_out_of_range_are_named(pictures, tmp_path):
    done = prepare("folder", "--input", pictures, "--output", tmp_path / "db",
                   "--max_bad_records", -1)
    assert done.returncode == 64
    assert "--max_bad_records: -1 is not a whole number from 0 on" in last_line(done.output)


def test_damaged_images(pictures, tmp_path):
    (pictures / "cat" / "03.ppm").write_bytes(b"no image at all")
    args = ["folder", "--input", pictures, "--output", tmp_path / "db"]
    done = prepare(*args)
    assert done.returncode == 65
    assert "cat/03.ppm" in done.output and "--max_bad_records" in done.output
    assert "enforce fail" not in done.output
    assert not (tmp_path / "db").exists()
    done = prepare(*args, "--max_bad_records", 1)
    assert done.returncode == 0, done.output
    assert "1 damaged records were left out" in done.output
    assert inspect(tmp_path / "db")["labels"] == {"0": 11, "1": 8}
    found = inspect(pictures, status=65)
    assert found["num_damaged"] == 1
    assert "record 3, key cat/03.ppm" in found["damaged"][0]
    assert "enforce fail" not in found["damaged"][0]


def test_images_without_class_folders(pictures, tmp_path):
    flat = pictures / "cat"
    count = len(list(flat.iterdir()))
    hint = (f"; it holds {count} images itself: move them into one sub-folder for each class, such "
            f"as {flat}/CLASS/00.ppm")
    done = prepare("folder", "--input", flat, "--output", tmp_path / "db")
    assert done.returncode == 66
    assert done.output.endswith(hint + "\n") and done.output.count("\n") == 1
    for args in (["data", "inspect", flat], ["data", "inspect", flat, "--db_type", "images"]):
        done = run("doppio", *args)
        assert done.returncode in (65, 66)
        assert last_line(done.output).endswith(hint)
    (tmp_path / "empty").mkdir()
    done = prepare("folder", "--input", tmp_path / "empty", "--output", tmp_path / "db")
    assert done.returncode == 66 and "itself" not in done.output


def record(key, value):
    return struct.pack("=2i", len(key), len(value)) + key + value


def test_a_database_without_images(tmp_path):
    """Four features and a label, as TensorProtos."""
    features = bytes([0x08, 4, 0x10, 1, 0x1a, 16]) + struct.pack("=4f", 1, 2, 3, 4)
    label = bytes([0x08, 1, 0x10, 2, 0x22, 1, 2])
    value = b"".join(bytes([0x0a, len(each)]) + each for each in (features, label))
    path = tmp_path / "features.minidb"
    path.write_bytes(record(b"0", value) + record(b"1", value))
    done = run("doppio", "data", "inspect", path)
    assert done.returncode == 0, done.output
    assert "images: no images\n" in done.output
    assert "tensors that are no images: FLOAT [4], INT32 [1]: 2\n" in done.output
    assert "damaged records: 0\n" in done.output and "height x width" not in done.output
    assert inspect(path)["others"] == {"FLOAT [4], INT32 [1]": 2}
    # A record whose values are cut off is damaged all the same.
    cut = b"\x0a\x0a" + features[:4] + b"\x1a\x04abcd"
    path.write_bytes(record(b"0", value) + record(b"1", cut))
    found = inspect(path, status=65)
    assert (found["num_damaged"], found["others"]) == (1, {"FLOAT [4], INT32 [1]": 1})


def test_a_database_of_something_else(tmp_path):
    path = tmp_path / "texts.minidb"
    path.write_bytes(record(b"0", b"\xffhello") + record(b"1", b"\xffworld"))
    done = run("doppio", "data", "inspect", path)
    assert done.returncode == 65
    assert "images: no images\n" in done.output
    assert ("warning: no record can be read as an image, so this may be no database of images\n"
            in done.output)


def test_a_missing_folder_is_named(pictures, tmp_path):
    folder = tmp_path / "not" / "there"
    done = prepare("folder", "--input", pictures, "--output", folder / "db")
    assert (done.returncode, done.output) == (
        73, f"doppio: cannot lock {folder}/db.unfinished.lock: there is no folder {folder}\n")
    done = run("doppio", "data", "inspect", pictures, "--html", folder / "x.html")
    assert (done.returncode, done.output) == (
        73, f"doppio: cannot write {folder}/x.html: there is no folder {folder}\n")


def test_a_path_that_cannot_be_read_is_told(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (loop, loop / "db"):
        done = run("doppio", "data", "inspect", path)
        assert (done.returncode, done.output) == (
            66, f"doppio: cannot read {path}: Too many levels of symbolic links\n")
    (tmp_path / "empty").mkdir()
    done = run("doppio", "data", "inspect", tmp_path / "empty")
    assert (done.returncode, done.output) == (
        66, f"doppio: {tmp_path}/empty is an empty folder, no database or data set\n")
    (tmp_path / "file").write_text("text")
    for path in ("nothing", "file/db"):
        done = run("doppio", "data", "inspect", tmp_path / path)
        assert done.returncode == 66 and "there is no database or data set at " in done.output


def test_a_page_that_cannot_be_written_is_refused_before_the_records_are_read(pictures, tmp_path):
    """A copy of the page that is there already stays as it is."""
    none = tmp_path / "none"
    done = run("doppio", "data", "inspect", tmp_path / "absent", "--html", none / "x.html")
    assert (done.returncode, done.output) == (
        73, f"doppio: cannot write {none}/x.html: there is no folder {none}\n")
    done = run("doppio", "data", "inspect", pictures, "--html", pictures)
    assert (done.returncode, done.output) == (
        73, f"doppio: cannot write {pictures}: Is a directory\n")
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html>old")
    done = run("doppio", "data", "inspect", tmp_path / "absent", "--html", page)
    assert (done.returncode, page.read_text()) == (66, "<!DOCTYPE html>old")


class Page(html.parser.HTMLParser):
    """Collects the tags of a page and checks that they are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.images, self.links = [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.links += [value for name, value in attrs.items() if name in ("src", "href")]
        if tag == "img":
            self.images.append(attrs["src"])
        if tag not in ("img", "meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_self_contained(pictures, tmp_path):
    (pictures / "<i>odd<b>").mkdir()
    (pictures / "<i>odd<b>" / "x.ppm").write_bytes(ppm(200, 100, (9, 200, 9)))
    page = tmp_path / "page.html"
    done = run("doppio", "data", "inspect", pictures, "--html", page)
    assert done.returncode == 0, done.output
    parsed = Page(page.read_text())
    assert len(parsed.images) == 12 + 8 + 1
    assert all(link.startswith("data:image/png;base64,") for link in parsed.links)
    assert "<i>odd<b>" not in page.read_text()
    assert "&lt;i&gt;odd&lt;b&gt;" in page.read_text()


def test_a_damaged_database_is_refused_or_named(databases, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    data = bytearray((databases / "train_lmdb" / "data.mdb").read_bytes())
    (copy / "data.mdb").write_bytes(data[: len(data) // 2])
    done = run("doppio", "data", "inspect", copy)
    assert done.returncode == 65
    assert str(copy) in done.output


@pytest.mark.parametrize("args, status, text", [
    (["prepare", "minst", "--input", ".", "--output", "x"], 64, "do you mean mnist?"),
    (["prepare", "zzz", "--input", ".", "--output", "x"], 64,
     "there is no data set zzz. Known: mnist, cifar10, "),
    (["prepare", "mnist", "--input", "/nowhere", "--output", "x"], 66, "ossci-datasets"),
    (["prepare", "mnist", "--input", ".", "--output", "x"], 66, "train-images-idx3-ubyte.gz"),
    (["prepare", "mnist", "--input", "."], 64, "--output DB is needed"),
    (["prepare", "mnist", "--output", "x"], 64,
     "data prepare: --input is required (see doppio data prepare --help)"),
    (["prepare", "foo"], 64, "there is no data set foo. Known: mnist, cifar10, "),
    (["prepare", "mnist", "--inptu", "x"], 64,
     "data prepare: unknown option --inptu; do you mean --input? (see doppio data prepare --help)"),
    (["prepare", "--inptu", "x", "mnist"], 64, "unknown option --inptu; do you mean --input?"),
    (["prepare", "mnist", "--thread", "0", "--output=y"], 64, "do you mean --threads?"),
    (["inspect", "--jsno"], 64, "data inspect: unknown option --jsno; do you mean --json?"),
    (["prepare"], 64, "data prepare: kind is required (see doppio data prepare --help)"),
    (["prepare", "mnist", "--input", ".", "--ouput", "x"], 64, "do you mean --output?"),
    (["prepare", "mnist", "--input", ".", "--output", "x", "--db", "sqlite"], 64, "--db is sqlite"),
    (["prepare", "mnist", "--input", ".", "--output", "x", "--threads", 0], 64, "--threads"),
    (["inspect", "/nowhere"], 66,
     "there is no database or data set at /nowhere: correct the path, or make a database from a "
     "data set with doppio data prepare"),
    (["inspcet", "x"], 64, "data: there is no command inspcet; do you mean inspect?"),
    ([], 64, "data: a command is missing (prepare, inspect; see doppio data --help)"),
])
def test_wrong_calls(args, status, text, tmp_path):
    done = run("doppio", "data", *args, cwd=tmp_path)
    assert done.returncode == status, done.output
    assert len(done.output.strip().splitlines()) == 1
    assert text in done.output
    assert not list(tmp_path.iterdir())
