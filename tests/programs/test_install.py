"""What `cmake --install` gives: programs that run, and a package that other projects build with."""

import os
import sys
from pathlib import Path

import pytest

from conftest import BIN, check_output

CMAKELISTS = """
cmake_minimum_required(VERSION 3.22)
project(consumer CXX)
find_package(Doppio 0.1 REQUIRED)
add_executable(consumer consumer.cc)
target_link_libraries(consumer PRIVATE Doppio::caffe2 Doppio::caffe2_image)
"""

FILL_NET = """
name: "init"
op { type: "ConstantFill" output: "weights"
     arg { name: "shape" ints: 2 ints: 3 } arg { name: "value" f: 1.5 } }
op { type: "ConstantFill" output: "bias" arg { name: "shape" ints: 2 } }
"""
PREDICT_NET = """
name: "predict" external_output: "scores"
op { type: "FC" input: "data" input: "weights" input: "bias" output: "scores" }
"""


def test_installed_programs_use_the_installed_libraries(prefix):
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    programs = sorted((prefix / "bin").iterdir())
    assert len(programs) >= 12
    for program in programs:
        libraries = check_output("ldd", program, env=environment)
        assert "not found" not in libraries, program
        assert str(prefix / "lib" / "libcaffe2.so") in libraries.replace("/bin/..", "")
        listed = "Results:" if program.name == "doppio" else "Flags:"
        assert listed in check_output(program, "--help", env=environment)
    listed = check_output(prefix / "bin" / "print_registered_core_operators", env=environment)
    assert "Conv" in listed


def test_another_project_builds_with_the_package(prefix, tmp_path):
    """The program of docs/from_caffe2.md, which runs a model of two nets."""
    (tmp_path / "CMakeLists.txt").write_text(CMAKELISTS)
    page = (Path(__file__).parents[2] / "docs/from_caffe2.md").read_text()
    program = page.split("```cpp\n")[1].split("```")[0]
    (tmp_path / "consumer.cc").write_text(program)
    for name, net in (("init.pbtxt", FILL_NET), ("predict.pbtxt", PREDICT_NET)):
        (tmp_path / name).write_text(net)
    build = tmp_path / "build"
    check_output(
        "cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"
    )
    check_output("cmake", "--build", build)
    nets = (tmp_path / "init.pbtxt", tmp_path / "predict.pbtxt")
    assert check_output(build / "consumer", *nets, "data") == "4.5\n4.5\n"


def test_the_python_package_of_the_deb_imports(prefix, tmp_path):
    """It finds the library of the system, as which the installed one serves here."""
    if not (BIN.parent / "python").exists():
        pytest.skip("the Python package was not built")
    check_output("cmake", "--install", BIN.parent, "--prefix", tmp_path,
                 "--component", "python_deb")
    packages = tmp_path / "lib" / "python3" / "dist-packages"
    shown = check_output(
        sys.executable, "-c", "import caffe2; from caffe2.python import core; "
        "print(caffe2.__file__, core.IsOperator('ImageInput'))",
        env={**os.environ, "PYTHONPATH": str(packages), "LD_LIBRARY_PATH": str(prefix / "lib")})
    assert shown == f"{packages / 'caffe2' / '__init__.py'} True\n"
    assert not (prefix / "lib" / "python3").exists()
