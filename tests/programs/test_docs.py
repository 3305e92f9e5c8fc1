"""What the documents say about programs and flags, against what the programs say themselves."""

import functools
import re
import shlex
import sys

import pytest

from conftest import BIN, ROOT, run

DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/install.md",
    "docs/launchers.md",
    "docs/tools.md",
    "examples/README.md",
    "train/README.md",
    "distributed/README.md",
    "db/README.md",
    "scripts/README.md",
]
# Programs with flags of gflags; doppio has sub-commands with options of their own.
SOURCES = sorted(path.stem for path in (ROOT / "examples").glob("*.cc") if path.stem != "doppio")
# Flags that all programs have, of programs that are not ours, and of our scripts.
OTHERS = {
    "help",
    "version",
    "install",
    "prefix",
    "preset",
    "scan",
    "pattern",
    "tidy",
    "store",
    "shards",
    "gtest_filter",
    "requirepass",
    "rank",
    "tests",
    "nproc_per_node",
    "nnodes",
    "rdzv_backend",
    "rdzv_endpoint",
    "no_python",
    "standalone",
    "gloo",
    "images",
    "launcher",
    "flagfile",
    "bacth_size",
    "sync_dst_dir",
    "mpi",
    "env",
    "output_filename",
    "min_np",
    "max_np",
    "host_discovery_script",
    "reset_limit",
    "logdir",
}


@functools.cache
def flags_of(program):
    """The default of every flag of a program, by name, as --help prints them."""
    done = run(program, "--help")
    assert done.returncode == 0, done.output
    found = re.findall(
        r"^  --(?:\[no\])?(\w+)(?: [A-Z]+)? \((?:default: )?(.*)\)$", done.output, re.MULTILINE
    )
    return {name: "" if default in ("none", "required") else default for name, default in found}


@functools.cache
def options_of_doppio():
    """The options of all sub-commands of doppio."""
    options, commands = set(), [()]
    for command in commands:  # grows
        text = run("doppio", *command, "--help").output
        options |= set(re.findall(r"--(\w+)", text))
        groups = re.findall(r"^(?:Run|Data|Results|Machine|Help|Subcommands):\n((?:  .*\n)+)", text,
                            re.MULTILINE)
        names = re.findall(r"^  (\w+)", "".join(groups), re.MULTILINE)
        commands += [(*command, name) for name in names]
    # Three are modules of Python, which a build may lack.
    for module in (ROOT / "python" / "caffe2" / "python" / "convert").glob("*_command.py"):
        options |= set(re.findall(r'add_argument\(\s*"--(\w+)"', module.read_text()))
    return options


@pytest.mark.parametrize("program", SOURCES)
def test_every_program_describes_itself(program):
    done = run(program, "--help")
    assert done.returncode == 0
    assert re.match(rf"{program}: \S.+\n\n(Examples:\n(  .+\n)+\n)?Flags:\n", done.output)
    descriptions = re.findall(r"^  --.+\n(.*)", done.output, re.MULTILINE)
    assert len(descriptions) >= len(flags_of(program))
    assert all(re.match(r" {6}\S", text) for text in descriptions), descriptions


@pytest.mark.parametrize("document", DOCUMENTS)
def test_flags_in_documents_exist(document):
    known = OTHERS | options_of_doppio()
    for program in SOURCES:
        known |= flags_of(program).keys()
    text = (ROOT / document).read_text()
    named = {name.replace("-", "_") for name in re.findall(r"(?<![\w-])--([a-z][\w-]*)", text)}
    unknown = {name for name in named if name not in known and name.removeprefix("no") not in known}
    assert not unknown


def test_the_table_of_the_trainers_flags_is_right():
    flags = flags_of("resnet50_trainer")
    lines = (ROOT / "README.md").read_text().splitlines()
    table = [line.split("|")[1:3] for line in lines if line.startswith("| `--")]
    assert len(table) > 15
    for first, defaults in table:
        names = re.findall(r"`--(\w+)`", first)
        assert set(names) <= flags.keys()
        defaults = [text.strip().strip("`") for text in defaults.split(",")]
        # A blank stands for no value, for each of the flags if it stands alone.
        stated_defaults = defaults if len(defaults) > 1 else defaults * len(names)
        assert len(stated_defaults) == len(names), names
        for name, stated in zip(names, stated_defaults):
            real = flags[name]
            if stated in ("", "off"):
                assert real in ("", "false"), name
            elif stated == "on":
                assert real == "true", name
            else:
                assert real == stated or float(real) == float(stated), name


def test_the_command_for_several_machines_works(databases, redis, shards, tmp_path):
    """Two shards run it for two iterations, in a folder like the quick start's."""
    text = (ROOT / "README.md").read_text()
    section = text[text.index("## Train on several machines") :]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]
    program, *args = shlex.split(block.replace("\\\n", ""))
    assert program == "build/release/bin/resnet50_trainer"
    (tmp_path / "build/quickstart").mkdir(parents=True)
    for stem in ("train", "test"):
        link = tmp_path / f"build/quickstart/mnist_{stem}_lmdb"
        link.symlink_to(databases / f"{stem}_lmdb")
        assert str(link.relative_to(tmp_path)) in args
    for shard in range(2):
        shards.start(
            *args,
            "--redis_host",
            "127.0.0.1",
            "--redis_port",
            redis,
            "--shard_id",
            shard,
            "--file_store_path",
            tmp_path,
            "--max_iterations",
            2,
            cwd=tmp_path,
        )
    results = shards.wait()
    for status, output in results:
        assert status == 0, output
    assert "Finished iteration 2" in results[0][1]


def test_the_picture_of_lenet_is_what_inspect_draws(databases, tmp_path):
    done = run("mnist_trainer", "--recipe", "mnist_lenet", "--use_cpu", "--train_data",
               databases / "train_lmdb", "--test_data", databases / "test_lmdb",
               "--num_epochs", 1, "--model_prefix", tmp_path / "digits")
    assert done.returncode == 0, done.output
    done = run("doppio", "inspect", tmp_path / "digits-0001.mdl", "--svg", tmp_path / "lenet.svg",
               env={"DOPPIO_PYTHON": sys.executable})
    assert done.returncode == 0, done.output
    drawn = (tmp_path / "lenet.svg").read_text()
    assert drawn == (ROOT / "docs" / "pictures" / "lenet.svg").read_text()


@pytest.mark.parametrize("document", ["README.md", "examples/README.md"])
def test_every_program_is_in_the_tables(document):
    text = (ROOT / document).read_text()
    missing = [program for program in SOURCES if f"`{program}`" not in text]
    assert not missing
    named = re.findall(r"^\| (`.*?) \|", text[text.index("| program |") :], re.MULTILINE)
    for name in re.findall(r"`(\w+)`", " ".join(named)):
        assert (BIN / name).exists(), name
