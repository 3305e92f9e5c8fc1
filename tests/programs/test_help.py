"""`--help`, suggestions for typos, `--flagfile` and shell completion."""

import re
import shutil
import subprocess
import sys

import pytest

from conftest import BIN, last_line, run, training
from launcher_dialects import clean_environment

TRAINERS = ["resnet50_trainer", "mnist_trainer"]


@pytest.mark.parametrize("command", ["convert", "inspect", "quantize"])
def test_commands_of_the_python_package_tell_the_version(command):
    done = run("doppio", command, "--version", env={"DOPPIO_PYTHON": "/none"})
    version = run("doppio", "--version").output.removeprefix("doppio, ")
    assert (done.returncode, done.output) == (0, f"doppio {command}, {version}")


@pytest.mark.parametrize("program", TRAINERS)
def test_help_is_grouped_with_the_required_flags_first(program):
    text = run(program, "--help").output
    groups = re.findall(r"^([A-Z].*):$", text, re.MULTILINE)
    assert groups[:5] == ["Examples", "Flags", "Required", "Recipes", "Data"]
    assert text.index("  --train_data TEXT (required)") < text.index("\nData:")
    assert text.index("\nData:") < text.index("  --test_data TEXT") < text.index("\nModel:")
    names = re.findall(r"^  --(?:\[no\])?(\w+)", text, re.MULTILINE)
    assert len(names) == len(set(names)) > 50
    assert max(map(len, text.partition("\nFlags:")[2].splitlines())) <= 100


# What a program cannot do without.
REQUIRED = {
    "convert_db": {"input_db", "output_db", "output_db_type"},
    "db_throughput": {"input_db"},
    "make_cifar_db": {"input_folder"},
    "make_image_db": {"list_file", "output_db_name"},
    "make_mnist_db": {"image_file", "label_file", "output_file"},
    "render_digits": {"output_dir"},
    "run_plan": {"plan"},
    "speed_benchmark": {"net"},
    "split_db": {"input_db", "splits"},
}


@pytest.mark.parametrize("program", [*REQUIRED, "predict"])
def test_help_is_written_in_one_style(program):
    text = run(program, "--help").output.partition("\nFlags:\n")[2]
    flags = re.findall(r"^  --(?:\[no\])?(\w+)(.*)\n((?:      .*\n)+)", text, re.MULTILINE)
    assert {name for name, kind, _ in flags if "(required)" in kind} == REQUIRED.get(program, set())
    for name, _, lines in flags:
        first, last = lines.split()[0], lines.split()[-1]
        assert first[0].islower() or first[0].isdigit() or first[:2].isupper(), (name, first)
        assert not last.endswith(".") or last.endswith("..."), (name, last)
        assert " ," not in lines and " :" not in lines, (name, lines)


def test_defaults_are_written_as_people_write_them():
    text = run("resnet50_trainer", "--help").output
    assert "  --base_learning_rate NUMBER (default: 0.1)\n" in text
    assert "  --weight_decay NUMBER (default: 0.0001)\n" in text
    assert "  --[no]mirror (default: true)\n" in text
    assert not re.search(r"\d0000000\d", text)


@pytest.mark.parametrize("program, flag, meant", [
    ("resnet50_trainer", "--bacth_size=3", "batch_size"),
    ("resnet50_trainer", "--batch-sise", "batch_size"),
    ("resnet50_trainer", "-noshufle", "noshuffle"),
    ("make_mnist_db", "--image_fil=x", "image_file"),
    ("mnist_trainer", "--log_histograms", "log_histograms_every"),
])
def test_a_typo_gets_a_suggestion(program, flag, meant):
    done = run(program, flag)
    name = flag.lstrip("-").partition("=")[0]
    assert done.returncode == 64
    assert done.output == f"{program}: unknown flag --{name}: did you mean --{meant}?\n"


