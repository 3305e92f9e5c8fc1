"""The programs around training do what they say: database tools, predict, benchmarks, resuming."""

import json
import random
import re
import struct

import pytest
from PIL import Image

from conftest import last_line, run, training


def succeed(program, *args, **options):
    """Runs a program that must succeed; returns its output."""
    done = run(program, *args, **options)
    assert done.returncode == 0, done.output
    return done.output


def write_picture(path, bright_row):
    """Writes a grey 28x28 picture as the databases hold, of label (bright_row - 4) / 2."""
    pixels = bytearray(20 for _ in range(28 * 28))
    for row in range(bright_row, bright_row + 4):
        pixels[row * 28 + 4 : row * 28 + 24] = bytes([230] * 20)
    path.write_bytes(b"P5 28 28 255\n" + pixels)


def test_split_db_deals_out_all_records(databases):
    output = succeed("split_db", "--input_db", databases / "test_lmdb", "--input_db_type", "lmdb",
                     "--splits", 3)
    assert "100 records in 3 databases" in output
    counts = []
    for i in range(3):
        part = f"{databases}/test_lmdb_split_{i}"
        copied = succeed("convert_db", "--input_db", part, "--input_db_type", "lmdb",
                         "--output_db", f"{part}.minidb", "--output_db_type", "minidb")
        counts.append(int(re.search(r"(\d+) records", copied).group(1)))
    assert sorted(counts) == [33, 33, 34]


def test_split_db_names_a_bad_number_of_databases(databases):
    done = run("split_db", "--input_db", databases / "test_lmdb", "--input_db_type", "lmdb",
               "--splits", 1001)
    assert done.returncode == 64
    assert done.output == "split_db: --splits must be from 1 to 1000, found 1001\n"


def test_db_throughput_measures(databases):
    output = succeed("db_throughput", "--input_db", databases / "train_lmdb", "--input_db_type",
                     "lmdb", "--report_interval", 5, "--repeat", 1)
    assert "640 records, opened and checked" in output
    assert re.search(r"\d+ records/s", output)


def write_pictures(folder):
    """Ten pictures and their list; returns flags of make_image_db."""
    lines = []
    for label in range(10):
        write_picture(folder / f"{label}.pgm", 2 * label + 4)
        lines.append(f"{label}.pgm {label}\n")
    (folder / "list").write_text("".join(lines))
    return ["--input_folder", folder, "--list_file", folder / "list", "--db", "lmdb"]


@pytest.mark.parametrize("form", ["tensorprotos", "datum"])
@pytest.mark.parametrize("raw", [True, False])
def test_db_throughput_measures_the_stages_of_image_input(tmp_path, form, raw):
    flags = write_pictures(tmp_path)
    succeed("make_image_db", *flags, "--output_db_name", tmp_path / "pictures", "--format", form,
            f"--raw={raw}")
    measure = ["--input_db", tmp_path / "pictures", "--images", "--batch_size", 5, "--image_size",
               20, "--report_interval", 200, "--repeat", 1]
    for scale in (24, 28):
        output = succeed("db_throughput", *measure, "--image_scale", scale)
        for whole in ("reader", "ImageInput"):
            assert re.search(rf"^{whole} +\d+ records/s$", output, re.MULTILINE), output
        shares = {}
        for stage in ("read", "parse", "decode", "resize", "write"):
            (found,) = re.findall(rf"^{stage} +-?[0-9.]+ us +(-?[0-9.]+) %$", output, re.MULTILINE)
            shares[stage] = float(found)
        assert abs(sum(shares.values()) - 100) < 0.3
        if scale == 28:
            assert shares["resize"] == 0


