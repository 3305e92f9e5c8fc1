"""The folder in which commands of a page run: programs, data, models, and hosts by the names that
the pages use."""

import io
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import zlib

import caffe2
from launcher_dialects import clean_environment

TESTS = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("CAFFE2_BIN", TESTS.parent / "build" / "release" / "bin"))

# Addresses that the pages use, all of this host's loopback; and the names of two of them.
_ADDRESSES = ("10.0.0.5", "10.0.0.6", "192.168.100.11")
_HOSTS = "127.0.0.1 localhost\n10.0.0.5 node1\n10.0.0.6 node2\n"

# Flags that make a net small, for trainings that the pages run on large data.
SMALL_NET = ("--model mlp --image_size 28 --num_channels 1 --num_labels 10 --batch_size 8 "
             "--base_learning_rate 0.01 --num_epochs 1 --file_store_path . --log_csv=")


def _environment(folder):
    package = pathlib.Path(caffe2.__file__).parent.parent
    path = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    return clean_environment(
        PYTHONPATH=":".join(path), OMP_NUM_THREADS="1", DOPPIO_PYTHON=sys.executable,
        PATH=f"{folder / 'bin'}:{BIN}:{os.environ['PATH']}", HOME=str(folder / "home"),
        XDG_CACHE_HOME=str(folder / "cache"), MNIST_DIR="")


def _png(color):
    """A picture of 80 x 80 pixels of one colour and some noise."""
    rows = b"".join(b"\0" + bytes((channel + 7 * (x * y) % 40) % 256
                                  for x in range(80) for channel in color) for y in range(80))

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 80, 80, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class World:
    """`folder` is where the commands run."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = _environment(folder)
        for name in ("bin", "home", "store"):
            (folder / name).mkdir()

    def run(self, commands, limit=900):
        """Runs shell commands to their end, which must be a good one."""
        self._run(["bash", "-euc", commands], limit)

    def run_on_hosts(self, commands, limit=900):
        """Likewise with the addresses and host names of the pages, and in namespaces whose
        processes end with the commands."""
        (self.folder / "hosts").write_text(_HOSTS)
        setup = "ip link set lo up; mount --bind hosts /etc/hosts; " + "".join(
            f"ip address add {address}/32 dev lo; " for address in _ADDRESSES)
        self._run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                   "bash", "-euc", setup + commands], limit)

    def _run(self, words, limit):
        log = self.folder / "output.txt"
        with open(log, "w") as output:
            done = subprocess.run(words, cwd=self.folder, env=self.environment, stdout=output,
                                  stderr=subprocess.STDOUT, timeout=limit)
        assert done.returncode == 0, log.read_text(errors="replace")[-4000:]

    def program(self, name, *lines):
        """A program of PATH that is these lines of the shell."""
        path = self.folder / "bin" / name
        path.write_text("\n".join(["#!/bin/bash", *lines, ""]))
        path.chmod(0o755)

    def stand_in(self, *launchers):
        for name in launchers:
            script = TESTS / "launcher_stand_ins.py"
            self.program(name, f'PYTHONPATH={TESTS} exec {sys.executable} {script} {name} "$@"')

    def shorten(self, program, flags, condition="true"):
        """Adds flags to all calls of a program for which the condition holds."""
        self.program(program, f'if {condition}; then set -- "$@" {flags}; fi',
                     f'exec {BIN / program} "$@"')

    # What the pages name.

    def digits(self, folder, train=640, test=100):
        """MNIST's four files, with drawn digits."""
        self.run(f"mkdir -p {folder}; {BIN}/render_digits --output_dir {folder} --train {train} "
                 f"--test {test}")

    def digit_databases(self, train="train_lmdb", test="test_lmdb"):
        self.digits("digits")
        for part, database in (("train", train), ("t10k", test)):
            self.run(f"{BIN}/make_mnist_db --image_file digits/{part}-images-idx3-ubyte "
                     f"--label_file digits/{part}-labels-idx1-ubyte --output_file {database}")

    def photos(self, root="photos"):
        for part, count in (("train", 16), ("test", 4)):
            for name, color in (("cat", (200, 40, 40)), ("dog", (40, 40, 200))):
                folder = self.folder / root / part / name
                folder.mkdir(parents=True)
                for i in range(count):
                    (folder / f"{i}.png").write_bytes(_png([c + i for c in color]))

    def cifar(self):
        """The binary version, with 300 training and 60 test images."""
        folder = self.folder / "cifar-10-batches-bin"
        folder.mkdir()
        for i, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
            records = b"".join(bytes([label]) + bytes((label * 25 + i + x) % 256
                                                      for x in range(3072)) for label in range(10))
            (folder / f"{name}.bin").write_bytes(records * 6)

    def imagenet_archive(self):
        """An archive with an archive of images for each class, as ImageNet's."""
        with tarfile.open(self.folder / "ILSVRC2012_img_train.tar", "w") as whole:
            for number, name in enumerate(("n01440764", "n01443537")):
                inner = io.BytesIO()
                with tarfile.open(fileobj=inner, mode="w") as archive:
                    for i in range(3):
                        self._add(archive, f"{name}_{i}.JPEG", _png([90 * number, i, 0]))
                self._add(whole, f"{name}.tar", inner.getvalue())

    @staticmethod
    def _add(archive, name, data):
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))

    def model(self, name, image_size=64, order="NHWC"):
        """A ResNet-18 of the trainers for two classes, which has not learned."""
        self.run(f"{BIN}/resnet50_trainer --use_cpu --model resnet18 --train_data null "
                 f"--image_size {image_size} --order {order} --num_labels 2 --batch_size 2 "
                 "--epoch_size 2 --num_epochs 1 --base_learning_rate 0.0001 --log_csv= "
                 f"--file_store_path . --save_model_name made; mv made_1.mdl {name}")

    def convert(self, *words):
        self.run(" ".join([f"{BIN}/doppio convert", *words]))

    def copy(self, source, name):
        shutil.copy(self.folder / source, self.folder / name)

    def file(self, name, text, mode=0o644):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
