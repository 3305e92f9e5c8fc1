"""What makes wheels, bundles and .debs: programs of a wheel, the bill of materials, the scripts."""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BIN, ROOT

LIBRARY = "/lib/x86_64-linux-gnu/libz.so.1"


def script(name, *arguments):
    return subprocess.run(
        ["bash", str(ROOT / "scripts" / name), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_wheel_has_a_command_for_each_program():
    text = (ROOT / "pyproject.toml").read_text()
    section = text.partition("[project.scripts]\n")[2].partition("\n\n")[0]
    commands = dict(re.findall(r'^(\w+) = "(.*)"$', section, re.MULTILINE))
    assert commands.keys() == {path.stem for path in (ROOT / "examples").glob("*.cc")}
    assert set(commands.values()) == {"caffe2._programs:main"}


@pytest.fixture
def package(tmp_path):
    """A folder like that of an installed wheel, with commands as pip writes them."""
    (tmp_path / "caffe2").mkdir()
    (tmp_path / "caffe2" / "__init__.py").touch()
    shutil.copy(ROOT / "python" / "caffe2" / "_programs.py", tmp_path / "caffe2")
    (tmp_path / "caffe2" / "bin").symlink_to(BIN)
    for name in ("doppio", "unknown"):
        (tmp_path / name).write_text("from caffe2._programs import main\n\nmain()\n")
    return tmp_path


def command(package, *words, **variables):
    return subprocess.run(
        [sys.executable, package / words[0], *words[1:]],
        capture_output=True,
        text=True,
        timeout=60,
        env=variables,
    )


def test_a_command_of_a_wheel_becomes_the_program(package):
    done = command(package, "doppio", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("doppio, Doppio ")
    assert command(package, "doppio", "top", "--unknown").returncode == 64
    done = command(package, "unknown")
    assert done.returncode == 71
    assert re.match(
        r"unknown: cannot start the program in .*/caffe2/bin: No such file", done.stderr
    )


def test_a_command_of_a_wheel_finds_the_other_programs_and_its_interpreter(package):
    shell = ["run", "-n", "1", "--store", "none", "--"]
    done = command(package, "doppio", *shell, "render_digits", "--help", PATH="/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    assert "render_digits: " in done.stdout
    printed = [*shell, "sh", "-c", "echo python=$DOPPIO_PYTHON"]
    done = command(package, "doppio", *printed, PATH="/usr/bin:/bin")
    assert f"python={sys.executable}\n" in done.stdout
    done = command(package, "doppio", *printed, PATH="/usr/bin:/bin", DOPPIO_PYTHON="other")
    assert "python=other\n" in done.stdout


def make_sbom(*arguments):
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_sbom.py", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_bill_of_materials_names_package_licence_and_file(tmp_path):
    if shutil.which("dpkg-query") is None:
        pytest.skip("no system of packages that dpkg knows")
    copy = tmp_path / "libz-0123abcd.so.1"  # as auditwheel names it
    shutil.copy(LIBRARY, copy)
    done = make_sbom(tmp_path, "1.2.3", copy)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 libraries of 1 packages\n"
    bill = json.loads((tmp_path / "doppio.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["metadata"]["component"]["version"] == "1.2.3"
    (entry,) = bill["components"]
    version = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Version}", "zlib1g"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert (entry["name"], entry["version"]) == ("zlib1g", version)
    assert re.match(r"pkg:deb/\w+/zlib1g@1%3A1\.", entry["purl"])
    assert "Zlib" in [each["license"]["name"] for each in entry["licenses"]]
    (file,) = entry["components"]
    assert file["name"] == copy.name
    assert file["hashes"][0]["content"] == hashlib.sha256(copy.read_bytes()).hexdigest()
    text = (tmp_path / "licenses" / "zlib1g" / "copyright").read_text()
    assert "Jean-loup Gailly" in text


@pytest.mark.parametrize("file, name", [
    ("libz-0123abcd.so.1", "libz.so.1"),
    ("libopenblasp-r0-3c5ecc47.3.21.so", "libopenblasp-r0.3.21.so"),
    ("libabsl_base.so.20220623", "libabsl_base.so.20220623"),
])
def test_the_bill_knows_libraries_by_their_own_names(file, name):
    found = subprocess.run(
        [sys.executable, "-c", "import make_sbom, pathlib, sys;"
         "print(make_sbom.library_name(pathlib.Path(sys.argv[1])))", file],
        cwd=ROOT / "scripts", capture_output=True, text=True, check=True)
    assert found.stdout == name + "\n"


def test_a_licence_in_plain_text_is_referred_to(tmp_path):
    plain = pathlib.Path("/usr/share/doc/libgomp1/copyright")
    if not plain.exists() or "\nLicense:" in plain.read_text():
        pytest.skip("no library of this system has its licence in plain text")
    shutil.copy("/lib/x86_64-linux-gnu/libgomp.so.1", tmp_path)
    done = make_sbom(tmp_path, "1.2.3", tmp_path / "libgomp.so.1")
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads((tmp_path / "doppio.cdx.json").read_text())["components"]
    assert entry["licenses"] == [{"license": {"name": "see the copyright file of libgomp1"}}]


def test_the_bill_names_libraries_that_are_compiled_in(tmp_path):
    site = tmp_path / "site-packages"
    header = site / "headers" / "headers.h"
    info = site / "headers-4.5.dist-info"
    (info / "licenses").mkdir(parents=True)
    header.parent.mkdir()
    header.touch()
    (info / "METADATA").write_text("Name: headers\nVersion: 4.5\nLicense-Expression: Zlib\n")
    (info / "licenses" / "LICENSE").write_text("Whoever has it may use it.")
    listed = ["headers/headers.h", "headers-4.5.dist-info/METADATA"]
    listed += ["headers-4.5.dist-info/licenses/LICENSE"]
    (info / "RECORD").write_text("".join(f"{each},,\n" for each in listed))
    done = make_sbom(tmp_path, "1.2.3", f"--compiled_in={header}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 libraries of 0 packages, and 1 that are compiled in\n"
    (entry,) = json.loads((tmp_path / "doppio.cdx.json").read_text())["components"]
    assert (entry["name"], entry["version"], entry["purl"]) == (
        "headers", "4.5", "pkg:pypi/headers@4.5")
    assert entry["licenses"] == [{"license": {"name": "Zlib"}}]
    assert {"name": "use", "value": "compiled in"} in entry["properties"]
    text = (tmp_path / "licenses" / "headers" / "LICENSE").read_text()
    assert text == "Whoever has it may use it."
    (info / "licenses" / "LICENSE").unlink()
    (info / "RECORD").write_text("headers/headers.h,,\n")
    done = make_sbom(tmp_path, "1.2.3", f"--compiled_in={header}")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the licence of headers is missing: ")
    other = tmp_path / "other.h"
    other.touch()
    done = make_sbom(tmp_path, "1.2.3", f"--compiled_in={other}")
    assert done.returncode == 1
    assert done.stderr == f"error: no package of this system or from PyPI owns {other}\n"


def headers_compiled_in(build):
    function = ". scripts/needed_libraries.sh && headers_compiled_in"
    return subprocess.run(["bash", "-c", f'{function} "$1"', "-", build],
                          cwd=ROOT, capture_output=True, text=True)


def test_the_headers_of_a_build_are_found(tmp_path):
    for header in ("a b/CLI/CLI.hpp", "venv/pybind11/pybind11.h"):
        (tmp_path / header).parent.mkdir(parents=True)
        (tmp_path / header).write_text("")
    cli11 = f"Cli11_INCLUDE_DIR:PATH={tmp_path}/a b\n"
    cache = tmp_path / "CMakeCache.txt"
    cache.write_text(
        f"{cli11}pybind11_INCLUDE_DIRS:INTERNAL={tmp_path}/venv;/usr/include/python3.11\n")
    done = headers_compiled_in(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"--compiled_in={tmp_path}/a b/CLI/CLI.hpp",
                                        f"--compiled_in={tmp_path}/venv/pybind11/pybind11.h"]
    cache.write_text(cli11)  # a build without Python
    assert len(headers_compiled_in(tmp_path).stdout.splitlines()) == 1


@pytest.mark.parametrize("cache", ["", "Cli11_INCLUDE_DIR:PATH=/absent\n"])
def test_a_header_that_is_not_found_is_an_error(cache, tmp_path):
    (tmp_path / "CMakeCache.txt").write_text(cache)
    done = headers_compiled_in(tmp_path)
    assert done.returncode != 0 and "CLI/CLI.hpp" in done.stderr, done


@pytest.fixture
def packed(tmp_path):
    """The files of a wheel with one library of this system, and its bill."""
    if shutil.which("dpkg-query") is None:
        pytest.skip("no system of packages that dpkg knows")
    info, libraries = tmp_path / "doppio.dist-info", tmp_path / "doppio.libs"
    libraries.mkdir()
    shutil.copy(LIBRARY, libraries / "libz-0123abcd.so.1")
    (tmp_path / "caffe2").mkdir()
    (tmp_path / "caffe2" / "libcaffe2.so.0").write_text("ours")
    (info / "sboms").mkdir(parents=True)
    done = make_sbom(info / "sboms", "1.2.3", libraries / "libz-0123abcd.so.1")
    assert done.returncode == 0, done.stderr
    (info / "sboms" / "licenses").rename(info / "licenses")
    return tmp_path


def check_sbom(folder, kind):
    """The result for the folder as a wheel or as an archive."""
    file = pathlib.Path(shutil.make_archive(f"{folder}/../packed", kind, folder))
    if kind == "zip":
        file = file.rename(file.with_suffix(".whl"))
    return subprocess.run([sys.executable, ROOT / "scripts" / "check_sbom.py", file],
                          capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("kind", ["zip", "xztar"])
def test_the_check_of_a_bill_passes_a_whole_one(packed, kind):
    done = check_sbom(packed, kind)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "passed: bill of materials and licences\n"


def edit_bill(folder, change):
    path = folder / "doppio.dist-info" / "sboms" / "doppio.cdx.json"
    bill = json.loads(path.read_text())
    change(bill["components"])
    path.write_text(json.dumps(bill))


@pytest.mark.parametrize("change, expected", [
    (lambda root: shutil.copy(LIBRARY, root / "doppio.libs" / "libother.so.2"),
     "doppio.libs/libother.so.2: 0 times in the bill, with its checksum"),
    (lambda root: (root / "doppio.libs" / "libz-0123abcd.so.1").write_text("another version"),
     "doppio.libs/libz-0123abcd.so.1: 0 times in the bill, with its checksum"),
    (lambda root: (root / "doppio.libs" / "libz-0123abcd.so.1").unlink(),
     "libz-0123abcd.so.1: in the bill, but not in the file"),
    (lambda root: edit_bill(root, lambda entries: entries[0].pop("version")),
     "zlib1g: no version or no licence in the bill"),
    (lambda root: edit_bill(root, lambda entries: entries[0]["licenses"].clear()),
     "zlib1g: no version or no licence in the bill"),
    (lambda root: edit_bill(root, lambda entries: entries.append(
        {"name": "cli11", "version": "2", "licenses": [{"license": {"name": "BSD"}}]})),
     "cli11: no text of its licence in "),
    (lambda root: (root / "doppio.dist-info/licenses/zlib1g/copyright").write_text(
        "See /usr/share/common-licenses/GPL-9."),
     "zlib1g: its licence refers to GPL-9, which is not there"),
])
def test_the_check_of_a_bill_finds_what_is_missing(packed, change, expected):
    change(packed)
    done = check_sbom(packed, "zip")
    assert done.returncode == 1
    assert f"error: {expected}" in done.stderr


def test_a_library_of_no_package_has_no_bill(tmp_path):
    done = make_sbom(tmp_path, "1.2.3", tmp_path / "libunheard_of.so.1")
    assert done.returncode == 1
    assert done.stderr == "error: the loader knows no libunheard_of.so.1\n"
    assert not (tmp_path / "doppio.cdx.json").exists()


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["bookworm"], "name a suite, such as bookworm, and a package"),
        (["bookworm", "doppio.rpm"], "not a wheel, .deb or .tar.xz: doppio.rpm"),
        (["bookworm", "/no/such.deb"], "no such file: /no/such.deb"),
    ],
)
def test_check_package_refuses_wrong_arguments(arguments, expected):
    done = script("check_package.sh", *arguments)
    assert done.returncode == 2
    assert expected in done.stderr


def test_make_wheel_refuses_unknown_options():
    done = script("make_wheel.sh", "--size")
    assert done.returncode == 2
    assert "unknown option --size" in done.stderr