def test_db_throughput_says_which_records_have_no_stages(tmp_path):
    # A minidb of one Datum of 1x4x4 floats.
    datum = b"\x08\x01\x10\x04\x18\x04\x28\x00" + 16 * (b"\x35" + struct.pack("<f", 0.5))
    path = tmp_path / "floats"
    path.write_bytes(struct.pack("<ii", 3, len(datum)) + b"one" + datum)
    output = succeed("db_throughput", "--input_db", path, "--input_db_type", "minidb", "--images",
                     "--batch_size", 2, "--image_size", 4, "--image_scale", 4, "--report_interval",
                     2, "--repeat", 1)
    assert "the stages are not measured: record one has an image of floats" in output
    assert re.search(r"^ImageInput +\d+ records/s$", output, re.MULTILINE), output


def test_make_image_db(tmp_path):
    flags = write_pictures(tmp_path)
    output = succeed("make_image_db", *flags, "--output_db_name", tmp_path / "pictures")
    assert output.startswith("10 records in ")
    # The same bytes, whatever the number of threads.
    succeed("make_image_db", *flags, "--output_db_name", tmp_path / "again", "--threads", 3)
    first, second = ((tmp_path / name / "data.mdb").read_bytes() for name in ("pictures", "again"))
    assert first == second
    (tmp_path / "colour.ppm").write_bytes(b"P6 8 8 255\n" + bytes([10, 200, 90]) * 64)
    (tmp_path / "list").write_text("colour.ppm 1\n")
    for flag, means in (("--color", 3), ("--nocolor", 1)):
        succeed("make_image_db", *flags, "--output_db_name", tmp_path / flag, flag)
        found = json.loads(succeed("doppio", "data", "inspect", tmp_path / flag, "--json"))
        assert len(set(found["mean"])) == means
    (tmp_path / "list").write_text("absent.pgm 1\n")
    done = run("make_image_db", *flags, "--output_db_name", tmp_path / "other")
    assert 0 < done.returncode < 128
    assert "absent.pgm" in last_line(done.output)
    assert not list(tmp_path.glob("other*"))


def minidb_records(path):
    """Keys and values of a minidb."""
    rest, records = path.read_bytes(), []
    while rest:
        key, value = struct.unpack("<ii", rest[:8])
        records.append((rest[8 : 8 + key], rest[8 + key : 8 + key + value]))
        rest = rest[8 + key + value :]
    return records


@pytest.mark.parametrize("form", ["tensorprotos", "datum"])
@pytest.mark.parametrize("scale", [0, 20])
def test_make_image_db_mixes_files_and_pixels(tmp_path, form, scale):
    flags = [*write_pictures(tmp_path), "--db", "minidb", "--format", form, "--scale", scale]

    def records(*more):
        path = tmp_path / f"db{len(list(tmp_path.iterdir()))}"
        succeed("make_image_db", *flags, "--output_db_name", path, *more)
        return minidb_records(path)

    files, pixels = records(), records("--raw")
    assert all(file != raw for file, raw in zip(files, pixels, strict=True))
    assert records("--raw_share", 0) == files
    assert records("--raw_share", 1) == pixels
    for share, places in ((0.5, {0, 2, 4, 6, 8}), (0.3, {1, 4, 8}), (0.04, set())):
        mixed = records("--raw_share", share)
        expected = [pixels[i] if i in places else files[i] for i in range(10)]
        assert mixed == expected
    assert records("--raw_share", 0.3, "--threads", 3) == records("--raw_share", 0.3)
    for bad, complaint in ((["--raw_share", 1.5], "--raw_share is 1.5, must be from 0 to 1"),
                           (["--raw_share", "nan"], "--raw_share is nan, must be from 0 to 1"),
                           (["--raw_share", 0.5, "--raw"], "--raw_share cannot be given with it")):
        done = run("make_image_db", *flags, "--output_db_name", tmp_path / "bad", *bad)
        assert done.returncode == 64 and complaint in last_line(done.output)


