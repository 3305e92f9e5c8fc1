"""The commands in the documents: each block runs as printed, or its page says why it does not.

The blocks of a page run in order, in a folder of their own with the data that they name
(page_world.py). Hosts are addresses of a network namespace, and launchers that are not here have
stand-ins. Where a page trains for hours, the real program gets flags for a smaller run at the end.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest
from page_world import BIN, SMALL_NET, World

from document_blocks import ROOT, blocks_of, commands_of, pages

PAGES = [page for page in pages() if commands_of(page)]
LANGUAGES = {"sh", "python", "cpp", "text", "yaml"}

# The blocks that no test runs: page, first word, reason. Whoever adds one adds it here, too.
NOT_RUN = [
    ("CONTRIBUTING.md", "scripts/build.sh", "installs packages, builds and tests everything"),
    ("README.md", "scripts/quickstart.sh", "installs packages and builds everything"),
    ("docs/containers.md", "docker", "needs Docker or Podman"),
    ("docs/containers.md", "docker", "needs Docker"),
    ("docs/containers.md", "cd", "needs Docker"),
    ("docs/containers.md", "kubectl", "needs a Kubernetes cluster"),
    ("docs/install.md", "scripts/make_bundle.sh", "installs into /opt and packs a whole build"),
    ("docs/install.md", "scripts/make_wheel.sh", "compiles everything, for each Python"),
    ("docs/launchers.md", "from", "a part of a program; caffe2.python.examples.mnist_data_parallel "
     "is the whole"),
]

# Where commands run for another shard or node, too, what of the text is the other one's.
ON_BOTH = {
    ("docs/launchers.md", "resnet50_trainer --use_cpu --train_data train_lmdb --num_shards 2 "
     "--shard_id 0 \\"): ("--shard_id 0", "--shard_id 1"),
    ("docs/launchers.md", "torchrun --nnodes 2 --nproc_per_node 2 --rdzv_backend c10d "
     "--rdzv_endpoint 10.0.0.5:29400 \\"): ("torchrun", "NODE=1 torchrun"),
    ("README.md", "build/release/bin/resnet50_trainer --use_cpu \\"): ("--shard_id 0",
                                                                       "--shard_id 1"),
}

# Blocks that go on while the blocks after them run, and what shows that they have begun. If the
# same command comes again, the first one is stopped before.
IN_BACKGROUND = {
    ("docs/first_hour.md", "doppio train --recipe mnist_lenet --data train_lmdb --test_data "
     "test_lmdb --use_cpu -n 2 \\"): "test -e digits.checkpoint",
    ("README.md", "build/release/bin/resnet50_trainer --use_cpu \\"):
        "redis-cli -h 192.168.100.11 exists mnist-1/status/0 | grep -q 1",
    ("docs/tools.md", "resnet50_trainer --use_cpu --train_data train_lmdb \\"):
        "curl --silent http://10.0.0.5:9400/metrics | grep -q ^doppio_info",
}


def _redis_server(address, options):
    """Commands that start a Redis server there and wait until it listens."""
    return (f"redis-server --bind {address} --save '' --daemonize yes {options}\n"
            f"until redis-cli -h {address} ping; do sleep 0.1; done\n")


def _readme(world):
    world.digit_databases()
    (world.folder / "build/quickstart").mkdir(parents=True)
    (world.folder / "build/release").mkdir()
    (world.folder / "build/release/bin").symlink_to(world.folder / "bin")
    for part in ("train", "test"):
        (world.folder / f"build/quickstart/mnist_{part}_lmdb").symlink_to(
            world.folder / f"{part}_lmdb")
    world.stand_in("mpirun", "torchrun")
    world.shorten("resnet50_trainer", "")
    world.shorten("mnist_trainer", "--num_examples 320 --file_store_path store")
    world.shorten("doppio", "--once", '[ "$1" = top ]')
    return _redis_server("192.168.100.11", "--protected-mode no")


def _first_hour(world):
    world.photos()
    world.photos("others")
    return ""


def _launchers(world):
    world.digit_databases()
    world.stand_in("mpirun", "torchrun", "srun", "ssh")
    world.shorten("resnet50_trainer", SMALL_NET + " --epoch_size 32")
    (world.folder / "home/train_lmdb").symlink_to(world.folder / "train_lmdb")
    return ""


def _several_machines(world):
    world.stand_in("sbatch", "srun")
    # Only here it is Slurm that starts this trainer; the folder is the page's, with its database.
    world.shorten("resnet50_trainer", SMALL_NET + " --epoch_size 32")
    return ""


def _from_pytorch(world):
    world.model("resnet50_model_90.mdl", image_size=224)
    world.photos()
    world.copy("photos/test/cat/0.png", "cat.jpg")
    world.convert("resnet50_model_90.mdl resnet50.safetensors --names torchvision")
    return _state_dict(world, "resnet50")


def _photos(world):
    world.photos()
    world.model("made.mdl")
    world.convert("made.mdl resnet18.safetensors --names torchvision")
    world.shorten("resnet50_trainer", "--num_epochs 1 --image_size 64", '[[ "$*" = *--finetune* ]]')
    return _state_dict(world, "resnet18")


def _state_dict(world, name):
    """NAME.pth where torch can write it; else what `doppio convert` would make of it."""
    if importlib.util.find_spec("torch"):
        world.convert(f"{name}.safetensors {name}.pth")
    else:
        world.convert(f"{name}.safetensors {name}.mdl --swap_channels")
    return ""


def _tools(world):
    world.digit_databases()
    world.digits("mnist")
    world.environment["MNIST_DIR"] = "mnist"
    world.photos()
    world.cifar()
    world.imagenet_archive()
    (world.folder / "checkpoints").mkdir()
    flags = ["--use_cpu", "--train_data=train_lmdb", "--epoch_size=32",
             *re.findall(r"--\w+ [^-]\S*", SMALL_NET), "--file_store_path=store"]
    world.file("run.flags", "# a run\n" + "\n".join(flags).replace(" ", "=") + "\n")
    world.file("home/redis.password", "correct-horse\n", 0o600)
    world.model("resnet50_model_90.mdl")
    world.model("other.mdl", order="NCHW")
    world.convert("other.mdl weights.safetensors")
    world.convert("other.mdl squeezenet")
    world.run(f"{BIN}/doppio data prepare folder --input photos --output val_db "
              "--test_output other_db")
    epoch = " --epoch_size 1000"
    # The run that shows its metrics goes on until the page has ended.
    either = ('$(if [[ "$*" = *--metrics_port* ]]; then echo --epoch_size 100000000 --log_every '
              f'100000; else echo {epoch}; fi)')
    world.shorten("resnet50_trainer", f"{SMALL_NET} {either}", '[[ "$*" != *--flagfile* ]]')
    world.run(f"resnet50_trainer --use_cpu --train_data train_lmdb --log_dir runs/b{epoch}")
    world.shorten("doppio", "--max_iterations 2", '[ "$1" = train ]')
    return _redis_server("10.0.0.5", "--requirepass correct-horse")


def _troubleshooting(world):
    return _redis_server("127.0.0.1", "")


# What a page needs before its first command, and whether its commands name other hosts.
PREPARATIONS = {
    "README.md": (_readme, True),
    "docs/first_hour.md": (_first_hour, True),
    "docs/from_pytorch.md": (_from_pytorch, False),
    "docs/launchers.md": (_launchers, True),
    "docs/photos.md": (_photos, False),
    "docs/several_machines.md": (_several_machines, False),
    "docs/tools.md": (_tools, True),
    "docs/troubleshooting.md": (_troubleshooting, True),
}


def _text_that_runs(block):
    """The commands of a block; without torch not the lines that need it."""
    if importlib.util.find_spec("torch"):
        return block.text
    return "".join(line for line in block.text.splitlines(True) if ".pth" not in line)


def _commands(block, running):
    """The shell commands of a block as the test runs them. `running`: blocks in the background."""
    key, text = (block.page, block.first_line), _text_that_runs(block)
    if text.startswith("#!"):  # a batch script
        return f"cat >job.sh <<'EOF'\n{text}EOF\nbash -n job.sh\nsbatch job.sh\n"
    if key in ON_BOTH:
        own, others = ON_BOTH[key]
        assert own in text
        text = f"(\n{text.replace(own, others)}) & other=$!\n(\n{text})\nwait $other\n"
    if key in running:
        return f"pkill -TERM -P $program\nwait $program || test $? = 143\n{text}"
    if key in IN_BACKGROUND:
        running.add(key)
        text = (f"(\n{text}) & program=$!\nuntil {IN_BACKGROUND[key]}; do\n"
                "  kill -0 $program; sleep 0.1\ndone\n")
    return text


def _page_commands(page):
    running = set()
    return "".join(_commands(block, running) for block in commands_of(page))


def _skip_without_tools(commands, hosts):
    tools = {"redis-server": "doppio run|redis-cli| -n 2", "curl": "curl"}
    for tool, pattern in tools.items():
        if re.search(pattern, commands) and shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if hosts and (os.geteuid() != 0 or shutil.which("ip") is None or
                  subprocess.run(["unshare", "--net", "--mount", "--pid", "true"]).returncode):
        pytest.skip("network namespaces cannot be made here")


@pytest.mark.parametrize("page", PAGES)
def test_commands_run_as_printed(page, tmp_path):
    prepare, hosts = PREPARATIONS.get(page, (lambda _: "", False))
    commands = _page_commands(page)
    _skip_without_tools(commands, hosts)
    world = World(tmp_path)
    commands = prepare(world) + commands
    (world.run_on_hosts if hosts else world.run)(commands)


def test_the_tables_above_name_blocks_of_the_pages():
    found = {(page, block.first_line) for page in pages() for block in commands_of(page)}
    assert found >= ON_BOTH.keys() | IN_BACKGROUND.keys()
    assert set(PAGES) >= PREPARATIONS.keys()


def test_the_blocks_that_do_not_run_are_known():
    found = [(page, block.text.split()[0], block.reason)
             for page in pages() for block in blocks_of(page) if block.reason]
    assert found == NOT_RUN


def test_every_block_says_what_it_is():
    wrong = [f"{block.page}:{block.line}" for page in pages() for block in blocks_of(page)
             if block.language not in LANGUAGES]
    assert not wrong
    for page in pages():  # and none escapes the search for blocks
        fences = len(re.findall(r"^ *```", (ROOT / page).read_text(), re.MULTILINE))
        assert fences == 2 * len(blocks_of(page)), page


def test_blocks_of_text_hold_no_commands():
    names = [path.stem for path in (ROOT / "examples").glob("*.cc")]
    names += ["scripts/", "build/", "docker", "podman", "kubectl", "cmake", "pip", "python", "curl",
              "mpirun", "torchrun", "srun", "sbatch", "redis-cli", "cd", "mkdir", "export",
              "source"]
    command = re.compile(rf"^(\$ )?({'|'.join(map(re.escape, names))})(?!:)\S*( |$)", re.MULTILINE)
    wrong = [f"{block.page}:{block.line}" for page in pages() for block in blocks_of(page)
             if block.language in ("text", "yaml") and command.search(block.text)]
    assert not wrong


def _programs(page):
    return [block for block in blocks_of(page) if block.language == "python" and not block.reason]


@pytest.mark.parametrize("page", [page for page in pages() if _programs(page)])
def test_programs_run_as_printed(page, tmp_path):
    world = World(tmp_path)
    for block in _programs(page):
        done = subprocess.run([sys.executable, "-c", block.text], cwd=tmp_path,
                              env=world.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        assert done.returncode == 0, done.stdout
        if page == "docs/from_pytorch.md":
            assert 0 < float(done.stdout) < 1.2
