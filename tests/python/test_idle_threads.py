"""The library's idle threads sleep soon, so that they do not take other processes' cores."""

import os
import pathlib
import re
import subprocess
import sys

import pytest


@pytest.mark.parametrize("given, expected", [
    ({}, "5000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")])
def test_importing_the_package_limits_spinning_unless_the_user_has(given, expected):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("OMP_", "GOMP_"))}
    script = "import os, caffe2.python; print(os.environ.get('GOMP_SPINCOUNT'))"
    done = subprocess.run([sys.executable, "-c", script], env={**env, **given}, text=True,
                          capture_output=True, check=True)
    assert done.stdout.strip() == expected


# The package sets it before any library is loaded, so it cannot ask one for the number.
def test_programs_and_the_package_have_one_number():
    root = pathlib.Path(__file__).parents[2]
    number = re.compile(r'(?:kIdleSpins\[\]|_IDLE_SPINS) = "(\d+)"')
    found = [number.findall((root / path).read_text()) for path in (
        "caffe2/utils/program.cc", "python/caffe2/python/_core/idle_threads.py")]
    assert found == [["5000"], ["5000"]]