def test_a_drawn_picture_is_the_first_test_image(tmp_path):
    succeed("render_digits", "--output_dir", tmp_path, "--train", 1, "--test", 2, "--picture",
            tmp_path / "picture.jpg")
    pixels = (tmp_path / "t10k-images-idx3-ubyte").read_bytes()[16:][:28 * 28]
    with Image.open(tmp_path / "picture.jpg") as picture:
        assert (picture.format, picture.mode, picture.size) == ("JPEG", "L", (28, 28))
        drawn = picture.tobytes()
    assert max(pixels) > 200 and max(abs(a - b) for a, b in zip(drawn, pixels)) < 32


def test_a_picture_that_cannot_be_written_leaves_no_digits(tmp_path):
    done = run("render_digits", "--output_dir", tmp_path, "--train", 1, "--test", 2, "--picture",
               tmp_path / "absent" / "picture.jpg")
    assert done.returncode == 73 and "there is no folder" in last_line(done.output)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content, status, line", [
    (None, 66, r'--list_file \S+ is a folder: name a text file with lines "path label"'),
    (b"\x1b[2J\x07\xff\n", 65, r'\S+ line 1: "\?\[2J\?\?" is not "path label"'),
    (b"a.jpg " + b"x" * 500, 65, r'\S+ line 1: "a.jpg x{54}\.\.\." is not "path label"'),
])
def test_lists_of_images_that_are_none(content, status, line, tmp_path):
    place = tmp_path / "list"
    place.mkdir() if content is None else place.write_bytes(content)
    done = run("make_image_db", "--list_file", place, "--output_db_name", tmp_path / "db")
    assert done.returncode == status
    assert re.fullmatch(f"make_image_db: {line}\n", done.output), done.output
    assert [path.name for path in tmp_path.iterdir()] == ["list"]


def test_make_cifar_db(tmp_path):
    rng = random.Random(1)
    for name, count in (("data_batch_1", 4), ("data_batch_2", 3), ("test_batch", 2)):
        records = [bytes([label]) + rng.randbytes(3072) for label in range(count)]
        (tmp_path / f"{name}.bin").write_bytes(b"".join(records))
    flags = ["--input_folder", tmp_path, "--output_train_db_name", tmp_path / "train",
             "--output_test_db_name", tmp_path / "test"]
    output = succeed("make_cifar_db", *flags)
    assert "7 records" in output and "2 records" in output
    (tmp_path / "data_batch_1.bin").write_bytes(b"cut")
    done = run("make_cifar_db", "--input_folder", tmp_path, "--output_train_db_name",
               tmp_path / "cut")
    assert 0 < done.returncode < 128
    assert "data_batch_1.bin" in last_line(done.output)
    assert not list(tmp_path.glob("cut*"))


def test_predict_names_what_the_model_was_trained_on(databases, tmp_path):
    succeed("resnet50_trainer", *training(databases, tmp_path, num_epochs=6, mirror="false"))
    (model,) = tmp_path.glob("*.mdl")
    names = tmp_path / "names"
    names.write_text("".join(f"class {label}\n" for label in range(10)))
    for label in (0, 3, 9):
        write_picture(tmp_path / f"{label}.pgm", 2 * label + 4)
    pictures = [tmp_path / f"{label}.pgm" for label in (0, 3, 9)]
    lines = succeed("predict", "--model", model, "--class_names", names, *pictures).splitlines()
    assert len(lines) == 3 * 6
    for i, label in enumerate((0, 3, 9)):
        assert lines[6 * i] == str(pictures[i])
        probabilities = [float(line.split()[0]) for line in lines[6 * i + 1 : 6 * i + 6]]
        assert lines[6 * i + 1].endswith(f"class {label}")
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0.5 < sum(probabilities) <= 1.001


