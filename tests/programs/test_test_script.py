"""scripts/test.sh: its order, and what it says of suites that cannot run.

It runs in a tree of its own, where CTest, pytest and the build are small scripts.
"""

import os
import shutil
import subprocess

import pytest

from conftest import ROOT

REPORT = '<testsuites><testsuite><testcase classname="Suite" name="Case"/></testsuite></testsuites>'

# Packages are "installed" into a list, without which there is no Python environment.
DEPENDENCIES = f"""
. {ROOT}/scripts/dependencies.sh
install_packages() {{ printf '%s\\n' "$@" >>installed; }}
make_python_environment() {{
  grep -qx python3-venv installed 2>/dev/null && [ ! -e no_pypi ] || return 1
  mkdir -p "$1/bin" && cp stubs/pytest "$1/bin/pytest"
}}
"""

BUILD = """#!/bin/bash
mkdir -p build/$1/python/caffe2/python
echo "CAFFE2_SANITIZE:STRING=$(cat sanitizer 2>/dev/null)" >build/$1/CMakeCache.txt
[ -e no_package ] || touch build/$1/python/caffe2/python/caffe2_pybind11_state.cpython-311.so
"""

# Suites are the lines of the file `suites`; one named `crash` leaves no report.
CTEST = f"""#!/bin/bash
case " $* " in
  *" --show-only "*)
    [ ! -e suites ] || sed 's/^/  Test #1: /' suites
    echo && echo "Total Tests: 2" ;;
  *" -R ^crash$ "*) exit 8 ;;
  *) echo '{REPORT}' >"${{GTEST_OUTPUT#xml:}}" ;;
esac
"""

PYTEST = f"""#!/bin/bash
for option in "$@"; do
  case $option in --junitxml=*) echo '{REPORT}' >"${{option#--junitxml=}}" ;; esac
done
"""


@pytest.fixture
def tree(tmp_path):
    """A folder with the script and its stubs."""
    for folder in ("scripts", "stubs"):
        (tmp_path / folder).mkdir()
    for name in ("test.sh", "summarize_tests.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "scripts" / "dependencies.sh").write_text(DEPENDENCIES)
    stubs = {"scripts/build.sh": BUILD, "stubs/ctest": CTEST, "stubs/pytest": PYTEST}
    for path, text in stubs.items():
        (tmp_path / path).write_text(text)
        (tmp_path / path).chmod(0o755)
    (tmp_path / "suites").write_text("core\noperators\n")
    return tmp_path


def run_tests(tree):
    """The (exit status, last line) of the script."""
    done = subprocess.run(
        ["bash", "scripts/test.sh"], cwd=tree, capture_output=True, text=True,
        env={**os.environ, "PATH": f"{tree}/stubs:{os.environ['PATH']}"},
    )
    return done.returncode, done.stdout.splitlines()[-1]


def test_all_suites_run_where_nothing_is_installed_yet(tree):
    status, line = run_tests(tree)
    assert status == 0
    assert line == "4 passed, 0 failed, 0 skipped"


def test_a_program_without_a_report_is_named(tree):
    (tree / "suites").write_text("core\ncrash\n")
    assert run_tests(tree) == (
        1, "3 passed, 1 failed, 0 skipped; did not finish: crash (no report, exit status 8)")


def test_a_build_without_tests_is_a_failure(tree):
    (tree / "suites").unlink()
    assert run_tests(tree) == (
        1, "2 passed, 1 failed, 0 skipped; did not finish: ctest (no report, it lists no tests)")


def test_without_a_python_environment_both_suites_are_named(tree):
    (tree / "no_pypi").touch()
    reason = "(no report, no Python environment in build/venv)"
    assert run_tests(tree) == (
        1, f"2 passed, 2 failed, 0 skipped; did not finish: programs {reason}, python {reason}")


def test_a_build_without_the_python_package_is_a_failure(tree):
    (tree / "no_package").touch()
    assert run_tests(tree) == (
        1, "3 passed, 1 failed, 0 skipped; did not finish: "
           "python (no report, the build has no Python package)")


def test_a_build_with_a_sanitizer_needs_no_python_package(tree):
    (tree / "no_package").touch()
    (tree / "sanitizer").write_text("thread")
    status, line = run_tests(tree)
    assert status == 0
    assert line == "4 passed, 0 failed, 0 skipped"
