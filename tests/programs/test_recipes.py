"""--recipe and --dry_run of the trainers, and `doppio train`."""

import re
import shlex
import shutil

import pytest

from conftest import BIN, last_line, run, training, write_idx


def recipes():
    """The lines of `doppio train --help`: (name, what it is and what it reached)."""
    text = run("doppio", "train", "--help").output.partition("Recipes:\n")[2]
    return re.findall(r"^  (\w+): (.*)$", text, re.MULTILINE)


@pytest.fixture(scope="module")
def mnist(tmp_path_factory):
    """A folder with files as MNIST's, of 640 and 100 images."""
    folder = tmp_path_factory.mktemp("mnist")
    for stem, name, count in (("train", "train", 640), ("test", "t10k", 100)):
        write_idx(folder, stem, count, seed=len(name))
        for kind, dimensions in (("images", 3), ("labels", 1)):
            (folder / f"{stem}-{kind}").rename(folder / f"{name}-{kind}-idx{dimensions}-ubyte")
    return folder


def settings(output):
    """Value and source of each setting that --dry_run prints as given."""
    given = output.partition("Settings that are given:\n")[2].partition("Defaults:\n")[0]
    return {words[0]: (words[1], " ".join(words[2:]))
            for words in (line.split() for line in given.splitlines())}


def test_each_recipe_is_accepted_by_its_trainer(databases):
    found = recipes()
    assert len(found) >= 7
    for name, text in found:
        program = "mnist_trainer" if name.startswith("mnist") else "resnet50_trainer"
        done = run(program, "--recipe", name, "--use_cpu", "--dry_run", "--evaluate",
                   "--test_data", databases / "test_lmdb", "--load_model_path", "none_1.mdl")
        assert done.returncode == 0, done.output
        assert f"Recipe {name}: {text}" in done.output
        assert "not run" in text or re.search(r"0\.\d{3}", text), name


def test_a_dry_run_tells_settings_sources_and_time(databases, mnist, tmp_path):
    file = tmp_path / "run.flags"
    file.write_text(f"--train_data={mnist}\n--num_epochs=3\n--seed=7\n")
    done = run("mnist_trainer", "--use_cpu", "--recipe", "mnist_lenet", "--flagfile", file,
               "--num_epochs", "4", "--batch_size=32", "--model_prefix", tmp_path / "model",
               "--checkpoint_every", "1", "--dry_run", cwd=tmp_path)
    assert done.returncode == 0, done.output
    given = settings(done.output)
    assert given["network"] == ("lenet", "recipe mnist_lenet")
    assert given["seed"] == ("7", f"file {file}")
    assert given["num_epochs"] == ("4", "command line")
    assert given["batch_size"] == ("32", "command line")
    assert "wd" not in given and re.search(r"^  wd +0\.0001$", done.output, re.MULTILINE)
    assert "Run: 1 shard, 32 images in a batch of all, 20 iterations in an epoch" in done.output
    assert re.search(r"^Time: 0:\d\d for 80 iterations of [\d.e-]+ s, measured over (19|2\d) on",
                     done.output, re.MULTILINE)
    assert "Recipe mnist_lenet: LeNet on MNIST" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["run.flags"]


def test_a_dry_run_waits_for_no_other_shard(databases, tmp_path):
    flags = training(databases, tmp_path, num_shards=2, run_id="dry", test_data=None)
    first = run("resnet50_trainer", *flags, "--shard_id=0", "--dry_run")
    assert first.returncode == 0, first.output
    assert "Run: 2 shards, 64 images in a batch of all, 10 iterations" in first.output
    second = run("resnet50_trainer", *flags, "--shard_id=1", "--dry_run")
    assert (second.returncode, second.output) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_hides_passwords(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path), "--dry_run", "--init_method",
               "redis://:hunter2@localhost/1")
    assert done.returncode == 0, done.output
    assert "hunter2" not in done.output
    assert settings(done.output)["init_method"] == ("redis://localhost:6379/1", "command line")