def test_predictions_are_json_on_request(databases, tmp_path):
    succeed("resnet50_trainer", *training(databases, tmp_path, mirror="false"))
    (model,) = tmp_path.glob("*.mdl")
    pictures = [tmp_path / f'{label} "a".pgm' for label in (0, 3)]
    for label, picture in enumerate(pictures):
        write_picture(picture, 2 * label + 4)
    broken = tmp_path / "broken.pgm"
    broken.write_text("P5")
    names = tmp_path / "names"
    names.write_text("".join(f"class {label}\n" for label in range(10)))
    words = ["predict", "--model", model, "--top", 3, "--class_names", names]
    text = succeed(*words, *pictures).splitlines()
    done = run(*words, "--format", "json", pictures[0], broken, pictures[1])
    assert done.returncode == 65 and "1 of 3 pictures cannot be read" in last_line(done.output)
    lines = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    assert [line["picture"] for line in lines] == [str(pictures[0]), str(broken), str(pictures[1])]
    assert lines[1].keys() == {"picture", "error"}
    for line, shown in zip((lines[0], lines[2]), (text[:4], text[4:])):
        assert [f"{entry['score']:8.4f}  {entry['name']}" for entry in line["labels"]] == shown[1:]
        assert all(entry["name"] == f"class {entry['label']}" for entry in line["labels"])
    done = run(*words, "--format", "xml", pictures[0])
    assert done.returncode == 64
    assert "--format is xml, must be text or json" in last_line(done.output)


def test_models_carry_the_names_of_their_classes(databases, tmp_path):
    photos = tmp_path / "photos"
    for label, name in enumerate(("zebra", "yak", "xerus")):
        for part in ("train", "test"):
            (photos / part / name).mkdir(parents=True)
            for i in range(8):
                write_picture(photos / part / name / f"{i}.pgm", 8 * label + 2 + i % 2)
    succeed("resnet50_trainer", *training(
        databases, tmp_path, train_data=photos, test_data=photos, db_type="auto", num_labels=3,
        batch_size=8, epoch_size=0, mirror="false", log_dir=tmp_path / "log"), "--shuffle")
    model = tmp_path / "model_1.mdl"
    picture = photos / "test" / "yak" / "0.pgm"
    lines = succeed("predict", "--model", model, picture).splitlines()
    assert sorted(line.split()[1] for line in lines[1:]) == ["xerus", "yak", "zebra"]
    succeed("doppio", "report", tmp_path / "log")
    assert "1 (yak)" in (tmp_path / "log" / "report.html").read_text()
    names = tmp_path / "names"
    for text, status, message in (
        ("a\nb\n", 64, f"--class_names {names} has 2 names, the model has 3 labels"),
        ("a\nb\nc\nd\n", 64, "has 4 names, the model has 3 labels"),
    ):
        names.write_text(text)
        done = run("predict", "--model", model, "--class_names", names, picture)
        assert done.returncode == status, done.output
        assert message in done.output
    done = run("predict", "--model", model, "--class_names", tmp_path, picture)
    assert done.returncode == 66
    assert "it is a folder" in done.output


def test_predict_names_a_picture_that_cannot_be_read(databases, tmp_path):
    succeed("resnet50_trainer", *training(databases, tmp_path, epoch_size=64))
    (tmp_path / "empty.png").touch()
    for words, status, text in (
        ([tmp_path / "none.png"], 66, "cannot read the file: No such file or directory"),
        ([tmp_path / "empty.png"], 66, "cannot read the file: it is empty"),
        ([tmp_path], 66, "it is a folder; name the pictures in it"),
        (["--class_names", tmp_path / "none", "a.png"], 66, "none: No such file or directory"),
        (["--top", "0", "a.png"], 64, "--top is 0, must be at least 1"),
    ):
        done = run("predict", "--model", tmp_path / "model_1.mdl", *words)
        assert (done.returncode, done.output.count("\n")) == (status, 1), done.output
        assert text in done.output
        if len(words) == 1:
            assert f"(picture {words[0]})" in done.output


