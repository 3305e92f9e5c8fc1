#!/usr/bin/env bash
# Builds and runs all tests: scripts/test.sh [preset]
# C++ suites run by CTest, Python suites by pytest. The last line of the summary counts the tests:
# "N passed, N failed, N skipped". A suite that could not run, or not to its end, counts as failed,
# and the line names it after the counts. Fails if anything failed.
# CAFFE2_TEST_DATA names the folder of real data for the tests that need some; without it they
# are skipped and counted as such.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
trap 'exit 130' INT
preset=${1:-release}
build=build/$preset

. scripts/dependencies.sh
install_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" || exit 1
make_python_environment build/venv || true  # the suites that need it fail below
scripts/build.sh "$preset" || exit 1

results=$build/test-results
rm -rf "$results"
mkdir -p "$results"
outcomes=()  # SUITE=exit status, or why it was not started

# One CTest test is one suite: a test program with its device. Each writes a report of its own, from
# which the summary counts cases, not programs.
mapfile -t suites < <(ctest --test-dir "$build" --show-only | sed -n 's/^ *Test *#[0-9]*: //p')
[ ${#suites[@]} -gt 0 ] || outcomes+=("ctest=it lists no tests")
for suite in "${suites[@]}"; do
  GTEST_OUTPUT="xml:$PWD/$results/$suite.xml" \
    ctest --test-dir "$build" --output-on-failure -R "^$suite\$"
  outcomes+=("$suite=$?")
done

# Why a suite cannot run, or nothing.
obstacle() {
  if [ ! -x build/venv/bin/pytest ]; then
    echo "no Python environment in build/venv"
  elif [ "$1" = python ] && ! grep -q '^CAFFE2_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt" &&
    ! compgen -G "$build/python/caffe2/python/caffe2_pybind11_state*.so" >/dev/null; then
    # The builds with a sanitizer go without, and skip these tests.
    echo "the build has no Python package"
  fi
}
for suite in programs python; do
  why=$(obstacle "$suite")
  if [ -z "$why" ]; then
    # Tests send Ctrl-C, which a job in the background ignores unless it is told not to, and SIGHUP,
    # which one under nohup ignores.
    env --default-signal=HUP,INT,QUIT "CAFFE2_BIN=$PWD/$build/bin" "PYTHONPATH=$PWD/$build/python" \
      build/venv/bin/pytest -q -p no:cacheprovider --junitxml="$results/$suite.xml" "tests/$suite"
    why=$?
  fi
  outcomes+=("$suite=$why")
done
scripts/summarize_tests.py "$results" "${outcomes[@]}"
