#!/usr/bin/env bash
# Builds the C++ tests with sanitizers and runs them whole, once per release.
#
#   scripts/check_sanitizers.sh [asan|tsan|all] [SUITE...]
#
#   asan    addresses, leaks aside, and undefined behaviour; tsan: data races (default: all, both)
#   SUITE   of core, utils, db, distributed, fuzz, train, operators, graph, model (default: the first seven)
#
# Prints a table: tests, failures, reports of the sanitizer, seconds. Logs and reports are in
# build/PRESET/sanitizers. Fails if a suite failed, reported something or did not run.
# CAFFE2_TEST_DATA as in scripts/test.sh. A build takes about as long as one of all tests.
set -euo pipefail
cd "$(dirname "$0")/.."
trap 'exit 130' INT
mode=${1:-all}
case $mode in
  all | asan | tsan) defaults=(core utils db distributed fuzz train operators) ;;
  -h | --help) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' && exit 0 ;;
  *) echo "error: asan, tsan or all, not $mode (see --help)" >&2 && exit 2 ;;
esac
shift || true
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=("${defaults[@]}")

# Leaks: registries live until the end of the process. GNU's OpenMP library is not instrumented, so its
# barriers are unknown to the thread sanitizer: one thread for each operator, and not the test that sets
# their number. It maps more memory than one test allows the process, and delivers signals later than
# another one sends them. Tests ask for more memory than there is, which must be an exception.
not_under_tsan=SpatialBN.ResultsDoNotDependOnTheThreads:LmdbTest.WritesWithLittleAddressSpace
not_under_tsan+=:StopSignalTest.TheSameSignalAgainEndsTheProcessUnlessItFollowsAtOnce
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS="suppressions=$PWD/scripts/tsan.supp:second_deadlock_stack=1:ignore_noninstrumented_modules=1:die_after_fork=0:allocator_may_return_null=1"

# counted PATTERN FILE...: how many lines match.
counted() { cat "${@:2}" 2>/dev/null | grep -cE "$1" || true; }

table=("preset|suite|tests|failed|skipped|reports|seconds")
failed=0
# check PRESET ENDING SUITE...: builds and runs the programs SUITE$ENDING.
check() {
  local preset=$1 ending=$2 suites=("${@:3}") logs=build/$1/sanitizers suite
  local begin status report tests failures reports skipped
  rm -rf "$logs" && mkdir -p "$logs"
  scripts/build.sh "$preset" "${suites[@]/%/$ending}"
  local settings=()
  [ "$preset" = asan ] || settings=(OMP_NUM_THREADS=1 "GTEST_FILTER=-$not_under_tsan")
  for suite in "${suites[@]}"; do
    begin=$SECONDS status=0 report=$PWD/$logs/$suite.xml
    env "${settings[@]}" GTEST_OUTPUT="xml:$report" "build/$preset/bin/$suite$ending" >"$logs/$suite.log" 2>&1 || status=$?
    tests=$(sed -nE 's/^<testsuites tests="([0-9]+)".*/\1/p' "$report" 2>/dev/null || true)
    failures=$(sed -nE 's/^<testsuites .* failures="([0-9]+)".*/\1/p' "$report" 2>/dev/null || true)
    reports=$(counted '(ERROR: AddressSanitizer|WARNING: ThreadSanitizer|: runtime error: )' "$logs/$suite.log")
    skipped=$(counted 'result="skipped"' "$report")
    [ "$status" -eq 0 ] && [ "$reports" -eq 0 ] && [ -n "$tests" ] || failed=1
    table+=("$preset|$suite|${tests:-did not end (status $status)}|${failures:-}|$skipped|$reports|$((SECONDS - begin))")
  done
}

if [ "$mode" = asan ] || [ "$mode" = all ]; then
  check asan _test "${suites[@]}"
fi
if [ "$mode" = tsan ] || [ "$mode" = all ]; then
  # Tests of distributed fork processes that start threads, at which the thread sanitizer of GCC 12 ends
  # them ("dup thread with used id"); the one of clang goes on.
  others=() distributed=()
  for suite in "${suites[@]}"; do
    if [ "$suite" = distributed ]; then distributed=("$suite"); else others+=("$suite"); fi
  done
  [ ${#others[@]} -eq 0 ] || check tsan _test "${others[@]}"
  if [ ${#distributed[@]} -gt 0 ]; then
    . scripts/dependencies.sh
    install_clang
    check tsan_clang _base_test distributed
  fi
fi
printf '%s\n' "${table[@]}" | column -t -s '|'
exit $failed