def test_predict_goes_on_after_a_picture_that_cannot_be_read(databases, tmp_path):
    succeed("resnet50_trainer", *training(databases, tmp_path, epoch_size=64))
    good = tmp_path / "grey.pgm"
    good.write_bytes(b"P5 28 28 255\n" + bytes(28 * 28))
    other = tmp_path / "other.png"
    other.write_bytes(b"no picture")
    done = run("predict", "--model", tmp_path / "model_1.mdl", other, good, "--format", "json")
    assert done.returncode == 65 and "is not a JPEG" in done.output
    assert "enforce" not in done.output
    done = run("predict", "--model", tmp_path / "model_1.mdl", tmp_path / "none.png", good)
    assert done.returncode == 65, done.output
    assert f"(picture {tmp_path}/none.png)" in done.output and f"{good}\n" in done.output
    assert "enforce" not in done.output
    assert done.output.endswith("predict: 1 of 2 pictures cannot be read (see above)\n")


def test_predict_doubts_odd_pixels(databases, tmp_path):
    succeed("resnet50_trainer", *training(databases, tmp_path, epoch_size=64))
    good = tmp_path / "grey.pgm"
    good.write_bytes(b"P5 28 28 255\n" + bytes(28 * 28))
    for std in ("0", "-1", "128,0,128"):
        done = run("predict", "--model", tmp_path / "model_1.mdl", "--std", std, good)
        assert done.returncode == 64 and "must be positive" in done.output, done.output
    zero = run("predict", "--model", tmp_path / "model_1.mdl", "--mean=0", good)
    assert zero.output != run("predict", "--model", tmp_path / "model_1.mdl", good).output
    done = run("predict", "--model", tmp_path / "model_1.mdl", "--mean=0.5", "--std=0.5", good)
    assert done.returncode == 0 and "write --mean 127.5 --std 127.5" in done.output


def write_conv_net(folder):
    """A net of Caffe2's GPU trainers: 1x1 convolution, normalization, average over 8x8 pixels.

    A pixel p becomes the scores 2p and -4p, then (score - 0.5) / 0.5 + 0.5.
    """
    device = "device_option { device_type: CUDA cuda_gpu_id: 0 }"

    def fill(name, shape, values):
        dims = "".join(f"ints: {dim} " for dim in shape)
        numbers = "".join(f"floats: {value} " for value in values)
        return (f'op {{ type: "GivenTensorFill" output: "{name}" {device} arg {{ name: "shape" '
                f'{dims} }} arg {{ name: "values" {numbers} }} }}\n')

    (folder / "init.pbtxt").write_text(
        fill("w", (2, 1, 1, 1), (2, -4)) + fill("scale", (2,), (1, 1))
        + fill("bias", (2,), (0.5, 0.5)) + fill("mean", (2,), (0.5, 0.5))
        + fill("var", (2,), (0.25, 0.25)))
    blobs = "".join(f'external_input: "{name}" '
                    for name in ("data", "w", "scale", "bias", "mean", "var"))
    norm = "".join(f'input: "{name}" ' for name in ("conv", "scale", "bias", "mean", "var"))
    (folder / "net.pbtxt").write_text(
        f'name: "net" {blobs} {device}\n'
        f'op {{ type: "Conv" input: "data" input: "w" output: "conv" {device} '
        'arg { name: "kernel" i: 1 } }\n'
        f'op {{ type: "SpatialBN" {norm} output: "norm" {device} '
        'arg { name: "is_test" i: 1 } arg { name: "epsilon" f: 0 } }\n'
        f'op {{ type: "AveragePool" input: "norm" output: "scores" {device} '
        'arg { name: "kernel" i: 8 } }\n')