@pytest.mark.parametrize("program, line", [
    ("mnist_trainer", 'there is no recipe "mnist_lenett"; do you mean mnist_lenet? (known: '),
    ("doppio", 'there is no recipe "mnist_lenett"; do you mean mnist_lenet? (known: '),
])
def test_an_unknown_recipe_gets_a_suggestion(program, line):
    words = ["train"] if program == "doppio" else []
    done = run(program, *words, "--recipe", "mnist_lenett")
    assert done.returncode == 64
    assert last_line(done.output).startswith(f"{program}: {line}")


def test_a_typo_in_a_file_gets_a_suggestion(tmp_path):
    file = tmp_path / "run.flags"
    file.write_text("--use_cpu\n--bacth_size=3\n")
    done = run("resnet50_trainer", "--flagfile", file)
    assert (done.returncode, done.output) == (
        64, f"resnet50_trainer: file {file}: unknown flag --bacth_size: "
            "did you mean --batch_size?\n")


def test_train_starts_the_trainer_of_a_recipe(mnist, tmp_path):
    words = ("train", "--recipe", "mnist_lenet", "--data", mnist, "--use_cpu", "--num_epochs", "2",
             "--batch_size=32", "--log_style", "caffe2")
    done = run("doppio", *words, cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert "doppio: train: sets --model_prefix=mnist_lenet\n" in done.output
    assert "Finished epoch 1/2" in done.output
    assert (tmp_path / "mnist_lenet-0002.mdl").exists()
    assert f"mnist_trainer --recipe=mnist_lenet --train_data={mnist}" in done.output
    done = run("doppio", *words, "--model_prefix=", cwd=tmp_path)
    assert "train: sets" not in done.output
    assert "No model is saved: --model_prefix NAME saves one after each epoch" in done.output


@pytest.mark.parametrize("words, sets, status", [
    ([], ["--file_store_path=. --save_model_name=cifar10_resnet20"], 66),
    (["--save_model_name", "a"], ["--file_store_path=."], 66),
    (["--evaluate"], [], 64)])  # of which model?
def test_models_of_a_recipe_are_in_the_current_folder(words, sets, status, tmp_path):
    done = run("doppio", "train", "--recipe", "cifar10_resnet20", "--use_cpu", "--data",
               tmp_path / "none", *words, cwd=tmp_path)
    assert re.findall("doppio: train: sets (.*)", done.output) == sets
    assert done.returncode == status and not list(tmp_path.iterdir())


def test_train_tests_on_the_data_that_is_given(mnist, tmp_path):
    file = tmp_path / "run.flags"
    file.write_text(f"--test_data={mnist}/other\n")
    for words in (["--test_data", f"{mnist}/other"], ["--flagfile", file]):
        done = run("doppio", "train", "--recipe", "mnist_lenet", "--data", mnist, "--dry_run",
                   "--use_cpu", *words)
        assert f"--train_data={mnist} --model_prefix" in done.output
        assert f"--test_data={mnist} " not in done.output
        assert done.returncode == 66 and f"{mnist}/other" in last_line(done.output)


@pytest.mark.parametrize("words, chosen", [
    ([], True), (["--use_cpu"], False), (["--gpus=0"], False), (["--nouse_cpu"], False)])
def test_train_without_a_gpu_uses_the_cpu(words, chosen, mnist):
    done = run("doppio", "train", "--recipe", "mnist_lenet", "--data", mnist, "--dry_run", *words,
               env={"CUDA_VISIBLE_DEVICES": ""})
    line = "doppio: train: trains on the CPU (--use_cpu): no GPU is available ("
    assert (line in done.output) == chosen
    if chosen or words == ["--use_cpu"]:
        assert done.returncode == 0, done.output
    else:
        assert done.returncode == 71
        assert "no GPU is available to this program; add --use_cpu" in last_line(done.output)


def test_train_on_data_without_a_test_part_holds_some_out(mnist, tmp_path):
    for file in mnist.glob("train-*"):
        shutil.copy(file, tmp_path)
    done = run("doppio", "train", "--recipe", "mnist_lenet", "--data", tmp_path, "--dry_run",
               "--use_cpu")
    assert done.returncode == 0, done.output
    line = f"{tmp_path} has no images for tests: --holdout=0.1 keeps a tenth of its images for "
    assert done.output.count(line) == 1
    starts = re.search("doppio: train: starts (.*)", done.output)[1]
    assert "--holdout=0.1" in starts and "--test_data" not in starts
    for words in (["--holdout", "0.2"], ["--holdout=0"], ["--test_data", mnist]):
        done = run("doppio", "train", "--recipe", "mnist_lenet", "--data", tmp_path, "--dry_run",
                   "--use_cpu", *words)
        assert done.returncode == 0, done.output
        assert "has no images for tests" not in done.output and "--holdout=0.1" not in done.output


def test_train_on_a_database_does_not_test_what_it_trains_on(databases, tmp_path):
    words = ["doppio", "train", "--use_cpu", "--data", databases / "train_lmdb", "--model", "lenet",
             "--image_size=28", "--num_channels=1", "--num_labels=10",
             "--base_learning_rate=0.001", "--dry_run"]
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert "--holdout=0.1 keeps a tenth" in done.output and "the same images" not in done.output
    assert re.search(r"^  test_data +none$", done.output, re.MULTILINE)
    done = run(*words, "--test_data", databases / "test_lmdb", cwd=tmp_path)
    assert "holdout=0.1" not in done.output


@pytest.mark.parametrize("flag, value", [("--max_restarts", "2"), ("--store", "none")])
def test_train_says_which_flags_are_for_run(flag, value, mnist):
    done = run("doppio", "train", "--recipe", "mnist_lenet", "--data", mnist, "-n", "2", flag,
               value)
    assert done.returncode == 64
    assert f"{flag} is a flag of doppio run" in last_line(done.output)


def test_train_on_synthetic_images_has_no_test(tmp_path):
    done = run("doppio", "train", "--data", "null", "--model", "mlp", "--image_size=8",
               "--batch_size=4", "--epoch_size=8", "--num_epochs=1", "--num_labels=3", cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert "--train_data=null" in done.output and "--test_data" not in done.output
    assert "Finished epoch 0/1" in done.output


def test_train_starts_shards(mnist, tmp_path):
    done = run("doppio", "train", "--recipe", "mnist_lenet", "--data", mnist, "-n", "2",
               "--use_cpu", "--num_epochs", "1", cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert (tmp_path / "mnist_lenet-0001.mdl").exists()
    assert "images/s of 2 shards" in done.output


@pytest.mark.parametrize(("words", "line"), [
    (["--bacth_size=8"], "unknown flag --bacth_size: did you mean --batch_size?"),
    (["--kv_store", "dist", "--network", "mlp"], None),  # advice of several words
    (["--num_epochs"], "--num_epochs has no value: write --num_epochs=VALUE"),
    (["--num_epochs", "two"], '--num_epochs is "two", must be a whole number (int32)'),
    (["--flagfile", "none.flags"], "cannot read --flagfile none.flags: No such file or directory"),
])
def test_a_wrong_flag_is_told_once_for_all_shards(words, line, tmp_path):
    one = run("doppio", "train", "--use_cpu", *words, cwd=tmp_path)
    done = run("doppio", "train", "-n", "2", "--use_cpu", *words, cwd=tmp_path)
    program = "mnist_trainer" if "mlp" in words else "resnet50_trainer"
    assert done.output.startswith(f"{program}: ") and done.output.count("\n") == 1, done.output
    if line is not None:
        assert done.output == f"{program}: {line}\n"
    assert done.output == last_line(one.output) + "\n"
    assert done.returncode == one.returncode != 0


def test_the_demo_draws_digits_once(tmp_path):
    words = ["doppio", "train", "--demo", "mnist", "--num_examples=1280", "--test_epoch_size=500",
             "--log_dir", "runs"]  # a value that is also a command
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "MNIST_DIR": ""}
    done = run(*words, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert "DRAWN DIGITS" in done.output and "Validation-accuracy=" in done.output
    drawn = tmp_path / "cache" / "doppio" / "drawn_digits"
    assert [path.name for path in (tmp_path / "cache" / "doppio").iterdir()] == [drawn.name]
    assert len(list(drawn.iterdir())) == 4
    (drawn / "train-labels-idx1-ubyte").unlink()  # so it fails if it does not draw again
    done = run(*words, env=env, cwd=tmp_path)
    assert done.returncode != 0 and "train-labels-idx1-ubyte" in last_line(done.output)
    assert (tmp_path / "runs" / "metrics.jsonl").exists()


def test_the_demo_leaves_a_model_that_predicts(mnist, tmp_path):
    picture = tmp_path / "seven.pgm"
    picture.write_bytes(b"P5 28 28 255\n" + bytes(28 * 28))
    done = run("doppio", "train", "--demo", "mnist", "--data", mnist, "--use_cpu", cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert "predict --model mnist_demo-0001.mdl PICTURE" in done.output
    assert done.output.count("--use_cpu") == 1
    done = run("predict", "--model", "mnist_demo-0001.mdl", picture, cwd=tmp_path)
    assert done.returncode == 0, done.output
    done = run("doppio", "train", "--demo", "mnist", "--data", mnist, "--model_prefix", "mine",
               cwd=tmp_path)
    assert "predict --model mine-0001.mdl PICTURE" in done.output
    assert (tmp_path / "mine-0001.mdl").exists()


def test_the_demo_prints_commands_that_a_shell_can_take(mnist, tmp_path):
    folder = tmp_path / "Ünï cöde's"
    folder.mkdir()
    (folder / "di gits").symlink_to(mnist)
    words = ["--data", "di gits", "--model_prefix", "a b", "--use_cpu", "--num_examples=640",
             "--test_epoch_size=100"]
    done = run("doppio", "train", "--demo", "mnist", *words, cwd=folder)
    assert done.returncode == 0, done.output
    (started,) = re.findall("doppio: train: starts (.*)", done.output)
    program, *flags = shlex.split(started)
    assert program == str(BIN / "mnist_trainer")
    assert "--train_data=di gits" in flags and flags[-5:-2] == words[2:5]
    (said,) = re.findall("predict --model (.*) PICTURE", done.output)
    assert shlex.split(said) == ["a b-0001.mdl"]
    assert (folder / "a b-0001.mdl").exists()


def test_a_demo_where_nobody_can_write_says_where_to_start(mnist):
    done = run("doppio", "train", "--demo", "mnist", "--data", mnist, "--use_cpu", cwd="/proc")
    assert done.returncode == 73
    assert re.search(r"cannot write to directory /proc: .*; start in a folder that you can write "
                     "to, or name one with the file", last_line(done.output))


def test_the_demo_takes_mnist_where_it_is(mnist, tmp_path):
    for words, env in ((["--data", mnist], {}), ([], {"MNIST_DIR": str(mnist)})):
        done = run("doppio", "train", "--demo", "mnist", "--model_prefix=", *words,
                   env={"XDG_CACHE_HOME": str(tmp_path), **env})
        assert done.returncode == 0, done.output
        assert "DRAWN DIGITS" not in done.output and f"--train_data={mnist}" in done.output
    assert list(tmp_path.iterdir()) == []


def test_train_needs_no_recipe(databases, mnist, tmp_path):
    flags = training(databases, tmp_path)
    done = run("doppio", "train", *flags)
    assert done.returncode == 0, done.output
    assert "resnet50_trainer --use_cpu" in done.output and (tmp_path / "model_1.mdl").exists()
    assert "no recipe" not in done.output
    done = run("doppio", "train", "--data", mnist, "--use_cpu", "--network", "lenet", "--dry_run")
    assert done.returncode == 0, done.output
    given = {name: value for name, (value, _) in settings(done.output).items()}
    assert given == {
        "train_data": str(mnist), "test_data": str(mnist), "use_cpu": "true", "network": "lenet",
        "dry_run": "true", "num_examples": "0", "shuffle": "true", "num_labels": "10",
        "model_prefix": "mnist_lenet"}
    assert ("doppio: train: no recipe, so it sets --num_examples=0 --shuffle --num_labels=10 "
            "--model_prefix=mnist_lenet\n") in done.output


@pytest.fixture
def photos(tmp_path):
    """A folder of photos of three classes."""
    for label, name in enumerate(("bird", "cat", "dog")):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(4):
            (tmp_path / "photos" / name / f"{i}.ppm").write_bytes(
                b"P6 40 30 255\n" + bytes([80 * label, 9 * i, 5]) * 1200)
    return tmp_path / "photos"


def test_data_without_a_recipe_is_trained_on_as_it_is(photos, tmp_path):
    words = ("train", "--data", photos, "--use_cpu", "--model", "lenet", "--image_size", "28",
             "--batch_size", "4", "--base_learning_rate", "0.001", "--num_epochs", "2")
    done = run("doppio", *words, cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert ("doppio: train: no recipe, so it sets --epoch_size=0 --shuffle --num_labels=3 "
            "--file_store_path=.\n") in done.output
    assert "classes, --num_labels" not in done.output
    assert "class after class" not in done.output and "Finished epoch 1/2" in done.output
    assert (tmp_path / "resnet50_model_2.mdl").exists()
    file = tmp_path / "run.flags"
    file.write_text("--epoch_size=8\n--num_labels=7\n")
    done = run("doppio", *words[:-2], "--flagfile", file, "--noshuffle", "--file_store_path",
               tmp_path / "models", "--dry_run", cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert "doppio: train: no recipe, so it sets --num_epochs=90\n" in done.output
    assert settings(done.output)["num_labels"] == ("7", f"file {file}")


def test_what_is_not_known_of_the_data_stays_the_trainer_s(databases, tmp_path):
    words = ("train", "--use_cpu", "--model", "lenet", "--image_size", "28",
             "--base_learning_rate", "0.001", "--dry_run")
    done = run("doppio", *words, "--data", databases / "train_lmdb", "--num_channels", "1",
               cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert "sets --epoch_size=0 --shuffle --num_epochs=90 --file_store_path=.\n" in done.output
    done = run("doppio", *words, "--data", "null", "--epoch_size", "64", cwd=tmp_path)
    assert "sets --num_epochs=90 --file_store_path=.\n" in done.output
    done = run("doppio", *words, "--data", tmp_path / "none", cwd=tmp_path)
    assert done.returncode == 66 and "none" in last_line(done.output)
    done = run("doppio", *words, "--data", databases / "test_lmdb", "--evaluate",
               "--load_model_path", "none_1.mdl", cwd=tmp_path)
    assert "no recipe" not in done.output


def test_train_finds_the_recipe_of_a_file(mnist, tmp_path):
    file = tmp_path / "run.flags"
    file.write_text("# a run\n--recipe=mnist_lenet\n--num_epochs=3\n")
    done = run("doppio", "train", "--flagfile", file, "--data", mnist, "--use_cpu", "--dry_run")
    assert done.returncode == 0, done.output
    assert settings(done.output)["num_epochs"] == ("3", f"file {file}")
    assert "Recipe mnist_lenet: " in done.output


def test_train_says_how_files_are_given():
    done = run("doppio", "train", "--config", "run.toml")
    assert done.returncode == 64
    assert last_line(done.output) == ("resnet50_trainer: unknown flag --config: use --flagfile, a "
                                      "file with --name=value in each line")


@pytest.mark.parametrize("words, line", [
    ([], "train: nothing says what to train: give --recipe NAME --data DATA, --demo mnist, or "
         "flags of resnet50_trainer, such as --data photos --model resnet18 --use_cpu (see doppio "
         "train --help)"),
    (["--recipe", "mnist_lenet", "--demo", "mnist"],
     "train: --recipe and --demo cannot be used together"),
])
def test_train_refuses_calls_that_say_nothing(words, line):
    done = run("doppio", "train", *words)
    assert (done.returncode, done.output) == (64, f"doppio: {line}\n")
