#!/usr/bin/env bash
# Builds and runs all tests: scripts/test.sh [preset]
# C++ tests by CTest, Python tests by pytest; one summary line last; fails if any test failed.
# CAFFE2_TEST_DATA names the folder of real data for the tests that need some; without it they
# are skipped and counted as such.
set -uo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}

. scripts/dependencies.sh
make_python_environment build/venv
scripts/build.sh "$preset" || exit 1

results=build/$preset/test-results
rm -rf "$results"
mkdir -p "$results"
# Every test program writes its own report, from which the summary counts cases, not programs.
GTEST_OUTPUT="xml:$PWD/$results/" ctest --test-dir "build/$preset" --output-on-failure
status=$?
if [ -x build/venv/bin/pytest ]; then
  for suite in programs python; do
    CAFFE2_BIN=$PWD/build/$preset/bin PYTHONPATH=$PWD/build/$preset/python \
      build/venv/bin/pytest -q -p no:cacheprovider --junitxml="$results/$suite.xml" \
      "tests/$suite" || status=1
  done
else
  echo "Python tests: NOT RUN (no pytest)"
fi
scripts/summarize_tests.py "$results" || status=1
exit $status
