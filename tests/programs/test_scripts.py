"""The scripts: what they say about wrong options and missing tools, where they take MNIST from."""

import functools
import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import tarfile
import threading

import pytest

from conftest import BIN, ROOT

NAMES = [
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
]


@pytest.mark.parametrize(
    "options, expected",
    [
        (["--store", "memory"], "memory"),
        (["--shards", "0"], "--shards"),
        (["--shards", "two"], "two"),
        (["--unknown"], "--unknown"),
        (["--model"], ""),
    ],
)
def test_quickstart_refuses_wrong_options(options, expected):
    done = subprocess.run(
        ["bash", str(ROOT / "scripts/quickstart.sh"), *options],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert 0 < done.returncode < 128
    assert expected in done.stderr
    assert "Build" not in done.stdout


@pytest.mark.parametrize(
    "options, expected",
    [
        (["ssh"], "unknown launcher ssh"),
        (["--images", "many"], "--images takes a number from 1000, not many"),
        (["--program", "perl"], "--program is mnist_trainer or Python, not perl"),
        (["--unknown"], "unknown option --unknown"),
    ],
)
def test_check_launchers_refuses_wrong_options(options, expected):
    done = subprocess.run(
        ["bash", str(ROOT / "scripts/check_launchers.sh"), *options],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 2
    assert expected in done.stderr
    assert done.stdout == ""


def test_quickstart_describes_itself():
    done = subprocess.run(
        ["bash", str(ROOT / "scripts/quickstart.sh"), "--help"],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    for option in ("--store", "--shards", "--model", "MNIST_DIR"):
        assert option in done.stdout


@pytest.mark.parametrize(
    "options, expected",
    [
        ([], "name a suite"),
        (["bookworm", "trixie"], "one suite at a time, not bookworm and trixie"),
        (["bookworm", "--only", "lint"], "--only is quickstart or test, not lint"),
        (["bookworm", "--ccache", "/no/such/folder"], "/no/such/folder"),
        (["bookworm", "--unknown"], "--unknown"),
    ],
)
def test_check_fresh_refuses_wrong_options(options, expected):
    done = subprocess.run(
        ["bash", str(ROOT / "scripts/check_fresh.sh"), *options],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert 0 < done.returncode < 128
    assert expected in done.stderr


@pytest.fixture
def tree(tmp_path):
    """A folder with the scripts, and with tools in `stubs` that `run_script` puts before others."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "stubs").mkdir()
    return tmp_path


def stub(tree, name, text):
    path = tree / "stubs" / name
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def run_script(tree, name, *args):
    return subprocess.run(
        ["bash", f"scripts/{name}", *args],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": f"{tree}/stubs:{os.environ['PATH']}"},
    )


@pytest.mark.parametrize("ruff, status", [("exit 0", 0), ("exit 1", 1), (None, 1)])
def test_lint_fails_where_python_is_not_checked(tree, ruff, status):
    with open(tree / "scripts/dependencies.sh", "a") as dependencies:
        dependencies.write("install_packages() { :; }\nmake_python_environment() { return 0; }\n")
    stub(tree, "git", "")
    stub(tree, "clang-format", "")
    if ruff:
        (tree / "build/venv/bin").mkdir(parents=True)
        stub(tree, "ruff", ruff)
        (tree / "stubs/ruff").rename(tree / "build/venv/bin/ruff")
    done = run_script(tree, "lint.sh")
    assert done.returncode == status
    assert ("lint: clean" in done.stdout) == (status == 0)
    assert ("Python NOT checked" in done.stderr) == (ruff is None)


@pytest.fixture
def built_tree(tree):
    """One with a build that CMake "installs": one library."""
    (tree / "build/release/bin").mkdir(parents=True)
    (tree / "build/release/bin/resnet50_trainer").touch()
    (tree / "CMakeLists.txt").write_text("project(doppio VERSION 1.2.3)\n")
    (tree / "build/release/CMakeCache.txt").write_text("Cli11_INCLUDE_DIR:PATH=/usr/include\n")
    shutil.copy(ROOT / "LICENSE", tree)
    stub(tree, "cmake", 'mkdir -p "$4/lib" && cp /bin/true "$4/lib/libcaffe2.so"')
    with open(tree / "scripts/dependencies.sh", "a") as dependencies:
        dependencies.write('install_packages() { echo "packages: $*"; }\n')
    return tree


def test_a_bundle_is_packed_by_a_package_that_the_list_names(built_tree):
    stub(built_tree, "xz", "cat")
    done = run_script(built_tree, "make_bundle.sh")
    assert done.returncode == 0, done.stderr
    assert "packages: xz-utils" in done.stdout
    with tarfile.open(built_tree / "build/doppio.tar.xz", "r:") as archive:
        assert "doppio/lib/libcaffe2.so" in archive.getnames()


def test_a_bundle_that_fails_leaves_no_archive(built_tree):
    stub(built_tree, "xz", "head -c 100; cat >/dev/null; exit 1")
    assert run_script(built_tree, "make_bundle.sh").returncode != 0
    assert sorted(path.name for path in (built_tree / "build").iterdir()) == ["release"]
    (built_tree / "build/doppio.tar.xz").write_text("an older one")
    assert run_script(built_tree, "make_bundle.sh").returncode != 0
    assert (built_tree / "build/doppio.tar.xz").read_text() == "an older one"


@pytest.fixture
def mirror(tmp_path):
    """(folder, URL) of files that a local HTTP server gives."""
    folder = tmp_path / "mirror"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def find_mnist(cache, url, sums=None, **environment):
    """Runs find_mnist of scripts/mnist.sh with one mirror; returns its (status, kind, stderr).

    `sums` are the expected checksums, by name without ".gz". By default they are MNIST's.
    """
    entries = " ".join(f'"{name} {value}"' for name, value in (sums or {}).items())
    known = f"MNIST_FILES=({entries})" if sums else ""
    script = f"""
        unset MNIST_DIR http_proxy; . scripts/mnist.sh; MNIST_MIRRORS=({url}); {known}
        {" ".join(f"{name}={value}" for name, value in environment.items())}
        find_mnist {cache} {BIN} && echo "$MNIST_KIND"
    """
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout.strip(), done.stderr


def test_mnist_is_downloaded_once_and_checked(mirror, tmp_path):
    folder, url = mirror
    cache = tmp_path / "cache"
    sums = {}
    for name in NAMES:
        (folder / name).write_bytes(name.encode())
        sums[name.removesuffix(".gz")] = hashlib.sha256(name.encode()).hexdigest()
    status, kind, _ = find_mnist(cache, url, sums)
    assert (status, kind) == (0, "the real MNIST files, downloaded")
    assert sorted(path.name for path in (cache / "mnist").iterdir()) == sorted(NAMES)
    for name in NAMES:
        (folder / name).unlink()
    assert find_mnist(cache, url, sums)[1] == "the real MNIST files, downloaded"


def test_a_download_with_another_checksum_is_refused(mirror, tmp_path):
    folder, url = mirror
    cache = tmp_path / "cache"
    (cache / "drawn_digits").mkdir(parents=True)
    (cache / "drawn_digits" / "complete").touch()
    for name in NAMES:
        (folder / name).write_bytes(b"something else")
    status, kind, errors = find_mnist(cache, url)
    assert status == 0
    assert kind.startswith("DRAWN DIGITS, not MNIST")
    assert "another checksum" in errors
    assert list((cache / "mnist").iterdir()) == []


def test_the_real_files_of_a_mirror(mirror, tmp_path):
    folder, url = mirror
    data = pathlib.Path(os.environ.get("CAFFE2_TEST_DATA", "/nowhere")) / "mnist"
    if not data.exists():
        pytest.skip("CAFFE2_TEST_DATA names no folder with mnist/")
    for name in NAMES:
        (folder / name).symlink_to(data / name)
    assert find_mnist(tmp_path / "cache", url)[1] == "the real MNIST files, downloaded"


def test_mnist_dir_must_hold_all_files(mirror, tmp_path):
    (tmp_path / NAMES[0]).touch()
    status, _, errors = find_mnist(tmp_path / "cache", mirror[1], MNIST_DIR=tmp_path)
    assert status != 0
    assert "holds no train-labels-idx1-ubyte" in errors
    for name in NAMES:
        (tmp_path / name).touch()
    status, kind, _ = find_mnist(tmp_path / "cache", mirror[1], MNIST_DIR=tmp_path)
    assert (status, kind) == (0, f"the real MNIST files in {tmp_path}")