def test_predict_runs_a_gpu_net_on_the_cpu(tmp_path):
    write_conv_net(tmp_path)
    picture = tmp_path / "grey.pgm"
    picture.write_bytes(b"P5 8 8 255\n" + bytes([192] * 64))  # (192 - 128) / 128 = 0.5
    lines = succeed("predict", "--init_net", tmp_path / "init.pbtxt", "--predict_net",
                    tmp_path / "net.pbtxt", "--image_size", 8, "--image_scale", 8,
                    "--num_channels", 1, picture).splitlines()
    assert [line.split() for line in lines[1:]] == [["1.5000", "0"], ["-4.5000", "1"]]


def test_mnist_trainer_goes_on_from_an_epoch(databases, tmp_path):
    flags = ["--use_cpu", "--train_data", databases / "train_lmdb", "--test_data",
             databases / "test_lmdb", "--num_examples", 640, "--model_prefix", tmp_path / "mlp"]
    output = succeed("mnist_trainer", *flags, "--num_epochs", 2)
    assert "Epoch[1] Validation-accuracy=" in output
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["mlp-0001.mdl", "mlp-0002.mdl"]
    output = succeed("mnist_trainer", *flags, "--num_epochs", 3, "--load_epoch", 2)
    assert "Epoch[0]" not in output
    assert "Epoch[2] Validation-accuracy=" in output
    done = run("mnist_trainer", *flags, "--num_epochs", 9, "--load_epoch", 8)
    assert 0 < done.returncode < 128
    assert "mlp-0008.mdl" in last_line(done.output)


@pytest.mark.parametrize("num_shards", [1, 2, 4])
def test_a_run_of_40_is_one_of_17_and_23(num_shards, databases, shards, tmp_path):
    """A run that was stopped inside an epoch makes the same models as one that was not."""
    models = {}
    for name, parts in (("whole", [40]), ("parts", [17, 40])):
        folder = tmp_path / name
        folder.mkdir()
        for i, iterations in enumerate(parts):
            flags = training(
                databases, folder, num_shards=num_shards, run_id=f"{name}{i}", model="mlp",
                batch_size=4, epoch_size=4 * 10 * num_shards, num_epochs=4, test_data=None,
                max_iterations=iterations, checkpoint_every=1000, shuffle="true",
                checkpoint_path=folder / "checkpoint",
            )
            for shard in range(num_shards):
                resume = ["--resume"] if i > 0 else []
                shards.start(*flags, "--shard_id", shard, *resume)
            for status, output in shards.wait():
                assert status == 0, output
            shards.processes.clear()
        models[name] = (folder / "model_4.mdl").read_bytes()
    assert models["whole"] == models["parts"]


def test_speed_benchmark_times_each_operator(tmp_path):
    net = tmp_path / "net.pbtxt"
    net.write_text('op { type: "Relu" input: "x" output: "y" } op { type: "Copy" input: "y" '
                   'output: "z" }')
    output = succeed("speed_benchmark", "--net", net, "--input", "x", "--input_dims", "2,3",
                     "--iter", 5, "--warmup", 1, "--run_individual", "true")
    assert "Milliseconds per iter" in output
    assert "(, Relu)" in output and "(, Copy)" in output


def test_speed_benchmark_times_the_net_as_it_is_or_optimized(tmp_path):
    write_conv_net(tmp_path)
    for name in ("init", "net"):
        path = tmp_path / f"{name}.pbtxt"
        path.write_text(path.read_text().replace("device_type: CUDA cuda_gpu_id: 0", ""))
    flags = ["--init_net", tmp_path / "init.pbtxt", "--net", tmp_path / "net.pbtxt", "--input",
             "data", "--input_dims", "1,1,8,8", "--iter", 1, "--run_individual", "true"]
    hint = "the net is timed as it is; with --optimize it is timed as predict and"
    as_it_is = succeed("speed_benchmark", *flags)
    assert "(, SpatialBN)" in as_it_is
    assert as_it_is.count(hint) == 1
    optimized = succeed("speed_benchmark", *flags, "--optimize", "true")
    assert "(, SpatialBN)" not in optimized
    assert hint not in optimized