def test_other_unknown_flags_point_to_the_help():
    done = run("mnist_trainer", "--qqqqqqqq", "1")
    assert done.returncode == 64
    assert last_line(done.output) == "mnist_trainer: unknown flag --qqqqqqqq: see --help"


@pytest.mark.parametrize("words, line", [
    (["--batch_size=abc"], '--batch_size is "abc", must be a whole number (int64)'),
    (["--batch_size", "99999999999999999999"],
     '--batch_size is "99999999999999999999", must be a whole number (int64)'),
    (["--base_learning_rate=fast"], '--base_learning_rate is "fast", must be a number (double)'),
    (["--use_cpu=maybe"], '--use_cpu is "maybe", must be true or false (bool)'),
    (["--batch_size"], "--batch_size has no value: write --batch_size=VALUE"),
    (["--flagfile"], "--flagfile has no value: write --flagfile FILE"),
])
def test_a_wrong_value_is_one_line(words, line):
    done = run("resnet50_trainer", *words)
    assert (done.returncode, done.output) == (64, f"resnet50_trainer: {line}\n")


@pytest.mark.parametrize("program, words, line", [
    ("mnist_trainer", ["--lr=0"], "--lr is 0, must be positive"),
    ("mnist_trainer", ["--wd=-1"], "--wd is -1, must not be negative"),
    ("mnist_trainer", ["--mom=2"], "--mom is 2, must be "),
    ("resnet50_trainer", ["--base_learning_rate=0"], "--base_learning_rate is 0, must be positive"),
])
def test_an_impossible_value_names_the_flag_of_the_program(program, words, line):
    done = run(program, "--use_cpu", "--train_data=null", *words)
    assert done.returncode == 64, done.output
    assert last_line(done.output).startswith(f"{program}: {line}")


def test_a_wrong_value_in_a_file_names_the_file(tmp_path):
    file = tmp_path / "run.flags"
    file.write_text("--batch_size=abc\n")
    done = run("resnet50_trainer", "--flagfile", file)
    assert done.output == (f'resnet50_trainer: file {file}: --batch_size is "abc", must be a whole '
                           "number (int64)\n")


@pytest.mark.parametrize("word, hint", [
    ("evaluate", "use resnet50_trainer --evaluate --load_model_path M.mdl --test_data DATA"),
    ("export", "use doppio convert M.mdl M.onnx; trainers save .mdl files"),
    ("ls", "doppio runs lists runs, doppio train --help recipes"),
    ("prepare", "use doppio data prepare"),
    ("mnist_trainer", "mnist_trainer is a program of its own: mnist_trainer --help"),
])
def test_commands_that_people_look_for(word, hint):
    done = run("doppio", word, "--model", "x.mdl")
    assert (done.returncode, done.output) == (64, f"doppio: there is no command {word}: {hint}\n")


def test_doppio_predict_is_the_program_predict():
    own, ours = run("predict", "--help").output, run("doppio", "predict", "--help").output
    assert ours.startswith("doppio predict: prints the likeliest labels of pictures")
    assert ours.partition(": ")[2] == own.partition(": ")[2]
    assert run("doppio", "help", "predict").output == ours
    done = run("doppio", "predict", "--model", "absent.mdl", "--", "-x.png")
    assert done.returncode == 66
    assert last_line(done.output).startswith("doppio predict: ")
    assert "absent.mdl" in last_line(done.output)


def test_a_value_that_looks_like_a_flag_is_a_value(tmp_path):
    done = run("resnet50_trainer", "--use_cpu", "--train_data", "-no_flag")
    assert "unknown flag" not in done.output
    assert done.returncode == 66, done.output


def test_undefok_allows_flags_of_other_programs(tmp_path):
    done = run("make_mnist_db", "--undefok=other", "--other=1")
    assert "are needed" in last_line(done.output)


def test_flags_from_a_file(databases, tmp_path):
    words = training(databases, tmp_path, epoch_size=64, save_model_name="")[1:]
    lines = [f"{name}={value}" for name, value in zip(words[::2], words[1::2])]
    file = tmp_path / "run.flags"
    file.write_text("\n".join(["# a comment", "--use_cpu", *lines]) + "\n")
    done = run("resnet50_trainer", "--flagfile", file)
    assert done.returncode == 0, done.output
    assert "Finished iteration 2/2 of epoch 0" in done.output


def completions(shell, words, home):
    """What the shell offers for the last word."""
    start = "" if shell == "bash" else "emulate -L sh; setopt ksharrays;"
    script = f"""
      eval "$("$0" completion {shell})"
      {start}
      COMP_WORDS=("$@"); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); COMPREPLY=()
      case "$1" in doppio) _doppio ;; *) _doppio_program ;; esac
      printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    path = f"{BIN}:/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(
        [shell, "-c", script, str(BIN / "doppio"), *words], text=True, capture_output=True,
        env=clean_environment(PATH=path, HOME=str(home), DOPPIO_PYTHON=sys.executable))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("words", [[], ["run"], ["data", "prepare"], ["train"]])
def test_help_is_a_command_too(words):
    asked = run("doppio", "help", *words)
    assert asked.returncode == 0
    assert asked.output == run("doppio", *words, "--help").output
    assert "show the help of a command" in run("doppio", "--help").output


def test_commands_are_grouped_by_what_people_do():
    text = run("doppio", "--help").output
    groups = re.findall(r"^(\w+):\n((?:  .*\n)+)", text, re.MULTILINE)
    commands = {name: re.findall(r"^  (\w+) ", lines, re.MULTILINE) for name, lines in groups}
    assert list(commands) == ["Options", "Run", "Data", "Results", "Machine", "Help"]
    assert commands["Run"] == ["train", "run", "top", "runs", "clean"]
    assert commands["Data"] == ["data"] and commands["Machine"] == ["doctor"]
    assert commands["Results"] == [
        "report", "compare", "predict", "convert", "inspect", "quantize"]


def flags_of(text):
    """What a help says can be given: "--name", and "-n"."""
    heads = re.findall(r"^ {2}(-.*)$", text, re.MULTILINE)
    return {flag for head in heads for flag in re.findall(r"(?<![\w-])--?[a-z_]+", re.sub(
        r"--\[no\]", "--", head), re.IGNORECASE)}


MODULES = ["convert", "inspect", "quantize"]


@pytest.mark.parametrize("command", [
    "train", "run", "top", "runs", "clean", "data prepare", "data inspect", "report", "compare",
    "doctor", *MODULES])
def test_examples_of_commands_can_be_given(command):
    asked = run("doppio", *command.split(), "--help", env={"DOPPIO_PYTHON": sys.executable})
    if command in MODULES and asked.returncode != 0:
        pytest.skip("the Python package is not built")
    assert asked.returncode == 0, asked.output
    examples = asked.output.partition("\nExamples:\n")[2].partition("\n\n")[0].splitlines()
    assert len(examples) >= 2
    for example in examples:
        assert example.startswith(f"  doppio {command}")
        own, _, words = example.partition(" -- ")
        known = flags_of(asked.output.partition("Examples:")[0])
        if command == "train":
            known |= flags_of(run("resnet50_trainer", "--help").output)
        used = re.findall(r" (--?[a-zA-Z]\w*)", own)
        assert set(used) <= known, (example, known)
        program = words.split(" ")[0]
        if program in TRAINERS:
            used = re.findall(r" (--[a-z]\w*)", words)
            assert set(used) <= flags_of(run(program, "--help").output), example


@pytest.mark.parametrize("command", ["top", "runs", "clean"])
def test_options_of_redis_come_last(command):
    text = run("doppio", command, "--help").output
    heads = ["--run_id", "\nStore:", "--store", "--secret_file", "\nRedis and TLS:", "--redis_port",
             "--redis_db"]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)
    assert "\n\n\n" not in text


@pytest.mark.parametrize("command, lines", [
    ("run", ["-n,--num_shards NUMBER (1 to 65536)\n", "--via local|mpi|slurm|ssh  ",
             "-x,--export TEXT  "]),
    ("top", ["--redis_port NUMBER (1 to 65535)\n", "--interval NUMBER  ", "--once  "]),
    ("data prepare", ["kind TEXT (required)  ", "--input TEXT (required)  ",
                      "--max_bad_records NUMBER (0 or more)\n"]),
])
def test_values_are_written_as_people_write_them(command, lines):
    text = run("doppio", *command.split(), "--help").output
    assert [line for line in lines if "\n  " + line not in text] == []
    assert not re.search(r":INT|INT in|REQUIRED|:\{", text)


def test_help_on_nothing_known_gets_a_suggestion():
    done = run("doppio", "help", "doctr")
    assert done.returncode == 64
    assert "there is no command doctr; do you mean doctor?" in last_line(done.output)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize("words, some, only", [
    (["doppio", ""], ["run", "doctor", "data", "completion", "--version"], False),
    (["doppio", "do"], ["doctor"], True),
    (["doppio", "sh"], [], True),
    (["doppio", "data", ""], ["prepare", "inspect"], False),
    (["doppio", "data", "prepare", "ci"], ["cifar10", "cifar100"], True),
    (["doppio", "data", "prepare", "mnist", "--out"], ["--output"], True),
    (["doppio", "doctor", "--redis_p"], ["--redis_port", "--redis_password_file"], True),
    (["doppio", "run", "-n", "2", "--", "resnet50_trainer", "--batch"], ["--batch_size"], True),
    (["resnet50_trainer", "--use_c"], ["--use_cpu"], True),
    (["doppio", "train", "--de"], ["--demo", "--decode_threads", "--decode_on_gpu"], True),
    (["doppio", "train", "--recipe", "cifar10_resnet20_"], ["cifar10_resnet20_fast"], True),
    (["doppio", "top", "--sto"], ["--store"], True),
    (["doppio", "help", "do"], ["doctor"], True),
    (["doppio", "train", "--recipe", ""], ["mnist_lenet"], False),
    (["doppio", "train", "--demo", ""], ["mnist"], True),
    (["doppio", "train", "--data", "x", "--base_l"], ["--base_learning_rate"], True),
    (["doppio", "train", "--network", "lenet", "--disp"], ["--disp_batches"], True),
    (["doppio", "run", "--via", ""], ["local", "ssh", "mpi", "slurm"], True),
    # No reply: the shell completes names of files.
    (["doppio", "train", "--data", ""], [], True),
    (["doppio", "run", "--hostfile", ""], [], True),
    (["doppio", "data", "prepare", "mnist", "--output", ""], [], True),
    (["predict", "--for"], ["--format"], True),
    (["doppio", "predict", "--for"], ["--format"], True),
    (["mnist_trainer", "--use_cpu", "--disp"], ["--disp_batches"], True),
])
def test_completion(shell, words, some, only, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    offered = completions(shell, words, tmp_path)
    assert set(some) <= set(offered)
    assert not only or sorted(offered) == sorted(some)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize("command, word, meant", [
    ("inspect", "--sv", "--svg"), ("convert", "--li", "--like"), ("convert", "x", None)])
def test_completion_of_modules_of_python(shell, command, word, meant, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    if run("doppio", command, "--help", env={"DOPPIO_PYTHON": sys.executable}).returncode != 0:
        pytest.skip("the Python package is not built")
    offered = completions(shell, ["doppio", command, word], tmp_path)
    assert offered == ([meant] if meant else [])


def test_a_shell_without_a_script_is_refused():
    done = run("doppio", "completion", "fish")
    assert done.returncode == 64
    assert "fish not in {bash,zsh}" in done.output
